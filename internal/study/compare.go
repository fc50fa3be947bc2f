package study

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/theme"
)

// Side is one of two sets of runs that are compared.
type Side struct {
	Name  string
	runs  figures
	notes []string
	asked []Metric // compared beside the usual ones
}

// comparedMetrics are few, because each one costs the others some of their power.
var comparedMetrics = []Metric{metric.Rate, metric.P50, metric.P99, metric.P999, metric.Roughness, metric.CPU}

// NewSide returns a side without runs. Shifts of the metrics of limits are compared too. The other limits are expressions of what no run may be.
func NewSide(limits []FailOn) (s *Side, expressions []string) {
	s = new(Side)
	for _, f := range limits {
		if f.Metric != "" {
			s.asked = append(s.asked, f.Metric)
		} else {
			expressions = append(expressions, f.Text)
		}
	}
	return s, expressions
}

func (s *Side) metrics() []Metric { return once(slices.Concat(comparedMetrics, s.asked)) }

// Add adds a run to a side. A run counts once, by its fullest file.
func (s *Side) Add(file string, r *result.Result) {
	one, counts := figuresOf("", file, r, s.metrics()), true
	one.facts, one.shares = factsOf(r), sharesOf(r)
	s.runs = slices.DeleteFunc(s.runs, func(old *LoadFigures) bool {
		if !one.isOf(old) {
			return false
		}
		fuller := len(one.ids) > len(old.ids) || len(one.ids) == len(old.ids) && old.cut && !one.cut
		s.notes, counts = append(s.notes, fmt.Sprintf("%s is the same run as %s: it counts once", file, old.File)), counts && fuller
		return fuller
	})
	if counts {
		s.runs = append(s.runs, &one)
	}
}

// CompareDocument has the differences between two sets of runs.
type CompareDocument struct {
	Schema   int          `json:"schema"`
	A        SideDoc      `json:"a"`
	B        SideDoc      `json:"b"`
	Delta    float64      `json:"delta"` // differences of at most this share are alike
	Differs  []Difference `json:"differs"`
	Beside   []string     `json:"differs_beside,omitempty"` // the load, each in a sentence: what shifts a metric may be this
	Metrics  []Compared   `json:"metrics"`
	Failures []string     `json:"failures"` // limits of --fail-on that are passed

	Queueing bool `json:"latency_is_queueing"` // a run had no target rate

	b *Side
}

// SideDoc is one of two sets of runs.
type SideDoc struct {
	Name          string   `json:"name"`
	Runs          int      `json:"runs"`
	Files         []string `json:"files"`
	Failed        int64    `json:"failed_records"`
	Invalid       int      `json:"invalid_runs"`
	ClientBound   int      `json:"client_bound_runs"`        // kt or its host was the limit: the brokers may do more
	FailedMetrics []string `json:"failed_metrics,omitempty"` // not compared, each as "p99: failed in 2 of 5 runs"
	Notes         []string `json:"notes,omitempty"`          // files that do not count, each as "b.ktr is the same run as a.ktr: it counts once"
}

func (s *Side) doc() SideDoc {
	d := SideDoc{Name: s.Name, Runs: len(s.runs), Files: []string{}, Notes: slices.Compact(s.notes), FailedMetrics: s.runs.failed()}
	d.ClientBound, d.Invalid = s.runs.bound()
	for _, f := range s.runs {
		d.Files, d.Failed = append(d.Files, f.File), d.Failed+f.Failed
	}
	return d
}

// Change is the verdict on B against A.
type Change string

// The four verdicts.
const (
	Better Change = "better"
	Lesser Change = "worse"
	Same   Change = "alike" // the difference is at most delta
	TooFew Change = "not enough runs"
)

// Compared is one metric of two sets of runs.
type Compared struct {
	Metric   Metric  `json:"metric"`
	A        Spread  `json:"a"`
	B        Spread  `json:"b"`
	Medians  Share   `json:"medians"` // the median of B against that of A, as a share of it; null: A is nothing
	Shift    Share   `json:"shift"`   // the middle one of the shifts from each run of A to each of B, as a share of A; null: A is nothing
	Low      Share   `json:"low"`     // interval of the shift
	High     Share   `json:"high"`
	Coverage float64 `json:"coverage"`          // of the interval; 0: with so few runs it says nothing
	P        float64 `json:"p"`                 // adjusted for the number of metrics
	Verdict  Change  `json:"verdict"`           // better, worse, alike or not enough runs
	Seen     float64 `json:"seen,omitempty"`    // the smallest shift that these runs would have shown; 0: none
	Repeats  int     `json:"repeats,omitempty"` // runs a side that would show delta; 0: not known
	Sentence string  `json:"sentence"`
}

// isTold reports whether a difference is told from noise.
func (c *Compared) isTold() bool { return c.Verdict == Better || c.Verdict == Lesser }

// Compare compares runs B with runs A. Differences of at most a share delta are alike.
func Compare(a, b *Side, delta float64) (*CompareDocument, error) {
	if len(a.runs) == 0 || len(b.runs) == 0 {
		return nil, errors.New("each side needs at least one run")
	}
	for _, x := range a.runs {
		for _, y := range b.runs {
			if x.isOf(y) {
				return nil, fmt.Errorf("%s, of A, is the same run as %s, of B: leave it out on one side", x.File, y.File)
			}
		}
	}
	if x, y := a.does(), b.does(); x != y {
		return nil, fmt.Errorf("the runs of A %s, and those of B %s: their rates and latencies are of different things; compare runs of one command", x, y)
	}
	d := &CompareDocument{Schema: Schema, A: a.doc(), B: b.doc(), Delta: delta, Differs: []Difference{}, Failures: []string{}, b: b}
	for name, values := range differing(a, b) {
		if x, y := values[0], values[1]; name != tuned || len(x)*len(y) > 0 { // else one side was not checked
			d.Differs = append(d.Differs, Difference{name, x, y})
		}
	}
	d.Queueing = slices.ContainsFunc(slices.Concat(a.runs, b.runs), func(l *LoadFigures) bool { return l.Target == 0 && !l.oneAtATime })
	d.Beside = confounders(a, b, d.Differs)
	var err error
	d.Metrics, err = compareAll(a, b, b.metrics(), func(Metric) float64 { return delta }, alpha)
	for i := range d.Metrics {
		c := &d.Metrics[i]
		if c.Sentence = c.sentence(delta); len(d.Beside) > 0 && c.isTold() {
			c.Sentence += "; it may come from what differs beside the load"
		}
	}
	return d, err
}

// does returns what the runs of a side do: a run that only reads has the rate and the latency of reading.
func (s *Side) does() string {
	commands := s.all("plan.command")
	switch {
	case !slices.Contains(commands, string(plan.Consume)):
		return "write"
	case len(commands) == 1:
		return "only read"
	}
	return "write, or only read"
}

// compareAll compares two sides in each metric that all their runs have. All together have a share alpha of false alarms (Holm).
func compareAll(a, b *Side, metrics []Metric, delta func(Metric) float64, alpha float64) ([]Compared, error) {
	list := []Compared{}
	var ps []float64
	for _, m := range metrics {
		x, y := a.runs.values(m), b.runs.values(m)
		if len(x)*len(y) == 0 || len(x) != len(a.runs) || len(y) != len(b.runs) {
			continue
		}
		c, err := inference.Compare(x, y, delta(m), alpha)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m, err)
		}
		if slices.Max(slices.Concat(x, y)) < m.Of().Floor {
			c.Verdict = inference.Alike
		}
		r, before, after := c.Ratio, spread(x), spread(y)
		changes := map[inference.Verdict]Change{inference.Higher: Lesser, inference.Lower: Better, inference.Alike: Same, inference.TooFew: TooFew}
		if m.Of().HigherIsBetter {
			changes[inference.Higher], changes[inference.Lower] = Better, Lesser
		}
		list, ps = append(list, Compared{
			Metric: m, A: before, B: after, Medians: Share(after.Median/before.Median - 1), Shift: Share(r.Value - 1), Low: Share(r.Low - 1), High: Share(r.High - 1), Coverage: r.Coverage,
			Verdict: changes[c.Verdict], Seen: c.Seen, Repeats: c.Repeats,
		}), append(ps, c.P)
	}
	for i, p := range inference.Holm(ps) {
		c := &list[i]
		if c.P = p; p > alpha && c.Verdict != Same {
			c.Verdict = TooFew
		}
	}
	return list, nil
}

// mediansDiffer is by how much the difference of the medians and the shift differ in a sentence that has both.
const mediansDiffer = 0.05

// mostRepeats is the largest number of runs that kt proposes.
const mostRepeats = 100

// sentence returns the verdict in a sentence.
func (c *Compared) sentence(delta float64) string {
	text := fmt.Sprintf("%s is %s", c.Metric, shift(c.Shift))
	if c.Medians.IsKnown() && math.Abs(float64(c.Medians-c.Shift)) > mediansDiffer {
		text = fmt.Sprintf("the medians of %s differ by %s, but a typical run is %s", c.Metric, theme.Signed(c.Medians), shift(c.Shift))
	}
	if c.Coverage > 0 && c.Shift.IsKnown() {
		text += fmt.Sprintf(" (%s to %s)", theme.Signed(c.Low), theme.Signed(c.High))
	}
	switch {
	case c.Verdict == Same:
		return fmt.Sprintf("%s is alike within %s", c.Metric, theme.Percent(delta))
	case c.isTold():
		return text + ": " + string(c.Verdict)
	case c.A.N == 1 && c.B.N == 1:
		return text + ", one run a side: it may be noise"
	case min(c.A.N, c.B.N) < enough:
		return text + fmt.Sprintf(": it may be noise; it takes at least %d runs a side to tell a difference", enough)
	case c.Repeats > mostRepeats:
		return text + ": it may be noise; the runs of a side differ much among themselves"
	case c.Repeats > 0:
		return text + fmt.Sprintf(": it may be noise; %s a side would show %s", theme.Plural(c.Repeats, "run", "runs"), theme.Percent(delta))
	}
	return text + ": it may be noise"
}

// shift writes a shift: "3.0% higher".
func shift(s Share) string {
	switch {
	case s == 0:
		return "the same in the median"
	case !s.IsKnown():
		return "more than nothing"
	case s < 0:
		return theme.Percent(float64(-s)) + " lower"
	}
	return theme.Percent(float64(s)) + " higher"
}

// FailOn is what a comparison must not show: a shift of a metric, or what no run of B may be.
type FailOn struct {
	Text   string
	Metric Metric // of a shift; "": Text is what no run may be
	Above  bool   // the shift must not be above Limit; else not below
	Limit  Share
}

// ParseFailOn reads a shift, as "rate<-3%" or "p99>10%", or an expression, as "errors>0".
func ParseFailOn(text string) (FailOn, error) {
	f := FailOn{Text: strings.TrimSpace(text)}
	percent, isShift := strings.CutSuffix(f.Text, "%")
	at := strings.IndexAny(percent, "<>")
	if !isShift || at < 0 || strings.Contains(percent, " for ") {
		_, err := metric.Parse(f.Text)
		return f, err
	}
	m, err := metric.Find(strings.TrimSpace(percent[:at]))
	if err != nil {
		return f, fmt.Errorf("%q: %w", text, err)
	}
	limit, err := plan.ParseNumber(strings.TrimSpace(percent[at+1:]))
	if err != nil {
		return f, fmt.Errorf("%q: write a metric and its shift, as in 'rate<-3%%' or 'p99>10%%'", text)
	}
	f.Metric, f.Above, f.Limit = Metric(m.Name), percent[at] == '>', Share(limit/100)
	return f, nil
}

// enough is how many runs a side can be told from others at all. Four against four give p = 0.029, which Holm's
// correction for five metrics makes 0.14; five against five give 0.008, which stays below 0.05 for six.
const enough = 5

// Judge adds a failure for each limit that a comparison passes. A shift that may be noise is none, unless
// there are too few runs to ever tell: then the shift itself decides.
func (d *CompareDocument) Judge(limits []FailOn) {
	fail := func(format string, args ...any) { d.Failures = append(d.Failures, fmt.Sprintf(format, args...)) }
	for _, f := range limits {
		if f.Metric == "" { // no run may be it, and it must be known of each
			n, first := 0, ""
			for _, one := range d.b.runs {
				for _, l := range one.SLO {
					if l.Expression == f.Text && (l.Held || l.Value == nil) {
						n, first = n+1, cmp.Or(first, cmp.Or(l.Shown(), l.Note)+" in "+one.File)
					}
				}
			}
			if n > 0 {
				fail("%s of %d of %s of B: %s", f.Text, n, theme.Plural(len(d.b.runs), "run", "runs"), first)
			}
			continue
		}
		i := slices.IndexFunc(d.Metrics, func(c Compared) bool { return c.Metric == f.Metric })
		if i < 0 {
			fail("%s was not measured in every run, or failed in one", f.Metric)
			continue
		}
		c, over := &d.Metrics[i], map[bool]string{true: "above", false: "below"}[f.Above]
		if passed := f.Above && c.Shift > f.Limit || !f.Above && c.Shift < f.Limit; passed && (c.isTold() || min(c.A.N, c.B.N) < enough) {
			fail("%s is %s, %s %s", c.Metric, shift(c.Shift), over, theme.Percent(float64(f.Limit)))
		}
	}
}
