package result

import (
	"time"

	"github.com/kt-bench/kt/internal/stats"
)

// Backlog is how many records waited to be read: of several groups, the sum.
type Backlog struct {
	Records  int64   `json:"records"`          // when sending ended; of a run that only reads, at its end
	Left     int64   `json:"left_records"`     // at the end of the run
	Max      int64   `json:"max_records"`      // at the end of a second
	Slope    float64 `json:"slope_per_second"` // records a second: of a straight line through the seconds, by least squares
	Appended float64 `json:"appended_records_per_second"`
	KeptUp   *bool   `json:"kept_up,omitempty"` // nil: only what was there before was read
}

// behind tells that the readers are known not to have kept up.
func (b *Backlog) behind() bool { return b.KeptUp != nil && !*b.KeptUp }

// The bounds of what still counts as keeping up.
const (
	// backlogGrows is by which share of what is written the backlog may grow: what
	// kt calls a rate that was kept may be off by as much.
	backlogGrows = 0.01

	// backlogShows is how much reading may wait: a poll and a look at the ends of
	// the partitions, once a second, are that far apart.
	backlogShows = time.Second
)

// backlog follows how many records wait to be read.
type backlog struct {
	now, max, at int64
	fit          fit
	judged       bool // there were seconds of the load

	partitions map[int32]*partitionBacklog // those in which records have ever waited
}

// partitionBacklog is how many records of one partition wait.
type partitionBacklog struct {
	now int64
	fit fit
}

// slope is by how many records a second a partition's backlog grew.
func (b *backlog) slope(partition int32) float64 {
	if p := b.partitions[partition]; p != nil {
		return p.fit.slope()
	}
	return 0
}

// add takes a window. steady tells that the load went on in it: when senders have
// stopped, readers only catch up.
func (b *backlog) add(w *stats.Window, steady bool) {
	b.now += w.Backlog
	for id, p := range w.Partitions {
		if p.Backlog == 0 {
			continue
		}
		if b.partitions == nil {
			b.partitions = make(map[int32]*partitionBacklog)
		}
		if b.partitions[id] == nil {
			b.partitions[id] = new(partitionBacklog)
		}
		b.partitions[id].now += p.Backlog
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

// result is what it was, with so many records read a second. replay tells that all
// of them were there before: then nobody can tell whether the readers keep up.
func (b *backlog) result(read float64, replay bool) *Backlog {
	r := &Backlog{Records: b.at, Left: b.now, Max: b.max, Slope: b.fit.slope()}
	if !b.judged {
		r.Records = b.now
	}
	r.Appended = max(0, read+r.Slope)
	if !replay {
		kept := r.Slope <= backlogGrows*r.Appended || float64(r.Records) <= read*backlogShows.Seconds()
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
