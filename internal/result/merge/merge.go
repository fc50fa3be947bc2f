package merge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// merge makes one result of the parts of a run.
//
// Windows are cut at whole seconds of their load, and a part is shifted by whole seconds: so
// the windows of all parts line up. Each part is read by a goroutine of its own, which hands
// over one second after the other. The windows of a second are merged and added to one Fold,
// as those of a live run are. Memory is bounded by the number of parts, and not by how long
// they ran.
type merge struct {
	parts   []*mergedPart // that make a load, in order
	watched []*runFile
	roster  map[string]result.Member // each host that takes part
	zero    time.Time                // common time 0: the start of the earliest part that counts
	topics  topics
	notes   []string // of where the parts are not alike
}

// mergedPart is one part that makes a load.
type mergedPart struct {
	*runFile
	number  int // of the process, in the result
	state   result.PartState
	counted bool
	one     bool          // of several that count: what happened to it alone is told with its name
	late    time.Duration // after common time 0
	shift   time.Duration // from its own time to the common one: late in whole seconds
	ranOn   time.Duration // by its own time: until when most others did, after it was stopped; 0: they did not

	topics []int32      // where its partitions are among those of all: see topics.places
	fold   *result.Fold // of itself
	doc    result.Result
	did    stats.Window // what it did in the overlap, where that is a part of the run
	gaps   []stats.Gap  // in which nothing was acknowledged, by its own time
	bad    *result.BadLine
	out    chan *partSecond
	head   *partSecond // the next one of out; nil: there is no more
	usage  Usage       // of its newest second
}

// newMerge finds out what became of each part, and which count.
func newMerge(runFiles []*runFile) *merge {
	m := &merge{roster: make(map[string]result.Member)}
	for _, s := range runFiles {
		if p := s.header.Part; p != nil {
			for _, member := range p.Roster {
				known := m.roster[member.Host]
				m.roster[member.Host] = result.Member{Host: member.Host, Role: cmp.Or(known.Role, member.Role), Processes: max(known.Processes, member.Processes)}
			}
		}
		if s.watched() {
			m.watched = append(m.watched, s)
			continue
		}
		m.parts = append(m.parts, &mergedPart{runFile: s, number: s.process(), state: s.state()})
	}
	m.number()
	m.leftBehind()
	m.count()
	parts := m.counted()
	for i, p := range parts {
		p.one = len(parts) > 1
		if i == 0 || p.began().Before(m.zero) {
			m.zero = p.began()
		}
	}
	for _, p := range m.parts {
		p.late = p.began().Sub(m.zero)
		p.shift = p.late.Round(time.Second)
	}
	return m
}

// number gives the processes of runs that began by themselves a number on their host,
// where they have none of their own.
func (m *merge) number() {
	type place struct {
		host   string
		number int
	}
	taken := make(map[place]int)
	for _, p := range m.parts {
		taken[place{p.host(), p.number}]++
	}
	next := make(map[string]int)
	for _, p := range m.parts {
		alone := p.header.Part == nil || p.header.Part.Epoch == ""
		if alone && (p.number == 0 || taken[place{p.host(), p.number}] > 1) {
			next[p.host()]++
			p.number = next[p.host()]
		}
	}
}

// How long before most others a part must have been stopped so that it does not count. A
// stop that is meant for all reaches them within a second or two; of what is a tenth
// shorter all rates are still those of the run.
const (
	stoppedBefore = 2 * time.Second
	stoppedShare  = 0.10 // of the time that the others ran
)

// leftBehind finds the parts that were stopped well before the others. Rates are over the
// time in which all parts ran: one that was stopped early would decide them all. If most
// were stopped it was the run that was, and whoever ran on had not heard of it.
func (m *merge) leftBehind() {
	ended := make(map[string][]time.Time) // when each part of an epoch did
	for _, p := range m.parts {
		if p.state == result.PartComplete || p.state == result.PartStopped {
			ended[p.group().epoch] = append(ended[p.group().epoch], p.over())
		}
	}
	for epoch, all := range ended {
		slices.SortFunc(all, time.Time.Compare)
		until := all[len(all)/2]
		for _, p := range m.parts {
			if epoch == "" || p.group().epoch != epoch || p.state != result.PartStopped {
				continue // who began by himself may end when he likes
			}
			most := until.Sub(p.began())
			if short := until.Sub(p.over()); short > max(stoppedBefore, time.Duration(stoppedShare*float64(most))) {
				p.ranOn = most
			}
		}
	}
}

// count decides which parts count: those that have an end, unless they were stopped well
// before the others, else those that are lost, else those that were late.
func (m *merge) count() {
	for _, states := range [][]result.PartState{{result.PartComplete, result.PartStopped}, {result.PartLost}, {result.PartLate}} {
		for _, p := range m.parts {
			p.counted = slices.Contains(states, p.state) && p.ranOn == 0
		}
		if len(m.counted()) > 0 {
			return
		}
	}
}

// label returns how a reader is told of the part: "vm14/1".
func (p *mergedPart) label() string { return fmt.Sprintf("%s/%d", p.host(), p.number) }

func (m *merge) counted() []*mergedPart {
	var all []*mergedPart
	for _, p := range m.parts {
		if p.counted {
			all = append(all, p)
		}
	}
	return all
}

// listRunFiles lists all run files in their order.
func (m *merge) listRunFiles() []result.MergedFile {
	of := func(s *runFile, state result.PartState) result.MergedFile {
		return result.MergedFile{
			SHA256: s.sum, Bytes: s.size, RunID: s.header.RunID, Host: s.host(), Process: s.process(),
			State: state, KTVersion: s.header.KTVersion,
		}
	}
	type row struct {
		*runFile
		result.MergedFile
	}
	var rows []row
	for _, p := range m.parts {
		r := of(p.runFile, p.state)
		r.Process, r.Counted = p.number, p.counted
		rows = append(rows, row{p.runFile, r})
	}
	for _, s := range m.watched {
		rows = append(rows, row{s, of(s, s.state())})
	}
	slices.SortFunc(rows, func(a, b row) int { return a.inOrder(b.runFile) })
	list := make([]result.MergedFile, len(rows))
	for i := range rows {
		list[i] = rows[i].MergedFile
	}
	return list
}

// Result merges the set: its parts must be of one run, which Select sees to. It reads
// each file once more, and all again when some prove to be corrupt: their parts are lost.
func (s *Set) Result(ctx context.Context) (result.Result, error) {
	if err := s.Select(""); err != nil {
		return result.Result{}, err
	}
	for {
		r, err := s.merged(ctx)
		if !errors.Is(err, errSpoilt) {
			return r, err
		}
	}
}

// errSpoilt: files were found to be corrupt, and it is noted from which line on.
var errSpoilt = errors.New("files are corrupt")

// Lost returns an error, with the name of the file, for each part that counts as lost because its
// file could not be added or is corrupt. Only Result finds all that is corrupt.
func (s *Set) Lost() []error {
	causes := s.Unreadable()
	for _, one := range s.inOrder() {
		if one.corrupt != nil {
			causes = append(causes, fmt.Errorf("%s: %w", one.name, one.corrupt))
		}
	}
	var errs []error
	for _, err := range causes {
		errs = append(errs, fmt.Errorf("%w; its part counts as lost", err))
	}
	return errs
}

func (s *Set) merged(ctx context.Context) (result.Result, error) {
	runFiles := s.inOrder()
	m := newMerge(runFiles)
	if len(m.parts) == 0 {
		return result.Result{}, errors.New("there is nothing but how busy machines were, and no load: the run files of the load belong to it")
	}
	whole := result.NewFold(m.header(runFiles))
	if err := m.read(ctx, whole); err != nil {
		return result.Result{}, err
	}
	return m.result(ctx, whole)
}

// read reads all parts, each into its own fold and those that count into the whole.
func (m *merge) read(ctx context.Context, whole *result.Fold) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var reading sync.WaitGroup
	for _, p := range m.parts {
		p.out = make(chan *partSecond, 1) // the next second is made while this one is added up
		reading.Go(func() {
			defer close(p.out)
			err := p.read(ctx)
			if err != nil && !errors.As(err, &p.bad) { // the others find out whether they are
				cancel(fmt.Errorf("%s: %w", p.name, err))
			}
		})
	}
	m.combine(whole)
	reading.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	var err error
	for _, p := range m.parts {
		if p.bad != nil {
			err = errors.Join(err, p.spoilt(p.bad))
		}
	}
	return err
}

// combine merges the seconds of the parts that count. Parts are added in a fixed order,
// because sums of floats depend on it.
func (m *merge) combine(whole *result.Fold) {
	parts := m.counted()
	for _, p := range parts {
		p.head = <-p.out
		p.usage = Usage{Host: p.host(), Machine: p.machine()}
	}
	same := make(repeats)
	for last := time.Duration(0); ; {
		open := slices.DeleteFunc(slices.Clone(parts), func(p *mergedPart) bool { return p.head == nil })
		if len(open) == 0 {
			return
		}
		sum := partSecond{end: slices.MinFunc(open, func(a, b *mergedPart) int { return cmp.Compare(a.head.end, b.head.end) }).head.end}
		var at time.Duration
		var usages []Usage
		for _, p := range parts {
			p.usage = p.usage.idle()
			if p.head != nil && p.head.end == sum.end {
				sum.add(p, p.head, last, same)
				if p.head.sample.Interval > 0 {
					p.usage.Sample = p.head.sample
					at = max(at, p.head.sample.At+p.shift)
				}
				p.head = <-p.out
			}
			usages = append(usages, p.usage)
		}
		last = sum.end
		for _, phase := range []int{stats.Warmup, stats.Measured} { // as a live run gives them
			if w := &sum.phases[phase]; !w.IsZero() {
				whole.AddWindow(*w)
			}
		}
		if at > 0 {
			whole.AddSample(BusyTogether(at, usages))
		}
	}
}
