package merge

import (
	"math"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
)

// used is a load with a sample of two cores after each window.
func used(events []canned.Event) (with []canned.Event) {
	for _, e := range events {
		length := e.Window.End - e.Window.Start
		with = append(with, e, canned.Event{Sample: &host.Sample{At: e.Window.End, Interval: length, Cores: 4, HostCores: 8, ProcessCPU: 2}})
	}
	return with
}

func TestSecondsOfPartsLineUp(t *testing.T) {
	const rate, seconds = 1000, 20
	for _, late := range []time.Duration{0, 3 * time.Millisecond, 499 * time.Millisecond, 501 * time.Millisecond, time.Second, 1500 * time.Millisecond} {
		for _, agreed := range []bool{true, false} {
			if agreed && late > lateAfter { // it does not count
				continue
			}
			part := func(host string, late, last time.Duration) []byte {
				return partFile{
					run: "r", epoch: map[bool]string{true: "e"}[agreed], host: host, process: 1, alone: !agreed, late: late,
					events: used(flowing(0, last, rate)), trailer: trailerOf(last.Seconds()),
				}.bytes(t)
			}
			// Each ends with a window that is shorter than a second.
			r := merged(t, part("a", 0, seconds*time.Second+2*time.Millisecond), part("b", late, seconds*time.Second+40*time.Millisecond))
			shift := int(late.Round(time.Second) / time.Second)
			if got := r.Overlap.SpanSeconds; math.Abs(got-(seconds+0.04+float64(shift))) > 1e-9 {
				t.Errorf("%s late: the run took %v s", late, got)
			}
			for i, p := range r.Series {
				want := int64(0)
				if i < seconds {
					want += rate
				}
				if i >= shift && i < seconds+shift {
					want += rate
				}
				if i == seconds-1 && shift == 0 || i == seconds && shift > 0 { // with the short windows
					continue
				}
				if p.StartSeconds != float64(i) || i < seconds+shift-1 && p.Seconds != 1 || i < seconds && p.Acknowledged != want {
					t.Errorf("%s late: row %d is from %v s on, %v s long, with %d records; want %d", late, i, p.StartSeconds, p.Seconds, p.Acknowledged, want)
				}
				if i >= shift && i < seconds && math.Abs(p.CPUCores-4) > 1e-9 {
					t.Errorf("%s late: row %d has %v cores, want 4", late, i, p.CPUCores)
				}
			}
		}
	}
}

func TestAWindowOfSeveralSecondsMakesNoSecondLonger(t *testing.T) {
	slow := steady(0, 8, 100)
	slow[4].Window.Add(slow[3].Window)
	slow = append(slow[:3:3], slow[4:]...) // one window of seconds 3 and 4
	part := func(host string, events []canned.Event) []byte {
		return partFile{run: "r", host: host, process: 1, events: events, trailer: trailerOf(8)}.bytes(t)
	}
	r := merged(t, part("a", steady(0, 8, 100)), part("b", used(slow)))
	sum := 0.0
	for _, p := range r.Series {
		sum += p.Seconds
	}
	must.Match(t, 8, sum, "the series has seconds of 8: %+v", r.Series)
}
