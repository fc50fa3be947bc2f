package report

import (
	"fmt"
	"io"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// ConsumerRows are options of the rows of kafka-consumer-perf-test.
type ConsumerRows struct {
	HideHeader bool
	Detailed   bool          // rows as the run goes on, in place of the one at its end
	Interval   time.Duration // of detailed rows: the last one of a run is shorter, and has none
	Date       DateFormat
	Zone       *time.Location // of the times; nil: this machine's
}

// consumerPerf writes a run as kafka-consumer-perf-test does, so that scripts which
// read that keep working: a header when the run begins, then a row an interval or
// one row at the end.
type consumerPerf struct {
	w       io.Writer
	rows    ConsumerRows
	started time.Time
	plan    plan.Plan

	records, bytes int64 // read so far
}

// newConsumerPerf writes to w of the run that h begins.
func newConsumerPerf(w io.Writer, h result.Header, rows ConsumerRows) *consumerPerf {
	if rows.Zone == nil {
		rows.Zone = time.Local
	}
	return &consumerPerf{w: w, rows: rows, started: h.StartedAt, plan: h.Plan}
}

// perfColumns are those that both kinds of rows have.
const perfColumns = "data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"

// writeHeader writes the names of the columns, unless they are to be hidden.
func (c *consumerPerf) writeHeader() error {
	times := "start.time, end.time, "
	switch {
	case c.rows.HideHeader:
		return nil
	case c.rows.Detailed:
		times = "time, threadId, "
	}
	_, err := fmt.Fprintln(c.w, times+perfColumns)
	return err
}

// fullInterval is the share of the reporting interval from which on an interval counts as whole.
const fullInterval = 0.9

// writeInterval writes the row of an interval, when rows are detailed: totals so far,
// and the rates of the interval. As in Kafka's tool, the rest at the end has none.
func (c *consumerPerf) writeInterval(s *stats.Window) error {
	if !c.rows.Detailed || s.Seconds() < fullInterval*c.rows.Interval.Seconds() {
		return nil
	}
	c.records += s.Consumed
	c.bytes += s.ConsumedBytes
	elapsed := s.End - s.Start
	rebalance := s.JoinTime + s.RebalanceTime/time.Duration(max(1, c.plan.Read.Clients()))
	return c.row(c.date(s.End)+", 0", c.records, c.bytes, s.Consumed, s.ConsumedBytes, elapsed, rebalance) // Kafka's tool has one thread
}

// finish writes the end: a warning when too few records came before the timeout, and the row of the whole
// run unless rows are detailed.
func (c *consumerPerf) finish(r result.Result) error {
	records, bytes, rebalance := readInAll(r, c.plan.Read.Clients())
	if want := c.plan.Load.Records; r.ReadEnd == result.ReadIdle && records < want {
		if _, err := fmt.Fprintf(c.w, "WARNING: Exiting before consuming the expected number of records: timeout (%d ms) exceeded. "+
			"You can use the --timeout option to increase the timeout.\n", c.plan.Read.Timeout.Std().Milliseconds()); err != nil {
			return err
		}
	}
	if c.rows.Detailed {
		return nil
	}
	elapsed := seconds(r.ElapsedSeconds)
	return c.row(c.date(0)+", "+c.date(elapsed), records, bytes, records, bytes, elapsed, rebalance)
}

// readInAll returns the records and bytes that were read, warm-up included, and the mean time of a reader
// for joining and rebalancing.
func readInAll(r result.Result, readers int) (records, bytes int64, rebalance time.Duration) {
	records, rebalance = r.Records.Consumed, time.Duration(r.JoinMS)*time.Millisecond
	var ms int64
	if r.Fetch != nil {
		bytes = r.Fetch.Bytes
	}
	if r.Rebalances != nil {
		ms = r.Rebalances.TotalMS
	}
	if w := r.Warmup; w != nil {
		records += w.Records.Consumed
		bytes += w.ConsumedBytes
		if w.Rebalances != nil {
			ms += w.Rebalances.TotalMS
		}
	}
	return records, bytes, rebalance + time.Duration(ms)*time.Millisecond/time.Duration(max(1, readers))
}

// row writes the totals of a row, and the rates of the amounts that came in its time.
func (c *consumerPerf) row(times string, records, bytes, ofRecords, ofBytes int64, elapsed, rebalance time.Duration) error {
	fetch, mib := max(0, elapsed-rebalance), float64(ofBytes)/mibBytes
	_, err := fmt.Fprintf(c.w, "%s, %.4f, %.4f, %d, %.4f, %d, %d, %.4f, %.4f\n", times, float64(bytes)/mibBytes, per(mib, elapsed), records,
		per(float64(ofRecords), elapsed), rebalance.Milliseconds(), fetch.Milliseconds(), per(mib, fetch), per(float64(ofRecords), fetch))
	return err
}

// per returns a rate, 0 over no time.
func per(v float64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return v / d.Seconds()
}

func (c *consumerPerf) date(at time.Duration) string {
	return theme.Clean(c.rows.Date.Format(c.started.Add(at).In(c.rows.Zone))) // of the pattern, the user's own text
}
