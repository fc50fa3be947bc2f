package watch

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
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
		if sum += w.ConsumerLag; sum != n {
			t.Errorf("%s: consumer lag %d, want %d", when, sum, n)
		}
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
	if at.AtEndOffsets() {
		t.Error("reading is over before its reader has seen that records are deleted")
	}
}

func TestPartitionsThatAreAddedAreNamedInTheOrderOfTheirNumbers(t *testing.T) {
	l := kafka.NewLayout([]result.Topic{{Name: "a", Partitions: 1}, {Name: "b", Partitions: 1}})
	lag := NewConsumerLag(nil, kafka.NewPositions(l, []string{""}, []int64{0, 0}, []int64{0, 0}))
	lag.now = func() time.Duration { return 0 }
	l.Number("b", 1)
	l.Number("a", 1)
	if e := lag.Take().Events; len(e) != 1 || e[0].Text != "2 partitions were added, which kt reads from the start: b-1, a-1" {
		t.Errorf("%+v", e)
	}
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
