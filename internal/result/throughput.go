package result

import (
	"maps"
	"time"

	"github.com/kt-bench/kt/internal/stats"
)

// records returns the records of a phase by outcome. Without one they are unknown if the run file was cut off.
func (f *Fold) records(w *stats.Window) Records {
	r := Records{Offered: w.Offered, Acknowledged: w.Acknowledged, Failed: w.Failed, Unknown: w.Unknown, Unsent: w.Unsent, Consumed: w.Consumed}
	if f.trailer.Ended == CutOff {
		r.Offered = max(r.Offered, r.Acknowledged+r.Failed) // an outcome may be written a second before its record
		r.Unknown = r.Offered - r.Acknowledged - r.Failed
	}
	return r
}

// errorsOf returns a copy of counts by error code, never nil.
func errorsOf(counts map[string]int64) Errors {
	e := make(Errors, len(counts))
	maps.Copy(e, counts)
	return e
}

// few is the largest number of records or polls that are counted with one more interval.
const few = 500

// spanOf returns the time over which rates are taken. It begins when the first record is due, and ends with the last acknowledgement,
// or when one more record would be due if that is later. So an outage at the end counts, and n records take n
// intervals.
func spanOf(w *stats.Window) time.Duration {
	return max(0, max(w.LastAck, w.LastDue+IntervalOf(w))-w.FirstDue)
}

// IntervalOf returns the mean time between two records that are due, if they are few. Otherwise it returns 0.
func IntervalOf(w *stats.Window) time.Duration {
	n := w.Offered + w.Unsent
	if n < 2 || n > few {
		return 0
	}
	return (w.LastDue - w.FirstDue) / time.Duration(n-1)
}

func throughputOf(w *stats.Window) Throughput {
	seconds := spanOf(w).Seconds()
	t := Throughput{
		Bytes: w.Bytes, FirstDueSeconds: w.FirstDue.Seconds(), Seconds: seconds,
		RecordsPerSecond: per(float64(w.Acknowledged), seconds), MiBPerSecond: per(float64(w.Bytes)/mib, seconds),
	}
	if w.Offered > 1 { // n records at equal intervals take n-1 intervals
		t.OfferedRecordsPerSecond = per(float64(w.Offered-1), (w.LastSent - w.FirstDue).Seconds())
	}
	return t
}
