package plan

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kt-bench/kt/internal/must"
)

// readers is a plan that reads, and roundtrip one that does both.
func readers(consumers int) Plan {
	p := good()
	p.Command, p.Producers, p.Payload = Consume, 0, Payload{}
	p.Read = Read{Consumers: consumers, Commit: CommitNone}
	return p
}

func roundtrip(producers, consumers int, partitions int32) Plan {
	p := good()
	p.Command, p.Producers, p.Topic.Partitions = Roundtrip, producers, partitions
	p.Read = Read{Consumers: consumers, Commit: CommitNone}
	return p
}

func divide(t testing.TB, p Plan, processes int) []Plan {
	t.Helper()
	return must.Have(p.Divide(processes))(t)
}

// dueTimes is the due times of a producer, and whether there are more than most.
func dueTimes(p Pacer, most int) (due []time.Duration, more bool) {
	for range most {
		d, ok := p.Next()
		if !ok {
			return due, false
		}
		due = append(due, d)
	}
	_, more = p.Next()
	return due, more
}

func TestTheSharesOfALoadHaveExactlyItsSchedule(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		p := good()
		p.Producers, p.Seed = 1+rng.IntN(40), rng.Int64()
		p.Load.Rate = Rate{PerSecond: math.Exp(rng.Float64() * 8)}
		p.Load.Duration = Duration(rng.Int64N(int64(2 * time.Second)))
		p.Load.Records = rng.Int64N(1000)
		p.Load.Arrivals = []Arrivals{Uniform, Poisson}[rng.IntN(2)]
		if rng.IntN(4) == 0 {
			p.Load.Rate, p.Load.Duration, p.Load.Arrivals = Unlimited, 0, Uniform
			p.Load.Records++
		}
		if p.Load.Duration == 0 && p.Load.Records == 0 {
			continue
		}
		p.Load.Warmup.Records = rng.Int64N(max(1, p.Load.Records))
		shares := divide(t, p, 1+rng.IntN(p.Producers))

		const most = 20_000
		var want, got []time.Duration
		var wantWarmup, gotWarmup int64
		for i := range p.Producers {
			due, more := dueTimes(p.Pacer(i), most)
			must.Hold(t, !more, "the load %+v has no end", p.Load)
			want = append(want, due...)
			wantWarmup += p.WarmupShare(i)
		}
		var rate float64
		var toRead int64
		for _, s := range shares {
			must.Do(t, s.Validate())
			for i := range s.Producers {
				due, _ := dueTimes(s.Pacer(i), most)
				got = append(got, due...)
				gotWarmup += s.WarmupShare(i)
			}
			rate += s.RecordsPerSecond()
			toRead += s.RecordsToRead()
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%+v in %d shares: the schedule differs (-whole +shares):\n%s", p.Load, len(shares), diff)
		}
		must.Match(t, []int64{gotWarmup, p.Load.Warmup.Records}, []int64{wantWarmup, wantWarmup}, "%+v in %d shares: %d records of the warm-up", p.Load, len(shares), gotWarmup)
		if math.Abs(rate-p.RecordsPerSecond()) > 1e-9*rate || toRead != p.Load.Records {
			t.Errorf("%+v in %d shares: %v records/s and %d records", p.Load, len(shares), rate, toRead)
		}
	}
}

func TestEachPartitionOfARoundTripIsOfOneShare(t *testing.T) {
	for processes := 1; processes <= 9; processes++ {
		const partitions = 23
		owners := make([]int, partitions)
		for _, s := range divide(t, roundtrip(9, 9, partitions), processes) {
			own := 0
			for id := range int32(partitions) {
				if s.Share.Has(id) {
					owners[id]++
					own++
				}
			}
			if own < partitions/processes || own > partitions/processes+1 {
				t.Errorf("of %d processes one has %d of %d partitions", processes, own, partitions)
			}
		}
		for id, n := range owners {
			must.Match(t, 1, n, "partition %d is of … of %d processes", id, processes)
		}
	}
	for _, s := range divide(t, readers(4), 2) {
		must.True(t, s.Share.Has(0) && s.Share.Has(7), "what only reads, or writes, has partitions of its own")
	}
}

func TestReadersShareOutTheRecordsToRead(t *testing.T) {
	p := readers(5)
	p.Load = Load{Records: 1001, Arrivals: Uniform, Rate: Rate{PerSecond: 500}}
	var got []int64
	var rate float64
	for _, s := range divide(t, p, 3) {
		got = append(got, s.RecordsToRead())
		rate += s.RecordsPerSecond()
	}
	if diff := cmp.Diff([]int64{401, 400, 200}, got); diff != "" || math.Abs(rate-500) > 1e-9 {
		t.Errorf("%v records/s (-want +got):\n%s", rate, diff)
	}
	p.Load.Records = 0
	must.Match(t, 0, divide(t, p, 3)[0].RecordsToRead(), "without a limit a share has one of")
}

func TestTheReadersOfAllSharesAreThoseOfTheLoad(t *testing.T) {
	for _, groups := range []int{0, 1, 3} {
		for processes := 1; processes <= 5; processes++ {
			p := roundtrip(9, 5, 10)
			p.Read.Group, p.Read.Groups = "g", groups
			p.Load.Warmup.Records = 1001
			var numbers []int
			var warmup int64
			for _, s := range divide(t, p, processes) {
				for i := range s.Read.Clients() {
					number, all := s.Reader(i)
					must.Match(t, p.Read.Clients(), all, "%d processes: reader %d is of", processes, number)
					numbers = append(numbers, number)
					warmup += s.Load.WarmupShare(number, all)
				}
			}
			slices.Sort(numbers)
			for i, number := range numbers {
				must.Hold(t, i == number && len(numbers) == p.Read.Clients(), "%d processes: the readers have the numbers %v", processes, numbers)
			}
			must.Match(t, p.Load.Warmup.Records, warmup, "%d processes: records of the warm-up", processes)
		}
	}
}

func TestALoadIsDividedOnlyWhereEachProcessHasSomethingToDo(t *testing.T) {
	one := roundtrip(1, 1, 1)
	one.Load.OneAtATime, one.Load.Rate = true, Unlimited
	for _, tc := range []struct {
		name      string
		plan      Plan
		processes int
		want      string // "": it is divided
	}{
		{"as many producers as processes", Plan{Producers: 3}, 3, ""},
		{"one producer fewer", Plan{Producers: 2}, 3, "--producers 2: 3 processes"},
		{"one consumer fewer", readers(2), 3, "--consumers 2: 3 processes"},
		{"a round trip lacks consumers", roundtrip(3, 2, 3), 3, "--consumers 2"},
		{"a round trip lacks partitions", roundtrip(3, 3, 2), 3, "--partitions 2: "},
		{"the broker says how many partitions", roundtrip(3, 3, 0), 3, ""},
		{"one record at a time", one, 2, "--one-at-a-time: "},
		{"one record at a time in one process", one, 1, ""},
		{"no process", good(), 0, "not to 0"},
		{"too many", good(), 1001, "not to 1001"},
		{"less than none", good(), -1, "not to -1"},
	} {
		shares, err := tc.plan.Divide(tc.processes)
		switch {
		case tc.want == "" && (err != nil || len(shares) != tc.processes):
			t.Errorf("%s: %d shares, %v", tc.name, len(shares), err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: the error is %v, want %q", tc.name, err, tc.want)
		}
	}
}

func TestAShareThatIsNoPartOfALoadIsRefused(t *testing.T) {
	for _, tc := range []struct {
		name  string
		share Share
		ok    bool
	}{
		{"the whole load", Share{}, true},
		{"the last producer", Share{Producer: 4, Producers: 5, Consumers: 1}, true},
		{"past the last producer", Share{Producer: 5, Producers: 5}, false},
		{"before the first", Share{Producer: -1, Producers: 5}, false},
		{"consumers that are not there", Share{Producers: 5, Consumer: -1}, false},
		{"of more producers than there may be", Share{Producers: MaxClients + 1}, false},
		{"of more consumers than there may be", Share{Producers: 5, Consumers: MaxClients + 1}, false},
		{"so many producers that they overflow", Share{Producer: math.MaxInt, Producers: 5}, false},
		{"the last slot", Share{Producers: 5, Slot: 2, Slots: 3}, true},
		{"past the last slot", Share{Producers: 5, Slot: 3, Slots: 3}, false},
		{"a slot below 0", Share{Producers: 5, Slot: -1, Slots: 3}, false},
		{"a slot of none", Share{Producers: 5, Slot: 1}, false},
		{"slots below 0", Share{Producers: 5, Slots: -1}, false},
	} {
		p := good()
		p.Share = tc.share
		if err := p.Validate(); (err == nil) != tc.ok {
			t.Errorf("%s: Validate gives %v", tc.name, err)
		}
	}
}

func TestSharesPutTogetherAreTheLoad(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, p := range []Plan{{Command: Produce, Producers: 17, Topic: Topic{Name: "t", Delete: true, Configs: map[string]string{"a": "b"}}, Load: Load{Records: 1000}}, readers(13), roundtrip(11, 9, 30)} {
		for processes := 1; processes <= 9; processes++ {
			shares := divide(t, p, processes)
			for i := range shares[1:] {
				shares[i+1].Topic.Delete, shares[i+1].Topic.Configs = false, nil // one of them makes the topic, and deletes it
			}
			rng.Shuffle(processes, func(i, j int) { shares[i], shares[j] = shares[j], shares[i] })
			whole, differ, _ := Together(shares)
			if diff := cmp.Diff(p, whole, cmp.AllowUnexported(Size{}, sizeBucket{})); diff != "" || differ != nil {
				t.Errorf("%s in %d shares: differ in %q (-want +got):\n%s", p.Command, processes, differ, diff)
			}
		}
	}
}

func TestSharesOfWhichSomeAreMissingAreThatPartOfTheLoad(t *testing.T) {
	p := good()
	p.Producers, p.Load.Records, p.Load.Warmup.Records = 7, 1000, 70
	shares := divide(t, p, 3)                             // of 3, 2 and 2 producers
	shares[1].Topic.Configs = map[string]string{"a": "b"} // it makes the topic
	for _, tc := range []struct {
		name      string
		shares    []Plan
		producers int
		rate      float64
		records   int64
		warmup    int64
	}{
		{"the first", shares[:1], 3, 3000. / 7, 429, 30},
		{"the others", shares[1:], 4, 4000. / 7, 571, 40},
		{"one twice", []Plan{shares[0], shares[0], shares[1]}, 8, 8000. / 7, 429*2 + 286, 80},
	} {
		got, differ, ok := Together(tc.shares)
		if got.Producers != tc.producers || math.Abs(got.RecordsPerSecond()-tc.rate) > 1e-9 || got.Load.Records != tc.records || got.Load.Warmup.Records != tc.warmup || !got.Share.IsZero() || differ != nil || !ok {
			t.Errorf("%s: %d producers, %v records/s, %d records, %d of warm-up, %+v, differ in %q", tc.name, got.Producers, got.RecordsPerSecond(), got.Load.Records, got.Load.Warmup.Records, got.Share, differ)
		}
	}
	for name, shares := range map[string][]Plan{"slots": divide(t, roundtrip(4, 4, 8), 2), "shares of two loads": append(shares[:1:1], divide(t, roundtrip(4, 4, 8), 2)...)} {
		if shares[1].Share.Slot = 0; tile(shares) {
			t.Errorf("%s that are not one load are taken for one", name)
		}
	}
}

func TestPlansOfSeveralTopicsMakeNoLoadTogether(t *testing.T) {
	to := func(topic string, p Plan) Plan { p.Topic.Name = topic; return p }
	pattern := readers(2)
	pattern.Topic.Name, pattern.Read.Include = "", "b.*"
	for _, tc := range []struct {
		name  string
		plans []Plan
		want  Plan
	}{
		{"two topics written to", []Plan{to("a", good()), to("b", good())}, Plan{Command: Produce, Producers: 2}},
		{"one written to, and another read", []Plan{to("a", good()), to("b", readers(3))}, Plan{Command: MixedLoad, Producers: 1, Read: Read{Consumers: 3}}},
		{"a pattern between two topics", []Plan{to("a", readers(1)), pattern, to("b", readers(1))}, Plan{Command: Consume, Read: Read{Consumers: 4}}},
		{"shares of two loads", append(divide(t, to("a", roundtrip(4, 4, 8)), 2), divide(t, to("b", roundtrip(4, 4, 8)), 2)...), Plan{Command: Roundtrip, Producers: 8, Read: Read{Consumers: 8}}},
	} {
		tc.want.Engine, tc.want.Load.Arrivals, tc.want.Read.Commit = Client, Uniform, tc.plans[len(tc.plans)-1].Read.Commit
		got, differ, ok := Together(tc.plans)
		if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(Size{}, sizeBucket{})); diff != "" || ok || differ != nil {
			t.Errorf("%s: ok is %t, differ %q, plan (-want +got):\n%s", tc.name, ok, differ, diff)
		}
	}
}

func TestPlansOfTheirOwnAddUp(t *testing.T) {
	change := func(p Plan, f func(*Plan)) Plan { f(&p); return p }
	group := change(readers(2), func(p *Plan) { p.Read.Group = "g" })
	settings := func(ms string) Plan {
		return change(good(), func(p *Plan) { p.Topic.Configs = map[string]string{"retention.ms": ms} })
	}
	for _, tc := range []struct {
		name   string
		plans  []Plan
		want   func(*Plan) // what is not as in the first plan
		differ []string
	}{
		{"one", []Plan{good()}, func(*Plan) {}, nil},
		{"rates, producers and seeds", []Plan{good(), change(good(), func(p *Plan) { p.Producers, p.Load.Rate.PerSecond, p.Seed = 4, 500, 99 })}, func(p *Plan) { p.Producers, p.Load.Rate.PerSecond = 5, 1500 }, nil},
		{"a rate in bytes beside one in records", []Plan{good(), change(good(), func(p *Plan) { p.Load.Rate = Rate{PerSecond: 20_000, Bytes: true} })}, func(p *Plan) { p.Producers, p.Load.Rate.PerSecond = 2, 1200 }, nil},
		{"two rates in bytes", []Plan{change(good(), func(p *Plan) { p.Load.Rate.Bytes = true }), change(good(), func(p *Plan) { p.Load.Rate.Bytes = true })}, func(p *Plan) { p.Producers, p.Load.Rate.PerSecond = 2, 2000 }, nil},
		{"one without a rate", []Plan{good(), change(good(), func(p *Plan) { p.Load.Rate = Unlimited })}, func(p *Plan) { p.Producers, p.Load.Rate = 2, Unlimited }, []string{"load.rate"}},
		{"one without an end by count", []Plan{change(good(), func(p *Plan) { p.Load.Records = 10 }), good()}, func(p *Plan) { p.Producers, p.Load.Records, p.Load.Rate.PerSecond = 2, 0, 2000 }, []string{"load.records"}},
		{"records", []Plan{change(good(), func(p *Plan) { p.Load.Records = 10 }), change(good(), func(p *Plan) { p.Load.Records = 5 })}, func(p *Plan) { p.Producers, p.Load.Records, p.Load.Rate.PerSecond = 2, 15, 2000 }, nil},
		{"durations", []Plan{good(), change(good(), func(p *Plan) { p.Load.Duration = Duration(time.Hour) })}, func(p *Plan) { p.Producers, p.Load.Rate.PerSecond = 2, 2000 }, []string{"load.duration"}},
		{"record sizes", []Plan{good(), change(good(), func(p *Plan) { p.Payload.Size = FixedSize(7) })}, func(p *Plan) { p.Producers, p.Load.Rate.PerSecond = 2, 2000 }, []string{"payload.record_size"}},
		{"consumers of one group", []Plan{group, group}, func(p *Plan) { p.Read.Consumers, p.Load.Rate.PerSecond = 4, 2000 }, nil},
		{"consumers of two groups", []Plan{group, change(readers(1), func(p *Plan) { p.Read.Group, p.Read.Groups = "f", 3 })}, func(p *Plan) { p.Read.Consumers, p.Read.Group, p.Load.Rate.PerSecond = 5, "", 2000 }, []string{"read.group", "read.groups"}},
		{"writers and readers", []Plan{good(), group}, func(p *Plan) { p.Command, p.Read = MixedLoad, group.Read }, nil},
		{"readers first", []Plan{group, good()}, func(p *Plan) { *p = good(); p.Command, p.Read = MixedLoad, group.Read }, nil},
		{"verified and deleted by one", []Plan{good(), change(good(), func(p *Plan) { p.Verify, p.Topic.Delete = true, true })}, func(p *Plan) {
			p.Producers, p.Load.Rate.PerSecond, p.Verify, p.Topic.Delete = 2, 2000, true, true
		}, []string{"verify"}},
		{"settings of the topic, given to the one that makes it", []Plan{good(), settings("1")}, func(p *Plan) { p.Producers, p.Load.Rate.PerSecond, p.Topic = 2, 2000, settings("1").Topic }, nil},
		{"two settings of the topic", []Plan{settings("1"), settings("2")}, func(p *Plan) { p.Producers, p.Load.Rate.PerSecond = 2, 2000 }, []string{"topic.configs.retention.ms"}},
		{"nothing at all", []Plan{{Command: Produce}}, func(*Plan) {}, nil},
	} {
		want := tc.plans[0]
		tc.want(&want)
		got, differ, ok := Together(tc.plans)
		must.True(t, ok, "%s: %v", tc.name, "they make no load together")
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Size{}, sizeBucket{}), cmpopts.EquateApprox(1e-12, 0)); diff != "" {
			t.Errorf("%s: plan (-want +got):\n%s", tc.name, diff)
		}
		must.Match(t, tc.differ, differ, "%s: differ", tc.name)
	}
	if p, differ, ok := Together(nil); !ok || p.Producers != 0 || differ != nil {
		t.Errorf("no plans are %+v", p)
	}
}

// FuzzDivide divides a load.
//   - The shares are valid if the load is, and put together they are the load.
//   - Their producers, consumers, records and partitions add up to the load's.
func FuzzDivide(f *testing.F) {
	f.Add(uint16(7), uint16(0), uint16(3), int32(12), int64(1000), int64(10), 1000.0)
	f.Add(uint16(5), uint16(9), uint16(5), int32(7), int64(13), int64(0), 0.0)
	f.Add(uint16(0), uint16(1000), uint16(999), int32(1), int64(1), int64(0), 1e9)
	f.Fuzz(func(t *testing.T, producers, consumers, processes uint16, partitions int32, records, warmup int64, rate float64) {
		p := roundtrip(int(producers), int(consumers), partitions)
		p.Load = Load{Records: records, Warmup: Warmup{Records: warmup}, Arrivals: Uniform, Rate: Rate{PerSecond: rate}}
		switch {
		case producers == 0:
			p.Command, p.Payload = Consume, Payload{}
		case consumers == 0:
			p.Command, p.Read = Produce, Read{}
		}
		if p.Validate() != nil || !(rate >= 0 && rate <= maxRate) {
			return
		}
		shares, err := p.Divide(int(processes))
		if err != nil {
			return
		}
		var sum Plan
		var all, warm int64
		for i, s := range shares {
			if err := s.Validate(); err != nil {
				t.Fatalf("share %d: %v", i, err)
			}
			sum.Producers += s.Producers
			sum.Read.Consumers += s.Read.Consumers
			all += s.RecordsToRead()
			for k := range s.Producers {
				if warmup > 0 {
					warm += s.WarmupShare(k)
				}
			}
		}
		if sum.Producers != p.Producers || sum.Read.Consumers != p.Read.Consumers || all != records || p.Writes() && warm != warmup {
			t.Fatalf("%d shares have %d producers, %d consumers, %d records and %d of warm-up", len(shares), sum.Producers, sum.Read.Consumers, all, warm)
		}
		whole, differ, _ := Together(shares)
		if got, want := must.Have(json.Marshal(whole))(t), must.Have(json.Marshal(p))(t); string(got) != string(want) || differ != nil {
			t.Fatalf("put together they are %s, differ in %q; want %s", got, differ, want)
		}
	})
}
