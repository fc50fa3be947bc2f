package merge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// merge makes one result of the parts of a run. Windows are cut at whole seconds of their load, and a part is shifted by whole
// seconds: so the windows of all parts line up. Memory is bounded by the number of parts, whatever the length of the run.
type merge struct {
	parts    []*mergedPart            // with a load
	watched  []*mergedPart            // with the vitals of a machine
	roster   map[string]result.Member // by host
	first    *mergedPart              // the earliest part that counts: its start is common time 0
	topics   []result.Topic           // of all parts: the numbers of partitions count on from one to the next
	byTopic  bool                     // the rows of the whole are of topics
	notes    []string                 // differences between the parts
	separate string                   // why the parts are not added up; "": they are
	limits   []string                 // judged instead of those of the parts; none: those of the parts

	whole *result.Fold // of all parts that count
	shown time.Duration
	same  repeats
	hosts map[string]*HostNow // nil: nobody asks for the state of hosts
}

// mergedPart is one part with a load.
type mergedPart struct {
	*runFile
	number  int // of the process, in the result
	state   result.PartState
	counted bool
	ranOn   time.Duration // of a part stopped early: when most others ended, by its own time; else 0

	late  time.Duration // after common time 0
	shift time.Duration // late in whole seconds: its own time plus shift is common time
	named bool          // several parts count: its own events begin with its name

	rows, numbers func(int32) int32 // to the keys of rows and the numbers of partitions among those of all: see places

	waiting
	seconds chan *second    // complete ones, as they are read; nil: they are not merged, or come from a copy
	bad     *result.BadLine // the first one that was read; nil: there is none
	sample  host.Sample     // of the second that was merged last

	fold   *result.Fold // of itself; nil: of a copy that grows
	counts []counts
	gaps   []stats.Gap   // without an acknowledgement, by its own time
	did    *stats.Window // in the overlap; nil: rates are not over it
	figures

	// Of a copy that grows.
	decoder result.Decoder
	gone    bool  // no more lines are expected for now
	failed  error // of the first bad line
}

// newMerge finds the state of each part, and which parts count.
func newMerge(runFiles []*runFile) *merge {
	m := &merge{roster: make(map[string]result.Member), same: make(repeats)}
	taken, next := make(map[string]int), make(map[string]int) // by label and by host
	for _, s := range runFiles {
		for _, member := range s.part.Roster {
			known := m.roster[member.Host]
			m.roster[member.Host] = result.Member{Host: member.Host, Role: cmp.Or(known.Role, member.Role), Processes: max(known.Processes, member.Processes), Before: max(known.Before, member.Before)}
		}
		p := &mergedPart{runFile: s, number: s.part.Process, state: s.state()}
		if p.watched() {
			m.watched = append(m.watched, p)
		} else {
			m.parts = append(m.parts, p)
			taken[p.label()]++
		}
	}
	for _, p := range m.parts { // those that were not started together may have no number, or the same one
		if p.part.Epoch == "" && (p.number == 0 || taken[p.label()] > 1) {
			next[p.part.Host]++
			p.number = next[p.part.Host]
		}
	}
	if len(m.parts) == 0 {
		return m
	}
	m.findStopped()
	// Complete and stopped parts count, unless they were stopped well before the others; or else others.
	for _, states := range [][]result.PartState{{result.PartComplete, result.PartStopped}, {result.PartRunning}, {result.PartLost}, {result.PartLate}} {
		for _, p := range m.parts {
			p.counted = slices.Contains(states, p.state) && p.ranOn == 0
		}
		if len(m.counted()) > 0 {
			break
		}
	}
	m.align(m.counted())
	m.separate = m.different()
	return m
}

// align sets common time 0 to the start of the earliest of some parts, how far each part is behind it, and whether its events need its name.
func (m *merge) align(of []*mergedPart) {
	m.first = slices.MinFunc(of, func(a, b *mergedPart) int { return a.began().Compare(b.began()) })
	for _, p := range m.parts {
		p.named = len(m.counted()) > 1
		p.late = p.began().Sub(m.first.began())
		p.shift = p.late.Round(time.Second)
	}
}

// A part does not count if it was stopped before most others by more than both of these.
const (
	stoppedBefore = 2 * time.Second // a stop of the whole run reaches all parts within that time
	stoppedShare  = 0.10            // of the time that the others ran: rates over the rest still stand for the run
)

// findStopped finds the parts that were stopped well before most others: rates are over the time in which all parts ran.
func (m *merge) findStopped() {
	ended := make(map[string][]time.Time) // by epoch
	for _, p := range m.parts {
		if p.state == result.PartComplete || p.state == result.PartStopped {
			ended[p.part.Epoch] = append(ended[p.part.Epoch], p.loadEnded())
		}
	}
	for _, all := range ended {
		slices.SortFunc(all, time.Time.Compare)
	}
	for _, p := range m.parts {
		if p.part.Epoch == "" || p.state != result.PartStopped {
			continue // parts that were not started together need not end together
		}
		all := ended[p.part.Epoch]
		until := all[len(all)/2]
		most := until.Sub(p.began())
		if short := until.Sub(p.loadEnded()); short > max(stoppedBefore, time.Duration(stoppedShare*float64(most))) {
			p.ranOn = most
		}
	}
}

// label returns the name of the part for a user: "vm14/1".
func (p *mergedPart) label() string { return label(p.part.Host, p.number) }

func label(host string, process int) string { return fmt.Sprintf("%s/%d", host, process) }

func (m *merge) counted() []*mergedPart {
	return slices.DeleteFunc(slices.Clone(m.parts), func(p *mergedPart) bool { return !p.counted })
}

// listRunFiles lists all run files, sorted.
func (m *merge) listRunFiles() (list []result.MergedFile) {
	goesOn := slices.ContainsFunc(m.parts, func(p *mergedPart) bool { return p.state == result.PartRunning })
	files := slices.SortedFunc(slices.Values(slices.Concat(m.parts, m.watched)), func(a, b *mergedPart) int { return a.compare(b.runFile) })
	for _, p := range files {
		if goesOn && p.watched() && p.state == result.PartLost { // of a machine that is watched until the load is over
			p.state = result.PartRunning
		}
		list = append(list, result.MergedFile{
			SHA256: p.sum, Bytes: p.size, RunID: p.header.RunID, Host: p.part.Host, Process: p.number, State: p.state, Counted: p.counted, KTVersion: p.header.KTVersion,
		})
	}
	return list
}

// Result merges the set, whose parts must be of one run: see Select. It reads each file once more.
// If some prove to be corrupt, their parts are lost, and it reads all files again.
func (s *Set) Result(ctx context.Context) (r result.Result, err error) {
	if err := s.Select(""); err != nil {
		return r, err
	}
	if loads := s.loads(); len(loads) > 0 {
		return s.workload(ctx, loads)
	}
	return s.load(ctx)
}

// load is Result of the files of one load.
func (s *Set) load(ctx context.Context) (r result.Result, err error) {
	for {
		m, err := s.merge(ctx, nil)
		if err == nil {
			r, err = m.result()
		}
		if !errors.Is(err, errCorrupt) {
			return r, err
		}
	}
}

// errCorrupt is the error of a merge that found corrupt files. They end before the bad line now: merging begins again.
var errCorrupt = errors.New("files are corrupt")

// Lost returns an error, with the name of the file, for each part that counts as lost because its
// file could not be added or is corrupt. Only Result finds all that is corrupt.
func (s *Set) Lost() (causes []error) {
	all := slices.Clone(s.Unreadable)
	for _, one := range s.inOrder() {
		if one.corrupt != nil {
			all = append(all, fmt.Errorf("%s: %w", one.name, one.corrupt))
		}
	}
	for _, err := range all {
		causes = append(causes, fmt.Errorf("%w; its part counts as lost", err))
	}
	return causes
}

// merge reads all files of the set, and calls each for the windows of the whole, unless it is nil.
func (s *Set) merge(ctx context.Context, each func(*stats.Window)) (*merge, error) {
	runFiles := s.inOrder()
	m := newMerge(runFiles)
	m.limits = s.limits
	if len(m.parts) == 0 {
		return nil, errors.New("there is nothing but how busy machines were, and no load: the run files of the load belong to it")
	}
	if len(m.limits) > 0 || each != nil {
		if err := (&result.Result{NotAddedUp: m.separate}).OneLoad(); err != nil {
			return nil, fmt.Errorf("%w: name the files of one load", err)
		}
	}
	m.whole = result.NewFold(m.header(runFiles))
	return m, m.read(ctx, each)
}

// read reads all parts, each into its own fold, and those that count into the whole if they are added up.
func (m *merge) read(ctx context.Context, each func(*stats.Window)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var reading sync.WaitGroup
	for _, p := range m.parts {
		if p.counted && m.separate == "" {
			p.seconds = make(chan *second, 1) // the next one is read while others are added up
		}
		reading.Go(func() {
			if p.seconds != nil {
				defer close(p.seconds)
			}
			if err := p.read(ctx); err != nil && !errors.As(err, &p.bad) { // after a bad line, other files are still checked
				cancel(fmt.Errorf("%s: %w", p.name, err))
			}
		})
	}
	if m.separate == "" {
		m.combine(each)
	}
	reading.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	var err error
	for _, p := range m.parts {
		if p.bad != nil {
			err = errors.Join(err, p.cutAt(p.bad))
		}
	}
	return err
}

// read reads the file of the part into its own fold, and passes on each second once the next one begins.
func (p *mergedPart) read(ctx context.Context) error {
	p.fold = result.NewPartFold(p.header)
	var read waiting
	pass := func(last int) {
		for ; len(read.queue) > last; read.queue = slices.Delete(read.queue, 0, 1) {
			if p.seconds != nil {
				select {
				case p.seconds <- read.queue[0]:
				case <-ctx.Done():
				}
			}
		}
	}
	for l, err := range p.content() {
		if err != nil || ctx.Err() != nil { // the cause of ctx has the reason
			return err
		}
		read.addLine(&l)
		if w := l.Window; w != nil {
			if w.Outage.Length >= verdict.StallAtRate {
				p.addGap(w.Outage)
			}
			if !w.Warmup {
				p.counts = append(p.counts, counts{w.End, w.Offered, w.Acknowledged, w.Failed, w.Unknown, w.Bytes, w.Consumed, w.ConsumedBytes})
			}
		}
		p.fold.AddLine(&l)
		pass(1)
	}
	pass(0)
	return nil
}

// addGap adds a gap, and joins those that overlap: each window has an open one longer, and the first answer behind it may be to a record
// that was sent later than others.
func (p *mergedPart) addGap(g stats.Gap) {
	for n := len(p.gaps) - 1; n >= 0 && g.From < p.gaps[n].From+p.gaps[n].Length; n-- {
		from, to := min(g.From, p.gaps[n].From), max(g.From+g.Length, p.gaps[n].From+p.gaps[n].Length)
		g, p.gaps = stats.Gap{From: from, Length: to - from}, p.gaps[:n]
	}
	p.gaps = append(p.gaps, g)
}

// combine merges the seconds of the parts that count.
func (m *merge) combine(each func(*stats.Window)) {
	for {
		for _, p := range m.counted() {
			if len(p.queue) == 0 {
				if s := <-p.seconds; s != nil {
					p.queue = append(p.queue, s)
				}
			}
		}
		end, ok := m.next()
		if !ok {
			return
		}
		for _, w := range m.step(end).windows() {
			if each != nil {
				each(&w)
			}
		}
	}
}
