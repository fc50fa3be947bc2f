package driver

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

// stamping is a stamper of one producer, with batches of 1,000 bytes.
func stamping(t *testing.T, partitions int) *stamper {
	t.Helper()
	var shard *engine.Shard
	_, _ = engine.Run(t.Context(), plan.Plan{Command: plan.Produce, Producers: 1}, engine.Drivers{Send: shardTaker{shard: &shard}}, engine.Options{}) // it sends nothing
	d := &Producer{Plan: plan.Plan{Topic: plan.Topic{Name: "t"}}, Settings: producing(t, 0, "batch.size=1000"), Partitions: partitions, Run: testRun}
	return newStamper(d, shard)
}

// shardTaker is a driver that takes the shard of a run and leaves.
type shardTaker struct {
	engine.Driver
	shard **engine.Shard
}

func (d shardTaker) Open(_ context.Context, s *engine.Shard) (engine.Worker, error) {
	*d.shard = s
	return nil, errors.New("no load is wanted")
}

// next stamps a record and returns it.
func (t *stamper) next(key string, size int) *record {
	r := &record{}
	r.Value = make([]byte, size)
	if key != "" {
		r.Key = []byte(key)
	}
	r.Partition = t.choose(r.Key, size)
	r.seq, r.Timestamp = t.put(r.Value, r.Key, r.Partition, &engine.Op{})
	return r
}

// As Java's client does it, and franz-go where it is told to: so many bytes for one
// partition, then for another, and none gets more than its share.
func TestPartitionsTakeTurnsABatchEach(t *testing.T) {
	for _, tc := range []struct{ partitions, size, perBatch int }{
		{1, 100, 10},
		{3, 100, 10},
		{7, 300, 3},
		{7, 999, 1},
		{5, 5000, 1}, // larger than a batch
	} {
		t.Run(fmt.Sprintf("%d partitions, %d bytes", tc.partitions, tc.size), func(t *testing.T) {
			s := stamping(t, tc.partitions)
			counts := make([]int, tc.partitions)
			last, run := int32(-1), 0
			rounds := 100
			for range rounds * tc.partitions * tc.perBatch {
				r := s.next("", tc.size)
				counts[r.Partition]++
				s.settle(r.Partition, r.seq, r.Offset, nil)
				if r.Partition == last && tc.partitions > 1 {
					run++
				} else {
					if last >= 0 && run != tc.perBatch && tc.partitions > 1 {
						t.Fatalf("partition %d had %d records in turn, want %d", last, run, tc.perBatch)
					}
					last, run = r.Partition, 1
				}
			}
			for p, n := range counts {
				must.Match(t, rounds*tc.perBatch, n, "records of partition %d", p)
			}
		})
	}
}

func TestStampsNumberTheRecordsOfEachPartition(t *testing.T) {
	s := stamping(t, 3)
	next := make([]int64, 3)
	for i := range 1000 {
		r := s.next("", 50+i%300)
		var stamp ledger.Stamp
		if kind := ledger.ReadStamp(r.Value, ledger.Around{}, &stamp); kind != ledger.Stamped {
			t.Fatalf("record %d is %s", i, kind)
		}
		if stamp.Run != testRun || stamp.Partition != r.Partition || stamp.Seq != next[r.Partition] {
			t.Fatalf("record %d has stamp %+v, want number %d of partition %d", i, stamp, next[r.Partition], r.Partition)
		}
		next[r.Partition]++
		s.settle(r.Partition, r.seq, r.Offset, nil)
	}
}

// A key's records go where franz-go's client would put them that is told nothing.
func TestAKeyDecidesThePartitionAsItDoesInTheClient(t *testing.T) {
	const partitions = 7
	cluster := newScene(t, partitions)
	client := cluster.client(kgo.DefaultProduceTopic("t"))
	plain := cluster.client(append(producing(t, 0).Options(), kgo.DefaultProduceTopic("t"))...)
	s := stamping(t, partitions)
	seen := make(map[int32]bool)
	for i := range 100 {
		key := strconv.Itoa(i)
		got := s.next(key, 50).Partition
		for name, c := range map[string]*kgo.Client{"franz-go": client, "kt without stamps": plain} {
			want := must.Have(c.ProduceSync(t.Context(), &kgo.Record{Key: []byte(key)}).First())(t)
			if got != want.Partition {
				t.Errorf("key %s goes to partition %d, with %s to %d", key, got, name, want.Partition)
			}
		}
		seen[got] = true
	}
	if len(seen) != partitions {
		t.Errorf("%d of %d partitions have a key", len(seen), partitions)
	}
}

func TestAPartitionWithTooMuchOutstandingIsPassedOver(t *testing.T) {
	s := stamping(t, 3)
	var stuck []*record
	most := (s.most + 1) * 10 // what may be outstanding, and the batch whose turn it was
	for range 1000 {
		r := s.next("", 100)
		if r.Partition == 1 {
			stuck = append(stuck, r) // nobody answers
			continue
		}
		s.settle(r.Partition, r.seq, r.Offset, nil)
	}
	if len(stuck) > most || len(stuck) < s.most*10 {
		t.Errorf("%d records for a partition that does not answer, want about %d", len(stuck), most)
	}
	for _, r := range stuck {
		s.settle(r.Partition, r.seq, r.Offset, nil)
	}
	counts := make([]int, 3)
	for range 300 {
		r := s.next("", 100)
		counts[r.Partition]++
		s.settle(r.Partition, r.seq, r.Offset, nil)
	}
	if counts[1] < 90 {
		t.Errorf("%v records once it answers, want a third each", counts)
	}
}

func TestWhenNoPartitionAnswersTheyTakeTurnsAllTheSame(t *testing.T) {
	s := stamping(t, 3)
	counts := make([]int, 3)
	for range 3000 {
		counts[s.next("", 100).Partition]++
	}
	for p, n := range counts {
		if n < 900 || n > 1100 {
			t.Errorf("partition %d got %d of 3000 records, want a third", p, n)
		}
	}
}

// A failure counts as an outcome, and where the newest acknowledged record is
// counts none.
func TestOutcomesOfStampedRecords(t *testing.T) {
	s := stamping(t, 1)
	for i, err := range []error{nil, kgo.ErrRecordTimeout, nil} {
		r := s.next("", 50)
		r.Offset = int64(10 - i)
		s.settle(r.Partition, r.seq, r.Offset, err)
	}
	must.Match(t, 0, s.account.Outstanding(0), "outstanding")
	must.Match(t, 11, s.acked[0].Load(), "the end of what was acknowledged")
	l := s.account.Lanes()[0]
	must.Match(t, []int64{3, 2, 1, 10}, []int64{l.Issued, l.Acknowledged.Count(), l.Failed.Count(), l.LastOffset}, "lane %+v", l)
}

func TestALeaderThatDoesNotAnswerDoesNotStopTheOthers(t *testing.T) {
	s := newScene(t, 3)
	for p := range int32(3) {
		must.Do(t, s.fake.MoveTopicPartition("t", p, p))
	}
	s.fake.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		if s.fake.CurrentNode() != 1 {
			return nil, nil, false
		}
		s.fake.KeepControl()
		return nil, nil, true // never
	})
	// The partition is passed over while more than 70 records of it are outstanding, so
	// it has 80 at most: a batch more. Of room for 160 the others have less than twice 55
	// then, and so one of them its turn, also when 15 of its outcomes are not noted yet.
	const most = 80
	d := s.sender(2000, "batch.size=1000")
	status := new(engine.Status)
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	go func() {
		look := time.NewTicker(10 * time.Millisecond)
		defer look.Stop()
		for ctx.Err() == nil {
			<-look.C
			if engine.Stage(status.Stage.Load()) != engine.Draining {
				continue // producers may not be open yet
			}
			if acked := d.Acked(); acked[0]+acked[2] >= 2000-most {
				giveUp()
			}
		}
	}()
	var sum total
	end, err := engine.Run(ctx, d.Plan, engine.Drivers{Send: d}, engine.Options{BufferRecords: 160, DrainTimeout: 10 * time.Second, Status: status}, &sum)
	if w := &sum.w; err != nil || !end.TimedOut || w.Offered != 2000 || w.Acknowledged < 2000-most {
		t.Errorf("%d of %d acknowledged, want all but %d; %v, %v", w.Acknowledged, w.Offered, most, w.Errors, err)
	}
}
