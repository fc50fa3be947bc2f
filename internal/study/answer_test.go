//go:build !race

package study

import (
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// asked returns the answer to a question about the values 1, 2, … (or those of names) of a factor, of which each has some runs. A
// value below 0 is a latency that failed.
func asked(t *testing.T, q Question, limit verdict.Limit, names []string, values ...[]float64) Answer {
	t.Helper()
	d := &Document{GridDoc: new(GridDoc), Study: &Study{Ask: []Question{q}, Factors: []Factor{{Name: q.Factor()}}}}
	for i, runs := range values {
		name := strconv.Itoa(i + 1)
		if names != nil {
			name = names[i]
		}
		c := CellDoc{At: map[string]string{q.Factor(): name}}
		for _, v := range runs {
			l := LoadFigures{Measures: make(Measures[float64]), Limit: limit}
			if l.Measures[q.By] = max(v, 0); v < 0 {
				l.FailedMetrics = []Metric{q.By}
			}
			c.Runs = append(c.Runs, RunDoc{Loads: []LoadFigures{l}})
		}
		c.conclude()
		d.Cells = append(d.Cells, c)
	}
	d.answer()
	return d.Answers[0]
}

func TestAnAnswerNamesTheBestAndWhatCannotBeToldFromIt(t *testing.T) {
	for name, tc := range must.Rows[map[string]struct {
		By                  Metric
		Values              [][]float64 // below 0: a latency that failed
		Best                string
		Like, Unsure, Worse []string
		Says                string
	}](t, "answer") {
		a := asked(t, Question{Best: "partitions", By: tc.By}, verdict.BrokerAcks, nil, tc.Values...)
		if a.Best != tc.Best || !slices.Equal(valuesOf(a.Unsure), tc.Unsure) || !slices.Equal(valuesOf(a.Worse), tc.Worse) || !strings.Contains(a.Sentence, tc.Says) {
			t.Errorf("%s: %+v", name, a)
		}
		if len(tc.Like) < 3 && !slices.Equal(a.LikeBest, tc.Like) && len(a.LikeBest)+len(tc.Like) > 0 {
			t.Errorf("%s: like the best are %q", name, a.LikeBest)
		}
		for _, w := range slices.Concat(a.Unsure, a.Worse) {
			must.True(t, w.Low <= w.By && w.High >= w.By, "%s: %+v: the interval does not hold the value", name, w)
		}
	}
	if a := asked(t, Question{Best: "partitions", By: metric.Rate}, verdict.BrokerAcks, nil, []float64{100, 140, 60}, []float64{130, 90, 110}); len(a.Worse) > 0 || a.Repeats < 4 {
		t.Errorf("%+v: it takes more than the 3 repeats that were made", a)
	}
}

// What kt limited never wins silently, and a rate that falls is not said to grow.
func TestAScalingFactor(t *testing.T) {
	names := []string{"1", "2", "4", "8", "16", "32"}
	of := func(rates ...float64) (values [][]float64) {
		for _, v := range rates {
			values = append(values, []float64{v, v * 1.001, v * 1.002})
		}
		return values
	}
	falling, growing := of(1000, 400, 150, 60, 25, 11), of(100, 199, 390, 760, 1450, 2600)
	for _, q := range []Question{{Best: "producers", By: metric.P99}, {Best: "producers", By: metric.Rate}, {Scaling: "producers", By: metric.Rate}} {
		if a := asked(t, q, verdict.HostCPU, names, falling...); len(a.Unknown) != len(names) || !strings.Contains(a.Sentence, "kt or its host was the limit at every value") {
			t.Errorf("%+v: %+v", q, a)
		}
	}
	for word, values := range map[string][][]float64{"falls": falling, "grows": growing} {
		if a := asked(t, Question{Scaling: "producers", By: metric.Rate}, verdict.BrokerAcks, names, values...); a.Peak != nil || !strings.Contains(a.Sentence, "rate "+word) {
			t.Errorf("%s: %+v", word, a)
		}
	}
}

// In pairs a value of a factor is never alone, so the whole cell is named, and each has its bar.
func TestInPairsAnAnswerNamesWholeCells(t *testing.T) {
	d := &Document{GridDoc: new(GridDoc), Study: &Study{Pair: true, Factors: []Factor{{Name: "url"}, {Name: "linger"}}, Ask: []Question{{Best: "url", By: metric.Rate}}}}
	for i, url := range []string{"a", "b"} {
		at := Cell{At: []Flag{{"url", url}, {"linger", []string{"5ms", Default}[i]}}}
		c := CellDoc{cell: at, At: at.Values()}
		for n := range 5 {
			c.Runs = append(c.Runs, RunDoc{Loads: []LoadFigures{{Limit: verdict.BrokerAcks, Measures: Measures[float64]{metric.Rate: float64(1000*(i+1) + n)}}}})
		}
		c.conclude()
		d.Cells = append(d.Cells, c)
	}
	d.answer()
	a := &d.Answers[0]
	bars := maps.Collect(d.Along(a))
	must.True(t, a.Best == "url=b" && len(bars) == 2 && a.Worse[0].Value == "url=a linger=5ms", "%+v with the bars %+v", a, bars)
}

// servedOf is a result whose p99 is a number or failed.
func servedOf(p99 result.Micros) *result.Result {
	var r result.Result
	r.Plan.Producers = 1
	h := &r.Histograms.Response.Histogram
	h.RecordN(900*time.Microsecond, 98)
	if p99 == result.Failed {
		h.RecordNever(2)
	} else {
		h.RecordN(p99.Duration(), 2)
	}
	r.Latency.Response = result.LatencyOf(h)
	r.Throughput.RecordsPerSecond = 1000
	return &r
}

// Neither a comparison, nor a cell, nor a trial takes the latency of the runs in which it did not fail.
func TestALatencyThatFailedInSomeRunsIsComparedWithNone(t *testing.T) {
	var a, b Side
	c := CellDoc{}
	for i := range 5 {
		a.Add("a", servedOf(2000))
		p99 := result.Micros(2000)
		if i < 2 {
			p99 = result.Failed
		}
		b.Add("b", servedOf(p99))
		c.Runs = append(c.Runs, RunDoc{Loads: []LoadFigures{*b.loads[i]}})
	}
	const says = "p99: failed in 2 of 5 runs"
	d, err := Compare(&a, &b, 0.03)
	if err != nil || d.A.FailedMetrics != nil || !slices.Contains(d.B.FailedMetrics, says) || slices.ContainsFunc(d.Metrics, func(c Compared) bool { return c.Metric == metric.P99 || c.Metric == metric.P999 }) {
		t.Fatalf("%v: %q against %q, %+v", err, d.A.FailedMetrics, d.B.FailedMetrics, d.Metrics)
	}
	if d.Judge([]FailOn{{Metric: metric.P99, Above: true, Limit: 0.1}}); len(d.Failures) != 1 || !strings.Contains(d.Failures[0], "failed") {
		t.Errorf("--fail-on: %q", d.Failures)
	}
	if c.conclude(); c.Measures[metric.P99].N != 0 || c.Measures[metric.P50].N != 5 || !slices.Contains(c.FailedMetrics, says) {
		t.Errorf("the cell has %+v, %q", c.Measures, c.FailedMetrics)
	}
	l := LoadFigures{Valid: true, SLO: []result.Limit{{Expression: "p99<5ms", Note: "failed"}}}
	if why := (Step{Rate: 1, Time: 10e9}).reasons(&l); !slices.Contains(why, "p99<5ms: failed") {
		t.Errorf("a trial with a failed p99 fails by %q", why)
	}
}

// A mean of the records that were served would look better than one of all, and the CPU from 1 % of them on.
func TestAMeanBesideRecordsThatFailedIsNone(t *testing.T) {
	r := servedOf(2000)
	r.Client.CPUCores = 1
	for unserved, want := range map[int64][]Metric{0: nil, 1: {metric.Mean}, 2: {metric.CPU, metric.Mean}} {
		r.Latency.Response.Unserved = unserved
		if l := FiguresOf(r); !slices.Equal(l.FailedMetrics, want) || l.Measures[metric.P50] == 0 {
			t.Errorf("%d records unserved: %q", unserved, l.FailedMetrics)
		}
	}
}

// What no run may be is judged by each run of B, and what is not known of one is not passed over.
func TestFailOnOfWhatNoRunMayBe(t *testing.T) {
	none, some := 0.0, 3.0
	for name, tc := range map[string]struct {
		value *float64
		held  bool
		want  int
	}{"no errors": {&none, false, 0}, "errors": {&some, true, 1}, "not known": {nil, false, 1}} {
		f, err := ParseFailOn("errors>0")
		if err != nil || f.Metric != "" {
			t.Fatal(f, err)
		}
		b := &Side{loads: figures{{}, {}}}
		b.loads[1].SLO = []result.Limit{{Expression: "errors>0", Value: tc.value, Unit: metric.Records, Held: tc.held}}
		d := &CompareDocument{B: *b}
		if d.Judge([]FailOn{f}); len(d.Failures) != tc.want {
			t.Errorf("%s: %q", name, d.Failures)
		}
	}
}

// A spread has the runs that saw an effect alone, and lost records have no number while some were not checked.
func TestFaultsAreSummedUpOverTheRunsThatSawThem(t *testing.T) {
	type seen struct {
		failed                        int64
		gap, recovered                *int64
		acknowledged, lost, unchecked int64 // 0 acknowledged: the run did not verify
	}
	for _, tc := range []struct {
		runs   []seen
		want   Faults
		faulty bool
	}{
		{[]seen{{gap: new(int64(30))}}, Faults{Failed: Spread{N: 1}, Gap: Spread{30, 30, 30, 1}}, false}, // a pause
		{[]seen{{acknowledged: 20}}, Faults{Failed: Spread{N: 1}, Lost: Spread{N: 1}, Unchecked: Spread{N: 1}}, false},
		{[]seen{{acknowledged: 20, unchecked: 9}}, Faults{Failed: Spread{N: 1}, Unchecked: Spread{9, 9, 9, 1}}, true},
		{
			[]seen{{5, new(int64(4000)), new(int64(9000)), 20, 0, 0}, {15, new(int64(6000)), nil, 20, 2, 9}},
			Faults{Failed: Spread{10, 5, 15, 2}, Lost: Spread{1, 0, 2, 2}, Unchecked: Spread{4.5, 0, 9, 2}, Gap: Spread{5000, 4000, 6000, 2}, Recovered: Spread{9000, 9000, 9000, 1}},
			true,
		},
	} {
		var c CellDoc
		for _, s := range tc.runs {
			r := &result.Result{Outage: &result.Outage{LongestGapMS: s.gap, RecoveredMS: s.recovered}}
			if s.recovered != nil {
				r.Outage.BeganWith = stats.Exec
			}
			if r.Records.Failed = s.failed; s.acknowledged > 0 {
				r.Verify = &ledger.Verdict{Acknowledged: s.acknowledged, Lost: s.lost, Unchecked: s.unchecked}
			}
			c.Runs = append(c.Runs, RunDoc{Loads: []LoadFigures{FiguresOf(r)}})
		}
		c.conclude()
		c.FailedMetrics = nil
		d := &Document{GridDoc: &GridDoc{Cells: []CellDoc{c}}}
		if !reflect.DeepEqual(c.Faults, tc.want) || d.Faulty() != tc.faulty {
			t.Errorf("%+v, faulty %t; want %+v, %t", c.Faults, d.Faulty(), tc.want, tc.faulty)
		}
	}
}

// documents are what kt study, kt find, kt compare, kt trial and kt size write as JSON.
var documents = []any{Document{}, CompareDocument{}, Forecast{}, SizeDocument{}}

// The comments of the types are the descriptions, so programs and people read the same of a field.
func TestTheSchemaOfTheDocumentsIsUpToDate(t *testing.T) {
	const file = "../../docs/study.schema.json"
	schema := documentSchema(t)
	text := must.Have(json.MarshalIndent(schema, "", "  "))(t)
	text = append(text, '\n')
	must.Golden(t, file, string(text))
}

func documentSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	r := &jsonschema.Reflector{Anonymous: true, Namer: schemaName, Mapper: func(goType reflect.Type) *jsonschema.Schema {
		if goType.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
			return &jsonschema.Schema{Type: "string"}
		}
		if goType == reflect.TypeFor[Share]() {
			return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "number"}, {Type: "null"}}}
		}
		return nil
	}}
	comments := make(map[string]string)
	for _, dir := range []string{"study", "result", "result/verdict"} {
		r.CommentMap = nil
		must.Do(t, r.AddGoComments(reflect.TypeFor[Document]().PkgPath(), "../"+dir, jsonschema.WithFullComment()))
		for name, text := range r.CommentMap {
			comments[name] = strings.ReplaceAll(text, "\n", " ")
		}
	}
	r.CommentMap, r.LookupComment = nil, func(goType reflect.Type, field string) string {
		name, _, _ := strings.Cut(goType.Name(), "[")
		return comments[strings.TrimSuffix(goType.PkgPath()+"."+name+"."+field, ".")]
	}
	schema := &jsonschema.Schema{Version: jsonschema.Version, Title: "What kt study, find, compare and trial write with --output json", Definitions: make(jsonschema.Definitions)}
	for _, d := range documents {
		one := r.Reflect(d)
		if whole := one.Definitions["Document"]; whole != nil { // a document has the section of its kind alone
			whole.Required = []string{"schema", "id", "study", "over"}
		}
		for name, s := range one.Definitions {
			schema.Definitions[name] = s
		}
		schema.AnyOf = append(schema.AnyOf, &jsonschema.Schema{Ref: one.Ref})
	}
	return schema
}

// schemaName is the name of a type without its package: latency_spread for Latency[study.Spread].
func schemaName(goType reflect.Type) string {
	name, of, generic := strings.Cut(strings.TrimSuffix(goType.Name(), "]"), "[")
	if !generic {
		return name
	}
	return name + "Of" + strings.ToUpper(of[strings.LastIndexByte(of, '.')+1:][:1]) + of[strings.LastIndexByte(of, '.')+2:]
}
