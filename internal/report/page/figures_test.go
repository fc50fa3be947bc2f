package page

import (
	"io"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/study"
)

func TestAPageCountsPartitionsThatGotNothing(t *testing.T) {
	r := runs()["produce"]
	r.Partitions = []result.PartitionRow{{ID: 0, Records: 200}, {ID: 1, Records: 100}}
	if text := textOf(pageOf(t, r)); !strings.Contains(text, "6 partitions; skew 4.00 ") {
		t.Errorf("two of six partitions got records:\n%s", text)
	}
}

func TestAPageOfARunThatIsTooShortHasNoRate(t *testing.T) {
	r := runs()["produce"]
	r.Throughput.Seconds, r.Throughput.RecordsPerSecond, r.TargetReached = 0.9, 777, nil
	figures := result.Figures{RecordsPerSecond: 777, MiBPerSecond: 777}
	r.Hosts = []result.HostRow{{Host: "vm14", Processes: 1, Figures: figures}}
	r.Processes = []result.ProcessRow{{Host: "vm14", Process: 1, Counted: true, Figures: figures}}
	if text := textOf(pageOf(t, r)); strings.Contains(text, "777") {
		t.Errorf("a rate of 0.9 s is quoted:\n%s", text)
	}
}

func TestErrorsOfAPageAreThoseOfALimitAndLossesStandBeside(t *testing.T) {
	r := runs()["produce"]
	r.Records.Failed, r.Records.Unknown, r.Records.Unsent = 3, 2, 1
	r.Verify = &ledger.Verdict{Lost: 10}
	if text := textOf(pageOf(t, r)); !strings.Contains(text, "errors 6 3 failed 2 unknown 1 never sent 10 lost ") {
		t.Error(text)
	}
	if text := textOf(written(t, func(w io.Writer) error { return Several(w, []result.Result{r}, []string{"a"}) })); !strings.Contains(text, "never sent 6\nlost 10\n") {
		t.Error(text)
	}
}

func TestAStudyPageSaysInHowManyRunsAnEffectWasSeen(t *testing.T) {
	d := studied()
	f := &d.Cells[0].CellFigures
	d.Cells[0].Runs = []study.RunDoc{{Loads: []study.LoadFigures{{FaultFigures: study.FaultFigures{Failed: 7}}}}}
	f.Failed, f.Recovered = study.Spread{N: 5, Median: 7, Low: 7, High: 7}, study.Spread{N: 2, Median: 1500, Low: 1500, High: 1500}
	if text := textOf(written(t, func(w io.Writer) error { return Study(w, d, report.Options{}) })); !strings.Contains(text, "1.50s, 2 of 5 runs") {
		t.Error(text)
	}
}

func TestAPlotWritesItsValuesAsTheTableDoes(t *testing.T) {
	d := studied()
	for i := range d.Cells {
		d.Cells[i].Roughness, d.Cells[i].Bytes = study.Spread{N: 6, Median: 0.05, Low: 0.04, High: 0.06}, study.Spread{N: 6, Median: 11.444, Low: 11, High: 12}
	}
	for m, want := range map[study.Metric]string{
		study.Roughness: "1: 5%; all: 5%.", study.Bytes: "1: 11.44; all: 11.44.", study.P99: "1: 4.00ms; all: 4.00ms.",
	} {
		d.Answers[0].By = m
		page := written(t, func(w io.Writer) error { return Study(w, d, report.Options{}) })
		if !strings.Contains(page, want) {
			t.Errorf("%s: the page lacks %q", m, want)
		}
	}
}

func TestPointsAreJoinedInTheOrderOfTheirRates(t *testing.T) {
	d := found()
	d.Curve = []study.CurvePoint{{Rate: 2.6}, {Rate: 2.2}, {Rate: 2.4}}
	if g := curve(d).Groups[0].Points; g[0].X != 2.2 || g[1].X != 2.4 {
		t.Errorf("%+v", g)
	}
}

func TestNamesOfFactorsAreCleanedInTablesAndPlots(t *testing.T) {
	const bad = "\x1b[31mred"
	d := studied()
	d.Study.Factors[0] = study.Factor{Name: bad, Values: []string{bad}}
	d.Answers[0].Factor = bad
	for i := range d.Cells {
		d.Cells[i].At = map[string]string{bad: bad}
	}
	if page := written(t, func(w io.Writer) error { return Study(w, d, report.Options{}) }); strings.Contains(page, "\x1b") {
		t.Error("an escape sequence of a study is in its page")
	}
}
