//go:build !race

package study

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/result/verdict"
)

// sideOf returns a side of runs whose throughput and p99 have some means and a noise of 1 %.
func sideOf(name string, runs int, throughput, p99 float64, seed uint64) *Side {
	chance := rand.New(rand.NewPCG(seed, 7))
	s := &Side{Name: name}
	for range runs {
		noisy := func(v float64) float64 { return v * (1 + 0.01*chance.NormFloat64()) }
		s.loads = append(s.loads, &LoadFigures{
			Valid: true, Measures: Measures[float64]{metric.Rate: noisy(throughput), metric.P99: noisy(p99)}, facts: map[string]string{"producer acks": name, "kt": "1"},
		})
	}
	return s
}

func compare(t *testing.T, a, b *Side) *CompareDocument {
	t.Helper()
	return must.Have(Compare(a, b, 0.03))(t)
}

func TestAComparisonTellsBetterFromWorseByTheMetric(t *testing.T) {
	for _, tc := range []struct {
		a, b    *Side
		want    []Change // of the throughput and the p99
		differs int
	}{
		{sideOf("1", 8, 100_000, 5000, 1), sideOf("all", 8, 80_000, 4000, 2), []Change{Lesser, Better}, 1},
		{sideOf("1", 8, 100_000, 5000, 3), sideOf("1", 8, 100_500, 5020, 4), []Change{Same, Same}, 0},
		{sideOf("1", 1, 100_000, 5000, 1), sideOf("1", 1, 50_000, 5000, 2), []Change{TooFew, TooFew}, 0},
	} {
		d := compare(t, tc.a, tc.b)
		var got []Change
		for _, c := range d.Metrics {
			got = append(got, c.Verdict)
		}
		must.True(t, slices.Equal(got, tc.want) && len(d.Differs) == tc.differs, "%q, want %q; differs %v", got, tc.want, d.Differs)
	}
}

// Without any effect at most 5 % of comparisons may name one, in whatever metric.
func TestComparisonsWithoutAnEffectRarelyNameOne(t *testing.T) {
	const times = 400
	named := 0
	for i := range uint64(times) {
		if d := compare(t, sideOf("a", 6, 100_000, 5000, 2*i), sideOf("a", 6, 100_000, 5000, 2*i+1)); slices.ContainsFunc(d.Metrics, func(c Compared) bool { return c.isTold() }) {
			named++
		}
	}
	must.True(t, named <= times*5/100, "%d of %d comparisons without an effect name one", named, times)
}

func TestAGateOpensOnlyForAShiftThatIsTold(t *testing.T) {
	for name, row := range must.Rows[map[string]struct {
		Runs             int
		Throughput, P99  float64 // of B
		Limit            string
		Closed           bool
		SeedOfA, SeedOfB uint64
		Says             string
	}](t, "compare") {
		d := compare(t, sideOf("a", row.Runs, 100_000, 5000, row.SeedOfA), sideOf("a", row.Runs, row.Throughput, row.P99, row.SeedOfB))
		if d.Judge([]FailOn{must.Have(ParseFailOn(row.Limit))(t)}); len(d.Failures) > 0 != row.Closed {
			t.Errorf("%s: failures %q, want some: %v", name, d.Failures, row.Closed)
		}
		said := say("trial", &TrialDoc{Control: d.A, Changed: d.B, Effects: d.Metrics})
		must.True(t, strings.Contains(said, row.Says), "%s: it says %q", name, said)
	}
	for _, text := range []string{"throughput", "throughput<3", "p98<3%", "p99<x%", "<3%"} {
		if f, err := ParseFailOn(text); err == nil {
			t.Errorf("%q is %+v", text, f)
		}
	}
}

// ranOf is a result of a run of 10 s that began some seconds after others, with a throughput.
func ranOf(id string, after int, throughput float64) *result.Result {
	r := servedOf(2000)
	r.RunID, r.StartedAt, r.ElapsedSeconds = id, time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).Add(time.Duration(after)*time.Second), 10
	r.Ended, r.BoundBy.Limit, r.Throughput.RecordsPerSecond = result.Completed, verdict.None, throughput
	r.Client.HostCores, r.Client.HostCPUCores, r.Client.CPUCores = 4, 1.2, 0.2
	return r
}

// ranAll adds runs of 10 s to two sides, in the order of a text: "ABAB".
func ranAll(order string) (a, b *Side) {
	sides := map[rune]*Side{'A': {Name: "a"}, 'B': {Name: "b"}}
	for i, letter := range order {
		file := fmt.Sprintf("%c%d.ktr", letter, i)
		sides[letter].Add(file, ranOf(file, 20*i, 1000+float64(i)))
	}
	return sides['A'], sides['B']
}

func TestARunCountsOnceByItsFullestFile(t *testing.T) {
	part, all, other := ranOf("p1", 0, 1000), ranOf("sum", 0, 2000), ranOf("q", 20, 1000)
	all.RunFiles = []result.MergedFile{{RunID: "p1"}, {RunID: "p2"}}
	second, cut := ranOf("p2", 0, 1000), ranOf("q", 20, 100)
	cut.Ended = result.CutOff
	for _, order := range [][]*result.Result{{part, all, second, cut, other, part}, {other, second, cut, part, all}} {
		var s Side
		for i, r := range order {
			s.Add(fmt.Sprintf("%d.ktr", i), r)
		}
		got := slices.Sorted(slices.Values(s.loads.values(metric.Rate)))
		if d := s.sum(); d.Runs != 2 || !slices.Equal(got, []float64{1000, 2000}) || len(d.Notes) != len(order)-2 {
			t.Errorf("%d runs of %v, %q; want the merged run and the one that was not cut off", d.Runs, got, d.Notes)
		}
		s.Add("old.ktr", &result.Result{})
		if s.Add("older.ktr", &result.Result{}); len(s.loads) != 4 {
			t.Errorf("%d runs: runs without an id are not one run", len(s.loads))
		}
		b := Side{loads: figures{{ids: []string{"p2"}, File: "b.ktr"}}}
		must.Err(t, "b.ktr, of B", must.Fail(Compare(&s, &b, 0.03)), "a part of a merged run against that run")
	}
}

// shopOf is a result of a workload, each of whose loads has a rate and a p99 of 2 ms.
func shopOf(id string, after int, rate float64, loads ...string) *result.Result {
	all := ranOf(id, after, 2*rate)
	all.Plan.Command, all.Histograms, all.Latency = plan.Workload, result.Histograms{}, result.Latencies{}
	for _, name := range loads {
		l := ranOf(id+name, after, rate)
		*l = *servedOf(2000)
		l.RunID, l.Throughput.RecordsPerSecond, l.Plan.Command, l.Plan.Read.Group = id+name, rate, plan.Produce, id
		l.Plan.Producers = int(rate) / 1000
		l.Limits = []result.Limit{{Expression: "errors>0", Held: name == "tail", Value: new(1.0), Unit: metric.Records}}
		all.Loads = append(all.Loads, result.LoadResult{Name: name, Result: *l})
		all.Limits = append(all.Limits, result.Limit{Expression: name + ".errors>0", Held: name == "tail", Value: new(1.0), Unit: metric.Records})
	}
	return all
}

// Each load has its own metrics and settings, and shares the false alarms with the others; the process is one.
func TestWorkloadsAreComparedLoadByLoad(t *testing.T) {
	sides := func(runs int, limits ...FailOn) (a, b *Side) {
		a, _ = NewSide(limits)
		b, _ = NewSide(limits)
		for i := range runs {
			a.Add(fmt.Sprint("a", i), shopOf(fmt.Sprint("a", i), 40*i, 1000+float64(i), "orders", "tail"))
			b.Add(fmt.Sprint("b", i), shopOf(fmt.Sprint("b", i), 40*i+20, 2000+float64(i), "orders", "tail"))
		}
		return a, b
	}
	for runs, told := range map[int]Change{5: TooFew, 7: Better} { // of ten metrics
		a, b := sides(runs)
		d := compare(t, a, b)
		verdicts := make(map[Metric]Change)
		for _, c := range d.Metrics {
			verdicts[c.Metric] = c.Verdict
		}
		must.Match(t, map[Metric]Change{
			"rate": told, "cpu": Same, "orders.rate": told, "orders.p50": Same, "orders.p99": Same, "orders.p99.9": Same,
			"tail.rate": told, "tail.p50": Same, "tail.p99": Same, "tail.p99.9": Same,
		}, verdicts, "%d runs a side", runs)
		must.Match(t, []string{"orders: plan.producers", "tail: plan.producers"}, mapped(d.Differs, func(d Difference) string { return d.What }), "what differs")
	}
	for text, want := range map[string][]string{
		"rate>50%":              {"rate is 99.7% higher, above 50%", "orders.rate is 99.7% higher, above 50%", "tail.rate is 99.7% higher, above 50%"},
		"tail.rate>50%":         {"tail.rate is 99.7% higher, above 50%"},
		"tail.p99.99>1%":        nil,
		"cpu>1%":                nil,
		"roughness>1%":          {"roughness was not measured in every run, or failed in one"},
		"errors>0":              {"tail.errors>0 of 7 of 7 runs of B: 1 record in b0"},
		"tail.errors>0":         {"tail.errors>0 of 7 of 7 runs of B: 1 record in b0"},
		"orders.consumer-lag>0": {"orders.consumer-lag>0 was not measured in every run, or failed in one"},
	} {
		f := must.Have(ParseFailOn(text))(t)
		a, b := sides(7, f)
		d := compare(t, a, b)
		d.Judge([]FailOn{f})
		must.Match(t, want, append([]string(nil), d.Failures...), "--fail-on %s", text)
	}
	a, b := sides(1)
	c, _ := NewSide([]FailOn{must.Have(ParseFailOn("order.rate>1%"))(t)})
	c.Add("c", shopOf("c", 20, 1000, "orders"))
	must.Err(t, `no load "order"`, must.Fail(Compare(a, c, 0.03)), "a limit of no load")
	c.asked = nil
	d := compare(t, a, c)
	must.Match(t, []Difference{{"tail: plan.command", []string{"produce"}, []string{}}}, d.Differs, "a load on one side")
	single := &Side{}
	single.Add("d", &shopOf("d", 20, 1000, "orders").Loads[0].Result)
	must.Err(t, "make workloads", must.Fail(Compare(b, single, 0.03)), "a workload against one load")
}

func TestRunsThatReadAreNotComparedWithRunsThatWrite(t *testing.T) {
	for pair, refused := range map[[2]string]bool{
		{"produce", "consume"}: true, {"consume consume", "roundtrip"}: true, {"produce consume", "produce produce"}: true,
		{"consume", "consume"}: false, {"produce", "roundtrip"}: false, {"produce consume", "consume produce"}: false,
	} {
		var sides [2]*Side
		for i, commands := range pair {
			sides[i] = sideOf("a", len(strings.Fields(commands)), 1000, 5000, 1)
			for j, c := range strings.Fields(commands) {
				sides[i].loads[j].facts["plan.command"] = c
			}
		}
		if _, err := Compare(sides[0], sides[1], 0.03); (err != nil) != refused {
			t.Errorf("%q: %v", pair, err)
		}
	}
}

// A median that is not typical of its runs is told beside the shift.
func TestTheDifferenceOfTheMediansIsToldBesideTheShift(t *testing.T) {
	a, b := ranAll("ABABABABAB")
	for i, v := range []float64{1000, 1010, 1020, 3000, 3010} {
		a.loads[i].Measures[metric.Rate], b.loads[i].Measures[metric.Rate] = v, []float64{1100, 1110, 3050, 3060, 3070}[i]
	}
	if c := compare(t, a, b).Metrics[0]; c.Medians < 1.9 || c.Shift > 1 || !strings.Contains(c.Sentence, "the medians of rate differ by +199%") {
		t.Errorf("%+v", c)
	}
}

// Without a target records wait for each other, unless each is sent after the one before was read.
func TestLatencyOfOneRecordAtATimeIsNotQueueing(t *testing.T) {
	for _, oneAtATime := range []bool{true, false} {
		var sides [2]Side
		for i := range sides {
			r := ranOf(strconv.Itoa(i), 20*i, 1000)
			r.Plan.Load.OneAtATime = oneAtATime
			sides[i].Add(r.RunID, r)
		}
		if d := compare(t, &sides[0], &sides[1]); d.Queueing == oneAtATime {
			t.Errorf("one at a time %v, latency is queueing %v", oneAtATime, d.Queueing)
		}
	}
}

func TestFromNothingThereIsNoPercentage(t *testing.T) {
	limit, _ := ParseFailOn("rate<-3%")
	for _, from := range []bool{true, false} {
		a, b := ranAll("ABABABABAB")
		dead, verdict, shift := b, Lesser, "-1"
		if from {
			dead, verdict, shift = a, Better, "null"
		}
		each(dead, func(r *LoadFigures) { r.Measures[metric.Rate] = 0 })
		d := compare(t, a, b)
		d.Judge([]FailOn{limit})
		text, err := json.Marshal(d.Metrics[0])
		if err != nil || d.Metrics[0].Verdict != verdict || !strings.Contains(string(text), `"shift":`+shift+`,"low":`+shift+`,"high":`+shift) || len(d.Failures) > 0 == from {
			t.Errorf("from nothing %v: %s, %v, failures %q", from, text, err, d.Failures)
		}
	}
}

// A roughness of nothing is no share of anything, and one that is too small to matter is alike.
func TestFlatRunsAreAlike(t *testing.T) {
	a, b := ranAll("ABABABABAB")
	for to, want := range map[float64]Change{0.0009: Same, 0.2: Lesser} {
		each(a, func(r *LoadFigures) { r.Measures[metric.Roughness] = 0 })
		each(b, func(r *LoadFigures) { r.Measures[metric.Roughness] = to })
		d := compare(t, a, b)
		c := d.Metrics[slices.IndexFunc(d.Metrics, func(c Compared) bool { return c.Metric == metric.Roughness })]
		if c.Verdict != want || c.A.Median != 0 || c.B.Median != to || c.Shift.IsKnown() {
			t.Errorf("roughness from 0 to %v: %+v, want %s", to, c, want)
		}
	}
}

func TestWhatDiffersBesideTheLoadIsSaid(t *testing.T) {
	share := func(v float64) func(*LoadFigures) { return func(r *LoadFigures) { r.shares[hostLoad] = v } }
	fact := func(name, v string) func(*LoadFigures) { return func(r *LoadFigures) { r.facts[name] = v } }
	for _, row := range []struct {
		what, order string
		a, b        func(r *LoadFigures) // what is changed in each run; nil: nothing
		want        string               // "": nothing is said
	}{
		{"runs in turns", "ABBAABBAAB", nil, nil, ""},
		{"one run a side", "AB", nil, nil, ""},
		{"all of a side first", "AAAAABBBBB", nil, nil, "the sides did not take turns: all runs of A began from 2026-11-21 12:00:00.000 to 2026-11-21 12:01:20.000"},
		{"all of the other first", "BBBAAA", nil, nil, "and those of B from 2026-11-21 12:00:00.000 to 2026-11-21 12:00:40.000 UTC"},
		{"other load", "ABABAB", nil, share(0.9), hostLoad + ": 25% in A, and 90% in B"},
		{"other load, not known of the first run", "ABABAB", func(r *LoadFigures) {
			if r.File == "A0.ktr" {
				r.shares[hostLoad] = math.NaN()
			}
		}, share(0.9), hostLoad + ": 25% in A, and 90% in B"},
		{"load that is not known", "ABABAB", nil, func(r *LoadFigures) { delete(r.shares, hostLoad) }, ""},
		{"another kernel", "ABABAB", nil, fact("host.kernel_version", "7.0"), "host.kernel_version: none in A, and 7.0 in B"},
		{"a governor", "ABABAB", fact(tuned, "as wanted"), fact(tuned, "cpu.governor powersave"), tuned + ": as wanted in A, and cpu.governor powersave in B"},
		{"a governor of one side that was looked at", "ABABAB", nil, fact(tuned, "cpu.governor powersave"), ""},
		{"a neighbour", "ABABAB", nil, func(r *LoadFigures) {
			if r.File == "B1.ktr" {
				r.from = r.from.Add(-12 * time.Second)
			}
		}, "1 pair of runs went on at one time on one host, as A0.ktr and B1.ktr"},
		{"a setting, which is what is compared", "ABABAB", nil, fact("producer acks", "1"), ""},
	} {
		a, b := ranAll(row.order)
		for s, change := range map[*Side]func(*LoadFigures){a: row.a, b: row.b} {
			if change != nil {
				each(s, change)
			}
		}
		each(b, func(r *LoadFigures) { r.Measures[metric.Rate] *= 2 })
		d := compare(t, a, b)
		if said := strings.Join(d.Beside, "; "); !strings.Contains(said, row.want) || len(d.Beside) > 1 || (row.want == "") != (said == "") {
			t.Errorf("%s: %q, want %q", row.what, said, row.want)
		}
		if c := &d.Metrics[0]; c.Verdict == Better && strings.Contains(c.Sentence, "it may come from what differs beside the load") != (row.want != "") {
			t.Errorf("%s: %q", row.what, c.Sentence)
		}
	}
}

const hostLoad = "CPUs of kt's host that others used"

func each(s *Side, change func(*LoadFigures)) {
	for _, r := range s.loads {
		change(r)
	}
}

func TestSharesOfWhatWentOnBesideARun(t *testing.T) {
	r := ranOf("a", 0, 1000)
	r.Records.Offered, r.Warmup = 900, &result.Warmup{Records: result.Records{Offered: 100}}
	r.LogEnds, r.Client.CPUStoppedShare = &result.LogEnds{Before: 5000, After: 6500}, 0.2
	r.Hosts = []result.HostRow{{Host: "vm1", Busy: &result.Busy{StealShare: 0.3}}, {Host: "vm2"}}
	must.Match(t, map[string]float64{
		hostLoad: 0.25, "periods in which the CPU limit of its container stopped kt": 0.2,
		"CPUs of vm1 that its hypervisor gave to others (steal)": 0.3, "records that others wrote to the topic, for each of kt's": 0.5,
	}, sharesOf(r), "shares")
	if r.Client.Transactions = 3; len(sharesOf(r)) != 3 {
		t.Errorf("%v: markers of transactions are not records of others", sharesOf(r))
	}
}

func TestWhatKtTuneFoundOfTheCPUIsAFact(t *testing.T) {
	r := ranOf("a", 0, 1000)
	var findings []result.TuneFinding
	for _, row := range []struct{ id, current, want string }{{"vm.swappiness", "60", "as wanted"}, {"cpu.load", "0.4", "as wanted"}, {"cpu.governor", "powersave", "cpu.governor powersave"}} {
		findings = append(findings, result.TuneFinding{ID: row.id, Current: row.current})
		r.Tune = []result.TuneCheck{{Findings: findings}}
		must.Match(t, row.want, factsOf(r)[tuned], "with %s it", row.id)
	}
}
