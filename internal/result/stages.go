package result

import (
	"math"
	"time"

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
	if loading || w.Offered > 0 || f.header.Plan.ReadsOnly() && w.Consumed > 0 {
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
	first, last := m.FirstDue, m.LastDue
	if p.ReadsOnly() {
		first, last = m.FirstRead, m.LastRead
	}
	if f.trailer.Ended == Completed && p.Load.Records == 0 {
		last = max(last, p.Load.Duration.Std()) // the last record is due a little before
	}
	for i, g := range p.Load.Rate.Stages {
		row := StageRow{
			FromSeconds: bounds[i].Seconds(), ToSeconds: bounds[i+1].Seconds(), TargetFrom: g.From * factor, TargetTo: g.To * factor,
			Valid: true, Invalid: []string{},
		}
		from, to := max(bounds[i], first), min(bounds[i+1], last)
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
	if share, missed := f.missed(row); missed {
		row.TargetReached = &share
	}
	row.Records = Records{Offered: w.Offered, Acknowledged: w.Acknowledged, Failed: w.Failed, Unknown: w.Unknown, Unsent: w.Unsent, Consumed: w.Consumed}
	row.Response, row.EndToEnd = LatencyOf(&w.Response), EndToEndOf(&w.EndToEnd)
	use := f.client(&f.total[stats.Measured])
	e := verdict.Evidence{
		Target: row.TargetRecordsPerSecond, TargetSending: f.schedule.Mean(max(w.FirstDue, from), min(w.LastSent, to)), Poisson: p.Load.Arrivals == plan.Poisson,
		Wire: p.Engine == plan.Wire, Offered: w.Offered, Unsent: w.Unsent, Consumed: w.Consumed, OfferedPerSecond: throughputOf(w).OfferedRecordsPerSecond,
		OwnSendDelayP99: w.OwnSendDelay.ValueAtQuantile(0.99), ResponseP99: w.Response.Served().ValueAtQuantile(0.99),
		CPUCores: use.CPUCores, CoresAvailable: use.CoresAvailable, Senders: w.ShardTime > 0, BufferFull: share(w.BufferFull, w.ShardTime),
	}
	if p.ReadsOnly() {
		e.Read = &verdict.Readers{Only: true, RecordsPerSecond: row.ReadRecordsPerSecond}
	}
	row.Invalid = e.Invalid()
	row.Valid = len(row.Invalid) == 0
}

// stageKept is the share of its target that a stage must reach. Seconds of a load are cut a little late, so a
// stage that lasts one may lack some of its records.
const stageKept = 0.95

// missed returns the share of its target that a stage reached, and reports whether it is too little.
func (f *Fold) missed(row *StageRow) (share float64, missed bool) {
	share = row.OfferedRecordsPerSecond / row.TargetRecordsPerSecond
	if f.header.Plan.ReadsOnly() {
		share = row.ReadRecordsPerSecond / row.TargetRecordsPerSecond
	}
	enough := stageKept
	if f.header.Plan.Load.Arrivals == plan.Poisson {
		enough -= verdict.PoissonSpread / math.Sqrt(max(1, row.TargetRecordsPerSecond*row.MeasuredSeconds))
	}
	return share, share < enough
}
