package cluster

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
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
type place struct {
	shared bool // in the folder of kt's other commands, not in the agent's own
	name   string
}

func (s *store) open(p place) (*os.File, error) {
	if !p.shared {
		return s.root.Open(p.name)
	}
	root, err := os.OpenRoot(s.shared)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // only a folder
	return root.Open(p.name)
}

// noted caches the header and checksum of a file while its size and time stay the same, because
// reading gigabytes takes longer than a listing may.
type noted struct {
	size    int64
	changed time.Time
	header  *fileHeader // nil: no run file of a named run
	sum     string      // "": not computed yet
}

func (n noted) same(o noted) bool { return n.size == o.size && n.changed.Equal(o.changed) }

// held is a run file that peers can get.
type held struct {
	place
	noted
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
	text, err := bufio.NewReaderSize(io.LimitReader(r, maxLine), 64<<10).ReadBytes('\n')
	if err != nil {
		return nil
	}
	var line struct {
		Header *fileHeader `json:"header"`
	}
	if json.Unmarshal(text, &line) != nil || line.Header == nil || line.Header.Part == nil {
		return nil
	}
	h := line.Header
	err = errors.Join(checkName(h.RunID), checkName(h.Part.Run), checkName(h.Part.Host))
	if h.Part.Epoch != "" {
		err = errors.Join(err, checkName(h.Part.Epoch))
	}
	if err != nil || h.Part.Process < 0 {
		return nil
	}
	return h
}

// look returns the state of a file, with the cached checksum if the file is unchanged.
func (s *store) look(p place) (held, error) {
	f, err := s.open(p)
	if err != nil {
		return held{}, err
	}
	defer func() { _ = f.Close() }() // it was only read from
	atWork := result.Claimed(f)      // before the size, because an unclaimed file does not grow
	info, err := f.Stat()
	if err != nil {
		return held{}, err
	}
	n := noted{size: info.Size(), changed: info.ModTime()}
	s.mu.Lock()
	before, ok := s.notes[p]
	s.mu.Unlock()
	if ok && before.same(n) {
		return held{p, before, atWork}, nil
	}
	n.header = readHeader(f)
	return held{p, n, atWork}, nil
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
			places = append(places, place{name: name})
		}
	}
	for _, name := range s.sharedNames() {
		places = append(places, place{shared: true, name: name})
	}
	var all []held
	notes, ids := make(map[place]noted), make(map[string]place)
	for _, p := range places {
		h, err := s.look(p)
		if err != nil {
			continue
		}
		notes[p] = h.noted
		if h.header != nil {
			all = append(all, h)
			ids[h.header.RunID] = p
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for p, n := range notes {
		if before := s.notes[p]; before.same(n) {
			notes[p] = before // its checksum may have been computed meanwhile
		}
	}
	s.notes, s.ids = notes, ids
	return all, nil
}

// maxListed bounds the files of a listing, which is one message.
const maxListed = 2000

// A listing reads files for up to listFor, because a coordinator waits for fetchTimeout. Then it
// has to ask again.
const listFor = fetchTimeout - 10*time.Second

// runs returns the names of all runs, the newest first.
func (s *store) runs() (runsFound, error) {
	all, err := s.held()
	return runsFound{Runs: runsOf(all)}, err
}

// list returns the files of a run, by its name or epoch.
func (s *store) list(ctx context.Context, run string) (filesFound, error) {
	all, err := s.held()
	if err != nil {
		return filesFound{}, err
	}
	all = slices.DeleteFunc(all, func(h held) bool { return run != h.header.Part.Run && run != h.header.Part.Epoch })
	if len(all) > maxListed {
		return filesFound{}, fmt.Errorf("run %s has more than %d files on this host", run, maxListed)
	}
	select {
	case s.hash <- struct{}{}:
	case <-ctx.Done():
		return filesFound{}, ctx.Err()
	}
	defer func() { <-s.hash }()
	var found filesFound
	until := time.Now().Add(listFor)
	for i, h := range all {
		if i > 0 && h.sum == "" && time.Now().After(until) {
			text := fmt.Sprintf("%d of the %d files of run %s are not read yet: ask again", len(all)-i, len(all), run)
			return filesFound{}, &refusal{http.StatusServiceUnavailable, problem{Error: text, Again: true}}
		}
		sum, err := s.sum(ctx, h)
		if ctx.Err() != nil {
			return filesFound{}, ctx.Err()
		}
		if err != nil {
			found.Unread++
			continue
		}
		p := h.header.Part
		found.Files = append(found.Files, fileEntry{
			RunID: h.header.RunID, Run: p.Run, Epoch: p.Epoch, Host: p.Host, Process: p.Process, Bytes: h.size, SHA256: sum,
			AtWork: h.atWork && p.Process > 0, // a host may be watched after its load
		})
	}
	return found, nil
}

// runsOf returns the names of the runs of the files, the newest first.
func runsOf(all []held) []string {
	slices.SortFunc(all, func(a, b held) int { return b.header.StartedAt.Compare(a.header.StartedAt) })
	known := make(map[string]bool)
	var runs []string
	for _, h := range all {
		if name := h.header.Part.Run; !known[name] && len(runs) < maxListed {
			known[name] = true
			runs = append(runs, name)
		}
	}
	return runs
}

// sum returns the checksum of a file, up to the size that was noted, and caches it.
func (s *store) sum(ctx context.Context, h held) (string, error) {
	if h.sum != "" {
		return h.sum, nil
	}
	f, err := s.open(h.place)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read from
	sum := sha256.New()
	for left := h.size; left > 0 && ctx.Err() == nil; {
		n, err := io.CopyN(sum, f, min(left, 1<<20))
		if err != nil {
			return "", err
		}
		left -= n
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	h.sum = hex.EncodeToString(sum.Sum(nil))
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, ok := s.notes[h.place]; ok && n.same(h.noted) {
		s.notes[h.place] = h.noted
	}
	return h.sum, nil
}

// find opens a run file by its id.
func (s *store) find(runID string) (*os.File, error) {
	known := func() (place, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		p, ok := s.ids[runID]
		return p, ok
	}
	p, ok := known()
	if !ok { // not listed since the agent was started
		if _, err := s.held(); err != nil {
			return nil, err
		}
		if p, ok = known(); !ok {
			return nil, &refusal{http.StatusNotFound, problem{Error: fmt.Sprintf("there is no run file %s on this host", clean(runID, 64))}}
		}
	}
	return s.open(p)
}
