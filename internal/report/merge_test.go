package report

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
)

// file is a run file in memory.
type file struct{ bytes.Buffer }

func (*file) Close() error { return nil }

// recorded writes the run file of one process of a run, or of what its host was busy with.
func recorded(t *testing.T, name string, process int, role string, write func(*result.RunFile)) []byte {
	t.Helper()
	h := header(1000)
	h.RunID = strings.Repeat(name[len(name)-1:], 15) + string(rune('0'+process))
	h.Part = &result.Part{
		Run: "nightly", Epoch: "e1", Host: name, Process: process, Role: role, Tags: []string{"rack-a"},
		Roster: []result.Member{{Host: "vm14"}, {Host: "vm15", Processes: 1}, {Host: "vm16", Processes: 2}},
	}
	var f file
	out := must.Have(result.NewRunFile(&f, h))(t)
	out.Begin(result.Start{At: h.StartedAt, Agreed: &result.Agreed{At: h.StartedAt, Late: time.Duration(process) * time.Millisecond, Bound: time.Millisecond}})
	write(out)
	must.Do(t, out.Close(result.Trailer{Ended: result.Completed, ElapsedSeconds: 4, SendingSeconds: 3.999}))
	return f.Bytes()
}

func load(out *result.RunFile) {
	for i := range 4 {
		out.AddWindow(second(i, i == 0, nil))
		out.AddSample(host.Sample{At: time.Duration(i+1) * time.Second, Interval: time.Second, Cores: 4, HostCores: 8, ProcessCPU: 1, HostCPU: 2, RSS: 96 << 20})
	}
}

func watch(out *result.RunFile) {
	for i := range 4 {
		out.AddVitals(host.Vitals{
			At: time.Duration(i+1) * time.Second, Interval: time.Second, Cores: 16, CPU: 4, Memory: 64 << 30, Free: 8 << 30, Cache: 43 << 30, Dirty: 1 << 30,
			Disks:    []host.DiskVitals{{Name: "nvme0n1", Busy: 0.41, Written: 600 << 20}},
			Networks: []host.NetworkVitals{{Name: "eth0", Received: 1200 << 20, Sent: 100 << 20, Speed: 10_000_000_000}},
			Brokers:  []host.BrokerVitals{{PID: 4711, HeapUsed: 3 << 30, HeapMax: 6 << 30, Collections: 2, GCTime: 4 * time.Millisecond}},
		})
	}
}

func TestWhatIsMergedFromRunFilesFitsTheSchemaAndIsShown(t *testing.T) {
	set := merge.NewSet()
	for name, text := range map[string][]byte{
		"a": recorded(t, "vm15", 1, "client", load), "b": recorded(t, "vm16", 1, "client", load), "c": recorded(t, "vm14", 0, "broker", watch),
	} {
		must.Do(t, set.Add(name, bytes.NewReader(text), int64(len(text))))
	}
	r := must.Have(set.Result(context.Background()))(t)
	must.Do(t, compiled(t).Validate(decoded(t, written(t, JSON, r, Options{}))))
	text := written(t, Text, r, Options{Verbose: true})
	must.Has(t, "the summary", oneSpace(text),
		"run nightly", "3 processes on 2 hosts", "throughput 2,000 records/s", "histograms of 2 processes", "vm16/2 missing: it left no run file",
		"total 2,000", "vm14 broker 25% of 16", "nvme0n1 41%", "2 of 3", "3 run files: 2 of processes, 1 of hosts",
	)
}
