//go:build !race

package merge

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// boundHost is a host of 16 cores with a link of 10 Gb/s, on which nothing happens but what a row says.
type boundHost struct {
	Host, Role                                string
	CPU, Steal, Sent, Received, Disk, GC, JVM float64 // shares
	Speechless                                float64 // MiB/s over a link that does not tell its speed
	Links                                     []result.BusyNetwork
	Unwatched                                 bool // with CPU: of no time
}

func hostRows(hosts ...boundHost) (rows []result.HostRow) {
	for _, h := range hosts {
		b := &result.Busy{Seconds: 60, Cores: 16, CPUShare: h.CPU, StealShare: h.Steal}
		b.Networks = append([]result.BusyNetwork{{Name: "eth0", SpeedBits: 10e9, SentShare: h.Sent, ReceivedShare: h.Received}}, h.Links...)
		if h.Speechless > 0 {
			b.Networks[0] = result.BusyNetwork{Name: "ens5", SentMiB: h.Speechless, ReceivedMiB: 1}
		}
		if h.Role == "broker" || h.JVM > 0 {
			b.Brokers = []result.BusyBroker{{PID: 1, GCShare: h.GC + h.JVM}}
		}
		switch {
		case h.Unwatched && h.CPU == 0:
			b = nil
		case h.Unwatched:
			b.Seconds = 0
		case h.Role == "broker":
			b.Disks = []result.BusyDisk{{Name: "nvme0n1", BusyShare: h.Disk}}
		}
		rows = append(rows, result.HostRow{Host: h.Host, Role: h.Role, Busy: b})
	}
	return rows
}

// parts are processes of hosts that count, each with its own verdict; those bound by
// kt's schedule are not valid.
func parts(limits ...verdict.Limit) []result.ProcessRow {
	var rows []result.ProcessRow
	for i, l := range limits {
		rows = append(rows, result.ProcessRow{
			Host: "vm" + string(rune('6'+i)), Process: i + 1, Counted: true,
			Valid: l != verdict.Schedule, BoundBy: verdict.Verdict{Limit: l, Evidence: "it was so"},
		})
	}
	return rows
}

func TestTheLimitAcrossHostsIsWhatTheRulesSay(t *testing.T) {
	for _, row := range must.Rows[[]struct {
		Says         string
		Hosts        []boundHost
		Processes    []verdict.Limit
		Uncounted    bool
		Merged, Want verdict.Limit
		Evidence     string // names and numbers, in order, with … between them
	}](t, "bound") {
		processes := parts(row.Processes...)
		for i := range processes {
			processes[i].Counted = !row.Uncounted
		}
		got := boundAcross(hostRows(row.Hosts...), processes, verdict.Verdict{Limit: row.Merged, Evidence: "as merged"})
		rest, ok := got.Evidence, true
		for want := range strings.SplitSeq(row.Evidence, "…") {
			if _, rest, ok = strings.Cut(rest, want); !ok {
				break
			}
		}
		must.True(t, got.Limit == row.Want && ok, "%s: bound by %q: %s; want %q: %s", row.Says, got.Limit, got.Evidence, row.Want, row.Evidence)
	}
}

func TestEachThresholdIsWhereAResourceBecomesTheLimit(t *testing.T) {
	acks := verdict.Verdict{Limit: verdict.BrokerAcks, Evidence: "senders waited"}
	bound := func(client bool, what yaml.Node, share float64) verdict.Verdict {
		hosts := []boundHost{{Host: "vm14", Role: "broker"}, {Host: "vm16", Role: "client"}}
		must.Do(t, yaml.Unmarshal(fmt.Appendf(nil, "{%s: %g}", what.Value, share), &hosts[map[bool]int{true: 1}[client]]))
		return boundAcross(hostRows(hosts...), nil, acks)
	}
	for _, row := range must.Rows[[]struct {
		Says           string
		Broker, Client yaml.Node // what is in use
		Shows          float64
		Want           verdict.Limit
	}](t, "bound") {
		client, what := row.Broker.IsZero(), row.Broker
		if client {
			what = row.Client
		}
		if got := bound(client, what, row.Shows-0.001); got.Limit != verdict.BrokerAcks {
			t.Errorf("%s: below its threshold it is %q: %s", row.Says, got.Limit, got.Evidence)
		}
		if got := bound(client, what, row.Shows); got.Limit != row.Want {
			t.Errorf("%s: at its threshold it is %q: %s", row.Says, got.Limit, got.Evidence)
		}
	}
	for share, want := range map[float64]verdict.Limit{1.10: "vm14's network", 1.11: verdict.BrokerAcks} { // a little more than a link can carry, which the clocks explain
		must.Match(t, want, boundAcross(hostRows(boundHost{Host: "vm14", Role: "broker", Sent: share}), nil, acks).Limit, "a link at %g", share)
	}
	client := hostRows(boundHost{Host: "vm14", Role: "broker"}, boundHost{Host: "vm16", Role: "client"})
	client[1].Busy.Disks = []result.BusyDisk{{Name: "sda", BusyShare: 1}}
	must.Match(t, verdict.BrokerAcks, boundAcross(client, nil, acks).Limit, "a client's disk, which no load makes use of")
}

// The thresholds are promised to users: the page and the constants must say the same.
func TestTheThresholdsAreThoseOfTheDocument(t *testing.T) {
	page := must.Have(os.ReadFile("../../../docs/limits.md"))(t)
	for _, row := range []struct {
		what  string
		share float64
	}{
		{"network", linkFull},
		{"disks", diskFull},
		{"CPU of a broker's host", brokerCPUFull},
		{"CPU of a client's host", clientCPUFull},
		{"hypervisor", stealShows},
		{"garbage collection", gcShows},
	} {
		found := false
		for line := range strings.Lines(string(page)) {
			cells := strings.Split(line, "|")
			if len(cells) > 3 && strings.TrimSpace(cells[1]) == row.what {
				found = strings.TrimSpace(cells[3]) == fmt.Sprintf("%.0f %%", 100*row.share)
			}
		}
		must.True(t, found, "docs/limits.md does not say %.0f %% of %s", 100*row.share, row.what)
	}
}

func TestTheVerdictDoesNotDependOnTheOrderOfTheHosts(t *testing.T) {
	hosts := hostRows(
		boundHost{Host: "a", Role: "client", Sent: 0.95}, boundHost{Host: "b", Role: "broker", Sent: 0.95, Disk: 0.95},
		boundHost{Host: "c", Role: "broker", Sent: 0.95, GC: 0.1}, boundHost{Host: "d", Role: "broker", Speechless: 10}, boundHost{Host: "e", Role: "client", Speechless: 10},
		boundHost{Host: "f", Role: "broker", Unwatched: true}, boundHost{Host: "g", Role: "broker", Unwatched: true},
	)
	merged := verdict.Verdict{Limit: verdict.BrokerAcks, Evidence: "senders waited"}
	want := boundAcross(hosts, nil, merged)
	for range len(hosts) {
		hosts = append(hosts[1:], hosts[0])
		must.Match(t, want, boundAcross(hosts, nil, merged), "bound by, and in another order by")
	}
}

// ofTopic is a part that was started by itself, and wrote to or read from a topic.
func ofTopic(host string, command plan.Command, topic string) partFile {
	p := partFile{run: "r", host: host, process: 1, alone: true, events: steady(0, 10, 100), trailer: trailerOf(10)}
	if command == plan.Consume {
		p.plan = readHeader(command, 0).Plan
	}
	p.change = func(h *result.Header) { h.Plan.Topic.Name, h.Environment.Topic.Name = topic, topic }
	return p
}

func inCluster(p partFile, id string) partFile {
	change := p.change
	p.change = func(h *result.Header) { change(h); h.Environment.Cluster.ID = id }
	return p
}

func atOnce(p partFile) partFile { p.epoch = "e"; return p }

func TestOnlyLoadsOfOneTopicAreAddedUp(t *testing.T) {
	several := ofTopic("b", plan.Consume, "orders")
	several.change = func(h *result.Header) {
		h.Environment.Topics = []result.Topic{{Name: "orders", Partitions: 6}, {Name: "payments", Partitions: 1}}
	}
	lost := ofTopic("b", plan.Produce, "payments")
	lost.trailer = result.Trailer{}
	orders := ofTopic("a", plan.Produce, "orders")
	for _, tc := range []struct {
		name  string
		parts []partFile
		want  string
	}{
		{"two producers of one topic", []partFile{orders, ofTopic("b", plan.Produce, "orders")}, ""},
		{"two consumers of one topic", []partFile{ofTopic("a", plan.Consume, "orders"), ofTopic("b", plan.Consume, "orders")}, ""},
		{"a producer and a consumer of one topic", []partFile{orders, ofTopic("b", plan.Consume, "orders")}, ""},
		{"processes that were started together", []partFile{atOnce(orders), atOnce(ofTopic("b", plan.Produce, "payments"))}, ""},
		{"a part of another topic that does not count", []partFile{orders, lost}, ""},
		{"one part", []partFile{orders}, ""},
		{"two topics", []partFile{ofTopic("a", plan.Produce, "payments"), ofTopic("b", plan.Produce, "orders")}, "their topics differ: orders; payments"},
		{"a topic, and two of which it is one", []partFile{orders, several}, "their topics differ: orders; orders, payments"},
		{"many topics", []partFile{orders, ofTopic("b", plan.Produce, "b"), ofTopic("c", plan.Produce, "c"), ofTopic("d", plan.Consume, "d"), ofTopic("e", plan.Consume, "e")}, "their topics differ: b; c; d; and 2 more"},
		{"two clusters", []partFile{orders, inCluster(ofTopic("b", plan.Produce, "orders"), "d")}, "they ran against 2 clusters"},
		{"one cluster whose name is not always known", []partFile{orders, inCluster(ofTopic("b", plan.Produce, "orders"), "")}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var files [][]byte
			for _, p := range tc.parts {
				files = append(files, p.bytes(t))
			}
			r := merged(t, files...)
			must.True(t, r.NotAddedUp == tc.want && (r.Records.Acknowledged == 0) == (tc.want != "") && strings.Contains(r.Notice, tc.want), "not added up: %q, want %q; notice %q, %d records", r.NotAddedUp, tc.want, r.Notice, r.Records.Acknowledged)
		})
	}
}

func TestDifferentLoadsHaveARowEachAndNothingTogether(t *testing.T) {
	a, b := ofTopic("a", plan.Produce, "orders"), ofTopic("b", plan.Produce, "payments")
	a.events, a.late = used(a.events), 3*time.Second
	b.trailer.Verify = &ledger.Verdict{Lost: 2, Readers: 1}
	watch := partFile{run: "r", host: "c", alone: true, trailer: trailerOf(10), vitals: []host.Vitals{{At: time.Second, Interval: time.Second, Cores: 4, CPU: 2}}}
	files := [][]byte{a.bytes(t), b.bytes(t), watch.bytes(t)}
	r := merged(t, files...)
	var rows []string
	for i, p := range r.Processes {
		rows = append(rows, fmt.Sprintf("%s/%d %s: %d, %.0f/s from %.0f s on, of %s %d/s", p.Host, p.Process, p.Topic, p.Records.Acknowledged, p.RecordsPerSecond, p.FromSeconds, r.Hosts[i].Host, int(r.Hosts[i].RecordsPerSecond)))
	}
	want := []string{"a/1 orders: 1000, 100/s from 3 s on, of a 0/s", "b/1 payments: 1000, 100/s from 0 s on, of b 0/s"}
	must.Match(t, want, rows, "rows")
	if diff := cmp.Diff(plan.Plan{Command: plan.Produce, Engine: plan.Client, Producers: 2, Load: plan.Load{Arrivals: plan.Uniform}}, r.Plan, cmp.AllowUnexported(plan.Size{})); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	if r.Records != (result.Records{}) || len(r.Series) > 0 || r.Latency.Response.Count > 0 || r.Overlap != nil || r.Verify != nil || len(r.Environment.Topics) != 2 || r.ElapsedSeconds != 13 || len(r.RunFiles) != 3 {
		t.Errorf("of the whole there is %+v", r)
	}
	h := r.Hosts[2]
	must.True(t, h.Busy != nil && h.Busy.CPUShare == 0.5, "the host that was watched is %+v", h)
	must.Has(t, "the notice", r.Notice, "b/1 lost or damaged records")
	file := collection(t, setOf(t, files...))
	again, err := Read(bytes.NewReader(file), int64(len(file)))
	if diff := cmp.Diff(marshal(t, r), marshal(t, again)); err != nil || diff != "" {
		t.Errorf("read again: %v (-want +got):\n%s", err, diff)
	}
	for what, err := range map[string]error{
		"limits":  errorOf(Read(bytes.NewReader(file), int64(len(file)), "p99<1s")),
		"windows": Windows(bytes.NewReader(file), int64(len(file)), func(*stats.Window) {}),
	} {
		must.Err(t, "their topics differ: orders; payments", err, "the error of %s", what)
	}
}

func errorOf(_ result.Result, err error) error { return err }

func TestLimitsAreOfTheWholeAndOfNoPart(t *testing.T) {
	ofWhole := func(limits ...string) func(*result.Header) {
		return func(h *result.Header) { h.Part.Limits = limits }
	}
	ofItself := func(limits ...string) func(*result.Header) {
		return func(h *result.Header) { h.Limits = limits }
	}
	for _, tc := range []struct {
		name   string
		a, b   func(*result.Header)
		want   []string // and whether they hold, as "rate>=150 true"
		differ bool
	}{
		{"of parts that were started together", ofWhole("rate>=150", "rate>=250 over 2s"), ofWhole("rate>=150", "rate>=250 over 2s"), []string{"rate>=150 true", "rate>=250 over 2s false"}, false},
		{"of runs that were started by hand", ofItself("rate>=150"), ofItself("rate>=150"), []string{"rate>=150 true"}, false},
		{"that only one has", ofItself("rate>=150", "errors==0"), ofItself("errors==0"), []string{"errors==0 true"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := partFile{run: "r", host: "a", process: 1, events: steady(0, 10, 100), trailer: trailerOf(10), change: tc.a}
			q := p
			q.process, q.change = 2, tc.b
			r := merged(t, p.bytes(t), q.bytes(t))
			var got []string
			for _, l := range r.Limits {
				got = append(got, l.Expression+map[bool]string{true: " true", false: " false"}[l.Held])
			}
			must.True(t, strings.Join(got, ", ") == strings.Join(tc.want, ", ") && strings.Contains(r.Notice, "limits differ") == tc.differ, "limits %q, notice %q; want %q", got, r.Notice, tc.want)
		})
	}
}

func TestARunIsAbortedIfItsPartsWere(t *testing.T) {
	p := partFile{run: "r", host: "a", process: 1, events: steady(0, 5, 10), trailer: trailerOf(5)}
	p.trailer.Ended, p.trailer.AbortedBy = result.Aborted, "errors>0: 3 records at 4.00s"
	q := p
	q.process, q.trailer.Ended, q.trailer.AbortedBy = 2, result.Interrupted, ""
	r := merged(t, p.bytes(t), q.bytes(t))
	must.True(t, r.Ended == result.Aborted && r.AbortedBy == p.trailer.AbortedBy, "it ended %q by %q", r.Ended, r.AbortedBy)
}

func TestStagesOfPartsAddUpAtTheTimesAtWhichTheyWere(t *testing.T) {
	rate := must.Have(plan.ParseTarget("100@4s,300@4s"))(t)
	part := func(name string, late time.Duration) []byte {
		p := header(100).Plan
		p.Load.Rate, p.Load.Records, p.Load.Duration = rate, 0, plan.Duration(8*time.Second)
		events := slices.Concat(steady(0, 4, 100), steady(4, 8, 300))
		for i, at := range []time.Duration{0, 4 * time.Second} {
			w := events[4*i].Window
			w.Events = []stats.Event{{At: at, Kind: stats.StageBegan, Broker: -1, To: -1, Text: rate.String()}}
		}
		return partFile{run: "r", host: name, process: 1, alone: true, late: late, plan: p, events: events, trailer: trailerOf(8)}.bytes(t)
	}
	for _, tc := range []struct {
		name    string
		late    time.Duration
		targets []float64
		whole   float64   // target over the overlap
		begin   []float64 // of stages
	}{
		{"at one time", 0, []float64{200, 600}, 400, []float64{0, 4}},
		{"a little apart", 400 * time.Millisecond, []float64{200, 600}, 400, []float64{0, 4}},
		{"two seconds apart", 2 * time.Second, []float64{100, 200, 400, 600, 300}, (2*200 + 2*400 + 2*600) / 6., []float64{0, 2, 4, 6}},
	} {
		r := merged(t, part("a", 0), part("b", tc.late))
		if got := r.Throughput.TargetRecordsPerSecond; math.Abs(got/tc.whole-1) > 1e-3 || r.BoundBy.Limit != verdict.None || !r.Valid || r.TargetReached != nil || r.Throughput.AskedRecordsPerSecond != 0 {
			t.Errorf("%s: the target is %v, want %v; bound by %+v, %q", tc.name, got, tc.whole, r.BoundBy, r.Invalid)
		}
		if len(r.Stages) != len(tc.targets) {
			t.Errorf("%s: %d stages, want %d", tc.name, len(r.Stages), len(tc.targets))
			continue
		}
		for i, s := range r.Stages {
			must.True(t, math.Abs(s.TargetRecordsPerSecond/tc.targets[i]-1) <= 1e-3 && math.Abs(s.OfferedRecordsPerSecond/tc.targets[i]-1) <= 0.02 && s.Valid && s.TargetReached == nil, "%s: stage %d is %+v, want %v/s", tc.name, i+1, s, tc.targets[i])
		}
		var begin []float64
		for _, e := range r.Events {
			begin = append(begin, e.AtSeconds)
		}
		must.Match(t, tc.begin, begin, "%s: stages begin at", tc.name)
	}
	steady := partFile{run: "r", host: "b", process: 1, alone: true, plan: header(100).Plan, events: steady(0, 8, 100), trailer: trailerOf(8)}.bytes(t)
	if r := merged(t, part("a", 0), steady); len(r.Stages) > 0 || !strings.Contains(r.Notice, "stages do not add up") {
		t.Errorf("beside a rate without stages there are %d, and the notice is %q", len(r.Stages), r.Notice)
	}
}
