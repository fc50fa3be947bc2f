package result

import (
	"bytes"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/stats"
)

// hours is the file of a run of some seconds, with a load that hardly takes a time to make up, and its result.
func hours(t testing.TB, seconds int, limits ...string) ([]byte, Result) {
	t.Helper()
	some := busy(20)
	var events []canned.Event
	for s := range seconds {
		for _, e := range some[s%20*2 : s%20*2+2] {
			by := time.Duration(s-s%20) * time.Second
			if e.Window != nil {
				w := *e.Window
				w.Shift(by)
				w.Partitions, w.SendDelay, w.OwnSendDelay, w.Service = nil, stats.Histogram{}, stats.Histogram{}, stats.Histogram{}
				if s%20 > 0 {
					w.Brokers = nil
				}
				e.Window = &w
			} else {
				sample := *e.Sample
				sample.At += by
				e.Sample = &sample
			}
			events = append(events, e)
		}
	}
	h := header(5000)
	h.Limits, h.Plan.Load.Duration = limits, 0
	end := completed
	end.ElapsedSeconds, end.SendingSeconds = float64(seconds), float64(seconds)
	file := runFile(t, h, events, end)
	fold := must.Have(Replay(bytes.NewReader(file)))(t)
	return file, fold.Result()
}

func TestAThinnedFileHasTheSameResultAndFewerSeconds(t *testing.T) {
	const seconds = 7500
	file, want := hours(t, seconds, "response.p99<1s over 10s")
	var thin bytes.Buffer
	must.Do(t, Thin(&thin, bytes.NewReader(file), &want))
	fold := must.Have(Replay(bytes.NewReader(thin.Bytes())))(t)
	must.Match(t, marshal(t, want), marshal(t, fold.Result()), "the result")
	var sum, all stats.Window
	lengths := map[time.Duration]int{}
	for _, l := range readLines(t, bytes.NewReader(thin.Bytes())) {
		if l.Window != nil {
			sum.Add(l.Window)
			lengths[l.Window.End-l.Window.Start]++
		}
	}
	for _, l := range readLines(t, bytes.NewReader(file)) {
		if l.Window != nil {
			all.Add(l.Window)
		}
	}
	must.Match(t, marshal(t, all), marshal(t, sum), "the sum")
	must.Match(t, map[time.Duration]int{time.Minute: 5, 10 * time.Second: 660, time.Second: 600}, lengths, "the lengths of windows")
	for limit, known := range map[string]bool{"response.p99<1s": true, "response.p99<1s over 10s": false, "response.p99<1s over 2m": true} {
		fold := must.Have(Replay(bytes.NewReader(thin.Bytes()), limit))(t)
		if l := fold.Result().Limits[0]; (l.Value != nil) != known || l.Held != known {
			t.Errorf("%s: %+v", limit, l)
		}
	}
}
