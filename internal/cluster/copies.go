package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
)

// copies are the local copies of run files by their run ids. An incomplete one is a run file that was cut off.
type copies struct {
	dir  string
	root *os.Root
	room atomic.Int64 // bytes that may still be written

	mu   sync.Mutex           // guards the map
	open map[string]*copyFile // by run id
}

// newCopies returns copies in an existing folder. free returns the free bytes of its disk; nil: those that the system tells.
func newCopies(dir string, free func(string) (int64, error)) (*copies, error) {
	if free == nil {
		free = func(dir string) (int64, error) {
			dir, err := filepath.Abs(dir)
			if err != nil {
				return 0, err
			}
			space, err := host.SystemCalls("/").Space(dir)
			return space.Free, err
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder for run files: %w", err)
	}
	n, err := free(dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("look how much space %s has: %w", dir, err), root.Close())
	}
	c := &copies{dir: dir, root: root, open: make(map[string]*copyFile)}
	c.room.Store(n / 2)
	return c, nil
}

// copyFile is the copy of one run file.
type copyFile struct {
	mu    sync.Mutex // held by whoever adds to it
	of    *copies
	want  fileEntry // what has to be in the header
	since time.Time // the file grows no faster than a run file from here on
	most  int64     // bytes that it may have all the same

	name  string   // in the folder; "": nothing is written
	file  *os.File // nil: nothing is written, or no more
	size  int64
	lines lines
}

// copyOf returns the copy of a run file, and whether it is a new one, whose lines sink gets if it is not nil.
func (c *copies) copyOf(want fileEntry, sink func(line []byte)) (f *copyFile, isNew bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f = c.open[want.RunID]; f != nil {
		return f, false
	}
	f = &copyFile{of: c, want: want, since: time.Now(), lines: lines{sink: sink}}
	c.open[want.RunID] = f
	return f, true
}

// create makes the file of the copy.
func (f *copyFile) create() (err error) {
	name := fmt.Sprintf("%s-p%d-%s.ktr", f.want.Host, f.want.Process, f.want.RunID)
	if f.file, err = f.of.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err == nil {
		f.name = name
	}
	return err
}

// path returns the path of a copy that is written.
func (f *copyFile) path() string { return filepath.Join(f.of.dir, f.name) }

// errForeign is the error of a file that is another one than the agent said.
var errForeign = errors.New("it does not begin with the header of this run")

// add appends bytes. An error ends the file: what it has is dropped.
func (f *copyFile) add(b []byte) error {
	n := int64(len(b))
	if most := max(f.most, fileMost(time.Since(f.since))); f.size+n > most {
		return fmt.Errorf("the host sends more than %d MiB, the most of a run of this length; kt collect takes it", most>>20)
	}
	if f.file != nil {
		if err := f.of.reserve(n); err != nil {
			return err
		}
		if _, err := f.file.Write(b); err != nil {
			f.of.room.Add(n)
			return err
		}
	}
	f.size += n
	return f.lines.add(b, &f.want)
}

// discard removes what was written.
func (f *copyFile) discard() error {
	if f.name == "" {
		return nil
	}
	f.of.room.Add(f.size)
	err := errors.Join(f.close(), f.of.root.Remove(f.name))
	f.name = ""
	return err
}

// close closes the file.
func (f *copyFile) close() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return err
}

// close closes everything. Without keep it removes the incomplete copies; with it those that have no load.
func (c *copies) close(keep bool) {
	for _, f := range c.open {
		if f.file != nil && (!keep || !f.lines.started) {
			_ = f.discard() // the next kt tries again
		}
		_ = f.close() // every write was checked
	}
	_ = c.root.Close() // only a folder
}

// lines gives the lines of a growing file to sink.
type lines struct {
	sink    func(line []byte) // nil: nobody gets them
	cut     result.Cutter
	bad     bool // the file is damaged: nobody gets more lines
	known   bool // the first line was the header that is wanted
	started bool // a load has begun
}

// add adds bytes. It returns errForeign if the file does not begin with the header that is wanted.
func (l *lines) add(b []byte, want *fileEntry) error {
	if l.bad {
		return nil
	}
	l.cut.Add(b)
	for {
		line, err := l.cut.Next(l.sink == nil)
		var first *listed
		if !l.known && line != nil {
			first = entryOf(line)
		}
		switch l.bad = err != nil; {
		case !l.known && (err != nil || line == nil && l.cut.Rest() > maxFirstLine || line != nil && (first == nil || !want.isSame(first.fileEntry))):
			return errForeign
		case line == nil:
			return nil
		}
		l.known = true
		l.started = l.started || bytes.HasPrefix(line, []byte(`{"start":`))
		if l.sink != nil {
			l.sink(line)
		}
	}
}

// isSame reports whether two entries are of one run file. Its size may have changed.
func (e *fileEntry) isSame(o fileEntry) bool {
	return e.RunID == o.RunID && e.Run == o.Run && e.Epoch == o.Epoch && e.Host == o.Host && e.Process == o.Process
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

// The most that a process may write: several times the run file of a topic of 10,000 partitions.
const (
	fileAtLeast   = int64(16) << 20
	filePerSecond = int64(4) << 20
	maxFirstLine  = 8 << 20 // bytes of its header; that of a topic of 200,000 partitions has 3 MiB
)

// fileMost returns the most bytes of a run file after this time.
func fileMost(lasted time.Duration) int64 {
	return fileAtLeast + int64(max(0, lasted).Seconds()*float64(filePerSecond))
}

// reserve sets aside n bytes of the disk. Other hosts make this one write up to half of the space that is free at first.
func (c *copies) reserve(n int64) error {
	if left := c.room.Add(-n); left < 0 {
		c.room.Add(n)
		return fmt.Errorf("there is not enough space on this disk for %d MiB more: half of the free space may be used, and %d MiB of that are left", n>>20, (left+n)>>20)
	}
	return nil
}
