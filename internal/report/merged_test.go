package report

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
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
	h := fixture[result.HostRow]("client")
	h.Host, h.Processes, h.Counted, h.Figures = name, processes, counted, f
	return h
}

func broker(name string) result.HostRow {
	h := fixture[result.HostRow]("broker")
	h.Host = name
	return h
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

func TestTextOfAMergedResultSaysWhatMattersFirst(t *testing.T) {
	all := mergedResults()
	untold := mergedProduce()
	untold.Processes[3].Note = ""
	early := mergedProduce()
	early.Overlap.ClockErrorUS = -1
	short := mergedProduce()
	short.Overlap.Seconds, short.Throughput.Seconds, short.Processes[0].CPUCores = 0, 0.4, 0
	short.Client.CPUCores, short.Client.CPUSecondsPerMillion = 0, 0
	lone := mergedProduce()
	lone.Processes = lone.Processes[:1]
	brief := lone
	brief.Overlap, brief.Throughput.Seconds = &result.Overlap{ToSeconds: 0.3, SpanSeconds: 0.3, Together: true}, 0.3
	aligned := mergedProduce()
	aligned.Throughput.FirstDueSeconds = 0.9
	gap := mergedProduce()
	ms, from := int64(3000), 2.0
	gap.Outage = &result.Outage{LongestGapMS: &ms, LongestGapFromSeconds: &from, LongestGapOf: "vm15/2"}
	idle := mergedProduce()
	idle.Hosts = []result.HostRow{{Host: "vm15", Processes: 2}, {Host: "vm16", Processes: 4}, {Host: "vm17", Processes: 2}}
	idle.Processes = nil
	for _, h := range idle.Hosts {
		for n := range h.Processes {
			p := ran(h.Host, n+1, idle, 0)
			if h.Host == "vm15" || h.Host == "vm16" && n < 3 || n == 0 {
				p.Note = result.NothingMeasured
			}
			idle.Processes = append(idle.Processes, p)
		}
	}
	few := mergedProduce()
	few.Throughput.AskedRecordsPerSecond = 1333
	broken := mergedConsume()
	broken.Processes[0].BoundBy.Limit = verdict.ReadFailed
	blind := mergedProduce()
	for i := range blind.Hosts {
		blind.Hosts[i].Busy = &result.Busy{Seconds: 3, Brokers: []result.BusyBroker{{PID: 1}}}
	}
	groups := mergedMixed()
	groups.Verify = &ledger.Verdict{Readers: 1, Acknowledged: 4000, AcknowledgedRead: 4000}
	maps.Copy(all, map[string]result.Result{
		"untold": untold, "early": early, "short": short, "lone": lone, "brief": brief, "aligned": aligned,
		"gap": gap, "idle": idle, "few": few, "broken": broken, "blind": blind, "groups": groups,
	})
	tells(t, all)
}

// many is a result of so many processes on each of so many hosts.
func many(hosts, processes int) result.Result {
	r := mergedProduce()
	r.Hosts, r.Processes = nil, nil
	for h := range hosts {
		name := fmt.Sprintf("client-%03d", h)
		r.Hosts = append(r.Hosts, client(name, processes, processes, did(r, 1000)))
		for p := range processes {
			r.Processes = append(r.Processes, ran(name, p+1, r, 1000))
		}
	}
	return r
}

func TestASummaryListsTheFirstProcessesAndCountsTheOthers(t *testing.T) {
	row := regexp.MustCompile(`(?m)^    client-\d+(/\d+)? .* complete$`)
	for _, tc := range []struct{ hosts, processes, rows, more int }{
		{40, 5, 30, 170}, {2, 15, 30, 0}, {1, 31, 30, 1}, {3, 2, 6, 0},
	} {
		text := written(t, Text, many(tc.hosts, tc.processes), Options{})
		must.Match(t, tc.rows, len(row.FindAllString(text, -1)), "%d × %d: rows:\n%s", tc.hosts, tc.processes, text)
		more := fmt.Sprintf("    %d more: --output processes lists all\n", tc.more)
		must.True(t, strings.Contains(text, more) == (tc.more > 0), "%d × %d: not as it should be: %q", tc.hosts, tc.processes, more)
	}
	watched := written(t, Text, many(40, 1), Options{})
	want := "    10 more: --output json lists all\n"
	must.True(t, strings.Contains(watched, want), "%q is not in:\n%s", want, watched)
	lost := many(1, 12)
	for i := range lost.Processes {
		lost.Processes[i].Counted, lost.Processes[i].State = false, result.PartLost
	}
	if text := written(t, Text, lost, Options{}); strings.Count(text, "/") < 10 || !strings.Contains(text, "2 more: --output processes lists them\n") {
		t.Errorf("not the first ten of those left out:\n%s", text)
	}
}

func TestTheReasonsOfASingleProcessAreThereOnce(t *testing.T) {
	r := many(1, 1)
	reasons := []string{"kt was 19ms late (bound: 5ms)", "kt sent 900 of 1,000 records/s"}
	r.Valid, r.Invalid = false, append(reasons, "the whole is too short")
	r.Processes[0].Valid, r.Processes[0].Invalid = false, reasons
	name := r.Processes[0].Host + "/1: "
	want := []string{name + reasons[0], name + reasons[1], "the whole is too short"}
	must.Match(t, want, invalid(&r), "")
}

func TestProcessesThatAreNotValidAreToldTogether(t *testing.T) {
	r := many(3, 5)
	r.Valid, r.Invalid = false, nil
	say := func(i int, reason string) {
		p := &r.Processes[i]
		p.Valid, p.Invalid = false, append(p.Invalid, reason)
		r.Invalid = append(r.Invalid, fmt.Sprintf("%s/%d: %s", p.Host, p.Process, reason))
	}
	for i := range 10 {
		say(i, fmt.Sprintf("kt was %dms late (bound: 5ms)", 10+i*7%10))
	}
	say(11, "kt sent 900 of 1,000 records/s")
	say(12, "kt sent 800 of 1,000 records/s")
	say(13, "kt used 4.00 of 4 cores")
	text := oneSpace(written(t, Text, r, Options{}))
	_, text, _ = strings.Cut(text, "NOT VALID ")
	rest := text
	for _, want := range []string{
		"10 of 15 processes, worst client-001/3: kt was 19ms late",
		"2 of 15 processes, such as client-002/2: kt sent 900 of 1,000 records/s; ",
		"client-002/4: kt used 4.00 of 4 cores",
	} {
		var found bool
		_, rest, found = strings.Cut(rest, want)
		must.True(t, found, "not valid because %s\nwant %q in its place", text, want)
	}
}

func TestTheLinesOfProcessesAddUpToTheWhole(t *testing.T) {
	r := mergedProduce()
	rows := must.Have(csv.NewReader(strings.NewReader(written(t, Processes, r, Options{}))).ReadAll())(t)
	column := make(map[string]int)
	for i, name := range rows[0] {
		column[name] = i
	}
	var sum int64
	for _, row := range rows[1:] {
		n := must.Have(strconv.ParseInt(row[column["records_acknowledged"]], 10, 64))(t)
		if row[column["counted"]] == "true" {
			sum += n
		}
	}
	must.True(t, len(rows) == 1+len(r.Processes) && sum == r.Records.Acknowledged,
		"%d lines of %d records, want %d of %d", len(rows)-1, sum, len(r.Processes), r.Records.Acknowledged)
}

func TestRatesInATableAddUp(t *testing.T) {
	r := mergedProduce()
	host := func(name string, rates ...float64) (h result.HostRow) {
		h.Host, h.Processes, h.Counted = name, len(rates), len(rates)
		for i, rate := range rates {
			p := result.ProcessRow{Host: name, Process: i + 1, Command: "produce", State: result.PartComplete, Counted: true, Valid: true}
			p.RecordsPerSecond = rate
			h.RecordsPerSecond += rate
			r.Processes = append(r.Processes, p)
		}
		r.Throughput.RecordsPerSecond += h.RecordsPerSecond
		return h
	}
	r.Processes, r.Throughput.RecordsPerSecond = nil, 0
	r.Hosts = []result.HostRow{host("vm14", 999.4, 999.3), host("vm15", 999.4, 999.3)} // 1998.7 each, 3997.4 together
	lost := r.Processes[0]
	lost.Process, lost.Counted, lost.RecordsPerSecond = 3, false, 777.4
	r.Processes = append(r.Processes, lost)
	text := oneSpace(written(t, Text, r, Options{}))
	must.Has(t, "the summary", text, "vm14 1,999 ", "vm14/1 999 ", "vm14/2 1,000 ", "vm15 1,998 ", "vm15/1 999 ", "vm15/2 999 ", "total 3,997 ")
	must.True(t, r.Hosts[0].RecordsPerSecond != 1999, "the result itself was rounded")
}

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
	out.Write(result.Line{Start: &result.Start{At: h.StartedAt, Agreed: &result.Agreed{At: h.StartedAt, Late: time.Duration(process) * time.Millisecond, Bound: time.Millisecond}}})
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
		out.Write(result.Line{Vitals: &host.Vitals{
			At: time.Duration(i+1) * time.Second, Interval: time.Second, Cores: 16, CPU: 4, Memory: 64 << 30, Free: 8 << 30, Cache: 43 << 30, Dirty: 1 << 30,
			Disks:    []host.DiskVitals{{Name: "nvme0n1", Busy: 0.41, Written: 600 << 20}},
			Networks: []host.NetworkVitals{{Name: "eth0", Received: 1200 << 20, Sent: 100 << 20, Speed: 10_000_000_000}},
			Brokers:  []host.BrokerVitals{{PID: 4711, HeapUsed: 3 << 30, HeapMax: 6 << 30, Collections: 2, GCTime: 4 * time.Millisecond}},
		}})
	}
}

func TestWhatIsMergedFromRunFilesFitsTheSchemaAndIsShown(t *testing.T) {
	set := merge.NewSet()
	for name, text := range map[string][]byte{
		"a": recorded(t, "vm15", 1, "client", load), "b": recorded(t, "vm16", 1, "client", load), "c": recorded(t, "vm14", 0, "broker", watch),
	} {
		must.Do(t, set.Add(name, bytes.NewReader(text), int64(len(text)), false))
	}
	r := must.Have(set.Result(context.Background()))(t)
	must.Do(t, compiled(t).Validate(decoded(t, written(t, JSON, r, Options{}))))
	text := written(t, Text, r, Options{Options: doc.Options{Verbose: true}})
	must.Has(t, "the summary", oneSpace(text),
		"run nightly", "3 processes on 2 hosts", "throughput 2,000 records/s", "histograms of 2 processes", "vm16/2 missing: it left no run file",
		"total 2,000", "vm14 broker 25% of 16", "nvme0n1 41%", "2 of 3", "3 run files: 2 of processes, 1 of hosts",
	)
}
