package probe

import (
	"fmt"
	"slices"

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

// band is a part of a scale: values up to a limit, or from a limit on.
type band struct {
	limit    float64
	grade    Grade
	sentence string
	source   string
}

// scale holds a figure against thresholds. Its bands go from best to worst; the last has no limit.
type scale struct {
	metric, unit string
	higher       bool // is better
	bands        []band
}

const (
	ownJudgement = "kt's own judgement"
	fromAllegro  = "Allegro's objective for produce requests"
	fromEtcd     = "etcd's and IBM's advice on disks"
)

var syncScale = scale{metric: "p99", unit: "ms", bands: []band{
	{2, Good, "a controller's log commits at once", ownJudgement},
	{10, OK, "within the 10 ms that etcd asks of its disks", fromEtcd},
	{20, OK, "over the 10 ms that etcd asks for, within the 20 ms that OpenShift allows", fromEtcd},
	{0, Poor, "over the 20 ms that OpenShift allows: keep a controller's log off this disk", "OpenShift's limit for etcd"},
}}

var stallScale = scale{metric: "p99.9", unit: "ms", bands: []band{
	{5, Good, "appends hardly wait", ownJudgement},
	{65, OK, "within the 65 ms that Allegro allows a produce request", fromAllegro},
	{200, OK, "over the 65 ms that Allegro allows a produce request", fromAllegro},
	{0, Poor, "appends stall, and producers wait: check the file system's journal", ownJudgement},
}}

var shareScale = scale{metric: "sustained/direct", unit: "%", higher: true, bands: []band{
	{85, Good, "through the page cache nearly as fast as the device", ownJudgement},
	{60, OK, "slower through the page cache than the device", ownJudgement},
	{0, Poor, "much slower through the page cache than the device: check the file system, the scheduler and vm.dirty_*", ownJudgement},
}}

var writeScale = scale{metric: "rate", unit: "MiB/s", higher: true, bands: []band{
	{500, Good, "not the first limit of a broker", ownJudgement},
	{125, OK, "at least the base rate of an EBS gp3 volume", "AWS: the base rate of gp3"},
	{100, OK, "less than the base rate of an EBS gp3 volume, 125 MiB/s", "AWS: the base rate of gp3"},
	{0, Poor, "slow for a broker: producers can exceed this rate", ownJudgement},
}}

var thirdsScale = scale{metric: "last/first third", unit: "%", higher: true, bands: []band{
	{95, Good, "as fast at the end as at the start", ownJudgement},
	{80, OK, "slower at the end than at the start", ownJudgement},
	{0, Poor, "much slower at the end: credits ran out, a cache is full, or the disk is hot", ownJudgement},
}}

var evenScale = scale{metric: "variation", unit: "%", bands: []band{
	{3, Good, "even", "iotune's accuracy"},
	{10, OK, "a little uneven", ownJudgement},
	{25, OK, "uneven: something else may use the disk", ownJudgement},
	{0, Poor, "very uneven: something else uses the disk, or its path is shared", ownJudgement},
}}

var parallelScale = scale{metric: "parallel/alone", unit: "%", higher: true, bands: []band{
	{90, Good, "the directories do not slow each other down", ownJudgement},
	{70, OK, "the directories share a part of their path", ownJudgement},
	{0, Poor, "the directories share a disk, a controller or an allowance: more directories add little", ownJudgement},
}}

// judge returns the finding for a value.
func (s scale) judge(value float64) Finding {
	last := len(s.bands) - 1
	b := s.bands[last]
	for _, candidate := range s.bands[:last] {
		if s.higher && value >= candidate.limit || !s.higher && value <= candidate.limit {
			b = candidate
			break
		}
	}
	return Finding{
		Metric: s.metric, Value: value, Unit: s.unit, Grade: b.grade, Source: b.source,
		Sentence: fmt.Sprintf("%s of %s %s: %s", s.metric, theme.Amount(value), s.unit, b.sentence),
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
	latency := func(s scale, micros float64) {
		if !r.LatencyUngraded {
			out = append(out, s.judge(micros/1000))
		}
	}
	switch r.Test {
	case testWrite:
		return append([]Finding{writeScale.judge(r.MiBPerSecond)}, r.judgeSpread()...)
	case testAppend:
		latency(stallScale, r.Latency.P999)
		if r.Append == nil {
			return out
		}
		if direct > 0 && r.Append.Limited {
			out = append(out, judgeShare(r.Append.SustainedMiBPerSecond, direct))
		}
		return append(out, r.judgeSpread()...)
	case testCommit, testMixed:
		latency(stallScale, r.Latency.P999)
	case testSync, partSyncEtcd:
		latency(syncScale, r.Latency.P99)
	}
	return out
}

// judgeShare holds what the page cache passes on against what the device takes. A disk is not poor for it while the rate that is
// left is good by itself: there the processors are often what ends it.
func judgeShare(sustained, direct float64) Finding {
	f := shareScale.judge(100 * sustained / direct)
	if f.Grade == Poor && writeScale.judge(sustained).Grade == Good {
		f.Grade = OK
		f.Sentence += fmt.Sprintf("; %s MiB/s are still fast", theme.Amount(sustained))
	}
	return f
}

// judgeSpread leaves out what too few seconds would make of chance.
func (r *Result) judgeSpread() (out []Finding) {
	const forVariation, forThirds = 3, 6 // seconds
	if r.Spread.Seconds >= forVariation {
		out = append(out, evenScale.judge(100*r.Spread.CV))
	}
	if r.Spread.Seconds >= forThirds && r.Spread.FirstThird > 0 {
		out = append(out, thirdsScale.judge(100*r.Spread.LastThird/r.Spread.FirstThird))
	}
	return out
}
