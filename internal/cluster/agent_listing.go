package cluster

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

// place is where a run file is.
type place struct {
	shared bool // in the folder of the other commands, not in the agent's own
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
	defer func() { _ = root.Close() }() // it was only looked into
	return root.Open(p.name)
}

// noted is what was found out about a file, and holds as long as the file has that size
// and time: to read gigabytes takes longer than anybody waits for a listing.
type noted struct {
	size    int64
	changed time.Time
	header  *fileHeader // nil: it is of no named run
	sum     string      // "": it was not read yet
}

func (n noted) same(o noted) bool { return n.size == o.size && n.changed.Equal(o.changed) }

// held is one run file that can be had.
type held struct {
	place
	noted
	atWork bool // a process wrote to it when it was looked at
}

// fileHeader is what is needed of a run file's first line.
type fileHeader struct {
	RunID     string       `json:"run_id"`
	StartedAt time.Time    `json:"started_at"`
	Part      *result.Part `json:"part"`
}

// readHeader returns nil for what is no run file of a named run: a collection, a result
// that stands for itself, a file of which not even the first line is whole.
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

// look looks at a file.
func (s *store) look(p place) (held, error) {
	f, err := s.open(p)
	if err != nil {
		return held{}, err
	}
	defer func() { _ = f.Close() }() // it was only read from
	atWork := result.Claimed(f)      // before its size: what nobody has claimed does not grow
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

// held returns the files of named runs. What is none, or cannot be looked into, is no
// business of whoever asks for a run.
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
			notes[p] = before // it may have been read meanwhile
		}
	}
	s.notes, s.ids = notes, ids
	return all, nil
}

// maxListed keeps a listing within one message.
const maxListed = 2000

// listFor is how long a listing reads files at most, and stillReading ends what is said
// then: whoever asks waits for fetchTimeout, and may ask again.
const (
	listFor      = fetchTimeout - 10*time.Second
	stillReading = "are not read yet: ask again"
)

// list finds the files of a run, by its name or epoch; with "" the runs that there are.
func (s *store) list(ctx context.Context, run string) (filesFound, error) {
	all, err := s.held()
	if err != nil {
		return filesFound{}, err
	}
	if run == "" {
		return filesFound{Runs: runsOf(all)}, nil
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
			return filesFound{}, fmt.Errorf("%d of the %d files of run %s %s", len(all)-i, len(all), run, stillReading)
		}
		sum, err := s.sum(ctx, h)
		if ctx.Err() != nil {
			return filesFound{}, ctx.Err()
		}
		if err != nil {
			found.Unread++
			continue // it is counted, and the others are listed
		}
		p := h.header.Part
		found.Files = append(found.Files, fileEntry{
			RunID: h.header.RunID, Run: p.Run, Epoch: p.Epoch, Host: p.Host, Process: p.Process, Bytes: h.size, SHA256: sum,
			AtWork: h.atWork,
		})
	}
	return found, nil
}

// runsOf returns the names of the runs that files are of, the newest first.
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

// sum reads a whole file, as long as it was when it was noted, and remembers the result.
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
	h.sum = hexOf(sum)
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
	if !ok { // it was not listed, or that was before the agent started
		if _, err := s.held(); err != nil {
			return nil, err
		}
		if p, ok = known(); !ok {
			return nil, fmt.Errorf("there is no run file %s on this host", runID)
		}
	}
	return s.open(p)
}

// chunkOf reads a piece of a file.
func chunkOf(f *os.File, c *chunkAsked) ([]byte, error) {
	b := make([]byte, min(chunkBytes, c.Bytes-c.Offset))
	if _, err := f.ReadAt(b, c.Offset); err != nil {
		return nil, fmt.Errorf("read run file %s at byte %d: %w", c.RunID, c.Offset, err)
	}
	return b, nil
}
