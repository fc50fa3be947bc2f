package stats

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kt-bench/kt/internal/must"
)

func TestRecordsOfOneOpCountAsSoManyAlike(t *testing.T) {
	const ms = time.Millisecond
	one, many := NewRecorder(), NewRecorder()
	for i := range 7 {
		one.Sent(Measured, 1, 10*ms, time.Duration(10+i)*ms, 5*ms, i == 0)
	}
	many.Sent(Measured, 1, 10*ms, 10*ms, 5*ms, true)
	many.Sent(Measured, 6, 10*ms, 16*ms, 5*ms, false)
	for range 4 {
		one.Acknowledged(Measured, 1, 3, 100, 4*ms, 9*ms, 19*ms)
	}
	many.Acknowledged(Measured, 4, 3, 400, 4*ms, 9*ms, 19*ms)
	for range 2 {
		one.Failed(Measured, 1, "X")
	}
	many.Failed(Measured, 2, "X")
	one.Unknown(Measured, 1)
	one.Unknown(Measured, 1)
	many.Unknown(Measured, 2)
	want := one.Take(new(Phases), 0, time.Second)
	got := many.Take(new(Phases), 0, time.Second)
	diff := cmp.Diff(want[Measured], got[Measured], sameHistogram)
	must.True(t, diff == "" && got[Measured].Response.Ranked() == 8, "(-one by one +together):\n%s", diff)
}

func TestTheRecorderCountsEachKindOfOutcome(t *testing.T) {
	r := NewRecorder()
	r.Sent(Measured, 1, 10*time.Millisecond, 10*time.Millisecond, 5*time.Millisecond, false)
	r.Sent(Measured, 1, 20*time.Millisecond, 20*time.Millisecond, 2*time.Millisecond, true)
	r.Sent(Measured, 1, 30*time.Millisecond, 30*time.Millisecond, 0, true)
	r.Acknowledged(Measured, 1, 3, 100, 4*time.Millisecond, 6*time.Millisecond, 26*time.Millisecond)
	r.Acknowledged(Measured, 1, 3, 50, 8*time.Millisecond, 8*time.Millisecond, 25*time.Millisecond)
	r.Acknowledged(Measured, 1, -1, 7, time.Millisecond, time.Millisecond, 0)
	r.Failed(Measured, 1, "REQUEST_TIMED_OUT")
	r.Unknown(Measured, 1)
	r.Unsent(Measured, 35*time.Millisecond)
	r.Window(Measured).Transactions++
	b := r.Broker(Measured, 2)
	b.Request(9*time.Millisecond, false)
	b.Request(time.Minute, true)
	b.Batch(10, 1000, 400)
	r.Broker(Measured, 2).Throttle += time.Second

	r.Window(Measured).ShardTime = 900 * time.Millisecond
	got := r.Take(new(Phases), time.Second, 2*time.Second)
	var service Buckets
	service.record(4*time.Millisecond, 1)
	service.record(8*time.Millisecond, 1)
	want := Window{
		Start: time.Second, End: 2 * time.Second,
		Offered: 3, Acknowledged: 3, Failed: 1, Unknown: 1, Unsent: 1, Bytes: 157,
		FirstDue: 10 * time.Millisecond, LastDue: 35 * time.Millisecond, LastSent: 30 * time.Millisecond, LastAck: 26 * time.Millisecond,
		Errors:       map[string]int64{"REQUEST_TIMED_OUT": 1},
		SendDelay:    histogramOf(2*time.Millisecond, 5*time.Millisecond, 0),
		OwnSendDelay: histogramOf(2*time.Millisecond, 0),
		Service:      histogramOf(4*time.Millisecond, 8*time.Millisecond, time.Millisecond),
		Response:     histogramOf(6*time.Millisecond, 8*time.Millisecond, time.Millisecond, Never, Never, Never),
		ShardTime:    900 * time.Millisecond, Counters: Counters{Transactions: 1},
		Partitions: map[int32]Partition{3: {Records: 2, Bytes: 150, ServiceSum: 12 * time.Millisecond, ServiceMax: 8 * time.Millisecond, Service: service, Outage: Gap{From: 22 * time.Millisecond, Length: 4 * time.Millisecond}}},
		Brokers: map[int32]Broker{2: {Traffic: Traffic{
			Requests: 2, Failed: 1, Batches: 1, Records: 10, Bytes: 1000, WireBytes: 400, Throttle: time.Second,
			Latency: histogramOf(9 * time.Millisecond),
		}}},
	}
	diff := cmp.Diff(want, got[Measured], sameHistogram)
	must.True(t, diff == "", "measured (-want +got):\n%s", diff)
	diff = cmp.Diff(Window{Start: time.Second, End: 2 * time.Second, Warmup: true}, got[Warmup], sameHistogram)
	must.True(t, diff == "", "warm-up (-want +got):\n%s", diff)
}

func TestWarmupAndMeasuredRecordsAreKeptApart(t *testing.T) {
	r := NewRecorder()
	r.Sent(Warmup, 1, 0, 0, 0, true)
	r.Acknowledged(Warmup, 1, 1, 10, time.Second, time.Second, time.Second)
	r.Sent(Measured, 1, time.Second, time.Second, 0, true)
	r.Acknowledged(Measured, 1, 2, 20, 2*time.Second, 2*time.Second, 3*time.Second)
	r.Window(Warmup).ShardTime = time.Second
	got := r.Take(new(Phases), 0, time.Second)
	w, m := &got[Warmup], &got[Measured]
	if !w.Warmup || w.Offered != 1 || w.Bytes != 10 || w.Response.Max() != time.Second || w.ShardTime != time.Second || !cmp.Equal(w.PartitionIDs(), []int32{1}) {
		t.Errorf("warm-up: %+v", *w)
	}
	if m.Warmup || m.Offered != 1 || m.Bytes != 20 || m.Response.Max() != 2*time.Second || m.ShardTime != 0 || !cmp.Equal(m.PartitionIDs(), []int32{2}) {
		t.Errorf("measured: %+v", *m)
	}
}

func TestTakeStartsAfreshAndLosesNothing(t *testing.T) {
	r := NewRecorder()
	spare := new(Phases)
	var total Window
	for i := range 10 {
		for range i {
			r.Sent(Measured, 1, time.Duration(i)*time.Second, time.Duration(i)*time.Second, 0, true)
			r.Acknowledged(Measured, 1, int32(i%3), 1, time.Millisecond, time.Millisecond, time.Duration(i)*time.Second)
			r.Broker(Measured, 1).Request(time.Millisecond, false)
		}
		start := time.Duration(i) * time.Second
		r.Window(Measured).ShardTime = time.Second
		taken := r.Take(spare, start, start+time.Second)
		w := &taken[Measured]
		if w.Offered != int64(i) || w.Acknowledged != int64(i) || w.Response.Count() != int64(i) || w.Brokers[1].Requests != int64(i) {
			t.Fatalf("window %d holds %d offered, %d acknowledged, %d values, %d requests", i, w.Offered, w.Acknowledged, w.Response.Count(), w.Brokers[1].Requests)
		}
		must.Hold(t, i <= 0 || cmp.Equal(w.PartitionIDs(), []int32{int32(i % 3)}) && w.FirstDue == start,
			"window %d: partitions %v, first due %v", i, w.PartitionIDs(), w.FirstDue)
		must.Hold(t, taken[Warmup].Warmup && !w.Warmup, "window %d: the phases are mixed up", i)
		total.Add(w)
		taken.Reset()
		spare = taken
	}
	if total.Offered != 45 || total.Response.Count() != 45 || total.End != 10*time.Second || total.ShardTime != 10*time.Second {
		t.Errorf("all windows: %d offered, %d values, until %v, %v of sending; want 45, 45, 10s, 10s",
			total.Offered, total.Response.Count(), total.End, total.ShardTime)
	}
}

func TestResetLeavesNothingBehind(t *testing.T) {
	r := NewRecorder()
	for _, phase := range []int{Measured, Warmup} {
		r.Sent(phase, 1, time.Second, time.Second, time.Second, true)
		r.Acknowledged(phase, 1, 1, 1, time.Second, time.Second, time.Second)
		r.Failed(phase, 1, "X")
		r.Broker(phase, 1).Request(time.Second, false)
	}
	r.Window(Measured).ShardTime = time.Second
	taken := r.Take(new(Phases), 0, time.Second)
	taken.Reset()
	diff := cmp.Diff(Phases{}, *taken, sameHistogram, cmpopts.EquateEmpty())
	must.True(t, diff == "", "after Reset (-want +got):\n%s", diff)
	must.True(t, taken[Measured].IsZero() && taken[Warmup].Empty(), "after Reset a window is not zero")
}

func TestRecordingDoesNotAllocate(t *testing.T) {
	r := NewRecorder()
	spare := new(Phases)
	record := func() {
		for _, phase := range []int{Warmup, Measured} {
			r.Sent(phase, 1, time.Second, time.Second, time.Millisecond, true)
			r.Acknowledged(phase, 1, 11, 100, time.Millisecond, 2*time.Millisecond, time.Second)
		}
	}
	for range 2 { // the memory of both sets of windows
		record()
		spare = r.Take(spare, 0, time.Second)
		spare.Reset()
	}
	must.Match(t, 0, testing.AllocsPerRun(1000, record), "allocations")
}

func BenchmarkRecorder(b *testing.B) {
	r := NewRecorder()
	var at time.Duration
	b.ReportAllocs()
	for b.Loop() {
		at += 700
		r.Sent(Measured, 1, at, at, 400*time.Microsecond, true)
		r.Acknowledged(Measured, 1, int32(at>>8&7), 100, 2*time.Millisecond, 2400*time.Microsecond, at)
	}
}
