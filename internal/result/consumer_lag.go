package result

import (
	"time"

	"github.com/kt-bench/kt/internal/stats"
)

// ConsumerLag is the consumer lag of all groups together.
type ConsumerLag struct {
	Records  int64   `json:"records"`          // when sending ended; of a run that only reads, at its end
	Left     int64   `json:"left_records"`     // at the end of the run
	Max      int64   `json:"max_records"`      // at the end of a second
	Slope    float64 `json:"slope_per_second"` // records a second: of a straight line through the seconds, by least squares
	Appended float64 `json:"appended_records_per_second"`
	KeptUp   *bool   `json:"kept_up,omitempty"` // nil: all records read had been written before
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

// consumerLag adds up consumer lag, window by window.
type consumerLag struct {
	now, max, at int64
	known        bool // it was learned
	fit          fit
	judged       bool // some measured second was all load

	partitions map[int32]*partitionLag // that ever had lag
}

// partitionLag is the consumer lag of one partition.
type partitionLag struct {
	now int64
	fit fit
}

// slope returns the growth of a partition's consumer lag, in records a second.
func (b *consumerLag) slope(partition int32) float64 {
	if p := b.partitions[partition]; p != nil {
		return p.fit.slope()
	}
	return 0
}

// levels returns the consumer lag now, by partition.
func (b *consumerLag) levels() map[int32]int64 {
	if len(b.partitions) == 0 {
		return nil
	}
	levels := make(map[int32]int64, len(b.partitions))
	for id, p := range b.partitions {
		levels[id] = p.now
	}
	return levels
}

// learns reports whether a window says what the consumer lag is, which may be 0.
func learns(w *stats.Window) bool { return w.ConsumerLag != 0 || w.Consumed > 0 || w.JoinTime > 0 }

// ifKnown returns a consumer lag, or -1 if none was ever learned. It is never below -1, although reading may be counted
// before the lag.
func (b *consumerLag) ifKnown(lag int64) int64 {
	if !b.known {
		return -1
	}
	return max(lag, 0)
}

// add takes a window. steady reports whether the load went on in all of it: after the senders have
// stopped, readers only catch up.
func (b *consumerLag) add(w *stats.Window, steady bool) {
	b.now += w.ConsumerLag
	b.known = b.known || learns(w)
	for id, p := range w.Partitions {
		if p.ConsumerLag == 0 {
			continue
		}
		if b.partitions == nil {
			b.partitions = make(map[int32]*partitionLag)
		}
		if b.partitions[id] == nil {
			b.partitions[id] = new(partitionLag)
		}
		b.partitions[id].now += p.ConsumerLag
	}
	if w.Warmup {
		return
	}
	b.max = max(b.max, b.now)
	if !steady {
		return
	}
	b.at = b.now
	b.judged = true
	b.fit.add(w.End.Seconds(), float64(b.now))
	for _, p := range b.partitions {
		p.fit.add(w.End.Seconds(), float64(p.now))
	}
}

// result returns the consumer lag of a run that read so many records a second. KeptUp is nil for a
// replay, whose records had all been written before.
func (b *consumerLag) result(read float64, replay bool) *ConsumerLag {
	r := &ConsumerLag{Records: b.at, Left: b.now, Max: b.max, Slope: b.fit.slope()}
	if !b.judged {
		r.Records = b.now
	}
	r.Appended = max(0, read+r.Slope)
	if !replay {
		kept := r.Slope <= lagGrows*r.Appended || float64(r.Records) <= read*lagShows.Seconds()
		r.KeptUp = &kept
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
