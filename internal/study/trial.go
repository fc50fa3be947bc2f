package study

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/plan"
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
	if len(changes) == 0 {
		return nil, errors.New("no change is given: name one, as in kt trial linger=20ms -- produce --acks all")
	}
	p := &Proposal{Changes: changes, Looks: defaultLooks, Delta: delta}
	switch {
	case repeats > 0 && repeats < fewestRepeats:
		return nil, fmt.Errorf("--repeats %d: it takes at least %d runs a side to tell a difference from noise", repeats, fewestRepeats)
	case repeats > 0:
		p.Looks = []int{repeats}
	}
	var errs []error
	for i, c := range changes {
		if slices.ContainsFunc(changes[:i], func(o Flag) bool { return o.Name == c.Name }) {
			errs = append(errs, fmt.Errorf("%s: it is changed twice", c.Name))
		}
		if slices.Contains(OwnFlags, c.Name) {
			errs = append(errs, fmt.Errorf("%s: %s", c.Name, notYours("trial", c.Name)))
		}
	}
	s := &Study{
		Name: "trial", About: "Does this change help?", Loads: []Load{l}, Discard: defaultDiscard, Repeats: p.Looks[len(p.Looks)-1], Order: ABBA,
		Rest: plan.Duration(defaultRest), Trial: p,
	}
	return s, errors.Join(append(errs, s.Check())...)
}

// ParseChange reads a change: NAME=VALUE, or tune.ID.
func ParseChange(text string) (Flag, error) {
	name, value, ok := strings.Cut(strings.TrimPrefix(text, "--"), "=")
	if strings.HasPrefix(name, tunePrefix) && !ok {
		return Flag{name, "proposed"}, nil
	}
	if !ok || name == "" || strings.HasPrefix(name, tunePrefix) {
		return Flag{}, fmt.Errorf("change %q: write NAME=VALUE, as in linger=20ms, topic.flush.messages=1, broker.num.io.threads=16 or "+
			"sysctl.vm.swappiness=1; or tune.ID, as in tune.vm.swappiness", text)
	}
	return Flag{name, value}, nil
}

// String returns the changes as they are written on the command line.
func (p *Proposal) String() string { return Cell{At: p.Changes}.String() }

// cells are the load as it is, and with the changes.
func (p *Proposal) cells() []Cell {
	return []Cell{{0, nil, "without " + p.String()}, {1, p.Changes, "with " + p.String()}}
}

// TrialDocument has the effects of the changes of a trial. It is made of the study's folder alone.
type TrialDocument struct {
	Schema   int      `json:"schema"`
	ID       string   `json:"id"`
	Study    *Study   `json:"study"`
	Control  SideDoc  `json:"control"`
	Changed  SideDoc  `json:"changed"`
	Effects  []Effect `json:"effects"`
	Over     bool     `json:"over"`  // false: the trial was cut off
	Clear    bool     `json:"clear"` // each effect is shown, or shown not to matter
	Sentence string   `json:"sentence"`
}

// Effect is the effect of the changes on one metric.
type Effect struct {
	Compared

	Clear bool `json:"clear"` // the verdict is shown; false: it is unchanged as far as these runs can tell
}

// The verdicts of a trial, in the words of account 000: of throughput and latency, and of stability.
const (
	Raised    Change = "higher"
	Lowered   Change = "lower"
	Rougher   Change = "rougher"
	Steadier  Change = "steadier"
	Unchanged Change = "unchanged"
)

// trial returns the runs of a trial in their order as far as they are known, and what they say. Looks share
// the false alarms, so that looking again and stopping at the first clear answer adds none.
func (f *Folder) trial() (*TrialDocument, []Turn, error) {
	p := f.Study.Trial
	all := f.Study.Turns()
	alphas := inference.Looks(len(p.Looks), alpha)
	for i, repeats := range p.Looks {
		turns := all[:f.Study.Discard+2*repeats]
		last := i == len(p.Looks)-1
		complete := !slices.ContainsFunc(turns, func(t Turn) bool { return !f.isDone(t) })
		d, err := f.judgeTrial(turns, alphas[i])
		if err != nil {
			return nil, nil, err
		}
		if d.Over = complete && (d.Clear || last); d.Over || !complete {
			d.Sentence = d.say()
			return d, turns, nil
		}
	}
	return nil, nil, errors.New("a trial has no looks")
}

// judgeTrial compares the runs that were made at one look.
func (f *Folder) judgeTrial(turns []Turn, alpha float64) (*TrialDocument, error) {
	sides := [2]Side{{Name: "as it is"}, {Name: f.Study.Trial.String()}}
	for _, t := range turns {
		if t.Repeat == 0 || !f.isDone(t) {
			continue
		}
		figures, err := f.figures(t)
		if err != nil {
			return nil, err
		}
		s := &sides[t.Cell.Index]
		s.runs = append(s.runs, sideRun{figures: figures[0]})
	}
	d := &TrialDocument{Schema: Schema, ID: f.ID, Study: f.Study, Control: sides[0].doc(), Changed: sides[1].doc(), Effects: []Effect{}}
	var err error
	d.Effects, err = effects(&sides[0], &sides[1], f.Study.Trial.Delta, alpha)
	d.Clear = len(d.Effects) > 0 && !slices.ContainsFunc(d.Effects, func(e Effect) bool { return !e.Clear })
	return d, err
}

// effects compares two sides in throughput, in latency at a target rate, and in stability.
func effects(a, b *Side, delta, alpha float64) ([]Effect, error) {
	metrics := []Metric{Throughput, P99, Roughness}
	if len(a.runs) > 0 && a.runs[0].figures.Target == 0 {
		metrics = []Metric{Throughput, Roughness}
	}
	within := func(m Metric) float64 {
		if m == Roughness {
			return roughnessDelta
		}
		return delta
	}
	list := []Effect{}
	all, err := compareAll(a, b, metrics, within, alpha)
	for _, c := range all {
		e := Effect{Compared: c, Clear: c.Verdict != TooFew}
		e.Verdict = changeOf(&c)
		e.Sentence = e.say()
		list = append(list, e)
	}
	return list, err
}

// changeOf returns the word of a trial for a comparison.
func changeOf(c *Compared) Change {
	up, down := Raised, Lowered
	if c.Metric == Roughness {
		up, down = Rougher, Steadier
	}
	switch {
	case c.Verdict == Same || c.Verdict == TooFew:
		return Unchanged
	case c.Shift > 0:
		return up
	}
	return down
}

// say returns the effect in a sentence.
func (e *Effect) say() string {
	what := e.Metric.String()
	if e.Metric == Roughness {
		what = "the throughput over time"
	}
	text := fmt.Sprintf("%s is %s", what, e.Verdict)
	switch {
	case e.Verdict != Unchanged && !e.Shift.IsKnown():
		return text + " than nothing"
	case e.Verdict != Unchanged:
		return text + fmt.Sprintf(": %s (%s to %s)", theme.Signed(e.Shift), theme.Signed(e.Low), theme.Signed(e.High))
	case e.Clear:
		return text + fmt.Sprintf(": the shift is between %s and %s", theme.Signed(e.Low), theme.Signed(e.High))
	case e.Seen > 0:
		return text + fmt.Sprintf(" as far as these runs can tell: they would have shown a shift of %s", theme.Percent(e.Seen))
	}
	return text + " as far as these runs can tell"
}

// say returns the effects of a trial in a sentence.
func (d *TrialDocument) say() string {
	var parts []string
	for i := range d.Effects {
		parts = append(parts, d.Effects[i].Sentence)
	}
	text := fmt.Sprintf("with %s, after %s a side, %s", d.Changed.Name, theme.Plural(d.Changed.Runs, "run", "runs"), strings.Join(parts, "; "))
	if len(parts) == 0 {
		text = "nothing was measured yet"
	}
	text += strings.Join(append([]string{""}, d.Control.FailedMetrics...), "; without it ") + strings.Join(append([]string{""}, d.Changed.FailedMetrics...), "; with it ")
	if n := d.Control.ClientBound + d.Changed.ClientBound; n > 0 {
		text += fmt.Sprintf("; kt or its host was the limit of %s, which can hide what a change does", theme.Plural(n, "run", "runs"))
	}
	if len(parts) > 0 && !slices.ContainsFunc(d.Effects, func(e Effect) bool { return e.Metric == Roughness }) {
		text += "; stability takes runs of 30 s and more"
	}
	return text
}

// Trial reads the run files of a trial and returns the effects of its changes.
func (f *Folder) Trial() (*TrialDocument, error) {
	d, _, err := f.trial()
	return d, err
}
