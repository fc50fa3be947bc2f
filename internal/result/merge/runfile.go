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

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

// runFile is one run file of a set. Its other lines are read when a result is made.
type runFile struct {
	name    string // for errors
	r       io.ReaderAt
	size    int64
	sum     string // SHA-256, in hexadecimal digits
	header  result.Header
	part    result.Part // one that only has a host and limits, if the header has none
	start   result.Start
	begun   bool            // the file has a start; else start is that of its process
	trailer *result.Trailer // nil: the file has no end
	atWork  bool            // a process was writing the file
	lasted  time.Duration   // up to its last line, if it has no end; 0: not known yet

	// A corrupt file counts up to its last good line, as if it had been cut off there.
	lastGood int             // number of that line; 0: no bad line is known
	corrupt  *result.BadLine // the line after it; nil: no bad line is known
}

// cutAt makes the file end before a bad line, and returns errCorrupt, or another error if no line is left.
func (s *runFile) cutAt(bad *result.BadLine) error {
	if bad.Number == 1 {
		return fmt.Errorf("%s: %w", s.name, bad)
	}
	s.lastGood, s.corrupt, s.trailer = bad.Number-1, bad, nil
	return errCorrupt
}

// Bounds on the memory that the header of a run file may cause to be allocated.
const (
	maxRoster   = 1000   // hosts
	maxOfHost   = 1000   // processes
	maxMembers  = 10_000 // processes of a roster, all together
	maxPartText = 256    // bytes of a name
	maxPartTags = 64     // of a host
)

// readRunFile reads a run file once, for its header, start and trailer. Only a corrupt header is an error.
func readRunFile(name string, r io.ReaderAt, size int64, atWork bool) (*runFile, error) {
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
		if bad := new(result.BadLine); errors.As(err, &bad) && bad.Number > 1 {
			_ = s.cutAt(bad) // it counts up to there
		} else if err != nil {
			return nil, err
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
	s.sum, s.atWork = hex.EncodeToString(hash.Sum(nil)), atWork && s.trailer == nil
	return s, nil
}

// keep keeps what a line has of the header, the start and the trailer. It refuses a bad header only.
func (s *runFile) keep(l *result.Line) error {
	switch {
	case l.Header != nil:
		s.header, s.part, s.start.At = *l.Header, result.Part{Host: l.Header.Environment.Host.Hostname}, l.Header.StartedAt
		if l.Header.Part != nil {
			s.part = *l.Header.Part
		}
		if len(s.part.Limits) == 0 {
			s.part.Limits = s.header.Limits
		}
		if err := s.checkHeader(); err != nil {
			return &result.BadLine{Number: 1, Err: err}
		}
	case l.Start != nil:
		s.start, s.begun = *l.Start, true
	case l.Trailer != nil:
		s.trailer = l.Trailer
	}
	return nil
}

// checkHeader refuses a header that no kt writes and that would take too much memory.
func (s *runFile) checkHeader() error {
	if err := s.header.Environment.Check(); err != nil { // of a page, for one
		return err
	}
	p := s.header.Part
	if p == nil {
		return nil
	}
	members := 0
	for _, m := range p.Roster {
		if m.Processes < 0 || m.Processes > maxOfHost || m.Before < 0 || m.Before > maxOfHost || len(m.Host) > maxPartText {
			return fmt.Errorf("its roster has %d processes on a host %.40q", m.Processes, m.Host)
		}
		members += m.Processes
	}
	switch {
	case len(p.Roster) > maxRoster || members > maxMembers:
		return fmt.Errorf("its roster has %d processes on %d hosts", members, len(p.Roster))
	case p.Process < 0 || len(p.Run)+len(p.Epoch)+len(p.Host)+len(p.Role)+len(p.Load) > 4*maxPartText || len(p.Tags) > maxPartTags:
		return fmt.Errorf("it is part %d of %.40q on host %.40q", p.Process, p.Run, p.Host)
	case p.Load != "" && plan.CheckName(p.Load) != nil:
		return fmt.Errorf("its load is %.40q, which is no name", p.Load)
	}
	return nil
}

// content returns the good lines of the file.
func (s *runFile) content() iter.Seq2[result.Line, error] {
	return result.NewLines(io.NewSectionReader(s.r, 0, s.size), s.lastGood).All()
}

// watched reports whether the file holds the vitals of a machine and no load.
func (s *runFile) watched() bool { return s.header.Part != nil && s.header.Part.Process == 0 }

// runName is the name of a run of several parts. Run files without a part are of one run.
type runName struct {
	run, epoch string
	parts      bool
}

// group is the files of one run.
type group struct {
	runName
	files   []*runFile
	started time.Time // as the result of the group says it
}

// name returns the name by which a user selects a group, such as "nightly@2026-11-21T22:00:00Z".
func (g *group) name(layout string) string { return g.run + "@" + g.started.Format(layout) }

// exactly is the layout of a start when two runs of one name began in the same second.
const exactly = "2006-01-02T15:04:05.000000000Z07:00"

// groupsOf divides run files into runs.
func groupsOf(runFiles []*runFile) (all []*group) {
	newest := make(map[runName]*group)
	for _, s := range slices.SortedStableFunc(slices.Values(runFiles), func(a, b *runFile) int { return a.began().Compare(b.began()) }) {
		name := runName{s.part.Run, s.part.Epoch, s.header.Part != nil}
		if newest[name] == nil || name.epoch == "" && newest[name].overBefore(s) {
			newest[name] = &group{runName: name}
			all = append(all, newest[name])
		}
		newest[name].files = append(newest[name].files, s)
	}
	for _, g := range all {
		g.started = newMerge(g.files).startedAt().UTC()
	}
	return all
}

// separateAfter is the longest pause within a run whose hosts were started one by one, by hand and by clocks that differ.
const separateAfter = time.Minute

// overBefore reports whether the run was over before a part of its name and without an epoch began: nothing ran on any host for
// separateAfter, or all earlier parts on its host were over and one of them has a trailer. Others may have died at the start.
func (g *group) overBefore(next *runFile) bool {
	over := func(a, b *runFile) int { return a.over().Compare(b.over()) }
	here := slices.DeleteFunc(slices.Clone(g.files), func(s *runFile) bool { return s.part.Host != next.part.Host })
	ended := slices.ContainsFunc(here, func(s *runFile) bool { return s.trailer != nil })
	return next.began().Sub(slices.MaxFunc(g.files, over).over()) > separateAfter || ended && next.began().After(slices.MaxFunc(here, over).over())
}

// over returns when the run was over: after its last window or vitals if the file has no trailer.
func (s *runFile) over() time.Time {
	if s.trailer != nil {
		return s.began().Add(seconds(s.trailer.ElapsedSeconds))
	}
	if s.lasted == 0 {
		for l := range s.content() { //nolint:errcheck // an error is reported when the file is merged
			switch {
			case l.Window != nil:
				s.lasted = max(s.lasted, l.Window.End)
			case l.Vitals != nil:
				s.lasted = max(s.lasted, l.Vitals.At)
			}
		}
	}
	return s.began().Add(s.lasted)
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// began returns the start of the load, by the coordinator's clock if the parts agreed on a start.
func (s *runFile) began() time.Time {
	if a := s.start.Agreed; a != nil {
		return a.At.Add(a.Late)
	}
	return s.start.At
}

// loadEnded returns the end of sending or reading. The file must have a trailer.
func (s *runFile) loadEnded() time.Time {
	return s.began().Add(seconds(s.trailer.SendingSeconds))
}

// lateAfter bounds the distance of a part's start from the agreed start: the length of a window.
const lateAfter = time.Second

// state returns the state of the part, from its own file alone.
func (s *runFile) state() result.PartState {
	switch a := s.start.Agreed; {
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
