package report

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/stats"
)

// The formats of org.apache.kafka.tools.ConsumerPerformance.
const (
	javaColumns  = "data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec\n"
	javaRow      = "%s, %s, %.4f, %.4f, %d, %.4f, %d, %d, %.4f, %.4f\n"
	javaDetailed = "%s, %d, %.4f, %.4f, %d, %.4f, %d, %d, %.4f, %.4f\n"
	javaWarning  = "WARNING: Exiting before consuming the expected number of records: timeout (%d ms) exceeded. You can use the --timeout option to increase the timeout.\n"
)

// consumerRun is ten seconds of reading 1 MiB and 1,000 records each, of which the
// first two were joining and one a rebalance of both readers.
func consumerRun(reading string) (result.Header, []stats.Window, result.Result) {
	h := readHeader(plan.Consume, 0)
	h.Plan.Load.Records = 8000
	f := result.NewFold(h)
	var windows []stats.Window
	for i := range 10 {
		at := time.Duration(i) * time.Second
		w := stats.Window{Start: at, End: at + time.Second, Read: stats.Read{ReadTime: 2 * time.Second}}
		switch i {
		case 0:
		case 1:
			w.JoinTime = 2 * time.Second
		case 5:
			w.Rebalances, w.RebalanceTime = 2, 2*time.Second
		default:
			w.Consumed, w.ConsumedBytes, w.FirstRead, w.LastRead = 1000, 1<<20, at, w.End
		}
		f.AddWindow(w)
		windows = append(windows, w)
	}
	f.Finish(result.Trailer{Ended: result.Completed, ElapsedSeconds: 10, ReadEnd: reading})
	return h, windows, f.Result()
}

func TestConsumerRowsAreKafkas(t *testing.T) {
	h, windows, r := consumerRun(result.ReadCount)
	var b bytes.Buffer
	c := newConsumerPerf(&b, h, ConsumerRows{Zone: time.UTC})
	for _, err := range []error{c.writeHeader(), c.writeInterval(&windows[2]), c.finish(r)} {
		must.Do(t, err)
	}
	row := fmt.Sprintf(javaRow, "2026-11-21 12:10:25:000", "2026-11-21 12:10:35:000", 7.0, 0.7, 7000, 700.0, 3000, 7000, 1.0, 1000.0)
	must.Match(t, "start.time, end.time, "+javaColumns+row, b.String(), "rows")
	must.Match(t, b.String(), written(t, PerfTest, r, Options{Consumer: ConsumerRows{Zone: time.UTC, Detailed: true}}), "a run that is read back differs")
	format := must.Have(ParseDateFormat("HH:mm:ss"))(t)
	got := written(t, PerfTest, r, Options{Consumer: ConsumerRows{HideHeader: true, Date: format, Zone: time.FixedZone("CET", 3600)}})
	must.True(t, strings.HasPrefix(got, "13:10:25, 13:10:35, 7.0000") && strings.Count(got, "\n") == 1,
		"without a header, in another zone and format:\n%s", got)
}

func TestDetailedRowsAreInPlaceOfTheLastOne(t *testing.T) {
	h, windows, r := consumerRun(result.ReadIdle)
	var b bytes.Buffer
	c := newConsumerPerf(&b, h, ConsumerRows{Detailed: true, Interval: time.Second, Zone: time.UTC})
	must.Do(t, c.writeHeader())
	windows[6].End -= 101 * time.Millisecond // the end of the run
	for _, i := range []int{1, 2, 3, 5, 6} {
		must.Do(t, c.writeInterval(&windows[i]))
	}
	must.Do(t, c.finish(r))
	want := "time, threadId, " + javaColumns +
		fmt.Sprintf(javaDetailed, "2026-11-21 12:10:27:000", 0, 0.0, 0.0, 0, 0.0, 2000, 0, 0.0, 0.0) +
		fmt.Sprintf(javaDetailed, "2026-11-21 12:10:28:000", 0, 1.0, 1.0, 1000, 1000.0, 0, 1000, 1.0, 1000.0) +
		fmt.Sprintf(javaDetailed, "2026-11-21 12:10:29:000", 0, 2.0, 1.0, 2000, 1000.0, 0, 1000, 1.0, 1000.0) +
		fmt.Sprintf(javaDetailed, "2026-11-21 12:10:31:000", 0, 2.0, 0.0, 2000, 0.0, 1000, 0, 0.0, 0.0) +
		fmt.Sprintf(javaWarning, 10_000)
	must.Match(t, want, b.String(), "rows")
}

// The formats of org.apache.kafka.tools.ShareConsumerPerformance of Kafka 4.3.
func TestRowsOfAShareGroupAreKafkas(t *testing.T) {
	const row = "%s, %s, %.4f, %.4f, %.4f, %d, %d"
	h := readHeader(plan.Consume, 0)
	h.Plan.Load.Records, h.Plan.Read.Share, h.Plan.Read.Consumers = 8000, new(plan.ShareGroup), 2
	h.ConsumerConfig = []result.Setting{{Name: "client.id", Value: plan.ShareClient}}
	f := result.NewFold(h)
	var b bytes.Buffer
	c := newConsumerPerf(&b, h, ConsumerRows{Detailed: true, Consumers: true, Interval: time.Second, Zone: time.UTC})
	must.Do(t, c.writeHeader())
	for i := range 2 {
		w := stats.Window{Start: time.Duration(i) * time.Second, End: time.Duration(i+1) * time.Second}
		w.Consumed, w.ConsumedBytes, w.FirstRead, w.LastRead, w.ReadTime = 1000, 1<<20, w.Start, w.End, 2*time.Second
		w.Members, w.MemberBytes = map[string]int64{"1": 1000}, map[string]int64{"1": 1 << 20}
		if i == 1 {
			w.Members, w.MemberBytes = map[string]int64{"1": 500, "2": 500}, map[string]int64{"1": 1 << 19, "2": 1 << 19}
		}
		f.AddWindow(w)
		must.Do(t, c.writeInterval(&w))
	}
	f.Finish(result.Trailer{Ended: result.Completed, ElapsedSeconds: 4, ReadEnd: result.ReadIdle})
	must.Do(t, c.finish(f.Result()))
	at := func(s int) string { return fmt.Sprintf("2026-11-21 12:10:%d:000", 25+s) }
	want := "start.time, end.time, data.consumed.in.MB, MB.sec, nMsg.sec, data.consumed.in.nMsg, fetch.time.ms\n" +
		fmt.Sprintf(row+" for share consumer 1\n", at(0), at(1), 1.0, 1.0, 1000.0, 1000, 1000) +
		fmt.Sprintf(row+" for share consumer 1\n", at(1), at(2), 1.5, 0.5, 500.0, 1500, 1000) +
		fmt.Sprintf(row+" for share consumer 2\n", at(1), at(2), 0.5, 0.5, 500.0, 500, 1000) +
		fmt.Sprintf("Share consumer 1 having client id perf-share-consumer-client-1 consumption metrics- "+row+"\n", at(0), at(4), 1.5, 0.375, 375.0, 1500, 4000) +
		fmt.Sprintf("Share consumer 2 having client id perf-share-consumer-client-2 consumption metrics- "+row+"\n", at(0), at(4), 0.5, 0.125, 125.0, 500, 4000) +
		fmt.Sprintf(javaWarning, 10_000) + fmt.Sprintf(row+"\n", at(0), at(4), 2.0, 0.5, 500.0, 2000, 4000)
	must.Match(t, want, b.String(), "rows")
}

func TestThatATimeoutCutTheReadingShortIsTold(t *testing.T) {
	_, _, r := consumerRun(result.ReadIdle)
	must.Has(t, "7,000 of 8,000 records and no warning", written(t, PerfTest, r, Options{}), "\n"+fmt.Sprintf(javaWarning, 10_000))
	r.Plan.Load.Records = 7000
	got := written(t, PerfTest, r, Options{})
	must.True(t, !strings.Contains(got, "WARNING"), "all were read, and a warning:\n%s", got)
	full := errors.New("no space left on device")
	for _, rows := range []ConsumerRows{{}, {HideHeader: true}} {
		err := PerfTest(failing{full}, r, Options{Consumer: rows})
		must.True(t, errors.Is(err, full), "rows that cannot be written give %v", err)
	}
	c := newConsumerPerf(failing{full}, r.Header, ConsumerRows{Detailed: true})
	err := c.writeInterval(&stats.Window{})
	must.True(t, errors.Is(err, full), "an interval that cannot be written gives %v", err)
}

// The formats of org.apache.kafka.tools.EndToEndLatency.
func TestEndToEndLinesAreKafkas(t *testing.T) {
	want := fmt.Sprintf("Avg latency: %.4f ms\n", 22.9696) + fmt.Sprintf("Percentiles: 50th = %d, 99th = %d, 99.9th = %d\n", 17, 61, 62)
	must.Match(t, want, written(t, PerfTest, results()["one_at_a_time"], Options{}), "lines")
}

func TestDatesAreWrittenByJavasPatterns(t *testing.T) {
	at := time.Date(2026, 1, 4, 0, 5, 9, 7_900_000, time.FixedZone("CET", 3600)) // a Sunday
	for _, tc := range must.Rows[[]struct{ Pattern, Want string }](t, "dateformat") {
		f, err := ParseDateFormat(tc.Pattern)
		if tc.Pattern == "HH Uhr" {
			must.Err(t, "the letter U is not known", err, "%q: the error", tc.Pattern)
			continue
		}
		must.True(t, err == nil && f.Format(at) == tc.Want, "%q gives %q, %v; want %q", tc.Pattern, f.Format(at), err, tc.Want)
	}
	must.Err(t, "no end", must.Fail(ParseDateFormat("HH 'o''clock")), "a quote without an end")
	kafkas, err := ParseDateFormat("yyyy-MM-dd HH:mm:ss:SSS")
	if none := (DateFormat{}); err != nil || none.Format(at) != kafkas.Format(at) {
		t.Errorf("without a pattern it is %q, with Kafka's %q", none.Format(at), kafkas.Format(at))
	}
}

// The last interval ends with a slice of a few milliseconds: what that used is not what
// the interval used.
func TestALineOfProgressTellsTheCPUOfItsInterval(t *testing.T) {
	var stderr bytes.Buffer
	o := must.Have(NewLive(result.Header{}, LiveOptions{Output: "text", Interval: 2 * time.Second, Stderr: &stderr, Now: func() time.Time { return time.Unix(0, 0) }}))(t)
	at := time.Duration(0)
	for i, length := range []time.Duration{time.Second, time.Second, time.Second, 2 * time.Millisecond} {
		s := run.Second{
			Windows: []stats.Window{{Start: at, End: at + length, Offered: 1, Acknowledged: 1}},
			Sample:  host.Sample{Interval: length, Cores: 4, ProcessCPU: []float64{0.5, 1.5, 0.25, 3}[i]},
		}
		if i == 3 {
			s.Snapshot.Stage = result.Finished
		}
		o.Observe(s)
		at += length
	}
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	must.True(t, len(lines) == 2 && strings.HasSuffix(lines[0], "cpu 1.00/4 cores") && strings.HasSuffix(lines[1], "cpu 0.26/4 cores"),
		"want 1.00 cores of two seconds and 0.26 of the last:\n%s", stderr.String())
}
