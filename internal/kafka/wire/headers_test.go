package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/format"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// verified makes a plan account for its records by the headers of batches.
func verified(p *plan.Plan) { p.Verify = true }

// book is the ledger of what a producer wrote, as it is read back from its file.
func (s *scene) book(d *Producer) *ledger.Book {
	s.Helper()
	path := s.TempDir() + "/ledger"
	b := &ledger.Book{
		Run: 42, Topics: []ledger.BookTopic{{Name: "t", Partitions: s.partitions}}, SameTopic: true, Start: make([]int64, s.partitions), Headers: true, Idempotent: true, Acks: "all", Retries: true,
		Lanes: d.Lanes(),
	}
	must.Do(s, must.Have(ledger.Create(path, false))(s).End(b))
	return b
}

// verdict reads the topic to its end with the wire engine, and compares.
func (s *readScene) verdict(b *ledger.Book, properties ...string) (ledger.Verdict, stats.Window) {
	s.Helper()
	d := NewConsumer(s.state(readPlan(nil), b, properties...))
	w, _ := s.run(d.Plan, d)
	readers := must.Have(d.Readers(s.Context()))(s)
	return b.Verify(readers...), w
}

// sound wants every acknowledged record read once, and nothing else.
func sound(t *testing.T, v ledger.Verdict, acknowledged int64) {
	t.Helper()
	want := ledger.Verdict{
		Readers: 1, Headers: true, Issued: v.Issued, Acknowledged: acknowledged, Failed: v.Failed, Checked: acknowledged + v.Resurrected,
		AcknowledgedRead: acknowledged, Resurrected: v.Resurrected, ReadAgain: v.ReadAgain,
	}
	v.Gaps, v.Blame = nil, nil
	must.True(t, equal(v, want), "verdict %+v, want %+v", v, want)
}

func equal(a, b ledger.Verdict) bool {
	return a.Gaps == nil && b.Gaps == nil && a.Blame == nil && b.Blame == nil &&
		slices.Equal([]any{a.Readers, a.Headers, a.Issued, a.Acknowledged, a.Failed, a.Unknown, a.Checked, a.AcknowledgedRead, a.Lost, a.Unchecked, a.Unconfirmed, a.Undecided, a.Aborted, a.Resurrected, a.UnknownRead, a.Unissued, a.Duplicated, a.Reordered, a.Corrupted, a.Unstamped, a.Foreign, a.Redelivered, a.Inexact},
			[]any{b.Readers, b.Headers, b.Issued, b.Acknowledged, b.Failed, b.Unknown, b.Checked, b.AcknowledgedRead, b.Lost, b.Unchecked, b.Unconfirmed, b.Undecided, b.Aborted, b.Resurrected, b.UnknownRead, b.Unissued, b.Duplicated, b.Reordered, b.Corrupted, b.Unstamped, b.Foreign, b.Redelivered, b.Inexact})
}

// What the brokers have is known of every record, whatever went wrong while it was sent.
func TestHeadersTellWhatBecameOfRecordsAfterFaults(t *testing.T) {
	for _, f := range []fault{
		{name: "the leader has moved", answer: kerr.NotLeaderForPartition},
		{name: "no answer in time, and taken", answer: kerr.RequestTimedOut, taken: true},
		{name: "a connection that ends", cut: true},
		{name: "a connection that ends after the batch was taken", cut: true, taken: true},
		{name: "too large", answer: kerr.MessageTooLarge},
		{name: "out of order", answer: kerr.OutOfOrderSequenceNumber, renewed: true},
		{name: "out of order, and taken", answer: kerr.OutOfOrderSequenceNumber, taken: true, renewed: true},
	} {
		t.Run(f.name, func(t *testing.T) {
			s := newReadScene(t, 2)
			refused := s.inject(f, 5)
			d, w := s.send(3000, verified, "batch.size=2000", "retry.backoff.ms=1", "retry.backoff.max.ms=1")
			if refused.Load() != 5 || w.Acknowledged+w.Failed != 3000 || renewed(&w) != f.renewed {
				t.Fatalf("%d faults, %d acknowledged, %d failed: %v, events %v", refused.Load(), w.Acknowledged, w.Failed, w.Errors, w.Events)
			}
			v, _ := s.verdict(s.book(d))
			sound(t, v, w.Acknowledged)
			must.Match(t, f.renewed && f.taken, v.Resurrected > 0, "%d of %d failed records were read", v.Resurrected, v.Failed)
		})
	}
}

// A new leader may hold a batch that was given up. It must not take the next one for that batch.
func TestABatchThatIsGivenUpAfterItWasTakenRenewsTheProducer(t *testing.T) {
	for _, answer := range []*kerr.Error{
		kerr.NotLeaderForPartition, kerr.KafkaStorageError, kerr.UnknownTopicOrPartition, kerr.NotEnoughReplicasAfterAppend, kerr.RequestTimedOut,
	} {
		t.Run(answer.Message, func(t *testing.T) {
			s := newReadScene(t, 1)
			s.inject(fault{answer: answer, taken: true}, 3)
			d := s.producer(3000, verified, "batch.size=2000")
			w := s.runWith(d, prepared{d, func(w *worker) { w.retries = 0 }})
			if w.Failed == 0 || w.Errors[answer.Message] != w.Failed || w.Acknowledged+w.Failed != 3000 || !renewed(&w) {
				t.Fatalf("%d acknowledged, %d failed: %v, events %v", w.Acknowledged, w.Failed, w.Errors, w.Events)
			}
			v, _ := s.verdict(s.book(d))
			if sound(t, v, w.Acknowledged); v.Resurrected != w.Failed {
				t.Errorf("%d of %d failed records were read", v.Resurrected, v.Failed)
			}
		})
	}
}

// batches returns the batches of an answer.
func batches(t *testing.T, b []byte) (all []format.Batch) {
	t.Helper()
	for len(b) > 0 {
		var first format.Batch
		var err error
		first, b, _, err = format.Cut(b)
		must.Hold(t, err == nil, "%v", err)
		if first == nil {
			break
		}
		all = append(all, slices.Clone(first))
	}
	return all
}

// tamper lets brokers answer fetches with other batches than those in the log.
func (s *readScene) tamper(f func(all []format.Batch) []format.Batch) {
	var inside atomic.Bool
	beside := must.Have(s.cluster.Client())(s)
	s.Cleanup(beside.Close)
	s.fake.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		s.fake.KeepControl()
		if inside.Load() {
			return nil, nil, false
		}
		node := s.fake.CurrentNode()
		inside.Store(true)
		defer inside.Store(false)
		answers := make(chan kmsg.Response, 1)
		s.fake.SleepControl(func() {
			got, err := beside.Broker(int(node)).Request(s.Context(), r)
			if err == nil {
				answers <- got
			} else if s.Context().Err() == nil {
				s.Error(err)
			}
		})
		var resp *kmsg.FetchResponse
		select {
		case got := <-answers:
			resp = got.(*kmsg.FetchResponse)
		default: // an error, or the cluster is being closed
			return nil, errors.New("no answer"), true
		}
		for i := range resp.Topics {
			for j := range resp.Topics[i].Partitions {
				p := &resp.Topics[i].Partitions[j]
				var raw [][]byte
				for _, b := range f(batches(s.T, p.RecordBatches)) {
					raw = append(raw, b)
				}
				p.RecordBatches = bytes.Join(raw, nil)
			}
		}
		return resp, nil, true
	})
}

func TestHeadersTellWhatIsWrongWithALog(t *testing.T) {
	for _, tc := range []struct {
		name   string
		tamper func(all []format.Batch) []format.Batch
		want   func(v *ledger.Verdict) int64
	}{
		{"a batch is not there", func(all []format.Batch) []format.Batch {
			return slices.DeleteFunc(all, func(b format.Batch) bool { return b.Base() == 0 })
		}, func(v *ledger.Verdict) int64 { return v.Lost }},
		{"a flipped bit", func(all []format.Batch) []format.Batch {
			for _, b := range all {
				if b.Base() == 0 {
					b[len(b)-3] ^= 1
				}
			}
			return all
		}, func(v *ledger.Verdict) int64 { return min(v.Lost, v.Corrupted) }},
		{"a batch twice", func(all []format.Batch) []format.Batch {
			if len(all) > 1 && all[0].Base() == 0 {
				second := all[1]
				all[1] = slices.Clone(all[0])
				binary.BigEndian.PutUint64(all[1], uint64(second.Base()))
			}
			return all
		}, func(v *ledger.Verdict) int64 { return min(v.Lost, v.Duplicated) }},
		{"a batch of another producer", func(all []format.Batch) []format.Batch {
			for i, b := range all {
				if b.Next() == 2500 {
					binary.BigEndian.PutUint64(b[format.AtProducer:], 1<<40)
					all[i] = seal(b)
				}
			}
			return all
		}, func(v *ledger.Verdict) int64 { return min(v.Lost, v.Unstamped) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newReadScene(t, 1)
			d, w := s.send(2500, verified, "batch.size=4000")
			b := s.book(d)
			s.tamper(tc.tamper)
			v, _ := s.verdict(b)
			if w.Acknowledged != 2500 || v.AcknowledgedRead+v.Lost != 2500 || v.Lost == 0 || v.Lost > 50 || tc.want(&v) != v.Lost || v.Unchecked+v.Undecided > 0 {
				t.Errorf("verdict %+v", v)
			}
		})
	}
}

// Two batches side by side are damaged, and so is the last one.
func TestDamagedBatchesInARowHideNoOther(t *testing.T) {
	s := newReadScene(t, 1)
	d, _ := s.send(2500, verified, "batch.size=4000")
	b := s.book(d)
	damaged := make(map[int64]int64)
	s.tamper(func(all []format.Batch) []format.Batch {
		for _, b := range all {
			if b.Base() > 500 && b.Base() < 800 || b.Next() == 2500 {
				damaged[b.Base()] = int64(b.Count())
				binary.BigEndian.PutUint32(b[format.AtLastDelta:], 700)
			}
		}
		return all
	})
	v, _ := s.verdict(b, "max.partition.fetch.bytes=5000")
	lost := int64(0)
	for _, n := range damaged {
		lost += n
	}
	must.True(t, len(damaged) >= 3 && v.Lost == lost && v.Corrupted == lost && v.AcknowledgedRead == 2500-lost,
		"%d records are damaged: verdict %+v", lost, v)
}

// After an unclean election the log holds other batches at the offsets that were read.
func TestALogThatWasCutOffIsReadAgainByItsHeaders(t *testing.T) {
	s := newReadScene(t, 2)
	d, w := s.send(3000, verified, "batch.size=4000")
	b := s.book(d)
	state := s.state(readPlan(nil), b)
	consumer := NewConsumer(state)
	s.run(state.Plan, consumer)
	state.Books[0].Log(1).Cut()
	readers := must.Have(consumer.Readers(t.Context()))(t)
	v := b.Verify(readers...)
	if sound(t, v, w.Acknowledged); v.ReadAgain != 1 {
		t.Errorf("%d partitions were read again, want 1", v.ReadAgain)
	}
}

// A log whose first records were deleted says nothing of those.
func TestDeletedBatchesAreUncheckedByHeaders(t *testing.T) {
	s := newReadScene(t, 1)
	d, _ := s.send(3000, verified, "batch.size=4000")
	b := s.book(d)
	must.Do(t, s.fake.DeleteRecords("t", 0, 1234)) // within a batch
	v, _ := s.verdict(b)
	must.Match(t, []int64{3000 - 1234, 1234, 0}, []int64{v.AcknowledgedRead, v.Unchecked, v.Lost}, "verdict %+v", v)
}

// The same seed makes the same values only in runs that nobody verifies.
func TestAVerifiedLoadHasValuesOfItsOwn(t *testing.T) {
	s := newReadScene(t, 1)
	first := func(change func(*plan.Plan)) string {
		return string(s.producer(10, change, "batch.size=4000").pool.batch(0, 10).records)
	}
	a, b := first(nil), first(verified)
	must.True(t, a != b && a == first(nil), "values depend on the seed alone")
}
