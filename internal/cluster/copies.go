package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

// copies are the local copies of run files. They grow as the files do, from wherever they end. A
// copy that is incomplete is a run file that was cut off, with the id of the original, which
// replaces it on merging.
type copies struct {
	dir   string
	root  *os.Root
	quota *quota

	mu   sync.Mutex           // guards open
	open map[string]*copyFile // by run id
}

func newCopies(dir string, free func(string) (int64, error)) (*copies, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder for run files: %w", err)
	}
	quota, err := newQuota(dir, free)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &copies{dir: dir, root: root, quota: quota, open: make(map[string]*copyFile)}, nil
}

// copyFile is the copy of one run file. Whoever adds to it has taken it.
type copyFile struct {
	taken chan struct{} // of capacity 1
	of    *copies
	want  fileEntry // what has to be in the header
	since time.Time // the file grows no faster than a run file from here on
	most  int64     // bytes that it may have all the same

	name string   // in the folder; "": nothing is written
	file *os.File // nil: nothing is written, or no more
	size int64
	sum  hash.Hash
	head header
	line lines

	whole bool // it has all that an agent listed
}

// header is the first line of a run file.
type header struct {
	text    []byte // until it is complete
	checked bool
}

// copyOf returns the copy of a run file, a new one if there is none. take gets the lines that are
// added to it; nil: nobody does.
func (c *copies) copyOf(want fileEntry, take func(line []byte)) *copyFile {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.open[want.RunID]
	if f == nil {
		f = &copyFile{taken: make(chan struct{}, 1), of: c, want: want, since: time.Now(), sum: sha256.New(), line: lines{take: take}}
		c.open[want.RunID] = f
	}
	return f
}

// take waits until nobody else adds to the copy, and returns what gives it back.
func (f *copyFile) take(ctx context.Context) (release func(), err error) {
	select {
	case f.taken <- struct{}{}:
		return func() { <-f.taken }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// create makes the file of the copy.
func (f *copyFile) create() error {
	name := fmt.Sprintf("%s-p%d-%s-cut.ktr", f.want.Host, f.want.Process, f.want.RunID)
	file, err := f.of.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) { // of another file with this id
		name = fmt.Sprintf("%s-p%d-%s-cut.ktr", f.want.Host, f.want.Process, rand.Text())
		file, err = f.of.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err == nil {
		f.name, f.file = name, file
	}
	return err
}

// errForeign is the error of a file that is another one than the agent said.
var errForeign = errors.New("it does not begin with the header of this run")

// maxFirstLine bounds the header of a run file in bytes. That of a topic of 200,000 partitions has
// 3 MiB.
const maxFirstLine = 8 << 20

// checkHead checks that the file begins with the header of the run file that is wanted.
func (f *copyFile) checkHead(b []byte) error {
	if f.head.checked {
		return nil
	}
	end := bytes.IndexByte(b, '\n')
	if end >= 0 {
		b = b[:end+1]
	}
	if len(f.head.text)+len(b) > maxFirstLine {
		return errForeign
	}
	f.head.text = append(f.head.text, b...)
	if end < 0 {
		return nil
	}
	h, e := readHeader(bytes.NewReader(f.head.text)), &f.want
	f.head.text, f.head.checked = nil, true
	if h == nil || h.RunID != e.RunID || h.Part.Run != e.Run || h.Part.Epoch != e.Epoch || h.Part.Host != e.Host || h.Part.Process != e.Process {
		return errForeign
	}
	return nil
}

// add appends bytes. An error ends the file: what it has is dropped.
func (f *copyFile) add(b []byte) error {
	if err := f.checkHead(b); err != nil {
		return err
	}
	n := int64(len(b))
	if most := max(f.most, fileMost(time.Since(f.since))); f.size+n > most {
		return fmt.Errorf("the host sends more than %d MiB, the most of a run of this length; kt collect takes it", most>>20)
	}
	if f.file != nil {
		if err := f.of.quota.take(n); err != nil {
			return err
		}
		if _, err := f.file.Write(b); err != nil {
			f.of.quota.put(n)
			return err
		}
	}
	_, _ = f.sum.Write(b) // a hash has no errors
	f.size += n
	f.line.add(b)
	return nil
}

// discard removes what was written.
func (f *copyFile) discard() error {
	if f.name == "" {
		return nil
	}
	f.of.quota.put(f.size)
	err := f.of.root.Remove(f.name)
	if f.file != nil {
		err = errors.Join(f.file.Close(), err)
	}
	f.name, f.file, f.whole = "", nil, false
	return err
}

// complete gives the copy its final name. Another agent may have more of the file.
func (f *copyFile) complete() error {
	name := fmt.Sprintf("%s-p%d-%s.ktr", f.want.Host, f.want.Process, hex.EncodeToString(f.sum.Sum(nil)[:8]))
	if !f.head.checked {
		return errForeign
	}
	err := errors.Join(f.file.Close(), f.of.root.Rename(f.name, name))
	f.file = nil
	if err == nil {
		f.name, f.whole = name, true
	}
	return err
}

// cut returns the paths of the copies that are not complete and have a load.
func (c *copies) cut() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var files []string
	for _, f := range c.open {
		if f.file == nil || !f.line.started {
			continue
		}
		files = append(files, filepath.Join(c.dir, f.name))
	}
	slices.Sort(files)
	return files
}

// close closes everything. Without keep it removes the incomplete copies; with it those that have
// no load.
func (c *copies) close(keep bool) {
	for _, f := range c.open {
		if f.file == nil {
			continue
		}
		if !keep || !f.line.started {
			_ = f.discard() // the next kt tries again
			continue
		}
		_ = f.file.Close() // every write was checked
	}
	_ = c.root.Close() // only a folder
}

// lines gives the complete lines of a growing file to take.
type lines struct {
	take    func(line []byte) // nil: nobody takes them
	part    []byte            // of a line that is incomplete
	skip    bool              // the line is too long: nobody gets it
	started bool              // a load has begun
}

func (l *lines) add(b []byte) {
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			l.keep(b)
			return
		}
		l.keep(b[:end+1])
		b = b[end+1:]
		l.started = l.started || bytes.HasPrefix(l.part, []byte(`{"start":`))
		if l.take != nil && !l.skip {
			l.take(l.part)
		}
		l.part, l.skip = l.part[:0], false
	}
}

func (l *lines) keep(b []byte) {
	if len(l.part)+len(b) > result.MaxLine {
		l.skip = true
	}
	if !l.skip && (l.take != nil || len(l.part) < 16) {
		l.part = append(l.part, b...)
	}
}

// UnknownRunError is the error of a run of which no agent that answers has files.
type UnknownRunError struct {
	Run    string
	Known  []string // the names of the runs that the agents have files of, sorted
	Silent bool     // some agents did not answer
}

func (e *UnknownRunError) Error() string {
	if e.Silent {
		return "no agent that answers has run files of run " + e.Run
	}
	return "no agent has run files of run " + e.Run
}

// PeerError is the error of a peer whose files could not all be fetched.
type PeerError struct {
	Peer string // its name, or its address
	Err  error
}

func (e *PeerError) Error() string { return e.Peer + ": " + e.Err.Error() }

func (e *PeerError) Unwrap() error { return e.Err }

// sorted returns the paths of files in a folder, each once.
func sorted(dir string, names []string) []string {
	var files []string
	for _, n := range names {
		files = append(files, filepath.Join(dir, n))
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// hosts lists hosts for a sentence, each once.
func hostsOf(entries []fileEntry) string {
	var names []string
	for _, e := range entries {
		names = append(names, e.Host)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}
