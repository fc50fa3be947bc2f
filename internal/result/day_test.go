package result_test

import (
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// BenchmarkDay writes the run file of a day at 50,000 records/s of 512 bytes, on 16 partitions of 3 brokers, with round trips,
// and thins it. Each of its seconds is one of a minute of seconds that a recorder counted.
//
//	go test ./internal/result -run - -bench Day -benchtime 1x -timeout 1h
func BenchmarkDay(b *testing.B) {
	const day = 24 * 60 * 60
	minute := countedSeconds(60, 50_000)
	for b.Loop() {
		name := filepath.Join(b.TempDir(), "day.ktr")
		header := result.Header{
			Schema: result.Schema, KTVersion: "test", RunID: "day", StartedAt: time.Unix(0, 0).UTC(),
			Plan: plan.Plan{
				Command: plan.Roundtrip, Engine: plan.Client, Producers: 1, Read: plan.Read{Consumers: 1, Commit: plan.CommitAuto},
				Load:    plan.Load{Rate: plan.Rate{PerSecond: 50_000}, Arrivals: plan.Uniform, Duration: plan.Duration(day * time.Second)},
				Payload: plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(512), Keys: plan.NoKeys},
			},
		}
		f := must.Have(result.NewRunFile(must.Have(os.Create(name))(b), header))(b)
		for s := range day {
			w := minute[s%len(minute)]
			w.Start, w.End = time.Duration(s)*time.Second, time.Duration(s+1)*time.Second
			f.AddWindow(w)
			f.AddSample(host.Sample{At: w.End, Interval: time.Second, Cores: 2, HostCores: 8, ProcessCPU: 0.7 + 0.1*math.Sin(float64(s)), RSS: 90 << 20})
		}
		must.Do(b, f.Close(result.Trailer{Ended: result.Completed, ElapsedSeconds: day, SendingSeconds: day}))
		grown := must.Have(os.Open(name))(b)
		fold := must.Have(result.Replay(grown, nil))(b)
		res := fold.Result()
		must.Have(grown.Seek(0, io.SeekStart))(b)
		thin := must.Have(os.Create(filepath.Join(filepath.Dir(name), "thin.ktr")))(b)
		must.Do(b, result.Thin(thin, grown, &res))
		for unit, file := range map[string]*os.File{"MB-while-it-runs": grown, "MB-finished": thin} {
			b.ReportMetric(float64(must.Have(file.Stat())(b).Size())/1e6, unit)
			must.Do(b, file.Close())
		}
	}
}

// countedSeconds returns windows of so many seconds at a rate, with latencies that spread as a broker's do.
func countedSeconds(n, rate int) []stats.Window {
	rng := rand.New(rand.NewPCG(1, 2))
	rec := stats.NewRecorder()
	var windows []stats.Window
	for s := range n {
		start := time.Duration(s) * time.Second
		for i := range rate {
			due := start + time.Duration(i)*time.Second/time.Duration(rate)
			delay := time.Duration(50_000 * math.Exp(0.8*rng.NormFloat64()))
			service := time.Duration(2_000_000 * math.Exp(0.6*rng.NormFloat64()))
			at, partition := due+delay+service, int32(i%16)
			rec.Sent(stats.Measured, 1, due, due, delay, true)
			rec.Acknowledged(stats.Measured, 1, partition, 512, service, delay+service, at)
			rec.Consumed(stats.Measured, partition, 1, 512, at)
			rec.EndToEnd(stats.Measured, delay+service+time.Duration(rng.ExpFloat64()*float64(time.Millisecond)))
			if i%30 == 0 {
				broker := rec.Broker(stats.Measured, int32(1+i/30%3))
				broker.Request(service, false)
				broker.Batch(30, 30*512, 30*512)
				broker.Fetch.Request(service, false)
			}
		}
		windows = append(windows, rec.Take(new(stats.Phases), start, start+time.Second)[stats.Measured])
	}
	return windows
}
