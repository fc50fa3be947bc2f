package tui

import (
	"math"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/stats"
)

// consumed is a second in which n records were read and the consumer lag changed.
func consumed(n, consumerLag int64) stats.Window {
	return stats.Window{Read: stats.Read{Consumed: n, ConsumedBytes: n * 100, ConsumerLag: consumerLag, ReadTime: time.Second}}
}

func TestTheCommandDecidesWhatIsCounted(t *testing.T) {
	w := stats.Window{End: time.Second, Acknowledged: 3, Read: stats.Read{Consumed: 2}}
	w.Service.Record(time.Millisecond)
	w.EndToEnd.Record(time.Second)
	for command, want := range map[string]struct {
		main    way
		median  time.Duration
		ackP99  time.Duration
		untimed bool
	}{
		"produce":   {acked, time.Millisecond, 0, false},
		"consume":   {read, time.Second, 0, false},
		"roundtrip": {acked, time.Second, time.Millisecond, false},
	} {
		d := observed(Header{Command: command}, w)
		if d.main != want.main || d.last.quantiles[p50] != want.median || d.last.ackP99 != want.ackP99 || d.untimed() != want.untimed {
			t.Errorf("%s: main %v, p50 %v, ack p99 %v, untimed %v", command, d.main, d.last.quantiles[p50], d.last.ackP99, d.untimed())
		}
	}
	if d := observed(Header{Command: "consume"}, consumed(2, 0)); !d.untimed() {
		t.Error("without a stamp there is a latency")
	}
}

func TestTheConsumerLagIsTheSumOfItsChanges(t *testing.T) {
	d := observed(Header{Command: "consume"}, stats.Window{}, consumed(0, 900), consumed(100, -100), consumed(700, -850))
	var got []float64
	for _, p := range d.points {
		got = append(got, p.consumerLag)
	}
	if !math.IsNaN(got[0]) || got[1] != 900 || got[2] != 800 || got[3] != 0 {
		t.Errorf("%v", got) // what was read before it was known to wait is no negative consumer lag
	}
}

func TestTheFirstConsumerLagIsNoTrend(t *testing.T) {
	for _, row := range []struct {
		name    string
		windows []stats.Window
		want    int
	}{
		{"nothing is known", []stats.Window{{}, {}}, 0},
		{"it has just become known", []stats.Window{{}, consumed(0, 1e6)}, 0},
		{"then it falls", []stats.Window{{}, consumed(0, 1e6), consumed(100, -100)}, -1},
		{"or grows", []stats.Window{{}, consumed(0, 1e6), consumed(100, 100)}, 1},
		{"a change beside the rate is chance", []stats.Window{consumed(1000, 1e6), consumed(1000, 5), consumed(1000, -9)}, 0},
	} {
		d := observed(Header{Command: "consume"}, row.windows...)
		s := &scene{data: d}
		if got := s.lagTrend().direction(); got != row.want {
			t.Errorf("%s: %d, want %d", row.name, got, row.want)
		}
	}
}

func TestThePartitionsHaveConsumerLagsAndTrendsOfTheirOwn(t *testing.T) {
	window := func(n, a, b int64) stats.Window {
		w := consumed(2*n, a+b)
		w.Partitions = map[int32]stats.Partition{0: {Consumed: n, ConsumerLag: a}, 2: {Consumed: n, ConsumerLag: b}}
		return w
	}
	d := observed(Header{Command: "consume", Partitions: 4}, window(10, 500, 40), window(10, -10, 20), window(10, -10, 30))
	rates := d.parts.rates(4)
	levels, trends := d.parts.levels(len(rates)), d.parts.trends(rates)
	if rates[0] != 10 || rates[1] != 0 || levels[0] != 480 || levels[2] != 90 || levels[3] != 0 {
		t.Errorf("rates %v, levels %v", rates, levels)
	}
	if trends[0].direction() != -1 || trends[2].direction() != 1 || trends[1].direction() != 0 {
		t.Errorf("trends %+v", trends)
	}
}

func TestTheHeatMapForgetsFetchesWhenRecordsCarryStamps(t *testing.T) {
	fetch := stats.Broker{}
	fetch.Fetch.Latency.Record(time.Millisecond)
	first := consumed(10, 100)
	first.Brokers = map[int32]stats.Broker{1: fetch}
	heat := func(d *data) (n int) {
		for i := range d.points {
			for _, v := range d.points[i].heat {
				n += int(v)
			}
		}
		return n
	}
	if n := heat(observed(Header{Command: "consume"}, first)); n != 1 {
		t.Errorf("%d fetches", n)
	}
	second := consumed(10, 0)
	second.Brokers = first.Brokers
	second.EndToEnd.RecordN(time.Second, 5)
	if n := heat(observed(Header{Command: "consume"}, first, second)); n != 5 {
		t.Errorf("%d latencies", n)
	}
}

func TestJoiningAGroupDoesNotCountInTheRateOfReading(t *testing.T) {
	d := newData(Header{Command: "consume", Group: "g"})
	if !d.joining() {
		t.Error("it has joined before it began")
	}
	for i := range 6 {
		w := stats.Window{Start: time.Duration(i) * time.Second, End: time.Duration(i+1) * time.Second}
		if i >= 3 {
			w.Consumed, w.JoinTime = 100, 3*time.Second
			w.FirstRead, w.LastRead = w.Start, w.End
		}
		d.observe(Tick{Windows: []stats.Window{w}, State: Running})
		if d.joining() != (i < 3) {
			t.Errorf("second %d: joining %v", i, d.joining())
		}
	}
	if got := d.run.flow[read].rate; got != 100 {
		t.Errorf("%v records a second", got)
	}
}

// Without a group there is nothing to join, and a roundtrip begins when its readers
// are ready.
func TestOnlyAGroupIsJoined(t *testing.T) {
	for _, h := range []Header{{Command: "consume"}, {Command: "roundtrip", Group: "g"}, {Command: "produce"}} {
		if newData(h).joining() {
			t.Errorf("%+v", h)
		}
	}
}

func TestABrokerThatAReaderDoesNotAskIsNotLost(t *testing.T) {
	w := consumed(10, 0)
	b := stats.Broker{}
	b.Fetch.Requests = 1
	b.Fetch.Latency.Record(time.Millisecond)
	w.Brokers = map[int32]stats.Broker{1: b}
	d := observed(Header{Command: "consume"}, w, consumed(10, 0), consumed(10, 0), consumed(10, 0), consumed(10, 0))
	v := d.brokers[1]
	if health, why := d.health(&v); health != brokerUp || why == "" {
		t.Errorf("%v %q", health, why)
	}
	d = observed(Header{Command: "roundtrip"}, w, consumed(10, 0), consumed(10, 0), consumed(10, 0), consumed(10, 0))
	v = d.brokers[1]
	if health, _ := d.health(&v); health != brokerLost {
		t.Errorf("of a roundtrip: %v", health)
	}
}

func TestFetchErrorsAreErrorsOfTheirOwn(t *testing.T) {
	w := stats.Window{Failed: 2, Errors: map[string]int64{"X": 2}, Read: stats.Read{FetchErrors: map[string]int64{"X": 5}}}
	d := observed(Header{Command: "roundtrip"}, w)
	if d.failed != 2 || d.refused != 5 || d.errors["X"] != 2 || d.errors["fetch X"] != 5 || !d.points[0].failed {
		t.Errorf("failed %d, refused %d, %v", d.failed, d.refused, d.errors)
	}
}
