package result

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// StageRow has the figures of one stage of the target. Records count in the stage in which they
// were offered, and outcomes in the one in which they became known.
type StageRow struct {
	FromSeconds float64 `json:"from_seconds"`
	ToSeconds   float64 `json:"to_seconds"`
	TargetFrom  float64 `json:"target_from_records_per_second"` // at the beginning, as planned
	TargetTo    float64 `json:"target_to_records_per_second"`   // at the end, as planned

	// MeasuredSeconds is the part of the stage without warm-up, until the load ended. At 0, there
	// are no figures. Rates are over this part; acknowledgements after the end extend it.
	MeasuredSeconds         float64 `json:"measured_seconds"`
	TargetRecordsPerSecond  float64 `json:"target_records_per_second"` // the mean, with changes by the user
	OfferedRecordsPerSecond float64 `json:"offered_records_per_second" of:"writing"`
	RecordsPerSecond        float64 `json:"records_per_second" of:"writing"`
	ReadRecordsPerSecond    float64 `json:"consumed_per_second" of:"reading"`

	// TargetReached is the share of the target at which records were offered, or read by a run that
	// only reads; nil: the stage did not miss its target.
	TargetReached *float64 `json:"target_reached_share,omitempty"`

	Records  Records  `json:"records"`
	Response Latency  `json:"response_us,omitzero" of:"writing"`
	EndToEnd *Latency `json:"end_to_end_us,omitempty"`
	Valid    bool     `json:"valid"`
	Invalid  []string `json:"invalid_reasons"`
}

// addStage adds a measured window to its stage. After the load, it is the stage in which the load ended.
func (f *Fold) addStage(w *stats.Window, loading bool) {
	rate := &f.header.Plan.Load.Rate
	if f.lean || f.hosted || len(rate.Stages) == 0 {
		return
	}
	if f.stages == nil {
		f.stages = make([]stats.Window, len(rate.Stages))
	}
	if loading || f.work(w).records > 0 {
		f.stage = rate.StageAt(w.End - 1)
	}
	part := *w
	part.Partitions, part.Brokers, part.Service, part.SendDelay = nil, nil, stats.Histogram{}, stats.Histogram{} // no row has them
	f.stages[f.stage].Add(&part)
}

// stageRows returns a row for each stage, none of a load without stages.
func (f *Fold) stageRows() (rows []StageRow) {
	p, m := &f.header.Plan, &f.total[stats.Measured]
	bounds, factor := p.Load.Rate.Bounds(), p.RecordsPerSecond()/p.Load.Rate.PerSecond
	work := f.work(m)
	if f.trailer.Ended == Completed && p.Load.Records == 0 {
		work.last = max(work.last, p.Load.Duration.Std()) // the last record is due a little before
	}
	for i, g := range p.Load.Rate.Stages {
		row := StageRow{
			FromSeconds: bounds[i].Seconds(), ToSeconds: bounds[i+1].Seconds(), TargetFrom: g.From * factor, TargetTo: g.To * factor,
			Valid: true, Invalid: []string{},
		}
		from, to := max(bounds[i], work.first), min(bounds[i+1], work.last)
		if i < len(f.stages) && to > from {
			acked := to
			if i == f.stage {
				acked = max(to, m.LastAck)
			}
			f.fillStage(&row, &f.stages[i], from, to)
			row.RecordsPerSecond = float64(f.stages[i].Acknowledged) / (acked - from).Seconds()
		}
		rows = append(rows, row)
	}
	return rows
}

// fillStage sets the figures of a stage that was measured from one moment to another.
func (f *Fold) fillStage(row *StageRow, w *stats.Window, from, to time.Duration) {
	seconds, p := (to - from).Seconds(), &f.header.Plan
	row.MeasuredSeconds, row.TargetRecordsPerSecond = seconds, f.schedule.Mean(from, to)
	row.OfferedRecordsPerSecond = float64(w.Offered) / seconds
	row.ReadRecordsPerSecond = float64(w.Consumed) / seconds
	reached, enough := float64(f.work(w).records)/seconds/row.TargetRecordsPerSecond, stageKept
	if p.Load.Arrivals == plan.Poisson {
		enough -= verdict.PoissonSpread / math.Sqrt(max(1, row.TargetRecordsPerSecond*seconds))
	}
	row.TargetReached = optional(reached, reached < enough)
	row.Records = recordsOf(w)
	row.Response, row.EndToEnd = LatencyOf(&w.Response), EndToEndOf(&w.EndToEnd)
	e := f.evidenceOf(w)
	e.Target, e.TargetSending = row.TargetRecordsPerSecond, f.schedule.Mean(max(w.FirstDue, from), min(w.LastSent, to))
	e.OfferedPerSecond = throughputOf(w).OfferedRecordsPerSecond
	if p.ReadsOnly() {
		e.Read = &verdict.Readers{Only: true, RecordsPerSecond: row.ReadRecordsPerSecond}
	}
	row.Invalid = e.Invalid()
	row.Valid = len(row.Invalid) == 0
}

// stageKept is the share of its target that a stage must reach: seconds of a load are cut a little late.
const stageKept = 0.95

// maxRates bounds the changes of the target: those of all processes of a merged run.
const maxRates = 10_000

// retarget takes over changes of the target. Each is the difference that it makes: of several processes, each has changed its own.
func (f *Fold) retarget(events []stats.Event) {
	before := len(f.rates)
	for _, e := range events {
		switch n := len(f.rates); {
		case e.Kind != stats.RateChanged || f.header.Plan.RecordsPerSecond() <= 0:
		case n == maxRates:
			f.rates[n-1].NewRate += e.NewRate - e.OldRate
		default:
			f.rates = append(f.rates, e)
		}
	}
	if len(f.rates) == before && before < maxRates {
		return
	}
	slices.SortStableFunc(f.rates, func(a, b stats.Event) int { return cmp.Compare(a.At, b.At) })
	f.schedule = f.header.Plan.Schedule()
	for _, e := range f.rates {
		f.schedule = f.schedule.Change(e.At, f.schedule.Rate(e.At)+e.NewRate-e.OldRate)
	}
}

// Targets returns the target over time, with the changes by the user; nil: the rate was unlimited.
func (r *Result) Targets() plan.Schedule {
	if r.Plan.RecordsPerSecond() <= 0 {
		return nil
	}
	s := r.Plan.Schedule()
	for i := range r.Events {
		if e := &r.Events[i]; e.Kind == stats.RateChanged {
			at := secondsOf(e.AtSeconds)
			s = s.Change(at, s.Rate(at)+e.NewRate-e.OldRate)
		}
	}
	return s
}

// varies reports whether the target is not one rate: it has stages, or was changed.
func (f *Fold) varies() bool { return len(f.rates) > 0 || len(f.header.Plan.Load.Rate.Stages) > 0 }

// paused reports whether a window is of a pause between stages, which shows nothing of the rate.
func (f *Fold) paused(start, end time.Duration) bool {
	return f.varies() && f.schedule.Rate((start+end)/2) == 0
}

// Stability is how the throughput of the measured part went on. Its values are the points of the
// series: seconds, or longer ones of a run of more than an hour.
type Stability struct {
	Label inference.Label `json:"label"`

	// WarmupSeconds is the warm-up after which the rest is steady, from the start of the run; 0: none
	// has to be left out, or no rest is steady.
	WarmupSeconds float64 `json:"warmup_seconds"`

	Variation    float64 `json:"variation_share"` // coefficient of variation of means of MeansSeconds; of the rest that is steady, or of all
	MeansSeconds float64 `json:"means_seconds"`   // 5, or five points of a long run
	Trend        Trend   `json:"trend"`
	Change       Change  `json:"change"`
}

// Trend is the rise of the throughput over the same time as the variation, as a share of its mean.
type Trend struct {
	Share float64 `json:"share"`
	Low   float64 `json:"low_share"` // of the interval, of 99 % confidence
	High  float64 `json:"high_share"`
}

// Change is the most likely moment of a change of level.
type Change struct {
	AtSeconds float64 `json:"at_seconds"`
	P         float64 `json:"chance_share"` // of so much difference without a change
	Before    float64 `json:"before_per_second"`
	After     float64 `json:"after_per_second"` // medians
}

// meansOf is the number of points of each mean.
const meansOf = 5

// fewest is the number of records that each mean must hold: of fewer, one more or less is unsteady. Points are joined until they do.
const fewest = 50

// stability returns the stability of the load; nil: fewer than inference.Shortest points were measured.
func (f *Fold) stability(r *Result) *Stability {
	points := slices.DeleteFunc(r.measured(), func(p Point) bool { return f.paused(secondsOf(p.StartSeconds), secondsOf(p.End())) })
	if len(points) == 0 {
		return nil
	}
	each := int(math.Ceil(fewest / meansOf * float64(len(points)) / max(1, r.counted(points))))
	var at, rates []float64
	length := 0.0 // of all points
	for some := range slices.Chunk(points, each) {
		if len(some) < each {
			break
		}
		from, last := some[0].StartSeconds, &some[each-1]
		at = append(at, from)
		for i := range some {
			length += some[i].Seconds
		}
		rates = append(rates, f.evened(r.counted(some)/(last.End()-from), secondsOf(from), secondsOf(last.End())))
	}
	s, err := inference.Stability(rates)
	if err != nil {
		return nil
	}
	out := &Stability{
		Label: s.Label, Variation: s.Roughness, MeansSeconds: meansOf * math.Round(length/float64(len(at))),
		Trend:  Trend{s.Drift.Value, s.Drift.Low, s.Drift.High},
		Change: Change{at[s.Change.At], s.Change.P, s.Change.Before, s.Change.After},
	}
	if s.WarmUp > 0 {
		out.WarmupSeconds = math.Ceil(at[s.WarmUp])
	}
	return out
}

// measured returns the points of the load after the warm-up.
func (r *Result) measured() (points []Point) {
	begin, end := r.Throughput.FirstDueSeconds, r.Throughput.Seconds
	if r.Plan.ReadsOnly() && r.Fetch != nil {
		begin, end = r.Fetch.FirstReadSeconds, r.Fetch.Seconds
	}
	end += begin + 0.1 // windows are cut a little late
	for _, p := range r.Series {
		if !p.Warmup && p.Seconds >= ShortRow && p.End() <= end && (len(points) > 0 || p.End() > begin) {
			points = append(points, p)
		}
	}
	return points
}

// counted returns the records of points that the rate of the run is of.
func (r *Result) counted(points []Point) (n float64) {
	for i := range points {
		if r.Plan.ReadsOnly() {
			n += float64(points[i].Consumed)
		} else {
			n += float64(points[i].Acknowledged)
		}
	}
	return n
}

// Rising returns an unlimited rate in the first third of the measured part, and in the last. warmup is the least one in seconds
// that leaves the rise out. still is false if the rate rose by a tenth or less from one third to the next.
func (r *Result) Rising() (first, last, warmup float64, still bool) {
	const rises = 1.1
	points := r.measured()
	third := len(points) / 3
	if third == 0 || !r.Plan.Load.Rate.IsUnlimited() || r.Plan.Load.OneAtATime {
		return 0, 0, 0, false
	}
	rate := func(some []Point) float64 { return r.counted(some) / (some[len(some)-1].End() - some[0].StartSeconds) }
	first, middle, last := rate(points[:third]), rate(points[third:len(points)-third]), rate(points[len(points)-third:])
	return first, last, math.Ceil(points[len(points)-1].End() - 0.5), middle > rises*first && last > rises*middle
}

func secondsOf(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// evened returns a rate over a time as if the target had not been changed.
func (f *Fold) evened(rate float64, start, end time.Duration) float64 {
	if mean := f.schedule.Mean(start, end); f.varies() && mean > 0 {
		rate *= f.header.Plan.RecordsPerSecond() / mean
	}
	return rate
}
