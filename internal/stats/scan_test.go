package stats

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/must"
)

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	return must.Have(json.Marshal(v))(t)
}

func TestAScannedWindowIsTheOneThatWasWritten(t *testing.T) {
	full := filled(1000)
	full.Events = nil
	windows := []Window{{}, full, {Start: -5, Read: Read{ConsumerLag: -7}, Errors: map[string]int64{"client:RECORD_TIMEOUT": 1}}}
	for seed := range uint64(20) {
		w := randomWindow(rand.New(rand.NewPCG(seed, 10)))
		w.Events = nil
		windows = append(windows, w)
	}
	for _, w := range windows {
		text := marshal(t, w)
		got, ok := ScanWindow(text)
		if !ok {
			t.Fatalf("not scanned: %s", text)
		}
		clear(text) // the window is its own
		if diff := sameWindow(got, w); diff != "" {
			t.Fatalf("-was +is:\n%s", diff)
		}
	}
}

func TestWhatCannotBeScannedIsLeft(t *testing.T) {
	for _, tc := range []struct{ name, text string }{
		{"nothing", ``},
		{"no window", `[1]`},
		{"half a window", `{"start_ns":5`},
		{"something behind it", `{"start_ns":5} `},
		{"a space", `{"start_ns": 5}`},
		{"a field of a later version", `{"start_ns":5,"new":1}`},
		{"fields in another order", `{"end_ns":5,"start_ns":5}`},
		{"a field twice", `{"start_ns":5,"start_ns":5}`},
		{"a comma before the first field", `{,"start_ns":5}`},
		{"a comma behind the last", `{"start_ns":5,}`},
		{"no comma", `{"start_ns":5"end_ns":6}`},
		{"events", `{"events":[]}`},
		{"a fraction", `{"start_ns":5.0}`},
		{"a number with a leading zero", `{"start_ns":05}`},
		{"no digits", `{"start_ns":-}`},
		{"more digits than it knows", `{"start_ns":1234567890123456789}`},
		{"a number in quotes", `{"start_ns":"5"}`},
		{"a flag that is not set", `{"warmup":false}`},
		{"half a flag", `{"warmup":tr`},
		{"a name with an escape", `{"errors":{"\u003c":1}}`},
		{"a name beyond ASCII", `{"errors":{"ä":1}}`},
		{"a name without an end", `{"errors":{"a`},
		{"a partition beyond all", `{"partitions":{"4294967296":{}}}`},
		{"a partition without a number", `{"partitions":{"x":{}}}`},
		{"no base64", `{"send_delay":{"counts":"?"}}`},
		{"base64 with a line end", `{"send_delay":{"counts":"CQ` + "\n" + `I=","sum_us":5,"min_us":5,"max_us":5}}`},
		{"counts without an end", `{"send_delay":{"counts":"CQI=`},
		{"counts that contradict", `{"send_delay":{"counts":"CQI=","sum_us":5,"min_us":4,"max_us":5}}`},
		{"more counts than there are", `{"send_delay":{"counts":"` + strings.Repeat("A", maxEncoded+4) + `"}}`},
		{"the encoding of a document", `{"send_delay":` + string(marshal(t, Distribution{histogramOf(time.Second)})) + `}`},
		{"null", `{"send_delay":null}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if w, ok := ScanWindow([]byte(tc.text)); ok || !w.IsZero() {
				t.Errorf("ScanWindow gives %s, %v", marshal(t, w), ok)
			}
		})
	}
}

// FuzzScanWindow reads a window.
//   - It never panics.
//   - What it can read, encoding/json reads as the same.
//   - That written again, it can read too, unless it has names with escapes.
func FuzzScanWindow(f *testing.F) {
	for seed := range uint64(8) {
		w := randomWindow(rand.New(rand.NewPCG(seed, 11)))
		w.Events = nil
		f.Add(marshal(f, w))
	}
	f.Add([]byte(`{"start_ns":5,"errors":{"X":1,"X":2},"send_delay":{"counts":"CQI=","sum_us":5,"min_us":5,"max_us":5}}`))
	f.Add([]byte(`{"start_ns":-0,"warmup":true,"partitions":{"-1":{},"1":{"outage":{}}},"brokers":{"7":{"fetch":{"latency":{}}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, ok := ScanWindow(text)
		if !ok {
			return
		}
		var want Window
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatalf("scanned although %v: %s", err, text)
		}
		if diff := cmp.Diff(want, got, sameHistogram); diff != "" {
			t.Fatalf("encoding/json and ScanWindow differ (-json +scan) on %s:\n%s", text, diff)
		}
		again := marshal(t, got)
		if _, ok := ScanWindow(again); !ok && !strings.Contains(string(again), `\`) {
			t.Fatalf("scanned, but not as it is written: %s", again)
		}
	})
}
