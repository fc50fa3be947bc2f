//go:build !race

package merge

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// replayed1 is the result of one run file by itself.
func replayed1(t testing.TB, file []byte) result.Result {
	t.Helper()
	return must.Have(result.Replay(bytes.NewReader(file), nil))(t).Result()
}

// approx compares floats that were added up in another order.
var approx = cmpopts.EquateApprox(1e-12, 1e-12)

func TestMergedPercentilesAreThoseOfTheValuesThemselves(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	var values []float64
	var files [][]byte
	for i := range 6 {
		mean := time.Duration(1+i*i*i) * 3 * time.Millisecond
		var events []canned.Event
		for s := range 20 {
			start := time.Duration(s) * time.Second
			w := stats.Window{Start: start, End: start + time.Second, FirstDue: start, LastDue: start + time.Second, LastSent: start + time.Second, LastAck: start + time.Second}
			for range 1 + rng.IntN(400) {
				d := time.Duration(rng.ExpFloat64() * float64(mean)).Truncate(time.Microsecond)
				w.Response.Record(d)
				w.Offered, w.Acknowledged = w.Offered+1, w.Acknowledged+1
				values = append(values, float64(d.Microseconds()))
			}
			events = append(events, canned.Event{Window: &w})
		}
		files = append(files, partFile{run: "r", epoch: "e", host: "h", process: i + 1, events: events, trailer: trailerOf(20)}.bytes(t))
	}
	slices.Sort(values)
	r := merged(t, files...)
	l := r.Latency.Response
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	if want := result.Micros(sum / float64(len(values))); l.Count != int64(len(values)) || l.Min != result.Micros(values[0]) || l.Max != result.Micros(values[len(values)-1]) || l.Mean != want {
		t.Errorf("count %d, min %d, max %d, mean %d; want %d, %.0f, %.0f, %d", l.Count, l.Min, l.Max, l.Mean, len(values), values[0], values[len(values)-1], want)
	}
	for q, got := range map[float64]result.Micros{0.5: l.P50, 0.9: l.P90, 0.95: l.P95, 0.99: l.P99, 0.999: l.P999, 0.9999: l.P9999} {
		want := values[max(0, int(math.Round(q*float64(len(values))))-1)] // the rank that HdrHistogram takes
		must.True(t, math.Abs(float64(got)-want) <= want/1000+1, "the quantile %v is %d µs, of the values %.0f µs", q, got, want)
	}
}

// alone is a merged document without what only a merged one has.
func alone(r result.Result) result.Result {
	r.Overlap, r.Hosts, r.Processes, r.RunFiles = nil, nil, nil, nil
	return r
}

func TestOneRunMergedIsThatRunByteForByte(t *testing.T) {
	for _, command := range []plan.Command{plan.Produce, plan.Consume, plan.Roundtrip} {
		for seed := range uint64(5) {
			h, events := readHeader(command, 120*float64(seed%2)), canned.Read(seed, 12)
			if command == plan.Produce {
				h, events = header(120*float64(seed%2)), canned.Written(seed, 12)
			}
			for _, whole := range []bool{true, false} {
				file := partFile{run: "r", host: "h", process: 1, whole: whole, plan: h.Plan, events: events, trailer: trailerOf(12)}.bytes(t)
				want, r := marshal(t, replayed1(t, file)), merged(t, file)
				must.Match(t, want, marshal(t, alone(r)), "%s, seed %d", command, seed)
				must.True(t, len(r.Hosts) == 1 && len(r.Processes) == 1 && len(r.RunFiles) == 1 && r.Processes[0].RecordsPerSecond == r.Throughput.RecordsPerSecond, "%s, seed %d: the rows are %+v", command, seed, r.Processes)
			}
		}
	}
}

// steady is a load that has so many records acknowledged in each second, from the first
// one on.
func steady(from, to, rate int) []canned.Event {
	var events []canned.Event
	for s := from; s < to; s++ {
		start, end := time.Duration(s)*time.Second, time.Duration(s+1)*time.Second
		n := int64(rate)
		w := stats.Window{
			Start: start, End: end, Offered: n, Acknowledged: n, Bytes: 1024 * n, FirstDue: start, LastDue: end, LastSent: end, LastAck: end, ShardTime: time.Second,
		}
		w.Response.RecordN(4*time.Millisecond, n)
		events = append(events, canned.Event{Window: &w})
	}
	return events
}

// Two parts send in turn, each a record every 5 s.
func TestPartsOfFewRecordsRanTogether(t *testing.T) {
	part := func(host string, first time.Duration) []byte {
		var events []canned.Event
		for start := time.Duration(0); start < 20*time.Second; start += time.Second {
			w := stats.Window{Start: start, End: start + time.Second, ShardTime: time.Second}
			if at := start.Truncate(5*time.Second) + first; at >= w.Start && at < w.End {
				w.Offered, w.Acknowledged, w.FirstDue, w.LastDue, w.LastSent, w.LastAck = 1, 1, at, at, at, at
			}
			events = append(events, canned.Event{Window: &w})
		}
		return partFile{run: "r", host: host, process: 1, alone: true, events: events, trailer: trailerOf(20)}.bytes(t)
	}
	r := merged(t, part("a", 0), part("b", 2500*time.Millisecond))
	got := r.Throughput.RecordsPerSecond
	must.True(t, r.Overlap.Together && got == 0.4, "%v records/s, %+v; want 8 in 20 s", got, r.Overlap)
}

func TestRatesAreOfTheTimeInWhichAllPartsRan(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name  string
		Parts []struct {
			Host           string
			Late, First    time.Duration // First: the first record is a moment after the start
			From, To, Rate int
		}
		Overlap result.Overlap
		Rate    float64
		Notice  string
	}](t, "merge") {
		t.Run(tc.Name, func(t *testing.T) {
			var files [][]byte
			for _, p := range tc.Parts {
				events := steady(p.From, p.To, p.Rate)
				if p.First > 0 {
					events = flowing(p.First, 10*time.Second, 50)
				}
				files = append(files, partFile{run: "r", host: p.Host, process: 1, late: p.Late, alone: true, events: events, trailer: trailerOf(float64(p.To))}.bytes(t))
			}
			r := merged(t, files...)
			if diff := cmp.Diff(&tc.Overlap, r.Overlap, approx); diff != "" {
				t.Errorf("overlap (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.Rate, r.Throughput.RecordsPerSecond, approx); diff != "" {
				t.Errorf("records a second (-want +got):\n%s", diff)
			}
			must.True(t, strings.Contains(r.Notice, tc.Notice) && (tc.Notice != "" || r.Notice == ""), "notice %q, want %q", r.Notice, tc.Notice)
		})
	}
}

func TestPartsThatDoNotCountAreToldApart(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name  string
		Parts []struct {
			Of   string // as "a/1"
			Late time.Duration
			End  string
		}
		States  string // of all rows, those that count in brackets
		Records int64  // of the whole
		Apart   int64  // acknowledged
		Reason  string
	}](t, "merge") {
		t.Run(tc.Name, func(t *testing.T) {
			var files [][]byte
			for _, p := range tc.Parts {
				f := partFile{run: "r", epoch: "e", host: p.Of[:1], process: int(p.Of[2] - '0'), late: p.Late, events: steady(0, 10, 100), trailer: trailerOf(10)}
				f.roster = []result.Member{{Host: "a", Processes: 2}, {Host: "b", Processes: 1}}
				if p.End != "" {
					f.trailer.Ended = strings.TrimPrefix(p.End, "none")
				}
				files = append(files, f.bytes(t))
			}
			r := merged(t, files...)
			var states []string
			for _, row := range r.Processes {
				s := string(row.State)
				if row.Counted {
					s = "[" + s + "]"
				}
				states = append(states, s)
			}
			must.Match(t, tc.States, strings.Join(states, " "), "states")
			must.Match(t, tc.Records, r.Records.Acknowledged, "records")
			if tc.Reason == "" {
				must.True(t, r.Apart == nil, "apart: %+v", r.Apart)
				return
			}
			if r.Apart == nil || r.Apart.Records.Acknowledged != tc.Apart || !strings.HasPrefix(r.Apart.Reasons[0], tc.Reason) || !strings.Contains(r.Notice, tc.Reason) {
				t.Errorf("apart %+v, notice %q; want %d records and %q", r.Apart, r.Notice, tc.Apart, tc.Reason)
			}
		})
	}
}

func TestCoresThatHostsOfOneMachineShareCountOnce(t *testing.T) {
	part := func(host1, boot string, process int) []byte {
		events := steady(0, 5, 100)
		for s := range 5 {
			events = slices.Insert(events, 2*s+1, canned.Event{Sample: &host.Sample{
				At: time.Duration(s+1) * time.Second, Interval: time.Second, Cores: 4, ProcessCPU: 1, HostCPU: 3, HostCores: 4, NetSent: 1 << 20, NetSpeed: 1000,
			}})
		}
		return partFile{run: "r", epoch: "e", host: host1, process: process, events: events, trailer: trailerOf(5), change: func(h *result.Header) {
			h.Environment.Host.BootID = boot
		}}.bytes(t)
	}
	for _, tc := range []struct {
		name         string
		c            string // boot id
		cores, hosts float64
	}{
		{"two hosts of one machine, and another", "other", 8, 6},
		{"three of one", "one", 4, 3},
	} {
		// Hosts of one machine do not follow each other.
		c := merged(t, part("a", "one", 1), part("b", tc.c, 1), part("c", "one", 1), part("c", "one", 2)).Client
		if c.CoresAvailable != tc.cores || c.HostCores != tc.cores || c.HostCPUCores != tc.hosts || c.CPUCores != 4 || c.NetSentMiBPerSecond != 3 {
			t.Errorf("%s: %+v, want %v cores of which %v are busy, 4 by kt, and 3 MiB/s", tc.name, c, tc.cores, tc.hosts)
		}
	}
}

func TestWhatSeveralPartsSeeOfTheClusterIsOneEvent(t *testing.T) {
	part := func(process int, late time.Duration, events ...stats.Event) []byte {
		seconds := steady(0, 6, 100)
		for _, e := range events {
			w := seconds[e.At/time.Second].Window
			w.Events = append(w.Events, e)
		}
		return partFile{run: "r", epoch: "e", host: "a", process: process, late: late, events: seconds, trailer: trailerOf(6)}.bytes(t)
	}
	at := func(ms int, kind stats.EventKind, text string) stats.Event {
		return stats.Event{At: time.Duration(ms) * time.Millisecond, Kind: kind, Broker: 1, To: -1, Text: text}
	}
	r := merged(
		t,
		part(1, 0, at(2100, stats.BrokerGone, "broker 1 is gone"), at(2200, stats.FirstError, "x"), at(4000, stats.BrokerBack, "broker 1 is back"), at(5000, stats.BrokerGone, "broker 1 is gone")),
		part(2, 100*time.Millisecond, at(2900, stats.BrokerGone, "broker 1 is gone"), at(2300, stats.FirstError, "x"), at(4500, stats.BrokerBack, "broker 1 is back")),
	)
	var got []string
	for _, e := range r.Events {
		got = append(got, fmt.Sprintf("%.1f %s", e.AtSeconds, e.Text))
	}
	want := []string{"2.1 broker 1 is gone", "2.2 a/1: x", "2.3 a/2: x", "4.0 broker 1 is back", "5.0 broker 1 is gone"}
	must.Match(t, want, got, "events")
	known, gone := make(repeats), at(9000, stats.BrokerGone, "broker 1 is gone")
	for i := range mostReports - 1 {
		known[fmt.Sprint(i)] = report{}
	}
	known.without(new(mergedPart{number: 1}), []stats.Event{gone, at(9100, stats.BrokerGone, "broker 2 is gone")})
	must.Match(t, 0, len(known.without(new(mergedPart{number: 2}), []stats.Event{gone})), "events twice behind very many")
	must.Match(t, 2, len(known), "reports that are kept of them")
	for i := range 2 * mostReports { // each earlier than the one before, as no run has them
		known.without(new(mergedPart), []stats.Event{at(-i, stats.BrokerGone, fmt.Sprint(i))})
	}
	must.True(t, len(known) <= mostReports, "%d reports are kept of a damaged file", len(known))
}

func TestConsumerLagsAddUp(t *testing.T) {
	part := func(process int, group string, seconds int) []byte {
		h := readHeader(plan.Consume, 0)
		h.Plan.Read.Group = group
		var events []canned.Event
		for s := range seconds {
			end := time.Duration(s+1) * time.Second
			w := stats.Window{Start: end - time.Second, End: end, Read: stats.Read{Consumed: 10, ConsumerLag: 5, FirstRead: end, LastRead: end, ReadTime: time.Second}}
			w.Partitions = map[int32]stats.Partition{0: {Consumed: 10, ConsumerLag: 5}}
			events = append(events, canned.Event{Window: &w})
		}
		return partFile{run: "r", epoch: "e", host: "a", process: process, plan: h.Plan, events: events, trailer: trailerOf(float64(seconds))}.bytes(t)
	}
	for name, groups := range map[string][]string{
		"of one group, of which each process tells its own partitions": {"g", "g", "g"},
		"of two groups":   {"g", "f", "f"},
		"without a group": {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			const want = 20 + 25 + 30
			r := merged(t, part(1, groups[0], 4), part(2, groups[1], 5), part(3, groups[2], 6))
			if r.ConsumerLag.Left != want || r.Partitions[0].ConsumerLag != want || r.Records.Consumed != 150 {
				t.Errorf("%d records wait, %d in the partition, and %d were read; want %d", r.ConsumerLag.Left, r.Partitions[0].ConsumerLag, r.Records.Consumed, want)
			}
		})
	}
}

func TestPartitionsOfSeveralTopicsAreToldApart(t *testing.T) {
	part := func(process int, topic string, partitions int) []byte {
		events := steady(0, 3, 10)
		for _, e := range events {
			e.Window.Partitions = map[int32]stats.Partition{0: {Records: 1}, int32(partitions - 1): {Records: int64(process)}}
		}
		return partFile{run: "r", epoch: "e", host: "a", process: process, events: events, trailer: trailerOf(3), change: func(h *result.Header) {
			h.Environment.Topic = result.Topic{Name: topic, Partitions: partitions, Created: process == 2, Leaders: map[int32]int32{0: int32(process)}}
			h.Plan.Topic.Name, h.Plan.Read.Include = "", "a|b" // a topic of the pattern was made, and another removed, while processes began
		}}.bytes(t)
	}
	r := merged(t, part(1, "b", 2), part(2, "a", 3), part(3, "b", 2))
	var got []string
	for _, row := range r.Partitions {
		got = append(got, fmt.Sprintf("%s-%d %d", row.Topic, row.ID, row.Records))
	}
	want := []string{"b-0 6", "b-1 12", "a-0 3", "a-2 6"}
	must.Match(t, want, got, "partitions")
	must.True(t, len(r.Environment.Topics) == 2 && r.Environment.Topics[1].Created && r.NotAddedUp == "", "topics %+v, notice %q", r.Environment.Topics, r.Notice)
}

func TestTheLimitsOfAShareGroupAreThoseThatAllPartsHave(t *testing.T) {
	part := func(process int, limits *result.ShareLimits) []byte {
		return partFile{run: "r", epoch: "e", host: "a", process: process, events: steady(0, 3, 10), trailer: trailerOf(3), change: func(h *result.Header) {
			h.Environment.Share = limits
		}}.bytes(t)
	}
	limits := &result.ShareLimits{Deliveries: 5, Locks: 2000}
	must.Match(t, limits, merged(t, part(1, limits), part(2, limits)).Environment.Share, "limits of one group")
	must.Match(t, (*result.ShareLimits)(nil), merged(t, part(1, limits), part(2, nil)).Environment.Share, "limits where a part reads in none")
}

// Rows of topics join rows of partitions. In the live run they come when its first second was merged, and are of none that it counts.
func TestRowsOfTopicsAndOfPartitionsAreAddedUp(t *testing.T) {
	file := func(process int, byTopic bool, rows map[int32]stats.Partition, failed []int32, topics ...result.Topic) []byte {
		events := steady(0, 3, 2000)
		for _, e := range events {
			e.Window.Partitions = rows
			e.Window.Events = []stats.Event{{At: e.Window.End, Kind: stats.FirstError, Count: len(failed), Partitions: failed}}
		}
		return partFile{run: "r", epoch: "e", host: "a", process: process, events: events, trailer: trailerOf(3), change: func(h *result.Header) {
			h.Environment.Topics, h.Environment.Topic, h.Environment.ByTopic = topics, topics[0], byTopic
		}}.bytes(t)
	}
	a, b, c := result.Topic{Name: "a", Partitions: 600}, result.Topic{Name: "b", Partitions: 500}, result.Topic{Name: "c", Partitions: 2}
	files := [][]byte{
		file(1, false, map[int32]stats.Partition{0: {Records: 1}, 1: {Records: 2}, 501: {Records: 4}, 502: {Records: 100}}, []int32{501}, c, b),
		file(2, true, map[int32]stats.Partition{0: {Records: 8}, 1: {Records: 16}, 7: {Records: 1000}}, []int32{599, 600}, a, b),
	}
	tell := func(names []string, records []int64) (all []string) {
		for i, name := range names {
			all = append(all, fmt.Sprintf("%s %d", name, records[i]))
		}
		return all
	}
	want := []string{"(added) 3300", "b 60", "a 24", "c 9"} // the busiest first
	r := merged(t, files...)
	var names []string
	var records []int64
	for _, row := range r.Topics {
		names, records = append(names, row.Topic), append(records, row.Records)
	}
	must.Match(t, want, tell(names, records), "topics of the result")
	must.True(t, len(r.Partitions) == 0 && r.Environment.ByTopic, "partitions %v", r.Partitions)
	must.True(t, strings.Contains(fmt.Sprint(r.Events), "(1 of 1102 partitions: b/499)") && strings.Contains(fmt.Sprint(r.Events), "a/599 b/0"), "events %v", r.Events)

	l, all := NewLive(header(0), nil), grow(files...)
	all[0].upTo(t, l, 1)
	must.True(t, len(taken(l, 10*time.Second)) == 1, "no second is there")
	for _, g := range all {
		g.to(t, l, 100)
	}
	seconds := taken(l, Over)
	names, records = nil, nil
	_, rows := seconds[len(seconds)-1].Snapshot.Topics()
	for _, row := range rows {
		names, records = append(names, row.Topic), append(records, row.Records)
	}
	must.Match(t, []string{"c 9", "b 12", "(added) 3372"}, tell(names, records), "topics of the live run, which has begun without one, and with rows of partitions")
}

func TestSharesOfALoadAreThatLoadAgain(t *testing.T) {
	whole := header(1000).Plan
	whole.Producers = 7
	shares := must.Have(whole.Divide(3))(t)
	var files [][]byte
	for i, p := range shares {
		files = append(files, partFile{run: "r", epoch: "e", host: "a", process: i + 1, plan: p, events: steady(0, 3, 10), trailer: trailerOf(3)}.bytes(t))
	}
	must.Match(t, marshal(t, whole), marshal(t, merged(t, files...).Plan), "all shares")
	if p := merged(t, files[:2]...).Plan; p.Producers != 5 || math.Abs(p.RecordsPerSecond()-5000./7) > 1e-9 {
		t.Errorf("two of them: %d producers at %v/s, want 5 at 5/7 of 1000/s", p.Producers, p.RecordsPerSecond())
	}
}

func TestTheHeaderOfTheWholeHasWhatThePartsShare(t *testing.T) {
	part := func(host string, process int, change func(*result.Header)) []byte {
		return partFile{run: "r", epoch: "e", host: host, process: process, events: steady(0, 3, 10), trailer: trailerOf(3), change: change}.bytes(t)
	}
	r := merged(
		t,
		part("a", 1, func(h *result.Header) {
			h.Config = []result.Setting{{Name: "acks", Value: "all"}, {Name: "linger.ms", Value: "5"}, {Name: "only.here", Value: "1"}}
			h.KTVersion = "v2"
		}),
		part("b", 1, func(h *result.Header) {
			h.Config = []result.Setting{{Name: "linger.ms", Value: "0"}, {Name: "acks", Value: "all"}}
			h.KTVersion, h.Args = "v1", []string{"kt", "produce"}
			h.StartedAt = h.StartedAt.Add(-time.Hour)
		}),
		part("c", 1, func(h *result.Header) {
			h.Config, h.KTVersion = nil, "v1"
			h.Plan = readHeader(plan.Consume, 0).Plan
			h.Environment.Cluster.ID = "another"
		}),
	)
	want := []result.Setting{{Name: "acks", Value: "all"}, {Name: "linger.ms", Value: differs}, {Name: "only.here", Value: differs}}
	must.Match(t, want, r.Config, "settings")
	if r.KTVersion != "v1, v2" || len(r.Args) != 0 || !r.StartedAt.Equal(noon.Add(-time.Hour)) || r.Environment.Host.Hostname != "" || r.Environment.Host.LogicalCPUs != 4 {
		t.Errorf("version %q, command line %q, start %s, host %+v", r.KTVersion, r.Args, r.StartedAt, r.Environment.Host)
	}
	must.True(t, r.Plan.Command == plan.MixedLoad && r.Plan.Producers == 2 && r.Plan.Read.Consumers != 0, "the plan is %+v", r.Plan)
	must.Has(t, "the notice", r.Notice, "the parts are of different versions of kt: v1, v2", "different clusters")
}

func TestTheWholeHasTheTagsAndTheChecksOfItsParts(t *testing.T) {
	part := func(host string, process int, checks int, tags ...string) []byte {
		end := trailerOf(3)
		if checks > 0 {
			end.Tune = []result.TuneCheck{{Host: "name of the kernel", Checks: checks}}
		}
		return partFile{run: "r", host: host, process: process, events: steady(0, 3, 10), trailer: end, change: func(h *result.Header) { h.Tags = tags }}.bytes(t)
	}
	r := merged(t, part("b", 1, 5, "nightly"), part("a", 2, 0), part("a", 1, 4, "eu", "nightly"), part("b", 2, 6))
	must.Match(t, []string{"eu", "nightly"}, r.Tags, "tags")
	must.Match(t, []result.TuneCheck{{Host: "a", Checks: 4}, {Host: "b", Checks: 5}}, r.Tune, "checks by kt tune")
}

func TestHowBusyAHostWasIsOfTheOverlap(t *testing.T) {
	load := partFile{run: "r", epoch: "e", host: "a", process: 1, events: steady(2, 6, 10), trailer: trailerOf(6)}
	watch := partFile{run: "r", epoch: "e", host: "b", late: 500 * time.Millisecond, trailer: trailerOf(8), change: func(h *result.Header) { h.Part.Role, h.Part.Tags = "broker", []string{"rack1"} }}
	for s := range 8 { // by the common time the middle of each is at s + 1
		in := int64(1)
		if s < 1 || s > 5 {
			in = 100
		}
		watch.vitals = append(watch.vitals, host.Vitals{
			At: time.Duration(s+1) * time.Second, Interval: time.Second, Cores: 4, CPU: 2 * float64(in), Steal: 0.4, IOWait: 1, Agent: 0.01, Memory: 64, Cache: 10 * in, Dirty: int64(s),
			Disks:    []host.DiskVitals{{Name: "sdb", Busy: float64(s) / 10, Read: 0, Written: in << 20}, {Name: "sda"}},
			Networks: []host.NetworkVitals{{Name: "eth0", Speed: 10e6, Sent: in * 1e6, Received: in << 20, Dropped: in}, {Name: "veth", Sent: in << 20}},
			Brokers:  []host.BrokerVitals{{PID: 7, HeapUsed: int64(s), HeapMax: 9, Collections: in, GCTime: time.Duration(in) * 100 * time.Millisecond}},
		})
	}
	r := merged(t, load.bytes(t), watch.bytes(t))
	want := &result.Busy{
		Seconds: 5, OfSeconds: 4, Cores: 4, CPUShare: 0.5, StealShare: 0.1, IOWaitShare: 0.25, AgentCores: 0.01, MemoryBytes: 64, CacheBytes: 10, DirtyBytesMax: 5,
		Disks:    []result.BusyDisk{{Name: "sda"}, {Name: "sdb", BusyShare: 0.3, BusyShareMax: 0.5, WrittenMiB: 1}},
		Networks: []result.BusyNetwork{{Name: "eth0", SpeedBits: 10e6, SentMiB: 1e6 / mib, ReceivedMiB: 1, SentShare: 0.8, ReceivedShare: 8 * mib / 10e6, Dropped: 5}, {Name: "veth", SentMiB: 1}},
		Brokers:  []result.BusyBroker{{PID: 7, HeapUsedMax: 5, HeapMax: 9, Collections: 5, GCShare: 0.1}},
	}
	if diff := cmp.Diff(want, r.Hosts[1].Busy, cmpopts.EquateApprox(1e-9, 1e-9)); diff != "" {
		t.Errorf("busy (-want +got):\n%s", diff)
	}
	if h := r.Hosts[1]; h.Role != "broker" || h.Tags[0] != "rack1" || h.Processes != 0 || *h.ClockOffsetUS != -3000 || *h.ClockBoundUS != 200 || r.Hosts[0].Busy != nil {
		t.Errorf("hosts %+v", r.Hosts)
	}
	must.Match(t, 0, r.Overlap.ClockErrorUS, "overlap %+v", r.Overlap) // all the load is of one host
}

func TestVerdictsOfPartsAddUp(t *testing.T) {
	a := &ledger.Verdict{Readers: 1, Issued: 10, Acknowledged: 9, Checked: 9, AcknowledgedRead: 8, Lost: 1, RepeatsAllowed: true, Gaps: []ledger.Gap{{First: 3}}, Blame: []string{"x"}, OtherRun: "1", Foreign: 1}
	b := &ledger.Verdict{Readers: 2, Issued: 5, Acknowledged: 5, Checked: 5, AcknowledgedRead: 5, Duplicated: 2, Gaps: []ledger.Gap{{Reader: 1, First: 4}}, Blame: []string{"x", "y"}, OtherRun: "2", Foreign: 2}
	other := &ledger.Verdict{Readers: 1, Issued: 4, Acknowledged: 4, Lost: 4, OfAnotherRun: true, RepeatsAllowed: true}
	sum, all := verifyTogether([]*ledger.Verdict{a, b, nil, other})
	want := &ledger.Verdict{
		Readers: 2, Issued: 19, Acknowledged: 18, Checked: 14, AcknowledgedRead: 13, Lost: 1, Unchecked: 4, Duplicated: 2, Foreign: 3, OtherRun: "2",
		Gaps: []ledger.Gap{{First: 3}, {Reader: 2, First: 4}}, Blame: []string{"x", "y"},
	}
	if diff := cmp.Diff(want, sum); diff != "" || all {
		t.Errorf("all looked: %t; (-want +got):\n%s", all, diff)
	}
	if sum, _ := verifyTogether([]*ledger.Verdict{a, a, b}); sum.Readers != 2 || sum.Gaps[1].Reader != 1 || sum.Gaps[2].Reader != 3 {
		t.Errorf("%d groups, gaps %+v", sum.Readers, sum.Gaps)
	}
	if sum, all := verifyTogether([]*ledger.Verdict{other, other}); !sum.OfAnotherRun || sum.Lost != 8 || !sum.RepeatsAllowed || !all {
		t.Errorf("of another run: %+v", sum)
	}
	if sum, _ := verifyTogether([]*ledger.Verdict{nil}); sum != nil {
		t.Errorf("nobody looked: %+v", sum)
	}
	many := &ledger.Verdict{Gaps: make([]ledger.Gap, 70), GapsBeyond: 5}
	if sum, _ := verifyTogether([]*ledger.Verdict{many, many}); len(sum.Gaps) != 100 || sum.GapsBeyond != 50 {
		t.Errorf("%d gaps and %d beyond, want 100 and 50", len(sum.Gaps), sum.GapsBeyond)
	}
}

// A process that was killed, and one of which there is no file, have nothing in a verdict. Nobody knows what became of their records.
func TestARunWithoutAPartDoesNotSpeakForIt(t *testing.T) {
	roster := []result.Member{{Host: "a", Processes: 3}}
	verifies := func(h *result.Header) {
		h.Plan.Command, h.Plan.Verify, h.Plan.Read.Consumers = plan.Roundtrip, true, 1
	}
	part := func(process int, trailer result.Trailer) []byte {
		return partFile{run: "r", epoch: "e", host: "a", process: process, roster: roster, events: steady(0, 5, 100), trailer: trailer, change: verifies}.bytes(t)
	}
	whole, killed := trailerOf(5), result.Trailer{}
	whole.Verify = &ledger.Verdict{Readers: 1, Issued: 500, Acknowledged: 500, Checked: 500, AcknowledgedRead: 500}
	for _, tc := range []struct {
		name                    string
		files                   [][]byte
		parts, unchecked, among int64
	}{
		{"all are there", [][]byte{part(1, whole), part(2, whole), part(3, whole)}, 0, 0, 1500},
		{"one was killed", [][]byte{part(1, whole), part(2, whole), part(3, killed)}, 1, 500, 1500},
		{"one is not there", [][]byte{part(1, whole), part(2, whole)}, 1, 0, 1000},
		{"one is left", [][]byte{part(1, whole), part(2, killed)}, 2, 500, 1000},
		{"none is left", [][]byte{part(1, killed), part(2, killed), part(3, killed)}, 3, 1500, 1500},
	} {
		v := merged(t, tc.files...).Verify
		must.True(t, v != nil && v.PartsUnknown == tc.parts && v.Unchecked == tc.unchecked && v.Acknowledged == tc.among && v.AcknowledgedRead == tc.among-tc.unchecked && v.Complete() == (tc.parts == 0), "%s: %+v", tc.name, v)
	}
}

func TestAPartThatIsNotValidMakesTheWholeSo(t *testing.T) {
	slow := steady(0, 10, 100)
	for _, e := range slow {
		e.Window.OwnSendDelay.RecordN(time.Second, 100)
	}
	p := partFile{run: "r", host: "a", process: 1, events: steady(0, 10, 1000), trailer: trailerOf(10)}
	q := partFile{run: "r", host: "b", process: 3, events: slow, trailer: trailerOf(10)}
	r := merged(t, p.bytes(t), q.bytes(t))
	must.True(t, !r.Valid && len(r.Invalid) == 2 && strings.HasPrefix(r.Invalid[0], "b/3: ") && r.Processes[0].Valid && !r.Processes[1].Valid, "valid %t, %q", r.Valid, r.Invalid)
}

func TestARunIsInterruptedIfAPartWas(t *testing.T) {
	p := partFile{run: "r", host: "a", process: 1, events: steady(0, 5, 10), trailer: trailerOf(5)}
	q := p
	q.process, q.trailer.Ended, q.trailer.DrainTimedOut, q.late, q.trailer.ElapsedSeconds = 2, result.Interrupted, true, time.Second, 4
	want := result.Trailer{Ended: result.Interrupted, ElapsedSeconds: 5, SendingSeconds: 6, DrainTimedOut: true}
	must.Match(t, want, merged(t, p.bytes(t), q.bytes(t)).Trailer, "trailer")
}
