package cluster

import (
	"errors"
	"fmt"
	"path/filepath"
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

var errNoSpace = errors.New("there is not enough space on this disk")

// reserve sets aside n bytes of the disk. Other hosts make this one write up to half of the space that is free at first.
func (c *copies) reserve(n int64) error {
	if left := c.room.Add(-n); left < 0 {
		c.room.Add(n)
		return fmt.Errorf("%w for %d MiB more: half of the free space may be used, and %d MiB of that are left", errNoSpace, n>>20, (left+n)>>20)
	}
	return nil
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
