//go:build !race

package ledger

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

// headersWorld is a load in batches without stamps, its logs and a reading, made at random. The model remembers every
// record.
type headersWorld struct {
	*world
	ids  int64     // producer ids that brokers have given away
	logs [][]Batch // by partition
	of   map[source]laneID
	at   map[source][]numbered
}

// numbered is a batch as it was sent.
type numbered struct {
	sequence int32
	first    int64
}

// writer is a lane and its identity at the brokers.
type writer struct {
	laneID
	source
	sequence int64
}

func newHeadersWorld(seed uint64, disorder bool, limit int) *headersWorld {
	w := &headersWorld{
		world: &world{rng: rand.New(rand.NewPCG(seed, 2)), disorder: disorder, limit: limit, records: make(map[recordID]*record)},
		logs:  make([][]Batch, worldPartitions), of: make(map[source]laneID), at: make(map[source][]numbered),
	}
	w.book = &Book{Run: worldRun, Topics: []BookTopic{{Name: "t", Partitions: worldPartitions}}, Start: make([]int64, worldPartitions), Acks: "all", Headers: true, Idempotent: !disorder, Retries: true}
	for number := range uint16(worldProducers) {
		p := NewProducer(number)
		p.limit = limit
		for partition := range int32(worldPartitions) {
			id := laneID{number, partition}
			w.write(p, &writer{laneID: id, source: w.newSource(id), sequence: max(0, math.MaxInt32-w.rng.Int64N(1000))})
		}
		w.book.Lanes = append(w.book.Lanes, p.Lanes(new(sync.Mutex))...)
	}
	w.mix()
	return w
}

func (w *headersWorld) newSource(id laneID) source {
	w.ids++
	s := source{1000 + w.ids/2, int16(w.ids % 2)}
	w.of[s] = id
	return s
}

// write writes the batches of one lane.
func (w *headersWorld) write(p *Producer, l *writer) {
	luck := 100
	for range w.rng.IntN(40) {
		n := 1 + w.rng.Int64N(60)
		first := p.Next(l.partition, n)
		if w.rng.IntN(4) == 0 {
			luck = w.rng.IntN(14) // fates come in runs
		}
		if luck != 0 { // it never got as far as that
			p.Originate(l.partition, Origin{ID: l.id, Epoch: l.epoch, Sequence: l.sequence, First: first})
		}
		fate, put := w.fate(luck)
		for range put {
			w.put(l, first, n, luck == 7)
		}
		for seq := first; seq < first+n; seq++ {
			w.records[recordID{l.producer, l.partition, seq}] = &record{fate: fate, written: put > 0 && luck != 7}
		}
		switch fate {
		case acknowledged:
			p.Acknowledged(l.partition, first, n, -1)
			l.sequence += n
		case failed:
			p.Failed(l.partition, first, n)
			if luck > 1 { // nobody knows what the broker has
				l.source, l.sequence = w.newSource(l.laneID), 0
			}
		case unanswered:
			return // the run is over
		}
	}
}

// fate returns what becomes of a batch, and how often it is in the log.
func (w *headersWorld) fate(luck int) (f fate, put int) {
	switch luck {
	case 0, 1, 2:
		return failed, 0
	case 3:
		return failed, 1
	case 4:
		return acknowledged, 0 // lost
	case 5:
		return unanswered, w.rng.IntN(2)
	case 6:
		return acknowledged, 1 + w.rng.IntN(2)
	}
	return acknowledged, 1
}

func (w *headersWorld) put(l *writer, first, n int64, damaged bool) {
	sequence := int32(l.sequence & math.MaxInt32)
	w.at[l.source] = append(w.at[l.source], numbered{sequence, first})
	w.logs[l.partition] = append(w.logs[l.partition], Batch{
		Records: n, Whole: true, Intact: !damaged, Epoch: 1, ProducerID: l.id, ProducerEpoch: l.epoch, Sequence: sequence, Millis: 1,
	})
}

// mix lets the lanes of a partition take turns, and others write between them.
func (w *headersWorld) mix() {
	for p, log := range w.logs {
		var queues [worldProducers][]Batch
		for _, b := range log {
			of := w.of[source{b.ProducerID, b.ProducerEpoch}].producer
			queues[of] = append(queues[of], b)
		}
		var mixed []Batch
		for len(mixed) < len(log) {
			if q := &queues[w.rng.IntN(worldProducers)]; len(*q) > 0 {
				mixed, *q = append(mixed, (*q)[0]), (*q)[1:]
			}
		}
		if n := len(mixed); w.disorder && n > 2 {
			for range n / 3 {
				i := w.rng.IntN(n - 2)
				mixed[i], mixed[i+2] = mixed[i+2], mixed[i]
			}
		}
		for range w.rng.IntN(5) {
			other := Batch{Records: 1 + w.rng.Int64N(9), Whole: true, Intact: true, Epoch: 1, ProducerID: w.rng.Int64N(3) - 1, Sequence: -1}
			mixed = slices.Insert(mixed, w.rng.IntN(len(mixed)+1), other)
		}
		next := w.book.Start[p]
		for i := range mixed {
			mixed[i].Offset = next
			next += mixed[i].Records
		}
		w.logs[p] = mixed
	}
}

// read reads the logs in parts of batches, some of them twice, and counts by the model.
func (w *headersWorld) read() *Reader {
	r := NewReader(w.book)
	r.limit = w.limit
	for p, log := range w.logs {
		r.Begin(int32(p), w.book.Start[p])
		l, next := r.Log(int32(p)), w.book.Start[p]
		highest := make(map[uint16]int64)
		for i := range log {
			b := &log[i]
			w.count(b, highest)
			for end := b.Offset + b.Records; next < end; {
				from := max(b.Offset, next-w.rng.Int64N(3))
				to := next + 1 + w.rng.Int64N(end-next)
				w.want.Redelivered += next - from
				l.Lock()
				l.AddBatch(b, from, to)
				l.Unlock()
				next = to
			}
		}
		r.ReadTo(int32(p), next, next)
	}
	return r
}

// count counts a batch by the model.
func (w *headersWorld) count(b *Batch, highest map[uint16]int64) {
	s := source{b.ProducerID, b.ProducerEpoch}
	of, ours := w.of[s]
	switch {
	case !b.Intact:
		w.want.Corrupted += b.Records
		return
	case !ours:
		w.want.Unstamped += b.Records
		return
	}
	w.want.Checked += b.Records
	i := slices.IndexFunc(w.at[s], func(n numbered) bool { return n.sequence == b.Sequence })
	for seq := w.at[s][i].first; seq < w.at[s][i].first+b.Records; seq++ {
		r := w.records[recordID{of.producer, of.partition, seq}]
		switch {
		case r.read:
			w.want.Duplicated++
		case seq < highest[of.producer]:
			w.want.Reordered++
		}
		r.read = true
		highest[of.producer] = max(highest[of.producer], seq)
	}
}

func TestHeadersAgreeWithAModelThatRemembersEveryRecord(t *testing.T) {
	wrapped := false
	for seed := range uint64(150) {
		w := newHeadersWorld(seed, seed%3 == 0, maxRanges)
		got := w.book.Verify(w.read())
		want := w.truth()
		want.Readers, want.Headers = 1, true
		addsUp(t, got)
		got.Gaps, got.GapsBeyond, got.Blame, want.RepeatsAllowed = nil, 0, nil, got.RepeatsAllowed
		if must.Match(t, want, got, "seed %d", seed); t.Failed() {
			return
		}
		for _, l := range w.book.Lanes {
			wrapped = wrapped || len(l.Origins) > 0 && l.Origins[0].Sequence+l.Issued > sequences
		}
	}
	must.True(t, wrapped, "no sequence wrapped")
}

// Where origins are forgotten, counts are minima, and nothing is called lost that is there.
func TestHeadersClaimNothingThatTheyHaveForgotten(t *testing.T) {
	forgot := false
	for seed := range uint64(150) {
		w := newHeadersWorld(seed, false, 3)
		got := w.book.Verify(w.read())
		truth := w.truth()
		addsUp(t, got)
		must.Hold(t, got.Lost <= truth.Lost && got.AcknowledgedRead <= truth.AcknowledgedRead && got.Resurrected <= truth.Resurrected && got.UnknownRead <= truth.UnknownRead, "seed %d: more than there is:\n%+v\n%+v", seed, got, truth)
		for _, l := range w.book.Lanes {
			if l.Forgotten > 0 {
				forgot = true
				must.Hold(t, got.Inexact, "seed %d: forgotten, and nothing said", seed)
			}
		}
	}
	must.True(t, forgot, "nothing was forgotten")
}

// The numbers of batches whose sequences have come round are not known if the reader did not see all of them.
func TestOfSequencesThatCameRoundOnlyAWholeLogSaysWhichWereRead(t *testing.T) {
	const n = sequences + 1000
	book := &Book{Run: 1, Start: []int64{0}, Headers: true, SameTopic: true, Lanes: []Lane{{
		Issued: n, Acknowledged: Ranges{{0, n, 0}}, LastOffset: -1, Origins: []Origin{{7, 0, 0, 0}},
	}}}
	for _, tc := range []struct {
		begin           int64
		lost, unchecked int64
	}{{0, n - 1000, 0}, {n - 1000, 0, n - 1000}} {
		r := NewReader(book)
		r.Begin(0, tc.begin)
		l := r.Log(0)
		l.Lock()
		l.AddBatch(&Batch{Offset: n - 1000, Records: 1000, Whole: true, Intact: true, ProducerID: 7, Sequence: 0}, n-1000, n)
		l.Unlock()
		r.ReadTo(0, n, n)
		v := book.Verify(r)
		must.True(t, v.Lost == tc.lost && v.Unchecked == tc.unchecked && v.AcknowledgedRead == 1000, "from %d on: %+v", tc.begin, v)
	}
}

// A batch with holes does not say which records are left. Only compaction makes some.
func TestABatchThatIsNotWholeIsCorruptedUnlessTheLogWasCompacted(t *testing.T) {
	book := &Book{Run: 1, Start: []int64{0}, Headers: true, Lanes: []Lane{{Issued: 5, Acknowledged: Ranges{{To: 5}}, LastOffset: -1, Origins: []Origin{{7, 0, 0, 0}}}}}
	r := NewReader(book)
	r.Begin(0, 0)
	l := r.Log(0)
	l.AddBatch(&Batch{Records: 3, Intact: true, ProducerID: 7}, 0, 5)
	l.AddBatch(&Batch{Offset: 5, Records: 3, Intact: true, ProducerID: 8}, 5, 10)
	r.ReadTo(0, 10, 10)
	if v := book.Verify(r); v.Corrupted != 5 || v.Unstamped != 5 || v.Checked != 0 || v.Lost != 5 {
		t.Errorf("%+v", v)
	}
	r.Unfinished(0)
	if v := book.Verify(r); v.Corrupted != 0 || v.Lost != 0 || v.Unchecked != 5 {
		t.Errorf("compacted: %+v", v)
	}
}

func TestBatchesThatANewLeaderWroteOverOthersAreRead(t *testing.T) {
	book := &Book{Run: 1, Start: []int64{0}, Headers: true, Lanes: []Lane{{Issued: 20, LastOffset: -1, Origins: []Origin{{7, 0, 0, 0}}}}}
	l := NewReader(book).Log(0)
	batch := func(offset int64, epoch, sequence int32) {
		l.AddBatch(&Batch{Offset: offset, Records: 10, Whole: true, Intact: true, Epoch: epoch, ProducerID: 7, Sequence: sequence}, offset, offset+10)
	}
	batch(0, 1, 0)
	batch(5, 1, 0) // its second half is new
	batch(10, 2, 10)
	if tips, cut := l.Tips(); !cut || len(tips) != 2 || l.counts.Rewritten != 1 || l.counts.Redelivered != 5 || l.counts.Duplicated != 5 {
		t.Errorf("tips %v, cut %t, %d rewritten, %d redelivered, %d duplicated", tips, cut, l.counts.Rewritten, l.counts.Redelivered, l.counts.Duplicated)
	}
}

func TestACopyThatIsReadBeforeItsOriginalIsFound(t *testing.T) {
	b := &Book{Headers: true, OwnValues: true, Lanes: []Lane{{Issued: 2, Acknowledged: Ranges{{To: 2}}, Origins: []Origin{{ID: 7}}}}}
	r := NewReader(b)
	values := func(yield func(int64, []byte) bool) { _ = yield(0, []byte("one")) && yield(1, []byte("two")) }
	take := func(partition int32, producer int64) {
		l := r.Log(partition)
		l.Lock()
		defer l.Unlock()
		batch := Batch{Records: 2, Whole: true, Intact: true, ProducerID: producer}
		l.AddValues(&batch, 0, values)
		l.AddBatch(&batch, 0, 2)
	}
	take(1, 8)
	take(0, 7)
	for range 2 { // it may be asked again
		if v := b.Verify(r); v.Copied != 2 || v.Duplicated != 2 || v.Unstamped != 0 || v.AcknowledgedRead != 2 || len(v.Blame) != 1 {
			t.Errorf("%+v", v)
		}
	}
	b.Lanes[0].Forgotten = 1 // a producer of the run may not be known any more
	r = NewReader(b)
	take(1, 8)
	if v := b.Verify(r); v.Copied != 0 || v.Uncompared != 2 {
		t.Errorf("%+v", v)
	}
}
