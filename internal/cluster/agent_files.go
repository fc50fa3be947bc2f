package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

// store holds the agent's run files and finds those of kt's other commands. Peers can get no other files of the host.
type store struct {
	dir    string
	root   *os.Root // dir, so that no name leads outside it
	own    *os.File // dir, claimed against other agents
	shared string   // the folder of kt's other commands, which is only read; "": none
	keep   int      // number of runs
	now    func() time.Time

	create func(name string) (io.WriteCloser, error) // makes a new file in dir

	listing sync.Mutex // held while all files are looked at, which may take long

	mu    sync.Mutex // guards what follows
	inUse map[string]bool
	known map[place]*listed // run files of named runs; replaced as a whole
}

// claimWithin is the longest wait for the folder. An agent that is ending holds it until it has left the gossip.
const claimWithin = 5 * time.Second

// claim waits for the folder until claimWithin or the end of ctx, and reports whether it has got it.
func claim(ctx context.Context, dir *os.File) bool {
	ctx, cancel := context.WithTimeout(ctx, claimWithin)
	defer cancel()
	for !result.TryClaim(dir) {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(100 * time.Millisecond):
		}
	}
	return true
}

func openStore(ctx context.Context, dir, shared string, keep int, now func() time.Time) (*store, error) {
	err := os.MkdirAll(dir, 0o700)
	if err != nil {
		return nil, fmt.Errorf("make the folder of the run files: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder of the run files: %w", err)
	}
	own, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the folder of the run files: %w", err), root.Close())
	}
	if !claim(ctx, own) {
		_, _ = own.Close(), root.Close() // only folders
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("another agent has its run files in %s: give each a folder of its own with --results", dir)
	}
	s := &store{dir: dir, root: root, own: own, shared: shared, keep: keep, now: now, inUse: make(map[string]bool)}
	s.create = func(name string) (io.WriteCloser, error) {
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, err
		}
		result.Claim(f) // it grows
		return claimed{f}, nil
	}
	return s, nil
}

// claimed is a file that is claimed until it is closed.
type claimed struct{ *os.File }

// Close releases and closes the file, whose writes were single calls.
func (c claimed) Close() error {
	result.Release(c.File)
	return nil
}

// close releases the folder.
func (s *store) close() {
	result.Release(s.own)
	_ = s.root.Close() // only a folder
}

// ownName matches the names of the agent's own files: time of the run, epoch and process.
var ownName = regexp.MustCompile(`^(\d{8}-\d{6}-[A-Za-z0-9_-][A-Za-z0-9._-]{0,63})-p(\d{1,3})\.ktr$`)

// groupTime begins the common prefix of the names of all files of a run. The epoch follows.
const groupTime = "20060102-150405"

func (s *store) group(epoch string) string { return s.now().UTC().Format(groupTime) + "-" + epoch }

func ownFile(group string, process int) string { return fmt.Sprintf("%s-p%d.ktr", group, process) }

// groups returns the names of the agent's own files by group.
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

// has reports whether one of some groups is of an epoch.
func has[V any](groups map[string]V, epoch string) bool {
	for g := range groups {
		if g[len(groupTime)+1:] == epoch {
			return true
		}
	}
	return false
}

// hold keeps the files of a run from being removed until release.
func (s *store) hold(group string)    { s.mu.Lock(); s.inUse[group] = true; s.mu.Unlock() }
func (s *store) release(group string) { s.mu.Lock(); delete(s.inUse, group); s.mu.Unlock() }

// orphans returns one file by group of each run whose processes an earlier agent has started and that still write.
func (s *store) orphans() map[string]string {
	groups, _ := s.groups() // creating files will say what is wrong
	s.mu.Lock()
	defer s.mu.Unlock()
	found := make(map[string]string)
	for g, names := range groups {
		for _, name := range names {
			if s.inUse[g] {
				continue
			}
			if f, err := s.root.Open(name); err == nil {
				if result.Claimed(f) {
					found[g] = name
				}
				_ = f.Close() // it was only looked at
			}
		}
	}
	return found
}

// prune removes the files of the oldest runs, so that with more new runs there are keep in all.
func (s *store) prune(more int) error {
	groups, err := s.groups()
	if err != nil {
		return fmt.Errorf("look for old run files: %w", err)
	}
	orphans := s.orphans()
	var old []string
	s.mu.Lock()
	for g := range groups {
		if s.inUse[g] || orphans[g] != "" {
			more++
		} else {
			old = append(old, g)
		}
	}
	s.mu.Unlock()
	slices.Sort(old) // they begin with the time
	var errs []error
	for _, g := range old[:min(len(old), max(0, len(old)+more-s.keep))] {
		errs = append(errs, s.remove(g))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove old run files: %w", err)
	}
	return nil
}

// remove removes the files of a run.
func (s *store) remove(group string) error {
	groups, err := s.groups()
	errs := []error{err}
	for _, name := range groups[group] {
		errs = append(errs, s.root.Remove(name))
	}
	return errors.Join(errs...)
}

// sharedNames returns the names of the newest run files of other commands.
func (s *store) sharedNames() []string {
	var names []string
	if s.shared != "" {
		entries, _ := os.ReadDir(s.shared) // the folder may not exist yet
		for _, e := range entries {
			if e.Type().IsRegular() && filepath.Ext(e.Name()) == ".ktr" {
				names = append(names, e.Name())
			}
		}
	}
	return names[max(0, len(names)-maxFiles):] // their names begin with the time
}

// place identifies a run file on this host.
type place struct{ dir, name string }

// open opens a file. No link leads it out of its folder.
func (p place) open() (*os.File, error) { return os.OpenInRoot(p.dir, p.name) }

// listed is a run file of a named run, which peers can get.
type listed struct {
	fileEntry
	started time.Time
}

// entryOf returns what a listing needs of the first line of a run file, or nil if no named run has it.
func entryOf(line []byte) *listed {
	var first struct {
		Header struct {
			RunID     string       `json:"run_id"`
			StartedAt time.Time    `json:"started_at"`
			Part      *result.Part `json:"part"`
		} `json:"header"`
	}
	if json.Unmarshal(line, &first) != nil || first.Header.Part == nil {
		return nil
	}
	h, p := &first.Header, first.Header.Part
	e := &listed{fileEntry{RunID: h.RunID, Run: p.Run, Epoch: p.Epoch, Host: p.Host, Process: p.Process}, h.StartedAt}
	if e.checkNames() != nil || e.Process < 0 {
		return nil
	}
	return e
}

// readEntry returns the state of a file, or nil. known is that of an earlier listing, which has its header, or nil.
func readEntry(p place, known *listed) *listed {
	f, err := p.open()
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // it was only read from
	atWork := result.Claimed(f)      // before the size, because an unclaimed file does not grow
	if known == nil {
		if known = entryOf(result.FirstLine(io.LimitReader(f, maxLine))); known == nil {
			return nil
		}
	}
	now := *known
	now.AtWork = atWork && now.Process > 0 // a host may be watched after its load
	if info, err := f.Stat(); err == nil {
		now.Bytes = info.Size()
	}
	return &now
}

// files returns the files of named runs. It leaves out other files and unreadable ones.
func (s *store) files() (map[place]*listed, error) {
	groups, err := s.groups()
	if err != nil {
		return nil, fmt.Errorf("look for run files: %w", err)
	}
	s.listing.Lock()
	defer s.listing.Unlock()
	s.mu.Lock()
	known := s.known
	s.mu.Unlock()
	found := make(map[place]*listed)
	add := func(dir string, names []string) {
		for _, name := range names {
			p := place{dir, name}
			if e := readEntry(p, known[p]); e != nil {
				found[p] = e
			}
		}
	}
	for _, names := range groups {
		add(s.dir, names)
	}
	add(s.shared, s.sharedNames())
	s.mu.Lock()
	s.known = found
	s.mu.Unlock()
	return found, nil
}

// runs returns the names of all runs, the newest first.
func (s *store) runs() (runsFound, error) {
	all, err := s.files()
	var found runsFound
	for _, e := range slices.SortedFunc(maps.Values(all), func(a, b *listed) int {
		return cmp.Or(b.started.Compare(a.started), strings.Compare(a.Run, b.Run))
	}) {
		if !slices.Contains(found.Runs, e.Run) && len(found.Runs) < maxListed {
			found.Runs = append(found.Runs, e.Run)
		}
	}
	return found, err
}

// list returns the files of a run, by its name or epoch.
func (s *store) list(run string) (filesFound, error) {
	if err := checkName(run); err != nil {
		return filesFound{}, &refusal{http.StatusBadRequest, problem{Error: err.Error()}}
	}
	all, err := s.files()
	var found filesFound
	places := slices.SortedFunc(maps.Keys(all), func(a, b place) int {
		return cmp.Or(strings.Compare(a.dir, b.dir), strings.Compare(a.name, b.name))
	})
	for _, p := range places {
		if e := all[p]; run == e.Run || run == e.Epoch {
			found.Files = append(found.Files, e.fileEntry)
		}
	}
	if len(found.Files) > maxListed {
		return filesFound{}, fmt.Errorf("run %s has more than %d files on this host", run, maxListed)
	}
	return found, err
}

// find opens a run file by its id. One that was not listed since the agent was started is looked for.
func (s *store) find(runID string) (f *os.File, err error) {
	s.mu.Lock()
	all := s.known
	s.mu.Unlock()
	for listed := false; ; listed = true {
		for p, e := range all {
			if e.RunID == runID {
				return p.open()
			}
		}
		if listed {
			return nil, &refusal{http.StatusNotFound, problem{Error: fmt.Sprintf("there is no run file %s on this host", clean(runID, 64))}}
		}
		if all, err = s.files(); err != nil {
			return nil, err
		}
	}
}
