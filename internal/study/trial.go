package study

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/theme"
)

// Proposal is a change that a trial puts to the test: runs without it and with it take turns.
type Proposal struct {
	Changes []Flag  `json:"changes"` // flags of the load, topic.SETTING, broker.SETTING, sysctl.KEY, or tune.ID as kt tune proposes it
	Looks   []int   `json:"looks"`   // repeats after which the runs are compared; the last is the most that are made
	Delta   float64 `json:"delta"`   // differences of at most this share do not matter
}

// fewestRepeats is the smallest number of runs a side that can show a difference in one of three metrics:
// with four, Mann-Whitney's exact test never gives less than 0.029.
const fewestRepeats = 5

// defaultLooks are the repeats after which a trial without a fixed number is looked at. The first can
// show a difference in one of three metrics at the alpha that three looks leave: 3 × 0.0022 is below 0.0167.
var defaultLooks = []int{6, 12, 20}

// roughnessDelta is the share by which roughness may differ and yet not matter: it is noisy itself.
const roughnessDelta = 0.25

// NewTrial returns the trial of changes of a load. Repeats 0 means until the answer is clear, at most 20 a side.
func NewTrial(l Load, changes []Flag, repeats int, delta float64) (*Study, error) {
	p := &Proposal{Changes: changes, Looks: defaultLooks, Delta: delta}
	var bad problems
	bad.refuse(len(changes) == 0, "", "no change is given: name one, as in kt trial linger=20ms -- produce --acks all")
	if repeats > 0 {
		p.Looks = []int{repeats}
		bad.refuse(repeats < fewestRepeats, "", "--repeats %d: it takes at least %d runs a side to tell a difference from noise", repeats, fewestRepeats)
	}
	for i, c := range changes {
		bad.refuse(slices.ContainsFunc(changes[:i], func(o Flag) bool { return o.Name == c.Name }), "", "%s: it is changed twice", c.Name)
		bad.refuse(slices.Contains(OwnFlags, c.Name), "", "%s: %s", c.Name, notYours("trial", c.Name))
	}
	s := &Study{
		Name: "trial", About: "Does this change help?", Loads: []Load{l}, Discard: defaultDiscard, Repeats: p.Looks[len(p.Looks)-1], Order: ABBA,
		Rest: plan.Duration(defaultRest), Trial: p,
	}
	return s, errors.Join(append(bad, s.problems()...).errs()...)
}

// ParseChange reads a change: NAME=VALUE, or tune.ID.
func ParseChange(text string) (Flag, error) {
	name, value, ok := strings.Cut(strings.TrimPrefix(text, "--"), "=")
	switch ofTune := strings.HasPrefix(name, tunePrefix); {
	case ofTune && !ok:
		return Flag{name, "proposed"}, nil
	case ofTune || !ok || name == "":
		return Flag{}, fmt.Errorf("change %q: write NAME=VALUE, as in linger=20ms, topic.flush.messages=1, broker.num.io.threads=16 or "+
			"sysctl.vm.swappiness=1; or tune.ID, as in tune.vm.swappiness", text)
	}
	return Flag{name, value}, nil
}

// String returns the changes as they are written on the command line.
func (p *Proposal) String() string { return Cell{At: p.Changes}.String() }

// TrialDoc has the effects of the changes of a trial.
type TrialDoc struct {
	Control SideDoc  `json:"control"`
	Changed SideDoc  `json:"changed"`
	Effects []Effect `json:"effects"`
	Clear   bool     `json:"clear"` // each effect is shown, or shown not to matter
}

// Effect is the effect of the changes on one metric.
type Effect struct {
	Compared

	Clear bool `json:"clear"` // the verdict is shown; false: it is unchanged as far as these runs can tell
}

// The verdicts of a trial: of throughput and latency, and of stability.
const (
	Raised    Change = "higher"
	Lowered   Change = "lower"
	Rougher   Change = "rougher"
	Steadier  Change = "steadier"
	Unchanged Change = "unchanged"
)

// next looks at the runs. Looks share the false alarms, so that looking again and stopping at the first clear answer adds none.
func (p *Proposal) next(d *Document) ([]Turn, error) {
	made := len(d.turns)
	if made > 0 {
		if err := p.conclude(d); err != nil || d.Clear {
			return nil, err
		}
	}
	for _, repeats := range p.Looks {
		if until := d.Study.Discard + 2*repeats; until > made {
			return d.Study.Turns()[made:until], nil
		}
	}
	return nil, nil
}

// conclude compares the runs that were made at one look.
func (p *Proposal) conclude(d *Document) error {
	sides := [2]Side{{Name: "as it is"}, {Name: p.String()}}
	cells, err := d.cells()
	if err != nil {
		return err
	}
	for i := range cells {
		sides[i].runs = cells[i].of(0)
	}
	t := &TrialDoc{Control: sides[0].doc(), Changed: sides[1].doc()}
	// The looks share the false alarms equally, which holds for any test: Bonferroni, see Jennison and Turnbull, Group Sequential
	// Methods (1999), chapter 2. The same effect at the last of 3 looks takes 1.3 times the runs of a single one.
	t.Effects, err = effects(&sides[0], &sides[1], p.Delta, alpha/float64(len(p.Looks)))
	t.Clear = len(t.Effects) > 0 && !slices.ContainsFunc(t.Effects, func(e Effect) bool { return !e.Clear })
	d.TrialDoc, d.Sentence = t, t.sentence()
	return err
}

// effects compares two sides in throughput, in latency at a target rate, and in stability.
func effects(a, b *Side, delta, alpha float64) ([]Effect, error) {
	metrics := []Metric{metric.Rate, metric.P99, metric.Roughness}
	if len(a.runs) > 0 && a.runs[0].Target == 0 {
		metrics = []Metric{metric.Rate, metric.Roughness}
	}
	list := []Effect{}
	all, err := compareAll(a, b, metrics, func(m Metric) float64 {
		return map[bool]float64{true: roughnessDelta, false: delta}[m == metric.Roughness]
	}, alpha)
	for _, c := range all {
		list = append(list, effectOf(c))
	}
	return list, err
}

// effectOf puts a comparison in the words of a trial.
func effectOf(c Compared) Effect {
	e := Effect{Compared: c, Clear: c.Verdict != TooFew}
	what, lower, higher := string(c.Metric), Lowered, Raised
	if c.Metric == metric.Roughness {
		what, lower, higher = "the throughput over time", Steadier, Rougher
	}
	low, high, suffix := theme.Signed(c.Low), theme.Signed(c.High), " as far as these runs can tell"
	switch e.Verdict = Unchanged; {
	case c.isTold():
		if e.Verdict = lower; c.Shift > 0 {
			e.Verdict = higher
		}
		if suffix = " than nothing"; c.Shift.IsKnown() {
			suffix = fmt.Sprintf(": %s (%s to %s)", theme.Signed(c.Shift), low, high)
		}
	case e.Clear:
		suffix = fmt.Sprintf(": the shift is between %s and %s", low, high)
	case c.Seen > 0:
		suffix += ": they would have shown a shift of " + theme.Percent(c.Seen)
	}
	e.Sentence = fmt.Sprintf("%s is %s%s", what, e.Verdict, suffix)
	return e
}

// sentence returns the effects of a trial in a sentence.
func (d *TrialDoc) sentence() string {
	text, steady := "nothing was measured yet", len(d.Effects) == 0
	for i := range d.Effects {
		e := &d.Effects[i]
		if i == 0 {
			text = fmt.Sprintf("with %s, after %s a side, %s", d.Changed.Name, theme.Plural(d.Changed.Runs, "run", "runs"), e.Sentence)
		} else {
			text += "; " + e.Sentence
		}
		steady = steady || e.Metric == metric.Roughness
	}
	for i, side := range []SideDoc{d.Control, d.Changed} {
		for _, failed := range side.FailedMetrics {
			text += []string{"; without it ", "; with it "}[i] + failed
		}
	}
	if n := d.Control.ClientBound + d.Changed.ClientBound; n > 0 {
		text += fmt.Sprintf("; kt or its host was the limit of %s, which can hide what a change does", theme.Plural(n, "run", "runs"))
	}
	if !steady {
		text += "; stability takes runs of 30 s and more"
	}
	return text
}
