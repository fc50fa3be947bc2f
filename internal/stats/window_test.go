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

// randomWindow is a window with many of its fields empty.
func randomWindow(rng *rand.Rand) (w Window) {
	number := func() int64 { return rng.Int64N(1e6) * rng.Int64N(2) }
	if rng.IntN(8) == 0 {
		return w
	}
	fill(reflect.ValueOf(&w).Elem(), number)
	events := w.Events
	for range rng.IntN(2) * rng.IntN(2*MostOfKind) {
		events = append(events, Event{At: time.Duration(number()), Kind: FirstError, Broker: rng.Int32N(1000)})
	}
	w.Events = mergeEvents(nil, events, &w.EventsLeftOut)
	if w.Offered == 0 { // a window has no times of what it does not count
		w.FirstDue, w.LastSent = 0, 0
	}
	if w.Offered+w.Unsent == 0 {
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

// filled is a window with a number of its own in each field, from one on.
func filled(from int64) (w Window) {
	fill(reflect.ValueOf(&w).Elem(), counter(from))
	return w
}

func counter(n int64) func() int64 {
	return func() int64 { n++; return n }
}

// fill puts numbers into every field under v. Of maps and slices it makes one entry.
func fill(v reflect.Value, number func() int64) {
	switch is := v.Addr().Interface().(type) {
	case *Histogram:
		is.RecordN(time.Duration(number())*time.Millisecond, number())
		is.RecordNever(number())
		return
	case *Gap:
		if length := number() % 5; length > 0 {
			*is = Gap{From: time.Duration(number() % 5), Length: time.Duration(length)}
		}
		return
	}
	switch v.Kind() {
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(number())
	case reflect.Float64:
		v.SetFloat(float64(number()))
	case reflect.String:
		v.SetString(strconv.FormatInt(number()%3, 10))
	case reflect.Uint32:
		v.SetUint(uint64(number()))
	case reflect.Array:
		fill(v.Index(v.Len()/2), number)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), number)
	case reflect.Bool:
		v.SetBool(number() > 0)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), number)
		}
	case reflect.Map:
		key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, func() int64 { return number() % 3 })
		fill(elem, number)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, elem)
	default:
		panic(fmt.Sprintf("this test does not know %v: teach it", v.Type()))
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
		diff := sameWindow(Merge(Merge(a, b), c), Merge(a, Merge(b, c)))
		must.Hold(t, diff == "", "seed %d: (a+b)+c is not a+(b+c):\n%s", seed, diff)
		diff = sameWindow(Merge(a, b), Merge(b, a))
		must.Hold(t, diff == "", "seed %d: a+b is not b+a:\n%s", seed, diff)
		diff = sameWindow(Merge(a, Window{}), a)
		must.Hold(t, diff == "", "seed %d: a+0 is not a:\n%s", seed, diff)
		diff = sameWindow(Merge(Window{}, a), a)
		must.Hold(t, diff == "", "seed %d: 0+a is not a:\n%s", seed, diff)
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
		diff := sameWindow(a, wasA) + sameWindow(b, wasB)
		must.Hold(t, diff == "", "seed %d: an input has changed:\n%s", seed, diff)
	}
}

// leastOf and mostOf are the fields that Merge does not add up.
const (
	leastOf = "Window.Start Window.FirstDue Read.FirstRead"
	mostOf  = "Window.End Window.LastDue Window.LastSent Window.LastAck Window.Oldest Window.OpSpan Partition.ServiceMax Read.LastRead Read.JoinTime Read.RebalanceMax Share.Held Share.Locks"
)

// checkMerged fails for every field under got that is not what a and b make.
func checkMerged(t *testing.T, name string, a, b, got reflect.Value) {
	t.Helper()
	if got.Type() == reflect.TypeFor[Histogram]() {
		x, y, z := a.Interface().(Histogram), b.Interface().(Histogram), got.Interface().(Histogram)
		must.Match(t, []int64{x.Count() + y.Count(), x.sum + y.sum, x.unserved + y.unserved}, []int64{z.Count(), z.sum, z.unserved}, "Merge of %s: %d values", name, z.Count())
		return
	}
	if got.Type() == reflect.TypeFor[Gap]() {
		x, y := a.Interface().(Gap), b.Interface().(Gap)
		want := x.Longer(y)
		must.True(t, got.Interface() == want, "Merge of %s = %v, want the longer of %v and %v", name, got, x, y)
		return
	}
	switch got.Kind() {
	case reflect.Slice:
		must.Match(t, a.Len()+b.Len(), got.Len(), "Merge of %s has entries, want %d and %d", name, a.Len(), b.Len())
	case reflect.Int64:
		want := a.Int() + b.Int()
		switch {
		case slices.Contains(strings.Fields(leastOf), name):
			want = min(a.Int(), b.Int())
		case slices.Contains(strings.Fields(mostOf), name):
			want = max(a.Int(), b.Int())
		}
		must.Match(t, want, got.Int(), "Merge of %s = from %d and %d", name, a.Int(), b.Int())
	case reflect.Bool:
		must.True(t, got.Bool(), "Merge of %s = false of two true ones", name)
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
	a, b := filled(1000), filled(4000) // of the same keys
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
			fill(reflect.ValueOf(&w).Elem().FieldByIndex(field.Index), counter(1000))
			must.True(t, !w.IsZero(), "IsZero")
			must.Match(t, "", sameWindow(Merge(Window{}, w), w), "0+w is not w")
			isFrame := name == "Start" || name == "End" || name == "Warmup" || name == "LastDue" || name == "LastSent" || name == "LastAck" || name == "LastRead" || name == "Oldest" || name == "OpSpan" || name == "Held" || name == "Locks"
			must.Match(t, isFrame, w.Empty(), "Empty()")
		})
	}
}

func TestAWindowIsReadBackFromJSONAsItWas(t *testing.T) {
	for seed := range uint64(10) {
		w := randomWindow(rand.New(rand.NewPCG(seed, 4)))
		diff := sameWindow(w, copyOf(t, w))
		must.Hold(t, diff == "", "seed %d (-was +is):\n%s", seed, diff)
	}
	w := filled(1000)
	must.Match(t, "", sameWindow(w, copyOf(t, w)), "every field set (-was +is)")
}

func TestMergedPercentilesAreThoseOfAllValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	var fast, slow, all Window
	for range 10_000 {
		short, long := time.Duration(rng.ExpFloat64()*1e6), time.Duration(rng.ExpFloat64()*1e9)
		fast.Response.Record(short)
		slow.Response.Record(long)
		all.Response.Record(short)
		all.Response.Record(long)
	}
	must.Match(t, "", sameWindow(Merge(fast, slow), all), "two hosts merged have other percentiles than all of their values")
}

func TestRatesAreOverTheLengthOfTheWindow(t *testing.T) {
	w := Window{Start: time.Second, End: 3 * time.Second, Acknowledged: 10, Bytes: 1000}
	r, b := w.RecordsPerSecond(), w.BytesPerSecond()
	must.True(t, r == 5 && b == 500, "%v records/s and %v bytes/s, want 5 and 500", r, b)
	w.End = w.Start
	must.True(t, w.RecordsPerSecond() == 0, "without a length, %v records/s", w.RecordsPerSecond())
}

func TestWhatIsShiftedMergesAsItDidBefore(t *testing.T) {
	for seed := range uint64(25) {
		rng := rand.New(rand.NewPCG(seed, 9))
		a, b := randomWindow(rng), randomWindow(rng)
		d := time.Duration(rng.Int64N(1e9))
		want := Merge(a, b)
		want.Shift(d)
		x, y := copyOf(t, a), copyOf(t, b)
		x.Shift(d)
		y.Shift(d)
		diff := sameWindow(Merge(x, y), want)
		must.Hold(t, diff == "", "seed %d: a and b shifted by %v are not a+b shifted:\n%s", seed, d, diff)
		x.Shift(-d)
		diff = sameWindow(x, a)
		must.Hold(t, diff == "", "seed %d: shifted there and back:\n%s", seed, diff)
	}
}

func TestShiftMovesEveryTimeAndNoLength(t *testing.T) {
	w, with := filled(1000), int32(0)
	for id, p := range w.Partitions {
		p.Outage, with = Gap{From: 3, Length: 2}, id
		w.Partitions[id] = p
	}
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
		must.Match(t, map[bool]time.Duration{true: d}[isTime], time.Duration(is-was), "%s is moved by", name)
	}
	for name, by := range map[string]time.Duration{
		"the outage":               moved.Outage.From - w.Outage.From,
		"the outage of partitions": moved.Partitions[with].Outage.From - w.Partitions[with].Outage.From,
		"events":                   moved.Events[0].At - w.Events[0].At,
	} {
		must.Match(t, d, by, "%s is moved by", name)
	}
	var nothing Window
	nothing.Shift(d)
	must.True(t, nothing.IsZero(), "a window of nothing was moved to %v", nothing.Start)
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
