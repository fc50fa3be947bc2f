package cluster

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

// store is where an agent keeps its run files, and knows those of others that it
// offers. Nothing else on the host can be asked for.
type store struct {
	dir    string
	root   *os.Root // dir; nothing outside it is opened, whatever a name says
	shared string   // of kt's other commands: read, and never changed; "": none
	keep   int      // runs
	now    func() time.Time

	create func(name string) (io.WriteCloser, error) // a new file of the agent's own

	mu    sync.Mutex // guards what follows
	inUse map[string]bool
	hash  chan struct{} // holds one for each listing at work
}

// defaultKeep is how many runs an agent keeps when nobody says: weeks of nightly ones.
const defaultKeep = 50

// listings is how many listings are made at a time: each reads whole files.
const listings = 2

func openStore(dir, shared string, keep int, now func() time.Time) (*store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the run files: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder of the run files: %w", err)
	}
	s := &store{dir: dir, root: root, shared: shared, keep: keep, now: now, inUse: make(map[string]bool), hash: make(chan struct{}, listings)}
	if s.keep < 1 {
		s.keep = defaultKeep
	}
	s.create = func(name string) (io.WriteCloser, error) {
		return root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	}
	return s, nil
}

// ownName is what the agent calls its files: when the run was made, its epoch, and the
// process. Files of other names in the folder are not its own.
var ownName = regexp.MustCompile(`^(\d{8}-\d{6}-[A-Za-z0-9_-][A-Za-z0-9._-]{0,63})-p(\d{1,3})\.ktr$`)

// group is what the names of all files of a run begin with.
func (s *store) group(epoch string) string {
	return s.now().UTC().Format("20060102-150405") + "-" + epoch
}

func ownFile(group string, process int) string { return fmt.Sprintf("%s-p%d.ktr", group, process) }

// groups are the runs that the folder holds, oldest first.
func (s *store) groups() (map[string][]string, error) {
	entries, err := fs.ReadDir(s.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	found := make(map[string][]string)
	for _, e := range entries {
		if m := ownName.FindStringSubmatch(e.Name()); m != nil && e.Type().IsRegular() {
			found[m[1]] = append(found[m[1]], e.Name())
		}
	}
	return found, nil
}

// used tells whether there are files of that epoch.
func (s *store) used(epoch string) bool {
	groups, err := s.groups()
	if err != nil {
		return false // creating files will say what is wrong
	}
	for g := range groups {
		if strings.HasSuffix(g, "-"+epoch) && len(g) == len("20060102-150405-")+len(epoch) {
			return true
		}
	}
	return false
}

// hold keeps the files of a run from being removed until release.
func (s *store) hold(group string)    { s.mu.Lock(); s.inUse[group] = true; s.mu.Unlock() }
func (s *store) release(group string) { s.mu.Lock(); delete(s.inUse, group); s.mu.Unlock() }

// prune removes the oldest runs, so that room is for so many more beside those kept.
func (s *store) prune(more int) error {
	groups, err := s.groups()
	if err != nil {
		return fmt.Errorf("look for old run files: %w", err)
	}
	names := make([]string, 0, len(groups))
	s.mu.Lock()
	for g := range groups {
		if !s.inUse[g] {
			names = append(names, g)
		} else {
			more++
		}
	}
	s.mu.Unlock()
	slices.Sort(names) // they begin with the time
	var errs []error
	for _, g := range names[:min(len(names), max(0, len(names)+more-s.keep))] {
		for _, name := range groups[g] {
			errs = append(errs, s.root.Remove(name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove old run files: %w", err)
	}
	return nil
}

// remove leaves nothing of a run that never began.
func (s *store) remove(group string) error {
	groups, err := s.groups()
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range groups[group] {
		errs = append(errs, s.root.Remove(name))
	}
	return errors.Join(errs...)
}

// count is how many runs the agent holds, and run files of other commands.
func (s *store) count() int {
	groups, _ := s.groups() // what cannot be read is not held
	return len(groups) + len(s.sharedNames())
}

// sharedNames are the newest run files of other commands, by name.
func (s *store) sharedNames() []string {
	if s.shared == "" {
		return nil
	}
	entries, err := os.ReadDir(s.shared)
	if err != nil {
		return nil // there may be none yet
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && filepath.Ext(e.Name()) == ".ktr" {
			names = append(names, e.Name())
		}
	}
	return names[max(0, len(names)-maxFiles):] // their names begin with the time
}

// held is one run file that can be had.
type held struct {
	open   func() (*os.File, error)
	header fileHeader
}

// fileHeader is what is needed of a run file's first line.
type fileHeader struct {
	RunID     string       `json:"run_id"`
	StartedAt time.Time    `json:"started_at"`
	Part      *result.Part `json:"part"`
}

// each calls f for each run file that belongs to a named run, and returns how many could
// not be read.
func (s *store) each(f func(held) error) (unread int, err error) {
	visit := func(open func() (*os.File, error)) error {
		h, err := readHeader(open)
		if err != nil {
			unread++
			return nil // it is counted, and the others are read
		}
		if h.Part == nil || CheckName(h.Part.Run) != nil || CheckName(h.Part.Host) != nil || CheckName(h.RunID) != nil ||
			h.Part.Epoch != "" && CheckName(h.Part.Epoch) != nil {
			return nil // it stands for itself
		}
		return f(held{open: open, header: h})
	}
	groups, err := s.groups()
	if err != nil {
		return 0, fmt.Errorf("look for run files: %w", err)
	}
	for _, names := range groups {
		for _, name := range names {
			if err := visit(func() (*os.File, error) { return s.root.Open(name) }); err != nil {
				return unread, err
			}
		}
	}
	names := s.sharedNames()
	if len(names) == 0 {
		return unread, nil
	}
	root, err := os.OpenRoot(s.shared)
	if err != nil {
		return unread, fmt.Errorf("look for run files: %w", err)
	}
	defer func() { _ = root.Close() }() // it was only read from
	for _, name := range names {
		if err := visit(func() (*os.File, error) { return root.Open(name) }); err != nil {
			return unread, err
		}
	}
	return unread, nil
}

func readHeader(open func() (*os.File, error)) (fileHeader, error) {
	f, err := open()
	if err != nil {
		return fileHeader{}, err
	}
	defer func() { _ = f.Close() }() // it was only read from
	text, err := bufio.NewReaderSize(io.LimitReader(f, maxLine), 64<<10).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fileHeader{}, err
	}
	var line struct {
		Header *fileHeader `json:"header"`
	}
	if err := json.Unmarshal(text, &line); err != nil {
		return fileHeader{}, err
	}
	if line.Header == nil {
		return fileHeader{}, errors.New("it is not the header of a run file")
	}
	return *line.Header, nil
}

// list finds the files of a run, by its name or epoch; with "" the runs that there are.
func (s *store) list(run string) (filesFound, error) {
	s.hash <- struct{}{}
	defer func() { <-s.hash }()
	var found filesFound
	runs := make(map[[2]string]*runEntry)
	unread, err := s.each(func(h held) error {
		p := h.header.Part
		key := [2]string{p.Run, p.Epoch}
		if runs[key] == nil {
			runs[key] = &runEntry{Run: p.Run, Epoch: p.Epoch, Started: h.header.StartedAt}
		}
		r := runs[key]
		r.Files++
		if h.header.StartedAt.Before(r.Started) {
			r.Started = h.header.StartedAt
		}
		if run == "" || run != p.Run && run != p.Epoch {
			return nil
		}
		e, err := h.entry()
		if err != nil {
			found.Unread++
			return nil // it is counted, and the others are listed
		}
		if found.Files = append(found.Files, e); len(found.Files) > maxListed {
			return fmt.Errorf("run %s has more than %d files on this host", run, maxListed)
		}
		return nil
	})
	found.Unread += unread
	if err != nil {
		return filesFound{}, err
	}
	if run == "" {
		for _, r := range runs {
			found.Runs = append(found.Runs, *r)
		}
		slices.SortFunc(found.Runs, func(a, b runEntry) int { return b.Started.Compare(a.Started) })
		found.Runs = found.Runs[:min(len(found.Runs), maxListed)] // the newest
	}
	return found, nil
}

// maxListed keeps a listing within one message.
const maxListed = 2000

// entry reads the whole file once, as far as it goes now.
func (h *held) entry() (fileEntry, error) {
	f, err := h.open()
	if err != nil {
		return fileEntry{}, err
	}
	defer func() { _ = f.Close() }() // it was only read from
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	p := h.header.Part
	return fileEntry{
		RunID: h.header.RunID, Run: p.Run, Epoch: p.Epoch, Host: p.Host, Process: p.Process,
		Bytes: n, SHA256: hex.EncodeToString(sum.Sum(nil)),
	}, err
}

// errFound ends a search.
var errFound = errors.New("found")

// find opens a run file by its id.
func (s *store) find(runID string) (*os.File, error) {
	var f *os.File
	_, err := s.each(func(h held) error {
		if h.header.RunID != runID {
			return nil
		}
		var err error
		if f, err = h.open(); err != nil {
			return err
		}
		return errFound
	})
	if errors.Is(err, errFound) {
		return f, nil
	}
	if err == nil {
		err = fmt.Errorf("there is no run file %s on this host", runID)
	}
	return nil, err
}

// chunkOf reads a piece of a file.
func chunkOf(f *os.File, c *chunkAsked) ([]byte, error) {
	b := make([]byte, min(chunkBytes, c.Bytes-c.Offset))
	if _, err := f.ReadAt(b, c.Offset); err != nil {
		return nil, fmt.Errorf("read run file %s at byte %d: %w", c.RunID, c.Offset, err)
	}
	return b, nil
}
