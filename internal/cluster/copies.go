package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

// copies are what a coordinator writes of each process while it runs: what is left of
// one whose host does not come back. A copy reads as a run file that was cut off, and has
// the id of the whole one, which takes its place wherever both are.
type copies struct {
	dir   string
	root  *os.Root
	quota *quota
	open  map[partName]*partCopy
}

type partCopy struct {
	name string
	disk *capped
	file *result.RunFile
}

// capped is a file that grows no faster than a run file does, and no further than there is
// room. A host decides what is written to it.
type capped struct {
	*os.File
	since   time.Time
	written int64
	quota   *quota
}

func (c *capped) Write(b []byte) (int, error) {
	n := int64(len(b))
	if most := fileMost(time.Since(c.since)); c.written+n > most {
		return 0, fmt.Errorf("the host sends more than %d MiB, the most of a run of this length", most>>20)
	}
	if err := c.quota.take(n); err != nil {
		return 0, err
	}
	c.written += n
	return c.File.Write(b)
}

func newCopies(dir string, q *quota) (*copies, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder for run files: %w", err)
	}
	return &copies{dir: dir, root: root, quota: q, open: make(map[partName]*partCopy)}, nil
}

// begin starts the copy of a process whose header and start are known.
func (c *copies) begin(l *link, process int, p *part) error {
	name := partName{l.peer.Name, process}
	if p.header == nil || c.open[name] != nil {
		return nil
	}
	file := fmt.Sprintf("%s-p%d-%s-cut.ktr", name.host, process, p.header.RunID)
	to, err := c.root.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	disk := &capped{File: to, since: time.Now(), quota: c.quota}
	f, err := result.NewRunFile(disk, *p.header)
	k := &partCopy{name: file, disk: disk, file: f}
	if err != nil {
		return errors.Join(err, c.discard(k))
	}
	f.Begin(*p.start)
	c.open[name] = k
	return nil
}

// add writes what a process told of a second. The first error ends the copy.
func (c *copies) add(l *link, process int, s *Second) error {
	name := partName{l.peer.Name, process}
	k := c.open[name]
	if k == nil {
		return nil
	}
	for _, w := range s.Windows {
		k.file.AddWindow(w)
	}
	k.file.AddSample(s.Sample)
	if err := k.file.Err(); err != nil {
		delete(c.open, name)
		return errors.Join(err, c.discard(k))
	}
	return nil
}

// remove drops the copy of a process whose whole file is there.
func (c *copies) remove(host string, process int) error {
	name := partName{host, process}
	k := c.open[name]
	if k == nil {
		return nil
	}
	delete(c.open, name)
	return c.discard(k)
}

func (c *copies) discard(k *partCopy) error {
	c.quota.put(k.disk.written)
	return errors.Join(k.disk.Close(), c.root.Remove(k.name))
}

// keep closes the copies that are left, and returns their paths.
func (c *copies) keep() ([]string, error) {
	var files []string
	var errs []error
	for name, k := range c.open {
		errs = append(errs, k.disk.Close())
		files = append(files, filepath.Join(c.dir, k.name))
		delete(c.open, name)
	}
	slices.Sort(files)
	return files, errors.Join(errs...)
}

// close leaves the copies that are open as they are: the session ended in trouble.
func (c *copies) close() {
	_, _ = c.keep()    // what was written is what there is
	_ = c.root.Close() // a folder
}
