package study

import (
	"testing"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// Each row is a run that did not hold, and the resource that ran out first there.
func TestTheFirstResourceThatRanOutIsNamed(t *testing.T) {
	row := func(id int32, requests int64, mean result.Micros, throttle int64) result.BrokerRow {
		return result.BrokerRow{ID: id, BrokerRequests: result.BrokerRequests{Requests: requests, Latency: result.Latency{Mean: mean}, ThrottleMS: throttle}}
	}
	host := func(name, role string, cpu float64, disks ...result.BusyDisk) result.HostRow {
		return result.HostRow{Host: name, Role: role, Busy: &result.Busy{Seconds: 30, OfSeconds: 30, Cores: 8, CPUShare: cpu, Disks: disks}}
	}
	slow := verdict.Verdict{Limit: verdict.BrokerAcks}
	behind := func(limit verdict.Limit) result.LoadResult {
		l := result.LoadResult{Name: "shipping", Result: result.Result{BoundBy: verdict.Verdict{Limit: limit, Evidence: "it reads too little"}, ConsumerLag: &result.ConsumerLag{KeptUp: new(bool)}}}
		l.Plan.Command, l.Plan.Read = plan.Consume, plan.Read{Group: "ship", Consumers: 1}
		l.Brokers = []result.BrokerRow{{ID: 1, Fetch: &result.BrokerRequests{Requests: 9, Latency: result.Latency{Mean: 30_000}}}}
		return l
	}
	orders := result.LoadResult{Name: "orders", Result: result.Result{BoundBy: slow, Brokers: []result.BrokerRow{row(1, 10, 9000, 0), row(2, 10, 9500, 0)}}}
	for _, tc := range []struct {
		name string
		r    result.Result
		want string // "": not known
	}{
		{"a quota of one broker", result.Result{BoundBy: verdict.Verdict{Limit: verdict.Throttle}, Brokers: []result.BrokerRow{row(1, 10, 900, 0), row(2, 10, 500, 1200)}}, "broker 2 (quota)"},
		{"a broker that is slower than the others", result.Result{BoundBy: slow, Brokers: []result.BrokerRow{row(1, 10, 9000, 0), row(2, 10, 40_000, 0), row(3, 10, 8000, 0)}}, "broker 2 (requests)"},
		{"brokers that are alike", result.Result{BoundBy: slow, Brokers: []result.BrokerRow{row(1, 10, 9000, 0), row(2, 10, 10_000, 0)}}, "all brokers (requests)"},
		{"a watched host that is full", result.Result{BoundBy: slow, Brokers: []result.BrokerRow{row(1, 10, 9000, 0)}, Hosts: []result.HostRow{host("b1", "broker", 0.5), host("b2", "broker", 0.97), host("c1", "client", 0.99)}}, "broker b2 (CPU)"},
		{"a disk that is busy with reading", result.Result{BoundBy: slow, Hosts: []result.HostRow{host("b1", "broker", 0.5, result.BusyDisk{Name: "sda", BusyShare: 0.99, ReadMiB: 90, WrittenMiB: 20})}}, "broker b1 (page cache)"},
		{"a disk that is busy with writing", result.Result{BoundBy: slow, Hosts: []result.HostRow{host("b1", "broker", 0.5, result.BusyDisk{Name: "sda", BusyShare: 0.99, ReadMiB: 9, WrittenMiB: 20})}}, "broker b1 (disks)"},
		{"a full log directory", result.Result{BoundBy: slow, Events: []result.Event{{Kind: stats.LogDirFull, Broker: 3, Text: "full"}}}, "broker 3 (log directory)"},
		{"a group that works too slowly", result.Result{Suffered: "shipping", Loads: []result.LoadResult{orders, behind(verdict.Processing)}}, "group ship (reading)"},
		{"a group that waits for brokers", result.Result{Suffered: "shipping", Loads: []result.LoadResult{orders, behind(verdict.Fetches)}}, "broker 1 (requests)"},
		{"a producer, although a group is behind too", result.Result{Suffered: "orders", Loads: []result.LoadResult{orders, behind(verdict.Processing)}}, "all brokers (requests)"},
		{"kt itself", result.Result{BoundBy: verdict.Verdict{Limit: verdict.ClientCPU}, Brokers: []result.BrokerRow{row(1, 10, 9000, 0)}}, ""},
		{"nothing that is known", result.Result{BoundBy: slow}, ""},
	} {
		got := ""
		if f := firstOut(&tc.r); f != nil {
			got = f.String()
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
