package watch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

func TestWhatWaitsForAGroupIsCountedByOneProcess(t *testing.T) {
	type view struct {
		owned     bool
		elsewhere int64
		next      int64
	}
	for _, tc := range []struct {
		name        string
		first, next view // of the first process, and another one
		want        [2]int64
	}{
		{"no reader has it yet: the first tells", view{elsewhere: -1}, view{elsewhere: -1}, [2]int64{100, 0}},
		{"a reader of the other has it", view{elsewhere: 30}, view{owned: true, next: 30, elsewhere: -1}, [2]int64{0, 70}},
		{"a reader of the first has it", view{owned: true, next: 30, elsewhere: -1}, view{elsewhere: 30}, [2]int64{70, 0}},
		{"the first has taken it over, and not begun", view{owned: true, next: 30, elsewhere: 80}, view{next: 80, elsewhere: 80}, [2]int64{20, 0}},
	} {
		for i, v := range []view{tc.first, tc.next} {
			at := kafka.NewPositions(kafka.NewLayout([]result.Topic{{Name: "t", Partitions: 1}}), []string{"g"}, []int64{0}, []int64{100})
			at.Later = i > 0
			of := at.Groups[0].At(0)
			of.Next.Store(v.next)
			of.Elsewhere.Store(v.elsewhere)
			if v.owned {
				of.Owner.Store(1)
			}
			must.Match(t, tc.want[i], NewConsumerLag(nil, at).Take().ConsumerLag, "%s: records that process %d tells of", tc.name, i)
		}
	}
}

func TestWhatIsDeletedAndMarkersOfTransactionsDoNotWait(t *testing.T) {
	at := kafka.NewPositions(kafka.NewLayout([]result.Topic{{Name: "t", Partitions: 1}}), []string{""}, []int64{0}, []int64{100})
	of := at.Groups[0].At(0)
	of.Owner.Store(1)
	lag := NewConsumerLag(nil, at)
	var sum int64
	want := func(n int64, when string) {
		t.Helper()
		w := lag.Take()
		sum += w.ConsumerLag
		must.True(t, sum == n, "%s: consumer lag %d, want %d", when, sum, n)
	}
	want(100, "nothing is read")
	of.Read(30, 40) // every fourth offset is a marker
	want(45, "60 offsets are left")
	at.At(0).Start.Store(80)
	want(15, "40 of them are deleted")
	at.At(0).Start.Store(100)
	want(0, "all are deleted")
}

// A reader of another process has read up to offset 10 of 100, and then retention deletes.
func TestWhatIsDeletedIsNotReadElsewhere(t *testing.T) {
	fake := must.Have(kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t")))(t)
	defer fake.Close()
	c := must.Have(kafka.Connect(t.Context(), kafka.Access{Bootstrap: fake.ListenAddrs()}))(t)
	defer c.Close()
	client := must.Have(c.Client())(t)
	defer client.Close()
	for range 100 {
		must.Do(t, client.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Value: []byte("x")}).FirstErr())
	}
	admin := kadm.NewClient(client)
	must.Have(admin.CommitOffsets(t.Context(), "g", kadm.OffsetsFromRecords(kgo.Record{Topic: "t", Offset: 9})))(t)
	at := kafka.NewPositions(kafka.NewLayout([]result.Topic{{Name: "t", Partitions: 1}}), []string{"g"}, []int64{10}, []int64{100})
	at.SetEndOffsets([]int64{100})
	lag := NewConsumerLag(c, at)
	waits := int64(0)
	for _, tc := range []struct {
		upTo, waits int64
		atEnd       bool
	}{{0, 90, false}, {50, 50, false}, {80, 20, false}, {100, 0, true}} {
		var to kadm.Offsets
		to.Add(kadm.Offset{Topic: "t", At: tc.upTo})
		must.Have(admin.DeleteRecords(t.Context(), to))(t)
		lag.ask(t.Context())
		w := lag.Take()
		if waits += w.ConsumerLag; waits != tc.waits || at.SumElsewhere() != 10 || at.AtEndOffsets() != tc.atEnd {
			t.Errorf("deleted up to %d: %d wait, want %d; %d were read elsewhere, want 10; at the end: %v", tc.upTo, waits, tc.waits, at.SumElsewhere(), at.AtEndOffsets())
		}
	}
	at.Groups[0].At(0).Owner.Store(1) // a reader of this process passes over what is deleted, and counts it
	must.True(t, !at.AtEndOffsets(), "reading is over before its reader has seen that records are deleted")
}

func TestPartitionsThatAreAddedAreNamedInTheOrderOfTheirNumbers(t *testing.T) {
	l := kafka.NewLayout([]result.Topic{{Name: "a", Partitions: 1}, {Name: "b", Partitions: 1}})
	lag := NewConsumerLag(nil, kafka.NewPositions(l, []string{""}, []int64{0, 0}, []int64{0, 0}))
	lag.now = func() time.Duration { return 0 }
	l.Number("b", 1)
	l.Number("a", 1)
	e := lag.Take().Events
	must.True(t, len(e) == 1 && e[0].Text == "2 partitions were added, which kt reads from the start: b-1, a-1", "%+v", e)
	if e := lag.Take().Events; len(e) > 0 {
		t.Errorf("told twice: %+v", e)
	}
}

func TestEndsThatWereLearnedLongAgoTellNothingOfNow(t *testing.T) {
	lag := NewConsumerLag(nil, kafka.NewPositions(kafka.NewLayout([]result.Topic{{Name: "t", Partitions: 1}}), []string{""}, []int64{0}, []int64{100}))
	for _, tc := range []struct {
		now, asked time.Duration
		unknown    int64
	}{{0, 0, 0}, {time.Second, 0, 0}, {4 * time.Second, 0, 1}, {4 * time.Second, 3 * time.Second, 0}} {
		lag.now = func() time.Duration { return tc.now }
		lag.asked.Store(int64(tc.asked))
		must.Match(t, tc.unknown, lag.Take().LagUnknown, "asked at %v, after %v the lag is not known to", tc.asked, tc.now)
	}
}

// filled returns the events of a directory of 1,000 bytes of which so many are in use every 5 s, and the
// rooms in the end.
func filled(l plan.Load, used ...int64) ([]stats.Event, *rooms) {
	r := newRooms(l)
	var events []stats.Event
	for i, n := range used {
		at := time.Duration(i) * 5 * time.Second
		switch n {
		case gone:
			events = append(events, r.silent(2, at)...)
		case broken:
			events = append(events, r.see(2, "/d", usage{at: at, total: -1, usable: -1, failed: true})...)
		default:
			events = append(events, r.see(2, "/d", usage{at: at, total: 1000, usable: 1000 - n})...)
		}
	}
	return events, &r
}

const gone, broken = -1, -2

func kinds(events []stats.Event) []stats.EventKind {
	var all []stats.EventKind
	for _, e := range events {
		all = append(all, e.Kind)
	}
	return all
}

func TestALogDirectoryIsForecastAndEndsTheLoad(t *testing.T) {
	const forecast, full, failed = stats.LogDirForecast, stats.LogDirFull, stats.LogDirFailed
	minute := plan.Duration(time.Minute)
	for _, tc := range []struct {
		name string
		load plan.Load
		used []int64
		want []stats.EventKind
		over bool
	}{
		{"it ends at the limit", plan.Load{StopAtDisk: 0.9}, []int64{100, 300, 500, 700, 900, 950}, []stats.EventKind{forecast, forecast, full}, true},
		{"it does not grow", plan.Load{StopAtDisk: 0.9}, []int64{500, 500, 500, 500}, nil, false},
		{"it has room for the load", plan.Load{StopAtDisk: 0.9, Duration: minute}, []int64{100, 110, 120, 130}, nil, false},
		{"it is too far ahead", plan.Load{StopAtDisk: 0.9}, slices.Concat(repeat(100, 50), []int64{101}), nil, false},
		{"it was beyond the limit before", plan.Load{StopAtDisk: 0.9}, []int64{940, 940, 945}, []stats.EventKind{forecast, forecast}, false},
		{"and half of the rest is used", plan.Load{StopAtDisk: 0.9}, []int64{940, 940, 970}, []stats.EventKind{forecast, full}, true},
		{"never", plan.Load{}, []int64{500, 900, 1000, 1000, 1000}, []stats.EventKind{full}, false},
		{"a failed disk", plan.Load{}, []int64{500, 500, broken, broken}, []stats.EventKind{failed}, false},
		{"until it is full, and a minute more", plan.Load{UntilFull: true}, slices.Concat([]int64{500}, repeat(1000, 13)), []stats.EventKind{full}, true},
		{"and not sooner", plan.Load{UntilFull: true}, slices.Concat([]int64{500}, repeat(1000, 12)), []stats.EventKind{full}, false},
		{"until it is full, for a given time", plan.Load{UntilFull: true, Duration: 10 * minute}, slices.Concat([]int64{500}, repeat(1000, 13)), []stats.EventKind{full}, false},
		{"a broker that goes when it is full", plan.Load{UntilFull: true, Duration: 10 * minute}, []int64{400, 600, 800, gone, gone, gone}, []stats.EventKind{forecast, failed}, false},
		{"a broker that is only away", plan.Load{StopAtDisk: 0.9, Duration: 10 * minute}, []int64{400, 400, gone, gone}, nil, false},
	} {
		events, r := filled(tc.load, tc.used...)
		end := time.Duration(len(tc.used)-1) * 5 * time.Second
		if got := kinds(events); !slices.Equal(got, tc.want) || r.over(end) != tc.over {
			t.Errorf("%s: %v, over %t, want %v and %t", tc.name, events, r.over(end), tc.want, tc.over)
		}
	}
}

func repeat(n int64, times int) []int64 { return slices.Repeat([]int64{n}, times) }

func TestAForecastSaysWhen(t *testing.T) {
	r := newRooms(plan.Load{})
	const total = int64(1e12)
	var told []stats.Event
	for i := range int64(3) { // 1 % in 114 s
		told = append(told, r.see(2, "/d", usage{at: time.Duration(i) * 57 * time.Second, total: total, usable: total - i*total/200})...)
	}
	must.True(t, len(told) == 1 && told[0].Broker == 2 && strings.HasSuffix(told[0].Text, "log directory /d of broker 2 full in 3 h 8 min"),
		"%v, want 99 %% of 190 minutes", told)
}

func TestDirectoriesAreLookedAtMoreOftenTheFasterTheyFill(t *testing.T) {
	for name, tc := range map[string]struct {
		used []int64
		want time.Duration
	}{
		"at first":   {[]int64{100, 200}, logDirOften},
		"slowly":     {[]int64{100, 101, 102}, logDirRarely},
		"not at all": {[]int64{100, 100, 100}, logDirRarely},
		"fast":       {[]int64{100, 200, 300}, 3750 * time.Millisecond}, // 30 s are left
		"very fast":  {[]int64{100, 500, 880}, logDirMost},
	} {
		_, r := filled(plan.Load{StopAtDisk: 0.9}, tc.used...)
		must.Match(t, tc.want, r.wait(logDirRarely).Round(time.Millisecond), "%s", name)
	}
}

func TestForecastsOfALongLoadAreBounded(t *testing.T) {
	r := newRooms(plan.Load{})
	events := 0
	for i := range int64(100_000) {
		for b := range int32(3) {
			events += len(r.see(b, "/d", usage{at: time.Duration(i) * logDirRarely, total: 1e9, usable: max(0, 1e9-i*1e4)}))
		}
	}
	for key, d := range r.dirs {
		must.True(t, len(d.seen) <= forecastOver && cap(d.seen) <= 4*forecastOver,
			"%s keeps %d readings in the memory of %d", fmt.Sprint(key), len(d.seen), cap(d.seen))
	}
	must.True(t, events != 0 && events <= 3*25, "%d events of three directories", events)
}
