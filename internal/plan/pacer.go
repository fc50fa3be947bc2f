package plan

import (
	"cmp"
	"math"
	"math/rand/v2"
	"time"
)

// Pacer tells when each record of one shard should be sent. It is an iterator of
// due times: it has no clock, does not sleep and is used by one goroutine.
type Pacer interface {
	// Next is when the next record is due, as an offset from the start of the
	// run, and never before the one before it. ok is false when the load is over.
	Next() (due time.Duration, ok bool)
	// Take takes the records that are due by then, at most so many, and returns how
	// many those are and when the last of them is due. It is as good as calling Next for
	// each, and does not cost more for many records than for one, unless arrivals are
	// random.
	Take(until time.Duration, most int) (n int, last time.Duration)
	// Change sets the rate of the whole load from a moment on. No record is taken that is
	// due then or later, but the last one that Next returned: Change returns when that one
	// is due now. ok is false when the load is over before it.
	Change(at time.Duration, perSecond float64) (due time.Duration, ok bool)
}

// Pacer makes the schedule of one shard out of shards (0 ≤ shard < shards). The
// records of all shards together are exactly the load's; record k of a uniform
// schedule belongs to shard k mod shards. meanBytes is the mean record size, for
// a rate in bytes.
func (l Load) Pacer(shard, shards int, meanBytes float64, seed int64) Pacer {
	count := shareOf(l.Records, shard, shards)
	s := l.Rate.Schedule(l.Rate.RecordsPerSecond(meanBytes))
	switch {
	case l.Rate.IsUnlimited():
		return &closedLoop{left: count}
	case l.Arrivals == Poisson:
		pcg := rand.NewPCG(uint64(seed), uint64(shard))
		return &poisson{Schedule: s, shards: float64(shards), left: count, end: cmp.Or(l.Duration.Std(), noLimit), pcg: pcg, rng: rand.New(pcg)}
	}
	u := &uniform{Schedule: s, load: l, shard: shard, shards: shards, k: float64(shard), step: float64(shards)}
	u.count()
	return u
}

// WarmupShare returns how many of the shard's first records are warm-up by count.
func (l Load) WarmupShare(shard, shards int) int64 {
	if l.Warmup.Records == 0 {
		return 0
	}
	return shareOf(l.Warmup.Records, shard, shards)
}

// shareOf divides total among shards so that the shares add up. 0, no limit, stays no limit as noLimit.
func shareOf(total int64, shard, shards int) int64 {
	if total == 0 {
		return noLimit
	}
	return evenly(total, shard, shards)
}

// evenly shares n out; the first ones take the remainder.
func evenly[N int | int64](n N, i, among int) N {
	if N(i) < n%N(among) {
		return n/N(among) + 1
	}
	return n / N(among)
}

const noLimit = math.MaxInt64

// uniform is a schedule of equal intervals: record k of the whole load is due at
// k/rate. Each due time is computed from k, never by adding up intervals, so that
// 1,500,000 records a second are neither 666 nor 667 ns apart but exactly right
// on average, and no error grows with time.
type uniform struct {
	Schedule
	load          Load
	shard, shards int
	k, step       float64 // this record's number in the whole load, and how far to the shard's next
	left          int64
	taken         int64
}

// count sets how many records are left.
func (u *uniform) count() {
	u.left = shareOf(u.records(&u.load), u.shard, u.shards)
	if u.left != noLimit {
		u.left -= u.taken
	}
}

func (u *uniform) Next() (time.Duration, bool) {
	due := u.after(0)
	if u.left <= 0 || !(due < math.MaxInt64) {
		return 0, false
	}
	u.take(1)
	return time.Duration(due), true
}

func (u *uniform) take(n int) {
	u.left -= int64(n)
	u.taken += int64(n)
	u.k += float64(n) * u.step
}

// after returns when the shard's record n from here is due, to the nearest nanosecond.
func (u *uniform) after(n float64) float64 { return u.due(u.k+n*u.step) + 0.5 }

func (u *uniform) Take(until time.Duration, most int) (int, time.Duration) {
	end := math.Min(float64(until)+1, math.MaxInt64) // the first due time that is later
	n := math.Floor((u.Position(until)-u.k)/u.step) + 1
	n = math.Max(0, math.Min(n, math.Min(float64(most), float64(u.left))))
	for n > 0 && u.after(n-1) >= end { // float64 may be off by one
		n--
	}
	for n < math.Min(float64(most), float64(u.left)) && u.after(n) < end {
		n++
	}
	if n == 0 {
		return 0, 0
	}
	last := time.Duration(u.after(n - 1))
	u.take(int(n))
	return int(n), last
}

func (u *uniform) Change(at time.Duration, perSecond float64) (time.Duration, bool) {
	u.Schedule = u.Schedule.Change(at, perSecond)
	u.count()
	due := u.after(-1)
	return time.Duration(math.Min(due, math.MaxInt64/2)), u.left >= 0 && due < math.MaxInt64
}

// poisson is a schedule of independent arrivals: the gaps are exponentially
// distributed. Poisson shards at rate/n add up to a Poisson load at the rate. A gap is a
// random amount of the load, so that a change of the rate stretches the rest of it.
type poisson struct {
	Schedule
	at     float64 // position in the load
	shards float64
	left   int64
	end    time.Duration
	pcg    *rand.PCG
	rng    *rand.Rand // of pcg, and without a state of its own
}

func (p *poisson) Next() (time.Duration, bool) {
	if p.left == 0 {
		return 0, false
	}
	p.at += p.rng.ExpFloat64() * p.shards
	due, ok := p.now()
	if !ok {
		p.left = 0
		return 0, false
	}
	p.left--
	return due, true
}

// now returns when the last record is due, and reports whether that is before the end.
func (p *poisson) now() (time.Duration, bool) {
	due := p.due(p.at)
	if due >= float64(p.end) {
		return 0, false
	}
	return time.Duration(due), true
}

func (p *poisson) Take(until time.Duration, most int) (n int, last time.Duration) {
	for n < most {
		at, left, state := p.at, p.left, *p.pcg
		next, ok := p.Next()
		if !ok || next > until { // it is drawn again by the next call
			p.at, p.left, *p.pcg = at, left, state
			break
		}
		n, last = n+1, next
	}
	return n, last
}

func (p *poisson) Change(at time.Duration, perSecond float64) (time.Duration, bool) {
	p.Schedule = p.Schedule.Change(at, perSecond)
	return p.now()
}

// closedLoop has no schedule: the next record is due as soon as the client takes
// it. The engine sets the due time, and labels the latency as queueing.
type closedLoop struct{ left int64 }

func (c *closedLoop) Next() (time.Duration, bool) {
	if c.left == 0 {
		return 0, false
	}
	if c.left != noLimit {
		c.left--
	}
	return 0, true
}

func (c *closedLoop) Take(_ time.Duration, most int) (int, time.Duration) {
	n := min(int64(most), c.left)
	if c.left != noLimit {
		c.left -= n
	}
	return int(n), 0
}

// Change changes nothing: there is no rate.
func (c *closedLoop) Change(time.Duration, float64) (time.Duration, bool) { return 0, true }

// Arrivals is how records arrive at a fixed rate.
type Arrivals string

// The arrival processes.
const (
	Uniform Arrivals = "uniform" // equal intervals
	Poisson Arrivals = "poisson" // independent arrivals
)
