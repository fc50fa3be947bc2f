package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/host"
)

// The most that a process may write: several times the run file of a topic of 10,000 partitions.
const (
	fileAtLeast   = int64(16) << 20
	filePerSecond = int64(4) << 20
)

// fileMost returns the most bytes of a run file after this time.
func fileMost(lasted time.Duration) int64 {
	return fileAtLeast + int64(max(0, lasted).Seconds()*float64(filePerSecond))
}

// quota bounds the bytes that other hosts make this one write, to half of the disk space that is
// free at first. Any goroutine may use it.
type quota struct {
	mu   sync.Mutex
	left int64 // bytes
}

func newQuota(dir string, free func(string) (int64, error)) (*quota, error) {
	if free == nil {
		free = freeSpace
	}
	n, err := free(dir)
	if err != nil {
		return nil, fmt.Errorf("look how much space %s has: %w", dir, err)
	}
	return &quota{left: n / 2}, nil
}

// take reserves n bytes.
func (q *quota) take(n int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n > q.left {
		return fmt.Errorf("%w for %d MiB more: half of the free space may be used, and %d MiB of that are left", errNoSpace, n>>20, q.left>>20)
	}
	q.left -= n
	return nil
}

var errNoSpace = errors.New("there is not enough space on this disk")

// put gives n reserved bytes back.
func (q *quota) put(n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.left += n
}

// freeSpace returns the free bytes of the disk of a folder.
func freeSpace(dir string) (int64, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return 0, err
	}
	space, err := host.SystemCalls("/").Space(dir)
	return space.Free, err
}

// maxFirstLine bounds the header of a fetched file in bytes. That of a topic of 200,000
// partitions has 3 MiB.
const maxFirstLine = 8 << 20

// firstLine checks that a fetched file begins with the header of the listed run file.
type firstLine struct {
	entry fileEntry
	text  []byte
	whole bool
}

var errForeign = errors.New("it does not begin with the header of this run")

// add takes the next bytes of the file. It ignores everything after the first line.
func (f *firstLine) add(b []byte) error {
	if f.whole {
		return nil
	}
	end := bytes.IndexByte(b, '\n')
	if end >= 0 {
		b = b[:end+1]
	}
	if len(f.text)+len(b) > maxFirstLine {
		return errForeign
	}
	f.text = append(f.text, b...)
	if end < 0 {
		return nil
	}
	h, e := readHeader(bytes.NewReader(f.text)), &f.entry
	f.text, f.whole = nil, true
	if h == nil || h.RunID != e.RunID || h.Part.Run != e.Run || h.Part.Epoch != e.Epoch || h.Part.Host != e.Host || h.Part.Process != e.Process {
		return errForeign
	}
	return nil
}

// end returns an error if the file has no complete first line.
func (f *firstLine) end() error {
	if !f.whole {
		return errForeign
	}
	return nil
}
