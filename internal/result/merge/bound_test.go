package merge

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
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
	acks := verdict.Verdict{Limit: verdict.BrokerAcks, Evidence: "senders waited"}
	kept := verdict.Verdict{Limit: verdict.None, Evidence: "the target was kept"}
	content := parts(verdict.None, verdict.None, verdict.None)
	healthy := parts(verdict.BrokerAcks, verdict.BrokerAcks, verdict.BrokerAcks)
	for _, row := range []struct {
		says      string
		hosts     []result.HostRow
		processes []result.ProcessRow
		merged    verdict.Verdict
		want      verdict.Limit
		evidence  []string // names and all numbers, in order; a sentence of its own stands in one row
	}{
		{
			"records that failed, whatever is saturated",
			oneBroker(sent(1)), parts(verdict.Schedule),
			verdict.Verdict{Limit: verdict.Failures, Evidence: "half of them"},
			verdict.Failures,
			[]string{"half of them"},
		},
		{"a stall, whatever is saturated", oneBroker(sent(1)), healthy, verdict.Verdict{Limit: verdict.Stalled, Evidence: "for 9 s"}, verdict.Stalled, []string{"for 9 s"}},
		{"reading that could not go on", oneBroker(sent(1)), healthy, verdict.Verdict{Limit: verdict.ReadFailed, Evidence: "gone"}, verdict.ReadFailed, []string{"gone"}},
		{
			"one process that missed its schedule makes the whole not valid",
			oneBroker(sent(1)), parts(verdict.BrokerAcks, verdict.Schedule, verdict.None), acks,
			"kt's schedule on vm7",
			[]string{"1 of 3 processes", "process 2 of vm7: it was so"},
		},
		{
			"half of the processes had no CPU left",
			oneBroker(sent(1)), parts(verdict.ClientCPU, verdict.BrokerAcks, verdict.ClientCPU, verdict.None), acks,
			"client CPU on vm6 and vm8",
			[]string{"2 of 4 processes", "process 1 of vm6: it was so"},
		},
		{
			"all of many had none",
			oneBroker(sent(1)), parts(verdict.ClientCPU, verdict.ClientCPU, verdict.ClientCPU, verdict.ClientCPU), acks,
			"client CPU on 4 hosts",
			[]string{"4 of 4 processes", "process 1 of vm6: it was so"},
		},
		{
			"less than half of them had none, and a broker is saturated",
			oneBroker(sent(0.97), disk(0.41)), parts(verdict.ClientCPU, verdict.BrokerAcks, verdict.BrokerAcks), acks,
			"vm14's network",
			[]string{"97 % of 10 Gb/s sent", "its disks at 41 %", "its CPU at 0 %", "clients' network at 0 %", "clients' CPU at 0 %"},
		},
		{
			"less than half of them had none, and nothing is saturated",
			oneBroker(cpu(0.5)), parts(verdict.ClientCPU, verdict.BrokerAcks, verdict.BrokerAcks), acks,
			verdict.BrokerAcks,
			[]string{"senders waited", "1 of 3 processes had no CPU left", "on vm6", "no watched resource", "vm14's CPU: 50 % of its 16"},
		},
		{
			"a process that does not count is none of them",
			oneBroker(cpu(0.5)),
			[]result.ProcessRow{{Host: "vm6", Process: 1, BoundBy: verdict.Verdict{Limit: verdict.Schedule, Evidence: "late"}}},
			acks,
			verdict.BrokerAcks,
			[]string{"senders waited", "vm14's CPU: 50 % of its 16"},
		},
		{"only all together had no CPU left", oneBroker(sent(1)), healthy, verdict.Verdict{Limit: verdict.ClientCPU, Evidence: "3.9 of 4"}, verdict.ClientCPU, []string{"3.9 of 4"}},
		{
			"a stall of one host's processes only",
			oneBroker(sent(1)), parts(verdict.None, verdict.Stalled, verdict.None),
			verdict.Verdict{Limit: verdict.Stalled, Evidence: "nothing came"},
			"a stall on vm7",
			[]string{"1 of 3 processes", "process 2 of vm7: it was so"},
		},
		{"a stall of all", oneBroker(sent(1)), parts(verdict.Stalled, verdict.Stalled), verdict.Verdict{Limit: verdict.Stalled, Evidence: "nothing came"}, verdict.Stalled, []string{"nothing came"}},
		{"a stall of none by itself", oneBroker(sent(1)), healthy, verdict.Verdict{Limit: verdict.Stalled, Evidence: "nothing came"}, verdict.Stalled, []string{"nothing came"}},
		{"a quota", oneBroker(sent(1)), healthy, verdict.Verdict{Limit: verdict.Throttle, Evidence: "half of the time"}, verdict.Throttle, []string{"half"}},
		{
			"a target that was kept",
			oneBroker(cpu(0.3)), content, kept, verdict.None,
			[]string{"the target was kept", "vm14's CPU: 30 % of its 16"},
		},
		{
			"a target that was kept with a broker at its limit",
			oneBroker(sent(0.95)), content, kept, verdict.None,
			[]string{"the target was kept", "saturated: vm14's network", "95 % of 10 Gb/s sent"},
		},
		{"a target that was kept while nobody watched", nil, content, kept, verdict.None, []string{"the target was kept"}},
		{
			"a target that was kept, but for one process",
			oneBroker(cpu(0.3)), parts(verdict.None, verdict.Stalled, verdict.None), kept,
			"a stall on vm7",
			[]string{"1 of 3 processes", "process 2 of vm7: it was so", "vm14's CPU: 30 % of its 16"},
		},
		{
			"a target that was kept, but for one process, with a broker at its limit",
			oneBroker(cpu(0.9995)), parts(verdict.None, verdict.Stalled, verdict.None), kept,
			"vm14's CPU",
			[]string{"100 % of its 16", "a stall on vm7: 1 of 3 processes", "process 2 of vm7: it was so", "its network at 0 %", "its disks at 0 %", "clients' network at 0 %", "clients' CPU at 0 %"},
		},
		{
			"a target that was kept, but for the gravest of what processes say",
			nil, parts(verdict.BrokerAcks, verdict.Stalled, verdict.BrokerAcks), kept,
			"a stall on vm7",
			[]string{"1 of 3 processes", "process 2 of vm7: it was so", "no host was watched"},
		},
		{"what is kt itself is not held against a target that was kept", nil, parts(verdict.None, verdict.Client, verdict.ClientCPU), kept, verdict.None, []string{"the target was kept"}},
		{
			"too little to tell, with a broker at its limit",
			oneBroker(sent(0.95)), healthy,
			verdict.Verdict{Limit: verdict.Unknown, Evidence: "too short"},
			verdict.Unknown,
			[]string{"too short", "vm14's network", "95 % of 10 Gb/s sent"},
		},
		{
			"nobody watched anything",
			[]result.HostRow{{Host: "vm14", Role: "broker"}, {Host: "vm16"}},
			healthy, acks, verdict.BrokerAcks,
			[]string{"senders waited"},
		},
		{
			"vitals of no time are none",
			[]result.HostRow{{Host: "vm14", Role: "broker", Busy: &result.Busy{Cores: 4, CPUShare: 1}}},
			healthy, acks, verdict.BrokerAcks,
			[]string{"senders waited"},
		},
		{
			"only clients were watched",
			[]result.HostRow{watchedHost("vm16", "client", cpu(0.2))},
			healthy, acks, verdict.BrokerAcks,
			[]string{"senders waited", "vm16's CPU: 20 % of its 16", "no broker host was watched"},
		},
		{
			"only clients were watched, and one is saturated",
			[]result.HostRow{watchedHost("vm16", "client", sent(0.96)), watchedHost("vm18", "client", sent(0.5))},
			healthy, acks, "vm16's network",
			[]string{"96 % of 10 Gb/s sent", "its CPU at 0 %", "other clients' network at 50 %"},
		},
		{
			"one of two brokers was not watched",
			append(oneBroker(disk(0.93)), result.HostRow{Host: "vm15", Role: "broker"}), healthy, acks, "vm14's disks",
			[]string{"nvme0n1 busy for 93 %", "its network at 0 %", "its CPU at 0 %", "clients' network at 0 %", "clients' CPU at 0 %", "not watched: vm15"},
		},
		{
			"several are saturated: the one that is most so for its threshold",
			[]result.HostRow{
				watchedHost("vm14", "broker", received(0.92), steal(0.2)), watchedHost("vm15", "broker", received(0.91)),
				watchedHost("vm13", "broker", received(0.89)), watchedHost("vm16", "client", cpu(0.96)),
			},
			healthy, acks, "vm14's hypervisor",
			[]string{"it gave 20 % of the time of 16", "its network too: 92 % of 10 Gb/s received", "vm15's network too: 91 % of 10 Gb/s received", "vm16's CPU too: 96 % of its 16", "its disks at 0 %", "its CPU at 0 %", "other brokers' hypervisor at 0 %", "clients' network at 0 %"},
		},
		{
			"more than can be read of",
			[]result.HostRow{
				watchedHost("a", "broker", sent(0.96)), watchedHost("b", "broker", sent(0.95)), watchedHost("c", "broker", sent(0.94)),
				watchedHost("d", "broker", sent(0.93)), watchedHost("e", "broker", sent(0.92)), watchedHost("f", "broker", sent(0.91)),
			},
			healthy, acks, "a's network",
			[]string{"96 % of 10 Gb/s sent", "b's network too: 95 % of 10 Gb/s sent", "c's network too: 94 % of 10 Gb/s sent", "d's network too: 93 % of 10 Gb/s sent", "and 2 more", "its disks at 0 %", "its CPU at 0 %"},
		},
		{
			"a broker before a client, when both are as full",
			[]result.HostRow{watchedHost("a", "client", sent(0.95)), watchedHost("z", "broker", sent(0.95))},
			healthy, acks, "z's network",
			[]string{"95 % of 10 Gb/s sent", "a's network too: 95 % of 10 Gb/s sent", "its disks at 0 %", "its CPU at 0 %", "clients' CPU at 0 %"},
		},
		{
			"the network before the CPU, and the first of two hosts, when all are as full",
			[]result.HostRow{watchedHost("b", "broker", sent(0.95), cpu(0.95)), watchedHost("a", "broker", sent(0.95), cpu(0.95))},
			healthy, acks, "a's network",
			[]string{"95 % of 10 Gb/s sent", "b's network too: 95 % of 10 Gb/s sent", "its CPU too: 95 % of its 16", "b's CPU too: 95 % of its 16", "its disks at 0 %"},
		},
		{
			"of several links the fullest is named",
			oneBroker(func(b *result.Busy) {
				b.Networks = append(b.Networks, result.BusyNetwork{Name: "eth1", SpeedBits: 2_500_000_000, SentShare: 0.2, ReceivedShare: 0.99})
			}), healthy, acks, "vm14's network",
			[]string{"eth1 at 99 % of 2.5 Gb/s received", "its disks at 0 %", "its CPU at 0 %", "clients' network at 0 %", "clients' CPU at 0 %"},
		},
		{
			"a link that does not tell its speed is not named, but told of",
			oneBroker(speechless(830)), healthy, acks, verdict.BrokerAcks,
			[]string{"senders waited", "vm14's disks: nvme0n1 busy for 0 %", "vm14's ens5 sent 830 MiB/s", "speed is unknown"},
		},
		{
			"and beside what is saturated",
			oneBroker(speechless(830), cpu(0.9)), healthy, acks, "vm14's CPU",
			[]string{"90 % of its 16", "its disks at 0 %", "clients' network at 0 %", "clients' CPU at 0 %", "vm14's ens5 sent 830 MiB/s"},
		},
		{
			"a link that carried more than its speed says told something else",
			oneBroker(func(b *result.Busy) {
				b.Networks[0] = result.BusyNetwork{Name: "tap0", SpeedBits: 10e6, ReceivedShare: 90, ReceivedMiB: 107}
			}), healthy, acks, verdict.BrokerAcks,
			[]string{"senders waited", "vm14's disks: nvme0n1 busy for 0 %", "vm14's tap0 received 107 MiB/s"},
		},
		{
			"a host that is called a client is one, whoever runs there too",
			[]result.HostRow{watchedHost("vm14", "client", cpu(0.92), func(b *result.Busy) { b.Brokers = []result.BusyBroker{{PID: 1, GCShare: 0.3}} })},
			healthy, acks, verdict.BrokerAcks,
			[]string{"senders waited", "vm14's CPU: 92 % of its 16"},
		},
		{
			"a host of which nobody said anything is a broker with a broker's JVM on it",
			[]result.HostRow{watchedHost("vm14", "", func(b *result.Busy) { b.Brokers = []result.BusyBroker{{PID: 1, GCShare: 0.3}} })},
			healthy, acks,
			"vm14's garbage collection",
			[]string{"it stopped the broker for 30 %", "its network at 0 %", "its CPU at 0 %"},
		},
		{
			"what readers could not do gives way to what is saturated",
			oneBroker(disk(0.99)), healthy,
			verdict.Verdict{Limit: verdict.Fetches, Evidence: "readers waited"},
			"vm14's disks",
			[]string{"nvme0n1 busy for 99 %", "its network at 0 %", "its CPU at 0 %", "clients' network at 0 %", "clients' CPU at 0 %"},
		},
	} {
		t.Run(row.says, func(t *testing.T) {
			got := boundAcross(row.hosts, row.processes, row.merged)
			if got.Limit != row.want {
				t.Errorf("bound by %q (%s), want %q", got.Limit, got.Evidence, row.want)
			}
			rest := got.Evidence
			for _, want := range row.evidence {
				_, after, ok := strings.Cut(rest, want)
				if !ok {
					t.Fatalf("the evidence is\n%s, want %q in %q", got.Evidence, want, rest)
				}
				rest = after
			}
			number := regexp.MustCompile(`\d+`)
			if all, want := number.FindAllString(got.Evidence, -1), number.FindAllString(strings.Join(row.evidence, " "), -1); !slices.Equal(all, want) {
				t.Errorf("the evidence is\n%s, with the numbers %v, want %v", got.Evidence, all, want)
			}
		})
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
		if got := boundAcross(hosts, nil, merged); got != want {
			t.Errorf("bound by %v, and in another order by %v", got, want)
		}
	}
}

// The thresholds are promised to users: the page and the constants must say the same.
func TestTheThresholdsAreThoseOfTheDocument(t *testing.T) {
	page, err := os.ReadFile("../../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
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
