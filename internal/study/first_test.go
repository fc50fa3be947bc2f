package study

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
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

// stopper is a runner of a cluster with a broker that is up or down.
type stopper struct {
	scribe

	log  string   // of the part without a broker
	up   bool     // the broker
	seen []string // what each run and command found, and did
	fail error    // of each run while the broker is down
}

func (s *stopper) Command(_ context.Context, command string) error {
	if text, err := os.ReadFile(s.log); err != nil || !strings.Contains(string(text), `"command":"start"`) {
		return errors.Join(err, errors.New("the log does not know how to bring it back"))
	}
	s.up = command == "start"
	s.seen = append(s.seen, command)
	return nil
}

func (s *stopper) Run(ctx context.Context, l Load, path string, opened func([]string) error) (result.Result, error) {
	s.seen = append(s.seen, fmt.Sprintf("run on %t", s.up))
	if !s.up && s.fail != nil {
		return result.Result{}, s.fail
	}
	return s.scribe.Run(ctx, l, path, opened)
}

func TestABrokerIsStoppedForTheSecondSearchAloneAndBroughtBack(t *testing.T) {
	failure := errors.New("no")
	for _, tc := range []struct {
		name string
		fail error
		left bool // the process is killed while the broker is down
		want []string
	}{
		{"at its end", nil, false, []string{"stop", "run on false", "start"}},
		{"after an error", failure, false, []string{"stop", "run on false", "start"}},
		{"by another kt", nil, true, []string{"start", "stop", "run on false", "start"}},
	} {
		s := must.Have(NewFind(Load{Command: "produce"}, DefaultSearch(), 0))(t)
		s.AddWithout(Without{Stop: "stop", Start: "start"})
		must.Do(t, s.Check())
		less := s.Parts[1]
		less.Find = nil // one run, whose file tells nothing
		f := must.Have(Create(t.TempDir(), s, "one"))(t)
		part := must.Have(Create(filepath.Dir(f.dir), less, "one/"+less.Name))(t)
		w := &stopper{log: filepath.Join(part.dir, logFile), up: !tc.left, fail: tc.fail}
		if tc.left {
			must.Do(t, part.note(entry{What: changed, Command: "start"}))
		}
		s.Parts = s.Parts[1:]
		if err := Execute(t.Context(), f, w, func(Progress) {}); !errors.Is(err, tc.fail) {
			t.Errorf("%s: %v", tc.name, err)
		}
		must.Match(t, tc.want, w.seen, tc.name)
		must.True(t, w.up && must.Have(Open(filepath.Dir(f.dir), "one/"+less.Name))(t).state().changed == nil, "%s: it is left stopped", tc.name)
	}
}

func TestReplicasFitTheBrokersThatAreLeft(t *testing.T) {
	for _, tc := range []struct {
		replicas int16
		brokers  int
		want     string // the flag in the end; "": none
		refused  bool
	}{
		{3, 3, "2", false}, {2, 3, "", false}, {5, 3, "2", false}, {0, 3, "", true}, {1, 2, "", false}, {1, 1, "", true},
	} {
		s := must.Have(NewFind(Load{Command: "run", File: "shop.yaml", Loads: []Load{{Name: "orders", Command: "produce"}}}, DefaultSearch(), 0))(t)
		p := plan.Plan{Command: plan.Produce, Producers: 1, Topic: plan.Topic{ReplicationFactor: tc.replicas}}
		err := s.LeaveReplicas(tc.brokers, []plan.Plan{p})
		if got := s.Loads[0].value("orders.replication-factor"); got != tc.want || (err != nil) != tc.refused {
			t.Errorf("%d replicas on %d brokers: %q, %v", tc.replicas, tc.brokers, got, err)
		}
	}
}

func TestOneBrokerLessCosts(t *testing.T) {
	const (
		higher = "; what one broker less costs is not known, because a limit was not found: search again with a higher --ladder, or where kt was the limit from more hosts"
		lower  = "; what one broker less costs is not known: search again with a lower --ladder"
	)
	for _, tc := range []struct {
		all, less PeakRate
		want      string
	}{
		{PeakRate{RecordsPerSecond: 9, Low: 2.1, High: 2.2}, PeakRate{RecordsPerSecond: 9, Low: 1.4, High: 1.5}, "the highest scale that holds is 2.1 with all brokers, and 1.4 while one is stopped: 33% less (29% to 36%)"},
		{PeakRate{RecordsPerSecond: 9, Low: 2}, PeakRate{RecordsPerSecond: 9, Low: 1.5, High: 1.6}, "the highest scale that holds is at least 2 with all brokers, and 1.5 while one is stopped" + higher},
		{PeakRate{RecordsPerSecond: 9, Low: 2}, PeakRate{RecordsPerSecond: 9, Low: 2}, "the highest scale that holds is at least 2 with all brokers, and at least 2 while one is stopped" + higher},
		{PeakRate{RecordsPerSecond: 9, Low: 2, High: 2.1}, PeakRate{RecordsPerSecond: 9, Low: 1.5, High: 1.6, ClientBound: true}, "the highest scale that holds is 2 with all brokers, and at least 1.5 while one is stopped" + higher},
		{PeakRate{RecordsPerSecond: 9, Low: 2, High: 2.1}, PeakRate{RecordsPerSecond: 9, Low: 2.1, High: 2.2}, "the highest scale that holds is 2 with all brokers, and 2.1 while one is stopped: no less"},
		{PeakRate{RecordsPerSecond: 9, Low: 2, High: 2.1}, PeakRate{High: 0.1}, "the highest scale that holds is 2 with all brokers, and none was found while one is stopped" + lower},
		{PeakRate{High: 0.1}, PeakRate{RecordsPerSecond: 9, Low: 2, High: 2.1}, "no scale was found that holds with all brokers, although 2 holds while one is stopped" + lower},
		{PeakRate{High: 0.1}, PeakRate{High: 0.1}, "no scale was found that holds with all brokers" + lower},
	} {
		part := func(p PeakRate, w *Without) PartDoc {
			return PartDoc{Find: &Document{Study: &Study{Find: &Search{Scale: true}, Without: w}, Over: true, FindDoc: &FindDoc{Peak: p}}}
		}
		got := ""
		if o := oneLess([]PartDoc{part(tc.all, nil), part(tc.less, new(Without))}); o != nil {
			got = say("one less", o)
		}
		if got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}
