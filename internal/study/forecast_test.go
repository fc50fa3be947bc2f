//go:build !race

package study

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/theme"
)

// planner is a runner that only plans.
type planner map[string]plan.Plan // by the command

func (p planner) Plans(l Load) ([]plan.Plan, error) {
	one := p[l.Command]
	for _, f := range l.Flags {
		if f.Name == "num-records" {
			one.Load.Records, _ = plan.ParseCount(f.Value)
		}
	}
	return []plan.Plan{one}, nil
}

func TestAForecastAddsUpWhatRunsTake(t *testing.T) {
	write := plan.Plan{Producers: 1, Bootstrap: []string{"kafka:9092"}, Payload: plan.Payload{Size: plan.FixedSize(100)}, Topic: plan.Topic{ReplicationFactor: 2}}
	atRate, forTime, both := write, write, write
	atRate.Load.Rate.PerSecond = 10
	forTime.Load.Duration = plan.Duration(time.Minute)
	both.Load = plan.Load{Rate: atRate.Load.Rate, Duration: forTime.Load.Duration}
	full := both
	full.Load.UntilFull = true
	read := plan.Plan{Read: plan.Read{Consumers: 1}, Load: forTime.Load}
	s := &Study{
		Prepare: []Load{{Name: "old", Command: "produce", Flags: []Flag{{"num-records", "100"}}}},
		Loads:   []Load{{Name: "write", Command: "produce", Flags: []Flag{{"num-records", "1000"}}}, {Name: "read", Command: "consume"}},
		Factors: []Factor{{Name: "write.acks", Values: []string{"1", "all"}}}, Repeats: 2, Order: Listed, Rest: plan.Duration(5 * time.Second),
	}
	f := must.Have(s.Forecast(planner{"produce": atRate, "consume": read}.Plans, nil))(t)
	// Preparing takes 10 s and 2 × 10,000 bytes. Each of 4 runs takes 100 s and 2 × 100,000 bytes.
	if f.Seconds != 10+4*100+3*5 || f.Bytes != 20_000+4*200_000 || f.AtOnce != 220_000 || len(f.NotKnown) != 0 || len(f.Runs) != 4 || len(f.Cells) != 2 {
		t.Errorf("%+v", f)
	}
	s.Loads[0].Flags, s.Prepare = nil, nil
	for _, tc := range []struct {
		name           string
		produce        plan.Plan
		seconds, bytes float64
		notKnown       int
	}{
		{"a rate for a time", both, 4*60 + 15, 4 * 600 * 200, 0},
		{"a time", forTime, 4*60 + 15, 0, 1},
		{"until disks are full", full, 4*60 + 15, 0, 1},
		{"nothing", write, 0, 0, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, err := s.Forecast(planner{"produce": tc.produce, "consume": read}.Plans, nil)
			must.True(t, err == nil && f.Seconds == tc.seconds && f.Bytes == tc.bytes && len(f.NotKnown) == tc.notKnown, "%+v, %v", f, err)
		})
	}
}

func TestRoomIsCountedOnceForADisk(t *testing.T) {
	for name, tc := range must.Rows[map[string]struct {
		Dirs            []result.LogDir
		AtOnce, Written float64
		Want            Room
	}](t, "forecast") {
		f := &Forecast{Study: new(Study), AtOnce: tc.AtOnce, Bytes: tc.Written, Room: RoomUnknown}
		if f.Place(tc.Dirs); f.Room != tc.Want || (f.Err() != nil) != (tc.Want == NoRoom) {
			t.Errorf("%s: room %s, error %v; want %s", name, f.Room, f.Err(), tc.Want)
		}
	}
}

// The runs of a cell that the cluster cannot carry are not planned, and the plan names it.
func TestAForecastLeavesOutWhatTheClusterCannotCarry(t *testing.T) {
	s := &Study{
		Loads: []Load{{Command: "produce"}}, Repeats: 2, Discard: 1, Order: Listed,
		Factors: []Factor{{Name: "replication-factor", Values: []string{"3", "1"}}},
	}
	plans := func(l Load) ([]plan.Plan, error) {
		return []plan.Plan{{Load: plan.Load{Records: 10}, Topic: plan.Topic{ReplicationFactor: int16(amount(l.value("replication-factor")))}}}, nil
	}
	fits := func(p plan.Plan) error {
		if p.Topic.ReplicationFactor == 3 {
			return &result.MisfitError{Err: errors.New("the cluster has 1 broker")}
		}
		return nil
	}
	f, err := s.Forecast(plans, fits)
	must.True(t, err == nil && len(f.Runs) == 2 && f.Runs[0].At["replication-factor"] == "1" && f.Runs[1].Turn == 2, "%+v, %v", f, err)
	if l := f.LeftOut; len(l) != 1 || l[0].Cells[0] != "replication-factor=3" || l[0].Reason != "the cluster has 1 broker" {
		t.Errorf("%q", l)
	}
}

func TestSearchesAndTrialsTellTheirTime(t *testing.T) {
	ladder := DefaultSearch()
	ladder.Ladder = []float64{1, 2, 3}
	for name, tc := range map[string]struct {
		study       *Study
		least, most float64
	}{
		"a ladder": {&Study{Find: &ladder, Rest: plan.Duration(5 * time.Second)}, 35, 115},
		"a trial": {&Study{
			Loads: []Load{{Command: "produce"}}, Trial: &Proposal{Changes: []Flag{{"linger", "5ms"}}, Looks: []int{6, 12, 20}}, Repeats: 20, Discard: 1, Order: ABBA,
		}, 130, 410},
	} {
		f, err := tc.study.Forecast(planner{"produce": {Load: plan.Load{Duration: plan.Duration(10 * time.Second)}}}.Plans, nil)
		if err != nil || math.Abs(f.Seconds-tc.least) > 0.5 || math.Abs(f.Most-tc.most) > 0.5 {
			t.Errorf("%s takes %v to %v s, %v", name, f.Seconds, f.Most, err)
		}
	}
	if least, most := DefaultSearch().takes(5); !(least > 300 && least < most && most < 3600) {
		t.Errorf("a search takes %v to %v s", least, most)
	}
}

func TestWhatIsGivenFillsTheValues(t *testing.T) {
	s := parsed(t, "load: {command: produce, partitions: 7*$brokers}\nfactors: {replication-factor: [1, $replicas], linger: [0, 5ms]}")
	must.True(t, s.NeedsBrokers(), "a study with $replicas needs no brokers")
	filled(t, s, 2)
	want := []string{"replication-factor=1 linger=0", "replication-factor=1 linger=5ms", "replication-factor=2 linger=0", "replication-factor=2 linger=5ms"}
	must.Match(t, want, names(s.Cells()), "two brokers")
	if got := s.Loads[0].Flags; got[0].Value != "14" {
		t.Errorf("7*$brokers of 2 is %v", got)
	}

	s = filled(t, parsed(t, "load: {command: produce}\npair: true\nfactors: {replication-factor: [1, $replicas, $replicas], acks: [1, 1, all]}"), 1)
	must.Match(t, []string{"replication-factor=1 acks=1", "replication-factor=1 acks=all"}, names(s.Cells()), "pairs that are alike on one broker")

	s.Set("acks", []string{"0", "all"})
	if err := filled(t, s, 1).Check(); err == nil {
		t.Error("pairs of three values and two")
	}

	s = parsed(t, "given: {stop: the command}\nload: {command: produce, exec: $stop, topic-config: $none}")
	const missing = "this study needs stop: the command; add --set stop=…\n$none: the study gives no such name; write it below given:, with what it is"
	must.Match(t, missing, fmt.Sprint(s.Fill(3)), "nothing given")
	s = parsed(t, "given: {stop: the command}\nload: {command: produce, exec: $stop}")
	s.Set("stop", []string{"kill 1", "2"})
	if err := s.Fill(0); err != nil || s.Loads[0].Flags[0].Value != "kill 1,2" {
		t.Errorf("%v, %v", s.Loads[0].Flags, err)
	}
}

func TestALoadFitsItsBytesItsTimeAndItsHosts(t *testing.T) {
	for text, want := range must.Rows[map[string]string](t, "forecast") {
		s := parsed(t, text)
		if s.About != "" {
			s.LimitTo(8e9)
		}
		must.Match(t, want, s.at(s.Cells()[0], s.Loads[0]).String(), "%s", text)
	}
}

// published returns the figures of published tests beside cells of two loads: a producer of 1,000 records/s, and a consumer of 2,000.
func published(t *testing.T, s *Study) map[string]Published {
	t.Helper()
	d := &Document{GridDoc: new(GridDoc), Study: s}
	for _, c := range s.Cells() {
		cell := CellDoc{At: c.Values()}
		run := RunDoc{}
		for i := range s.Loads {
			run.Loads = append(run.Loads, LoadFigures{Limit: verdict.BrokerAcks, Measures: Measures[float64]{metric.Rate: float64(i+1) * 1000, metric.P99: 9, "service.p99": 7}})
		}
		cell.Runs = []RunDoc{run}
		cell.conclude()
		d.Cells = append(d.Cells, cell)
	}
	found := make(map[string]Published)
	for _, row := range must.Have(publishedRows(s.Published))(t) {
		p := d.beside(row)
		found[p.Case+" "+p.String()] = p
	}
	return found
}

// A figure of three hosts is not put beside one producer.
func TestProducersOfAllHostsAndProcessesStandBesideAsMany(t *testing.T) {
	write := []Load{{Command: "produce"}}
	factors := func(values ...string) []Factor { return []Factor{{Name: "producers", Values: values}} }
	all := published(t, &Study{Published: []string{"three-hosts/multi-host", "kreps-2014/linkedin-4"}, Loads: write, Factors: factors("1", "3", "10")})
	must.Match(t, 1000, all["linkedin-4 producers=3"].Here, "three producers on three hosts: %+v", all)
	must.Match(t, 1000, all["multi-host producers=10"].Here, "five processes on each of two hosts: %+v", all)
}

// What several cells may be stands beside none of them, and reading stands beside reading.
func TestAFigureStandsBesideOneCellAndItsOwnLoad(t *testing.T) {
	s := &Study{
		Published: []string{"three-hosts/mixed"}, Loads: []Load{{Name: "write", Command: "produce"}, {Name: "read", Command: "consume"}},
		Factors: []Factor{{Name: "write.producers", Values: []string{"1", "3"}}, {Name: "read.consumers", Values: []string{"3"}}},
	}
	if p, ok := published(t, s)["mixed read.consumers=3"]; !ok || p.Here != 0 {
		t.Errorf("two cells fit: %+v", p)
	}
	s.Factors[0].Values = []string{"1"}
	if p := published(t, s)["mixed read.consumers=3"]; p.Here != 2000 {
		t.Errorf("%+v, want the figure of the consumer", p)
	}
}

// Figures of systems have no rate of records, and stand side by side with the systems.
func TestOnlyARateOfRecordsStandsBesideCells(t *testing.T) {
	s := parsed(t, "published: [confluent-2020/peak, three-hosts/partitions, confluent-2020/latency]\nload: {command: produce}\nfactors: {partitions: [1, 3]}")
	d := must.Have((&Folder{ID: "made-up", Study: s, read: make(map[int][]LoadFigures)}).Document())(t)
	must.True(t, len(d.Published) > 0, "no figure")
	for _, p := range d.Published {
		must.True(t, p.Source == "three-hosts" && p.RecordsPerSecond > 0, "%+v", p)
	}
}

func TestEachProblemOfALoadIsALine(t *testing.T) {
	s := parsed(t, "load: {command: produce}\nfactors: {acks: [1, all]}")
	both := errors.Join(errors.New("no flag x"), errors.New("no flag y"))
	err := s.CheckLoads(func(Load) ([]plan.Plan, error) { return nil, both })
	must.Match(t, []string{"acks=1: no flag x", "no flag y"}, theme.Problems(err), "problems")
	s.Factors = nil
	must.Match(t, []string{"no flag x", "no flag y"}, theme.Problems(s.CheckLoads(func(Load) ([]plan.Plan, error) { return nil, both })), "without factors")
}

// Another rate, or another size of records, is another load than that of the test.
func TestAnotherLoadHasNoRatio(t *testing.T) {
	for value, differs := range map[string]string{"50k": "", "1000": "rate 1000, published 50000", "-1": "rate unlimited, published 50000"} {
		s := &Study{
			Published: []string{"producer-latency/acks-0"}, Factors: []Factor{{Name: "acks", Values: []string{"0"}}},
			Loads: []Load{{Command: "produce", Flags: []Flag{{"rate", value}, {"record-size", "1KiB"}}}},
		}
		p := published(t, s)["acks-0 acks=0"]
		if got := strings.Join(p.Differs, "; "); p.Here != 1000 || got != differs || (p.Ratio > 0) != (differs == "") {
			t.Errorf("rate %s: %+v", value, p)
		}
	}
}

// A published latency stands beside one that is counted alike: from the send, and not from when the record was due.
func TestPublishedLatenciesStandBesideThoseFromTheSend(t *testing.T) {
	s := &Study{Published: []string{"producer-latency/acks-0"}, Factors: []Factor{{Name: "acks", Values: []string{"0"}}}, Loads: []Load{{Command: "produce"}}}
	must.Match(t, []Latency{{"mean", 1090, 0}, {"p50", 1000, 0}, {"p95", 3000, 0}, {"p99", 4000, 7}}, published(t, s)["acks-0 acks=0"].Latencies, "latencies")
	must.True(t, slices.Contains(s.Metrics(), "service.p99"), "it is not measured")
}

func TestTheNewestStudyComesFirst(t *testing.T) {
	dir := t.TempDir()
	want := []string{"20261123-150001-a-x", "20261123-150000-b-x", "20261123-150000-c-x", "20261123-150000-a-x"}
	for i, id := range want {
		f := must.Have(Create(dir, &Study{Loads: []Load{{Command: "produce"}}}, id))(t)
		at := time.Date(2026, 11, 23, 15, 0, 0, 0, time.UTC).Add(-time.Duration(i) * time.Millisecond)
		must.Do(t, os.Chtimes(filepath.Join(f.dir, studyFile), at, at))
	}
	if got, err := IDs(dir); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

// This test computes for long, and is of one goroutine: the race detector would find nothing.
// A search finds the best whatever the cluster does beside it: runs get slower from one to the next, the cluster is
// faster after a while, or single runs are slow.
func TestTheBestValueIsAmongThoseThatASearchCannotTellFromIt(t *testing.T) {
	const searches = 60
	for name, change := range map[string]func(run int, chance *rand.Rand) float64{
		"nothing changes":         func(int, *rand.Rand) float64 { return 1 },
		"each run is slower":      func(run int, _ *rand.Rand) float64 { return math.Pow(0.997, float64(run)) },
		"a step after 25 runs":    func(run int, _ *rand.Rand) float64 { return 1 + 0.2*float64(min(run/25, 1)) },
		"one run in 20 is halved": func(_ int, chance *rand.Rand) float64 { return 1 - 0.5*math.Floor(chance.Float64()+0.05) },
	} {
		for fine, step := range map[string]float64{"": 1, "2": 2} {
			t.Run(name+", fine "+fine, func(t *testing.T) {
				missed, octaves := 0, 0.0
				for seed := range uint64(searches) {
					chance := rand.New(rand.NewPCG(seed, 1))
					truth := math.Exp2(chance.Float64() * 6)
					s := partitions(Span{"1", "64", fine})
					s.Seed = seed
					d, _ := searching(t, s, func(turn Turn) float64 {
						n := float64(amount(turn.Cell.Values()["partitions"]))
						return curve(truth, n) * change(turn.Number, chance) * math.Exp(0.02*chance.NormFloat64())
					})
					var like []float64
					for _, v := range d.Answers[0].LikeBest {
						like = append(like, float64(amount(v)))
					}
					if truth < slices.Min(like)-step || truth > slices.Max(like)+step {
						missed++
					}
					octaves += math.Log2(slices.Max(like)/slices.Min(like)) / searches
				}
				if octaves > 1.25 && !strings.Contains(name, "halved") {
					t.Errorf("the values that cannot be told from the best span %.2f octaves in the mean: that says little", octaves)
				}
				must.True(t, missed <= searches*5/100, "%d of %d searches miss the best", missed, searches)
			})
		}
	}
}
