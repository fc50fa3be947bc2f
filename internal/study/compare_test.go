//go:build !race

package study

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/result/verdict"
)

// sideOf returns a side of runs whose throughput and p99 have some means and a noise of 1 %.
func sideOf(name string, runs int, throughput, p99 float64, seed uint64) *Side {
	chance := rand.New(rand.NewPCG(seed, 7))
	s := &Side{Name: name}
	for range runs {
		l := LoadFigures{Measures: make(Measures[float64])}
		l.Valid = true
		l.Measures[metric.Rate] = throughput * (1 + 0.01*chance.NormFloat64())
		l.Measures[metric.P99] = p99 * (1 + 0.01*chance.NormFloat64())
		l.facts = map[string]string{"producer acks": name, "kt": "1"}
		s.runs = append(s.runs, &l)
	}
	return s
}

func compare(t *testing.T, a, b *Side) *CompareDocument {
	t.Helper()
	d := must.Have(Compare(a, b, 0.03))(t)
	return d
}

func TestAComparisonTellsBetterFromWorseByTheMetric(t *testing.T) {
	d := compare(t, sideOf("1", 8, 100_000, 5000, 1), sideOf("all", 8, 80_000, 4000, 2))
	verdicts := make(map[Metric]Change)
	for _, c := range d.Metrics {
		verdicts[c.Metric] = c.Verdict
	}
	if len(verdicts) != 2 || verdicts[metric.Rate] != Lesser || verdicts[metric.P99] != Better {
		t.Errorf("verdicts %v, want a lower throughput to be worse and a lower p99 to be better", verdicts)
	}
	if len(d.Differs) != 1 || d.Differs[0].What != "producer acks" {
		t.Errorf("what differs is %v, want the acks alone", d.Differs)
	}
	d = compare(t, sideOf("1", 8, 100_000, 5000, 3), sideOf("1", 8, 100_500, 5020, 4))
	for _, c := range d.Metrics {
		if c.Verdict != Same {
			t.Errorf("%s: %+v, want alike", c.Metric, c)
		}
	}
}

// Without any effect at most 5 % of comparisons may name one, in whatever metric.
func TestComparisonsWithoutAnEffectRarelyNameOne(t *testing.T) {
	const times = 400
	named := 0
	for i := range uint64(times) {
		d := compare(t, sideOf("a", 6, 100_000, 5000, 2*i), sideOf("a", 6, 100_000, 5000, 2*i+1))
		for _, c := range d.Metrics {
			if c.Verdict == Better || c.Verdict == Lesser {
				named++
				break
			}
		}
	}
	if named > times*5/100 {
		t.Errorf("%d of %d comparisons without an effect name one", named, times)
	}
}

func TestAGateOpensOnlyForAShiftThatIsTold(t *testing.T) {
	gate := func(text string) []FailOn {
		f := must.Have(ParseFailOn(text))(t)
		return []FailOn{f}
	}
	for _, row := range []struct {
		name   string
		a, b   *Side
		limit  string
		closed bool
	}{
		{"worse", sideOf("a", 8, 100_000, 5000, 1), sideOf("a", 8, 90_000, 5000, 2), "rate<-3%", true},
		{"worse, but less than allowed", sideOf("a", 8, 100_000, 5000, 1), sideOf("a", 8, 90_000, 5000, 2), "rate<-20%", false},
		{"alike", sideOf("a", 8, 100_000, 5000, 3), sideOf("a", 8, 100_500, 5000, 4), "rate<0%", false},
		{"higher latency", sideOf("a", 8, 100_000, 5000, 5), sideOf("a", 8, 100_000, 6000, 6), "p99>10%", true},
		{"one run a side", sideOf("a", 1, 100_000, 5000, 7), sideOf("a", 1, 50_000, 5000, 8), "rate<-3%", true},
		{"too few runs to tell", sideOf("a", 4, 100_000, 5000, 7), sideOf("a", 4, 95_000, 5000, 8), "rate<-3%", true},
		{"not measured", sideOf("a", 8, 100_000, 5000, 9), sideOf("a", 8, 100_000, 5000, 10), "p50>10%", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := compare(t, row.a, row.b)
			d.Judge(gate(row.limit))
			if closed := len(d.Failures) > 0; closed != row.closed {
				t.Errorf("failures %q, want some: %v", d.Failures, row.closed)
			}
		})
	}
	if c := compare(t, sideOf("a", 1, 100_000, 5000, 1), sideOf("a", 1, 50_000, 5000, 2)).Metrics[0]; c.Verdict != TooFew || !strings.Contains(c.Sentence, "one run a side") {
		t.Errorf("one run a side is no proof: %+v", c)
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
		got := s.runs.values(metric.Rate)
		slices.Sort(got)
		if d := s.doc(); d.Runs != 2 || !slices.Equal(got, []float64{1000, 2000}) || len(d.Notes) != len(order)-2 {
			t.Errorf("%d runs of %v, %q; want the merged run and the one that was not cut off", d.Runs, got, d.Notes)
		}
	}
	var a Side
	a.Add("a.ktr", other)
	a.Add("copy.ktr", other)
	if d := a.doc(); !slices.Equal(d.Notes, []string{"copy.ktr is the same run as a.ktr: it counts once"}) {
		t.Errorf("notes %q", d.Notes)
	}
	a.Add("old.ktr", &result.Result{})
	a.Add("older.ktr", &result.Result{})
	if len(a.runs) != 3 {
		t.Errorf("%d runs: runs without an id are not one run", len(a.runs))
	}
}

func TestARunOnBothSidesIsRefused(t *testing.T) {
	a, b := ranAll("AABB")
	whole := ranOf("sum", 0, 2000)
	whole.RunFiles = []result.MergedFile{{RunID: "A1.ktr"}}
	b.Add("whole.ktr", whole)
	_, err := Compare(a, b, 0.03)
	if err == nil || !strings.Contains(err.Error(), "A1.ktr, of A") || !strings.Contains(err.Error(), "whole.ktr, of B") {
		t.Errorf("a part of a merged run against that run gives %v", err)
	}
}

func TestRunsThatReadAreNotComparedWithRunsThatWrite(t *testing.T) {
	of := func(commands ...string) *Side {
		s := sideOf("a", len(commands), 1000, 5000, 1)
		for i, c := range commands {
			s.runs[i].facts["plan.command"] = c
		}
		return s
	}
	for _, row := range []struct {
		a, b    *Side
		refused bool
	}{
		{of("produce"), of("consume"), true},
		{of("consume", "consume"), of("roundtrip"), true},
		{of("produce", "consume"), of("produce", "produce"), true},
		{of("consume"), of("consume"), false},
		{of("produce"), of("roundtrip"), false},
		{of("produce", "consume"), of("consume", "produce"), false},
	} {
		if _, err := Compare(row.a, row.b, 0.03); (err != nil) != row.refused {
			t.Errorf("%s against %s: %v", row.a.does(), row.b.does(), err)
		}
	}
}

// A median that is not typical of its runs is told beside the shift.
func TestTheDifferenceOfTheMediansIsToldBesideTheShift(t *testing.T) {
	a, b := ranAll("ABABABABAB")
	for i, v := range []float64{1000, 1010, 1020, 3000, 3010} {
		a.runs[i].Measures[metric.Rate] = v
	}
	for i, v := range []float64{1100, 1110, 3050, 3060, 3070} {
		b.runs[i].Measures[metric.Rate] = v
	}
	c := compare(t, a, b).Metrics[0]
	if c.Medians < 1.9 || c.Shift > 1 || !strings.Contains(c.Sentence, "the medians of rate differ by +199%") {
		t.Errorf("%+v", c)
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
		if m := dead.runs.values(metric.Rate); spread(m) != (Spread{N: 5}) {
			t.Errorf("nothing is %+v", spread(m))
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
	for _, row := range []struct {
		what, order string
		change      func(a, b *Side)
		want        string // "": nothing is said
	}{
		{"runs in turns", "ABBAABBAAB", func(_, _ *Side) {}, ""},
		{"one run a side", "AB", func(_, _ *Side) {}, ""},
		{"all of a side first", "AAAAABBBBB", func(_, _ *Side) {}, "the sides did not take turns: all runs of A began from 2026-11-21 12:00:00.000 to 2026-11-21 12:01:20.000"},
		{"all of the other first", "BBBAAA", func(_, _ *Side) {}, "and those of B from 2026-11-21 12:00:00.000 to 2026-11-21 12:00:40.000 UTC"},
		{"other load", "ABABAB", func(_, b *Side) { each(b, func(r *LoadFigures) { r.shares[hostLoad] = 0.9 }) }, hostLoad + ": 25% in A, and 90% in B"},
		{"other load, not known of the first run", "ABABAB", func(a, b *Side) {
			each(b, func(r *LoadFigures) { r.shares[hostLoad] = 0.9 })
			delete(a.runs[0].shares, hostLoad)
			a.runs[1].shares[hostLoad] = math.NaN()
		}, hostLoad + ": 25% in A, and 90% in B"},
		{"load that is not known", "ABABAB", func(_, b *Side) { each(b, func(r *LoadFigures) { delete(r.shares, hostLoad) }) }, ""},
		{"another kernel", "ABABAB", func(_, b *Side) { each(b, func(r *LoadFigures) { r.facts["host.kernel_version"] = "7.0" }) }, "host.kernel_version: none in A, and 7.0 in B"},
		{"a governor", "ABABAB", func(a, b *Side) {
			each(a, func(r *LoadFigures) { r.facts[tuned] = "as wanted" })
			each(b, func(r *LoadFigures) { r.facts[tuned] = "cpu.governor powersave" })
		}, tuned + ": as wanted in A, and cpu.governor powersave in B"},
		{"a governor of one side that was looked at", "ABABAB", func(_, b *Side) { each(b, func(r *LoadFigures) { r.facts[tuned] = "cpu.governor powersave" }) }, ""},
		{"a neighbour", "ABABAB", func(_, b *Side) { b.runs[0].from = b.runs[0].from.Add(-12 * time.Second) }, "1 pair of runs went on at one time on one host, as A0.ktr and B1.ktr"},
		{"a setting, which is what is compared", "ABABAB", func(_, b *Side) { each(b, func(r *LoadFigures) { r.facts["producer acks"] = "1" }) }, ""},
	} {
		a, b := ranAll(row.order)
		row.change(a, b)
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
	for i := range s.runs {
		change(s.runs[i])
	}
}

func TestSharesOfWhatWentOnBesideARun(t *testing.T) {
	r := ranOf("a", 0, 1000)
	r.Records.Offered, r.Warmup = 900, &result.Warmup{Records: result.Records{Offered: 100}}
	r.LogEnds, r.Client.CPUStoppedShare = &result.LogEnds{Before: 5000, After: 6500}, 0.2
	r.Hosts = []result.HostRow{{Host: "vm1", Busy: &result.Busy{StealShare: 0.3}}, {Host: "vm2"}}
	got := sharesOf(r)
	for what, want := range map[string]float64{
		hostLoad: 0.25, "periods in which the CPU limit of its container stopped kt": 0.2,
		"CPUs of vm1 that its hypervisor gave to others (steal)": 0.3, "records that others wrote to the topic, for each of kt's": 0.5,
	} {
		if got[what] != want {
			t.Errorf("%s: %v, want %v", what, got[what], want)
		}
	}
	if r.Client.Transactions = 3; len(got) != 4 || len(sharesOf(r)) != 3 {
		t.Errorf("%v and %v: markers of transactions are not records of others", got, sharesOf(r))
	}
}

func TestWhatKtTuneFoundOfTheCPUIsAFact(t *testing.T) {
	r := ranOf("a", 0, 1000)
	if _, ok := factsOf(r)[tuned]; ok {
		t.Error("a run that was not checked has a fact of it")
	}
	r.Tune = []result.TuneCheck{{Findings: []result.TuneFinding{{ID: "vm.swappiness", Current: "60"}, {ID: "cpu.load", Current: "0.4"}}}}
	if got := factsOf(r)[tuned]; got != "as wanted" {
		t.Errorf("a CPU without findings is %q", got)
	}
	r.Tune[0].Findings = append(r.Tune[0].Findings, result.TuneFinding{ID: "cpu.governor", Current: "powersave"})
	if got := factsOf(r)[tuned]; got != "cpu.governor powersave" {
		t.Errorf("a governor is %q", got)
	}
}
