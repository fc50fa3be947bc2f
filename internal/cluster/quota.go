package cluster

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
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
// free at first.
type quota struct{ left atomic.Int64 }

func newQuota(dir string, free func(string) (int64, error)) (*quota, error) {
	if free == nil {
		free = freeSpace
	}
	n, err := free(dir)
	if err != nil {
		return nil, fmt.Errorf("look how much space %s has: %w", dir, err)
	}
	q := new(quota)
	q.left.Store(n / 2)
	return q, nil
}

// take reserves n bytes.
func (q *quota) take(n int64) error {
	if left := q.left.Add(-n); left < 0 {
		q.left.Add(n)
		return fmt.Errorf("%w for %d MiB more: half of the free space may be used, and %d MiB of that are left", errNoSpace, n>>20, (left+n)>>20)
	}
	return nil
}

var errNoSpace = errors.New("there is not enough space on this disk")

// freeSpace returns the free bytes of the disk of a folder.
func freeSpace(dir string) (int64, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return 0, err
	}
	space, err := host.SystemCalls("/").Space(dir)
	return space.Free, err
}
