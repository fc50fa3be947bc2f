package tui

import (
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// rates returns the numbers of a host now, and those of its run once that is over; ok is
// false when it makes no load or does not report.
func (t *hostTable) rates(h *hostData) (n numbers, ok bool) {
	if t.s.Stage == result.Finished {
		n = h.own.run()
		return n, n.flow != [ways]result.Rate{}
	}
	return h.own.numbersOf(&h.own.Second), h.own.silent < patience
}

// latency returns a quantile of the last seconds, and of the run once that is over.
func (t *hostTable) latency(quantile int) func(*hostData) segment {
	return func(h *hostData) segment {
		n, ok := t.rates(h)
		if t.s.Stage != result.Finished {
			n = h.own.numbersOf(&h.own.Tail)
		}
		of := &n.latency
		if !ok || of.Ranked() == 0 {
			return t.missing()
		}
		p := plain(theme.Duration(quantiles[quantile].of(of)))
		if quantile == p99 {
			p.style.FG = theme.Good
			if t.isSlow(h) {
				p.style.FG = theme.Warn
			}
		}
		return p
	}
}

// consumerLag returns how many records wait for a host's readers.
func (t *hostTable) consumerLag(h *hostData) segment {
	if _, ok := t.rates(h); !ok {
		return t.missing()
	}
	if lag := &h.own.ConsumerLag; lag.Known {
		return plain(theme.Rate(float64(lag.Records)))
	}
	return t.missing()
}

// trend draws the rate of the last minute, on one scale for all hosts.
func (t *hostTable) trend(c chart.Canvas, h *hostData) {
	w, _ := c.Size()
	to := t.s.end().Seconds()
	if to < trendTime { // as in the charts, the whole run
		to = wholeRun(to)
	}
	from := max(to-trendTime, 0)
	values := chart.Resample(samples(h.own.since(from), t.s.main.rate), from, to, w, chart.Mean)
	chart.Sparkline(c, 0, 0, values, t.top, t.styleOf(h, theme.Style{FG: theme.Flow}))
}

// highestRate returns the top of the trends.
func (s *scene) highestRate() float64 {
	top := 0.0
	for _, h := range s.hosts {
		for _, p := range h.own.since(s.end().Seconds() - trendTime) {
			if rate := s.main.rate(&p); rate > top { // NaN is not
				top = rate
			}
		}
	}
	return top
}

// vitals returns what the host said of itself; nil when that is not known any more.
func (h *hostData) vitals() *host.Vitals {
	if !h.heard() || h.Vitals == nil || h.Vitals.Interval <= 0 {
		return nil
	}
	return h.Vitals
}

// share returns a part of something that can run out.
func share(v float64) segment { return colored(loadColor(v), wholePercent(v)) }

func (t *hostTable) cpu(h *hostData) segment {
	v := h.vitals()
	if v == nil || v.Cores <= 0 {
		return t.missing()
	}
	return share(v.CPU / v.Cores)
}

// disk returns the busiest disk of a host that is watched: what a client writes is not Kafka's.
func (t *hostTable) disk(h *hostData) segment {
	v := h.vitals()
	switch {
	case h.Processes > 0:
		return segment{}
	case v == nil || len(v.Disks) == 0:
		return t.missing()
	}
	busy := 0.0
	for i := range v.Disks {
		busy = max(busy, v.Disks[i].Busy)
	}
	return share(busy)
}

// network returns how busy the busiest interface is: of its speed, the busier way; where it
// does not tell its speed, in bytes.
func (t *hostTable) network(h *hostData) segment {
	v := h.vitals()
	if v == nil || len(v.Networks) == 0 {
		return t.missing()
	}
	used, known := busiestNetwork(v)
	if !known {
		return plain(t.s.unit.write(used) + " " + t.s.unit.name())
	}
	return share(used)
}

// busiestNetwork returns the highest share of a speed, or if the interface with most bytes
// tells no speed, its bytes a second.
func busiestNetwork(v *host.Vitals) (used float64, known bool) {
	most, of := 0.0, int64(0)
	for i := range v.Networks {
		n := &v.Networks[i]
		bytes := float64(max(n.Sent, n.Received)) / v.Interval.Seconds()
		if bytes > most {
			most, of = bytes, n.Speed
		}
		if n.Speed > 0 {
			known = true
			used = max(used, bytes*8/float64(n.Speed))
		}
	}
	if !known || most > 0 && of == 0 {
		return most, false
	}
	return used, true
}

// networkWidth has room for bytes where a host has an interface without a speed.
func (t *hostTable) networkWidth() int {
	const percent, bytes = 6, 12
	for _, h := range t.s.hosts {
		if v := h.vitals(); v != nil && len(v.Networks) > 0 {
			if _, known := busiestNetwork(v); !known {
				return bytes
			}
		}
	}
	return percent
}
