package stats

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kt-bench/kt/internal/must"
)

// sameWindow is the difference of two windows; "" when there is none.
func sameWindow(a, b Window) string {
	return cmp.Diff(a, b, sameHistogram, cmpopts.EquateEmpty())
}

func randomHistogram(rng *rand.Rand) (h Histogram) {
	for range rng.IntN(4) {
		h.RecordN(time.Duration(rng.Int64N(int64(HighestTrackableValue)>>rng.IntN(30))), 1+rng.Int64N(1000))
	}
	h.RecordN(-1, rng.Int64N(2))
	h.RecordNever(rng.Int64N(3) * rng.Int64N(100))
	return h
}

// randomWindow is a window with many of its fields empty.
func randomWindow(rng *rand.Rand) Window {
	var w Window
	some := func() int64 { return rng.Int64N(1e6) * rng.Int64N(2) }
	span := func() time.Duration { return time.Duration(some()) }
	if rng.IntN(8) == 0 {
		return w
	}
	w.Start = span()
	w.End = w.Start + span()
	w.Warmup = rng.IntN(2) == 0
	if w.Offered = some(); w.Offered > 0 {
		w.FirstDue = span()
	}
	w.Acknowledged, w.Failed, w.Unknown, w.Unsent, w.Bytes = some(), some(), some(), some(), some()
	w.LastDue, w.LastSent, w.LastAck = span(), span(), span()
	w.ShardTime, w.BufferFull, w.InFlightUse, w.ConnTime, w.Transactions = span(), span(), span(), span(), some()
	w.SendDelay, w.OwnSendDelay, w.Service, w.Response = randomHistogram(rng), randomHistogram(rng), randomHistogram(rng), randomHistogram(rng)
	for range rng.IntN(3) {
		if w.Errors == nil {
			w.Errors = make(map[string]int64)
		}
		w.Errors[[]string{"NOT_LEADER_OR_FOLLOWER", "REQUEST_TIMED_OUT", "client:BUFFER_EXHAUSTED"}[rng.IntN(3)]] = 1 + some()
	}
	for range rng.IntN(4) {
		if w.Partitions == nil {
			w.Partitions = make(map[int32]Partition)
		}
		w.Partitions[rng.Int32N(5)] = Partition{Records: some(), Bytes: some(), ServiceSum: span(), ServiceMax: span(), Outage: randomGap(rng), Consumed: some(), ConsumedBytes: some(), ConsumerLag: some()}
	}
	for range rng.IntN(3) {
		if w.Brokers == nil {
			w.Brokers = make(map[int32]Broker)
		}
		w.Brokers[rng.Int32N(3)] = Broker{Traffic: randomTraffic(rng), Fetch: randomTraffic(rng)}
	}
	w.Outage, w.Oldest, w.OpSpan = randomGap(rng), span(), span()
	if w.Consumed = some(); w.Consumed > 0 {
		w.FirstRead = span()
	}
	w.LastRead, w.ConsumedBytes, w.ConsumerLag, w.EndToEnd = span(), some(), some()-500_000, randomHistogram(rng)
	w.ReadTime, w.ReadWait, w.ReadHeld, w.JoinTime = span(), span(), span(), span()
	w.Fetches, w.Rebalances, w.Commits = some(), some(), some()
	w.RebalanceTime, w.RebalanceMax, w.CommitTime = span(), span(), span()
	if rng.IntN(2) == 0 {
		w.FetchErrors = map[string]int64{"NOT_LEADER_OR_FOLLOWER": 1 + some()}
	}
	for range rng.IntN(3) {
		w.Events = mergeEvents(w.Events, []Event{{
			At: span(), Kind: []EventKind{LeaderMoved, BrokerGone}[rng.IntN(2)], Broker: rng.Int32N(3),
			Partitions: []int32{rng.Int32N(3)}, Count: 1,
		}}, &w.EventsLeftOut)
	}
	var many []Event
	for range rng.IntN(2) * rng.IntN(2*MostOfKind) {
		many = append(many, Event{At: span(), Kind: FirstError, Broker: rng.Int32N(1000)})
	}
	w.Events = mergeEvents(w.Events, many, &w.EventsLeftOut)
	return w
}

func randomGap(rng *rand.Rand) Gap {
	if rng.IntN(2) == 0 {
		return Gap{}
	}
	return Gap{From: time.Duration(rng.Int64N(3)), Length: time.Duration(1 + rng.Int64N(3))}
}

func randomTraffic(rng *rand.Rand) Traffic {
	some := func() int64 { return rng.Int64N(1e6) * rng.Int64N(2) }
	return Traffic{
		Requests: some(), Failed: some(), Batches: some(), Records: some(), Bytes: some(), WireBytes: some(),
		Throttle: time.Duration(some()), Latency: randomHistogram(rng),
	}
}

// copyOf is a window that shares no memory with w.
func copyOf(t testing.TB, w Window) Window {
	t.Helper()
	b := must.Have(json.Marshal(w))(t)
	var c Window
	must.Do(t, json.Unmarshal(b, &c))
	return c
}

// anyWindow is a random window, recorded or read.
func anyWindow(t testing.TB, rng *rand.Rand) Window {
	t.Helper()
	w := randomWindow(rng)
	if rng.IntN(2) == 0 {
		return copyOf(t, w)
	}
	return w
}

func TestMergeObeysItsLaws(t *testing.T) {
	for seed := range uint64(25) {
		rng := rand.New(rand.NewPCG(seed, 1))
		a, b, c := anyWindow(t, rng), anyWindow(t, rng), anyWindow(t, rng)
		if diff := sameWindow(Merge(Merge(a, b), c), Merge(a, Merge(b, c))); diff != "" {
			t.Fatalf("seed %d: (a+b)+c is not a+(b+c):\n%s", seed, diff)
		}
		if diff := sameWindow(Merge(a, b), Merge(b, a)); diff != "" {
			t.Fatalf("seed %d: a+b is not b+a:\n%s", seed, diff)
		}
		if diff := sameWindow(Merge(a, Window{}), a); diff != "" {
			t.Fatalf("seed %d: a+0 is not a:\n%s", seed, diff)
		}
		if diff := sameWindow(Merge(Window{}, a), a); diff != "" {
			t.Fatalf("seed %d: 0+a is not a:\n%s", seed, diff)
		}
	}
}

func TestAddIsMergeInPlace(t *testing.T) {
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 2))
		a, b := anyWindow(t, rng), anyWindow(t, rng)
		want := Merge(a, b)
		a.Add(&b)
		if diff := sameWindow(a, want); diff != "" {
			t.Fatalf("seed %d: Add differs from Merge:\n%s", seed, diff)
		}
	}
}

func TestMergeLeavesItsInputsAloneAndSharesNothingWithThem(t *testing.T) {
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 3))
		a, b := anyWindow(t, rng), anyWindow(t, rng)
		wasA, wasB := copyOf(t, a), copyOf(t, b)
		for _, m := range []Window{Merge(a, b), Merge(a, Window{}), Merge(Window{}, b)} {
			m.Add(&a)
			m.Add(&b)
			for _, h := range []*Histogram{&m.SendDelay, &m.OwnSendDelay, &m.Service, &m.Response, &m.EndToEnd} {
				h.Record(time.Second)
			}
			for code := range m.Errors {
				m.Errors[code]++
			}
			for id, p := range m.Partitions {
				p.Records++
				m.Partitions[id] = p
			}
			for id, q := range m.Brokers {
				q.Latency.Record(time.Second)
				m.Brokers[id] = q
			}
		}
		if diff := sameWindow(a, wasA) + sameWindow(b, wasB); diff != "" {
			t.Fatalf("seed %d: an input has changed:\n%s", seed, diff)
		}
	}
}

// mergedBy tells how Merge combines the fields that it does not add up.
var mergedBy = map[string]func(a, b int64) int64{
	"Window.Start":         func(a, b int64) int64 { return min(a, b) },
	"Window.End":           func(a, b int64) int64 { return max(a, b) },
	"Window.FirstDue":      func(a, b int64) int64 { return min(a, b) },
	"Window.LastDue":       func(a, b int64) int64 { return max(a, b) },
	"Window.LastSent":      func(a, b int64) int64 { return max(a, b) },
	"Window.LastAck":       func(a, b int64) int64 { return max(a, b) },
	"Window.Oldest":        func(a, b int64) int64 { return max(a, b) },
	"Window.OpSpan":        func(a, b int64) int64 { return max(a, b) },
	"Partition.ServiceMax": func(a, b int64) int64 { return max(a, b) },
	"Read.FirstRead":       func(a, b int64) int64 { return min(a, b) },
	"Read.LastRead":        func(a, b int64) int64 { return max(a, b) },
	"Read.JoinTime":        func(a, b int64) int64 { return max(a, b) },
	"Read.RebalanceMax":    func(a, b int64) int64 { return max(a, b) },
}

// fill gives every field under v a value of its own, from *next on.
func fill(t *testing.T, v reflect.Value, next *int64) {
	t.Helper()
	*next++
	if h, ok := v.Addr().Interface().(*Histogram); ok {
		h.RecordN(time.Duration(*next)*time.Millisecond, *next)
		h.RecordNever(*next)
		return
	}
	switch v.Kind() {
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(*next)
	case reflect.Float64:
		v.SetFloat(float64(*next))
	case reflect.String:
		v.SetString(strconv.FormatInt(*next, 10))
	case reflect.Uint32:
		v.SetUint(uint64(*next))
	case reflect.Array:
		fill(t, v.Index(v.Len()/2), next)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0), next)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), next)
		}
	case reflect.Map:
		key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, elem, next)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, elem)
	default:
		t.Fatalf("this test does not know %v: teach it", v.Type())
	}
}

// checkMerged fails for every field under got that is not what a and b make.
func checkMerged(t *testing.T, name string, a, b, got reflect.Value) {
	t.Helper()
	if got.Type() == reflect.TypeFor[Histogram]() {
		x, y, z := a.Interface().(Histogram), b.Interface().(Histogram), got.Interface().(Histogram)
		if z.Count() != x.Count()+y.Count() || z.sum != x.sum+y.sum || z.unserved != x.unserved+y.unserved {
			t.Errorf("Merge of %s: %d values, want %d and %d", name, z.Count(), x.Count(), y.Count())
		}
		return
	}
	if got.Type() == reflect.TypeFor[Gap]() {
		x, y := a.Interface().(Gap), b.Interface().(Gap)
		if want := x.Longer(y); got.Interface() != want {
			t.Errorf("Merge of %s = %v, want the longer of %v and %v", name, got, x, y)
		}
		return
	}
	switch got.Kind() {
	case reflect.Slice:
		if got.Len() != a.Len()+b.Len() {
			t.Errorf("Merge of %s has %d entries, want %d and %d", name, got.Len(), a.Len(), b.Len())
		}
	case reflect.Int64:
		want := a.Int() + b.Int()
		if f := mergedBy[name]; f != nil {
			want = f(a.Int(), b.Int())
		}
		if got.Int() != want {
			t.Errorf("Merge of %s = %d, want %d from %d and %d", name, got.Int(), want, a.Int(), b.Int())
		}
	case reflect.Bool:
		if !got.Bool() {
			t.Errorf("Merge of %s = false of two true ones", name)
		}
	case reflect.Struct:
		for i := range got.NumField() {
			checkMerged(t, got.Type().Name()+"."+got.Type().Field(i).Name, a.Field(i), b.Field(i), got.Field(i))
		}
	case reflect.Map:
		if got.Len() != 1 {
			t.Errorf("Merge of %s has %d entries, want 1", name, got.Len())
			return
		}
		key := a.MapKeys()[0]
		checkMerged(t, name, a.MapIndex(key), b.MapIndex(key), got.MapIndex(key))
	}
}

func TestMergeForgetsNoField(t *testing.T) {
	var a, b Window
	next := int64(1000)
	fill(t, reflect.ValueOf(&a).Elem(), &next)
	fill(t, reflect.ValueOf(&b).Elem(), &next)
	got := Merge(a, b)
	checkMerged(t, "Window", reflect.ValueOf(a), reflect.ValueOf(b), reflect.ValueOf(got))
}

// A window that holds one thing only is not zero: Merge must not drop it, nor the
// engine take it for empty.
func TestNoFieldIsTakenForNothing(t *testing.T) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Window]()) {
		name := field.Name
		if name == "FirstDue" || name == "FirstRead" { // mean nothing without Offered and Consumed
			continue
		}
		t.Run(name, func(t *testing.T) {
			var w Window
			next := int64(1000)
			fill(t, reflect.ValueOf(&w).Elem().FieldByIndex(field.Index), &next)
			if w.IsZero() {
				t.Error("IsZero")
			}
			if diff := sameWindow(Merge(Window{}, w), w); diff != "" {
				t.Errorf("0+w is not w:\n%s", diff)
			}
			isFrame := name == "Start" || name == "End" || name == "Warmup" || name == "LastDue" || name == "LastSent" || name == "LastAck" || name == "LastRead" || name == "Oldest" || name == "OpSpan"
			if w.Empty() != isFrame {
				t.Errorf("Empty() = %v, want %v", w.Empty(), isFrame)
			}
		})
	}
}

func TestOutOfRangeValuesAloneAreSomething(t *testing.T) {
	w := Window{SendDelay: histogramOf(-1)}
	if w.IsZero() || w.Empty() {
		t.Errorf("IsZero %v, Empty %v; want false", w.IsZero(), w.Empty())
	}
}

func TestAWindowIsReadBackFromJSONAsItWas(t *testing.T) {
	for seed := range uint64(10) {
		w := randomWindow(rand.New(rand.NewPCG(seed, 4)))
		if diff := sameWindow(w, copyOf(t, w)); diff != "" {
			t.Fatalf("seed %d (-was +is):\n%s", seed, diff)
		}
	}
	var w Window
	next := int64(1000)
	fill(t, reflect.ValueOf(&w).Elem(), &next)
	if diff := sameWindow(w, copyOf(t, w)); diff != "" {
		t.Errorf("every field set (-was +is):\n%s", diff)
	}
}

func TestMergedPercentilesAreThoseOfAllValuesAndAveragedOnesAreNot(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	var hosts [3]Window
	var all []time.Duration
	for i, host := range []struct {
		n    int
		slow float64 // the share of records that take about a second
	}{{100_000, 0}, {100_000, 0.001}, {10_000, 0.2}} {
		for range host.n {
			d := time.Duration((1 + rng.ExpFloat64()) * float64(time.Millisecond))
			if rng.Float64() < host.slow {
				d = time.Duration((1 + rng.ExpFloat64()/5) * float64(time.Second))
			}
			all = append(all, d)
			hosts[i].Response.Record(d)
		}
	}
	slices.Sort(all)
	merged := Merge(hosts[0], Merge(hosts[1], hosts[2]))
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
		if got, want := merged.Response.ValueAtQuantile(q), quantile(all, q); !near(got, want) {
			t.Errorf("merged ValueAtQuantile(%v) = %v, want %v", q, got, want)
		}
	}
	var average time.Duration
	for i := range hosts {
		average += hosts[i].Response.ValueAtQuantile(0.99) / time.Duration(len(hosts))
	}
	if want := quantile(all, 0.99); average > want/10 && average < want*10 {
		t.Errorf("the average of the p99s is %v and the p99 is %v: this test shows nothing", average, want)
	}
}

func TestRatesAreOverTheLengthOfTheWindow(t *testing.T) {
	for _, tc := range []struct {
		name           string
		w              Window
		records, bytes float64
	}{
		{"two seconds", Window{Start: time.Second, End: 3 * time.Second, Acknowledged: 10, Bytes: 1000}, 5, 500},
		{"no length", Window{Start: time.Second, End: time.Second, Acknowledged: 10, Bytes: 1000}, 0, 0},
		{"nothing", Window{}, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if r, b := tc.w.RecordsPerSecond(), tc.w.BytesPerSecond(); r != tc.records || b != tc.bytes {
				t.Errorf("%v records/s and %v bytes/s, want %v and %v", r, b, tc.records, tc.bytes)
			}
		})
	}
}

func TestIDsAreInOrder(t *testing.T) {
	w := Window{Partitions: map[int32]Partition{}, Brokers: map[int32]Broker{}}
	for _, id := range []int32{5, 1, 9, 0} {
		w.Partitions[id], w.Brokers[id] = Partition{Records: 1}, Broker{Traffic: Traffic{Requests: 1}}
	}
	want := []int32{0, 1, 5, 9}
	if p, b := w.PartitionIDs(), w.BrokerIDs(); !slices.Equal(p, want) || !slices.Equal(b, want) {
		t.Errorf("partitions %v, brokers %v; want %v", p, b, want)
	}
}

// tidy leaves out the times that a window has no business to tell of.
func tidy(w Window) Window {
	if w.Offered == 0 {
		w.FirstDue, w.LastSent = 0, 0
	}
	if w.Offered == 0 && w.Unsent == 0 {
		w.LastDue = 0
	}
	if w.Acknowledged == 0 {
		w.LastAck = 0
	}
	if w.Consumed == 0 {
		w.FirstRead, w.LastRead = 0, 0
	}
	return w
}

func TestWhatIsShiftedMergesAsItDidBefore(t *testing.T) {
	for seed := range uint64(25) {
		rng := rand.New(rand.NewPCG(seed, 9))
		a, b := tidy(randomWindow(rng)), tidy(randomWindow(rng))
		d := time.Duration(rng.Int64N(1e9))
		want := Merge(a, b)
		want.Shift(d)
		x, y := copyOf(t, a), copyOf(t, b)
		x.Shift(d)
		y.Shift(d)
		if diff := sameWindow(Merge(x, y), want); diff != "" {
			t.Fatalf("seed %d: a and b shifted by %v are not a+b shifted:\n%s", seed, d, diff)
		}
		x.Shift(-d)
		if diff := sameWindow(x, a); diff != "" {
			t.Fatalf("seed %d: shifted there and back:\n%s", seed, diff)
		}
	}
}

func TestShiftMovesEveryTimeAndNoLength(t *testing.T) {
	var w Window
	next := int64(1000)
	fill(t, reflect.ValueOf(&w).Elem(), &next)
	moved := copyOf(t, w)
	const d = time.Hour
	moved.Shift(d)
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Window]()) {
		if field.Type != reflect.TypeFor[time.Duration]() {
			continue
		}
		was, is := reflect.ValueOf(w).FieldByIndex(field.Index).Int(), reflect.ValueOf(moved).FieldByIndex(field.Index).Int()
		name := field.Name
		isTime := name == "Start" || name == "End" || strings.HasPrefix(name, "First") || strings.HasPrefix(name, "Last")
		if want := map[bool]time.Duration{true: d}[isTime]; time.Duration(is-was) != want {
			t.Errorf("%s is moved by %v, want %v", name, time.Duration(is-was), want)
		}
	}
	for name, by := range map[string]time.Duration{
		"the outage":               moved.Outage.From - w.Outage.From,
		"the outage of partitions": moved.Partitions[moved.PartitionIDs()[0]].Outage.From - w.Partitions[w.PartitionIDs()[0]].Outage.From,
		"events":                   moved.Events[0].At - w.Events[0].At,
	} {
		if by != d {
			t.Errorf("%s is moved by %v, want %v", name, by, d)
		}
	}
	var nothing Window
	nothing.Shift(d)
	if !nothing.IsZero() {
		t.Errorf("a window of nothing was moved to %v", nothing.Start)
	}
}

func BenchmarkMerge(b *testing.B) {
	for _, values := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("%d_values", values), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(6, 6))
			var w Window
			w.Offered = int64(values)
			for _, h := range []*Histogram{&w.SendDelay, &w.OwnSendDelay, &w.Service, &w.Response} {
				for range values {
					h.Record(time.Duration((1 + rng.ExpFloat64()) * float64(5*time.Millisecond)))
				}
			}
			w.Partitions = make(map[int32]Partition)
			for id := range int32(12) {
				w.Partitions[id] = Partition{Records: 1}
			}
			b.Run("new", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					Merge(w, w)
				}
			})
			b.Run("add", func(b *testing.B) {
				sum := Merge(w, w)
				b.ReportAllocs()
				for b.Loop() {
					sum.Add(&w)
				}
			})
		})
	}
}
