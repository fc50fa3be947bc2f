package probe

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/kt-bench/kt/internal/theme"
)

// Grade is the fitness of something for Kafka. The empty Grade means that there is no threshold.
type Grade string

// The grades, best first.
const (
	Good Grade = "good"
	OK   Grade = "ok"
	Poor Grade = "poor"
)

// Finding is one figure held against its thresholds.
type Finding struct {
	Metric   string  `json:"metric"` // "p99"
	Value    float64 `json:"value"`
	Unit     string  `json:"unit"` // "ms", "MiB/s", "%"
	Grade    Grade   `json:"grade"`
	Sentence string  `json:"sentence"`
	Source   string  `json:"source"` // of the threshold that decided
}

// scale holds a figure against thresholds. Its bands go from best to worst; the last has no limit.
type scale struct {
	Metric, Unit string
	Higher       bool // is better
	Bands        []struct {
		Limit            float64
		Grade            Grade
		Sentence, Source string
	}
}

//go:embed scales.json
var scalesJSON []byte

var scales = sync.OnceValue(func() (all map[string]scale) {
	if err := json.Unmarshal(scalesJSON, &all); err != nil {
		panic("scales.json: " + err.Error()) // it is part of the program, and a test reads it
	}
	return all
})

// judge returns the finding for a value on a scale.
func judge(name string, value float64) Finding {
	s := scales()[name]
	b := s.Bands[len(s.Bands)-1]
	for _, candidate := range s.Bands[:len(s.Bands)-1] {
		if s.Higher && value >= candidate.Limit || !s.Higher && value <= candidate.Limit {
			b = candidate
			break
		}
	}
	return Finding{
		Metric: s.Metric, Value: value, Unit: s.Unit, Grade: b.Grade, Source: b.Source,
		Sentence: fmt.Sprintf("%s of %s %s: %s", s.Metric, theme.Amount(value), s.Unit, b.Sentence),
	}
}

// worst returns the worst of some grades.
func worst(grades ...Grade) Grade {
	order := []Grade{"", Good, OK, Poor}
	return slices.MaxFunc(grades, func(a, b Grade) int { return slices.Index(order, a) - slices.Index(order, b) })
}

func worstFinding(findings []Finding) (g Grade) {
	for _, f := range findings {
		g = worst(g, f.Grade)
	}
	return g
}

// judge grades every result of a directory, and finds the rate to plan with.
func (d *Directory) judge() {
	var direct float64
	d.Grade = ""
	for i := range d.Results {
		r := &d.Results[i]
		if r.Test == testWrite {
			direct = r.MiBPerSecond
		}
		if d.Memory != "" {
			continue
		}
		r.Findings = r.judge(direct)
		r.Grade = worstFinding(r.Findings)
		d.Grade = worst(d.Grade, r.Grade)
		if a := r.Append; a != nil && a.SustainedMiBPerSecond > 0 && a.Steady && !a.Cut {
			d.PlanMiBPerSecond, d.Plan = a.SustainedMiBPerSecond, "plan with "
			if !a.Limited {
				d.Plan += "at least "
			}
			d.Plan += theme.Amount(a.SustainedMiBPerSecond) + " MiB/s"
		}
	}
}

// judge holds a result against the thresholds of its test. direct is the rate that write found; 0: it did not run.
func (r *Result) judge(direct float64) (out []Finding) {
	if r.Operations == 0 {
		return nil
	}
	latency := func(scale string, micros float64) {
		if !r.LatencyUngraded {
			out = append(out, judge(scale, micros/1000))
		}
	}
	switch r.Test {
	case testWrite:
		return append([]Finding{judge("write", r.MiBPerSecond)}, r.judgeSpread()...)
	case testAppend:
		latency("stall", r.Latency.P999)
		if r.Append == nil {
			return out
		}
		if direct > 0 && r.Append.Limited {
			out = append(out, judgeShare(r.Append.SustainedMiBPerSecond, direct))
		}
		return append(out, r.judgeSpread()...)
	case testCommit, testMixed:
		latency("stall", r.Latency.P999)
	case testSync, partSyncEtcd:
		latency("sync", r.Latency.P99)
	}
	return out
}

// judgeShare holds what the page cache passes on against what the device takes. A disk is not poor for it while the rate that is
// left is good by itself: there the processors are often what ends it.
func judgeShare(sustained, direct float64) Finding {
	f := judge("share", 100*sustained/direct)
	if f.Grade == Poor && judge("write", sustained).Grade == Good {
		f.Grade = OK
		f.Sentence += fmt.Sprintf("; %s MiB/s are still fast", theme.Amount(sustained))
	}
	return f
}

// judgeSpread leaves out what too few seconds would make of chance.
func (r *Result) judgeSpread() (out []Finding) {
	const forVariation, forThirds = 3, 6 // seconds
	if r.Spread.Seconds >= forVariation {
		out = append(out, judge("even", 100*r.Spread.CV))
	}
	if r.Spread.Seconds >= forThirds && r.Spread.FirstThird > 0 {
		out = append(out, judge("thirds", 100*r.Spread.LastThird/r.Spread.FirstThird))
	}
	return out
}
