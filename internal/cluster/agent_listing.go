package cluster

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

// place identifies a run file on this host.
type place struct{ dir, name string }

// open opens a file. No link leads it out of its folder.
func (p place) open() (*os.File, error) { return os.OpenInRoot(p.dir, p.name) }

// listed is a run file of a named run, which peers can get.
type listed struct {
	fileEntry
	started time.Time
}

// entryOf returns what a listing needs of the first line of a run file. It returns nil for any other file: a
// collection, the file of a run without a name, or one whose first line is incomplete.
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

// readEntry returns the state of a file, or nil. A header is read once, because no run file gets another one: known is that
// of an earlier look, or nil.
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
	var places []place
	for _, names := range groups {
		for _, name := range names {
			places = append(places, place{s.dir, name})
		}
	}
	for _, name := range s.sharedNames() {
		places = append(places, place{s.shared, name})
	}
	s.listing.Lock()
	defer s.listing.Unlock()
	s.mu.Lock()
	known := s.known
	s.mu.Unlock()
	found := make(map[place]*listed)
	for _, p := range places {
		if e := readEntry(p, known[p]); e != nil {
			found[p] = e
		}
	}
	s.mu.Lock()
	s.known = found
	s.mu.Unlock()
	return found, nil
}

// maxListed bounds the files of a listing, which is one answer.
const maxListed = 2000

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
func (s *store) find(runID string) (*os.File, error) {
	s.mu.Lock()
	known := s.known
	s.mu.Unlock()
	p, ok := placeOf(known, runID)
	if !ok {
		all, err := s.files()
		if err != nil {
			return nil, err
		}
		p, ok = placeOf(all, runID)
	}
	if ok {
		return p.open()
	}
	return nil, &refusal{http.StatusNotFound, problem{Error: fmt.Sprintf("there is no run file %s on this host", clean(runID, 64))}}
}

// placeOf returns where the file with a run id is, and reports whether it is known.
func placeOf(known map[place]*listed, runID string) (place, bool) {
	for p, e := range known {
		if e.RunID == runID {
			return p, true
		}
	}
	return place{}, false
}
