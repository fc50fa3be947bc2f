package study

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/result/metric"
)

// Proposal is a change that a trial puts to the test: runs without it and with it take turns.
type Proposal struct {
	Changes []Flag  `json:"changes"` // flags of the load, topic.SETTING, broker.SETTING, sysctl.KEY, or tune.ID as kt tune proposes it
	Looks   []int   `json:"looks"`   // repeats after which the runs are compared; the last is the most that are made
	Delta   float64 `json:"delta"`   // differences of at most this share do not matter
}

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
		bad.refuse(repeats < enough, "", "--repeats %d: it takes at least %d runs a side to tell a difference from noise", repeats, enough)
	}
	for i, c := range changes {
		bad.refuse(slices.ContainsFunc(changes[:i], func(o Flag) bool { return o.Name == c.Name }), "", "%s: it is changed twice", c.Name)
		bad.refuse(slices.Contains(OwnFlags, c.Name), "", "%s: %s", c.Name, notYours("trial", c.Name))
	}
	s := &Study{Name: "trial", About: "Does this change help?", Loads: []Load{l}, Repeats: p.Looks[len(p.Looks)-1], Order: ABBA, Trial: p}
	return s, errors.Join(append(bad, s.problems()...)...)
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
	Control Side       `json:"control"`
	Changed Side       `json:"changed"`
	Effects []Compared `json:"effects"`
	Loads   int        `json:"loads,omitempty"`   // of a workload
	Shifted []string   `json:"shifted,omitempty"` // its loads in which an effect is shown
	Clear   bool       `json:"clear"`             // each effect is shown, or shown not to matter
}

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
	cells, err := d.cells()
	if err != nil {
		return err
	}
	control, changed := Side{Name: "as it is", loads: cells[0].of(0)}, Side{Name: p.String(), loads: cells[1].of(0)}
	t := &TrialDoc{Control: control.sum(), Changed: changed.sum()}
	// The looks share the false alarms equally, which holds for any test: Bonferroni, see Jennison and Turnbull, Group Sequential
	// Methods (1999), chapter 2. The same effect at the last of 3 looks takes 1.3 times the runs of a single one.
	t.Effects, err = p.effects(d.Study.Loads[0].Loads, &control, &changed, cells[0].of, alpha/float64(len(p.Looks)))
	t.Clear = len(t.Effects) > 0 && !slices.ContainsFunc(t.Effects, func(e Compared) bool { return !e.Clear })
	for _, l := range d.Study.Loads[0].Loads {
		t.Loads++
		if slices.ContainsFunc(t.Effects, func(e Compared) bool { return strings.HasPrefix(string(e.Metric), l.Name+".") && e.isTold() }) {
			t.Shifted = append(t.Shifted, l.Name)
		}
	}
	d.TrialDoc, d.Sentence = t, say("trial", t)
	return err
}

// effects compares the two sides, of a workload in each of its loads: all effects share the false alarms. Without a rate a latency is
// that of a queue, but that of what reads another load is not.
func (p *Proposal) effects(loads []Load, control, changed *Side, of func(load int) figures, alpha float64) ([]Compared, error) {
	var rules []rule
	for i := range max(1, len(loads)) {
		name, place := "", 0
		if len(loads) > 0 {
			name, place = loads[i].Name, i+1
		}
		if rules = append(rules, rule{named[Metric](name, metric.Rate), p.Delta, ofTrial}); len(control.loads) == 0 || of(place)[0].Target > 0 || name != "" && loads[i].Reads != "" {
			rules = append(rules, rule{named[Metric](name, metric.P99), p.Delta, ofTrial})
		}
		rules = append(rules, rule{named[Metric](name, metric.Roughness), roughnessDelta, ofRoughness})
	}
	return compareAll(control, changed, rules, alpha)
}
