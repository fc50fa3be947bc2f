package result

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// readSecond is one second of a run that only reads, or the part of it that there was.
type readSecond struct {
	Read, Left  int64   // records: read, and waiting at its end
	First, Last float64 // when records came, in parts of the second; 0: at once, and to the end
	Wait        float64 // share of it in which the reader waited
	Fetching    float64 // share of it with a fetch at the broker
	Cores       float64
	Length      float64 // seconds; 0: one
	Warmup      bool
}

func readSeconds(readers int, seconds ...readSecond) *Fold {
	h := readHeader(plan.Consume, 0)
	h.Plan.Read.Consumers = readers
	f := NewFold(h)
	var at time.Duration
	var left int64
	for _, s := range seconds {
		if s.Length == 0 {
			s.Length = 1
		}
		if s.Last == 0 {
			s.Last = 1
		}
		length := time.Duration(s.Length * float64(time.Second))
		part := func(share float64) time.Duration { return time.Duration(share * float64(length)) }
		w := stats.Window{Start: at, End: at + length, Warmup: s.Warmup, Read: stats.Read{
			Consumed: s.Read, ConsumerLag: s.Left - left, ReadTime: time.Duration(readers) * length, ReadWait: time.Duration(readers) * part(s.Wait),
		}}
		if s.Read > 0 {
			w.FirstRead, w.LastRead = at+part(s.First), at+part(s.Last)
		}
		var b stats.Broker
		b.Fetch.Requests = 1
		b.Fetch.Latency.Record(time.Duration(readers) * part(s.Fetching))
		w.Brokers = map[int32]stats.Broker{1: b}
		left = s.Left
		at = w.End
		f.AddWindow(w)
		f.AddSample(host.Sample{At: at, Interval: length, Cores: 4, HostCores: 8, ProcessCPU: s.Cores, HostCPU: s.Cores})
	}
	return f
}

func TestAReplayIsNotTakenForReadingThatKeepsUp(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name     string
		In       []readSecond
		Want     verdict.Limit
		Evidence []string
	}](t, "reads") {
		for _, readers := range []int{1, 3} {
			v := readSeconds(readers, tc.In...).Verdict()
			must.Match(t, tc.Want, v.Limit, "%s, %d readers: bound by (%s)", tc.Name, readers, v.Evidence)
			must.Has(t, tc.Name, v.Evidence, tc.Evidence...)
		}
	}
}

func TestTheClientOfARunThatOnlyReadsIsThatOfTheTimeInWhichItReads(t *testing.T) {
	nothing := readSecond{Cores: 1}
	some := readSecond{Read: 500_000, Left: 1, Cores: 3}
	for _, tc := range []struct {
		name           string
		in             []readSecond
		cores, seconds float64
	}{
		{"joining and idle ends are left out", []readSecond{nothing, nothing, some, some, nothing}, 3, 6},
		{"a pause is not", []readSecond{some, nothing, some}, 7. / 3, 7},
		{"all counts when nothing is read", []readSecond{nothing, nothing}, 1, 2},
	} {
		c := readSeconds(1, tc.in...).Result().Client
		if diff := c.CPUCores - tc.cores; diff > 1e-9 || diff < -1e-9 || c.CPUSeconds != tc.seconds {
			t.Errorf("%s: %v cores over %v core-seconds, want %v and %v", tc.name, c.CPUCores, c.CPUSeconds, tc.cores, tc.seconds)
		}
	}
}

func TestAReplayDoesNotTellWhetherReadersKeepUp(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name string
		In   []readSecond
		Want *bool
	}](t, "reads") {
		must.Match(t, tc.Want, readSeconds(1, tc.In...).Result().ConsumerLag.KeptUp, "%s", tc.Name)
	}
	f := readSeconds(1, readSecond{Read: 1000, Left: 1000}, readSecond{Read: 1500})
	f.header.Plan.Read.ToEnd = true
	if kept := f.Result().ConsumerLag.KeptUp; kept != nil {
		t.Errorf("up to where the partitions ended: kept up is %t", *kept)
	}
	f = readSeconds(1, readSecond{Read: 1000})
	f.header.Plan.Read.From.Latest = true
	if kept := f.Result().ConsumerLag.KeptUp; kept == nil || !*kept {
		t.Error("what was written in a single second: nobody has kept up with it")
	}
}

func TestTheLongestTimeWithoutARecordIsAStallWhileRecordsWait(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name    string
		Seconds []readSecond
		Want    time.Duration // 0: none
		Stall   bool          // is the verdict, of an unlimited run
	}](t, "reads") {
		for _, readers := range []int{1, 3} {
			f := readSeconds(readers, tc.Seconds...)
			if got := f.reads.stall.longest.Length; got < tc.Want || tc.Want == 0 && got > 0 || got > tc.Want+time.Millisecond {
				t.Errorf("%s, %d readers: the longest gap is %v, want %v", tc.Name, readers, got, tc.Want)
			}
			if v := f.Verdict(); (v.Limit == verdict.Stalled) != tc.Stall {
				t.Errorf("%s, %d readers: bound by %s: %s", tc.Name, readers, v.Limit, v.Evidence)
			}
		}
	}
}

func TestAStallOfASecondIsNamedWhereTheRateOfReadingIsFixed(t *testing.T) {
	lag := readSecond{Read: 1000, Left: 5000, Wait: 0.1}
	f := readSeconds(1, lag, lag, lag, readSecond{Left: 5000, Wait: 1}, readSecond{Left: 5000, Read: 2000, First: 0.2, Wait: 0.2}, lag, lag)
	f.schedule = plan.NewSchedule(1000)
	v := f.Verdict()
	must.True(t, v.Limit == verdict.Stalled && strings.Contains(v.Evidence, "1.20s"), "bound by %s: %s", v.Limit, v.Evidence)
}

func TestARunThatDoesNotReadHasNothingToSayOfIt(t *testing.T) {
	f := NewFold(header(100))
	for _, e := range canned.Written(3, 12) {
		e.To(f)
	}
	r := f.Result()
	if r.Fetch != nil || r.Rebalances != nil || r.ConsumerLag != nil || r.Latency.EndToEnd != nil || r.Warmup.EndToEnd != nil || r.Outage != nil || r.Events != nil {
		t.Errorf("a run that only writes has parts of one that reads: %s", marshal(t, r))
	}
}

func TestTheHeadlineIsWhatTheRunMeasures(t *testing.T) {
	single := readHeader(plan.Roundtrip, 0)
	single.Plan.Load.OneAtATime = true
	for _, tc := range []struct {
		name string
		h    Header
		want string
	}{
		{"a fixed rate", header(100), "response"},
		{"an unlimited one", header(0), "throughput"},
		{"reading", readHeader(plan.Consume, 0), "throughput"},
		{"reading at a rate", readHeader(plan.Consume, 100), "throughput"},
		{"a roundtrip at a rate", readHeader(plan.Roundtrip, 100), "end_to_end"},
		{"an unlimited roundtrip", readHeader(plan.Roundtrip, 0), "throughput"},
		{"one record at a time", single, "end_to_end"},
	} {
		if r := NewFold(tc.h).Result(); r.Headline != tc.want || r.Note == "" {
			t.Errorf("%s: the headline is %q (%s), want %q", tc.name, r.Headline, r.Note, tc.want)
		}
	}
}

func TestPartitionsOfSeveralTopicsAreNumberedOn(t *testing.T) {
	h := Header{Environment: Environment{Topics: []Topic{{Name: "a", Partitions: 2}, {Name: "b", Partitions: 3}}}}
	must.Match(t, 5, h.Environment.Partitions(), "partitions in all")
	if topic, number := h.Environment.Place(7); topic.Name != "(added)" || number != 2 {
		t.Errorf("a partition that was added to one of several topics is %s/%d", topic.Name, number)
	}
	h.Environment.Topics = h.Environment.Topics[:1]
	if topic, number := h.Environment.Place(7); topic.Name != "a" || number != 7 {
		t.Errorf("a partition that was added to the only topic is %s/%d", topic.Name, number)
	}
}

func TestManyPartitionsOfSeveralTopicsShareARowOfTheirTopic(t *testing.T) {
	for _, tc := range []struct {
		name       string
		partitions []int
		number     int32
		row        int32
		rowName    string
	}{
		{"one topic", []int{5000}, 4999, 4999, "p4999"},
		{"few partitions", []int{999, 1}, 999, 999, "b/0"},
		{"many", []int{999, 2, 1}, 998, 0, "a"},
		{"many, of the next topic", []int{999, 2, 1}, 1000, 1, "b"},
		{"one of many that was added", []int{999, 2, 1}, 1002, 3, "(added)"},
		{"no partition", []int{999, 2, 1}, -1, -1, "(added)"},
	} {
		var e Environment
		var topics []Topic
		for i, n := range tc.partitions {
			topics = append(topics, Topic{Name: string(rune('a' + i)), Partitions: n})
		}
		e.SetTopics(topics)
		row := tc.number
		if of := e.RowOf(); of != nil {
			row = of(row)
		}
		if row != tc.row || e.RowName(row) != tc.rowName {
			t.Errorf("%s: partition %d has row %d of %s", tc.name, tc.number, row, e.RowName(row))
		}
	}
}

// A thousand topics have rows. With partitions that were added there is one more, and the topic without records is left out.
func TestTheTopicsThatHaveNoRowAreCounted(t *testing.T) {
	var topics []Topic
	w := stats.Window{End: time.Second, Partitions: make(map[int32]stats.Partition)}
	for i := range int32(1000) {
		topics = append(topics, Topic{Name: fmt.Sprint(i), Partitions: 1})
		w.Partitions[i] = stats.Partition{Records: int64(i)}
	}
	for _, tc := range []struct {
		added   int64
		last    string
		leftOut int
	}{{0, "0", 0}, {2000, "1", 1}} {
		var h Header
		h.Environment.SetTopics(topics)
		if tc.added > 0 {
			w.Partitions[1000] = stats.Partition{Records: tc.added}
		}
		f := NewFold(h)
		f.AddWindow(w)
		r := f.Result()
		must.Match(t, tc.leftOut, r.TopicsLeftOut, "topics without a row")
		must.Match(t, tc.last, r.Topics[len(r.Topics)-1].Topic, "the last topic with a row")
	}
}

// consumerLags folds seconds with so many records waiting at the end of each, of which
// the load goes on in the first.
func consumerLags(loading int, read int64, waiting ...int64) *Fold {
	f := NewFold(readHeader(plan.Roundtrip, 0))
	before := int64(0)
	for i, n := range waiting {
		at := time.Duration(i) * time.Second
		w := stats.Window{Start: at, End: at + time.Second, Read: stats.Read{
			Consumed: read, FirstRead: at, LastRead: at + time.Second, ConsumerLag: n - before, ReadTime: time.Second,
		}}
		if i < loading {
			w.ShardTime = time.Second
		}
		before = n
		f.AddWindow(w)
	}
	return f
}

func TestTheConsumerLagTellsWhetherTheReadersKeptUp(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name    string
		Loading int
		Read    int64
		Waiting []int64
		Want    ConsumerLag
	}](t, "reads") {
		if diff := cmp.Diff(&tc.Want, consumerLags(tc.Loading, tc.Read, tc.Waiting...).Result().ConsumerLag, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.Name, diff)
		}
	}
}

// A window without an answer of the system has no lag, not one of 0.
func TestAConsumerLagThatNobodyLookedAtIsNotKnown(t *testing.T) {
	looked, blind := stats.Counters{}, stats.Counters{LagUnknown: 1}
	for _, tc := range []struct {
		name  string
		looks []stats.Counters
		want  ConsumerLag
		rows  []Lag
	}{
		{"never", []stats.Counters{blind, blind, blind}, ConsumerLag{Records: NotKnown, Left: NotKnown, Max: NotKnown}, []Lag{NotKnown, NotKnown, NotKnown}},
		{
			"of a constant lag, late",
			[]stats.Counters{blind, looked, looked},
			ConsumerLag{Records: 1300, Left: 1300, Max: 1300, Slope: new(0.0), Appended: new(100.0), KeptUp: new(true)},
			[]Lag{NotKnown, 1300, 1300},
		},
		{"once", []stats.Counters{blind, looked, blind}, ConsumerLag{Records: NotKnown, Left: NotKnown, Max: 1300}, []Lag{NotKnown, 1300, NotKnown}},
		{"in the end", []stats.Counters{blind, blind, looked}, ConsumerLag{Records: 1300, Left: 1300, Max: 1300}, []Lag{NotKnown, NotKnown, 1300}},
	} {
		h := readHeader(plan.Roundtrip, 0)
		h.Limits = []string{"consumer-lag<2000", "consumer-lag<10", "consumer-lag<2000 over 1s", "consumer-lag>1000", "failed==0 over 10s"}
		f, waits := NewFold(h), int64(1300)
		for i, look := range tc.looks {
			at := time.Duration(i) * time.Second
			w := stats.Window{Start: at, End: at + time.Second, ShardTime: time.Second, Offered: 100, Acknowledged: 100, LastDue: at + time.Second, Counters: look, Read: stats.Read{
				Consumed: 100, FirstRead: at, LastRead: at + time.Second, ReadTime: time.Second,
			}}
			if look == looked {
				w.ConsumerLag, waits = waits, 0
			}
			f.AddWindow(w)
			must.Match(t, look == looked, f.Snapshot().ConsumerLag.Known, "%s: known after second %d", tc.name, i)
		}
		r := f.Result()
		if diff := cmp.Diff(&tc.want, r.ConsumerLag, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
		for i, p := range r.Series {
			must.Match(t, tc.rows[i], p.ConsumerLag, "%s: wait in second %d", tc.name, i)
		}
		for _, l := range r.Limits[:3] { // with a second that is not known, none is known to hold
			if l.Held || l.Expression == "consumer-lag<10" && (l.Value == nil) != (tc.want.Max == NotKnown) || l.Value == nil && !strings.Contains(l.Note, "consumer lag") {
				t.Errorf("%s: %+v", tc.name, l)
			}
		}
		if l := r.Limits[3]; l.Held != (tc.want.Max > 1000) { // more than that waited
			t.Errorf("%s: %+v", tc.name, l)
		}
		if l := r.Limits[4]; l.Note != "no stretch of 10s was measured" {
			t.Errorf("%s: %+v", tc.name, l)
		}
		text, err := json.Marshal(r.ConsumerLag)
		if err != nil || (tc.want.Left == NotKnown) != strings.Contains(string(text), `"left_records":null`) || (tc.want.Slope == nil) != strings.Contains(string(text), `"slope_per_second":null`) {
			t.Errorf("%s: %v, %s", tc.name, err, text)
		}
		var again ConsumerLag // of a page
		if err := json.Unmarshal(text, &again); err != nil || !cmp.Equal(&again, r.ConsumerLag) {
			t.Errorf("%s: %s is read as %+v, %v", tc.name, text, again, err)
		}
	}
}

func TestTheVerdictOfVerificationTellsLossFromDamage(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name          string
		V             *ledger.Verdict
		Lost, Damaged bool
	}](t, "reading") {
		r := Result{Trailer: Trailer{Verify: tc.V}}
		must.Match(t, []bool{tc.Lost, tc.Damaged}, []bool{r.Lost(), r.Damaged()}, "%s: lost %t, damaged %t", tc.Name, r.Lost(), r.Damaged())
	}
}
