package stats

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/must"
)

var scanWindow = ScannerOf[Window]()

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
		got, ok := scanWindow(text)
		must.Hold(t, ok, "not scanned: %s", text)
		clear(text) // the window is its own
		diff := sameWindow(got, w)
		must.Hold(t, diff == "", "-was +is:\n%s", diff)
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
			w, ok := scanWindow([]byte(tc.text))
			must.True(t, !ok && w.IsZero(), "ScanWindow gives %s, %v", marshal(t, w), ok)
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
		got, ok := scanWindow(text)
		if !ok {
			return
		}
		var want Window
		err := json.Unmarshal(text, &want)
		must.Hold(t, err == nil, "scanned although %v: %s", err, text)
		diff := cmp.Diff(want, got, sameHistogram)
		must.Hold(t, diff == "", "encoding/json and ScanWindow differ (-json +scan) on %s:\n%s", text, diff)
		again := marshal(t, got)
		_, ok = scanWindow(again)
		must.Hold(t, ok || strings.Contains(string(again), `\`), "scanned, but not as it is written: %s", again)
	})
}

// numbers is the payload of these numbers.
func numbers(ns ...int64) (b packed) {
	for _, n := range ns {
		b = binary.AppendVarint(b, n)
	}
	return b
}

func TestCountsThatMakeNoSenseAreRefused(t *testing.T) {
	beyond := append(numbers(-countsLength+1, 1), 2)
	for _, tc := range []struct {
		name string
		text packed
		good bool
	}{
		{"the first bucket", numbers(1), true},
		{"the last bucket", numbers(-countsLength+1, 1), true},
		{"as many as there can be", numbers(math.MaxInt64-1, 1), true},
		{"a single bucket without values written as a gap", numbers(-1, 1), true},
		{"nothing", nil, false},
		{"a bucket beyond the last", beyond, false},
		{"a gap beyond the last", numbers(-countsLength, 1), false},
		{"a gap that fits into no int", numbers(math.MinInt64, 1), false},
		{"gaps that add up to more than there are buckets", numbers(-countsLength/2, -countsLength/2, 1), false},
		{"a gap at the end", numbers(1, -2), false},
		{"a bucket without values at the end", numbers(1, 0), false},
		{"a long gap at the end", numbers(1, -2000), false},
		{"more than can be counted", numbers(math.MaxInt64, 1), false},
		{"more than can be counted in large numbers", numbers(math.MaxInt64, math.MaxInt64), false},
		{"half a number", packed{2, 0x80}, false},
		{"nothing in several bytes", packed{0x80, 0x00}, false},
		{"more numbers than there are buckets", bytes.Repeat([]byte{2}, countsLength+1), false},
		{"more bytes than counts take", bytes.Repeat([]byte{0}, maxPacked+1), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, _, err := tc.text.check()
			must.True(t, (err == nil) == tc.good, "check() = %v", err)
		})
	}
}

// FuzzPacked reads counts.
//   - It never panics.
//   - What is good has its buckets in order, in range and with values, which add up to
//     the total, wherever they are added.
//   - Packed again it is the same, and takes no more bytes.
func FuzzPacked(f *testing.F) {
	for _, b := range []packed{
		nil, numbers(1), numbers(-countsLength+1, 1), numbers(5, 0, 7, -3, 1<<40, -9000, 3), numbers(-1, -1, 1), numbers(1, -2),
		numbers(math.MaxInt64, 1), numbers(math.MinInt64),
		{0x80},
		{0x82, 0x00},
		bytes.Repeat([]byte{0xff}, 20),
	} {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b := packed(text)
		total, first, last, err := b.check()
		if err != nil {
			return
		}
		var at []int
		sum := int64(0)
		b.each(func(index int, count int64) bool {
			must.Hold(t, count > 0 && index >= 0 && index < countsLength && (len(at) == 0 || index > at[len(at)-1]),
				"bucket %d counts %d, after %v", index, count, at)
			at = append(at, index)
			sum += count
			return true
		})
		must.Hold(t, sum == total && at[0] == first && at[len(at)-1] == last,
			"buckets %v with %d values, want %d from %d to %d", at, sum, total, first, last)
		again := pack(b.each)
		var d dense
		b.addTo(&d)
		added := pack(d.each)
		must.Hold(t, slices.Equal(added, again) && len(again) <= len(b), "packed again % x, added % x, was % x", again, added, b)
	})
}

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
		must.True(t, (tc.want != "" || err == nil) && (tc.want == "" || err != nil && strings.HasPrefix(err.Error(), tc.want)),
			"%s: %v, want %q", name, err, tc.want)
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
	err := all.End()
	must.True(t, err != nil && strings.HasPrefix(err.Error(), "8 records were sent, and 9 "), "one more: %v", err)
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
	err := all.Add(&Window{Read: Read{EndToEnd: two}})
	must.True(t, err == nil && all.End() != nil, "more are taken; %v", err)
}
