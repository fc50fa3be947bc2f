package tui

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// data is the newest snapshot of a run, and what the screen adds to it: events that it
// finds by itself, and hosts. Its size does not depend on the length of the run.
type data struct {
	role
	header Header
	result.Snapshot
	notice string
	usage  []usage
	topics int                   // of the run
	rows   []result.PartitionNow // of the snapshot: of the topics if there are several, else of the partitions
	own    []stats.Event         // that only the screen finds
	events []stats.Event         // of the snapshot and its own, in the order of their times

	stall       stall
	looksItself bool // the age of the oldest record is looked at between ticks, and not taken from them

	silent   int           // ticks without a second of load, where kt hears of it; forever: there was none
	hosts    []*hostData   // of a run on many
	startsIn time.Duration // at the last tick, from then; 0: no start is agreed
	lean     bool          // this is one of many hosts: it has no heat map
}

// numbers are the figures of a time, as this run shows them.
type numbers struct {
	*result.Numbers
	flow    [ways]result.Rate
	latency result.Latency
	batches *result.Batches // of the main way
}

// quantiles are the latencies shown.
var quantiles = [...]struct {
	look
	of func(*result.Latency) time.Duration
}{
	{look{"p50", theme.P50, theme.Default, '_', 1, 0}, func(q *result.Latency) time.Duration { return q.P50.Duration() }},
	{look{"p90", theme.P90, theme.Default, '-', 6, 2}, func(q *result.Latency) time.Duration { return q.P90.Duration() }},
	{look{"p99", theme.P99, theme.Default, '=', 3, 3}, func(q *result.Latency) time.Duration { return q.P99.Duration() }},
	{look{"p99.9", theme.P999, theme.Default, '#', 1, 3}, func(q *result.Latency) time.Duration { return q.P999.Duration() }},
}

// Indices of quantiles.
const (
	p50 = iota
	p90
	p99
	p999
)

func newData(h Header) *data {
	d := &data{role: role{writes: h.Command != "consume", reads: h.Command == "consume" || h.Command == "roundtrip"}, header: h}
	d.main = map[bool]way{true: acked, false: read}[d.writes]
	for _, host := range h.Hosts {
		d.Stage = result.Gathering
		d.hosts = append(d.hosts, newHost(&h, host))
	}
	d.nameHosts()
	return d
}

// observe takes one tick in.
func (d *data) observe(t Tick) {
	at := d.At
	d.Snapshot = t.Snapshot
	if d.Target > 0 {
		d.header.TargetRate = d.Target // it may have been changed
	}
	d.notice = bounded(t.Notice)
	d.observeHosts(&t)
	if d.At > at {
		d.silent = 0
		if !d.lean {
			if d.topics, d.rows = t.Snapshot.Topics(); d.topics < 2 {
				d.rows = t.Snapshot.Partitions()
			}
			d.usage = append(d.usage[max(len(d.usage)-mostUsage+1, 0):], usage{
				at, d.At, d.Sample.ProcessCPU, d.Sample.HostCPU, float64(d.Buffered), float64(d.InFlight),
			})
		}
	}
	d.addEvents(d.hostEvents(d.At > at)...)
	if !d.looksItself && d.At > at {
		d.lookAtOldest(d.At-d.Second.Counts.Oldest, d.At)
	}
}

// addEvents adds events of the screen's own.
func (d *data) addEvents(events ...stats.Event) {
	if len(events) > 0 {
		d.own = slices.Concat(d.own[max(0, len(d.own)-maxEvents):], events)
	}
	d.events = d.Events
	if len(d.own) > 0 {
		d.events = slices.Concat(d.Events, d.own)
		slices.SortStableFunc(d.events, func(a, b stats.Event) int { return cmp.Compare(a.At, b.At) })
	}
}

// maxEvents bounds the events of the screen's own.
const maxEvents = 1000

// numbersOf returns the figures of a time.
func (d *data) numbersOf(of *result.Numbers) numbers {
	n := numbers{of, [ways]result.Rate{acked: of.Acknowledged, read: of.Read}, of.Response, byWay(d.main, &of.Batches, &of.Fetched)}
	if d.reads {
		n.latency = of.EndToEnd
	}
	return n
}

// run returns the numbers of the measured part.
func (d *data) run() numbers { return d.numbersOf(&d.Run) }

// current returns the numbers of the last second. Those of one that is too long ago are
// not known.
func (d *data) current() numbers {
	if d.silent < patience {
		return d.numbersOf(&d.Second)
	}
	unknown := result.Rate{Records: math.NaN(), Bytes: math.NaN()}
	return d.numbersOf(&result.Numbers{Acknowledged: unknown, Read: unknown})
}

// begun reports whether there was a second of load.
func (d *data) begun() bool { return d.At > 0 }

// earliestVerdict is the measured time before which the screen does not show a limit:
// connections open and clients warm up in the first seconds.
const earliestVerdict = 5 * time.Second

// bounded returns the limit of the run now; empty while it is too early to tell.
func (s *scene) bounded() verdict.Verdict {
	if text := s.goingOn(); text != "" { // what was measured before tells nothing of now
		if s.stalled() {
			waiting := s.All.Offered - s.All.Acknowledged - s.All.Failed - s.All.Unknown
			text = fmt.Sprintf("%s, and %s records wait", text, theme.Rate(float64(waiting)))
		}
		return verdict.Verdict{Limit: verdict.Stalled, Evidence: text}
	}
	if s.Stage != result.Finished && s.Run.Counts.End-s.Run.Counts.Start < earliestVerdict {
		return verdict.Verdict{}
	}
	return s.Verdict
}

// failure is an error code and its count.
type failure struct {
	code  string
	count int64
}

// failures returns the errors, the most frequent first.
func (d *data) failures() []failure {
	var list []failure
	for code, n := range d.All.Errors {
		list = append(list, failure{code, n})
	}
	for code, n := range d.All.FetchErrors {
		list = append(list, failure{"fetch " + code, n})
	}
	slices.SortFunc(list, func(a, b failure) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.code, b.code))
	})
	return list
}

// clone returns a copy that observe does not change. Snapshots do not change anyway.
func (d *data) clone() *data {
	c := *d
	c.usage = slices.Clone(d.usage)
	c.hosts = slices.Clone(d.hosts)
	for i, h := range d.hosts {
		host := *h
		host.own = h.own.clone()
		c.hosts[i] = &host
	}
	return &c
}

// since returns the points that reach into the time after a moment: single seconds where
// the snapshot still has them, and else the steps of the whole run.
func (d *data) since(second float64) []result.Point {
	points := d.Recent
	if int64(len(points)) < d.Placed && points[0].StartSeconds > second {
		points = d.Points
	}
	i := sort.Search(len(points), func(i int) bool { return points[i].End() > second })
	return points[i:]
}

// samples takes one value of each point.
func samples(points []result.Point, value func(*result.Point) float64) []chart.Sample {
	out := make([]chart.Sample, len(points))
	for i := range points {
		p := &points[i]
		out[i] = chart.Sample{Start: p.StartSeconds, End: p.End(), Value: value(p)}
	}
	return out
}

// rate returns the records a second of a point; NaN: it is too short for a rate.
func (w way) rate(p *result.Point) float64 {
	switch {
	case p.Seconds < result.ShortRow:
		return math.NaN()
	case w == read:
		return float64(p.Consumed) / p.Seconds
	}
	return float64(p.Acknowledged) / p.Seconds
}

// latencyOf returns a quantile of a point in seconds; NaN where there is none.
func (d *data) latencyOf(p *result.Point, quantile int) float64 {
	us := [...]result.Micros{p.P50, p.P90, p.P99, p.P999}
	if d.reads {
		us = [...]result.Micros{p.EndToEndP50, p.EndToEndP90, p.EndToEndP99, p.EndToEndP999}
	}
	if us[quantile] == 0 || us[quantile] == result.Failed {
		return math.NaN()
	}
	return float64(us[quantile]) / 1e6
}

// ageOf returns the age in seconds of the oldest record at the end of a point; NaN where it
// does not stand out from the latencies.
func (d *data) ageOf(p *result.Point) float64 {
	age := time.Duration(p.Oldest) * time.Microsecond
	if age == 0 || p.P99 > 0 && p.P99 != result.Failed && age < max(ageShows, agesUsual*p.P99.Duration()) {
		return math.NaN()
	}
	return age.Seconds()
}

// recentTicks is the number of ticks over which hosts are compared.
const recentTicks = 10

// forever is more ticks than any run has.
const forever = math.MaxInt / 2

// patience is the number of silent ticks of a broker or a host before the screen says so: at
// a low rate there is not something for each of them in every second.
const patience = 3

// leastBatches is the mean number of batches that partitions must have had before they are
// compared. A producer picks the partition of each batch by chance: of so many, 40 % more or
// less than usual is three standard deviations.
const leastBatches = 50

// comparable reports whether so many partitions had enough batches to be compared.
func (d *data) comparable(partitions int) bool {
	return d.Tail.Batches.Count >= int64(leastBatches*partitions)
}

// byPartition returns one value of each partition, by number: at least of those that the
// topics have.
func (d *data) byPartition(value func(*result.PartitionNow) float64) []float64 {
	n := int(d.header.Partitions)
	if last := len(d.rows) - 1; last >= 0 {
		n = max(n, int(d.rows[last].ID)+1)
	}
	values := make([]float64, n)
	for i := range d.rows {
		if p := &d.rows[i]; p.ID >= 0 {
			values[p.ID] = value(p)
		}
	}
	return values
}

// rateOf returns the rate of a partition that this run is about.
func (d *data) rateOf(p *result.PartitionNow) float64 {
	return byWay(d.main, float64(p.Records), float64(p.Consumed)) / p.Seconds
}

// upperMedian is the median, of an even number the upper of the two in the middle, so that
// it is one of the values; 0 when there are none.
func upperMedian[T time.Duration | float64](values []T) T {
	if len(values) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(values))[len(values)/2]
}
