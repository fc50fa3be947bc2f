package driver

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// inPolls makes a reader poll many times.
var inPolls = plan.Rate{PerSecond: 5000}

func inGroup(p *plan.Plan) { p.Read.Group = "g" }

func TestAGroupGoesOnWhenItsCoordinatorRefusesForAWhile(t *testing.T) {
	for _, tc := range []struct {
		key  kmsg.Key
		code *kerr.Error
	}{
		{kmsg.FindCoordinator, kerr.CoordinatorNotAvailable},
		{kmsg.JoinGroup, kerr.CoordinatorLoadInProgress},
		{kmsg.JoinGroup, kerr.NotCoordinator},
		{kmsg.SyncGroup, kerr.RebalanceInProgress},
		{kmsg.SyncGroup, kerr.NotCoordinator},
		{kmsg.OffsetFetch, kerr.CoordinatorLoadInProgress},
		{kmsg.OffsetFetch, kerr.NotCoordinator},
		{kmsg.OffsetCommit, kerr.NotCoordinator},
		{kmsg.OffsetCommit, kerr.CoordinatorLoadInProgress},
	} {
		t.Run(fmt.Sprint(tc.key.Name(), " ", tc.code.Message), func(t *testing.T) {
			s := newScene(t, 3)
			b := stamped(t, s.cluster, 3, 2000)
			faults := s.fake.Fault(kfake.Fault{Keys: []kmsg.Key{tc.key}, Group: "g", Err: tc.code, Count: 2})
			w, end, v := s.read(readPlan(func(p *plan.Plan) { inGroup(p); p.Read.Commit = plan.CommitSync }), b)
			must.True(t, end.ReadEnd == engine.ReadAll && w.Consumed == 2000,
				"%d records, end %q (%v), want 2000 and all; %v", w.Consumed, end.ReadEnd, end.ReadErr, w.FetchErrors)
			must.True(t, faults.Hits() != 0, "no request was refused")
			s.whole(v, 2000)
		})
	}
}

func TestAGroupThatMayNotBeReadEndsReading(t *testing.T) {
	s := newScene(t, 1)
	stamped(t, s.cluster, 1, 10)
	s.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.JoinGroup}, Group: "g", Err: kerr.GroupAuthorizationFailed, Count: -1})
	_, end, _ := s.read(readPlan(inGroup), nil)
	must.True(t, end.ReadEnd == engine.ReadFailed && end.ReadErr != nil, "end %q (%v), want a failure", end.ReadEnd, end.ReadErr)
}

func TestACommitThatFailsIsCounted(t *testing.T) {
	for _, how := range []plan.Commit{plan.CommitSync, plan.CommitAsync} {
		t.Run(string(how), func(t *testing.T) {
			s := newScene(t, 1)
			stamped(t, s.cluster, 1, 1000)
			s.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Group: "g", Err: kerr.OffsetMetadataTooLarge, Count: -1})
			w, end, _ := s.read(readPlan(func(p *plan.Plan) { inGroup(p); p.Read.Commit, p.Load.Rate = how, inPolls }), nil)
			must.True(t, end.ReadEnd == engine.ReadAll && w.Consumed == 1000, "%d records, end %q, want 1000 and all", w.Consumed, end.ReadEnd)
			must.True(t, w.Commits == 0 && w.FetchErrors["commit:OFFSET_METADATA_TOO_LARGE"] != 0,
				"%d commits, errors %v, want the failed commits counted", w.Commits, w.FetchErrors)
		})
	}
}

func TestASecondRunOfAGroupGoesOnWhereTheFirstStopped(t *testing.T) {
	for _, tc := range []struct {
		how    plan.Commit
		second int64
	}{
		{plan.CommitNone, 3000},
		{plan.CommitAuto, 2000},
		{plan.CommitSync, 2000},
		{plan.CommitAsync, 2000},
	} {
		t.Run(string(tc.how), func(t *testing.T) {
			s := newScene(t, 3)
			b := stamped(t, s.cluster, 3, 3000)
			w, _, _ := s.read(readPlan(func(p *plan.Plan) {
				inGroup(p)
				p.Read.Commit, p.Load.Records, p.Read.ToEnd, p.Load.Rate = tc.how, 1000, false, inPolls
			}), nil)
			must.True(t, w.Consumed == 1000 && (w.Commits > 0) == (tc.how == plan.CommitSync || tc.how == plan.CommitAsync),
				"the first run: %d records and %d commits", w.Consumed, w.Commits)
			w, end, v := s.read(readPlan(func(p *plan.Plan) { inGroup(p); p.Read.Commit = tc.how }), b)
			must.True(t, w.Consumed == tc.second && end.ReadEnd == engine.ReadAll,
				"the second run: %d records, end %q, want %d and all", w.Consumed, end.ReadEnd, tc.second)
			must.Match(t, []int64{0, tc.second, 3000 - tc.second}, []int64{v.Lost, v.AcknowledgedRead, v.Unchecked}, "verdict %+v", v)
		})
	}
}

// A member of another process takes partitions, and gives them back.
func TestAMemberThatComesAndGoes(t *testing.T) {
	for _, tc := range []struct {
		name     string
		protocol string
		reads    int // records that the other member reads, and commits
		balancer kgo.GroupBalancer
	}{
		{"and reads nothing, cooperative", "classic", 0, kgo.CooperativeStickyBalancer()},
		{"and reads nothing, the newer protocol", "consumer", 0, nil},
		{"and reads and commits", "classic", 100, kgo.CooperativeStickyBalancer()},
		{"and reads and commits, the newer protocol", "consumer", 100, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newScene(t, 4)
			b := stamped(t, s.cluster, 4, 4000)
			properties := []string{"group.protocol=" + tc.protocol}
			opts := []kgo.Opt{kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.DisableAutoCommit(), kgo.FetchMaxPartitionBytes(2000)}
			if tc.balancer != nil {
				properties = append(properties, "heartbeat.interval.ms=50", "partition.assignment.strategy=org.apache.kafka.clients.consumer.CooperativeStickyAssignor")
				opts = append(opts, kgo.Balancers(tc.balancer), kgo.HeartbeatInterval(50*time.Millisecond))
			} else {
				opts = append(opts, kgo.ServerSideBalancer())
			}
			var elsewhere int64
			gone := make(chan struct{})
			s.nth(kmsg.Fetch, 1, func() {
				elsewhere = int64(s.visit(opts, tc.reads))
				close(gone)
			})
			d := &between{Consumer: s.reader(readPlan(func(p *plan.Plan) {
				inGroup(p)
				p.Read.Commit, p.Read.Timeout = plan.CommitSync, plan.Duration(time.Minute)
			}), b, properties...)}
			d.read = untilBack(d, gone)
			w, end, v := s.readWith(d, d.Consumer, b, engine.Options{})
			if end.ReadEnd != engine.ReadAll || w.Consumed-v.Redelivered+elsewhere != 4000 {
				t.Errorf("%d records here, %d of them again, and %d elsewhere, end %q; want 4000 and all; %v", w.Consumed, v.Redelivered, elsewhere, end.ReadEnd, w.FetchErrors)
			}
			must.True(t, w.Rebalances != 0, "no rebalance was counted")
			must.True(t, v.Lost+v.Duplicated+v.Reordered == 0 && v.AcknowledgedRead+v.Unchecked == 4000 && v.Unchecked >= elsewhere,
				"verdict %+v, want nothing wrong, and %d unchecked", v, elsewhere)
		})
	}
}

// untilBack reads 500 records, and the rest when the visitor is gone and all partitions
// are back.
func untilBack(d *between, gone <-chan struct{}) func(context.Context, int, time.Duration) (int, error) {
	left, back := 500, false
	return func(ctx context.Context, limit int, patience time.Duration) (int, error) {
		select {
		case <-gone:
			back = back || d.At.Groups[0].Owned() == d.Layout.Count()
		default:
		}
		switch {
		case back:
			return d.reader.Read(ctx, limit, patience)
		case left == 0:
			<-time.After(5 * time.Millisecond)
			return 0, nil
		}
		n, err := d.reader.Read(ctx, min(left, limit), patience)
		left -= n
		return n, err
	}
}

// visit joins the group, reads and commits so many records, or waits until it could
// have, and leaves. It returns how many it read.
func (s *scene) visit(opts []kgo.Opt, reads int) int {
	has := make(chan struct{}, 100)
	client, err := s.cluster.Client(append(opts,
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
			if len(partitions) > 0 {
				has <- struct{}{}
			}
		}))...)
	if err != nil {
		s.Error(err)
		return 0
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute) // a busy machine needs seconds
	defer cancel()
	select {
	case <-has:
	case <-ctx.Done():
		s.Error("the visitor got no partitions")
		return 0
	}
	n := 0
	for n < reads && ctx.Err() == nil {
		records := client.PollRecords(ctx, reads-n).Records()
		n += len(records)
		if err := client.CommitRecords(ctx, records...); err != nil {
			s.Error(err)
		}
	}
	return n
}

// Who takes a partition over begins after the records that were polled here, so they
// must have been counted by then.
func TestAPartitionIsHandedOnWhenItsRecordsAreCounted(t *testing.T) {
	s := newScene(t, 4)
	b := stamped(t, s.cluster, 4, 4000)
	p := readPlan(func(p *plan.Plan) {
		inGroup(p)
		p.Read.Commit = plan.CommitSync
	})
	d := s.reader(p, b, "group.protocol=consumer")
	check := func(context.Context, *kgo.Client, map[string][]int32) {
		committed, err := d.Cluster.CommittedOffsets(t.Context(), d.Layout, "g")
		must.True(t, err == nil, "%v", err)
		for number, offset := range committed {
			counted := d.At.Groups[0].At(int32(number)).Next.Load()
			must.True(t, offset <= counted, "partition %d is handed on at offset %d, and counted up to %d", number, offset, counted)
		}
	}
	visit := func() {
		visitor := s.client(kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.ServerSideBalancer(), kgo.OnPartitionsAssigned(check))
		<-time.After(300 * time.Millisecond) // it would have its partitions by now
		for number := range int32(4) {
			d.Books[0].Log(number).Unlock()
		}
		visitor.Close()
	}
	s.fake.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		s.fake.DropControl()
		for number := range int32(4) {
			d.Books[0].Log(number).Lock() // a reader that has polled cannot go on
		}
		go visit()
		return nil, nil, false
	})
	end, err := engine.Run(t.Context(), p, engine.Drivers{Read: d}, engine.Options{})
	must.Hold(t, err == nil && end.ReadErr == nil && end.ReadEnd == engine.ReadAll, "end %q: %v, %v", end.ReadEnd, err, end.ReadErr)
	v := s.verdict(d, b)
	must.True(t, v.Lost == 0 && v.AcknowledgedRead+v.Unchecked == 4000, "verdict %+v, want nothing lost", v)
}

// A round trip begins when its readers have joined, those too that get nothing.
func TestMoreMembersThanPartitions(t *testing.T) {
	for _, protocol := range []string{"classic", "consumer"} {
		t.Run(protocol, func(t *testing.T) {
			s := newScene(t, 2)
			w, end, v := s.roundtrip(500, 1000, func(p *plan.Plan) { inGroup(p); p.Read.Consumers = 5 }, "group.protocol="+protocol)
			must.True(t, w.Consumed == 500 && end.ReadEnd == engine.ReadAll && w.EndToEnd.Count() == 500,
				"%d records, %d timed, end %q, want 500 and all", w.Consumed, w.EndToEnd.Count(), end.ReadEnd)
			s.whole(v, 500)
		})
	}
}

// bombs writes a batch of each codec that decompresses to 2 MiB, between two small ones, and returns how many offsets that are.
func (s *scene) bombs(partition int32) (all int64) {
	s.Helper()
	for _, codec := range []kgo.CompressionCodec{kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()} {
		c := s.client(kgo.ProducerBatchCompression(codec), kgo.ProducerBatchMaxBytes(64<<20), kgo.DefaultProduceTopic("t"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		for _, size := range []int{10, 2 << 20} {
			r := &kgo.Record{Partition: partition, Value: make([]byte, size)}
			must.Do(s, c.ProduceSync(s.Context(), r).FirstErr())
			all++
		}
	}
	return all
}

// readLittle reads with little memory to decompress into.
func (s *scene) readLittle(p plan.Plan, b *ledger.Book, properties ...string) (stats.Window, engine.End, ledger.Verdict) {
	s.Helper()
	d := s.reader(p, b, properties...)
	d.Memory.Most = 1 << 20
	return s.readWith(d, d, b, engine.Options{})
}

func TestABatchThatIsTooLargeIsPassedOverAndNamed(t *testing.T) {
	s := newScene(t, 2)
	b := stamped(t, s.cluster, 2, 1000)
	s.bombs(1)
	w, end, v := s.readLittle(readPlan(nil), b)
	must.True(t, w.Consumed == 1004 && end.ReadEnd == engine.ReadAll && w.FetchErrors["client:BATCH_TOO_LARGE"] == 4,
		"%d records, end %q (%v), %v; want 1004, all, and 4 batches too large", w.Consumed, end.ReadEnd, end.ReadErr, w.FetchErrors)
	must.Match(t, []int64{4, 1000, 0}, []int64{v.TooLarge, v.AcknowledgedRead, v.Lost}, "verdict %+v", v)
	large := slices.DeleteFunc(w.Events, func(e stats.Event) bool { return e.Kind != stats.TooLarge })
	must.True(t, len(large) == 4 && large[0].Partitions[0] == 1, "events %+v, want 4 of partition 1", large)
}

func TestAGroupCommitsPastABatchThatIsTooLarge(t *testing.T) {
	for _, how := range []plan.Commit{plan.CommitAuto, plan.CommitSync, plan.CommitAsync} {
		for _, protocol := range []string{"classic", "consumer"} {
			t.Run(string(how)+" "+protocol, func(t *testing.T) {
				s := newScene(t, 1)
				all := s.bombs(0)
				w, end, _ := s.readLittle(readPlan(func(p *plan.Plan) { inGroup(p); p.Read.Commit = how }), nil, "group.protocol="+protocol)
				must.True(t, w.Consumed == 4 && end.ReadEnd == engine.ReadAll,
					"%d records, end %q (%v), want 4 and all; %v", w.Consumed, end.ReadEnd, end.ReadErr, w.FetchErrors)
				committed := must.Have(kadm.NewClient(s.client()).FetchOffsets(t.Context(), "g"))(t)
				o, _ := committed.Lookup("t", 0)
				must.True(t, o.At == all, "committed offset %d, want %d", o.At, all)
			})
		}
	}
}

func TestRecordsInABatchThatIsTooLargeAreUncheckedAndNotLost(t *testing.T) {
	s := newScene(t, 1)
	d := s.sender(100, "compression.type=zstd", "linger.ms=1000", "batch.size=10000000", "buffer.memory=100000000")
	s.send(d, engine.Options{})
	b := bookOf(d)
	reader := s.reader(readPlan(nil), b)
	reader.Memory.Most = 2 << 10
	w, _, v := s.readWith(reader, reader, b, engine.Options{})
	must.True(t, w.FetchErrors["client:BATCH_TOO_LARGE"] != 0 && v.Lost == 0 && v.Unchecked != 0 && v.Unchecked == v.TooLarge,
		"%v, verdict %+v, want records that are unchecked and none lost", w.FetchErrors, v)
}
