package stats

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/must"
)

// sameHistogram compares what histograms hold, to the last count.
var sameHistogram = cmp.Comparer(func(a, b Histogram) bool {
	if a.Count() != b.Count() || a.sum != b.sum || a.outOfRange != b.outOfRange || a.unserved != b.unserved || a.Min() != b.Min() || a.Max() != b.Max() {
		return false
	}
	return bytes.Equal(pack(a.each), pack(b.each))
})

func histogramOf(ds ...time.Duration) (h Histogram) {
	for _, d := range ds {
		if d == Never {
			h.RecordNever(1)
			continue
		}
		h.Record(d)
	}
	return h
}

func TestMinMaxAndMeanAreExactToTheMicrosecond(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		var h Histogram
		least, most, sum := int64(math.MaxInt64), int64(0), 0.0
		n := 1 + rng.IntN(1000)
		for range n {
			us := rng.Int64N(1 << rng.IntN(31)) // HdrHistogram would round beyond 2047
			least, most, sum = min(least, us), max(most, us), sum+float64(us)
			h.Record(time.Duration(us)*time.Microsecond + time.Duration(rng.IntN(1000)))
		}
		must.True(t, h.Min() == time.Duration(least)*time.Microsecond && h.Max() == time.Duration(most)*time.Microsecond,
			"min %v and max %v, want %d and %d µs", h.Min(), h.Max(), least, most)
		want := sum / float64(n)
		must.True(t, math.Abs(h.Mean().Seconds()*1e6-want) <= want*1e-9+1e-3, "mean %v, want %v µs", h.Mean(), want)
	}
}

func TestRecordNCountsEqualDurations(t *testing.T) {
	var h Histogram
	h.RecordN(time.Millisecond, 3)
	h.RecordN(5*time.Millisecond, 1)
	h.RecordN(-1, 7)
	must.True(t, h.Count() == 4 && h.Mean() == 2*time.Millisecond && h.OutOfRange() == 7,
		"count %d, mean %v, out of range %d; want 4, 2ms, 7", h.Count(), h.Mean(), h.OutOfRange())
}

func TestOutOfRangeIsCountedAndNeverClamped(t *testing.T) {
	for _, tc := range []struct {
		name string
		d    time.Duration
		out  int64
	}{
		{"nothing is in range", 0, 0},
		{"an hour is in range", HighestTrackableValue, 0},
		{"a nanosecond more than an hour is not", HighestTrackableValue + 1, 1},
		{"a century is not", 876_000 * time.Hour, 1},
		{"a negative duration is not", -1, 1},
		{"the most negative duration is not", math.MinInt64, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := histogramOf(time.Second, tc.d)
			must.True(t, h.OutOfRange() == tc.out && h.Count() == 2-tc.out && !histogramOf(tc.d).IsZero(),
				"count %d, out of range %d; want %d, %d", h.Count(), h.OutOfRange(), 2-tc.out, tc.out)
			must.True(t, tc.out <= 0 || h.Min() == time.Second && h.Max() == time.Second && h.Mean() == time.Second,
				"min %v, max %v, mean %v; want 1s", h.Min(), h.Max(), h.Mean())
		})
	}
}

func newHDR() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, HighestTrackableValue.Microseconds(), significantDigits)
}

func encodeHDR(t testing.TB, h *hdrhistogram.Histogram) string {
	t.Helper()
	return string(must.Have(h.Encode(hdrhistogram.V2CompressedEncodingCookieBase))(t))
}

// forms are a histogram in all the forms that it takes: as it was recorded, as it is
// read from either of its encodings, and as others are added up to it.
func forms(t testing.TB, recorded Histogram) map[string]*Histogram {
	t.Helper()
	read := func(text []byte, err error) *Histogram {
		t.Helper()
		must.Do(t, err)
		h := new(Histogram)
		err = json.Unmarshal(text, h)
		must.Hold(t, err == nil, "%v in %s", err, text)
		return h
	}
	packed := read(json.Marshal(recorded))
	hdr := read(json.Marshal(Distribution{recorded}))
	onto, copied, once := new(Histogram), new(Histogram), histogramOf(time.Second)
	onto.add(packed)
	copied.add(&recorded)
	once.reset()
	once.add(packed)
	return map[string]*Histogram{"recorded": &recorded, "read": packed, "read from a document": hdr, "added": onto, "copied": copied, "added to one of old": &once}
}

// The least and the greatest values and those at the edges of octaves are where bucket
// arithmetic goes wrong.
func TestAHistogramOfAnyFormSaysWhatHdrHistogramSays(t *testing.T) {
	const hour = 3_600_000_000
	edges := []int64{0, 1, 1023, 1024, 1025, 2046, 2047, 2048, 2049, 4095, 4096, 1<<31 - 1, 1 << 31, hour - 1, hour}
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 8))
		want := newHDR()
		var recorded Histogram
		for range 1 + rng.IntN(3000>>rng.IntN(12)) {
			us, n := rng.Int64N(2<<rng.IntN(31)), 1+rng.Int64N(1<<rng.IntN(8))
			if rng.IntN(4) == 0 {
				us = edges[rng.IntN(len(edges))]
			}
			if us = min(us, hour); rng.IntN(20) == 0 {
				n = rng.Int64N(1 << 60 / (us + 1) / 1000)
			}
			if n == 0 {
				continue
			}
			recorded.RecordN(time.Duration(us)*time.Microsecond, n)
			must.Do(t, want.RecordValues(us, n))
		}
		for form, h := range forms(t, recorded) {
			if h.Count() != want.TotalCount() || h.Mean() != recorded.Mean() || h.Min() != recorded.Min() || h.Max() != recorded.Max() {
				t.Fatalf("seed %d, %s: %d values from %v to %v, mean %v; want %d from %v to %v, mean %v", seed, form,
					h.Count(), h.Min(), h.Max(), h.Mean(), want.TotalCount(), recorded.Min(), recorded.Max(), recorded.Mean())
			}
			type bar struct{ to, n int64 }
			var bars, wantBars []bar
			h.Each(func(upTo time.Duration, n int64) { bars = append(bars, bar{upTo.Microseconds(), n}) })
			for _, b := range want.Distribution() {
				if b.Count > 0 {
					wantBars = append(wantBars, bar{b.To, b.Count})
				}
			}
			must.Hold(t, slices.Equal(bars, wantBars), "seed %d, %s: buckets %v, want %v", seed, form, bars, wantBars)
			for _, q := range []float64{-1, 0, 1e-9, rng.Float64(), 0.5, 0.9, 0.999, 0.999999, 1, 2, math.NaN()} {
				v := min(max(want.ValueAtPercentile(q*100), h.Min().Microseconds()), h.Max().Microseconds())
				got := h.ValueAtQuantile(q).Microseconds()
				must.Hold(t, got == v, "seed %d, %s: ValueAtQuantile(%v) = %d µs, want %d", seed, form, q, got, v)
			}
		}
	}
}

func TestADistributionIsWhatHdrHistogramWrites(t *testing.T) {
	want := newHDR()
	var recorded Histogram
	for _, us := range []int64{0, 1, 5, 5, 1500, 70_000, 3_600_000_000} {
		_ = want.RecordValue(us)
		recorded.Record(time.Duration(us) * time.Microsecond)
	}
	for form, h := range forms(t, recorded) {
		text := must.Have(json.Marshal(Distribution{*h}))(t)
		must.Match(t, fmt.Sprintf(`{"hdr_v2_base64":%q,"sum_us":3600071511,"max_us":3600000000}`, encodeHDR(t, want)), string(text), "%s: %s", form, text)
	}
}

// Whoever has an HdrHistogram library can read the counts of a run file with it.
func TestCountsAreThePayloadOfHdrHistogramsEncoding(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	hdr := newHDR()
	var h Histogram
	for range 500 {
		us, n := rng.Int64N(1<<rng.IntN(31)), 1+rng.Int64N(1<<rng.IntN(25))
		_ = hdr.RecordValues(us, n)
		h.RecordN(time.Duration(us)*time.Microsecond, n)
	}
	encoded := must.Have(base64.StdEncoding.DecodeString(encodeHDR(t, hdr)))(t)
	inflated, err := zlib.NewReader(bytes.NewReader(encoded[8:])) // behind a cookie and a length
	must.Do(t, err)
	want := must.Have(io.ReadAll(inflated))(t)
	if got := pack(h.each); !bytes.Equal(got, want[hdrhistogram.ENCODING_HEADER_SIZE:]) {
		t.Errorf("the counts are %x, want %x", got, want[hdrhistogram.ENCODING_HEADER_SIZE:])
	}
}

func TestWhatCannotBeAddedUpIsCountedAsOutOfRange(t *testing.T) {
	of := func(d time.Duration, n int64) (h Histogram) {
		h.RecordN(d, n)
		return h
	}
	const most = math.MaxInt64
	for _, tc := range []struct {
		name       string
		a, b       Histogram
		count, out int64
	}{
		{"as many as there can be", of(0, most-1), of(0, 1), most, 0},
		{"one more", of(0, most-1), of(0, 2), most - 1, 2},
		{"a sum as great as there can be", of(time.Microsecond, most-1), of(time.Microsecond, 1), most, 0},
		{"a sum that is greater", of(2*time.Microsecond, most/2), of(2*time.Microsecond, 1), most / 2, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for form, b := range forms(t, tc.b) {
				h := Histogram{}
				h.add(&tc.a)
				h.add(b)
				must.Match(t, []int64{tc.count, tc.out}, []int64{h.Count(), h.OutOfRange()}, "%s: %d values and %d out of range", form, h.Count(), h.OutOfRange())
			}
		})
	}
	h := of(0, most)
	h.Record(0)
	h.RecordN(-1, most)
	must.Match(t, []int64{most, most}, []int64{h.Count(), h.OutOfRange()}, "%d values and %d out of range", h.Count(), h.OutOfRange())
}

func TestAHistogramReadWithoutValuesIsEmpty(t *testing.T) {
	var h Histogram
	must.Do(t, json.Unmarshal(fmt.Appendf(nil, `{"hdr_v2_base64":%q}`, encodeHDR(t, newHDR())), &h))
	h.Record(time.Second)
	must.True(t, h.Min() == time.Second && h.Max() == time.Second && h.Count() == 1,
		"%d values from %v to %v, want one of 1s", h.Count(), h.Min(), h.Max())
}

func TestAHistogramThatCannotBeMergedIsRefused(t *testing.T) {
	other := hdrhistogram.New(1, 1_000_000, 2)
	_ = other.RecordValue(5)
	ours := newHDR()
	_ = ours.RecordValue(5)
	mine := encodeHDR(t, ours)
	for _, tc := range []struct{ name, json, say string }{
		{"another geometry", fmt.Sprintf(`{"hdr_v2_base64":%q,"min_us":5,"max_us":5,"sum_us":5}`, encodeHDR(t, other)), "1 to 1000000 at 2"},
		{"no base64", `{"hdr_v2_base64":"???"}`, "decode histogram"},
		{"no histogram", `{"hdr_v2_base64":"AAAAAAAAAAA="}`, "decode histogram"},
		{"half a histogram", fmt.Sprintf(`{"hdr_v2_base64":%q}`, mine[:len(mine)/2/4*4]), "decode histogram"},
		{"more than a histogram takes", `{"hdr_v2_base64":"` + strings.Repeat("A", maxEncoded+4) + `"}`, "more than"},
		{"no object", `[1]`, "decode histogram"},
		{"counts that are no base64", `{"counts":"?"}`, "decode histogram"},
		{"counts twice", fmt.Sprintf(`{"hdr_v2_base64":%q,"counts":"Ag==","min_us":5,"max_us":5,"sum_us":5}`, mine), "its counts twice"},
		{"a shortest of another bucket", `{"counts":"CQI=","min_us":4,"max_us":5,"sum_us":5}`, "contradict"},
		{"a longest of another bucket", `{"counts":"CQI=","min_us":5,"max_us":6,"sum_us":5}`, "contradict"},
		{"a number too large for its field", `{"sum_us":1e30}`, "decode histogram"},
		{"fewer than none out of range", `{"out_of_range":-1}`, "contradict"},
		{"a longest value of none", `{"max_us":5}`, "contradict"},
		{"a sum of none", `{"sum_us":5}`, "contradict"},
		{"a shortest above the longest", fmt.Sprintf(`{"hdr_v2_base64":%q,"min_us":6,"max_us":5,"sum_us":5}`, mine), "contradict"},
		{"a longest beyond the range", fmt.Sprintf(`{"hdr_v2_base64":%q,"min_us":5,"max_us":3600000001,"sum_us":5}`, mine), "contradict"},
		{"a negative shortest", fmt.Sprintf(`{"hdr_v2_base64":%q,"min_us":-5,"max_us":5,"sum_us":5}`, mine), "contradict"},
		{"a mean above the longest", fmt.Sprintf(`{"hdr_v2_base64":%q,"min_us":5,"max_us":5,"sum_us":500}`, mine), "contradict"},
		{"a mean below the shortest", fmt.Sprintf(`{"hdr_v2_base64":%q,"min_us":5,"max_us":5}`, mine), "contradict"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var h Histogram
			err := json.Unmarshal([]byte(tc.json), &h)
			must.Err(t, tc.say, err, "got")
		})
	}
}

// FuzzHistogramUnmarshal: reading a histogram never panics; what was read makes
// sense (quantiles between its ends, its ends in range), and written and read
// again it is the same.
func FuzzHistogramUnmarshal(f *testing.F) {
	for _, h := range []Histogram{{}, histogramOf(time.Second), histogramOf(0, time.Millisecond, HighestTrackableValue, -1)} {
		b := must.Have(json.Marshal(h))(f)
		f.Add(b)
	}
	other := hdrhistogram.New(1, 1000, 1)
	_ = other.RecordValue(5)
	f.Add([]byte(`{"hdr_v2_base64":"` + encodeHDR(f, other) + `"}`))
	f.Add([]byte(`{"hdr_v2_base64":"AAAA"}`))
	f.Add([]byte(`{"counts":"CQI=","sum_us":5,"min_us":5,"max_us":5}`))
	f.Add([]byte(`{"counts":"/////////////w==","hdr_v2_base64":"","out_of_range":9223372036854775807}`))
	f.Add([]byte(`{"sum_us":-1,"min_us":9223372036854775807,"out_of_range":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var h Histogram
		if json.Unmarshal(b, &h) != nil {
			return
		}
		must.Hold(t, h.Min() >= 0 && h.Min() <= h.Max() && h.Max() <= HighestTrackableValue && h.Count() >= 0 && h.OutOfRange() >= 0,
			"%d values from %v to %v, %d out of range", h.Count(), h.Min(), h.Max(), h.OutOfRange())
		for _, q := range []float64{0, 0.5, 0.999, 1} {
			v := h.ValueAtQuantile(q)
			must.Hold(t, v >= h.Min() && v <= h.Max(), "ValueAtQuantile(%v) = %v, outside %v to %v", q, v, h.Min(), h.Max())
		}
		again := must.Have(json.Marshal(h))(t)
		var g Histogram
		err := json.Unmarshal(again, &g)
		must.Hold(t, err == nil, "%v in %s", err, again)
		must.Hold(t, cmp.Equal(h, g, sameHistogram), "%s was read back as something else", again)
	})
}

func TestARecordThatWasNotServedRanksAboveAllOthers(t *testing.T) {
	of := func(served, unserved int64) *Histogram {
		var h Histogram
		h.RecordN(time.Millisecond, served)
		h.RecordNever(unserved)
		return &h
	}
	for _, tc := range []struct {
		name           string
		h              *Histogram
		p50, p99       time.Duration
		min, mean, max time.Duration
	}{
		{"nothing", of(0, 0), 0, 0, 0, 0, 0},
		{"all were served", of(100, 0), time.Millisecond, time.Millisecond, time.Millisecond, time.Millisecond, time.Millisecond},
		{"one of a thousand was not", of(999, 1), time.Millisecond, time.Millisecond, time.Millisecond, time.Millisecond, Never},
		{"one of fifty was not", of(49, 1), time.Millisecond, Never, time.Millisecond, time.Millisecond, Never},
		{"most were not", of(31, 69), Never, Never, time.Millisecond, time.Millisecond, Never},
		{"none was", of(0, 5), Never, Never, Never, Never, Never},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var merged, read Histogram
			merged.add(tc.h)
			must.Do(t, json.Unmarshal(marshal(t, *tc.h), &read))
			for _, h := range []*Histogram{tc.h, &merged, &read} {
				got := []time.Duration{h.ValueAtQuantile(0.5), h.ValueAtQuantile(0.99), h.Min(), h.Mean(), h.Max(), h.ValueAtQuantile(1)}
				want := []time.Duration{tc.p50, tc.p99, tc.min, tc.mean, tc.max, tc.max}
				must.True(t, cmp.Equal(got, want), "p50, p99, min, mean, max and p100 are %v, want %v", got, want)
				if s := h.Served(); s.Ranked() != s.Count() || s.Count() != h.Count() || s.Max() == Never || s.ValueAtQuantile(0.99) == Never {
					t.Errorf("what was served has a max of %v", s.Max())
				}
			}
		})
	}
}

func TestBucketsFollowEachOtherWithoutAGap(t *testing.T) {
	last := time.Duration(0)
	for i := range bucketCount - 1 {
		end := bucketEnd(i)
		must.Hold(t, bucketOf(last) == i && bucketOf(end-1) == i && bucketOf(end) == i+1,
			"range %d from %v to %v: its ends are in %d, %d and %d", i, last, end, bucketOf(last), bucketOf(end-1), bucketOf(end))
		must.True(t, i < 4 || float64(end) <= 1.25*float64(last), "range %d from %v to %v is too long", i, last, end)
		last = end
	}
	must.Match(t, []int{0, bucketCount - 1}, []int{bucketOf(-1), bucketOf(1 << 62)}, "what is out of range is in no range at an end")
}

// Merged in any parts, buckets count as in one, and a quantile is at most a quarter above the exact one.
func TestBucketsAddUpAndTheirQuantilesAreNear(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var one, merged Buckets
		parts := make([]Buckets, 1+chance.IntN(4))
		times := make([]time.Duration, 1+chance.IntN(3000))
		for i := range times {
			times[i] = time.Duration(float64(100*time.Microsecond) * (1 + 300*chance.ExpFloat64()))
			one.record(times[i], 1)
			parts[chance.IntN(len(parts))].record(times[i], 1)
		}
		for i := range parts {
			merged.add(&parts[i])
		}
		must.Hold(t, merged == one, "parts do not add up")
		slices.Sort(times)
		longest := times[len(times)-1]
		for _, share := range []float64{0.5, 0.9, 0.99, 1} {
			exact := times[max((int(share*1000)*len(times)+999)/1000-1, 0)]
			if got := merged.ValueAtQuantile(share, longest); got < exact || float64(got) > 1.25*float64(exact)+float64(bucketEnd(0)) {
				t.Fatalf("%v of %d times is %v, exactly %v", share, len(times), got, exact)
			}
		}
		text, err := merged.MarshalText()
		var back Buckets
		must.Hold(t, err == nil && back.UnmarshalText(text) == nil && back == merged, "%s is read back as %v", text, back)
	}
	must.Match(t, 0, new(Buckets).ValueAtQuantile(0.99, 0), "of nothing it")
}

func TestWrongBucketsAreRefused(t *testing.T) {
	for _, text := range []string{"80:1", "-1:1", "1", "1:", "1:x", "1:5000000000"} {
		must.True(t, new(Buckets).UnmarshalText([]byte(text)) != nil, "%q is taken", text)
	}
}

func TestACountStopsAtItsHighestValue(t *testing.T) {
	var b Buckets
	b.record(time.Millisecond, 1<<40)
	o := b
	b.add(&o)
	must.Match(t, 1<<32-1, b[bucketOf(time.Millisecond)], "it")
}
