package result

import (
	"encoding/json"
	"maps"
	"math"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/stats"
)

// replayed is the share of the records read that must have been written before reading began, for the run to be a replay.
const replayed = 0.90

// reads has the times of the readers of a run that only reads, without joining a group before and waiting for more records after.
type reads struct {
	sum   readTimes // up to the second of the newest record
	all   readTimes // with the time since
	stall readStall // the longest time without a record
	going bool      // the last window had records
	seen  bool      // the lag was known in a window before the first record: old is exact
	old   int64     // consumer lag when reading began

	// If the first window had records already, some of old were written in it.
	within   time.Duration // length of that window; 0: it had none
	appended int64         // written after it
	over     time.Duration // time after it
}

// readTimes has the times of the readers in some windows.
type readTimes struct {
	window    stats.Window            // their times and records, without histograms
	total     time.Duration           // length of the windows
	behind    time.Duration           // of the windows that ended with consumer lag
	replaying time.Duration           // the same, and of the windows that began before all old records were read
	fetching  map[int32]time.Duration // at each broker, of all readers
	use       host.Sample
}

// add takes a window, and the consumer lag before and after it.
func (r *reads) add(w *stats.Window, before, after int64) {
	r.going = w.Consumed > 0 && !w.Warmup
	seen := r.seen
	r.seen = seen || w.LagUnknown == 0
	if w.Warmup {
		return
	}
	r.stall.add(w, before, after)
	if r.going && r.sum.window.Consumed == 0 {
		r.all = readTimes{}
		if r.old = before; !seen {
			r.old, r.within = after+w.Consumed, w.End-w.Start
		}
	} else {
		r.appended += after - before + w.Consumed
		r.over += w.End - w.Start
	}
	r.all.add(w, after, r.sum.window.Consumed < r.old)
	if r.going {
		r.sum = r.all
		r.sum.fetching = maps.Clone(r.all.fetching)
	}
}

// addUse takes the sample of the last window.
func (r *reads) addUse(s host.Sample) {
	if r.all.use.Add(s); r.going {
		r.sum.use = r.all.use
	}
}

func (t *readTimes) add(w *stats.Window, waiting int64, replaying bool) {
	length, counts := w.End-w.Start, stats.Window{Start: w.Start, End: w.End, Read: w.Read}
	counts.EndToEnd, counts.AckTime, counts.FetchErrors = stats.Histogram{}, stats.Histogram{}, nil
	t.window.Add(&counts)
	t.total += length
	behind := float64(waiting)*length.Seconds() > float64(w.Consumed)*lagShows.Seconds()
	if behind {
		t.behind += length
	}
	if behind || replaying {
		t.replaying += length
	}
	if t.fetching == nil {
		t.fetching = make(map[int32]time.Duration)
	}
	for id, b := range w.Brokers {
		t.fetching[id] += b.Fetch.Latency.Mean() * time.Duration(b.Fetch.Latency.Count())
	}
}

// stallWaits is the share of a gap in which the readers must have waited for records, for it to be a stall.
const stallWaits = 0.90

// readStall finds the longest time in which no record came although records waited.
type readStall struct {
	longest stats.Gap

	seen        bool          // a record has come
	last        time.Duration // when the newest record came
	wait, total time.Duration // of all readers, from the window of the newest record on
	length      time.Duration // of these windows
}

// add takes a window, and the consumer lag before and after it. An open gap counts up to the end of the window.
func (s *readStall) add(w *stats.Window, before, after int64) {
	end, lag := w.End, after
	if w.Consumed > 0 {
		end, lag = w.FirstRead, before
	}
	s.wait += w.ReadWait
	s.total += w.ReadTime
	s.length += w.End - w.Start
	gap := stats.Gap{From: s.last, Length: end - s.last}
	waited := float64(s.wait)*float64(s.length) >= stallWaits*float64(gap.Length)*float64(s.total)
	if s.seen && lag > 0 && waited && gap.Length > s.longest.Length {
		s.longest = gap
	}
	if w.Consumed > 0 {
		*s = readStall{
			longest: s.longest, seen: true, last: w.LastRead,
			wait: w.ReadWait, total: w.ReadTime, length: w.End - w.Start,
		}
	}
}

// ConsumerLag is the consumer lag of all groups together.
type ConsumerLag struct {
	Records  Lag      `json:"records"`                     // when sending ended; of a run that only reads, at its end
	Left     Lag      `json:"left_records"`                // at the end of the run
	Max      Lag      `json:"max_records"`                 // at the end of a second, of those in which it is known
	Slope    *float64 `json:"slope_per_second"`            // records a second: of a straight line through the seconds, by least squares; nil: it is known in less than two
	Appended *float64 `json:"appended_records_per_second"` // nil as Slope
	KeptUp   *bool    `json:"kept_up,omitempty"`           // nil: not known, or all records read had been written before
}

// Lag is a number of records that wait to be read. In JSON, null is NotKnown.
type Lag int64

// NotKnown is the consumer lag while no system tells it.
const NotKnown Lag = -1

// Or writes the lag, or what stands for one that is not known.
func (l Lag) Or(unknown string, write func(int64) string) string {
	if l == NotKnown {
		return unknown
	}
	return write(int64(l))
}

// MarshalJSON writes a number, or null.
func (l Lag) MarshalJSON() ([]byte, error) { return nullable(l, NotKnown) }

// UnmarshalJSON reads a number, or null.
func (l *Lag) UnmarshalJSON(text []byte) error {
	*l = NotKnown
	return json.Unmarshal(text, (*int64)(l)) // null leaves it
}

// Lag returns the consumer lag for a chart: NaN is not known.
func (p *Point) Lag() float64 {
	if p.ConsumerLag == NotKnown {
		return math.NaN()
	}
	return float64(p.ConsumerLag)
}

// The bounds of what still counts as keeping up.
const (
	// lagGrows is the largest growth of consumer lag, as a share of the records written: the tolerance of a rate that counts as kept.
	lagGrows = 0.01

	// lagShows is the reading time that consumer lag may stand for: a poll and the next look at the end offsets are up to a second apart.
	lagShows = time.Second
)

// lagOf returns a sum of changes, which may be below 0 while reading is counted before the lag.
func lagOf(sum int64, unknown bool) Lag {
	if unknown {
		return NotKnown
	}
	return Lag(max(sum, 0))
}

// consumerLag adds up consumer lag, window by window.
type consumerLag struct {
	level
	lag, max, at Lag
	judged       bool // some measured second was all load

	partitions map[int32]level // that ever had lag
}

// level is a consumer lag, and how it went.
type level struct {
	now   int64 // the last one that was known
	fit   fit
	first int64
	known time.Duration // since when
}

// add takes a window. steady reports whether the load went on in all of it: after the senders have stopped, readers only catch up.
func (b *consumerLag) add(w *stats.Window, steady bool) {
	b.now += w.ConsumerLag
	b.lag = lagOf(b.now, w.LagUnknown > 0)
	for id, p := range w.Partitions {
		of, seen := b.partitions[id]
		if !seen && p.ConsumerLag == 0 && p.Consumed == 0 {
			continue
		}
		if w.End > w.Start && (!seen || of.known == w.End) { // a second may have a window of each phase
			of.first, of.known = of.first+p.ConsumerLag, w.End
		}
		of.now += p.ConsumerLag
		b.partitions[id] = of
	}
	if w.Warmup {
		return
	}
	b.max = max(b.max, b.lag)
	if !steady {
		return
	}
	b.at, b.judged = b.lag, true
	if b.lag == NotKnown {
		return
	}
	b.fit.add(w.End.Seconds(), float64(b.now))
	for id, p := range b.partitions {
		p.fit.add(w.End.Seconds(), float64(p.now))
		b.partitions[id] = p
	}
}

// result returns the consumer lag of a run that read so many records a second.
func (b *consumerLag) result(read float64, replay bool) *ConsumerLag {
	r := &ConsumerLag{Records: b.at, Left: b.lag, Max: b.max}
	if replay && b.max == 0 { // all was read between two looks
		r.Max = NotKnown
	}
	if !b.judged {
		r.Records = r.Left
	}
	few := float64(r.Records) <= read*lagShows.Seconds()
	if b.fit.n > 1 {
		slope := b.fit.slope()
		r.Slope, r.Appended = &slope, new(max(0, read+slope))
		few = few || slope <= lagGrows**r.Appended
	}
	if !replay && r.Records != NotKnown && (few || r.Slope != nil) {
		r.KeptUp = &few
	}
	return r
}

// fit is a straight line through points, by least squares.
type fit struct{ n, x0, x, y, xx, xy float64 }

func (l *fit) add(x, y float64) {
	if l.n == 0 {
		l.x0 = x // small numbers keep their digits
	}
	x -= l.x0
	l.n++
	l.x += x
	l.y += y
	l.xx += x * x
	l.xy += x * y
}

func (l *fit) slope() float64 {
	d := l.n*l.xx - l.x*l.x
	if l.n < 2 || d <= 0 {
		return 0
	}
	return (l.n*l.xy - l.x*l.y) / d
}
