package report

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/kt-bench/kt/internal/calibrate"
	"github.com/kt-bench/kt/internal/history"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/probe"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/tune"
	"github.com/kt-bench/kt/profiles"
)

// found is a report with one finding of each kind.
func found(t *testing.T) *tune.Report {
	t.Helper()
	profile := must.Have(tune.LoadProfile("throughput", profiles.Of("tune"), nil))(t)
	m := &tune.Machine{
		FS: host.NewFS(fstest.MapFS{}), Profile: profile, Role: tune.Broker, RoleFrom: "process 4711",
		Hostname: "kafka-1", Kernel: "6.8.0", CPUs: 16, Memory: 62 << 30, Virtual: "kvm",
		Process: &tune.Process{Process: host.Process{PID: 4711, Unit: "kafka.service"}},
		Dirs:    []tune.Dir{{Path: "/data/1"}},
	}
	r := &tune.Report{Machine: m}
	for _, f := range []struct {
		id      string
		group   tune.Group
		reading tune.Reading
	}{
		{"vm.swappiness", tune.Memory, tune.Reading{
			Verdict: tune.Warn, Current: "60", Wanted: "≤ 1", Persisted: "60", PersistedIn: "/etc/sysctl.d/99-sysctl.conf",
			Changes: []tune.Change{tune.Sysctl("vm.swappiness", "vm.swappiness", "60", "1")},
		}},
		{"vm.max_map_count", tune.Memory, tune.Reading{Verdict: tune.Fail, Current: "65530", Wanted: "≥ 400000", Note: "60000 are in use"}},
		{"thp.enabled", tune.Memory, tune.Reading{Verdict: tune.OK, Current: "madvise", Wanted: "madvise"}},
		{"limits.open_files", tune.Limits, tune.Reading{Verdict: tune.Unknown, Note: "needs root"}},
		{"cpu.governor", tune.CPU, tune.Absent("a virtual machine has none")},
		{"disk.scheduler", tune.Disks, tune.Reading{
			Verdict: tune.Info, Current: "sda\x1b[2J|: bfq", Wanted: "none", Note: "<b>sda</b>",
			Command: "echo none > /sys/block/sda/queue/scheduler",
		}},
	} {
		r.Findings = append(r.Findings, tune.Finding{Setting: &tune.Setting{
			About: tune.About{
				ID: f.id, Group: f.group, Title: "what it is", Severity: tune.Warning, Confidence: tune.Documented, Risk: "little",
				Why: "what happens otherwise, told in one line that is long enough to need two lines where it is shown",
			},
			Detail: "Sources disagree.", Reads: []string{"/proc/sys/x"}, Sources: []string{"somebody", "somebody else"},
			Roles: tune.Roles, Applies: true, Want: "1",
		}, Reading: f.reading})
	}
	return r
}

// probed is a probe of two directories on one disk.
func probed(rate float64) *probe.Report {
	device := rate - 1
	read := 300.0
	latency := probe.Latency{Count: 1000, Mean: 700, P50: 600, P90: 900, P99: 1500, P999: 70000, Max: 900000}
	return &probe.Report{
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

// calibrated is a calibration on a host that others kept busy.
func calibrated() *calibrate.Document {
	c := result.Ceiling{RecordsPerSecond: 83_341, MiBPerSecond: 8, CPUSecondsPerMillion: 2}
	others := 0.6
	return &calibrate.Document{
		Shape: "produce wire 100 B compression.type=none acks=all", Brief: "produce wire 100 B", Ceiling: c, Clients: 1,
		TooLow: "others used 60 % of the CPUs: this ceiling is too low",
		Tried:  []calibrate.Trial{{Clients: 1, OthersCPU: &others, Ceiling: c}},
		Schedule: []calibrate.Kept{
			{Rate: 1000, OfferedShare: 1, Kept: true, Valid: true},
			{Rate: 50_000, OfferedShare: 0.8, Valid: true},
			{Rate: 1_000_000, OutOfReach: true},
		},
	}
}

func examined() *DoctorDocument {
	return &DoctorDocument{
		Schema:  DoctorSchema,
		Exit:    3,
		Cluster: result.Cluster{ID: "KmjL-VGvBSU5Y8k3UhDtOQ", Version: "v4.3", Controller: 3, Brokers: []result.Broker{{ID: 1, Addr: "kafka-1:9092"}}},
		Checks: []DoctorRow{
			{Name: "round trip", About: "broker 1", State: "pass", Text: "min 678µs, p99 12.5ms of 20", Figures: map[string]int64{"min_us": 678, "p99_us": 12500}},
			{
				Name: "listener", About: "broker 2", State: "failure", Text: "advertises kafka-2:9092: the name does not resolve from here (no such host)",
				Advice: "set advertised.listeners of broker 2 to a name that clients resolve, or add the name to DNS or /etc/hosts",
			},
			{Name: "quotas", About: "client-id kt\x1b[31m\nkt: forged", State: "warning", Text: "producer_byte_rate 1 MiB/s on each broker", Advice: "raise it, or stay below"},
			{Name: "rights", State: "unknown", Text: "not tried (--read-only)"},
		},
	}
}

func peers() *PeersDocument {
	one, many, cores, used, free, off, behind, bound := 0.4, 16.0, 8.0, 3.98, int64(20<<30), int64(300), int64(-5_000_000), int64(100)
	return NewPeers([]Peer{
		{
			Name: "vm15", Security: "SASL_SSL SCRAM-SHA-512", Address: "10.0.0.15:7946", Role: "client", Tags: []string{"clients", "rack-a"}, Version: "1.2.3", State: "running", Run: "nightly", Results: 3,
			CPUCores: &used, Cores: &cores, MemoryBytes: &free, FreeBytes: &free, ClockOffsetUS: &off, ClockBoundUS: &bound,
		},
		{Name: "vm14", Address: "10.0.0.14:7946", Role: "broker", Version: "1.2.3", State: "idle", CPUCores: &one, Cores: &many, ClockOffsetUS: &behind, ClockBoundUS: &bound},
		{
			Name: "ip-10-120-13-45.eu-central-1.compute.internal", Address: "10.120.13.45:7946", Role: "client", Version: "1.1.0", State: "away",
			Problem: "it speaks version 1 of the stream, and this kt version 2: use the same kt on all hosts",
		},
	})
}

// keptRuns are runs of every kind.
func keptRuns() []history.Run {
	at := time.Date(2026, 11, 21, 12, 10, 25, 0, time.UTC)
	yes, no, fast, slow, p99 := true, false, 1_234_567.8, 49_999.6, result.Micros(12_345)
	runs := []history.Run{
		{Name: "20261121-121025-produce-orders-50k-acks-all", AtWork: true, Command: "produce", Topic: "orders", Server: "kafka-1.example.com:9092", Tags: []string{"nightly"}, Bytes: 4096},
		{
			Name: "20261121-121024-produce-orders-50k-acks-all", Command: "produce", Topic: "orders", Server: "kafka-1.example.com:9092", RecordsPerSecond: &slow,
			Headline: "response", P99US: &p99, BoundBy: "none", Valid: &yes, Ended: "completed", Tags: []string{"nightly", "eu"}, Bytes: 1 << 20,
		},
		{
			Name: "20261121-121023-collect-produce-orders", Command: "produce", Processes: 12, Topic: strings.Repeat("long-topic-", 20), Server: "kafka-1.example.com:9092",
			RecordsPerSecond: &fast, Headline: "throughput", BoundBy: "broker acks", Valid: &no, Ended: "interrupted", Bytes: 30 << 20,
		},
		{Name: "20261121-121022-roundtrip-kt-bench-50k-acks-all", Command: "roundtrip", Topic: "kt-bench", RecordsPerSecond: &slow, Headline: "end_to_end", P99US: &p99, BoundBy: "the consumers", Valid: &yes, Ended: "cut off"},
		{Name: "20200101-000000-produce-\x1b[31mred", Problem: "line 1: it is no run file", Bytes: 5},
	}
	for i := range runs {
		runs[i].Reference, runs[i].StartedAt = history.Reference(i), at.Add(-time.Duration(i)*time.Second).In(time.FixedZone("elsewhere", 3600))
	}
	return runs
}
