package driver

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/reading"
	"github.com/kt-bench/kt/internal/kafka/writing"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/payload"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// layout is that of the topic t.
func layout(partitions int) *kafka.Layout {
	return kafka.NewLayout([]result.Topic{{Name: "t", Partitions: partitions}})
}

// A producer has a stamper for each topic, and there may be thousands.
func TestAStamperOfOneMoreTopicIsSmall(t *testing.T) {
	s, to, all := stamping(t, 3), &writing.Target{Name: "u", First: 3, Own: []int32{0, 1, 2}}, make([]*stamper, 1000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range all {
		all[i] = s.of(s.shard, to)
	}
	runtime.ReadMemStats(&after)
	each := (after.TotalAlloc - before.TotalAlloc) / uint64(len(all))
	must.True(t, each < 2000, "%d bytes for each", each)
}

// stamping is a stamper of one producer, with batches of 1,000 bytes.
func stamping(t *testing.T, partitions int) *stamper {
	t.Helper()
	var shard *engine.Shard
	_, _ = engine.Run(t.Context(), plan.Plan{Command: plan.Produce, Producers: 1}, engine.Drivers{Send: shardTaker{shard: &shard}}, engine.Options{}) // it sends nothing
	return newStamper(&Producer{&writing.State{Plan: plan.Plan{Topic: plan.Topic{Name: "t"}}, Settings: producing(t, 0, "batch.size=1000"), Layout: layout(partitions), Partitions: partitions, Run: testRun}}, shard)
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
				s.outcomes.Settle(s.account, r.Partition, r.seq, 1, r.Offset, true)
				if r.Partition == last && tc.partitions > 1 {
					run++
				} else {
					must.Hold(t, last < 0 || run == tc.perBatch || tc.partitions <= 1,
						"partition %d had %d records in turn, want %d", last, run, tc.perBatch)
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
		kind := ledger.ReadStamp(r.Value, ledger.Around{}, &stamp)
		must.Hold(t, kind == ledger.Stamped, "record %d is %s", i, kind)
		must.Hold(t, stamp.Run == testRun && stamp.Partition == r.Partition && stamp.Seq == next[r.Partition],
			"record %d has stamp %+v, want number %d of partition %d", i, stamp, next[r.Partition], r.Partition)
		next[r.Partition]++
		s.outcomes.Settle(s.account, r.Partition, r.seq, 1, r.Offset, true)
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
			must.True(t, got == want.Partition, "key %s goes to partition %d, with %s to %d", key, got, name, want.Partition)
		}
		seen[got] = true
	}
	must.True(t, len(seen) == partitions, "%d of %d partitions have a key", len(seen), partitions)
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
		s.outcomes.Settle(s.account, r.Partition, r.seq, 1, r.Offset, true)
	}
	must.True(t, len(stuck) <= most && len(stuck) >= s.most*10, "%d records for a partition that does not answer, want about %d", len(stuck), most)
	for _, r := range stuck {
		s.outcomes.Settle(s.account, r.Partition, r.seq, 1, r.Offset, true)
	}
	counts := make([]int, 3)
	for range 300 {
		r := s.next("", 100)
		counts[r.Partition]++
		s.outcomes.Settle(s.account, r.Partition, r.seq, 1, r.Offset, true)
	}
	must.True(t, counts[1] >= 90, "%v records once it answers, want a third each", counts)
}

func TestWhenNoPartitionAnswersTheyTakeTurnsAllTheSame(t *testing.T) {
	s := stamping(t, 3)
	counts := make([]int, 3)
	for range 3000 {
		counts[s.next("", 100).Partition]++
	}
	for p, n := range counts {
		must.True(t, n >= 900 && n <= 1100, "partition %d got %d of 3000 records, want a third", p, n)
	}
}

// A failure counts as an outcome, and where the newest acknowledged record is
// counts none.
func TestOutcomesOfStampedRecords(t *testing.T) {
	d := &Producer{&writing.State{Settings: producing(t, 0, "batch.size=1000"), Layout: layout(1), Partitions: 1}}
	s := stamping(t, 1)
	s.outcomes = d.State.Open(s.account)
	for i, err := range []error{nil, kgo.ErrRecordTimeout, nil} {
		r := s.next("", 50)
		r.Offset = int64(10 - i)
		s.outcomes.Settle(s.account, r.Partition, r.seq, 1, r.Offset, err == nil)
	}
	must.Match(t, 0, s.account.Outstanding(0), "outstanding")
	must.Match(t, []int64{11}, d.Acked(), "the end of what was acknowledged")
	l := s.account.Lanes(new(sync.Mutex))[0]
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

// sharesOf are the shares of a load, for as many processes as it is divided among.
func sharesOf(t *testing.T, p plan.Plan, processes int) []plan.Plan {
	t.Helper()
	return must.Have(p.Divide(processes))(t)
}

func TestTheSharesOfALoadWriteTheRecordsOfTheWholeLoad(t *testing.T) {
	for _, tc := range []struct {
		name string
		kind plan.PayloadKind
		keys plan.KeyDistribution
	}{
		{"numbers count up over all processes", plan.Monotonic, plan.NoKeys},
		{"keys of a range take turns over all processes", plan.Letters, plan.RangeKeys},
		{"keys and values that are drawn are those of each producer", plan.Mixed, plan.RandomKeys},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := plan.Plan{Command: plan.Produce, Producers: 5, Seed: 7}
			p.Payload = plan.Payload{Kind: tc.kind, Size: plan.FixedSize(20), Keys: tc.keys, KeyRange: 1000}
			values := must.Have(payload.MakeValues(&p))(t)
			written := func(plans ...plan.Plan) (records []string) {
				for _, p := range plans {
					for i := range p.Producers {
						s := (&Producer{&writing.State{Plan: p, Values: values}}).generator(i)
						for index := range int64(20) {
							key, value := s.Fill(new(payload.Memory), index)
							records = append(records, fmt.Sprintf("%s=%x", key, value))
						}
					}
				}
				slices.Sort(records)
				return records
			}
			whole := written(p)
			must.Match(t, len(whole), len(slices.Compact(slices.Clone(whole))), "producers of one process write the same records")
			for processes := 2; processes <= p.Producers; processes++ {
				must.Match(t, whole, written(sharesOf(t, p, processes)...), "%d processes", processes)
			}
		})
	}
}

func TestNoTwoClientsOfALoadHaveTheSameName(t *testing.T) {
	c := newScene(t, 1).cluster
	for _, tc := range []struct {
		name              string
		producers, groups int
		want              []any
	}{
		{"one transactional producer has the name that was given", 1, 0, []any{"x"}},
		{"transactional producers are numbered", 4, 0, []any{"x-0", "x-1", "x-2", "x-3"}},
		{"so are the static members of a group", 0, 1, []any{"x-0", "x-1", "x-2", "x-3"}},
		{"and those of two groups", 0, 2, []any{"x-0", "x-1", "x-2", "x-3", "x-4", "x-5", "x-6", "x-7"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := plan.Plan{Command: plan.Produce, Producers: tc.producers}
			if tc.groups > 0 {
				p = plan.Plan{Command: plan.Consume, Read: plan.Read{Consumers: 4, Group: "g", Groups: tc.groups}}
			}
			for processes := 1; processes <= max(p.Producers, p.Read.Consumers); processes++ {
				var names []any
				for _, share := range sharesOf(t, p, processes) {
					for i := range share.Producers {
						names = append(names, transactionalID(t, c, share, i))
					}
					for i := range share.Read.Clients() {
						names = append(names, memberID(t, share, i))
					}
				}
				slices.SortFunc(names, func(a, b any) int { return slices.Compare([]byte(a.(string)), []byte(b.(string))) })
				must.Match(t, tc.want, names, "%d processes", processes)
			}
		})
	}
}

func transactionalID(t *testing.T, c *kafka.Cluster, p plan.Plan, index int) any {
	t.Helper()
	d := &Producer{&writing.State{Cluster: c, Plan: p, Values: &payload.Values{}, Settings: producing(t, 0, "transactional.id=x"), Layout: layout(1), Partitions: 1}}
	w := must.Have(d.Open(t.Context(), &engine.Shard{Index: index, Count: p.Producers}))(t)
	defer func() { _ = w.Close() }()
	return w.(*worker).client.OptValue(kgo.TransactionalID)
}

func memberID(t *testing.T, p plan.Plan, index int) any {
	t.Helper()
	settings := consuming(t, "group.id=g", "group.instance.id=x")
	d := NewConsumer(&reading.State{Options: reading.Options{Plan: p, Settings: settings, Layout: layout(1)}})
	r := &fetcher{driver: d, shard: &engine.Shard{Index: index}, hooks: &fetchHooks{}, group: index / p.Read.Consumers}
	client := must.Have(kgo.NewClient(r.groupOptions()...))(t)
	defer client.Close()
	return client.OptValue(kgo.InstanceID)
}

func TestWithoutAGroupEachPartitionIsOfOneConsumerOfTheLoad(t *testing.T) {
	const partitions = 13
	for processes := 1; processes <= 5; processes++ {
		readers := make([]int, partitions)
		for _, share := range sharesOf(t, plan.Plan{Command: plan.Consume, Read: plan.Read{Consumers: 5}}, processes) {
			d := NewConsumer(&reading.State{Options: reading.Options{Plan: share}})
			for number := range readers {
				if r := d.Plan.ReaderOf(int32(number)); r >= 0 && r < share.Read.Consumers {
					readers[number]++
				} else if !d.IsElsewhere(int32(number)) {
					t.Errorf("%d processes: one waits for partition %d, which it does not read", processes, number)
				}
			}
		}
		must.Match(t, slices.Repeat([]int{1}, partitions), readers, "%d processes: readers of each partition", processes)
	}
}

func TestTheProcessesOfALoadReadAGroupToItsEnd(t *testing.T) {
	for _, tc := range []struct {
		name       string
		partitions int32
		commit     plan.Commit
		work       time.Duration // of the second process, for each record
		timeout    time.Duration // 0: only the end ends it
		apart      bool          // two loads of one group
	}{
		{"they commit on their own", 3, plan.CommitAuto, 0, 0, false},
		{"they commit after each poll", 3, plan.CommitSync, 0, 0, false},
		{"one has nothing to read", 1, plan.CommitAuto, 0, 0, false},
		{"one is slower by more than the timeout of the other", 3, plan.CommitSync, 10 * time.Millisecond, 5 * time.Second, false},
		{"they are of two loads", 4, plan.CommitSync, 0, 10 * time.Second, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newScene(t, tc.partitions)
			records := 400 * int64(tc.partitions)
			if tc.work > 0 {
				records *= 3
			}
			stamped(t, s.cluster, int(tc.partitions), records)
			p := readPlan(func(p *plan.Plan) { inGroup(p); p.Read.Consumers, p.Read.Commit = 2, tc.commit })
			p.Load.Rate = plan.Rate{PerSecond: 400} // so slow that both join before all is read
			p.Read.Timeout = plan.Duration(tc.timeout)
			sums := make(chan stats.Window)
			shares := sharesOf(t, p, 2)
			if tc.apart { // each asks for its members of the group, and reads some records again
				shares = []plan.Plan{p, p}
			}
			for i, share := range shares {
				share.Read.Processing = plan.FixedWork(time.Duration(i) * tc.work)
				d := s.reader(share, nil, "auto.commit.interval.ms=600000", "heartbeat.interval.ms=50")
				go func() {
					var sum total
					end, err := engine.Run(s.Context(), share, engine.Drivers{Read: d}, engine.Options{Sources: []engine.Source{lagOf(d)}}, &sum)
					must.True(t, err == nil && end.ReadEnd == engine.ReadAll, "end %q (%v, %v), want all", end.ReadEnd, end.ReadErr, err)
					sums <- sum.w
				}()
			}
			first, second := <-sums, <-sums
			must.True(t, tc.partitions <= 1 || min(first.Consumed, second.Consumed) != 0, "one process has read all")
			if all := first.Consumed + second.Consumed; all < records || !tc.apart && (all != records || first.ConsumerLag+second.ConsumerLag != 0) {
				t.Errorf("%d and %d records, consumer lags of %d and %d; want %d, none left", first.Consumed, second.Consumed, first.ConsumerLag, second.ConsumerLag, records)
			}
		})
	}
}
