package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
)

// mergedResults are results of several processes, put together by hand.
func mergedResults() map[string]result.Result {
	return map[string]result.Result{
		"merged":         mergedProduce(),
		"merged_consume": mergedConsume(),
		"merged_mixed":   mergedMixed(),
	}
}

// ran is a process that all is well of. Its rates are those of so many records in 3 s.
func ran(host string, number int, of result.Result, records int64) result.ProcessRow {
	late := int64(43 * number)
	return result.ProcessRow{
		Host: host, Process: number, RunID: strings.Repeat(string(rune('0'+number)), 16), Command: string(of.Plan.Command),
		State: result.PartComplete, Counted: true, CoresAvailable: 4, Valid: true, Invalid: []string{}, BoundBy: of.BoundBy,
		StartLateUS: &late, FromSeconds: 1, ToSeconds: 4, Figures: did(of, records),
	}
}

func did(of result.Result, records int64) result.Figures {
	perSecond := float64(records) / 3
	f := result.Figures{CPUCores: float64(records) / 1000, PeakResidentBytes: 96 << 20, EndToEnd: of.Latency.EndToEnd, Errors: result.Errors{}}
	if of.Plan.Writes() {
		f.Records = result.Records{Offered: records, Acknowledged: records}
		f.Bytes, f.RecordsPerSecond, f.MiBPerSecond = records*512, perSecond, perSecond*512/mibBytes
		f.Response, f.Service = of.Latency.Response, of.Latency.Service
	}
	if of.Plan.Reads() {
		f.Records.Consumed = records
		f.ConsumedBytes, f.ConsumedPerSecond, f.ConsumedMiB = records*512, perSecond, perSecond*512/mibBytes
	}
	return f
}

// together makes a result one of several hosts.
func together(r result.Result, hosts []result.HostRow, processes ...result.ProcessRow) result.Result {
	r.Part = &result.Part{Run: "nightly", Epoch: "e1", Roster: []result.Member{{Host: "vm15", Processes: 2}, {Host: "vm14"}}}
	r.Overlap = &result.Overlap{FromSeconds: 1, ToSeconds: 4, Seconds: 3, Together: true, SpanSeconds: 4.2, StartSpreadUS: 438, Agreed: true, ClockErrorUS: 120}
	r.Throughput.FirstDueSeconds, r.Throughput.Seconds = 1, 3
	r.Hosts, r.Processes = hosts, processes
	for _, p := range processes {
		if p.Counted {
			continue
		}
		if r.Apart == nil {
			r.Apart = &result.Apart{}
		}
		r.Apart.Processes++
		r.Apart.Records.Offered += p.Records.Offered
		r.Apart.Records.Acknowledged += p.Records.Acknowledged
		r.Apart.Records.Failed += p.Records.Failed
		r.Apart.Reasons = append(r.Apart.Reasons, fmt.Sprintf("%s/%d is %s: %s", p.Host, p.Process, p.State, p.Note))
	}
	r.Start = &result.Start{At: r.StartedAt, Agreed: &result.Agreed{
		At: r.StartedAt, Late: 43 * time.Microsecond, Offset: -2 * time.Millisecond, Bound: 60 * time.Microsecond,
	}}
	for _, p := range processes {
		if p.State != result.PartMissing {
			r.RunFiles = append(r.RunFiles, result.MergedFile{
				SHA256: strings.Repeat("0a", 32), Bytes: 4_380_000, RunID: p.RunID, Host: p.Host, Process: p.Process, State: p.State, Counted: p.Counted, KTVersion: "1.2.3",
			})
		}
	}
	for _, h := range hosts {
		if h.Busy != nil {
			r.RunFiles = append(r.RunFiles, result.MergedFile{SHA256: strings.Repeat("0b", 32), Bytes: 43_800, RunID: "w", Host: h.Host, State: result.PartComplete, KTVersion: "1.2.3"})
		}
	}
	return r
}

func client(name string, processes, counted int, f result.Figures) result.HostRow {
	offset, bound := int64(-2000), int64(60)
	return result.HostRow{
		Host: name, Role: "client", Tags: []string{"clients", "rack-a"}, Processes: processes, Counted: counted, Figures: f,
		ClockOffsetUS: &offset, ClockBoundUS: &bound,
		Busy: &result.Busy{
			Seconds: 3, OfSeconds: 3, Cores: 8, CPUShare: 0.38, StealShare: 0.002, AgentCores: 0.01, MemoryBytes: 32 << 30, CacheBytes: 3 << 30, DirtyBytesMax: 438 << 10,
			Networks: []result.BusyNetwork{{Name: "veth0", SentMiB: 806, ReceivedMiB: 3.2}},
		},
	}
}

func broker(name string) result.HostRow {
	return result.HostRow{
		Host: name, Role: "broker", Figures: result.Figures{Errors: result.Errors{}},
		Busy: &result.Busy{
			Seconds: 3, OfSeconds: 3, Cores: 16, CPUShare: 0.19, IOWaitShare: 0.02, AgentCores: 0.02, MemoryBytes: 64 << 30, CacheBytes: 43 << 30, DirtyBytesMax: 1200 << 20,
			Disks: []result.BusyDisk{{Name: "sda", BusyShare: 0.02, WrittenMiB: 0.1, BusyShareMax: 0.1}, {Name: "nvme0n1", BusyShare: 0.41, WrittenMiB: 604, BusyShareMax: 0.62}},
			Networks: []result.BusyNetwork{
				{Name: "docker0", SentMiB: 4000},
				{Name: "eth0", SpeedBits: 10_000_000_000, SentMiB: 140, ReceivedMiB: 1156, SentShare: 0.12, ReceivedShare: 0.97, Dropped: 3},
			},
			Brokers: []result.BusyBroker{{PID: 4711, HeapUsedMax: 3 << 30, HeapMax: 6 << 30, Collections: 12, GCShare: 0.004}},
		},
	}
}

// mergedProduce is of two hosts with two processes each, one of which was lost, and a
// broker's host.
func mergedProduce() result.Result {
	h := header(1000)
	h.Plan.Producers = 4
	r := folded(h, 4, 3, nil).Result()
	lost := ran("vm16", 2, r, 438)
	lost.State, lost.Counted, lost.Note = result.PartLost, false, "its run file stops at 2.3 s"
	lost.Records.Failed, lost.Records.Offered = 12, 450
	r.Notice = "1 of 4 processes does not count in these figures: vm16/2 is lost: its run file stops at 2.3 s"
	r = together(r,
		[]result.HostRow{broker("vm14"), client("vm15", 2, 2, did(r, 2000)), client("vm16", 2, 1, did(r, 1000))},
		ran("vm15", 1, r, 1000), ran("vm15", 2, r, 1000), ran("vm16", 1, r, 1000), lost)
	r.BoundBy = verdict.Verdict{Limit: "vm14's network", Evidence: "97 % of 10 Gb/s received; its disks at 41 %, clients' CPU at 38 %"}
	return r
}

// mergedConsume is of parts that each host began by itself, one process a host, on a host
// with a long name; nobody watched them.
func mergedConsume() result.Result {
	r := consumed().Result()
	const long = "ip-10-120-13-45.eu-central-1.compute.internal"
	hosts := []result.HostRow{client(long, 1, 1, did(r, 2000)), client("vm16", 1, 1, did(r, 1000))}
	for i := range hosts {
		hosts[i].Busy, hosts[i].ClockBoundUS, hosts[i].ClockOffsetUS = nil, nil, nil
	}
	r = together(r, hosts, ran(long, 1, r, 2000), ran("vm16", 1, r, 1000))
	r.Processes[0].StartLateUS, r.Processes[1].StartLateUS = nil, nil
	r.Part, r.Start.Agreed = &result.Part{Run: "nightly"}, nil
	r.Overlap.Agreed, r.Overlap.ClockErrorUS = false, -1
	return r
}

// mergedBeside is of processes that made different loads.
func mergedBeside() result.Result {
	whole := mergedMixed()
	why := "their topics differ: orders; orders, payments"
	r := result.Result{
		Header: whole.Header, Trailer: whole.Trailer, NotAddedUp: why, Notice: "different loads, side by side and not added up: " + why,
		Valid: whole.Valid, Invalid: whole.Invalid, Headline: "throughput", BoundBy: verdict.Verdict{Limit: verdict.Unknown, Evidence: "each process has a limit of its own"},
		Errors: result.Errors{}, Partitions: []result.PartitionRow{}, Brokers: []result.BrokerRow{}, Series: []result.Point{},
		Processes: whole.Processes, RunFiles: whole.RunFiles, Apart: whole.Apart,
	}
	r.Verify, r.Limits = nil, nil
	r.Plan = plan.Plan{Command: plan.MixedLoad, Engine: plan.Client, Producers: 1, Read: plan.Read{Consumers: 2, Commit: plan.CommitAuto}, Load: plan.Load{Arrivals: plan.Uniform}}
	r.Environment.Topics = []result.Topic{{Name: "orders", Partitions: 6}, {Name: "payments", Partitions: 1}}
	for _, h := range whole.Hosts {
		h.Figures = result.Figures{Errors: result.Errors{}}
		r.Hosts = append(r.Hosts, h)
	}
	for i := range r.Processes {
		if r.Processes[i].Topic = "orders"; r.Processes[i].Command == string(plan.Consume) {
			r.Processes[i].Topic = "orders, payments"
		}
	}
	return r
}

// mergedMixed is of a host that wrote and another that read, and one that nothing is
// there of. They did not run at one time.
func mergedMixed() result.Result {
	r := roundtrip(1000, nil).Result()
	r.Plan.Command = "mixed"
	wrote, read := r, r
	wrote.Plan, read.Plan = header(1000).Plan, consumed().Result().Plan
	wrote.Latency.EndToEnd = nil
	missing := result.ProcessRow{
		Host: "vm17", Process: 1, State: result.PartMissing, Note: "it left no run file", Invalid: []string{}, Figures: result.Figures{Errors: result.Errors{}},
		BoundBy: verdict.Verdict{Limit: verdict.Unknown, Evidence: "nothing was measured"},
	}
	invalid := ran("vm15", 1, wrote, 3000)
	invalid.Valid, invalid.Invalid = false, []string{"1 % of the records left more than 25ms late (bound: 5.12ms)"}
	invalid.BoundBy = verdict.Verdict{Limit: verdict.Schedule, Evidence: invalid.Invalid[0] + "; kt used 3.00 of 4 cores; this machine's CPUs were 38 % busy"}
	stopped := ran("vm16", 1, read, 3000)
	stopped.State = result.PartStopped
	nobody := client("vm17", 1, 0, result.Figures{Errors: result.Errors{}})
	nobody.Busy = nil
	r = together(r, []result.HostRow{
		client("vm15", 1, 1, did(wrote, 3000)), client("vm16", 1, 1, did(read, 3000)), nobody,
	}, invalid, stopped, missing)
	r.Overlap.Seconds, r.Overlap.FromSeconds, r.Overlap.ToSeconds, r.Overlap.Together = 0, 0, 0, false
	r.Valid, r.Invalid = false, []string{"vm15/1: " + invalid.Invalid[0]}
	r.BoundBy = verdict.Verdict{Limit: "kt's schedule on vm15", Evidence: "1 of 2 processes; process 1 of vm15: " + invalid.BoundBy.Evidence}
	r.Processes[0].Command, r.Processes[1].Command = string(plan.Produce), string(plan.Consume)
	return r
}
