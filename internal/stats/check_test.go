package stats

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

func TestWindowsWhoseNumbersCannotBeAreRefused(t *testing.T) {
	good := func() Window {
		var h Histogram
		h.RecordN(time.Millisecond, 10)
		return Window{
			End: time.Second, Offered: 12, Acknowledged: 10, Failed: 2, Bytes: 1000, Service: h, Response: h, Errors: map[string]int64{"X": 2},
			Partitions: map[int32]Partition{0: {Records: 4, Bytes: 400, ConsumerLag: -3}, 1: {Records: 6, Bytes: 600}},
			Brokers:    map[int32]Broker{1: {Traffic: Traffic{Requests: 3, Records: 10}}}, Read: Read{ConsumerLag: -3},
		}
	}
	for name, tc := range map[string]struct {
		change func(*Window)
		want   string // "": it is taken
	}{
		"a good one":                      {func(*Window) {}, ""},
		"a count below 0":                 {func(w *Window) { w.Unsent = -1 }, "unsent is -1, below 0"},
		"a time below 0":                  {func(w *Window) { w.ReadWait = -1 }, "read_wait_ns is -1"},
		"a span below 0":                  {func(w *Window) { w.OpSpan = -1 }, "op_span_ns is -1"},
		"an age below 0":                  {func(w *Window) { w.Oldest = -1 }, "oldest_ns is -1"},
		"a gap below 0":                   {func(w *Window) { w.Outage.Length = -1 }, "outage is -1"},
		"an error below 0":                {func(w *Window) { w.Errors = map[string]int64{"X": 3, "Y": -1} }, "errors is -1"},
		"a count of a broker below 0":     {func(w *Window) { w.Brokers[1] = Broker{Fetch: Traffic{Bytes: -1}} }, "bytes is -1"},
		"a count of a partition below 0":  {func(w *Window) { w.Partitions[0] = Partition{Records: -4} }, "records is -4"},
		"a sum that overflows":            {func(w *Window) { w.Offered = math.MaxInt64 }, "offered is 9223372036854775807"},
		"consumer lag that overflows":     {func(w *Window) { w.ConsumerLag = math.MinInt64 }, "consumer_lag is 9223372036854775807"},
		"more in partitions than in all":  {func(w *Window) { w.Partitions[1] = Partition{Records: 7, Bytes: 600} }, "its partitions have 11 records"},
		"bytes likewise":                  {func(w *Window) { w.Partitions[1] = Partition{Records: 6, Bytes: 601} }, "its partitions have"},
		"fewer acknowledged than timed":   {func(w *Window) { w.Acknowledged, w.Partitions = 9, nil }, "9 records were acknowledged, and 10 "},
		"failed records without an error": {func(w *Window) { w.Errors = nil }, "2 records failed, and 0 "},
		"an end before its start":         {func(w *Window) { w.Start = 2 * time.Second }, "it is from 2s to 1s"},
	} {
		w := good()
		tc.change(&w)
		var all Totals
		err := all.Add(&w)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// A million records that wait for a second each, in every second of a day, wait for longer than
// an int64 has nanoseconds.
func TestALongQueueIsNoCorruptFile(t *testing.T) {
	var all Totals
	var sum Window
	w := Window{Offered: 1e6, Acknowledged: 1e6, Partitions: map[int32]Partition{0: {Records: 1e6, ServiceSum: 1e6 * time.Second, ServiceMax: time.Second}}}
	for range 24 * 3600 {
		must.Do(t, all.Add(&w))
		sum.Add(&w)
	}
	must.Match(t, math.MaxInt64, sum.Partitions[0].ServiceSum, "the sum")
}

func TestNoMoreRecordsHaveAnOutcomeThanWereSent(t *testing.T) {
	var all Totals
	// In a window of its own there may be: they were sent in one before, or are counted in the next.
	for _, w := range []Window{{Offered: 5}, {Acknowledged: 7}, {Offered: 3, Unknown: 1}} {
		must.Do(t, all.Add(&w))
	}
	must.Err(t, "", all.End(), "as many as were sent")
	must.Do(t, all.Add(&Window{Acknowledged: 1}))
	if err := all.End(); err == nil || !strings.HasPrefix(err.Error(), "8 records were sent, and 9 ") {
		t.Errorf("one more: %v", err)
	}
}

func TestNoMoreRecordsAreTimedThanWereRead(t *testing.T) {
	var two Histogram
	two.RecordN(time.Millisecond, 2)
	var all Totals
	// A record that was due in the warm-up may be read after it.
	for _, w := range []Window{{Warmup: true, Read: Read{Consumed: 1, EndToEnd: two}}, {Read: Read{Consumed: 1}}} {
		must.Do(t, all.Add(&w))
	}
	must.Err(t, "", all.End(), "as many as were read")
	if err := all.Add(&Window{Read: Read{EndToEnd: two}}); err != nil || all.End() == nil {
		t.Errorf("more are taken; %v", err)
	}
}
