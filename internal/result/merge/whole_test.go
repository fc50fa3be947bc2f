//go:build !race

package merge

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/plan"
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
			got := r.Throughput.OfferedRecordsPerSecond
			must.True(t, math.Abs(got/tc.offered-1) <= 1e-3, "%v records/s were offered, want %v", got, tc.offered)
			must.True(t, r.BoundBy.Limit == tc.limit && strings.Contains(r.BoundBy.Evidence, tc.evidence) && r.Valid, "bound by %+v, %q; want %s, %q", r.BoundBy, r.Invalid, tc.limit, tc.evidence)
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
			th := r.Throughput
			must.True(t, math.Abs(th.TargetRecordsPerSecond/tc.target-1) <= 1e-3 && th.AskedRecordsPerSecond == 0, "the target is %v of %v asked for, want %v of 0", th.TargetRecordsPerSecond, th.AskedRecordsPerSecond, tc.target)
			must.True(t, r.BoundBy.Limit == verdict.None && r.TargetReached == nil && r.Valid, "bound by %+v, %q; want none", r.BoundBy, r.Invalid)
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
	p := r.Processes[0]
	must.True(t, p.CPUCores == 0 && p.RecordsPerSecond == 0 && r.Throughput.RecordsPerSecond == 0 && r.Client.CPUCores == 0, "of 0.3 s there are rates: %+v, %+v", r.Throughput, p.Figures)
	want := "less than 1 s"
	must.True(t, strings.Contains(r.Notice, want), "notice %q, want %q", r.Notice, want)
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
	b := merged(t, load.bytes(t), watch.bytes(t)).Hosts[1].Busy
	must.True(t, b.Cores == 0 && b.CPUShare == 0 && b.MemoryBytes == 0, "nothing of CPUs and memory could be read: %+v", b)
}

// Each row is looked for in a sorted list, and a file may be anybody's.
func TestALineWithVeryManyDisksIsRefusedBeforeTheyAreListed(t *testing.T) {
	watch := partFile{run: "r", host: "b", vitals: []host.Vitals{{At: time.Second, Interval: time.Second, Disks: make([]host.DiskVitals, maxWatched+1)}}}
	for i := range watch.vitals[0].Disks {
		watch.vitals[0].Disks[i].Name = fmt.Sprint(i)
	}
	for _, f := range setOf(t, watch.bytes(t)).runFiles {
		b := new(BusySum)
		must.Err(t, "lists more than", b.read(f, 0, time.Hour), "a line")
		must.Match(t, 0, len(b.Disks), "disks that were listed")
	}
}

// flowing is a load of so many records a second from a moment on: what a window has is
// what its time has.
func flowing(first, last time.Duration, rate float64) []canned.Event {
	var events []canned.Event
	for start := time.Duration(0); start < last; start += time.Second {
		w := stats.Window{Start: start, End: min(last, start+time.Second), ShardTime: time.Second}
		from := max(first, w.Start)
		n := int64(math.Round(rate * (w.End - from).Seconds()))
		if n > 0 {
			w.Offered, w.Acknowledged, w.Bytes = n, n, 100*n
			w.FirstDue, w.LastDue, w.LastSent, w.LastAck = from, w.End, w.End, w.End
			w.Response.RecordN(time.Millisecond, n)
		}
		events = append(events, canned.Event{Window: &w})
	}
	return events
}

func TestTheRowsOfAMergedSeriesFollowEachOther(t *testing.T) {
	const rate = 500
	part := func(host string, late time.Duration, first, last float64) []byte {
		return partFile{
			run: "r", host: host, process: 1, alone: true, late: late,
			events: flowing(time.Duration(first*float64(time.Second)), time.Duration(last*float64(time.Second)), rate), trailer: trailerOf(last),
		}.bytes(t)
	}
	for _, late := range []time.Duration{0, 3 * time.Millisecond, 300 * time.Millisecond, 550 * time.Millisecond, 1900 * time.Millisecond} {
		r := merged(t, part("a", 0, 0.4, 24.5), part("b", late, 0, 24.5), part("c", late/2, 0, 23.2))
		seconds, records := 0.0, int64(0)
		for i, p := range r.Series {
			must.True(t, math.Abs(p.StartSeconds-r.Series[0].StartSeconds-seconds) <= 1e-9, "%s late: row %d begins at %v s, %v s after the first: %v", late, i, p.StartSeconds, seconds, r.Series)
			seconds += p.Seconds
			records += p.Acknowledged
			whole := p.StartSeconds > late.Seconds()+0.4 && p.StartSeconds+p.Seconds < 23.2+late.Seconds()/2
			got := float64(p.Acknowledged) / p.Seconds
			must.True(t, !whole || math.Abs(got/(3*rate)-1) <= 0.03, "%s late: %.0f/s in the %.3f s from %.3f s on, want %d", late, got, p.Seconds, p.StartSeconds, 3*rate)
		}
		must.True(t, math.Abs(seconds-r.Overlap.SpanSeconds) <= 1e-9 && records == r.Records.Acknowledged, "%s late: %v s and %d records in the series, %v s and %d in all", late, seconds, records, r.Overlap.SpanSeconds, r.Records.Acknowledged)
	}
}

func TestARowOfAMergedSeriesEndsWhereItsPhaseHasAGap(t *testing.T) {
	gap := steady(0, 8, 100)
	gap = append(gap[:3:3], gap[5:]...)
	part := func(host string) []byte {
		return partFile{run: "r", host: host, process: 1, events: gap, trailer: trailerOf(8)}.bytes(t)
	}
	for i, p := range merged(t, part("a"), part("b")).Series {
		must.True(t, p.Seconds == 1 && p.Acknowledged == 200, "row %d has %d records in %v s, want 200 in 1 s", i, p.Acknowledged, p.Seconds)
	}
}

func TestTheWindowsOfAFileAddUpToItsResult(t *testing.T) {
	files := someRun(t, 1)
	for name, file := range map[string][]byte{"run file": files[0], "collection": collection(t, setOf(t, files...))} {
		res := must.Have(Read(bytes.NewReader(file), int64(len(file))))(t)
		var sum stats.Window
		must.Do(t, Windows(bytes.NewReader(file), int64(len(file)), func(w *stats.Window) {
			if !w.Warmup {
				sum.Add(w)
			}
		}))
		if sum.Acknowledged != res.Records.Acknowledged || sum.Response.Count() != res.Latency.Response.Count || sum.Acknowledged == 0 {
			t.Errorf("%s: windows of %d records and %d response times, want %d and %d", name, sum.Acknowledged, sum.Response.Count(), res.Records.Acknowledged, res.Latency.Response.Count)
		}
	}
}

// published is one process of a published load test, or the total as it was printed.
type published struct {
	op, process           string
	rate, mib, mean, most float64 // most and mean in milliseconds; 0: not printed
}

// publishedCases reads tables that people made by hand of the output of many processes:
// one of Kafka's own tools each.
func publishedCases(t *testing.T) map[string][]published {
	t.Helper()
	f := must.Have(os.Open("testdata/published-processes.csv"))(t)
	defer func() { _ = f.Close() }() // it was only read
	rows := must.Have(csv.NewReader(f).ReadAll())(t)
	number := func(s string) float64 {
		if s == "" {
			return 0
		}
		return must.Have(strconv.ParseFloat(s, 64))(t)
	}
	cases := make(map[string][]published)
	for _, r := range rows[1:] {
		cases[r[0]] = append(cases[r[0]], published{r[1], r[2], number(r[3]), number(r[4]), number(r[5]), number(r[6])})
	}
	return cases
}

// file is the run file of a process that did in each second what was published of it.
func (p published) file(t *testing.T, run string) []byte {
	name, number := "host", p.process
	if i := strings.LastIndexAny(p.process, "_-"); i > 0 {
		name, number = p.process[:i], p.process[i+1:]
	}
	n, err := strconv.Atoi(number)
	if err != nil && p.op == "produce" {
		t.Fatal(err)
	}
	const seconds = 10
	var events []canned.Event
	for s := range seconds {
		start, end := time.Duration(s)*time.Second, time.Duration(s+1)*time.Second
		records := int64(math.Round(p.rate*float64(s+1)) - math.Round(p.rate*float64(s)))
		bytes := int64(math.Round(p.mib * mib))
		w := stats.Window{Start: start, End: end}
		if p.op == "consume" {
			w.Read = stats.Read{Consumed: records, ConsumedBytes: bytes, FirstRead: start, LastRead: end, ReadTime: time.Second}
		} else {
			w.Offered, w.Acknowledged, w.Bytes, w.FirstDue, w.LastDue, w.LastSent, w.LastAck, w.ShardTime = records, records, bytes, start, end, end, end, time.Second
			// One record has the longest latency, all others what makes the mean.
			most := time.Duration(p.most * float64(time.Millisecond))
			others := (p.mean*float64(time.Millisecond)*float64(records) - float64(most)) / float64(records-1)
			w.Response.Record(most)
			w.Response.RecordN(time.Duration(math.Round(others/1e3))*time.Microsecond, records-1)
		}
		events = append(events, canned.Event{Window: &w})
	}
	h := readHeader(plan.Command(p.op), 0)
	if p.op == "produce" {
		h = header(0)
	}
	return partFile{run: run, epoch: "e", host: name, process: n, plan: h.Plan, events: events, trailer: trailerOf(seconds)}.bytes(t)
}

// The totals that were printed are sums of rates, and the greatest of the maxima. The
// means are those of the rows, each of which has the same weight however many records it
// stands for; the mean of all records is another one. Where that shows, wrong has it.
func TestPublishedTablesGiveTheirPrintedTotals(t *testing.T) {
	wrong := map[string]struct{ printed, rows, records float64 }{
		"multi-process-8": {503.2, 428.9, 428.9}, // it is not even the mean of its rows
		"multi-host-2x5":  {255.0, 255.0, 251.1}, // the slower half has fewer records
	}
	const tolerance = 0.004 // of a mean: what equal weights make of rows that are much alike
	cases := publishedCases(t)
	must.Hold(t, len(cases) == 16, "%d cases, want 16", len(cases))
	for name, rows := range cases {
		t.Run(name, func(t *testing.T) {
			total, rows := rows[len(rows)-1], rows[:len(rows)-1]
			var files [][]byte
			var rate, mean, plain float64
			for _, p := range rows {
				files = append(files, p.file(t, name))
				rate += p.rate
				mean += p.mean * p.rate
				plain += p.mean / float64(len(rows))
			}
			mean /= rate
			r := merged(t, files...)
			must.Hold(t, len(r.Processes) == len(rows) && r.Apart == nil, "%d processes, want %d; apart: %+v", len(r.Processes), len(rows), r.Apart)
			gotRate, gotMiB := r.Throughput.RecordsPerSecond, r.Throughput.MiBPerSecond
			if total.op == "consume" {
				gotRate, gotMiB = r.Fetch.RecordsPerSecond, r.Fetch.MiBPerSecond
			}
			// Rows are printed with no or two decimals. One total is 0.02 MiB/s off by itself.
			must.True(t, math.Abs(gotRate-total.rate) <= 0.5 && math.Abs(gotMiB-total.mib) <= 0.025, "%.2f records/s and %.3f MiB/s, printed are %.2f and %.3f", gotRate, gotMiB, total.rate, total.mib)
			if total.op == "consume" {
				return
			}
			must.Match(t, total.most, float64(r.Latency.Response.Max)/1000, "the longest latency is ms, printed is ms")
			got := float64(r.Latency.Response.Mean) / 1000
			must.True(t, math.Abs(got-mean) <= 0.01, "the mean is %.3f ms, that of the rows by their records %.3f ms", got, mean)
			w, known := wrong[name]
			must.Match(t, known, math.Abs(got-total.mean) > tolerance*got, "the mean is %.3f ms, printed is %.3f ms: wrong", got, total.mean)
			must.True(t, !known || (math.Abs(w.printed-total.mean) <= 0.05 && math.Abs(w.rows-plain) <= 0.05 && math.Abs(w.records-got) <= 0.05), "printed %.1f ms, mean of the rows %.1f ms, of the records %.1f ms; want %+v", total.mean, plain, got, w)
		})
	}
}

// readHeader is header of a run that reads.
func readHeader(command plan.Command, rate float64) result.Header {
	h := header(rate)
	h.Plan = canned.ReadPlan(command, rate)
	h.ConsumerConfig = []result.Setting{{Name: "client.id", Value: "kt"}}
	if command == plan.Consume {
		h.Config = nil
	}
	return h
}
