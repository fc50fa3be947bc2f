package reading

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/stats"
)

// EndToEnd counts the time since a record was due, if that was in this run. started is the start
// of the run in nanoseconds since 1970, and now the time since then.
func (d *State) EndToEnd(rec *stats.Recorder, phase int, s *ledger.Stamp, started int64, now time.Duration) {
	if own := d.Run; s.Due < started || own != 0 && s.Run != own {
		return
	}
	if d.Run != 0 {
		phase = stats.PhaseOf(s.Warmup)
	}
	rec.EndToEnd(phase, time.Duration(started-s.Due)+now)
}

// HeaderSum returns the checksum of headers that a stamp covers.
func HeaderSum(headers []kgo.RecordHeader) (sum uint32) {
	for i := range headers {
		sum = ledger.AddHeader(sum, headers[i].Key, headers[i].Value)
	}
	return sum
}

// Account adds a record that was read to the ledger.
func Account(log *ledger.Log, r *kgo.Record, s *ledger.Stamp) ledger.StampStatus {
	const byProducer = 0 // message.timestamp.type is CreateTime
	read := ledger.Record{
		Offset: r.Offset, Epoch: r.LeaderEpoch, Value: r.Value, Millis: -1,
		Around: ledger.Around{Key: r.Key, Headers: HeaderSum(r.Headers)},
	}
	if r.Attrs.TimestampType() == byProducer {
		read.Millis = r.Timestamp.UnixMilli()
	}
	return log.Add(&read, s)
}
