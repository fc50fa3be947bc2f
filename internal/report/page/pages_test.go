package page

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/study"
)

func written(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// sides are two sets of made-up runs.
func sides() (a, b *study.Side) {
	of := runs()
	slow, fast := of["produce"], of["unlimited"]
	a, b = &study.Side{Name: "old"}, &study.Side{Name: "new"}
	for i := range 6 {
		slow.Throughput.RecordsPerSecond, fast.Throughput.RecordsPerSecond = 100+float64(i), 120+float64(i)
		slow.RunID, fast.RunID = fmt.Sprint("a", i), fmt.Sprint("b", i)
		slow.StartedAt, fast.StartedAt = slow.StartedAt.Add(2*time.Hour), slow.StartedAt.Add(time.Hour)
		a.Add("a.ktr", &slow)
		b.Add("b.ktr", &fast)
	}
	return a, b
}

// found is a made-up search.
func found() *study.Document {
	search := study.DefaultSearch()
	search.SLO = []study.SLO{{Metric: study.P99, Below: 20_000}}
	d := &study.Document{
		ID: "20261121-find", Study: &study.Study{Loads: []study.Load{{Command: "produce"}}, Find: &search}, Over: true, Sentence: "90,000 records/s hold",
		FindDoc: &study.FindDoc{
			Peak: study.PeakRate{RecordsPerSecond: 90_000, Low: 90_000, High: 91_000}, Limit: study.FindLimit{Verdict: verdict.Verdict{Limit: verdict.Sockets}},
			Trials: []study.Trial{
				{Step: study.Step{Kind: study.Burst}, Outcome: study.Passed, Achieved: 110_000},
				{Step: study.Step{Kind: study.Bracket, Rate: 121_000}, Outcome: study.Failed, Achieved: 99_000, Reasons: []string{"p99 1.2s is not below 20ms"}},
				{Step: study.Step{Kind: study.Confirm, Rate: 90_000}, Outcome: study.Passed, Achieved: 90_000},
			},
		},
	}
	for _, c := range []struct {
		share, p99 float64
		knee       bool
	}{{0.2, 2_000, false}, {0.5, 2_500, false}, {0.8, 3_900, true}, {0.95, 17_000, false}} {
		d.Curve = append(d.Curve, study.CurvePoint{Share: c.share, Rate: 90_000 * c.share, Latency: study.Latency[float64]{P50: 1_000, P99: c.p99, P999: 3 * c.p99}, Knee: c.knee})
	}
	return d
}

// studied is a made-up study of two values.
func studied() *study.Document {
	cell := func(value string, median float64) study.CellDoc {
		c := study.CellDoc{At: map[string]string{"acks": value}, Runs: []study.RunDoc{}}
		c.Throughput = study.Spread{Median: median, Low: median * 0.9, High: median * 1.1, N: 6}
		c.Latency.P99 = study.Spread{Median: 4_000, Low: 3_000, High: 9_000, N: 6}
		c.Limits = []verdict.Limit{verdict.Sockets}
		return c
	}
	return &study.Document{
		ID: "20261121-acks", Study: &study.Study{Name: "acks", About: "What do acks cost?", Factors: []study.Factor{{Name: "acks", Values: []string{"1", "all"}}}, Loads: []study.Load{{Command: "produce"}}},
		GridDoc: &study.GridDoc{
			Runs: 12, Wanted: 12, Cells: []study.CellDoc{cell("1", 120_000), cell("all", 80_000)},
			Answers:   []study.Answer{{Factor: "acks", By: study.Throughput, Best: "1", LikeBest: []string{"1"}, At: map[string]string{}, Sentence: "acks=1 is best"}},
			Published: []study.Published{{PublishedCase: study.PublishedCase{Source: "000", Case: "acks"}, At: map[string]string{"acks": "1"}, RecordsPerSecond: 100_000, Here: 120_000, Ratio: 1.2, Environment: "3 brokers", EnvironmentHere: "1 broker"}},
		},
	}
}

// pages are a page of each kind but that of a run.
func pages(t *testing.T) map[string]string {
	t.Helper()
	of := runs()
	several := []result.Result{of["produce"], of["roundtrip"], of["consume"]}
	a, b := sides()
	compared, err := study.Compare(a, b, 0.03)
	if err != nil {
		t.Fatal(err)
	}
	trial := &study.Document{
		ID: "20261121-trial", Study: &study.Study{Loads: []study.Load{{Command: "produce"}}, Trial: &study.Proposal{Changes: []study.Flag{{Name: "linger", Value: "20ms"}}}},
		TrialDoc: &study.TrialDoc{Control: compared.A, Changed: compared.B, Effects: []study.Effect{{Compared: compared.Metrics[0], Clear: true}}}, Sentence: "linger=20ms helps",
	}
	return map[string]string{
		"several": written(t, func(w io.Writer) error { return Several(w, several, []string{"a.ktr", "b.ktr", "c.ktr"}) }),
		"compare": written(t, func(w io.Writer) error { return Compare(w, compared, report.Options{}) }),
		"study":   written(t, func(w io.Writer) error { return Study(w, studied(), report.Options{}) }),
		"find":    written(t, func(w io.Writer) error { return Find(w, found(), report.Options{}) }),
		"trial":   written(t, func(w io.Writer) error { return Trial(w, trial, report.Options{}) }),
	}
}

func TestPagesOfManyRunsReadAsTheGoldenFilesShow(t *testing.T) {
	for name, page := range pages(t) {
		isGolden(t, "of-"+name, page)
	}
}

func TestPagesOfManyRunsHaveTheirPictures(t *testing.T) {
	of := pages(t)
	for name, wants := range map[string][]string{
		"several": {`<text class="label run0"`, `<text class="label run2"`, `class="line run1" stroke-dasharray="7 3"`, `"label":"C"`},
		"compare": {`<svg class="shift good"`, `<rect x=`},
		"study":   {`aria-label="throughput by acks. 1: 120,000; all: 80,000."`, `<g class="dot flow strong">`},
		"find":    {`>knee</text>`, `>p99 &lt; 20.0ms</text>`, `<g class="dot bad">`, `>peak 90.0k/s</text>`},
		"trial":   {`<svg class="shift`},
	} {
		for _, want := range wants {
			if !strings.Contains(of[name], want) {
				t.Errorf("%s lacks %s", name, want)
			}
		}
	}
	for name, page := range of {
		seen := make(map[string]bool)
		for _, id := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if seen[id[1]] {
				t.Errorf("%s has two elements %s", name, id[1])
			}
			seen[id[1]] = true
		}
		page, _, _ = strings.Cut(page, "<script")
		if strings.Contains(page, "NaN") || strings.Contains(page, " style=") {
			t.Errorf("%s has a NaN or a style of its own", name)
		}
	}
}

func TestRunsOfOtherStepsAreShownOverTheSameTime(t *testing.T) {
	long := runs()["produce"]
	short := long
	short.Series = nil
	for i := range 4 { // four steps of half a second, and a hole of one
		start := 0.5 * float64(i)
		if i > 1 {
			start++
		}
		short.Series = append(short.Series, result.Point{StartSeconds: start, Seconds: 0.5, Acknowledged: int64(10 * (i + 1)), P99: result.Micros(1000 * (i + 1))})
	}
	p := newSeveralPage([]result.Result{long, short}, []string{"a", "b"})
	rates, p99 := p.along(p.runs[1], p.runs[1].rateIn), p.along(p.runs[1], p.runs[1].p99In)
	for i, want := range []struct{ rate, p99 float64 }{{30, 0.002}, {0, 0}, {70, 0.004}} {
		if want.rate == 0 {
			if rates[i] == rates[i] || p99[i] == p99[i] {
				t.Errorf("second %d: %v and %v, want a hole", i, rates[i], p99[i])
			}
		} else if rates[i] != want.rate || p99[i] != want.p99 {
			t.Errorf("second %d: %v and %v, want %+v", i, rates[i], p99[i], want)
		}
	}
	if len(p.times) < 40 || rates[30] == rates[30] {
		t.Errorf("%d steps, the last of the short run is not its end", len(p.times))
	}
}

func TestAPageHasRoomForEightRuns(t *testing.T) {
	r := runs()["produce"]
	if err := Several(io.Discard, slices.Repeat([]result.Result{r}, MaxRuns), slices.Repeat([]string{"a"}, MaxRuns)); err != nil {
		t.Error(err)
	}
}

func TestNothingOfManyRunsIsMarkup(t *testing.T) {
	const bad = `<img src=x onerror=alert(1)>`
	r := runs()["produce"]
	r.Plan.Topic.Name, r.BoundBy.Evidence, r.Args = bad, bad, []string{bad}
	d, f := studied(), found()
	d.Study.Name, d.Study.About, d.Answers[0].Sentence, d.Published[0].Environment = bad, bad, bad, bad
	d.Study.Factors[0] = study.Factor{Name: bad, Values: []string{bad}}
	d.Answers[0].Factor = bad
	for i := range d.Cells {
		d.Cells[i].At = map[string]string{bad: bad}
	}
	f.Sentence, f.Trials[1].Reasons = bad, []string{bad}
	a, b := &study.Side{Name: bad}, &study.Side{Name: bad}
	a.Add(bad, &r)
	other := r
	other.RunID = "other"
	b.Add(bad, &other)
	c, err := study.Compare(a, b, 0.03)
	if err != nil {
		t.Fatal(err)
	}
	c.Beside, c.A.Notes = []string{bad}, []string{bad}
	c.Failures, c.Differs = []string{bad}, []study.Difference{{What: bad, A: []string{bad}}}
	for name, write := range map[string]func(io.Writer) error{
		"several": func(w io.Writer) error { return Several(w, []result.Result{r, r}, []string{bad, bad}) },
		"compare": func(w io.Writer) error { return Compare(w, c, report.Options{}) },
		"study":   func(w io.Writer) error { return Study(w, d, report.Options{}) },
		"find":    func(w io.Writer) error { return Find(w, f, report.Options{}) },
	} {
		if page := written(t, write); strings.Contains(page, "<img") {
			t.Errorf("%s: text became markup", name)
		}
	}
}
