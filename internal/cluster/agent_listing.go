package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

// place identifies a run file on this host.
type place struct{ dir, name string }

// open opens a file. No link leads it out of its folder.
func (p place) open() (*os.File, error) { return os.OpenInRoot(p.dir, p.name) }

// held is a run file that peers can get.
type held struct {
	*fileHeader
	size   int64
	atWork bool // a process was writing to it
}

// fileHeader is the part of a run file's header that a listing needs.
type fileHeader struct {
	RunID     string       `json:"run_id"`
	StartedAt time.Time    `json:"started_at"`
	Part      *result.Part `json:"part"`
}

// readHeader returns the header of a run file of a named run. It returns nil for any other file:
// a collection, the file of a run without a name, or one whose first line is incomplete.
func readHeader(r io.Reader) *fileHeader {
	return fileHeaderOf(result.FirstLine(io.LimitReader(r, maxLine)))
}

func fileHeaderOf(text []byte) *fileHeader {
	var line struct {
		Header *fileHeader `json:"header"`
	}
	if json.Unmarshal(text, &line) != nil || line.Header == nil || line.Header.Part == nil {
		return nil
	}
	h := line.Header
	err := errors.Join(checkName(h.RunID), checkName(h.Part.Run), checkName(h.Part.Host), checkID(h.Part.Epoch))
	if err != nil || h.Part.Process < 0 {
		return nil
	}
	return h
}

// look returns the state of a file. A header is read once, because no run file gets another one: known is that of an
// earlier look, or nil.
func look(p place, known *fileHeader) held {
	f, err := p.open()
	if err != nil {
		return held{}
	}
	defer func() { _ = f.Close() }()                        // it was only read from
	h := held{fileHeader: known, atWork: result.Claimed(f)} // before the size, because an unclaimed file does not grow
	if info, err := f.Stat(); err == nil {
		h.size = info.Size()
	}
	if known == nil {
		h.fileHeader = readHeader(f)
	}
	return h
}

// held returns the files of named runs. It leaves out other files and unreadable ones.
func (s *store) held() ([]held, error) {
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
	known := s.headers
	s.mu.Unlock()
	var all []held
	headers := make(map[place]*fileHeader)
	for _, p := range places {
		if h := look(p, known[p]); h.fileHeader != nil {
			all, headers[p] = append(all, h), h.fileHeader
		}
	}
	s.mu.Lock()
	s.headers = headers
	s.mu.Unlock()
	return all, nil
}

// maxListed bounds the files of a listing, which is one answer.
const maxListed = 2000

// runs returns the names of all runs, the newest first.
func (s *store) runs() (runsFound, error) {
	all, err := s.held()
	slices.SortFunc(all, func(a, b held) int { return b.StartedAt.Compare(a.StartedAt) })
	known := make(map[string]bool)
	var found runsFound
	for _, h := range all {
		if name := h.Part.Run; !known[name] && len(found.Runs) < maxListed {
			known[name] = true
			found.Runs = append(found.Runs, name)
		}
	}
	return found, err
}

// list returns the files of a run, by its name or epoch.
func (s *store) list(run string) (filesFound, error) {
	all, err := s.held()
	if err != nil {
		return filesFound{}, err
	}
	var found filesFound
	for _, h := range all {
		if p := h.Part; run == p.Run || run == p.Epoch {
			found.Files = append(found.Files, fileEntry{
				RunID: h.RunID, Run: p.Run, Epoch: p.Epoch, Host: p.Host, Process: p.Process, Bytes: h.size,
				AtWork: h.atWork && p.Process > 0, // a host may be watched after its load
			})
		}
	}
	if len(found.Files) > maxListed {
		return filesFound{}, fmt.Errorf("run %s has more than %d files on this host", run, maxListed)
	}
	return found, nil
}

// find opens a run file by its id.
func (s *store) find(runID string) (*os.File, error) {
	p, ok := s.known(runID)
	if !ok { // not listed since the agent was started
		if _, err := s.held(); err != nil {
			return nil, err
		}
		if p, ok = s.known(runID); !ok {
			return nil, &refusal{http.StatusNotFound, problem{Error: fmt.Sprintf("there is no run file %s on this host", clean(runID, 64))}}
		}
	}
	return p.open()
}

// known returns the place of a file that was listed.
func (s *store) known(runID string) (place, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p, h := range s.headers {
		if h.RunID == runID {
			return p, true
		}
	}
	return place{}, false
}
