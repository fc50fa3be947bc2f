package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Stage is a part of a load with a target of its own: one rate, or a rate that rises or falls
// evenly.
type Stage struct {
	From, To float64 // a second, in the unit of its Rate
	Length   Duration
}

// MaxStages bounds the stages of a load: each has its figures in memory.
const MaxStages = 100

// ParseTarget reads the target of a load: what [ParseRate] reads, or stages. "10k@1m,50k@2m" are
// two stages of one rate each, and "10k..100k@5m" is one whose rate rises. A rate may rise from
// 0, or fall to it. "0@5s" is a pause, in either unit.
func ParseTarget(s string) (Rate, error) {
	if !strings.ContainsRune(s, '@') && !strings.Contains(s, "..") {
		return ParseRate(s)
	}
	var r Rate
	records := false // a stage is in records
	for i, text := range strings.Split(s, ",") {
		stage, bytes, err := parseStage(text)
		if r.Bytes = r.Bytes || bytes; stage.From+stage.To > 0 {
			records = records || !bytes
		}
		switch {
		case err != nil:
			return Rate{}, fmt.Errorf("stage %q: %w", text, err)
		case records && r.Bytes:
			return Rate{}, fmt.Errorf("%q has stages in records and in bytes: give all in one unit", s)
		case i >= MaxStages:
			return Rate{}, fmt.Errorf("%d stages are too many: give at most %d", strings.Count(s, ",")+1, MaxStages)
		}
		r.Stages = append(r.Stages, stage)
	}
	if r.PerSecond = meanOf(r.Stages); r.PerSecond == 0 {
		return Rate{}, fmt.Errorf("%q %w", s, errNever)
	}
	return r, nil
}

// maxStage keeps the sum of all stages a duration.
const maxStage = 366 * 24 * time.Hour

func parseStage(s string) (stage Stage, bytes bool, err error) {
	rates, length, ok := strings.Cut(s, "@")
	d, err := ParseDuration(length)
	switch {
	case !ok:
		return Stage{}, false, errors.New("it has no time: write RATE@TIME (10k@1m) or RATE..RATE@TIME (10k..100k@5m)")
	case err != nil || d < time.Second || d%time.Second != 0 || d > maxStage:
		return Stage{}, false, fmt.Errorf("%q is not a time in whole seconds (90s, 5m)", length)
	}
	first, last, slope := strings.Cut(rates, "..")
	if strings.HasPrefix(last, ".") {
		return Stage{}, false, errors.New("write two points between its rates")
	}
	if !slope {
		last = first
	}
	from, err := parseEnd(first)
	to, wrong := parseEnd(last)
	if err = cmp.Or(err, wrong); err == nil && from.Bytes != to.Bytes && from.PerSecond > 0 && to.PerSecond > 0 {
		err = errors.New("it is in records and in bytes: give both rates in one unit")
	}
	return Stage{from.PerSecond, to.PerSecond, Duration(d)}, from.Bytes || to.Bytes, err
}

// parseEnd reads the rate at one end of a stage, which may be 0 in any unit.
func parseEnd(s string) (Rate, error) {
	r, err := parseLimit(s)
	if errors.Is(err, errNever) {
		err = nil
	}
	return r, err
}

// text writes the stage as ParseTarget reads it.
func (g Stage) text(bytes bool) string {
	write := func(perSecond float64) string {
		if perSecond == 0 {
			return "0"
		}
		return Rate{PerSecond: perSecond, Bytes: bytes}.String()
	}
	s := write(g.From)
	if g.To != g.From {
		s += ".." + write(g.To)
	}
	return s + "@" + g.Length.String()
}

// Bounds returns when each stage begins, and when the last one ends. Without stages, it is empty.
func (r Rate) Bounds() []time.Duration {
	if len(r.Stages) == 0 {
		return nil
	}
	bounds := []time.Duration{0}
	for i, g := range r.Stages {
		bounds = append(bounds, bounds[i]+g.Length.Std())
	}
	return bounds
}

// StageAt returns the number of the stage at a moment, from 0: the last one after the end.
func (r Rate) StageAt(at time.Duration) int {
	return max(0, min(r.Schedule(r.PerSecond).step(at), len(r.Stages)-1))
}

// Peak returns the highest target of this process at any time, in records a second.
func (p *Plan) Peak() float64 {
	top, mean := p.Load.Rate.PerSecond, p.Load.Rate.PerSecond
	for _, g := range p.Load.Rate.Stages {
		top = max(top, g.From, g.To)
	}
	if mean == 0 {
		return 0
	}
	return p.RecordsPerSecond() * (top / mean)
}

// Schedule returns the target of this process over time.
func (p *Plan) Schedule() Schedule { return p.Load.Rate.Schedule(p.RecordsPerSecond()) }

// Times returns the target multiplied by a factor.
func (r Rate) Times(factor float64) Rate {
	r.PerSecond *= factor
	r.Stages = slices.Clone(r.Stages)
	for i := range r.Stages {
		r.Stages[i].From *= factor
		r.Stages[i].To *= factor
	}
	return r
}

// Delayed returns the target of a load that begins later: it has a stage without records first.
func (r Rate) Delayed(by time.Duration) Rate {
	if by <= 0 || len(r.Stages) == 0 {
		return r
	}
	r.Stages = slices.Insert(slices.Clone(r.Stages), 0, Stage{Length: Duration(by)})
	r.PerSecond = meanOf(r.Stages)
	return r
}

// plus returns the sum of two targets in records. Stages remain if both have some, and are not too many then.
func (r Rate) plus(o Rate) Rate {
	sum := Rate{PerSecond: r.PerSecond + o.PerSecond}
	bounds := slices.Concat(r.Bounds(), o.Bounds())
	slices.Sort(bounds)
	bounds = slices.Compact(bounds)
	if len(r.Stages) == 0 || len(o.Stages) == 0 {
		return sum
	}
	for i, to := range bounds[1:] {
		a, b := r.piece(bounds[i], to), o.piece(bounds[i], to)
		sum.Stages = append(sum.Stages, Stage{a.From + b.From, a.To + b.To, a.Length})
	}
	sum.PerSecond = meanOf(sum.Stages)
	if len(sum.Stages) > MaxStages {
		sum.Stages = nil
	}
	return sum
}

// piece returns the target between two moments of one stage, or after the last one.
func (r Rate) piece(from, to time.Duration) Stage {
	piece, at := Stage{Length: Duration(to - from)}, time.Duration(0)
	for _, g := range r.Stages {
		length := g.Length.Std()
		if from < at+length {
			rise := (g.To - g.From) / float64(length)
			piece.From, piece.To = g.From+rise*float64(from-at), g.To-rise*float64(at+length-to)
			break
		}
		at += length
	}
	return piece
}

// meanOf returns the mean target of stages.
func meanOf(stages []Stage) float64 {
	records, seconds := 0.0, 0.0
	for _, g := range stages {
		records += (g.From + g.To) / 2 * g.Length.Std().Seconds()
		seconds += g.Length.Std().Seconds()
	}
	return records / seconds
}
