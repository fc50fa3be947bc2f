//go:build !race

package tui

import (
	"slices"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// consumed is a second in which n records were read and the consumer lag changed.
func consumed(n, consumerLag int64) stats.Window {
	return stats.Window{Read: stats.Read{Consumed: n, ConsumedBytes: n * 100, ConsumerLag: consumerLag, ReadTime: time.Second}}
}

func TestTheCommandDecidesWhatIsCounted(t *testing.T) {
	w := stats.Window{End: time.Second, Acknowledged: 3, Read: stats.Read{Consumed: 2}}
	w.Response.Record(time.Millisecond)
	w.EndToEnd.Record(time.Second)
	for command, want := range map[string]struct {
		main    way
		median  time.Duration
		acked   time.Duration // p99
		untimed bool
	}{
		"produce":   {acked, time.Millisecond, 0, false},
		"consume":   {read, time.Second, 0, false},
		"roundtrip": {acked, time.Second, time.Millisecond, false},
	} {
		d := observed(Header{Command: command}, w)
		if n := d.current(); d.main != want.main || n.latency.P50.Duration() != want.median || n.Response.P99.Duration() != want.acked && want.acked > 0 || d.untimed() != want.untimed {
			t.Errorf("%s: main %v, p50 %v, ack p99 %v, untimed %v", command, d.main, n.latency.P50, n.Response.P99, d.untimed())
		}
	}
	if d := observed(Header{Command: "consume"}, consumed(2, 0)); !d.untimed() {
		t.Error("without a stamp there is a latency")
	}
}

func TestJoiningAGroupDoesNotCountInTheRateOfReading(t *testing.T) {
	d := watch(Header{Command: "consume", Group: "g"})
	if !d.joining() {
		t.Error("it has joined before it began")
	}
	for i := range 6 {
		w := stats.Window{Start: time.Duration(i) * time.Second, End: time.Duration(i+1) * time.Second}
		if i >= 3 {
			w.Consumed, w.JoinTime = 100, 3*time.Second
			w.FirstRead, w.LastRead = w.Start, w.End
		}
		d.observe(given{Windows: []stats.Window{w}, State: result.Running})
		must.Match(t, i < 3, d.joining(), "second %d: joining", i)
	}
	must.Match(t, 100, d.run().flow[read].Records, "records a second")
}

// Without a group there is nothing to join, and a roundtrip begins when its readers
// are ready.
func TestOnlyAGroupIsJoined(t *testing.T) {
	for _, h := range []Header{{Command: "consume"}, {Command: "roundtrip", Group: "g"}, {Command: "produce"}} {
		if newData(h).joining() {
			t.Errorf("%+v", h)
		}
	}
}

func TestFetchErrorsAreErrorsOfTheirOwn(t *testing.T) {
	w := stats.Window{Failed: 2, Errors: map[string]int64{"X": 2}, Read: stats.Read{FetchErrors: map[string]int64{"X": 5}}}
	d := observed(Header{Command: "roundtrip"}, w)
	want := []failure{{"fetch X", 5}, {"X", 2}}
	if got := d.failures(); !slices.Equal(got, want) || len((&scene{data: d, span: defaultSpan}).marks(chart.TimeAxis{To: 60})) != 1 {
		t.Errorf("errors %v", got)
	}
}
