package merge

import (
	"math"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
)

// jittery is a steady load of two cores whose windows end a little early and late in turn.
func jittery(seconds int) []event {
	var events []event
	last := time.Duration(0)
	for s, e := range steady(0, seconds, 1000) {
		e.window.Start, e.window.End = last, time.Duration(s+1)*time.Second+time.Duration(s%3-1)*2*time.Millisecond
		events = append(events, e, event{sample: &host.Sample{At: e.window.End, Interval: e.window.End - last, Cores: 4, HostCores: 8, ProcessCPU: 2}})
		last = e.window.End
	}
	return events
}

func TestSecondsOfPartsHalfASecondApartStayApart(t *testing.T) {
	part := func(host string, late time.Duration) []byte {
		return partFile{run: "r", host: host, process: 1, alone: true, late: late, events: jittery(20), trailer: trailerOf(20)}.bytes(t)
	}
	for _, late := range []time.Duration{0, 499 * time.Millisecond, 500 * time.Millisecond, 501 * time.Millisecond, 1500 * time.Millisecond} {
		r := merged(t, part("a", 0), part("b", late))
		if got := r.Client.CPUCores; math.Abs(got-4) > 0.01 {
			t.Errorf("%s late: %.2f cores were used, want 4", late, got)
		}
		for _, p := range r.Series[2 : len(r.Series)-4] { // all that both parts had to the end
			if rate := float64(p.Acknowledged) / p.Seconds; math.Abs(rate-2000) > 20 || math.Abs(p.CPUCores-4) > 0.05 || math.Abs(p.Seconds-1) > 0.01 {
				t.Errorf("%s late: in the %.3f s from %.3f s on there are %d records by %.2f cores, want 2000/s by 4", late, p.Seconds, p.StartSeconds, p.Acknowledged, p.CPUCores)
			}
		}
	}
}

func TestAWindowOfSeveralSecondsMakesNoSecondLonger(t *testing.T) {
	slow := steady(0, 8, 100)
	slow[4].window.Add(slow[3].window)
	slow = append(slow[:3:3], slow[4:]...) // one window of seconds 3 and 4
	var use []event
	for _, e := range slow {
		use = append(use, e, event{sample: &host.Sample{At: e.window.End, Interval: e.window.End - e.window.Start, Cores: 4, ProcessCPU: 1}})
	}
	part := func(host string, events []event) []byte {
		return partFile{run: "r", host: host, process: 1, events: events, trailer: trailerOf(8)}.bytes(t)
	}
	r := merged(t, part("a", steady(0, 8, 100)), part("b", use))
	sum := 0.0
	for _, p := range r.Series {
		sum += p.Seconds
	}
	if sum != 8 {
		t.Errorf("the series has %v seconds of 8: %+v", sum, r.Series)
	}
}
