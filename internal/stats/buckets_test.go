package stats

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

func TestBucketsFollowEachOtherWithoutAGap(t *testing.T) {
	last := time.Duration(0)
	for i := range bucketCount - 1 {
		end := bucketEnd(i)
		if bucketOf(last) != i || bucketOf(end-1) != i || bucketOf(end) != i+1 {
			t.Fatalf("range %d from %v to %v: its ends are in %d, %d and %d", i, last, end, bucketOf(last), bucketOf(end-1), bucketOf(end))
		}
		if i >= 4 && float64(end) > 1.25*float64(last) {
			t.Errorf("range %d from %v to %v is too long", i, last, end)
		}
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
		if merged != one {
			t.Fatal("parts do not add up")
		}
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
		if err != nil || back.UnmarshalText(text) != nil || back != merged {
			t.Fatalf("%s is read back as %v", text, back)
		}
	}
	must.Match(t, 0, new(Buckets).ValueAtQuantile(0.99, 0), "of nothing it")
}

func TestWrongBucketsAreRefused(t *testing.T) {
	for _, text := range []string{"80:1", "-1:1", "1", "1:", "1:x", "1:5000000000"} {
		if new(Buckets).UnmarshalText([]byte(text)) == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestACountStopsAtItsHighestValue(t *testing.T) {
	var b Buckets
	b.record(time.Millisecond, 1<<40)
	o := b
	b.add(&o)
	must.Match(t, 1<<32-1, b[bucketOf(time.Millisecond)], "it")
}
