package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/kt-bench/kt/internal/host"
)

const page = 4 * kib // of data: every one has a number of its own

// stamps numbers the pages of data that this process writes, all workers together.
var stamps atomic.Uint64

// pool is random data to write from, of one worker. No two of its blocks are equal, though it holds far less than is written.
type pool struct {
	data []byte
	at   int
	seed uint64
}

// newPool has room for at least two blocks, and takes a sixteenth of size, up to 16 MiB: four workers hold 64 MiB.
func newPool(block int, size int64) *pool {
	n := max(2*block, int(min(size/16, 16*mib)))
	p := &pool{data: aligned(roundUp(n, page))}
	p.seed = rand.Uint64()
	fillRandom(p.data)
	return p
}

func fillRandom(b []byte) {
	var seed [32]byte
	for i := 0; i < len(seed); i += 8 {
		binary.LittleEndian.PutUint64(seed[i:], rand.Uint64())
	}
	_, _ = rand.NewChaCha8(seed).Read(b) // never fails
}

// next is a block of n bytes that starts at a page of memory. It is valid until the pool has gone round.
func (p *pool) next(n int) []byte {
	if p.at+n > len(p.data) {
		// Begin elsewhere in each round, so that pages do not meet the same neighbours.
		p.seed = p.seed*6364136223846793005 + 1442695040888963407
		room := (len(p.data)-n)/page + 1
		p.at = int(p.seed>>33) % min(room, 16) * page
	}
	b := p.data[p.at : p.at+n]
	p.at += roundUp(n, page)
	stamp(b)
	return b
}

// copyTo fills a block with data, as dd fills its own by reading.
func (p *pool) copyTo(b []byte) {
	for at := 0; at < len(b); {
		if p.at >= len(p.data) {
			p.at = 0
		}
		n := copy(b[at:], p.data[p.at:])
		p.at += roundUp(n, page)
		at += n
	}
	stamp(b)
}

// stamp numbers every page of b, and what is left behind the last whole one.
func stamp(b []byte) {
	n := uint64((len(b) + page - 1) / page)
	id := stamps.Add(n) - n
	for ; len(b) >= 8; b = b[min(page, len(b)):] {
		id++
		binary.LittleEndian.PutUint64(b, id)
	}
}

// aligned is memory that starts at a page, which suits every device's direct I/O.
func aligned(n int) []byte {
	b := make([]byte, n+page)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (page - 1))
	return b[skip : skip+n : skip+n]
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// errNoDirect is a file system that cannot go round the page cache.
var errNoDirect = errors.New("no direct I/O here")

// nameless opens a new file that no folder names, so that its space comes back whatever ends kt.
func nameless(dir string, direct bool) (*os.File, error) {
	f, err := openNameless(dir, direct)
	if errors.Is(err, errors.ErrUnsupported) {
		f, err = openUnlinked(dir, direct)
	}
	if err != nil || !direct {
		return f, err
	}
	if err := uncached(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// openUnlinked is for file systems without nameless files: the name lasts from one call to the next.
func openUnlinked(dir string, direct bool) (*os.File, error) {
	name := filepath.Join(dir, fmt.Sprintf(".kt-probe-%d-%08x", os.Getpid(), rand.Uint32()))
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|directFlag(direct), 0o600)
	if err != nil {
		// Linux makes the file before it finds that it cannot be opened like this.
		if direct && errors.Is(err, syscall.EINVAL) {
			_ = os.Remove(name)
			return nil, errNoDirect
		}
		return nil, err
	}
	if err := os.Remove(name); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// files are open files that are closed together.
type files []*os.File

// newFiles opens n nameless files, or none.
func newFiles(dir string, n int, direct bool) (files, error) {
	var all files
	for range n {
		f, err := nameless(dir, direct)
		if err != nil {
			all.close()
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// close gives the space back: what a nameless file held is lost by intention, so there is no error to tell.
func (all files) close() {
	for _, f := range all {
		_ = f.Close()
	}
}

// explain says what to do about an error that ends a test.
func explain(dir string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err // the file has no name that could be looked at
	}
	switch {
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%s: mounted read-only; give a writable directory", dir)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("write in %s: %w: kt has given back what it took; free some, or probe with a smaller size", dir, err)
	case errors.Is(err, syscall.EMFILE):
		return fmt.Errorf("open files in %s: %w: raise the limit of open files", dir, err)
	}
	return fmt.Errorf("probe %s: %w", dir, err)
}

// readSpace returns the size of the file system that a directory is in.
func readSpace(dir string) (host.Space, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return host.Space{}, err
	}
	return host.SystemCalls("/").Space(dir)
}

// deviceOf is the number of the device that a directory is on.
func deviceOf(dir string) (major, minor int, err error) {
	var s unix.Stat_t
	if err := unix.Stat(dir, &s); err != nil {
		return 0, 0, fmt.Errorf("stat %s: %w", dir, err)
	}
	return int(unix.Major(uint64(s.Dev))), int(unix.Minor(uint64(s.Dev))), nil
}

// counter returns how many bytes the device that a file system is on has read, or written, since it came; below 0: the kernel does
// not tell. Counting there, and not on the disks below, leaves out what a mirror writes twice. nil knows nothing.
type counter func(read bool) int64

// newCounter is for the device number of the file system, or for the device that it was mounted from, as of btrfs.
func newCounter(tree host.FS, major, minor int, source string) counter {
	var files []string
	if major != 0 {
		files = append(files, fmt.Sprintf("sys/dev/block/%d:%d/stat", major, minor))
	}
	if device, ok := strings.CutPrefix(source, "/dev/"); ok {
		files = append(files, "sys/class/block/"+device+"/stat")
	}
	for _, file := range files {
		c := func(read bool) int64 {
			text, _ := tree.Text(file)
			return sectors(text, read)
		}
		if c(false) >= 0 {
			return c
		}
	}
	return nil
}

func (c counter) moved(read bool) int64 {
	if c == nil {
		return -1
	}
	return c(read)
}

// sectors finds the bytes read or written in a stat file of a block device, whose fields 3 and 7 are in sectors of 512 bytes; -1: it
// is none.
func sectors(text string, read bool) int64 {
	fields := strings.Fields(text)
	if len(fields) < 7 {
		return -1
	}
	field := fields[6]
	if read {
		field = fields[2]
	}
	n, err := strconv.ParseInt(field, 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n * 512
}
