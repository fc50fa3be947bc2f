package result

import (
	"math"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// changed returns an event of a change of the target.
func changed(at time.Duration, from, to float64) stats.Event {
	return stats.Event{At: at, Kind: stats.RateChanged, Broker: -1, To: -1, OldRate: from, NewRate: to, Text: "the target rate is another"}
}

// follow makes the windows of a run that keeps a schedule to a share, by an ideal client.
func follow(s plan.Schedule, share float64, length int, events ...stats.Event) []stats.Window {
	var windows []stats.Window
	for i := range length {
		from, to := time.Duration(i)*time.Second, time.Duration(i+1)*time.Second
		n := int64(share * (s.Position(to) - s.Position(from)))
		w := stats.Window{
			Start: from, End: to, Offered: n, Acknowledged: n, FirstDue: from, LastDue: to - time.Microsecond,
			LastSent: to - time.Microsecond, LastAck: to - time.Microsecond, ShardTime: time.Second,
		}
		for _, e := range events {
			if e.At > from && e.At <= to {
				w.Events = append(w.Events, e)
			}
		}
		windows = append(windows, w)
	}
	return windows
}

func TestAChangedTargetIsJudgedByItsIntegral(t *testing.T) {
	up, down := changed(4300*time.Millisecond, 1000, 5000), changed(8*time.Second, 5000, 200)
	for _, tc := range []struct {
		name   string
		events []stats.Event
		target float64
		share  float64
		kept   bool
	}{
		{"raised and kept", []stats.Event{up}, (4.3*1000 + 5.7*5000) / 10, 1, true},
		{"raised and lowered and kept", []stats.Event{up, down}, (4.3*1000 + 3.7*5000 + 2*200) / 10, 1, true},
		{"twice at one time", []stats.Event{changed(5*time.Second, 1000, 2000), changed(5*time.Second, 2000, 3000)}, 2000, 1, true},
		{"raised and missed", []stats.Event{up}, (4.3*1000 + 5.7*5000) / 10, 0.9, false},
		{"lowered and missed", []stats.Event{changed(5*time.Second, 1000, 500)}, 750, 0.9, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := plan.NewSchedule(1000)
			for _, e := range tc.events {
				s = s.Change(e.At, e.NewRate)
			}
			f := NewFold(header(1000))
			for _, w := range follow(s, tc.share, 10, tc.events...) {
				f.AddWindow(w)
			}
			r := f.Result()
			if got := r.Throughput.TargetRecordsPerSecond; math.Abs(got-tc.target) > 0.01 {
				t.Errorf("the target is %v, want its mean %v", got, tc.target)
			}
			if kept := r.BoundBy.Limit == verdict.None; kept != tc.kept || r.Valid != tc.kept || (r.TargetReached == nil) != tc.kept {
				t.Errorf("bound by %v, valid %t, reached %v; want kept %t", r.BoundBy, r.Valid, r.TargetReached, tc.kept)
			}
			if r.TargetReached != nil && math.Abs(*r.TargetReached-tc.share) > 0.001 {
				t.Errorf("%v of the target was reached, want %v", *r.TargetReached, tc.share)
			}
			last := tc.events[len(tc.events)-1]
			must.Match(t, last.NewRate, f.Snapshot().Target, "a snapshot has the target")
			if e := r.Events[len(r.Events)-1]; e.OldRate != last.OldRate || e.NewRate != last.NewRate || e.AtSeconds != last.At.Seconds() {
				t.Errorf("the last event is %+v, want %+v", e, last)
			}
		})
	}
}

func TestAnOutageAfterARaisedTargetDoesNotBlameKt(t *testing.T) {
	// Nothing is acknowledged for 50 s at the end. Were the mean target of kt's own
	// schedule taken over that too, it would be close to 5000, and kt offered 1800.
	up := changed(8*time.Second, 1000, 5000)
	f := NewFold(header(1000))
	windows := follow(plan.NewSchedule(1000).Change(up.At, up.NewRate), 1, 10, up)
	windows[9].End, windows[9].LastAck = 60*time.Second, 60*time.Second
	for _, w := range windows {
		f.AddWindow(w)
	}
	if r := f.Result(); !r.Valid {
		t.Errorf("not valid: %v", r.Invalid)
	}
}

func TestALoweredTargetIsNoOutage(t *testing.T) {
	down := changed(15*time.Second, 1000, 100)
	gone := stats.Event{At: 14 * time.Second, Kind: stats.BrokerGone, Broker: 1, To: -1, Text: "broker 1 is gone"}
	f := NewFold(header(1000))
	for _, w := range follow(plan.NewSchedule(1000).Change(down.At, down.NewRate), 1, 40, gone, down) {
		f.AddWindow(w)
	}
	o := f.Result().Outage
	if o == nil || o.RecoveredMS == nil || *o.RecoveredMS != 0 {
		t.Errorf("the outage is %+v, want one in which the rate did not fall", o)
	}
}
