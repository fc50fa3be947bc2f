package page

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

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

//go:embed testdata/studies.json
var studies []byte

//go:embed testdata/optima.json
var optima []byte

// fixture returns a made-up study of testdata/studies.json, each time another copy.
func fixture[T any](name string) T { return fixtureOf[T](studies, name) }

func fixtureOf[T any](file []byte, name string) (v T) {
	var all map[string]json.RawMessage
	err := json.Unmarshal(file, &all)
	if err = cmp.Or(err, json.Unmarshal(all[name], &v)); err != nil {
		panic(err)
	}
	return v
}

// optimum is a simulated search for the best settings of testdata/optima.json, of which a few cells were kept.
func optimum(name string) *study.Document { return fixtureOf[*study.Document](optima, name) }

func found() *study.Document   { return fixture[*study.Document]("found") }
func studied() *study.Document { return fixture[*study.Document]("studied") } // of two values
func whole() *study.Document   { return fixture[*study.Document]("whole") }   // of both as parts

// compared is a made-up comparison.
func compared(t *testing.T) *study.CompareDocument {
	t.Helper()
	a, b := sides()
	d, err := study.Compare(a, b, 0.03)
	must.Do(t, err)
	return d
}

// tried is a made-up trial.
func tried(t *testing.T) *study.Document {
	c := compared(t)
	return &study.Document{
		ID: "20261121-trial", Study: &study.Study{Loads: []study.Load{{Command: "produce"}}, Trial: &study.Proposal{Changes: []study.Flag{{Name: "linger", Value: "20ms"}}}},
		TrialDoc: &study.TrialDoc{Control: c.A, Changed: c.B, Effects: c.Metrics[:1]}, Sentence: "linger=20ms helps",
	}
}

// plans are what a study, a search and a trial will take, as one study of parts.
func plans() *report.StudyPlan {
	p := &report.StudyPlan{Study: &study.Study{Name: "all"}, Parts: fixture[[]*study.Forecast]("plans")}
	for _, f := range p.Parts {
		p.Study.Parts = append(p.Study.Parts, f.Study)
	}
	return p
}

// documents are a document of each kind of study.
func documents(t *testing.T) map[string]*doc.Document {
	t.Helper()
	return map[string]*doc.Document{
		"study": report.StudyDoc(studied()), "find": report.StudyDoc(found()), "trial": report.StudyDoc(tried(t)), "compare": report.CompareDoc(compared(t)),
		"whole": report.StudyDoc(whole()), "plans": report.PlanDoc(plans()),
		"optimum": report.StudyDoc(optimum("better")), "optimum-same": report.StudyDoc(optimum("same")),
		"optimum-cut": report.StudyDoc(optimum("cut off")), "optimum-limit": report.StudyDoc(optimum("limit")),
	}
}

func csvOf(d *doc.Document) func(io.Writer) error {
	return func(w io.Writer) error { return report.Write(w, "csv", d, nil, report.Options{}) }
}

// Each golden file has a document as text, Markdown and CSV. The page has the same tables.
func TestDocumentsOfStudiesAreWhatTheGoldenFilesShow(t *testing.T) {
	for name, d := range documents(t) {
		var all strings.Builder
		for _, f := range []struct {
			name  string
			write func(io.Writer) error
		}{{"text", func(w io.Writer) error { return d.Text(w, doc.Options{Width: 100}) }}, {"markdown", d.Markdown}, {"csv", csvOf(d)}} {
			all.WriteString("-- " + f.name + " --\n" + written(t, f.write))
		}
		must.Golden(t, "testdata/study-"+name+".txt", all.String())
		isSound(t, pageOfDoc(t, d))
	}
}

// isSound fails if a page has two elements of one id, a style of its own or no number, or lacks a text.
func isSound(t *testing.T, page string, wants ...string) {
	t.Helper()
	must.Has(t, "the page", page, wants...)
	seen := make(map[string]bool)
	for _, id := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		must.True(t, !seen[id[1]], "two elements are %s", id[1])
		seen[id[1]] = true
	}
	page, _, _ = strings.Cut(page, "<script")
	must.True(t, !strings.Contains(page, "NaN") && !strings.Contains(page, " style="), "the page has a NaN or a style of its own")
}

func TestPagesOfStudiesHaveTheirPictures(t *testing.T) {
	d := found()
	d.Trials = append(d.Trials, study.Trial{Step: study.Step{Kind: study.Confirm, Rate: 90_000}, Outcome: study.Invalid, Achieved: 90_000})
	d.Curve[0], d.Curve[1] = d.Curve[1], d.Curve[0] // they are joined in the order of their rates
	isSound(t, pageOfDoc(t, report.StudyDoc(d)), `aria-label="Latency by rate. p99 18.0k/s: 2.00ms; p99 45.0k/s: 2.50ms`, `>knee</text>`, `>p99&lt;20ms</text>`,
		`<g class="dot bad"><path d="M`, `h10v10h-10z`, `>not valid</text>`, `>peak 90.0k/s</text>`)
	isSound(t, pageOfDoc(t, report.CompareDoc(compared(t))), `<svg class="shift good"`, `<rect x=`)
	for m, want := range map[study.Metric]string{
		metric.Rate: "1: 120,000; all: 80,000.", metric.Roughness: "1: 5%; all: 5%.", metric.Throughput: "1: 11.4; all: 11.4.", metric.P99: "1: 4.00ms; all: 4.00ms.",
	} {
		d := studied()
		for i := range d.Cells {
			d.Cells[i].Measures[metric.Roughness] = study.Spread{N: 6, Median: 0.05, Low: 0.04, High: 0.06}
			d.Cells[i].Measures[metric.Throughput] = study.Spread{N: 6, Median: 12_000_000, Low: 11_000_000, High: 13_000_000}
		}
		d.Answers[0].By = m
		isSound(t, pageOfDoc(t, report.StudyDoc(d)), want, ` strong">`)
	}
}

func pageOfDoc(t *testing.T, d *doc.Document) string {
	t.Helper()
	return written(t, func(w io.Writer) error { return Doc(w, d) })
}

func TestTheEffectsOfFaultsAreToldWithTheRunsThatSawThem(t *testing.T) {
	d := studied()
	f := &d.Cells[0].CellFigures
	d.Cells[0].Runs = []study.RunDoc{{Loads: []study.LoadFigures{{Failed: 7}}}}
	f.Failed, f.Recovered = study.Spread{N: 5, Median: 7, Low: 7, High: 7}, study.Spread{N: 2, Median: 1500, Low: 1500, High: 1500}
	must.Has(t, "the effects", written(t, report.StudyDoc(d).Markdown), "| 1 | 7 | – | – | – | 1.50s, 2 of 5 runs | – |")
}

// A published figure without a run here has a row as well, and no ratio.
func TestAPublishedFigureHasARatioOnlyBesideARunOfTheSameLoad(t *testing.T) {
	d := studied()
	d.Published = []study.Published{
		{PublishedCase: study.PublishedCase{Case: "never"}, RecordsPerSecond: 100_000},
		{PublishedCase: study.PublishedCase{Case: "slow"}, RecordsPerSecond: 100_000, Here: 4_000, Ratio: 0.04, EnvironmentHere: "1 broker", Latencies: []study.Latency{{Of: "p50", Published: 2000}, {Of: "p99", Published: 4000, Here: 5000}}},
		{PublishedCase: study.PublishedCase{Case: "other"}, RecordsPerSecond: 100_000, Here: 4_000, EnvironmentHere: "1 broker", Differs: []string{"rate 5, published 6"}},
	}
	text := written(t, report.StudyDoc(d).Markdown)
	must.Has(t, "the table", text, "| never |  | 100,000 | – | – |", "| slow |  | 100,000 | 4,000 | 0.04x |", "| slow |  | – | – | 2.00ms | – | – | – | 4.00ms | 5.00ms |", "| other |  | 100,000 | 4,000 | – | ")
}

// What a run has not measured is an empty field of the CSV, and not 0; a throughput of 0 is measured.
func TestTheCSVLeavesOutWhatWasNotMeasured(t *testing.T) {
	for rough, measures := range map[string]study.Measures[float64]{
		"": {metric.Rate: 0, metric.P50: 5}, "0": {metric.Rate: 0, metric.P50: 5, metric.Roughness: 0},
	} {
		l := study.LoadFigures{Measures: measures}
		d := studied()
		d.Cells[0].Runs = []study.RunDoc{{Turn: 3, Repeat: 1, Loads: []study.LoadFigures{l}}}
		rows, err := csv.NewReader(strings.NewReader(written(t, csvOf(report.StudyDoc(d))))).ReadAll()
		must.Hold(t, err == nil && len(rows) == 2, "%v: %q", err, rows)
		at := make(map[string]string)
		for i, name := range rows[0] {
			at[name] = rows[1][i]
		}
		if at["turn"] != "3" || at["at_acks"] != "1" || at["metrics_rate"] != "0" || at["metrics_p50"] != "5" || at["metrics_p99"] != "" || at["metrics_roughness"] != rough {
			t.Errorf("%v", at)
		}
	}
}

// What is not known of a system is not told as a result.
func TestTheTableOfSystemsTellsWhatIsNotKnown(t *testing.T) {
	spread := func(v float64) study.Spread { return study.Spread{Median: v, Low: v, High: v, N: 1} }
	for want, s := range map[string]study.SystemBest{
		"no rate holds":                          {Peak: new(study.PeakRate), Over: true},
		"– (not over)":                           {Peak: new(study.PeakRate)},
		"10,000 records/s (not over)":            {Peak: &study.PeakRate{RecordsPerSecond: 10_000}},
		"at least 5 records/s with acks=all":     {Peak: &study.PeakRate{RecordsPerSecond: 5, ClientBound: true}, At: "acks=all", Over: true},
		"3 failed, 0 lost, 990 not checked":      {Cell: &study.CellFigures{Faults: study.Faults{Failed: spread(3), Lost: spread(0), Unchecked: spread(990)}}, Over: true},
		"0 failed, 2 lost, none taken for 1.00s": {Cell: &study.CellFigures{Faults: study.Faults{Failed: spread(0), Lost: spread(2), Unchecked: spread(0), Gap: spread(1000)}}, Over: true},
		"7 records/s with batch-size=1MiB":       {By: metric.Rate, At: "batch-size=1MiB", Cell: &study.CellFigures{Measures: study.Measures[study.Spread]{metric.Rate: spread(7)}}, Over: true},
		"p50 2.00ms, p99 4.00ms (not over)":      {By: metric.P99, Cell: &study.CellFigures{Measures: study.Measures[study.Spread]{metric.P50: spread(2000), metric.P99: spread(4000)}}},
	} {
		d := whole()
		d.SideBySide = []study.SystemBest{s}
		must.Match(t, want, report.StudyDoc(d).Sections[0].Blocks[0].(*doc.Table).Rows[0].Cells[2].Text, "report.StudyDoc(d).Sections[0].Blocks[0].(*doc.Table).Rows[0].Cells[2].Text")
	}
}

// What a file of a study says is neither markup nor an escape sequence, and no line is wider than the terminal.
func TestTextOfStudiesIsOnlyText(t *testing.T) {
	const evil = "<img src=x onerror=alert(1)>\x1b[31m"
	d, f, c, w := studied(), found(), compared(t), whole()
	d.Study.Name, d.Study.About, d.Answers[0].Sentence, d.Published[0].Environment, d.Published[0].Account = evil, evil, evil, evil, evil
	d.Study.Factors[0], d.Answers[0].Factor = study.Factor{Name: evil, Values: []string{evil}}, evil
	for i := range d.Cells {
		d.Cells[i].At = map[string]string{evil: evil}
	}
	f.Sentence, f.Trials[1].Reasons = evil, []string{evil}
	c.Doubts, c.A.Notes, c.A.Name, c.A.Files, c.Failures, c.Differs = []result.Doubt{{Text: evil, Next: evil}}, []string{evil}, evil, []string{evil}, []string{evil}, []study.Difference{{What: evil, A: []string{evil}}}
	w.Parts[0].Find, w.Parts[1].Study, w.NotEqual = f, d, []string{evil}
	best := optimum("better")
	best.Sentence, best.Optimum.Tried[0].At[0].Value, best.Optimum.Effects[0].Setting, best.Optimum.Best.Against[0].Name = evil, evil, evil, evil
	for _, d := range []*doc.Document{report.StudyDoc(d), report.StudyDoc(f), report.CompareDoc(c), report.StudyDoc(w), report.StudyDoc(best)} {
		for format, text := range map[string]string{"page": pageOfDoc(t, d), "markdown": written(t, d.Markdown), "csv": strings.ReplaceAll(written(t, csvOf(d)), "<img", "")} {
			must.True(t, !strings.Contains(text, "<img") && !strings.Contains(text, "\x1b"),
				"%s of %s: text became markup or an escape sequence", format, d.Command)
		}
	}
	for name, d := range documents(t) {
		for _, width := range []int{60, 80, 120} {
			for line := range strings.Lines(written(t, func(w io.Writer) error { return d.Text(w, doc.Options{Width: width}) })) {
				n := len([]rune(strings.TrimSuffix(line, "\n")))
				must.True(t, n <= width && !strings.Contains(line, "\x1b"), "%s: %d columns of %d: %q", name, n, width, line)
			}
		}
	}
}

// optimumCell is a cell that was tried.
func optimumCell(d *study.Document, i int) study.Cell { return study.Cell{At: d.Optimum.Tried[i].At} }

// Each kind of study has a board while it goes on.
func TestTheBoardOfAStudyFitsTheTerminal(t *testing.T) {
	many := studied()
	many.Study.Repeats = 3
	for i := range 30 {
		c := many.Cells[0]
		c.At, c.Runs = map[string]string{"acks": fmt.Sprint(i)}, make([]study.RunDoc, i%4)
		many.Cells = append(many.Cells, c)
	}
	many.Cells[20].LeftOut = "it takes 3 brokers"
	trials := found()
	trials.Over = false // and yet it was not cut off
	for i := range 40 {
		trials.Trials = append(trials.Trials, study.Trial{Step: study.Step{Kind: study.Halve, Rate: float64(100_000 + i)}, Outcome: study.Failed, Reasons: []string{"the backlog grows"}})
	}
	at := study.Cell{At: []study.Flag{{Name: "acks", Value: "15"}}}
	for name, s := range map[string]*report.StudyBoard{
		"study":  {Document: many, Turn: study.Turn{Number: 9, Cell: at, Repeat: 2}, Turns: 91, Now: "123,456 records/s, p99 4.21ms", Took: 90 * time.Second, Made: 9},
		"find":   {Document: trials, Turn: study.Turn{Number: 44, Repeat: 1}},
		"trial":  {Document: tried(t), Turn: study.Turn{Number: 3}},
		"before": {Document: many},
		"optimum": {
			Document: optimum("cut off"), Turn: study.Turn{Number: 12, Cell: optimumCell(optimum("cut off"), 2), Repeat: 11, Phase: study.Screen, Step: 11, Steps: 22},
			Now: "123,456 records/s, p99 4.21ms",
		},
		"optimum-effects": {Document: optimum("limit"), Turn: study.Turn{Number: 80, Cell: optimumCell(optimum("limit"), 0), Repeat: 9, Phase: study.Ablate, Step: 3, Steps: 18}},
		"optimum-proof":   {Document: optimum("better"), Turn: study.Turn{Number: 90, Cell: optimumCell(optimum("better"), 0), Repeat: 9, Phase: study.Prove, Step: 5, Steps: 18}, Now: "preparing its topic, 3s"},
		"optimum-begins":  {Document: &study.Document{Study: optimum("better").Study, Optimum: &study.OptimumDoc{Axes: []study.Metric{metric.Rate, metric.P99}}}},
	} {
		for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 36}} {
			for _, ascii := range []bool{false, true} {
				o := report.Options{Options: doc.Options{Theme: theme.New(theme.Options{Profile: colorprofile.NoTTY, ASCII: ascii}), Width: size[0]}}
				got := report.StudyBoardText(s, o, size[1])
				lines := strings.Split(got, "\n")
				must.True(t, len(lines) <= size[1], "%s: %d rows on a terminal of %d", name, len(lines), size[1])
				for _, line := range lines {
					must.True(t, len([]rune(line)) <= size[0], "%s: %q is wider than %d columns", name, line, size[0])
				}
				if size[0] == 80 && !ascii && name != "before" && name != "optimum-begins" {
					must.Golden(t, "testdata/board-"+name+".txt", got+"\n")
				}
			}
		}
	}
}

// beside is the result of three processes that made different loads.
func beside(t *testing.T) result.Result {
	t.Helper()
	set := merge.NewSet()
	for i, topic := range []string{"orders", "orders", "payments"} {
		p := canned.Plan(100)
		if i == 1 {
			p = canned.ReadPlan(plan.Consume, 0)
		}
		h := header(p)
		h.RunID, h.Part = topic, &result.Part{Run: "nightly", Host: fmt.Sprintf("vm1%d", i), Process: 1}
		h.RunID += h.Part.Host
		h.Environment.Topic.Name = topic
		var m canned.File
		f, err := result.NewRunFile(&m, h)
		must.Do(t, err)
		f.Write(result.Line{Start: &result.Start{At: h.StartedAt}})
		for _, e := range canned.Read(uint64(i), 5) {
			e.To(f)
		}
		must.Do(t, f.Close(result.Trailer{Ended: result.Completed, ElapsedSeconds: 5, SendingSeconds: 5}))
		must.Do(t, set.Add(topic, bytes.NewReader(m.Bytes()), int64(m.Len()), false))
	}
	r, err := set.Result(t.Context())
	must.Do(t, err)
	return r
}

func TestThePageOfDifferentLoadsHasARowEachAndNoFiguresOfTheWhole(t *testing.T) {
	r := beside(t)
	page := pageOf(t, r)
	isGolden(t, "beside", page)
	got, err := merge.Read(strings.NewReader(page), int64(len(page)))
	must.Do(t, err)
	must.True(t, got.NotAddedUp == r.NotAddedUp && len(got.Processes) == 3 && pageOf(t, got) == page,
		"read back it is %q with %d processes", got.NotAddedUp, len(got.Processes))
	var text bytes.Buffer
	err = report.Text(&text, got, report.Options{})
	must.True(t, err == nil && strings.Contains(text.String(), "payments"), "as text it is %v\n%s", err, text.String())
}

// places calls f for each value of a document: of a list for its first one. f changes the value in place, and puts
// it back.
func places(path string, v any, set func(any), f func(path string, v any, set func(any))) {
	f(path, v, set)
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			was := v[name]
			places(path+"."+name, was, func(to any) { v[name] = to }, f)
			v[name] = was
		}
	case []any:
		if len(v) > 0 {
			was := v[0]
			places(path+"[]", was, func(to any) { v[0] = to }, f)
			v[0] = was
		}
	}
}

// A page is somebody else's data: whatever a value of it is, it is read and shown, or refused.
func TestNoChangeOfAPageBreaksWhatReadsIt(t *testing.T) {
	r := runs()["roundtrip"]
	r.Series, r.Histograms, r.Warmup = r.Series[:2], result.Histograms{}, nil // they make each try slow
	began, failed := 20.0, int64(3)
	r.Outage.BeganSeconds, r.Outage.BeganWith, r.Outage.RecordsFailed = &began, stats.Exec, &failed
	r.Stages = []result.StageRow{{ToSeconds: 20, MeasuredSeconds: 20, Invalid: []string{"late"}}}
	r.Hosts, r.Processes = []result.HostRow{{Host: "vm14", Processes: 1, Busy: new(result.Busy)}}, []result.ProcessRow{{Host: "vm14", Process: 1, Counted: true}}
	value := 12_300.0
	r.Limits = []result.Limit{{Expression: "p99<20ms over 10s", Value: &value, Unit: metric.Time, Held: true, Stretches: 3, StretchesHeld: 3}}
	r.Tune = []result.TuneCheck{{Host: "vm14", Checks: 9, Findings: []result.TuneFinding{{ID: "cpu.governor", Verdict: result.TuneWarn}}}}
	r.Tags, r.Note = []string{"before"}, "é"
	doc, err := report.Document(r)
	must.Do(t, err)
	var all any
	must.Do(t, json.Unmarshal(doc, &all))
	n := 0
	places("", all, func(any) {}, func(path string, was any, set func(any)) {
		var v any
		switch was := was.(type) {
		case float64:
			v = -1
		case bool:
			v = !was
		case string: // one of them in each place
			v = []any{nil, "", "\u00e9?"}[n%3]
			n++
		}
		set(v)
		try(t, fmt.Sprintf("%s = %v", path, v), all)
		set(was)
	})
}

// try reads a document, and writes it in every form if it is read.
func try(t *testing.T, what string, doc any) {
	defer func() {
		p := recover()
		must.True(t, p == nil, "%s: %v", what, p)
	}()
	text, err := json.Marshal(doc)
	must.Do(t, err)
	packed, err := result.Pack([]byte(`{"result":` + string(text) + `,"heat":[]}`))
	must.Do(t, err)
	r, err := result.ReadPage(bytes.NewReader([]byte(result.PageStart + result.EmbedStart + packed + result.EmbedEnd)))
	if err != nil {
		return
	}
	var out bytes.Buffer
	for _, form := range []string{"text", "markdown", "junit", "perf-test"} {
		_ = report.Formats[form](&out, r, report.Options{}) // an error is an answer
	}
	_ = newRunPage(r).write(io.Discard, "")
}
