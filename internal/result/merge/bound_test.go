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

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// watchedHost is a host of 16 cores with a link of 10 Gb/s, on which nothing happens.
func watchedHost(name, role string, change ...func(*result.Busy)) result.HostRow {
	b := &result.Busy{Seconds: 60, Cores: 16, Networks: []result.BusyNetwork{{Name: "eth0", SpeedBits: 10e9}}}
	if role == "broker" {
		b.Disks = []result.BusyDisk{{Name: "nvme0n1"}}
		b.Brokers = []result.BusyBroker{{PID: 1}}
	}
	for _, c := range change {
		c(b)
	}
	return result.HostRow{Host: name, Role: role, Busy: b}
}

func cpu(share float64) func(*result.Busy)   { return func(b *result.Busy) { b.CPUShare = share } }
func steal(share float64) func(*result.Busy) { return func(b *result.Busy) { b.StealShare = share } }

func sent(share float64) func(*result.Busy) {
	return func(b *result.Busy) { b.Networks[0].SentShare = share }
}

func received(share float64) func(*result.Busy) {
	return func(b *result.Busy) { b.Networks[0].ReceivedShare = share }
}

func disk(share float64) func(*result.Busy) {
	return func(b *result.Busy) { b.Disks[0].BusyShare = share }
}

func gc(share float64) func(*result.Busy) {
	return func(b *result.Busy) { b.Brokers[0].GCShare = share }
}

// speechless is a link that does not tell its speed.
func speechless(mib float64) func(*result.Busy) {
	return func(b *result.Busy) { b.Networks[0] = result.BusyNetwork{Name: "ens5", SentMiB: mib, ReceivedMiB: 1} }
}

func oneBroker(change ...func(*result.Busy)) []result.HostRow {
	return []result.HostRow{watchedHost("vm14", "broker", change...), watchedHost("vm16", "client")}
}

func oneClient(change ...func(*result.Busy)) []result.HostRow {
	return []result.HostRow{watchedHost("vm14", "broker"), watchedHost("vm16", "client", change...)}
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
	content, healthy := parts(verdict.None, verdict.None, verdict.None), parts(verdict.BrokerAcks, verdict.BrokerAcks, verdict.BrokerAcks)
	onVM7 := parts(verdict.None, verdict.Stalled, verdict.None)
	uncounted := []result.ProcessRow{{Host: "vm6", Process: 1, BoundBy: verdict.Verdict{Limit: verdict.Schedule}}}
	jvm := func(b *result.Busy) { b.Brokers = []result.BusyBroker{{PID: 1, GCShare: 0.3}} }
	link := func(n result.BusyNetwork) func(*result.Busy) {
		return func(b *result.Busy) { b.Networks = append(b.Networks, n) }
	}
	var six []result.HostRow
	for i, name := range []string{"a", "b", "c", "d", "e", "f"} {
		six = append(six, watchedHost(name, "broker", sent(0.96-0.01*float64(i))))
	}
	for _, row := range []struct {
		says         string
		hosts        []result.HostRow
		processes    []result.ProcessRow
		merged, want verdict.Limit
		evidence     string // names and numbers, in order, with … between them
	}{
		{"records that failed, whatever is saturated", oneBroker(sent(1)), parts(verdict.Schedule), verdict.Failures, verdict.Failures, "as merged"},
		{"a stall, whatever is saturated", oneBroker(sent(1)), healthy, verdict.Stalled, verdict.Stalled, "as merged"},
		{"reading that could not go on", oneBroker(sent(1)), healthy, verdict.ReadFailed, verdict.ReadFailed, "as merged"},
		{"one process that missed its schedule makes the whole not valid", oneBroker(sent(1)), parts(verdict.BrokerAcks, verdict.Schedule, verdict.None), verdict.BrokerAcks, "kt's schedule on vm7", "1 of 3 processes…process 2 of vm7: it was so"},
		{"half of the processes had no CPU left", oneBroker(sent(1)), parts(verdict.ClientCPU, verdict.BrokerAcks, verdict.ClientCPU, verdict.None), verdict.BrokerAcks, "client CPU on vm6 and vm8", "2 of 4"},
		{"all of many had none", oneBroker(sent(1)), parts(verdict.ClientCPU, verdict.ClientCPU, verdict.ClientCPU, verdict.ClientCPU), verdict.BrokerAcks, "client CPU on 4 hosts", "4 of 4"},
		{"fewer had none, and a broker is saturated", oneBroker(sent(0.97), disk(0.41)), parts(verdict.ClientCPU, verdict.BrokerAcks, verdict.BrokerAcks), verdict.BrokerAcks, "vm14's network", "97 % of 10 Gb/s sent…vm14's disks: nvme0n1 busy for 41 %"},
		{"fewer had none, and nothing is saturated", oneBroker(cpu(0.5)), parts(verdict.ClientCPU, verdict.BrokerAcks, verdict.BrokerAcks), verdict.BrokerAcks, verdict.BrokerAcks, "as merged…1 of 3…on vm6…vm14's CPU: 50 % of its 16"},
		{"a process that does not count is none of them", oneBroker(cpu(0.5)), uncounted, verdict.BrokerAcks, verdict.BrokerAcks, "as merged…vm14's CPU: 50 %"},
		{"only all together had no CPU left", oneBroker(sent(1)), healthy, verdict.ClientCPU, verdict.ClientCPU, "as merged"},
		{"a stall of one host's processes only", oneBroker(sent(1)), onVM7, verdict.Stalled, "a stall on vm7", "1 of 3"},
		{"a stall of all", oneBroker(sent(1)), parts(verdict.Stalled, verdict.Stalled), verdict.Stalled, verdict.Stalled, "as merged"},
		{"a quota", oneBroker(sent(1)), healthy, verdict.Throttle, verdict.Throttle, "as merged"},
		{"a target that was kept", oneBroker(cpu(0.3)), content, verdict.None, verdict.None, "as merged…vm14's CPU: 30 %"},
		{"a kept target with a broker at its limit", oneBroker(sent(0.95)), content, verdict.None, verdict.None, "as merged…saturated: vm14's network, 95 %"},
		{"a kept target while nobody watched", nil, content, verdict.None, verdict.None, "as merged"},
		{"a kept target, but for one process", oneBroker(cpu(0.3)), onVM7, verdict.None, "a stall on vm7", "1 of 3…vm14's CPU: 30 %"},
		{"a kept target, but for one process, with a broker at its limit", oneBroker(cpu(0.9995)), onVM7, verdict.None, "vm14's CPU", "100 % of its 16…a stall on vm7: 1 of 3"},
		{"a kept target, but for the gravest of what processes say", nil, parts(verdict.BrokerAcks, verdict.Stalled, verdict.BrokerAcks), verdict.None, "a stall on vm7", "no host was watched"},
		{"what is kt itself is not held against a kept target", nil, parts(verdict.None, verdict.Client, verdict.ClientCPU), verdict.None, verdict.None, "as merged"},
		{"too little to tell, with a broker at its limit", oneBroker(sent(0.95)), healthy, verdict.Unknown, verdict.Unknown, "as merged…vm14's network, 95 %"},
		{"nobody watched anything", []result.HostRow{{Host: "vm14", Role: "broker"}, {Host: "vm16"}}, healthy, verdict.BrokerAcks, verdict.BrokerAcks, "no host was watched"},
		{"vitals of no time are none", []result.HostRow{{Host: "vm14", Role: "broker", Busy: &result.Busy{Cores: 4, CPUShare: 1}}}, healthy, verdict.BrokerAcks, verdict.BrokerAcks, "no host was watched"},
		{"only clients were watched", []result.HostRow{watchedHost("vm16", "client", cpu(0.2))}, healthy, verdict.BrokerAcks, verdict.BrokerAcks, "vm16's CPU: 20 %…no broker host was watched"},
		{"one of two brokers was not watched", append(oneBroker(disk(0.93)), result.HostRow{Host: "vm15", Role: "broker"}), healthy, verdict.BrokerAcks, "vm14's disks", "nvme0n1 busy for 93 %…vm15 was not watched"},
		{
			"several are saturated: the one that is most so for its threshold",
			[]result.HostRow{
				watchedHost("vm14", "broker", received(0.92), steal(0.2)), watchedHost("vm15", "broker", received(0.91)),
				watchedHost("vm13", "broker", received(0.89)), watchedHost("vm16", "client", cpu(0.96)),
			},
			healthy, verdict.BrokerAcks, "vm14's hypervisor", "20 % of the time of 16…vm14's network too: 92 %…vm15's network too: 91 %…vm16's CPU too: 96 %…next is vm13's network: 89 %",
		},
		{"more than can be read of", six, healthy, verdict.BrokerAcks, "a's network", "96 %…b's network too: 95 %…c's network too: 94 %…d's network too: 93 %…and 2 more…next is a's disks"},
		{"a broker before a client, when both are as full", []result.HostRow{watchedHost("a", "client", sent(0.95)), watchedHost("z", "broker", sent(0.95))}, healthy, verdict.BrokerAcks, "z's network", "a's network too"},
		{
			"the network before the CPU, and the first of two hosts, when all are as full",
			[]result.HostRow{watchedHost("b", "broker", sent(0.95), cpu(0.95)), watchedHost("a", "broker", sent(0.95), cpu(0.95))},
			healthy, verdict.BrokerAcks, "a's network", "b's network too…a's CPU too…b's CPU too",
		},
		{"of several links the fullest is named", oneBroker(link(result.BusyNetwork{Name: "eth1", SpeedBits: 2_500_000_000, SentShare: 0.2, ReceivedShare: 0.99})), healthy, verdict.BrokerAcks, "vm14's network", "eth1 at 99 % of 2.5 Gb/s received"},
		{"a link that does not tell its speed is not named, but told of", oneBroker(speechless(830)), healthy, verdict.BrokerAcks, verdict.BrokerAcks, "vm14's ens5 sent 830 MiB/s"},
		{"and beside what is saturated", oneBroker(speechless(830), cpu(0.9)), healthy, verdict.BrokerAcks, "vm14's CPU", "90 % of its 16…vm14's ens5 sent 830 MiB/s"},
		{"a link that carried more than its speed", oneBroker(link(result.BusyNetwork{Name: "tap0", SpeedBits: 10e6, ReceivedShare: 90, ReceivedMiB: 107})), healthy, verdict.BrokerAcks, verdict.BrokerAcks, "vm14's tap0 received 107 MiB/s"},
		{"a host that is called a client is one, whoever runs there too", []result.HostRow{watchedHost("vm14", "client", cpu(0.92), jvm)}, healthy, verdict.BrokerAcks, verdict.BrokerAcks, "vm14's CPU: 92 %"},
		{"a host without a role is a broker's with a broker's JVM on it", []result.HostRow{watchedHost("vm14", "", jvm)}, healthy, verdict.BrokerAcks, "vm14's garbage collection", "for 30 %"},
		{"what readers could not do gives way to what is saturated", oneBroker(disk(0.99)), healthy, verdict.Fetches, "vm14's disks", "nvme0n1 busy for 99 %"},
	} {
		got := boundAcross(row.hosts, row.processes, verdict.Verdict{Limit: row.merged, Evidence: "as merged"})
		rest, ok := got.Evidence, true
		for want := range strings.SplitSeq(row.evidence, "…") {
			if _, rest, ok = strings.Cut(rest, want); !ok {
				break
			}
		}
		if got.Limit != row.want || !ok {
			t.Errorf("%s: bound by %q: %s; want %q: %s", row.says, got.Limit, got.Evidence, row.want, row.evidence)
		}
	}
}

func TestEachThresholdIsWhereAResourceBecomesTheLimit(t *testing.T) {
	acks := verdict.Verdict{Limit: verdict.BrokerAcks, Evidence: "senders waited"}
	for _, row := range []struct {
		says  string
		at    func(float64) []result.HostRow
		shows float64
		want  verdict.Limit
	}{
		{"a broker's link out", func(s float64) []result.HostRow { return oneBroker(sent(s)) }, 0.90, "vm14's network"},
		{"a broker's link in", func(s float64) []result.HostRow { return oneBroker(received(s)) }, 0.90, "vm14's network"},
		{"a broker's disk", func(s float64) []result.HostRow { return oneBroker(disk(s)) }, 0.90, "vm14's disks"},
		{"a broker's CPU", func(s float64) []result.HostRow { return oneBroker(cpu(s)) }, 0.90, "vm14's CPU"},
		{"a broker's steal", func(s float64) []result.HostRow { return oneBroker(steal(s)) }, 0.10, "vm14's hypervisor"},
		{"a broker's collections", func(s float64) []result.HostRow { return oneBroker(gc(s)) }, 0.10, "vm14's garbage collection"},
		{"a client's link out", func(s float64) []result.HostRow { return oneClient(sent(s)) }, 0.90, "vm16's network"},
		{"a client's link in", func(s float64) []result.HostRow { return oneClient(received(s)) }, 0.90, "vm16's network"},
		{"a client's CPU", func(s float64) []result.HostRow { return oneClient(cpu(s)) }, 0.95, "vm16's CPU"},
		{"a client's steal", func(s float64) []result.HostRow { return oneClient(steal(s)) }, 0.10, "vm16's hypervisor"},
	} {
		if got := boundAcross(row.at(row.shows-0.001), nil, acks); got.Limit != verdict.BrokerAcks {
			t.Errorf("%s: below its threshold it is %q: %s", row.says, got.Limit, got.Evidence)
		}
		if got := boundAcross(row.at(row.shows), nil, acks); got.Limit != row.want {
			t.Errorf("%s: at its threshold it is %q: %s", row.says, got.Limit, got.Evidence)
		}
	}
	for _, row := range []struct {
		says  string
		hosts []result.HostRow
		want  verdict.Limit
	}{
		{"a client's disk, which no load makes use of", oneClient(func(b *result.Busy) { b.Disks = []result.BusyDisk{{Name: "sda", BusyShare: 1}} }), verdict.BrokerAcks},
		{"a little more than a link can carry, which the clocks explain", oneBroker(sent(1.10)), "vm14's network"},
		{"more than they explain", oneBroker(sent(1.11)), verdict.BrokerAcks},
	} {
		if got := boundAcross(row.hosts, nil, acks); got.Limit != row.want {
			t.Errorf("%s: it is %q: %s", row.says, got.Limit, got.Evidence)
		}
	}
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
		if !found {
			t.Errorf("docs/limits.md does not say %.0f %% of %s", 100*row.share, row.what)
		}
	}
}

func TestTheVerdictDoesNotDependOnTheOrderOfTheHosts(t *testing.T) {
	hosts := []result.HostRow{
		watchedHost("a", "client", sent(0.95)), watchedHost("b", "broker", sent(0.95), disk(0.95)),
		watchedHost("c", "broker", sent(0.95), gc(0.1)), watchedHost("d", "broker", speechless(10)), watchedHost("e", "client", speechless(10)),
		{Host: "f", Role: "broker"},
		{Host: "g", Role: "broker"},
	}
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
		{"many topics", []partFile{orders, ofTopic("b", plan.Produce, "b"), ofTopic("c", plan.Produce, "c"), ofTopic("d", plan.Consume, "d"), ofTopic("e", plan.Consume, "e")}, "their topics differ: b; c; d; 2 more"},
		{"two clusters", []partFile{orders, inCluster(ofTopic("b", plan.Produce, "orders"), "d")}, "they ran against 2 clusters"},
		{"one cluster whose name is not always known", []partFile{orders, inCluster(ofTopic("b", plan.Produce, "orders"), "")}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var files [][]byte
			for _, p := range tc.parts {
				files = append(files, p.bytes(t))
			}
			r := merged(t, files...)
			if r.NotAddedUp != tc.want || (r.Records.Acknowledged == 0) != (tc.want != "") || !strings.Contains(r.Notice, tc.want) {
				t.Errorf("not added up: %q, want %q; notice %q, %d records", r.NotAddedUp, tc.want, r.Notice, r.Records.Acknowledged)
			}
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
	if h := r.Hosts[2]; h.Busy == nil || h.Busy.CPUShare != 0.5 {
		t.Errorf("the host that was watched is %+v", h)
	}
	must.Has(t, "the notice", r.Notice, "b/1 lost or damaged records")
	file := collection(t, setOf(t, files...))
	again, err := Read(bytes.NewReader(file), int64(len(file)))
	if diff := cmp.Diff(marshal(t, r), marshal(t, again)); err != nil || diff != "" {
		t.Errorf("read again: %v (-want +got):\n%s", err, diff)
	}
	for what, err := range map[string]error{
		"limits":  errorOf(Read(bytes.NewReader(file), int64(len(file)), "p99<1s")),
		"windows": Windows(bytes.NewReader(file), int64(len(file)), func(*stats.Window) error { return nil }),
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
			if strings.Join(got, ", ") != strings.Join(tc.want, ", ") || strings.Contains(r.Notice, "limits differ") != tc.differ {
				t.Errorf("limits %q, notice %q; want %q", got, r.Notice, tc.want)
			}
		})
	}
}

func TestARunIsAbortedIfItsPartsWere(t *testing.T) {
	p := partFile{run: "r", host: "a", process: 1, events: steady(0, 5, 10), trailer: trailerOf(5)}
	p.trailer.Ended, p.trailer.AbortedBy = result.Aborted, "errors>0: 3 records at 4.00s"
	q := p
	q.process, q.trailer.Ended, q.trailer.AbortedBy = 2, result.Interrupted, ""
	if r := merged(t, p.bytes(t), q.bytes(t)); r.Ended != result.Aborted || r.AbortedBy != p.trailer.AbortedBy {
		t.Errorf("it ended %q by %q", r.Ended, r.AbortedBy)
	}
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
			if math.Abs(s.TargetRecordsPerSecond/tc.targets[i]-1) > 1e-3 || math.Abs(s.OfferedRecordsPerSecond/tc.targets[i]-1) > 0.02 || !s.Valid || s.TargetReached != nil {
				t.Errorf("%s: stage %d is %+v, want %v/s", tc.name, i+1, s, tc.targets[i])
			}
		}
		var begin []float64
		for _, e := range r.Events {
			begin = append(begin, e.AtSeconds)
		}
		must.Match(t, tc.begin, begin, "%s: stages begin at", tc.name)
	}
}
