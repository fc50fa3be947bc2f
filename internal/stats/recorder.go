package stats

import (
	"time"
	"unsafe"
)

// Phases keeps the records that were due in the warm-up apart from the measured
// ones. Index it with a Phase.
type Phases [2]Window

// The two phases of a run.
const (
	Measured = iota
	Warmup
)

// PhaseOf returns the index into Phases.
func PhaseOf(warmup bool) int {
	if warmup {
		return Warmup
	}
	return Measured
}

// Recorder counts for one shard, or for several. It is not safe for concurrent use: they guard it with one
// lock. After the first values of each kind, counting a record allocates nothing.
type Recorder struct {
	// Read is true of a load that reads what it writes: a record that was not acknowledged has no end to end time either.
	Read bool

	// Row returns the key of a partition's row in Window.Partitions; nil: its number.
	Row func(partition int32) int32

	cur        *Phases
	partitions [2][]Partition // by row; folded into the window's map by Take
	brokers    [2]map[int32]*Broker
	waits      []Wait     // by row
	repeats    [2]repeats // values that came several times in a row, not yet in the histograms
}

// repeats are the last values and how often they came: records of a burst or a batch have equal times.
type repeats struct{ delay, own, service, response, endToEnd repeat }

type repeat struct {
	d time.Duration
	n int64
}

// record adds a value of n records. It is small enough to be inlined.
func (r *repeat) record(h *Histogram, d time.Duration, n int64) {
	if d == r.d {
		r.n += n
		return
	}
	r.begin(h, d, n)
}

func (r *repeat) begin(h *Histogram, d time.Duration, n int64) {
	r.end(h)
	r.d, r.n = d, n
}

func (r *repeat) end(h *Histogram) {
	if r.n > 0 {
		h.RecordN(r.d, r.n)
		r.n = 0
	}
}

// NewRecorder returns an empty recorder.
func NewRecorder() *Recorder {
	r := &Recorder{cur: new(Phases)}
	r.cur[Warmup].Warmup = true
	return r
}

// Sent counts n records handed to the client together. first and last are the due times of the first and
// the last, and delay is the time from first. With own, nothing but kt
// held them up, and the delay counts as OwnSendDelay.
//
// Here and below, all n records count with the time since the first was due. So no latency is too low, and
// none too high by more than the time from first to last.
func (r *Recorder) Sent(phase int, n int64, first, last, delay time.Duration, own bool) {
	w := &r.cur[phase]
	if w.Offered == 0 || first < w.FirstDue {
		w.FirstDue = first
	}
	w.LastDue, w.LastSent = max(w.LastDue, last), max(w.LastSent, first+delay)
	w.Offered += n
	w.OpSpan = max(w.OpSpan, last-first)
	repeats := &r.repeats[phase]
	if own {
		repeats.own.record(&w.OwnSendDelay, delay, n) // Take adds them to SendDelay, all at once
		return
	}
	repeats.delay.record(&w.SendDelay, delay, n)
}

// Acknowledged counts n records that the broker took, of so many bytes together. at is
// the time since the start of the run.
func (r *Recorder) Acknowledged(phase int, n int64, partition int32, bytes int, service, response, at time.Duration) {
	w := &r.cur[phase]
	w.Acknowledged += n
	w.Bytes += int64(bytes)
	w.LastAck = max(w.LastAck, at)
	repeats := &r.repeats[phase]
	repeats.service.record(&w.Service, service, n)
	repeats.response.record(&w.Response, response, n)
	if partition < 0 {
		return
	}
	partition = r.row(partition)
	p := r.partition(phase, partition)
	if w := r.wait(partition); at > w.answered { // once an answer, whose first record waited longest
		p.Outage = p.Outage.Longer(w.Acknowledged(at-service, at))
	}
	p.Records += n
	p.Bytes += int64(bytes)
	p.ServiceSum += service * time.Duration(n)
	p.ServiceMax = max(p.ServiceMax, service)
	p.Service.record(service, n)
}

func (r *Recorder) row(partition int32) int32 {
	if r.Row == nil {
		return partition
	}
	return r.Row(partition)
}

func (r *Recorder) partition(phase int, id int32) *Partition {
	if int(id) >= len(r.partitions[phase]) {
		r.partitions[phase] = append(r.partitions[phase], make([]Partition, int(id)+1-len(r.partitions[phase]))...)
	}
	return &r.partitions[phase][id]
}

func (r *Recorder) wait(partition int32) *Wait {
	if int(partition) >= len(r.waits) {
		r.waits = append(r.waits, make([]Wait, int(partition)+1-len(r.waits))...)
	}
	return &r.waits[partition]
}

// FailedIn notes the partition of a record that failed, or was given up.
func (r *Recorder) FailedIn(phase int, partition int32, sent, at time.Duration) {
	partition = r.row(partition)
	p := r.partition(phase, partition)
	p.Outage = p.Outage.Longer(r.wait(partition).Failed(sent, at))
}

// unserved ranks n records above all that were served: a time until they failed would say nothing of the system's.
func (r *Recorder) unserved(w *Window, n int64) {
	w.Response.RecordNever(n)
	if r.Read {
		w.EndToEnd.RecordNever(n)
	}
}

// Failed counts n records that were given up, by error code.
func (r *Recorder) Failed(phase int, n int64, code string) {
	w := &r.cur[phase]
	w.Failed += n
	made(&w.Errors)[code] += n
	r.unserved(w, n)
}

// Unknown counts n records that were sent and not answered by the end.
func (r *Recorder) Unknown(phase int, n int64) {
	w := &r.cur[phase]
	w.Unknown += n
	r.unserved(w, n)
}

// Unsent counts one record that was due and never handed to the client.
func (r *Recorder) Unsent(phase int, due time.Duration) {
	w := &r.cur[phase]
	w.Unsent++
	w.LastDue = max(w.LastDue, due)
	r.unserved(w, 1)
}

// Window returns the window of a phase, for the caller to count in what is not of records.
func (r *Recorder) Window(phase int) *Window { return &r.cur[phase] }

// Broker returns the counts of a broker, for the caller to count in.
func (r *Recorder) Broker(phase int, id int32) *Broker {
	b := r.brokers[phase][id]
	if b == nil {
		b = new(Broker)
		made(&r.brokers[phase])[id] = b
	}
	return b
}

// Request counts a request; one that failed ended without an answer.
func (t *Traffic) Request(latency time.Duration, failed bool) {
	t.Requests++
	if failed {
		t.Failed++
		return
	}
	t.Latency.Record(latency)
}

// Batch counts a record batch: its records, and its bytes before and after compression.
func (t *Traffic) Batch(records, bytes, wireBytes int) {
	t.Batches++
	t.Records += int64(records)
	t.Bytes += int64(bytes)
	t.WireBytes += int64(wireBytes)
}

// made returns a map, which it makes if there is none.
func made[K comparable, V any](m *map[K]V) map[K]V {
	if *m == nil {
		*m = make(map[K]V)
	}
	return *m
}

// Take returns the windows that were recorded from start to end, and goes on with fresh. fresh must be
// empty: the windows of an earlier Take, after Reset.
func (r *Recorder) Take(fresh *Phases, start, end time.Duration) *Phases {
	taken := r.cur
	fresh[Warmup].Warmup = true
	r.cur = fresh
	for i := range taken {
		w := &taken[i]
		w.Start, w.End = start, end
		repeats := &r.repeats[i]
		repeats.delay.end(&w.SendDelay)
		repeats.own.end(&w.OwnSendDelay)
		w.SendDelay.add(&w.OwnSendDelay)
		repeats.service.end(&w.Service)
		repeats.response.end(&w.Response)
		repeats.endToEnd.end(&w.EndToEnd)
		for id := range r.partitions[i] {
			p := &r.partitions[i][id]
			if *p != (Partition{}) {
				made(&w.Partitions)[int32(id)] = *p
				*p = Partition{}
			}
		}
		for id, b := range r.brokers[i] {
			made(&w.Brokers)[id] = *b
		}
		clear(r.brokers[i])
	}
	return taken
}

// Reset empties both windows for another Take, and keeps the memory of their histograms.
func (p *Phases) Reset() {
	for i := range p {
		kept := p[i]
		p[i] = Window{}
		for _, f := range windowFields {
			if f.kind == histogram {
				h := at[Histogram](unsafe.Pointer(&kept), &f)
				h.reset()
				*at[Histogram](unsafe.Pointer(&p[i]), &f) = *h
			}
		}
	}
}
