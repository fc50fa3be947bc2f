package result

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/stats"
)

// busy makes up the run of one of several processes on a busy cluster: 5,000 records a
// second to 21 partitions on 3 brokers, whose latency is spread over four octaves.
func busy(seconds int) []event {
	rng := rand.New(rand.NewPCG(7, 7))
	rec := stats.NewRecorder()
	var events []event
	spread := func(median time.Duration) time.Duration {
		return time.Duration(math.Exp(rng.NormFloat64()*0.7) * float64(median))
	}
	for s := range seconds {
		start, end := time.Duration(s)*time.Second, time.Duration(s+1)*time.Second
		for i := range 5000 {
			due := start + time.Duration(i)*200*time.Microsecond
			lag, service := spread(300*time.Microsecond), spread(4*time.Millisecond)
			rec.Sent(stats.Measured, due, lag, true)
			rec.Acknowledged(stats.Measured, int32(i%21), 1000, service, lag+service, min(end, due+lag+service))
			if i%5 == 0 {
				rec.Request(stats.Measured, int32(1+i%3), service, false)
				rec.Batch(stats.Measured, int32(1+i%3), 5, 5000, 5100)
			}
		}
		taken := rec.Take(new(stats.Phases), stats.Measured, start, end, time.Second)
		events = append(events, event{window: &taken[stats.Measured]}, event{sample: &host.Sample{At: end, Interval: time.Second, Cores: 4, ProcessCPU: 1}})
	}
	return events
}

// BenchmarkReplay reads and folds a run file of ten minutes, as a merge does 200 times.
func BenchmarkReplay(b *testing.B) {
	const seconds = 600
	file := runFile(b, header(5000), busy(seconds), completed)
	for _, bc := range []struct {
		name string
		read func() error
	}{
		{"lines", func() error {
			lines := newLines(bytes.NewReader(file))
			for {
				if _, err := lines.next(); err != nil {
					return err
				}
			}
		}},
		{"fold", func() error {
			_, err := Replay(bytes.NewReader(file))
			return err
		}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(file)))
			for b.Loop() {
				if err := bc.read(); err != nil && !errors.Is(err, io.EOF) {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(b.N)/seconds, "µs/window")
			b.ReportMetric(float64(len(file))/seconds, "B/window")
		})
	}
}
