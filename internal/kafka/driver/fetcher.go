package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/reading"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

type fetcher struct {
	driver *Consumer
	shard  *engine.Shard
	hooks  *fetchHooks
	group  int // the number of its group
	member int // its number in it

	client     *kgo.Client
	living     context.Context    // of the client: Close alone would wait for hung brokers
	end        context.CancelFunc // ends it
	began      time.Duration      // time of connecting
	running    context.Context    // of the run; it ends when the run is aborted
	committing context.Context    // of the commits, see outlive; nil before the first
	commits    sync.WaitGroup     // on their way, while it reads on
	hasLeft    atomic.Int64       // begin of the current rebalance, since the start of the run; 0: none
	fellBack   atomic.Bool        // to the classic protocol, without an error
	last       time.Duration      // of the newest poll with records
	hadAny     bool               // it had partitions; the client's callbacks come one at a time
	idle       bool               // it had no partitions at the last look
	done       bool               // a partition was read to its end offset, which is not committed yet
}

func (r *fetcher) connect() error {
	d := r.driver
	opts := append(d.Settings.Options(),
		append(d.Memory.ClientOptions(), kgo.WithHooks(r.hooks),
			kgo.KeepControlRecords())...) // each takes an offset, which the position has to pass
	grown := r.share
	if d.Group(r.group) != "" {
		opts = append(opts, r.groupOptions()...)
		grown = func([]kafka.Place) { r.client.ForceMetadataRefresh() } // else the group hears of it after metadata.max.age.ms
	}
	r.began = r.shard.Now()
	r.living, r.end = context.WithCancel(context.Background())
	client, err := d.Cluster.Client(append(opts, kgo.WithContext(r.living))...)
	if r.client = client; err == nil {
		d.Layout.Follow(grown)
	}
	return err
}

// share reads those of the partitions that are the reader's, without a group.
func (r *fetcher) share(of []kafka.Place) {
	shares := make(map[string]map[int32]kgo.Offset)
	for _, p := range of {
		if r.driver.Plan.ReaderOf(p.Number) != r.member {
			continue
		}
		if shares[p.Topic] == nil {
			shares[p.Topic] = make(map[int32]kgo.Offset)
		}
		at := r.driver.At.Groups[r.group].At(p.Number)
		shares[p.Topic][p.ID] = kgo.NewOffset().At(at.Next.Load())
		at.Owner.Store(int32(r.member) + 1)
	}
	r.client.AddConsumePartitions(shares)
}

func (r *fetcher) groupOptions() []kgo.Opt {
	d := r.driver
	opts := append(d.Settings.GroupOptions(),
		kgo.ConsumerGroup(d.Group(r.group)), // the settings name the first of several
		kgo.ConsumeTopics(plan.Own(&d.Plan.Topic, d.Layout.Names(), d.Plan.Share.Consumer+r.member, cmp.Or(d.Plan.Share.Consumers, d.Plan.Read.Consumers))...),
		kgo.OnPartitionsAssigned(r.assigned), kgo.OnPartitionsRevoked(r.revoked), kgo.OnPartitionsLost(r.lost),
		kgo.AdjustFetchOffsetsFn(r.adjust),
		kgo.BlockRebalanceOnPoll()) // else a partition could be revoked before its polled records are counted
	if id := d.Settings.Value("group.instance.id"); id != "" {
		number, _ := d.Plan.Reader(r.shard.Index) // two members with one id would fence each other
		opts = append(opts, kgo.InstanceID(fmt.Sprintf("%s-%d", id, number)))
	}
	if d.Plan.Read.Commit != plan.CommitAuto {
		opts = append(opts, kgo.DisableAutoCommit())
	}
	r.hooks.joining = func() { // the newer protocol has no such request: who asks for it has fallen back, as the cluster does not offer it
		if d.Settings.NextGen() {
			r.fellBack.Store(true)
		}
		r.rebalancing()
	}
	return opts
}

func (r *fetcher) adjust(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	d := r.driver
	for topic, partitions := range offsets {
		for partition, o := range partitions {
			number := d.Layout.Number(topic, partition)
			if number < 0 { // the leader of the group may assign what kt does not read
				continue
			}
			committed := o.EpochOffset().Offset
			at, _ := d.Resume(ctx, r.group, number, committed)
			if at != committed {
				partitions[partition] = kgo.NewOffset().At(at)
			}
			if d.Books != nil {
				d.Books[r.group].Begin(number, at) // earlier records may have been read in another process
			}
		}
	}
	return offsets, nil
}

func (r *fetcher) rebalancing() { r.hasLeft.CompareAndSwap(0, max(1, int64(r.shard.Now()))) }

func (r *fetcher) assigned(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
	n := r.own(partitions, int32(r.member)+1)
	now := r.shard.Now()
	from := time.Duration(r.hasLeft.Swap(0))
	if !r.hadAny {
		r.hadAny = true
		r.shard.Record(func(rec *stats.Recorder, phase int) {
			w := rec.Window(phase)
			w.JoinTime = max(w.JoinTime, now-r.began)
		})
		if r.driver.waiting.Add(-1) == 0 {
			close(r.driver.ready)
		}
		return
	}
	took := time.Duration(0)
	if from > 0 {
		took = max(0, now-from)
	}
	r.shard.Record(func(rec *stats.Recorder, phase int) { rec.Rebalanced(phase, took) })
	r.shard.Event(stats.Event{
		Kind: stats.Rebalance, Broker: -1, To: -1, Count: n,
		Text: fmt.Sprintf("group %s: consumer %d has %d new partitions, after %s", r.driver.Group(r.group), r.member, n, took.Round(time.Millisecond)),
	})
}

// revoked commits the positions, as the client does without this callback.
func (r *fetcher) revoked(ctx context.Context, client *kgo.Client, partitions map[string][]int32) {
	r.rebalancing()
	if r.driver.Plan.Read.Commit != plan.CommitNone {
		_ = client.CommitUncommittedOffsets(ctx) // on an error the next owner reads these records again
	}
	r.own(partitions, 0)
}

func (r *fetcher) lost(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
	r.rebalancing()
	r.own(partitions, 0)
}

// own notes the owner of partitions, counted as in Position.Owner, and returns the number of those that kt reads.
func (r *fetcher) own(partitions map[string][]int32, owner int32) (n int) {
	d := r.driver
	for topic, ids := range partitions {
		for _, id := range ids {
			if number := d.Layout.Number(topic, id); number >= 0 {
				d.At.Groups[r.group].At(number).Owner.Store(owner)
				n++
			}
		}
	}
	return n
}

// Read polls once.
func (r *fetcher) Read(ctx context.Context, limit int, patience time.Duration) (int, error) {
	if r.client == nil {
		if err := r.connect(); err != nil {
			return 0, err
		}
	}
	if n := r.driver.Settings.Int("max.poll.records"); n > 0 {
		limit = min(limit, n)
	}
	fetches := r.poll(ctx, limit, patience)
	defer r.client.AllowRebalance()
	r.shard.Working()
	if r.fellBack.Load() {
		return 0, errors.New("--group-protocol consumer: the cluster does not offer it (its feature group.version is 0)")
	}
	now := r.shard.Now()
	n := 0
	var failed error
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if p.Err != nil {
			failed = errors.Join(failed, r.refused(ctx, p))
		}
		n += r.take(&p, now)
	})
	if n > 0 {
		r.last = now
		r.shard.Record(func(rec *stats.Recorder, phase int) { rec.Window(phase).Fetches++ })
		r.idle = false
	} else if now-max(r.began, r.last) > deletedAfter {
		d := r.driver // the client reports no gap of deleted records
		r.idle = true
		for number := range int32(d.Layout.Count()) {
			if d.At.Groups[r.group].At(number).Owner.Load() == int32(r.member)+1 {
				r.idle = false
				d.Passed(r.group, number, d.At.At(number).Start.Load())
			}
		}
	}
	if n > 0 || r.done { // a partition may end with the marker of a transaction
		r.commit(ctx)
	}
	return n, failed
}

// deletedAfter is the time without records after which positions pass deleted records. A record that is on its way comes sooner.
const deletedAfter = time.Second

// idlePatience is deletedAfter for a reader without partitions: one of many should cost nothing. Records of new partitions wake it.
const idlePatience = 30 * time.Second

func (r *fetcher) poll(ctx context.Context, limit int, patience time.Duration) kgo.Fetches {
	if patience <= 0 {
		patience = deletedAfter
		if r.idle {
			patience = idlePatience
		}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return r.client.PollRecords(ctx, limit)
}

// refused counts a failed fetch. It returns an error if reading has to end.
func (r *fetcher) refused(ctx context.Context, p kgo.FetchTopicPartition) error {
	if ctx.Err() != nil || kgo.IsRetryableBrokerErr(p.Err) || errors.Is(p.Err, context.Canceled) || errors.Is(p.Err, context.DeadlineExceeded) ||
		errors.Is(p.Err, reading.ErrBusy) {
		return nil
	}
	if e, ok := errors.AsType[*kgo.ErrDecompressTooLarge](p.Err); ok {
		r.passOver(ctx, e)
		return nil
	}
	if d := r.driver; d.Books != nil && reading.LostData(p.Err) {
		d.Books[r.group].Log(d.Layout.Number(p.Topic, p.Partition)).Cut()
	}
	code := kafka.ErrorCode(p.Err)
	r.shard.Record(func(rec *stats.Recorder, phase int) { rec.FetchFailed(phase, code) })
	if !reading.Fatal(p.Err) {
		return nil
	}
	if p.Topic == "" {
		return p.Err
	}
	return fmt.Errorf("partition %d of topic %s: %w", p.Partition, p.Topic, p.Err)
}

// passOver reads on behind a batch that is too large to read, and commits that position for its group.
func (r *fetcher) passOver(ctx context.Context, e *kgo.ErrDecompressTooLarge) {
	d := r.driver
	number := d.Layout.Number(e.Topic, e.Partition)
	to := map[string]map[int32]kgo.EpochOffset{e.Topic: {e.Partition: {Epoch: e.Epoch, Offset: e.NextOffset}}}
	r.client.SetOffsets(to) // a client in a group must not rebalance meanwhile
	if number < 0 {         // kt does not read it
		return
	}
	before := d.At.Groups[r.group].At(number).Next.Swap(e.NextOffset)
	from := max(e.Offset, before)
	if d.Books != nil {
		log := d.Books[r.group].Log(number)
		log.Lock()
		log.PassOver(from, e.NextOffset)
		log.Unlock()
	}
	d.PassOver(r.shard, e.Topic, e.Partition, from, e.NextOffset)
	r.done = r.done || d.At.Passes(number, before, e.NextOffset)
	if d.Group(r.group) != "" && d.Plan.Read.Commit != plan.CommitNone {
		r.client.CommitOffsetsSync(r.outlive(ctx), to, nil) // if it fails, the next owner passes over it too
	}
}

func (r *fetcher) take(p *kgo.FetchTopicPartition, now time.Duration) int {
	d := r.driver
	number := d.Layout.Number(p.Topic, p.Partition)
	if len(p.Records) == 0 || number < 0 {
		return 0
	}
	next := p.Records[len(p.Records)-1].Offset + 1
	end := p.HighWatermark
	if d.Settings.ReadCommitted() {
		end = p.LastStableOffset
	}
	known := d.At.At(number).End.Load()
	d.At.SawEnd(number, max(end, next))
	d.Passed(r.group, number, min(p.LogStartOffset, p.Records[0].Offset))
	var log *ledger.Log
	if d.Books != nil {
		log = d.Books[r.group].Log(number)
		log.Lock()
		defer log.Unlock()
	}
	n := 0
	r.shard.Record(func(rec *stats.Recorder, phase int) { n = r.count(rec, phase, number, p.Records, now, log, known) })
	before := d.At.Groups[r.group].At(number).Read(n, next)
	r.done = r.done || d.At.Passes(number, before, next)
	for _, record := range p.Records {
		record.Recycle()
	}
	return n
}

// count counts the records of a poll. known is where the log ended at the poll before.
func (r *fetcher) count(rec *stats.Recorder, phase int, number int32, records []*kgo.Record, now time.Duration, log *ledger.Log, known int64) (n int) {
	started := r.shard.Started().UnixNano()
	var s ledger.Stamp
	bytes, look, keys := 0, r.looksForStamps(records), r.shard.WantsKeys()
	for _, record := range records {
		if record.Attrs.IsControl() {
			continue
		}
		n++
		bytes += len(record.Key) + len(record.Value)
		if keys {
			r.shard.Key(record.Key)
		}
		stamped := false
		switch {
		case log != nil:
			stamped = reading.Account(log, record, &s, known, started+int64(now)) == ledger.Stamped
		case look:
			stamped = ledger.PeekStamp(record.Value, &s)
		}
		if stamped {
			r.driver.EndToEnd(rec, phase, &s, started, now)
		}
	}
	rec.Consumed(phase, number, n, bytes, now)
	rec.Broker(phase, r.hooks.from[kafka.Place{Topic: records[0].Topic, ID: records[0].Partition}]).Fetch.Records += int64(n)
	return n
}

// looksForStamps reports whether each record is checked for a stamp, 2 % of the time to read it, or the first and the last of a poll.
func (r *fetcher) looksForStamps(records []*kgo.Record) bool {
	var s ledger.Stamp
	return r.driver.Run != 0 ||
		ledger.PeekStamp(records[0].Value, &s) || ledger.PeekStamp(records[len(records)-1].Value, &s)
}
