// Package canned makes up runs for the tests of package result and of packages above it. A run is
// random, and the same for the same seed.
package canned

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/codec"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// Plan is that of a run that writes at a rate; 0: unlimited.
func Plan(rate float64) plan.Plan {
	return plan.Plan{
		Command: "produce", Engine: plan.Client, Bootstrap: []string{"a:9092"}, Producers: 1, Seed: 1,
		Topic:   plan.Topic{Name: "orders", Configs: map[string]string{"min.insync.replicas": "2"}},
		Load:    plan.Load{Rate: plan.Rate{PerSecond: rate}, Arrivals: plan.Uniform, Duration: plan.Duration(time.Minute)},
		Payload: plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(100), Keys: plan.NoKeys},
	}
}

// ReadPlan is Plan of a run that reads.
func ReadPlan(command plan.Command, rate float64) plan.Plan {
	p := Plan(rate)
	p.Command, p.Read = command, plan.Read{Consumers: 1, Group: "g", Commit: plan.CommitAuto}
	if command == plan.Consume {
		p.Producers, p.Payload = 0, plan.Payload{}
	}
	return p
}

// Given returns properties of a source, each written name=value. The last of a name wins.
func Given(source string, words ...string) map[string]plan.Given {
	all := make(map[string]plan.Given)
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		all[name] = plan.Given{Value: value, Source: source}
	}
	return all
}

// Text returns the lines of a run file.
func Text(file []byte) (text []byte) {
	for len(file) > 0 {
		m, size, err := codec.CutMember(file)
		if err == nil {
			text, err = m.Append(text)
		}
		if err != nil || size == 0 {
			panic("this is no whole run file")
		}
		file = file[size:]
	}
	return text
}

// Packed returns the run file of some lines, each of which is a member.
func Packed(text string) (file []byte) {
	for line := range strings.Lines(text) {
		file = codec.NewPacker(false).Append(file, []byte(strings.TrimSuffix(line, "\n")+"\n"), 0)
	}
	return file
}

// Event is a window or a sample of a run.
type Event struct {
	Window *stats.Window
	Sample *host.Sample
}

// Sink is a result.Fold or a result.RunFile.
type Sink interface {
	AddWindow(stats.Window)
	AddSample(host.Sample)
}

// To gives the event to s.
func (e Event) To(s Sink) {
	if e.Window != nil {
		s.AddWindow(*e.Window)
		return
	}
	s.AddSample(*e.Sample)
}

// Written returns a run that writes for some seconds: with a warm-up whose last
// acknowledgements come late, failures and throttling.
func Written(seed uint64, seconds int) []Event {
	rng := rand.New(rand.NewPCG(seed, 0))
	rec := stats.NewRecorder()
	warmup := rng.IntN(seconds)
	var events []Event
	for s := range seconds {
		start, end := time.Duration(s)*time.Second, time.Duration(s+1)*time.Second
		phase := stats.PhaseOf(s < warmup)
		for range rng.IntN(200) {
			due := start + time.Duration(rng.Int64N(int64(time.Second)))
			delay := time.Duration(rng.ExpFloat64() * float64(time.Millisecond))
			service := time.Duration(rng.ExpFloat64() * float64(20*time.Millisecond))
			of := phase
			if s == warmup && rng.IntN(4) == 0 {
				of = stats.Warmup // was due in the warm-up
			}
			rec.Sent(of, 1, due, due, delay, rng.IntN(2) == 0)
			broker := int32(1 + rng.IntN(3))
			switch rng.IntN(50) {
			case 0:
				rec.Failed(of, 1, []string{"NOT_LEADER_OR_FOLLOWER", "client:RECORD_TIMEOUT", "<&>"}[rng.IntN(3)])
			case 1:
				rec.Unknown(of, 1)
			case 2:
				rec.Acknowledged(of, 1, int32(rng.IntN(6)), 100, 2*time.Hour, 2*time.Hour, end) // out of range
			default:
				rec.Acknowledged(of, 1, int32(rng.IntN(6)), 100, service, delay+service, min(end, due+delay+service))
			}
			rec.Broker(of, broker).Request(service, rng.IntN(30) == 0)
			rec.Broker(of, broker).Batch(3, 300, 100+rng.IntN(200))
		}
		rec.Broker(phase, 2).Throttle += time.Duration(rng.IntN(1000)) * time.Microsecond
		of := rec.Window(phase)
		of.BufferFull = time.Duration(rng.IntN(1000)) * time.Millisecond
		of.InFlightUse, of.ConnTime = time.Duration(rng.IntN(1000))*time.Millisecond, 3*time.Second
		of.Transactions++
		of.ShardTime = time.Second
		taken := rec.Take(new(stats.Phases), start, end)
		for _, of := range []int{stats.Warmup, stats.Measured} {
			if of == phase || !taken[of].Empty() {
				events = append(events, Event{Window: &taken[of]})
			}
		}
		events = append(events, Event{Sample: &host.Sample{
			At: end, Interval: time.Second, Cores: 4, HostCores: 8, ProcessCPU: rng.Float64() * 4, HostCPU: rng.Float64() * 8,
			RSS: rng.Int64N(1 << 30), GCPauseMax: rng.Int64N(1e6), GCCPU: rng.Float64(), NetSent: rng.Int64N(1e9), NetSpeed: 10_000_000_000,
		}})
	}
	return events
}

// Read returns Written with a reader, and with a leader that moves.
func Read(seed uint64, seconds int) []Event {
	rng := rand.New(rand.NewPCG(seed, 1))
	events := Written(seed, seconds)
	for _, e := range events {
		w := e.Window
		if w == nil {
			continue
		}
		rec := stats.NewRecorder()
		phase := stats.PhaseOf(w.Warmup)
		for range rng.IntN(20) {
			at := w.Start + time.Duration(rng.Int64N(int64(time.Second)))
			rec.Consumed(phase, int32(rng.IntN(6)), 10, 1000, at)
			rec.Window(phase).Fetches++
			rec.EndToEnd(phase, time.Duration(rng.ExpFloat64()*float64(20*time.Millisecond)))
			rec.Broker(phase, int32(1+rng.IntN(3))).Fetch.Request(5*time.Millisecond, rng.IntN(9) == 0)
			rec.Broker(phase, 1).Fetch.Batch(10, 1000, 500)
		}
		rec.FetchFailed(phase, "NOT_LEADER_OR_FOLLOWER")
		rec.Rebalanced(phase, 20*time.Millisecond)
		of := rec.Window(phase)
		of.ReadTime, of.ReadWait = time.Second, time.Duration(rng.IntN(1000))*time.Millisecond
		of.JoinTime, of.Commits, of.CommitTime = time.Second, 1, 2*time.Millisecond
		of.Outage = stats.Gap{From: w.Start, Length: time.Duration(rng.IntN(1000)) * time.Millisecond}
		read := rec.Take(new(stats.Phases), w.Start, w.End)[phase]
		read.ConsumerLag = int64(rng.IntN(100) - 40)
		read.Add(&stats.Window{Partitions: map[int32]stats.Partition{0: {ConsumerLag: read.ConsumerLag}}, Warmup: w.Warmup, Start: w.Start, End: w.End})
		if w.End > time.Duration(seconds/2)*time.Second {
			read.Events = []stats.Event{{At: w.Start, Kind: stats.LeaderMoved, Broker: 1, To: 2, Partitions: []int32{1}, Count: 1, Text: "moved"}}
		}
		w.Add(&read)
	}
	return events
}

// File is a file in memory.
type File struct {
	bytes.Buffer
	Room   int // bytes that can be written; 0: any number
	Closed int // times
}

// Write writes b, unless Room is too small.
func (f *File) Write(b []byte) (int, error) {
	if f.Room > 0 && f.Len()+len(b) > f.Room {
		return 0, errors.New("no space left on device")
	}
	return f.Buffer.Write(b)
}

// Close counts its calls.
func (f *File) Close() error { f.Closed++; return nil }
