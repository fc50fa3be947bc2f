package result

import (
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/stats"
)

// mib is the unit of Kafka's own tools, which print it as MB.
const mib = 1 << 20

// Fold makes a result of the windows and samples of a run. Its memory is bounded
// whatever the run's length.
type Fold struct {
	header  Header
	trailer Trailer
	total   stats.Phases
	series  series
	use     usage
	sending bool // in the second of the last windows
	stall   stall
}

// stall is the longest time in which nothing was acknowledged although something
// was outstanding, to the second.
type stall struct {
	now           time.Duration // so far, of the one that goes on
	longest, from time.Duration
	answered      time.Duration // end of the last second in which a record of the warm-up was acknowledged
}

// warming notes that the brokers still acknowledge what was due in the warm-up:
// then they do not stall.
func (s *stall) warming(w *stats.Window) {
	if w.Acknowledged > 0 {
		s.answered = w.End
	}
}

func (s *stall) add(w, total *stats.Window) {
	if w.Acknowledged > 0 || s.answered == w.End || total.Offered <= total.Acknowledged+total.Failed+total.Unknown {
		s.now = 0
		return
	}
	s.now += w.End - w.Start
	if s.now > s.longest {
		s.longest, s.from = s.now, w.End-s.now
	}
}

// NewFold starts a result. Until Finish is called the run counts as cut off.
func NewFold(h Header) *Fold {
	return &Fold{header: h, trailer: Trailer{Ended: CutOff}}
}

// AddWindow adds a window.
func (f *Fold) AddWindow(w stats.Window) {
	f.total[stats.PhaseOf(w.Warmup)].Add(&w)
	f.series.add(PointOf(&w))
	if w.Warmup {
		f.stall.warming(&w)
		return
	}
	f.sending = w.ShardTime > 0
	f.stall.add(&w, &f.total[stats.Measured])
}

// AddSample adds a sample of the host: after the windows of its interval.
func (f *Fold) AddSample(s host.Sample) {
	f.series.sample(s)
	m := &f.total[stats.Measured]
	warming := m.IsZero() || s.At <= m.Start
	draining := !f.sending && f.use.seconds > 0 // it would dilute what sending took
	if !warming && !draining {
		f.use.add(s)
	}
}

// Finish adds what is known at the end.
func (f *Fold) Finish(t Trailer) { f.trailer = t }

// Result is the document of what was folded so far.
func (f *Fold) Result() Result {
	m := &f.total[stats.Measured]
	e := f.evidence()
	r := Result{
		Header:     f.header,
		Trailer:    f.trailer,
		Invalid:    e.invalid(),
		BoundBy:    e.verdict(),
		Records:    f.records(m),
		Errors:     errorsOf(m),
		Throughput: throughputOf(m, e.target),
		Latency: Latencies{
			Response: latencyOf(&m.Response), Service: latencyOf(&m.Service),
			Lag: latencyOf(&m.Lag), OwnLag: latencyOf(&m.OwnLag),
		},
		Client:     f.use.client(m),
		Series:     append([]Point{}, f.series.points...),
		Histograms: Histograms{Response: m.Response, Service: m.Service, Lag: m.Lag},
	}
	r.Valid = len(r.Invalid) == 0
	r.Headline, r.Note = headline(e.target)
	if f.header.Embedded {
		r.Notice = EmbeddedNotice
	}
	if f.trailer.Ended == CutOff {
		r.ElapsedSeconds = max(m.End, f.total[stats.Warmup].End).Seconds()
		r.SendingSeconds = r.ElapsedSeconds
	}
	if w := &f.total[stats.Warmup]; w.Offered > 0 {
		r.Warmup = &Warmup{
			Records: f.records(w), Bytes: w.Bytes, Response: latencyOf(&w.Response), Errors: errorsOf(w),
			FirstDueSeconds: w.FirstDue.Seconds(), Histogram: w.Response,
		}
	}
	r.Partitions = f.partitions(m)
	r.Brokers, r.Batches = f.brokers(m)
	return r
}

// EmbeddedNotice stands wherever figures of the embedded broker stand.
const EmbeddedNotice = "embedded broker: these figures are kt's, not Kafka's"

func headline(target float64) (name, note string) {
	if target > 0 {
		return "response", "latency counts from the moment each record was due, so a stall is seen at full weight"
	}
	return "throughput", "the rate is unlimited, so nothing is due and latency is mostly queueing in the client; set --rate to measure latency"
}

// records accounts for the records of a phase. What had no outcome when a run
// file was cut off is unknown.
func (f *Fold) records(w *stats.Window) Records {
	r := Records{Offered: w.Offered, Acknowledged: w.Acknowledged, Failed: w.Failed, Unknown: w.Unknown, Unsent: w.Unsent}
	if f.trailer.Ended == CutOff {
		r.Offered = max(r.Offered, r.Acknowledged+r.Failed) // an outcome may be written a second before its record
		r.Unknown = r.Offered - r.Acknowledged - r.Failed
	}
	return r
}

func errorsOf(w *stats.Window) Errors {
	e := make(Errors, len(w.Errors))
	for code, n := range w.Errors {
		e[code] = n
	}
	return e
}

// spanOf is what rates are over: from when the first record was due to the last
// acknowledgement, or to when the last record was due if no acknowledgement came
// after that. So an outage at the end counts.
func spanOf(w *stats.Window) time.Duration {
	return max(0, max(w.LastAck, w.LastDue)-w.FirstDue)
}

func throughputOf(w *stats.Window, target float64) Throughput {
	t := Throughput{
		TargetRecordsPerSecond: target, Bytes: w.Bytes,
		FirstDueSeconds: w.FirstDue.Seconds(), Seconds: spanOf(w).Seconds(),
	}
	if t.Seconds > 0 {
		t.RecordsPerSecond = float64(w.Acknowledged) / t.Seconds
		t.MiBPerSecond = float64(w.Bytes) / mib / t.Seconds
	}
	// n records at equal intervals take n-1 intervals.
	if d := (w.LastSent - w.FirstDue).Seconds(); d > 0 && w.Offered > 1 {
		t.OfferedRecordsPerSecond = float64(w.Offered-1) / d
	}
	return t
}

func (f *Fold) partitions(w *stats.Window) []PartitionRow {
	seconds := spanOf(w).Seconds()
	rows := []PartitionRow{}
	for _, id := range w.PartitionIDs() {
		p := w.Partitions[id]
		row := PartitionRow{
			ID: id, Leader: -1, Records: p.Records, MiB: float64(p.Bytes) / mib,
			ServiceMeanUS: (p.ServiceSum / time.Duration(max(1, p.Records))).Microseconds(),
			ServiceMaxUS:  p.ServiceMax.Microseconds(),
		}
		if leader, ok := f.header.Environment.Topic.Leaders[id]; ok {
			row.Leader = leader
		}
		if seconds > 0 {
			row.RecordsPerSecond = float64(p.Records) / seconds
		}
		rows = append(rows, row)
	}
	return rows
}

func (f *Fold) brokers(w *stats.Window) ([]BrokerRow, Batches) {
	addrs := make(map[int32]string)
	for _, b := range f.header.Environment.Cluster.Brokers {
		addrs[b.ID] = b.Addr
	}
	rows := []BrokerRow{}
	var batches Batches
	var records, bytes, wire int64
	for _, id := range w.BrokerIDs() {
		b := w.Brokers[id]
		rows = append(rows, BrokerRow{
			ID: id, Addr: addrs[id], Requests: b.Requests, Failed: b.Failed, Records: b.Records,
			MiB: float64(b.WireBytes) / mib, Latency: latencyOf(&b.Latency), ThrottleMS: b.Throttle.Milliseconds(),
		})
		batches.Count += b.Batches
		records += b.Records
		bytes += b.Bytes
		wire += b.WireBytes
	}
	if batches.Count > 0 {
		batches.RecordsMean = float64(records) / float64(batches.Count)
		batches.BytesMean = float64(bytes) / float64(batches.Count)
	}
	if wire > 0 {
		batches.CompressionRatio = float64(bytes) / float64(wire)
	}
	return rows, batches
}
