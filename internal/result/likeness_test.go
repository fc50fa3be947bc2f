package result

import (
	"math"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

func TestAReplayIsComparedWithWhatWasCaptured(t *testing.T) {
	asked := Asked{Rate: 1000, Bytes: 50e3, Batch: 5000, Records: 100, Ratio: 2, Keys: 100, Zipf: 1.1}
	for _, row := range []struct {
		name   string
		change func(p *plan.Plan, a *Asked)
		sent   stats.Traffic
		off    map[string]float64 // rounded to whole percent; absent: not among the figures
		nil    []string           // figures that the system does not tell
		unlike []string           // parts of the sentences, in their order
	}{
		{
			name: "as it was", sent: stats.Traffic{Batches: 100, Records: 10_000, Bytes: 2*500_000 - 6100, WireBytes: 500_000 - 6100},
			off: map[string]float64{"records_per_second": 0, "bytes_per_second": 0, "batch_bytes": 0, "batch_records": 0, "compression_ratio": 0, "keys": 0, "zipf": 0},
		},
		{
			name: "batches of half the size, and no keys", sent: stats.Traffic{Batches: 200, Records: 10_000, Bytes: 987_800, WireBytes: 487_800},
			change: func(p *plan.Plan, _ *Asked) { p.Payload.Keys, p.Payload.KeyRange = plan.NoKeys, 0 },
			off:    map[string]float64{"records_per_second": 0, "bytes_per_second": 0, "batch_bytes": -50, "batch_records": -50, "compression_ratio": 0, "keys": -100, "zipf": -100},
		},
		{
			name: "only the rate is known, and a system has no batches",
			change: func(p *plan.Plan, a *Asked) {
				*a = Asked{Rate: 1000, Batch: 100, Bytes: 100e3, Unlike: []string{"two headers"}}
				p.URL = "amqp://b"
			},
			off: map[string]float64{"records_per_second": 0, "bytes_per_second": 0}, nil: []string{"batch_bytes"}, unlike: []string{"two headers"},
		},
		{
			name: "the first of two stages", sent: stats.Traffic{Batches: 100, Records: 10_000, Bytes: 993_900, WireBytes: 493_900},
			change: func(p *plan.Plan, a *Asked) {
				p.Load.Rate = must.Have(plan.ParseTarget("1000@10s,3000@10s"))(t)
				*a = Asked{Rate: 2000, Bytes: 100e3}
			},
			off: map[string]float64{"records_per_second": 0, "bytes_per_second": 0}, unlike: []string{"a part of the stages was measured, with 50%"},
		},
		{
			name: "one of two processes", sent: stats.Traffic{Batches: 100, Records: 10_000, Bytes: 993_900, WireBytes: 493_900},
			change: func(p *plan.Plan, a *Asked) {
				p.Share.Producers, *a = 2, Asked{Rate: 2000}
			},
			off: map[string]float64{"records_per_second": 0},
		},
		{
			name: "more keys than records can have", sent: stats.Traffic{Batches: 100, Records: 10_000, Bytes: 993_900, WireBytes: 493_900},
			change: func(p *plan.Plan, a *Asked) {
				p.Payload.KeyRange, *a = 1e6, Asked{Rate: 1000, Keys: 1e6}
			},
			off: map[string]float64{"records_per_second": 0, "keys": -100}, unlike: []string{"of the load's 1,000,000 keys came up"},
		},
	} {
		h := header(1000)
		h.Plan.Payload.Keys, h.Plan.Payload.KeyRange = "zipf:1.1", 100
		of := asked
		if row.change != nil {
			row.change(&h.Plan, &of)
		}
		h.Part = &Part{Run: "shop", Load: "orders", Asked: &of}
		f := NewFold(h)
		second := time.Second
		f.AddWindow(stats.Window{
			End: 10 * second, Offered: 10_000, Acknowledged: 10_000, Bytes: 1e6, LastSent: 10 * second, LastDue: 10 * second, LastAck: 10 * second, ShardTime: 10 * second,
			Brokers: map[int32]stats.Broker{1: {Traffic: row.sent}},
		})
		got, unknown := make(map[string]float64), []string(nil)
		r := f.Result().Replay
		for _, one := range r.Figures {
			if one.Off == nil {
				unknown = append(unknown, one.Figure)
			} else {
				got[one.Figure] = math.Round(100 * *one.Off)
			}
		}
		must.Match(t, row.off, got, "%s: percent off", row.name)
		must.Match(t, row.nil, unknown, "%s: what is not known", row.name)
		must.Hold(t, len(r.Unlike) == len(row.unlike), "%s: %q", row.name, r.Unlike)
		for i, text := range row.unlike {
			must.Has(t, row.name, r.Unlike[i], text)
		}
	}
	must.True(t, NewFold(header(1000)).Result().Replay == nil, "a load that was not captured has figures of a replay")
}
