package merge

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

// runFile is one run file of a set. Its other lines are read when a result is made.
type runFile struct {
	name    string // for errors
	r       io.ReaderAt
	size    int64
	sum     string // SHA-256, in hexadecimal digits
	header  result.Header
	part    result.Part // one that only has a host, if the header has none
	start   *result.Start
	trailer *result.Trailer // nil: the file has no end
	atWork  bool            // a process was writing the file

	// A corrupt file counts up to its last good line, as if it had been cut off there.
	lastGood int             // number of that line; 0: no bad line is known
	corrupt  *result.BadLine // the line after it; nil: no bad line is known
}

// cutAt makes the file end before a bad line, and returns errCorrupt. It returns another error if
// the header is bad: then no line counts.
func (s *runFile) cutAt(bad *result.BadLine) error {
	if bad.Number == 1 {
		return fmt.Errorf("%s: %w", s.name, bad)
	}
	s.lastGood, s.corrupt, s.trailer = bad.Number-1, bad, nil
	return errCorrupt
}

// Bounds on the memory that the header of a run file may cause to be allocated.
const (
	maxRoster     = 1000      // hosts
	maxOfHost     = 1000      // processes
	maxMembers    = 10_000    // processes of a roster, all together
	maxPartText   = 256       // bytes of a name
	maxPartTags   = 64        // of a host
	maxTopicParts = 1_000_000 // partitions of a run's topics
)

// readRunFile reads a run file once, for its header, start and trailer. Only a corrupt header is an error.
func readRunFile(name string, r io.ReaderAt, size int64) (*runFile, error) {
	s := &runFile{name: name, r: r, size: size}
	hash := sha256.New()
	section := io.NewSectionReader(r, 0, size)
	in := io.TeeReader(section, hash)
	for lines := result.NewLines(in, 0); s.corrupt == nil; {
		l, err := lines.Next(true)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = s.keep(&l)
		}
		var bad *result.BadLine
		switch {
		case err == nil:
		case !errors.As(err, &bad):
			return nil, &result.BadLine{Number: 1, Err: err} // of the header
		case bad.Number == 1:
			return nil, bad
		default:
			_ = s.cutAt(bad) // it counts up to there
		}
	}
	if _, err := io.Copy(io.Discard, in); err != nil { // for the checksum
		return nil, err
	}
	if s.header.Schema == 0 {
		return nil, errors.New("it is empty, no run file and no page of kt")
	}
	if at, _ := section.Seek(0, io.SeekCurrent); at != size {
		return nil, fmt.Errorf("it should have %d bytes, and there are %d", size, at)
	}
	s.sum = hex.EncodeToString(hash.Sum(nil))
	return s, nil
}

// keep keeps what a line has of the header, the start and the trailer. It refuses a bad header only.
func (s *runFile) keep(l *result.Line) error {
	switch {
	case l.Header != nil:
		s.header, s.part = *l.Header, result.Part{Host: l.Header.Environment.Host.Hostname}
		if l.Header.Part != nil {
			s.part = *l.Header.Part
		}
		return s.checkHeader()
	case l.Start != nil:
		s.start = l.Start
	case l.Trailer != nil:
		s.trailer = l.Trailer
	}
	return nil
}

// checkHeader refuses a header that no kt writes and that would take too much memory.
func (s *runFile) checkHeader() error {
	if n := s.header.Environment.Partitions(); n < 0 || n > maxTopicParts {
		return fmt.Errorf("its topics have %d partitions", n)
	}
	p := s.header.Part
	if p == nil {
		return nil
	}
	members := 0
	for _, m := range p.Roster {
		if m.Processes < 0 || m.Processes > maxOfHost || len(m.Host) > maxPartText {
			return fmt.Errorf("its roster has %d processes on a host %.40q", m.Processes, m.Host)
		}
		members += m.Processes
	}
	switch {
	case len(p.Roster) > maxRoster || members > maxMembers:
		return fmt.Errorf("its roster has %d processes on %d hosts", members, len(p.Roster))
	case p.Process < 0 || len(p.Run)+len(p.Epoch)+len(p.Host)+len(p.Role) > 4*maxPartText || len(p.Tags) > maxPartTags:
		return fmt.Errorf("it is part %d of %.40q on host %.40q", p.Process, p.Run, p.Host)
	}
	return nil
}

// content returns the good lines of the file.
func (s *runFile) content() iter.Seq2[result.Line, error] {
	return result.NewLines(io.NewSectionReader(s.r, 0, s.size), s.lastGood).All()
}

// watched reports whether the file holds the vitals of a machine and no load.
func (s *runFile) watched() bool { return s.header.Part != nil && s.header.Part.Process == 0 }

// group returns the run that the part belongs to. Run files without a part are one group.
func (s *runFile) group() group {
	return group{run: s.part.Run, epoch: s.part.Epoch, parts: s.header.Part != nil}
}

// group is a run of several parts.
type group struct {
	run, epoch string
	parts      bool
	began      time.Time // start of the load of the first part of a group without an epoch
	started    time.Time // as the result of the group says it
}

// name returns the name by which a user selects a group, such as "nightly@2026-11-21T22:00:00Z".
func (g group) name(layout string) string { return g.run + "@" + g.started.Format(layout) }

// exactly is the layout of a start when two runs of one name began in the same second.
const exactly = "2006-01-02T15:04:05.000000000Z07:00"

// separateAfter is the longest pause within a run whose hosts were started one by one. They may be
// started by hand, and their clocks differ.
const separateAfter = time.Minute

// groupsOf returns the group of each run file. Parts of one name and without an epoch are several
// runs in two cases:
//
//   - nothing ran on any host for separateAfter
//   - a part began on a host after all earlier parts there were over, by the same clock. One of
//     these must have a trailer: a process without one may have died at the start, before
//     others of its run began.
func groupsOf(runFiles []*runFile) map[*runFile]group {
	of := make(map[*runFile]group, len(runFiles))
	byName := make(map[group][]*runFile)
	for _, s := range runFiles {
		g := s.group()
		of[s] = g
		if g.epoch == "" {
			byName[g] = append(byName[g], s)
		}
	}
	for g, all := range byName {
		slices.SortFunc(all, func(a, b *runFile) int { return a.began().Compare(b.began()) })
		var until time.Time
		type parts struct { // of the run on one host
			until time.Time
			ended bool // one of its files has a trailer
		}
		hosts := make(map[string]parts)
		for _, s := range all {
			h := hosts[s.part.Host]
			if g.began.IsZero() || s.began().Sub(until) > separateAfter || h.ended && s.began().After(h.until) {
				g.began, until, h = s.began().UTC(), time.Time{}, parts{}
				clear(hosts)
			}
			of[s] = g
			end := s.began().Add(s.lasted())
			until, h.until, h.ended = slices.MaxFunc([]time.Time{until, end}, time.Time.Compare), slices.MaxFunc([]time.Time{h.until, end}, time.Time.Compare), h.ended || s.trailer != nil
			hosts[s.part.Host] = h
		}
	}
	files := make(map[group][]*runFile)
	for s, g := range of {
		files[g] = append(files[g], s)
	}
	for g, all := range files {
		from := all // as its result says it: the parts that count, or else all
		if counted := newMerge(all).counted(); len(counted) > 0 {
			from = nil
			for _, p := range counted {
				from = append(from, p.runFile)
			}
		}
		first := slices.MinFunc(from, func(a, b *runFile) int { return a.header.StartedAt.Compare(b.header.StartedAt) })
		g.started = first.header.StartedAt.UTC()
		for _, s := range all {
			of[s] = g
		}
	}
	return of
}

// lasted returns the duration of the run, up to the last window if the file has no trailer.
func (s *runFile) lasted() (d time.Duration) {
	if s.trailer != nil {
		return time.Duration(s.trailer.ElapsedSeconds * float64(time.Second))
	}
	for l := range s.content() { //nolint:errcheck // an error is reported when the file is merged
		switch {
		case l.Window != nil:
			d = max(d, l.Window.End)
		case l.Vitals != nil:
			d = max(d, l.Vitals.At)
		}
	}
	return d
}

// began returns the start of the load, by the coordinator's clock if the parts agreed on a start.
func (s *runFile) began() time.Time {
	switch {
	case s.start == nil:
		return s.header.StartedAt
	case s.start.Agreed != nil:
		return s.start.Agreed.At.Add(s.start.Agreed.Late)
	}
	return s.start.At
}

// loadEnded returns the end of sending or reading. The file must have a trailer.
func (s *runFile) loadEnded() time.Time {
	return s.began().Add(time.Duration(s.trailer.SendingSeconds * float64(time.Second)))
}

func (s *runFile) agreed() *result.Agreed {
	if s.start == nil {
		return nil
	}
	return s.start.Agreed
}

// lateAfter bounds the distance of a part's start from the agreed start: the length of a window.
const lateAfter = time.Second

// state returns the state of the part, from its own file alone.
func (s *runFile) state() result.PartState {
	switch a := s.agreed(); {
	case s.trailer == nil && s.corrupt == nil && s.atWork:
		return result.PartRunning
	case s.trailer == nil || !slices.Contains([]string{result.Completed, result.Interrupted, result.Aborted, result.DiskFull}, s.trailer.Ended):
		return result.PartLost
	case a != nil && (a.Late > lateAfter || a.Late < -lateAfter):
		return result.PartLate
	case s.trailer.Ended == result.Interrupted || s.trailer.Ended == result.Aborted:
		return result.PartStopped
	}
	return result.PartComplete
}

// compare orders run files in a collection, and rows in a result.
func (s *runFile) compare(o *runFile) int {
	return cmp.Or(cmp.Compare(s.part.Host, o.part.Host), cmp.Compare(s.part.Process, o.part.Process),
		cmp.Compare(s.header.RunID, o.header.RunID), cmp.Compare(s.sum, o.sum))
}

// compareContent orders files of the same run: a more complete one is greater.
func (s *runFile) compareContent(o *runFile) int {
	rank := map[bool]int{true: 1}
	return cmp.Or(cmp.Compare(rank[s.trailer != nil], rank[o.trailer != nil]), cmp.Compare(s.size, o.size), cmp.Compare(s.sum, o.sum),
		cmp.Compare(rank[!s.atWork], rank[!o.atWork])) // a file that nobody writes any more was seen later
}
