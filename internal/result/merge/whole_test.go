package merge

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

func TestTheTargetIsComparedWithWhatWasOfferedTogether(t *testing.T) {
	part := func(name string, late time.Duration, seconds, rate int) []byte {
		return partFile{
			run: "r", host: name, process: 1, alone: true, late: late, plan: header(100).Plan, events: steady(0, seconds, rate), trailer: trailerOf(float64(seconds)),
		}.bytes(t)
	}
	half := partFile{
		run: "r", host: "b", process: 1, alone: true, late: 9 * time.Second, plan: header(100).Plan,
		events: flowing(500*time.Millisecond, time.Second, 104), trailer: trailerOf(1),
	}.bytes(t)
	for _, tc := range []struct {
		name     string
		files    [][]byte
		offered  float64
		limit    verdict.Limit
		evidence string
	}{
		{"at one time", [][]byte{part("a", 0, 10, 100), part("b", 0, 10, 100)}, 200, verdict.None, "200 records/s was kept (200/s offered)"},
		{"for a part of the time", [][]byte{part("a", 0, 10, 100), part("b", 8*time.Second, 10, 100)}, 200, verdict.None, "was kept (200/s offered)"},
		{"one after the other", [][]byte{part("a", 0, 10, 100), part("b", 10*time.Second, 10, 100)}, 100, verdict.Unknown, "the parts did not run together"},
		{"for half a second", [][]byte{part("a", 0, 10, 100), half}, 1051.0 / 10, verdict.Unknown, saysShort},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := merged(t, tc.files...)
			if got := r.Throughput.OfferedRecordsPerSecond; math.Abs(got/tc.offered-1) > 1e-3 {
				t.Errorf("%v records/s were offered, want %v", got, tc.offered)
			}
			if r.BoundBy.Limit != tc.limit || !strings.Contains(r.BoundBy.Evidence, tc.evidence) || !r.Valid {
				t.Errorf("bound by %+v, %q; want %s, %q", r.BoundBy, r.Invalid, tc.limit, tc.evidence)
			}
		})
	}
}

func TestATargetThatOneProcessChangedIsThatOfTheWhole(t *testing.T) {
	for _, tc := range []struct {
		name   string
		late   time.Duration
		rate   int // of one process from its second 5 on
		target float64
	}{
		{"raised", 0, 300, 300},
		{"lowered", 0, 20, 160},
		{"by one that began late", 2 * time.Second, 300, 100 + (5*100+3*300)/8.},
	} {
		t.Run(tc.name, func(t *testing.T) {
			events := slices.Concat(steady(0, 5, 100), steady(5, 10, tc.rate))
			events[4].Window.Events = []stats.Event{{At: 5 * time.Second, Kind: stats.RateChanged, Broker: -1, To: -1, OldRate: 100, NewRate: float64(tc.rate)}}
			part := func(name string, late time.Duration, events []canned.Event) []byte {
				return partFile{run: "r", host: name, process: 1, alone: true, late: late, plan: header(100).Plan, events: events, trailer: trailerOf(10)}.bytes(t)
			}
			r := merged(t, part("a", 0, steady(0, 10, 100)), part("b", tc.late, events))
			if th := r.Throughput; math.Abs(th.TargetRecordsPerSecond/tc.target-1) > 1e-3 || th.AskedRecordsPerSecond != 0 {
				t.Errorf("the target is %v of %v asked for, want %v of 0", th.TargetRecordsPerSecond, th.AskedRecordsPerSecond, tc.target)
			}
			if r.BoundBy.Limit != verdict.None || r.TargetReached != nil || !r.Valid {
				t.Errorf("bound by %+v, %q; want none", r.BoundBy, r.Invalid)
			}
		})
	}
}

func TestWhatWasMeasuredForLessThanASecondHasNoRate(t *testing.T) {
	short := func(process int) []byte {
		events := steady(0, 1, 5)
		w := events[0].Window
		w.End, w.LastDue, w.LastSent, w.LastAck = 300*time.Millisecond, 300*time.Millisecond, 300*time.Millisecond, 300*time.Millisecond
		events = append(events, canned.Event{Sample: &host.Sample{At: w.End, Interval: 10 * time.Millisecond, Cores: 4, ProcessCPU: 1.35}})
		return partFile{run: "r", epoch: "e", host: "a", process: process, events: events, trailer: trailerOf(0.3)}.bytes(t)
	}
	r := merged(t, short(1), short(2))
	if p := r.Processes[0]; p.CPUCores != 0 || p.RecordsPerSecond != 0 || r.Throughput.RecordsPerSecond != 0 || r.Client.CPUCores != 0 {
		t.Errorf("of 0.3 s there are rates: %+v, %+v", r.Throughput, p.Figures)
	}
	if want := "less than 1 s"; !strings.Contains(r.Notice, want) {
		t.Errorf("notice %q, want %q", r.Notice, want)
	}
}

func TestClientsUseWhatTheirProcessesDo(t *testing.T) {
	part := func(process int, late time.Duration, cpu float64) []byte {
		var events []canned.Event
		for _, e := range steady(0, 10, 100) {
			events = append(events, e, canned.Event{Sample: &host.Sample{At: e.Window.End, Interval: time.Second, Cores: 4, HostCores: 4, ProcessCPU: cpu}})
		}
		return partFile{run: "r", host: "a", process: process, alone: true, late: late, plan: header(100).Plan, events: events, trailer: trailerOf(10)}.bytes(t)
	}
	r := merged(t, part(1, 0, 1), part(2, 5*time.Second, 0.5))
	if r.Client.CPUCores != 1.5 || r.Hosts[0].CPUCores != 1.5 || !strings.Contains(r.BoundBy.Evidence, "1.50 of 4 cores") {
		t.Errorf("all clients used %v, the host %v cores, want 1.5; %s", r.Client.CPUCores, r.Hosts[0].CPUCores, r.BoundBy.Evidence)
	}
}

func TestAPartThatIsLostDoesNotHideWhatWasAskedFor(t *testing.T) {
	part := func(name, end string) []byte {
		p := partFile{run: "r", epoch: "e", host: name, process: 1, plan: header(1000).Plan, events: steady(0, 10, 1000), trailer: trailerOf(10)}
		p.trailer.Ended = end
		return p.bytes(t)
	}
	for name, tc := range map[string]struct {
		files         [][]byte
		target, asked float64
	}{
		"all count":   {[][]byte{part("a", result.Completed), part("b", result.Completed)}, 2000, 0},
		"one is lost": {[][]byte{part("a", result.Completed), part("b", result.Completed), part("c", "")}, 2000, 3000},
	} {
		r := merged(t, tc.files...).Throughput
		if diff := cmp.Diff([]float64{tc.target, tc.asked}, []float64{r.TargetRecordsPerSecond, r.AskedRecordsPerSecond}, approx); diff != "" {
			t.Errorf("%s: target and asked for (-want +got):\n%s", name, diff)
		}
	}
	whole := header(1000).Plan
	whole.Producers = 3
	shares := must.Have(whole.Divide(3))(t)
	only := partFile{run: "r", epoch: "e", host: "a", process: 1, plan: shares[0], roster: []result.Member{{Host: "a", Processes: 3}}, events: steady(0, 3, 333), trailer: trailerOf(3)}.bytes(t)
	if r := merged(t, only).Throughput; math.Abs(r.AskedRecordsPerSecond-1000) > 1e-9 {
		t.Errorf("of shares of which some are missing: %+v", r)
	}
}

func TestWhatCouldNotBeReadOfAHostIsNotIdle(t *testing.T) {
	load := partFile{run: "r", epoch: "e", host: "a", process: 1, events: steady(0, 4, 10), trailer: trailerOf(4)}
	watch := partFile{run: "r", epoch: "e", host: "b", trailer: trailerOf(4)}
	for s := range 4 {
		v := host.Vitals{At: time.Duration(s+1) * time.Second, Interval: time.Second, Cores: 4, Unread: 5, Brokers: []host.BrokerVitals{{PID: 7}, {PID: 8}}}
		if s%2 == 1 {
			v.CPU, v.Steal, v.Memory, v.Cache = 2, 1, 64, 10
			v.Disks = []host.DiskVitals{{Name: "sda", Busy: 0.8, Written: 1 << 20}}
			v.Networks = []host.NetworkVitals{{Name: "eth0", Speed: 10e6, Sent: 1e6}}
			v.Brokers[0] = host.BrokerVitals{PID: 7, HeapUsed: 5, HeapMax: 9, GCTime: 100 * time.Millisecond}
		}
		watch.vitals = append(watch.vitals, v)
	}
	want := &result.Busy{
		Seconds: 4, OfSeconds: 4, Cores: 4, CPUShare: 0.5, StealShare: 0.25, MemoryBytes: 64, CacheBytes: 10,
		Disks:    []result.BusyDisk{{Name: "sda", BusyShare: 0.8, BusyShareMax: 0.8, WrittenMiB: 1}},
		Networks: []result.BusyNetwork{{Name: "eth0", SpeedBits: 10e6, SentMiB: 1e6 / mib, SentShare: 0.8}},
		Brokers:  []result.BusyBroker{{PID: 7, HeapUsedMax: 5, HeapMax: 9, GCShare: 0.1}, {PID: 8}},
	}
	r := merged(t, load.bytes(t), watch.bytes(t))
	if diff := cmp.Diff(want, r.Hosts[1].Busy, approx); diff != "" {
		t.Errorf("busy (-want +got):\n%s", diff)
	}
	for i := range watch.vitals {
		watch.vitals[i].CPU, watch.vitals[i].Memory = 0, 0
	}
	if b := merged(t, load.bytes(t), watch.bytes(t)).Hosts[1].Busy; b.Cores != 0 || b.CPUShare != 0 || b.MemoryBytes != 0 {
		t.Errorf("nothing of CPUs and memory could be read: %+v", b)
	}
}
