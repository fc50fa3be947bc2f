package metric

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

func TestAnExpressionIsReadWithItsUnit(t *testing.T) {
	for text, want := range must.Rows[map[string]struct {
		Metric  string
		Op      Op
		Than    float64
		Over    time.Duration
		Percent float64
	}](t, "metric") {
		e, err := Parse(text)
		if err != nil {
			t.Errorf("Parse(%q) gives %v", text, err)
			continue
		}
		if e.Metric.Name != want.Metric || e.Op != want.Op || e.Than != want.Than || e.Over != want.Over || e.For != want.Percent {
			t.Errorf("Parse(%q) gives %+v of %s", text, e, e.Metric.Name)
		}
	}
}

func TestAnExpressionThatIsNoneSaysWhatToWrite(t *testing.T) {
	for text, want := range must.Rows[map[string]string](t, "metric") {
		must.Err(t, want, must.Fail(Parse(text)), "Parse(%q)", text)
	}
}

func FuzzAnExpressionThatIsReadCanBeJudged(f *testing.F) {
	for _, text := range []string{"p99<20ms", "rate>=50k over 10s for 95%", "throughput>0.1MiB/s", "errors==1e3", "cpu<1e-9", "response.p99.99!=1ns", "rate>1e-300", "throughput<1TB/s"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse(text)
		if err != nil {
			return
		}
		if !slices.Contains([]Op{"<", "<=", ">", ">=", "==", "!="}, e.Op) || !(e.Than >= 0) || math.IsInf(e.Than, 0) || e.Over%time.Second != 0 || e.Over > maxOver || !(e.For >= 0 && e.For <= 100) {
			t.Errorf("Parse(%q) gives %+v", text, e)
		}
		must.True(t, !e.Worse(e.Than, e.Than) && e.Metric.Unit.Show(e.Than) != "", "Parse(%q) gives %+v, which cannot be judged", text, e)
	})
}

func TestWhatCannotBeJudgedIsAnErrorBeforeTheRun(t *testing.T) {
	plans := map[string]plan.Plan{
		"writing": {Producers: 1}, "reading": {Read: plan.Read{Consumers: 1}}, "verifying alone": {Producers: 1, Verify: true},
		"verified round trip": {Producers: 1, Read: plan.Read{Consumers: 1}, Verify: true}, "many records": {Producers: 1, Load: plan.Load{Records: 1e6}},
		"paced":    {Producers: 1, Load: plan.Load{Rate: plan.Rate{PerSecond: 1000}, Records: 20_000, Warmup: plan.Warmup{Records: 5000}}},
		"a minute": {Producers: 1, Load: plan.Load{Duration: plan.Duration(time.Minute), Warmup: plan.Warmup{Duration: plan.Duration(10 * time.Second)}}},
	}
	for _, tc := range must.Rows[[]struct {
		Name, Limit, Abort, Of string
		Elsewhere              bool
		Want                   string // "": it can be judged
	}](t, "metric") {
		var limits, aborts []string
		if tc.Limit != "" {
			limits = []string{tc.Limit}
		} else {
			aborts = []string{tc.Abort}
		}
		of := plans[tc.Of]
		err := CheckAll(limits, aborts, &of, tc.Elsewhere)
		if tc.Want == "" && err != nil || tc.Want != "" && (err == nil || !strings.Contains(err.Error(), tc.Want) || !strings.Contains(err.Error(), tc.Limit+tc.Abort)) {
			t.Errorf("%s: %v, want %q", tc.Name, err, tc.Want)
		}
	}
}

func TestAComparisonIsWhatItSays(t *testing.T) {
	for _, tc := range []struct {
		op                  Op
		below, equal, above bool
	}{{"<", true, false, false}, {"<=", true, true, false}, {">", false, false, true}, {">=", false, true, true}, {"==", false, true, false}, {"!=", true, false, true}} {
		e := Expr{Op: tc.op, Than: 5}
		if e.Holds(4) != tc.below || e.Holds(5) != tc.equal || e.Holds(6) != tc.above {
			t.Errorf("%s 5: of 4, 5 and 6 hold %t, %t, %t", tc.op, e.Holds(4), e.Holds(5), e.Holds(6))
		}
	}
}

func TestAShareOfTheStretchesIsEnough(t *testing.T) {
	for _, tc := range []struct {
		percent  float64
		held, of int64
		want     bool
	}{{0, 10, 10, true}, {0, 9, 10, false}, {95, 19, 20, true}, {95, 18, 20, false}, {100, 20, 20, true}, {0.1, 0, 20, false}} {
		if e := (Expr{For: tc.percent}); e.Enough(tc.held, tc.of) != tc.want {
			t.Errorf("%d of %d for %g %%: want %t", tc.held, tc.of, tc.percent, tc.want)
		}
	}
}

// What has a name can be judged by limits, and compared; what is exported has a series of every run that has it.
func TestEveryMetricHasAValueOfFiguresThatHaveAll(t *testing.T) {
	var w stats.Window
	w.Errors, w.FetchErrors, w.Brokers = map[string]int64{"A": 1}, map[string]int64{"A": 1}, map[int32]stats.Broker{1: {}}
	w.Deliveries = map[string]int64{"2": 1}
	f := &Figures{
		Plan: &plan.Plan{Producers: 1, Read: plan.Read{Consumers: 1}}, Window: &w, Cores: 1, Verify: &ledger.Verdict{Acknowledged: 1, Lost: 1, Duplicated: 1, Reordered: 1, Corrupted: 1},
		Now: &Now{Info: make([]string, 5), Stages: []string{"running"}},
	}
	for _, m := range all() {
		if m.Histogram != "" {
			m.histogram(&w, true).Record(time.Millisecond)
		}
	}
	for _, m := range Metrics() {
		v, ok := m.Value(f)
		must.True(t, ok && (m.Kind != Latency || v == 1000), "%s: %g, %t", m.Name, v, ok)
		one := map[Unit]string{Time: "1ms", BytesRate: "1MiB/s", Ratio: "5%"}[m.Unit]
		if e, err := Parse(m.Name + "<" + cmp.Or(one, "1")); err != nil || e.String() != m.Name+"<"+cmp.Or(one, "1") {
			t.Error(e, err)
		}
		if kept := m.Keep(f.Plan, &w); m.Histogram != "" && m.histogram(&kept, true).Count() == 0 {
			t.Errorf("%s: its histogram is not kept", m.Name)
		}
	}
	for _, m := range Exported() {
		n := 0
		m.Series(f, map[string]*stats.Window{"measured": &w}, func(v Value, labels ...string) {
			if n++; len(labels) != len(m.Labels) || (v.Times != nil) != m.IsDistribution() {
				t.Errorf("%s: labels %q of %q", m.Export, labels, m.Labels)
			}
		})
		must.True(t, n != 0, "%s has no series", m.Export)
	}
}

func TestTheDocumentListsTheMetrics(t *testing.T) {
	const page, begin, end = "../../../docs/metrics.md", "<!-- metrics: written by go test ./internal/result/metric -update -->\n", "<!-- /metrics -->"
	text, err := os.ReadFile(page)
	must.Do(t, err)
	before, rest, _ := strings.Cut(string(text), begin)
	got, after, found := strings.Cut(rest, end)
	must.Hold(t, found, "%s has no place for the list", page)
	want := "\n" + table() + "\n"
	if must.Update() {
		err = os.WriteFile(page, []byte(before+begin+want+end+after), 0o644)
	} else if got != want {
		err = fmt.Errorf("%s differs from the catalogue; accept with -update", page)
	}
	must.Do(t, err)
}

// table returns the catalogue as Markdown.
func table() string {
	var b strings.Builder
	b.WriteString("| name | for Prometheus | unit | labels | of runs that | what it is |\n|---|---|---|---|---|---|\n")
	code := func(names ...string) string {
		if text := strings.Join(names, "`, `"); text != "" {
			return "`" + text + "`"
		}
		return ""
	}
	for _, m := range all() {
		name := m.Name
		if m.Histogram != "" {
			name = m.quantiles()[0].Name
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", code(name), code(m.Export), m.Unit, code(m.Labels...), m.Needs, m.About)
	}
	return b.String()
}
