package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/probe"
)

// probed is a probe of two directories on one disk.
func probed(rate float64) probe.Report {
	device := rate - 1
	read := 300.0
	latency := probe.Latency{Count: 1000, Mean: 700, P50: 600, P90: 900, P99: 1500, P999: 70000, Max: 900000}
	return probe.Report{
		Schema: probe.Schema, Started: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), Seconds: 125, Mode: probe.Standard,
		Tests:   []string{"write", "append", "mixed", "parallel", "dd"},
		Machine: probe.Machine{Hostname: "kafka-1", Kernel: "6.8.0", MemoryBytes: 64 << 30, CgroupIO: []string{"8:0 wbps=1048576"}},
		Directories: []probe.Directory{
			{
				Path: "/data/1", FileSystem: "xfs", MountPoint: "/data/1", Device: "sda1", Layers: []string{"raid10"},
				Disks: []probe.Disk{{Name: "sda", Model: "HUC\x1b[2J", Scheduler: "mq-deadline"}}, TotalBytes: 1 << 40, FreeBytes: 1 << 39, SizeBytes: 4 << 30,
				Plan: "plan with 187 MiB/s", PlanMiBPerSecond: 187,
				Results: []probe.Result{
					{Test: "write", What: "direct writes of 1 MiB in sequence, 4 at a time", Seconds: 8, MiBPerSecond: rate, DeviceMiBPerSecond: &device, Latency: latency, Grade: probe.Good, Series: make([]probe.Second, 8), Spread: probe.Spread{CV: 0.02}},
					{
						Test: "append", What: "buffered appends", MiBPerSecond: 900, Latency: latency, Grade: probe.Poor, Stalls: probe.Stalls{Over10ms: 20, Over50ms: 7, Over500ms: 1},
						Append:   &probe.Append{BurstMiBPerSecond: 2100, SustainedMiBPerSecond: 187, From: "device", Steady: true},
						Findings: []probe.Finding{{Metric: "p99.9", Value: 70, Unit: "ms", Grade: probe.Poor, Sentence: "appends stall", Source: "kt's own judgement"}},
					},
					{Test: "mixed", What: "appends, and reads beside them", MiBPerSecond: 130, Latency: latency, Alone: &latency, Read: &read, Grade: probe.OK, Notes: []string{"a note"}},
				},
				DD: []probe.Row{
					{Block: 8192, Count: 300000, Direct: true, MBPerSecond: 0.974, CPUPercent: 1, Command: "dd if=/dev/zero of=/data/1/f bs=8k count=300000 oflag=direct", Cut: true},
					{Block: 81920000, Count: 300, MBPerSecond: 1000, CPUPercent: 99, PageCache: true, Command: "dd if=/dev/zero of=/data/1/f bs=80000k count=300"},
				},
			},
			{Path: "/data/2", FileSystem: "xfs", TotalBytes: 1 << 40, FreeBytes: 1 << 39, Notes: []string{"nothing was measured here"}},
		},
		Parallel: &probe.Parallel{
			MiBPerSecond: []float64{100, 95}, AloneMiBPerSecond: []float64{rate, 190}, Sum: 195, Efficiency: 0.5, Shared: []string{"sda"},
			Findings: []probe.Finding{{Metric: "efficiency", Sentence: "they share a path", Source: "kt's own judgement", Grade: probe.Poor}},
		},
		Interrupted: true,
	}
}

func TestProbeFormats(t *testing.T) {
	before, after := probed(400), probed(200)
	c, err := probe.Compare(&before, &after)
	if err != nil {
		t.Fatal(err)
	}
	after.Comparison = &c
	for name, format := range ProbeFormats {
		var b bytes.Buffer
		if err := format(&b, after, ProbeOptions{Earlier: "before.json"}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "\x1b") {
			t.Errorf("%s: what a driver says reached the terminal: %q", name, b.String())
		}
		golden(t, "probe/"+name, b.String())
	}
}

func TestProgressOfAProbe(t *testing.T) {
	p := probe.Progress{Dir: "/data/1", Test: "append", Step: 2, Steps: 7, Elapsed: 3 * time.Second, Duration: time.Minute, MiBPerSecond: 1200, Device: 300, Preparing: true}
	if got, want := ProbeLine(p, 0), "2/7 /data/1 append (preparing)  3.00s of 1m00s  1,200 MiB/s  on the device 300 MiB/s"; got != want {
		t.Errorf("ProbeLine(…) =\n%s\nwant\n%s", got, want)
	}
	if got, want := ProbeLine(p, 12), "2/7 /data/1"; got != want {
		t.Errorf("ProbeLine(…, 12) = %q, want %q", got, want)
	}
}
