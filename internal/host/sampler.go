package host

import (
	"errors"
	"fmt"
	"runtime"
	"time"
)

// Sampler measures how busy the machine and the process are, from one Sample to
// the next. It is not safe for concurrent use.
type Sampler struct {
	since  func() time.Duration // the clock: time since the start of the run
	last   time.Duration
	cores  float64 // logical CPUs of the machine
	speed  int64
	meters meters

	process, machine, collector, sent counter
	limit                             Cgroup // of this process, and its effects so far
	pauses                            *pauses
}

// meters are where a Sampler looks. Each may fail at any time.
type meters struct {
	processCPU func() (float64, error) // seconds since the process began
	hostCPU    func() (float64, error) // seconds since the machine began, of all its CPUs
	gcCPU      func() (float64, error) // seconds since the process began
	sent       func() (float64, error) // bytes since the machine began
	resident   func() (int64, error)   // bytes now
	cgroup     func() (Cgroup, error)  // its limits, and their effects since it was made
}

// newSampler begins to measure.
func newSampler(since func() time.Duration, from meters) *Sampler {
	s := &Sampler{since: since, meters: from, pauses: newPauses()}
	s.last = since()
	s.limit, _ = from.cgroup() // without one there is no limit
	for _, c := range []struct {
		counter *counter
		read    func() (float64, error)
	}{
		{&s.process, from.processCPU},
		{&s.machine, from.hostCPU},
		{&s.collector, from.gcCPU},
		{&s.sent, from.sent},
	} {
		c.counter.read = c.read
		_, _ = c.counter.advance(s.last) // the next reading is compared with this one
	}
	return s
}

// Sample returns the use since the Sample before, or since NewSampler. at, from the start of
// the run, is its label; the rates are over the times at which the counters were really read.
func (s *Sampler) Sample(at time.Duration) Sample {
	now := s.since()
	out := Sample{
		At:         at,
		Interval:   now - s.last,
		Cores:      float64(runtime.GOMAXPROCS(0)),
		HostCores:  s.cores,
		GCPauseMax: int64(s.pauses.longest()),
		NetSpeed:   s.speed,
	}
	if c, err := s.meters.cgroup(); err == nil && c.Cores > 0 { // GOMAXPROCS is a whole number, and never 1 of several CPUs
		out.Cores = min(out.Cores, c.Cores)
		out.Stopped = float64(max(0, c.Throttled-s.limit.Throttled)) / float64(max(1, c.Periods-s.limit.Periods))
		s.limit = c
	}
	s.last = now
	out.ProcessCPU = perSecond(&out, &s.process, now)
	out.HostCPU = perSecond(&out, &s.machine, now)
	out.GCCPU = perSecond(&out, &s.collector, now)
	sent, err := s.sent.advance(now)
	out.note(err)
	out.NetSent = int64(sent.grown)
	if rss, err := s.meters.resident(); err != nil {
		out.note(err)
	} else {
		out.RSS = rss
	}
	return out
}

// note counts a source that did not answer.
func (s *Sample) note(err error) {
	if err != nil {
		s.Unread++
	}
}

func perSecond(out *Sample, c *counter, now time.Duration) float64 {
	step, err := c.advance(now)
	out.note(err)
	if step.over <= 0 {
		return 0
	}
	return step.grown / step.over.Seconds()
}

// counter is a number that only grows, and its last good reading. After a
// reading that failed, the next good one is spread over all the time since the
// last good one: nothing is lost, and no rate is too high.
type counter struct {
	read  func() (float64, error)
	last  float64
	at    time.Duration
	known bool
}

type step struct {
	grown float64
	over  time.Duration
}

var errNoBaseline = errors.New("nothing to compare with yet")

func (c *counter) advance(now time.Duration) (step, error) {
	v, err := c.read()
	if err != nil {
		return step{}, err
	}
	was := *c
	c.last, c.at, c.known = v, now, true
	switch {
	case !was.known:
		return step{}, errNoBaseline
	case v < was.last: // an interface went away, say: begin anew
		return step{}, fmt.Errorf("fell from %g to %g", was.last, v)
	}
	return step{grown: v - was.last, over: now - was.at}, nil
}
