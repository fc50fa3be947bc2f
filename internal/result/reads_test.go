package result

import (
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// readSecond is one second of a run that only reads, or the part of it that there was.
type readSecond struct {
	read, left  int64   // records: read, and waiting at its end
	first, last float64 // when records came, in parts of the second; 0: at once, and to the end
	wait        float64 // share of it in which the reader waited
	fetching    float64 // share of it with a fetch at the broker
	cores       float64
	length      float64 // seconds; 0: one
	warmup      bool
}

func readSeconds(readers int, seconds ...readSecond) *Fold {
	h := readHeader(plan.Consume, 0)
	h.Plan.Read.Consumers = readers
	f := NewFold(h)
	var at time.Duration
	var left int64
	for _, s := range seconds {
		if s.length == 0 {
			s.length = 1
		}
		if s.last == 0 {
			s.last = 1
		}
		length := time.Duration(s.length * float64(time.Second))
		part := func(share float64) time.Duration { return time.Duration(share * float64(length)) }
		w := stats.Window{Start: at, End: at + length, Warmup: s.warmup, Read: stats.Read{
			Consumed: s.read, ConsumerLag: s.left - left, ReadTime: time.Duration(readers) * length, ReadWait: time.Duration(readers) * part(s.wait),
		}}
		if s.read > 0 {
			w.FirstRead, w.LastRead = at+part(s.first), at+part(s.last)
		}
		var b stats.Broker
		b.Fetch.Requests = 1
		b.Fetch.Latency.Record(time.Duration(readers) * part(s.fetching))
		w.Brokers = map[int32]stats.Broker{1: b}
		left = s.left
		at = w.End
		f.AddWindow(w)
		f.AddSample(host.Sample{At: at, Interval: length, Cores: 4, HostCores: 8, ProcessCPU: s.cores, HostCPU: s.cores})
	}
	return f
}

func TestAReplayIsNotTakenForReadingThatKeepsUp(t *testing.T) {
	const million = 1_000_000
	old := func(s ...readSecond) []readSecond { return s }
	for _, tc := range []struct {
		name     string
		in       []readSecond
		want     verdict.Limit
		evidence []string
	}{
		{
			"an old topic to its end, in two seconds", old(
				readSecond{read: million, left: 2 * million, wait: 0.94, fetching: 0.9, cores: 0.5},
				readSecond{read: million, left: million, wait: 0.94, fetching: 0.9, cores: 0.5},
				readSecond{read: million, wait: 0.94, fetching: 0.9, cores: 0.5, length: 0.9},
			), verdict.Fetches, []string{"waited for records 94 % of the time although there was consumer lag 100 %", "busiest broker 90 %", "0.50 of 4 cores"},
		},
		{
			"one that reads all the time", old(
				readSecond{read: 3 * million, left: million, wait: 0.05, fetching: 0.2, cores: 1},
				readSecond{read: million, wait: 0.05, fetching: 0.2, cores: 1, length: 0.3},
			), verdict.Reader, []string{"waited for records 5 %", "more --consumers"},
		},
		{
			"after a long rebalance that used no CPU", old(
				readSecond{left: 4 * million, wait: 1}, readSecond{left: 4 * million, wait: 1}, readSecond{left: 4 * million, wait: 1},
				readSecond{read: million, left: 3 * million, first: 0.5, wait: 0.5, cores: 3.8},
				readSecond{read: 3 * million, cores: 3.8},
			), verdict.ClientCPU, []string{"3.80 of 4 cores"},
		},
		{
			"after a long rebalance, by a busy reader", old(
				readSecond{left: 4 * million, wait: 1}, readSecond{left: 4 * million, wait: 1},
				readSecond{read: million, left: 3 * million, first: 0.5, wait: 0.5},
				readSecond{read: 3 * million, fetching: 0.3},
			), verdict.Reader, []string{"waited for records 0 %", "there was consumer lag 100 %"},
		},
		{
			"and then nothing until it gives up", old(
				readSecond{read: million, left: million, wait: 0.8, fetching: 0.6, cores: 1},
				readSecond{read: million, last: 0.5, wait: 0.9, fetching: 0.8, cores: 1},
				readSecond{wait: 1, fetching: 1}, readSecond{wait: 1, fetching: 1}, readSecond{wait: 1, fetching: 1},
			), verdict.Fetches, []string{"waited for records 80 %", "1.00 of 4 cores"},
		},
		{
			"behind a warm-up", old(
				readSecond{read: million, left: 2 * million, wait: 0.9, warmup: true},
				readSecond{read: million, left: million, wait: 0.9, fetching: 0.9},
				readSecond{read: million, wait: 0.9, fetching: 0.9, length: 0.5},
			), verdict.Fetches, []string{"there was consumer lag 100 %"},
		},
		{
			"an old topic that is soon read, and then what is written", old(
				readSecond{read: million, wait: 0.9, fetching: 0.9}, readSecond{read: 10, wait: 1}, readSecond{read: 10, wait: 1}, readSecond{read: 10, wait: 1},
			), verdict.None, []string{"kept up with the producers: readers waited for records 98 %", "there was consumer lag 25 %"},
		},
		{
			"what is written, from the first moment on", old(
				readSecond{read: 1000, left: 20, wait: 0.9, fetching: 0.9}, readSecond{read: 1000, left: 10, wait: 0.9, fetching: 0.9},
			), verdict.None, []string{"kept up with the producers"},
		},
		{
			"what is written, once the group has been joined", old(
				readSecond{wait: 1}, readSecond{read: 1000, wait: 0.9, fetching: 0.9}, readSecond{read: 100, wait: 0.9, fetching: 0.9, length: 0.5},
			), verdict.None, []string{"kept up with the producers"},
		},
		{
			"too few for a second", old(readSecond{read: million, last: 0.6, wait: 0.9, fetching: 0.9}, readSecond{wait: 1}),
			verdict.Unknown,
			[]string{"only 600ms"},
		},
	} {
		for _, readers := range []int{1, 3} {
			v := readSeconds(readers, tc.in...).Verdict()
			must.Match(t, tc.want, v.Limit, "%s, %d readers: bound by (%s)", tc.name, readers, v.Evidence)
			must.Has(t, tc.name, v.Evidence, tc.evidence...)
		}
	}
}

func TestTheClientOfARunThatOnlyReadsIsThatOfTheTimeInWhichItReads(t *testing.T) {
	nothing := readSecond{cores: 1}
	some := readSecond{read: 500_000, left: 1, cores: 3}
	for _, tc := range []struct {
		name           string
		in             []readSecond
		cores, seconds float64
	}{
		{"joining and idle ends are left out", []readSecond{nothing, nothing, some, some, nothing}, 3, 6},
		{"a pause is not", []readSecond{some, nothing, some}, 7. / 3, 7},
		{"all counts when nothing is read", []readSecond{nothing, nothing}, 1, 2},
	} {
		c := readSeconds(1, tc.in...).Result().Client
		if diff := c.CPUCores - tc.cores; diff > 1e-9 || diff < -1e-9 || c.CPUSeconds != tc.seconds {
			t.Errorf("%s: %v cores over %v core-seconds, want %v and %v", tc.name, c.CPUCores, c.CPUSeconds, tc.cores, tc.seconds)
		}
	}
}

func TestAReplayDoesNotTellWhetherReadersKeepUp(t *testing.T) {
	yes, no := true, false
	for _, tc := range []struct {
		name string
		in   []readSecond
		want *bool
	}{
		{"old records to their end", []readSecond{{read: 1000, left: 2000}, {read: 1000, left: 1000}, {read: 1000}}, nil},
		{"and then nothing", []readSecond{{left: 2000}, {read: 1000, left: 1000}, {read: 1000}, {}, {}}, nil},
		{"a part of them, while more are written", []readSecond{{read: 1000, left: 9000}, {read: 1000, left: 10_000}, {read: 1000, left: 11_000}}, nil},
		{"nothing", []readSecond{{}, {}}, nil},
		{"old records, and then what is written", []readSecond{{read: 1000, left: 1000}, {read: 1000, left: 10}, {read: 100}, {read: 100}}, &yes},
		{"what is written", []readSecond{{read: 1000}, {read: 1000}, {read: 1000}}, &yes},
		{"what is written, too slowly", []readSecond{{read: 100, left: 900}, {read: 100, left: 1800}, {read: 100, left: 2700}}, &no},
		{"that, once the group has been joined", []readSecond{{}, {read: 100, left: 900}, {read: 100, left: 1800}}, &no},
	} {
		must.Match(t, tc.want, readSeconds(1, tc.in...).Result().ConsumerLag.KeptUp, "%s", tc.name)
	}
	f := readSeconds(1, readSecond{read: 1000, left: 1000}, readSecond{read: 1500})
	f.header.Plan.Read.ToEnd = true
	if kept := f.Result().ConsumerLag.KeptUp; kept != nil {
		t.Errorf("up to where the partitions ended: kept up is %t", *kept)
	}
	f = readSeconds(1, readSecond{read: 1000})
	f.header.Plan.Read.From.Latest = true
	if kept := f.Result().ConsumerLag.KeptUp; kept == nil || !*kept {
		t.Error("what was written in a single second: nobody has kept up with it")
	}
}
