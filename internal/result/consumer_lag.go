package result

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/kt-bench/kt/internal/stats"
)

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
func (l Lag) MarshalJSON() ([]byte, error) {
	return []byte(l.Or("null", func(n int64) string { return strconv.FormatInt(n, 10) })), nil
}

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
	// lagGrows is the largest growth of consumer lag, as a share of the records written: the
	// tolerance of a rate that counts as kept.
	lagGrows = 0.01

	// lagShows is the reading time that consumer lag may stand for: a poll and the next look at the
	// end offsets are up to a second apart.
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
	now int64 // the last one that was known
	fit fit
}

// add takes a window. steady reports whether the load went on in all of it: after the senders have
// stopped, readers only catch up.
func (b *consumerLag) add(w *stats.Window, steady bool) {
	b.now += w.ConsumerLag
	b.lag = lagOf(b.now, w.LagUnknown > 0)
	for id, p := range w.Partitions {
		if p.ConsumerLag == 0 {
			continue
		}
		if b.partitions == nil {
			b.partitions = make(map[int32]level)
		}
		of := b.partitions[id]
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

// result returns the consumer lag of a run that read so many records a second. KeptUp is nil for a
// replay, whose records had all been written before.
func (b *consumerLag) result(read float64, replay bool) *ConsumerLag {
	r := &ConsumerLag{Records: b.at, Left: b.lag, Max: b.max}
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
