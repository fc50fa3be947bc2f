package study

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
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
	Name          string   `json:"name"`
	Runs          int      `json:"runs"`
	Files         []string `json:"files"`
	Failed        int64    `json:"failed_records"`
	Invalid       int      `json:"invalid_runs"`
	ClientBound   int      `json:"client_bound_runs"`        // kt or its host was the limit: the brokers may do more
	FailedMetrics []string `json:"failed_metrics,omitempty"` // not compared, each as "p99: failed in 2 of 5 runs"
	Notes         []string `json:"notes,omitempty"`          // files that do not count, each as "b.ktr is the same run as a.ktr: it counts once"

	loads figures
	asked []Metric // compared beside the usual ones
	named []string // the loads of its workloads
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

// metrics returns those that are compared, as ofLoad does.
func (s *Side) metrics(load string) []Metric {
	return ofLoad(load, slices.Concat(comparedMetrics, s.asked))
}

// Add adds a run to a side. A run counts once, by its fullest file. What a workload has of a load begins with the name of the load.
func (s *Side) Add(file string, r *result.Result) {
	one, counts := eachOf("", file, r, slices.Concat(comparedMetrics, s.asked))[0], true
	one.facts, one.shares, one.derived = factsOf(r), sharesOf(r), derivedOf(r)
	for i := range r.Loads {
		l := &r.Loads[i]
		s.named = once(append(s.named, l.Name))
		for name, value := range factsOf(&l.Result) {
			if !besideLoad(name) {
				one.facts[l.Name+": "+name] = value
			}
		}
	}
	maps.DeleteFunc(one.facts, func(name, _ string) bool { // those of the first load
		return len(r.Loads) > 0 && !besideLoad(name) && !strings.Contains(name, ": ") && name != "plan.command"
	})
	s.loads = slices.DeleteFunc(s.loads, func(old *LoadFigures) bool {
		if !one.isOf(old) {
			return false
		}
		fuller := len(one.ids) > len(old.ids) || len(one.ids) == len(old.ids) && old.cut && !one.cut
		s.Notes, counts = append(s.Notes, fmt.Sprintf("%s is the same run as %s: it counts once", file, old.File)), counts && fuller
		return fuller
	})
	if counts {
		s.loads = append(s.loads, &one)
	}
}

func (s *Side) sum() Side {
	s.Runs, s.FailedMetrics, s.Notes = len(s.loads), s.loads.failed(), slices.Compact(s.Notes)
	s.ClientBound, s.Invalid = s.loads.bound()
	s.Files, s.Failed = []string{}, 0
	for _, f := range s.loads {
		s.Files = append(s.Files, f.File)
		s.Failed += f.Failed
	}
	return *s
}

// does returns what the runs of a side do: a run that only reads has the rate and the latency of reading.
func (s *Side) does() string {
	commands, workload := s.all("plan.command"), string(plan.Workload)
	switch {
	case slices.Contains(commands, workload):
		return map[bool]string{true: "make workloads", false: "make workloads, or one load"}[len(commands) == 1]
	case !slices.Contains(commands, string(plan.Consume)):
		return "write"
	case len(commands) == 1:
		return "only read"
	}
	return "write, or only read"
}

// CompareDocument has the differences between two sets of runs.
type CompareDocument struct {
	Schema  int          `json:"schema"`
	A       Side         `json:"a"`
	B       Side         `json:"b"`
	Delta   float64      `json:"delta"` // differences of at most this share are alike
	Differs []Difference `json:"differs"`
	Beside  []string     `json:"differs_beside,omitempty"` // the load: the texts of those doubts from which a shift may come

	Doubted

	Metrics  []Compared `json:"metrics"`
	Failures []string   `json:"failures"` // limits of --fail-on that are passed

	Queueing bool `json:"latency_is_queueing"` // a run had no target rate
}

// Change is the verdict on B against A.
type Change string

// The verdicts of a comparison; and those of a trial, on throughput and latency, and on stability.
const (
	Better Change = "better"
	Lesser Change = "worse"
	Same   Change = "alike" // the difference is at most delta
	TooFew Change = "not enough runs"

	Raised    Change = "higher"
	Lowered   Change = "lower"
	Rougher   Change = "rougher"
	Steadier  Change = "steadier"
	Unchanged Change = "unchanged"
)

// words are the verdicts on a metric by what its values show.
type words map[inference.Verdict]Change

var (
	moreIsBetter = words{inference.Higher: Better, inference.Lower: Lesser, inference.Alike: Same, inference.TooFew: TooFew}
	lessIsBetter = words{inference.Higher: Lesser, inference.Lower: Better, inference.Alike: Same, inference.TooFew: TooFew}
	ofTrial      = words{inference.Higher: Raised, inference.Lower: Lowered, inference.Alike: Unchanged, inference.TooFew: Unchanged}
	ofRoughness  = words{inference.Higher: Rougher, inference.Lower: Steadier, inference.Alike: Unchanged, inference.TooFew: Unchanged}
)

// rule is how a metric is compared.
type rule struct {
	metric Metric
	delta  float64 // differences of at most this share do not matter
	words  words
}

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
	Verdict  Change  `json:"verdict"`           // better, worse, alike or not enough runs; of a trial higher, lower, rougher, steadier or unchanged
	Seen     float64 `json:"seen,omitempty"`    // the smallest shift that these runs would have shown; 0: none
	Repeats  int     `json:"repeats,omitempty"` // runs a side that would show delta; 0: not known
	Sentence string  `json:"sentence"`
	Clear    bool    `json:"clear"` // the verdict is shown; false: there are not enough runs

	shows  inference.Verdict
	rule   rule
	enough int // runs a side that can be told from others at all
}

func (c *Compared) isTold() bool { return c.shows == inference.Higher || c.shows == inference.Lower }

// Compare compares runs B with runs A. Differences of at most a share delta are alike.
func Compare(a, b *Side, delta float64) (*CompareDocument, error) {
	if len(a.loads) == 0 || len(b.loads) == 0 {
		return nil, errors.New("each side needs at least one run")
	}
	for _, x := range a.loads {
		if i := slices.IndexFunc(b.loads, x.isOf); i >= 0 {
			return nil, fmt.Errorf("%s, of A, is the same run as %s, of B: leave it out on one side", x.File, b.loads[i].File)
		}
	}
	if x, y := a.does(), b.does(); x != y {
		return nil, fmt.Errorf("the runs of A %s, and those of B %s: their rates and latencies are of different things; compare runs of one command", x, y)
	}
	for _, m := range b.asked {
		load, _, _ := strings.Cut(string(m), ".")
		if _, err := metric.Find(string(m)); err != nil && !slices.Contains(a.named, load) && !slices.Contains(b.named, load) {
			return nil, fmt.Errorf("--fail-on: %s: there is no load %q in these runs", m, load)
		}
	}
	d := &CompareDocument{Schema: Schema, A: a.sum(), B: b.sum(), Delta: delta, Differs: []Difference{}, Failures: []string{}}
	for name, values := range differing(a, b) {
		x, y := values[0], values[1]
		load, _, found := strings.Cut(name, ": ")
		command := load + ": plan.command" // which each load has
		onOneSide := name == tuned || found && name != command && len(a.all(command))*len(b.all(command)) == 0
		if !onOneSide || len(x)*len(y) > 0 { // else it was not checked there, or is of a load that is not there
			d.Differs = append(d.Differs, Difference{name, x, y})
		}
	}
	d.Queueing = slices.ContainsFunc(slices.Concat(a.loads, b.loads), func(l *LoadFigures) bool { return l.Target == 0 && !l.oneAtATime })
	d.Doubts = confounders(a, b, d.Differs)
	for _, doubt := range d.Doubts {
		if doubt.Of == 0 && doubt.ID != differentPlans && doubt.ID != "different-payloads" {
			d.Beside = append(d.Beside, doubt.Text)
		}
	}
	var rules []rule
	for _, load := range d.loads() {
		for _, m := range b.metrics(load) {
			rules = append(rules, rule{named(load, m), delta, map[bool]words{true: moreIsBetter, false: lessIsBetter}[m.Of().HigherIsBetter]})
		}
	}
	var err error
	d.Metrics, err = compareAll(a, b, rules, alpha)
	for i := range d.Metrics {
		if c := &d.Metrics[i]; len(d.Beside) > 0 && c.isTold() {
			c.Sentence += "; it may come from what differs beside the load"
		}
	}
	return d, err
}

// compareAll compares two sides in each metric that all their runs have. All together have a share alpha of false alarms (Holm).
func compareAll(a, b *Side, rules []rule, alpha float64) ([]Compared, error) {
	list := []Compared{}
	var ps []float64
	for _, rule := range rules {
		x, y := a.loads.values(rule.metric), b.loads.values(rule.metric)
		if len(x)*len(y) == 0 || len(x) != len(a.loads) || len(y) != len(b.loads) {
			continue
		}
		c, err := inference.Compare(x, y, rule.delta, alpha)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", rule.metric, err)
		}
		if slices.Max(slices.Concat(x, y)) < rule.metric.Of().Floor {
			c.Verdict = inference.Alike
		}
		r, before, after := c.Ratio, spread(x), spread(y)
		ps = append(ps, c.P)
		list = append(list, Compared{
			Metric: rule.metric, A: before, B: after, Medians: Share(after.Median/before.Median - 1), Shift: Share(r.Value - 1), Low: Share(r.Low - 1), High: Share(r.High - 1),
			Coverage: r.Coverage, Seen: c.Seen, Repeats: c.Repeats, shows: c.Verdict, rule: rule,
		})
	}
	least := enough
	for len(ps) > 0 && inference.Detectable(1, least, least, alpha/float64(len(ps))) == 0 {
		least++
	}
	for i, p := range inference.Holm(ps) {
		c := &list[i]
		c.enough = least
		if c.P = p; p > alpha && c.shows != inference.Alike {
			c.shows = inference.TooFew
		}
		c.Verdict, c.Clear = c.rule.words[c.shows], c.shows != inference.TooFew
		c.Sentence = c.sentence()
	}
	return list, nil
}

const (
	// mediansDiffer is by how much the difference of the medians and the shift differ in a sentence that has both.
	mediansDiffer = 0.05

	// enough is how many runs a side can be told from others at all. Four against four give p = 0.029, which Holm's
	// correction for five metrics makes 0.14; five against five give 0.008, which stays below 0.05 for six.
	enough = 5
)

func (c *Compared) sentence() string {
	said := strings.HasSuffix(say("shift", c.Shift), string(c.Verdict))
	return say("compared", struct {
		*Compared
		Alike, Apart, Said bool
		Delta              float64
		Fewest, Enough     int
	}{c, c.shows == inference.Alike, c.Medians.IsKnown() && math.Abs(float64(c.Medians-c.Shift)) > mediansDiffer, said, c.rule.delta, min(c.A.N, c.B.N), c.enough})
}

// FailOn is what a comparison must not show: a shift of a metric, or what no run of B may be.
type FailOn struct {
	Text   string
	Metric Metric // of a shift; "": Text is what no run may be
	Above  bool   // the shift must not be above Limit; else not below
	Limit  Share
}

// ParseFailOn reads a shift, as "rate<-3%" or "p99>10%", or an expression, as "errors>0". It may begin with a load: "orders.p99>10%".
func ParseFailOn(text string) (FailOn, error) {
	f, err := parseFailOn(text)
	if load, rest, found := strings.Cut(f.Text, "."); err != nil && found {
		if of, wrong := parseFailOn(rest); wrong == nil {
			if of.Text = f.Text; of.Metric != "" {
				of.Metric = named(load, of.Metric)
			}
			return of, nil
		}
	}
	return f, err
}

func parseFailOn(text string) (FailOn, error) {
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

// Judge adds a failure for each limit that a comparison passes. A shift that may be noise is none, unless
// there are too few runs to ever tell: then the shift itself decides.
func (d *CompareDocument) Judge(limits []FailOn) {
	fail := func(format string, args ...any) { d.Failures = append(d.Failures, fmt.Sprintf(format, args...)) }
	for _, f := range limits {
		judged := false
		for _, load := range d.loads() {
			m, text := named(load, f.Metric), named(load, f.Text)
			i := slices.IndexFunc(d.Metrics, func(c Compared) bool { return c.Metric == m })
			switch {
			case f.Metric == "": // no run may be it, and it must be known of each
				var seen []string
				for _, one := range d.B.loads {
					for _, l := range one.SLO {
						if judged = judged || l.Expression == text; l.Expression == text && (l.Held || l.Value == nil) {
							seen = append(seen, cmp.Or(l.Shown(), l.Note)+" in "+one.File)
						}
					}
				}
				if len(seen) > 0 {
					fail("%s of %d of %s of B: %s", text, len(seen), theme.Plural(len(d.B.loads), "run", "runs"), seen[0])
				}
			case !d.A.loads.know(m) && !d.B.loads.know(m): // it is for the others
			case i < 0:
				judged = true
				fail("%s was not measured in every run, or failed in one", m)
			default:
				judged = true
				c, over := &d.Metrics[i], map[bool]string{true: "above", false: "below"}[f.Above]
				if passed := f.Above && c.Shift > f.Limit || !f.Above && c.Shift < f.Limit; passed && (c.isTold() || min(c.A.N, c.B.N) < c.enough) {
					fail("%s is %s, %s %s", m, say("shift", c.Shift), over, theme.Percent(float64(f.Limit)))
				}
			}
		}
		if !judged {
			fail("%s was not measured in every run, or failed in one", cmp.Or(string(f.Metric), f.Text))
		}
	}
}

// loads returns the names of the loads of workloads, after "" for all together.
func (d *CompareDocument) loads() []string {
	return once(slices.Concat([]string{""}, d.A.named, d.B.named))
}

// know reports whether a metric was measured in a run, or failed there.
func (fs figures) know(m Metric) bool {
	return slices.ContainsFunc(fs, func(f *LoadFigures) bool {
		_, measured := f.Measures[m]
		return measured || slices.Contains(f.FailedMetrics, m)
	})
}
