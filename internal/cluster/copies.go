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

// copies are run files that the coordinator writes from the seconds of each process while it
// runs. If a host does not come back, its copies are in the result. A copy looks like an
// incomplete run file and has the id of the original, which replaces it on merging.
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

// capped is a file that another host fills. It grows no faster than a run file and no further
// than the quota.
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

// begin starts the copy of a process that has reported its header and start.
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

// add writes a second of a process. The first error ends and removes the copy.
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

// remove removes the copy of a process whose run file was fetched.
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

// keep closes the remaining copies and returns their paths.
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

// close closes everything. Copies are still open only after a failed run, and stay on disk.
func (c *copies) close() {
	_, _ = c.keep()    // the run has failed already
	_ = c.root.Close() // only a folder
}
