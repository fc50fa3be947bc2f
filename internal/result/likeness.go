package result

import (
	"fmt"
	"math"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// Likeness compares a load with the captured one that it makes again.
type Likeness struct {
	Figures []Replayed `json:"figures"` // those that the capture knows
	Unlike  []string   `json:"unlike"`  // what is not alike, as sentences
}

// Replayed is one figure of it.
type Replayed struct {
	Figure string   `json:"figure"`              // as the fields of Asked
	Asked  float64  `json:"asked"`               // at the scale of this run
	Made   *float64 `json:"made,omitempty"`      // nil: the system does not tell
	Off    *float64 `json:"off_share,omitempty"` // made over asked, less 1
}

// batchHead is what a batch of Kafka has before its records, in bytes: clients count the records alone.
const batchHead = 61

// likeKeys is the share of a load's keys that come up without a word.
const likeKeys = 0.95

// likeStages is how much the mean rate of the stages that were measured may differ from that of all of them without a word.
const likeStages = 0.01

// replay returns how a load compares with what was captured; nil: it was not captured. sent is what the brokers got, and records is how
// many were acknowledged, both measured.
func (r *Result) replay(sent *stats.Traffic, records int64) *Likeness {
	if r.Part == nil || r.Part.Asked == nil {
		return nil
	}
	p, t := &r.Plan, &r.Throughput
	from := time.Duration(t.FirstDueSeconds * float64(time.Second))
	measured := p.Schedule().Mean(from, from+time.Duration(t.Seconds*float64(time.Second)))
	of := verdict.Per(measured, p.RecordsPerSecond())
	if of == 0 { // nothing was measured, or there is no target
		of = 1
	}
	asked := r.Part.Asked.Times(p.Part() * of)
	all := &Likeness{Figures: []Replayed{}, Unlike: append([]string{}, asked.Unlike...)}
	if math.Abs(of-1) > likeStages {
		all.Unlike = append(all.Unlike, fmt.Sprintf("only a part of the stages was measured, with %s of the mean rate of all: the rates asked for are of that part", theme.Percent(of)))
	}
	var heads float64
	if p.System() == plan.Kafka {
		heads = batchHead * float64(sent.Batches)
	}
	packed, batches := float64(sent.WireBytes)+heads, float64(sent.Batches)
	bytes := t.RecordsPerSecond * verdict.Per(packed, float64(sent.Records))
	if sent.Batches == 0 { // a system without batches
		bytes = t.MiBPerSecond * mib
	}
	keys := p.Payload.DistinctKeys(records)
	zipf, _ := plan.ParseZipf(string(p.Payload.Keys)) // 0: the keys have no such law
	if asked.Keys > 0 && keys < likeKeys*float64(p.Payload.KeyRange) {
		all.Unlike = append(all.Unlike, fmt.Sprintf("about %s of the load's %s keys came up: its records were too few for all of them",
			theme.Count(int64(keys)), theme.Count(p.Payload.KeyRange)))
	}
	for _, f := range []struct {
		name        string
		asked, made float64
		known       bool
	}{
		{"records_per_second", asked.Rate, t.RecordsPerSecond, true},
		{"bytes_per_second", asked.Bytes, bytes, true},
		{"batch_bytes", asked.Batch, verdict.Per(packed, batches), batches > 0},
		{"batch_records", asked.Records, verdict.Per(float64(sent.Records), batches), batches > 0},
		{"compression_ratio", asked.Ratio, verdict.Per(float64(sent.Bytes)+heads, packed), batches > 0},
		{"keys", float64(asked.Keys), keys, true},
		{"zipf", asked.Zipf, zipf, true},
	} {
		if f.asked > 0 {
			all.Figures = append(all.Figures, Replayed{f.name, f.asked, optional(f.made, f.known), optional(f.made/f.asked-1, f.known)})
		}
	}
	return all
}
