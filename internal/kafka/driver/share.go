package driver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/kafka/reading"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/stats"
)

// ShareOptions are what the members of share groups read.
type ShareOptions struct {
	Cluster  *kafka.Cluster
	Settings javaconf.Consumer
	Layout   *kafka.Layout
	Memory   *reading.Memory
	Groups   []kafka.ShareGroup

	// Passed gets the first offsets of a group that are not settled, by partition number; nil: nobody wants them.
	Passed func(group int, starts []int64)
}

// Share is the driver that reads in share groups. A partition is a queue then, so it has no positions. NewShare makes it.
type Share struct {
	*queue.Arrivals
	ShareOptions

	opened, begins []int64 // by partition number: the ends and starts of the logs before the load
	waiting        atomic.Int64
	ready          chan struct{}
	failed         []atomic.Bool // by group and partition: a record was not acknowledged
	others         atomic.Bool   // a group has members of other processes
}

var _ engine.ReadDriver = (*Share)(nil)

// NewShare returns the driver that reads in share groups. o has what queues have in common, but for the functions that know Kafka.
// written is as in reading.Options.
func NewShare(ctx context.Context, s ShareOptions, o queue.Options, written func() []int64) (d *Share, err error) {
	d = &Share{ShareOptions: s, ready: make(chan struct{}), failed: make([]atomic.Bool, len(s.Groups)*o.Queues)}
	d.waiting.Store(int64(o.Plan.Read.Clients()))
	if d.opened, _, err = s.Cluster.LogEnds(ctx, s.Layout); err == nil {
		d.begins, err = s.Cluster.LogStarts(ctx, s.Layout)
	}
	if err != nil {
		return nil, fmt.Errorf("find the first and last offsets: %w", err)
	}
	o.Shared, o.Counted, o.Backlog = func(int32) bool { return true }, true, d.backlog
	if written != nil {
		o.Written = func() []int64 { // of this load
			all := written()
			for q := range all {
				all[q] = max(0, all[q]-d.opened[q])
			}
			return all
		}
	}
	d.Arrivals = queue.NewArrivals(o)
	return d, nil
}

// backlog returns how many records each group has to settle. Of a partition of which it has settled none the brokers do not say that.
func (d *Share) backlog(ctx context.Context) (all []int64, err error) {
	var ends []int64
	for i, g := range d.Groups {
		starts, left, err := d.Cluster.ShareOffsets(ctx, d.Layout, g.Name)
		if err != nil {
			return nil, err
		}
		if d.Passed != nil {
			d.Passed(i, starts)
		}
		if ends == nil && slices.Contains(left[:d.Queues], -1) {
			if ends, _, err = d.Cluster.LogEnds(ctx, d.Layout); err != nil {
				return nil, err
			}
		}
		if d.Cluster.OtherShareMembers(ctx, g.Name, d.Plan.Read.Consumers) > 0 {
			d.others.Store(true)
		}
		for q, n := range left[:d.Queues] {
			switch {
			case n >= 0:
			case starts[q] >= 0: // before Kafka 4.2 they do not say it
				n = ends[q] - starts[q]
			case g.From == plan.From{}:
				n = ends[q] - d.begins[q]
			case g.From.Latest:
				n = ends[q] - d.opened[q]
			}
			all = append(all, n)
		}
	}
	return all, nil
}

// Readers returns what was accepted and archived. What is missing is unchecked where others may have accepted it.
func (d *Share) Readers(ctx context.Context) ([]*ledger.Reader, error) {
	why := ""
	for i, g := range d.Groups {
		for q := range int32(d.Queues) {
			switch {
			case d.others.Load():
				why = "it has members of other processes, which may have accepted what is missing here"
			case !g.Made:
				why = "it was there before, and may have accepted what is missing here"
			case d.failed[i*d.Queues+int(q)].Load():
				why = "brokers did not take acknowledgements, so what is missing may have been archived"
			default:
				continue
			}
			d.Unfinished(i, q)
		}
	}
	all, err := d.Arrivals.Readers(ctx)
	if why != "" && d.Book.Verify(all...).Unchecked > 0 {
		err = errors.Join(err, fmt.Errorf("share group %s: %s", d.Plan.Read.Group, why))
	}
	return all, err
}

// OpenReader makes a member of a group. In a run that also sends, the last one waits until all have fetched: then the group has a
// start in each partition.
func (d *Share) OpenReader(ctx context.Context, s *engine.Shard) (engine.Reader, error) {
	perGroup := d.Plan.Read.Consumers
	number, _ := d.Plan.Reader(s.Index)
	r := &sharer{driver: d, shard: s, group: s.Index / perGroup, waiting: make(map[int32][]acks), rng: rand.New(rand.NewPCG(uint64(number), 0x61636b))}
	if !d.Plan.Writes() {
		return r, nil
	}
	if err := r.connect(); err != nil {
		return nil, err
	}
	if s.Index < s.Count-1 {
		return r, nil
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	select {
	case <-d.ready:
		return r, nil
	case <-ctx.Done():
		_ = r.Close()
		return nil, fmt.Errorf("share group %s: no records can be fetched yet: %w", d.Plan.Read.Group, context.Cause(ctx))
	}
}

// sharer is a member of a share group.
type sharer struct {
	driver *Share
	shard  *engine.Shard
	group  int
	rng    *rand.Rand
	polled []*kgo.Record // by the last poll: they are not acknowledged
	at     time.Duration // of that poll

	client *kgo.Client
	living context.Context
	end    context.CancelFunc
	began  time.Duration
	joined atomic.Bool

	mu       sync.Mutex       // guards what follows
	waiting  map[int32][]acks // by partition number, in order: acknowledgements without an answer
	answered time.Duration    // when the newest request was made that has an answer
}

// acks are the acknowledgements of the records of one partition that came with one poll.
type acks struct {
	delivered, made time.Duration
	accepted        int
	released        int
	rejected        int
	archived        int
	records         []ledger.Record // of a run that is verified: those that nobody gets any more
}

func (r *sharer) connect() error {
	d := r.driver
	opts := append(d.Settings.Options(), d.Settings.GroupOptions()...)
	opts = append(append(opts, d.Memory.ClientOptions()...), kgo.WithHooks(&shareHooks{reading.Hooks{Shard: r.shard}, r}), kgo.ShareAckCallback(r.acknowledged),
		kgo.ShareGroup(d.Groups[r.group].Name), // the settings name the first of several
		kgo.ConsumeTopics(d.Layout.Names()...))
	r.began = r.shard.Now()
	r.living, r.end = context.WithCancel(context.Background())
	client, err := d.Cluster.Client(append(opts, kgo.WithContext(r.living))...)
	if r.client = client; err == nil {
		d.Layout.Follow(func([]kafka.Place) { client.ForceMetadataRefresh() })
	}
	return err
}

// Read acknowledges the records of the poll before, for they are processed, and polls once.
func (r *sharer) Read(ctx context.Context, limit int, patience time.Duration) (int, error) {
	if r.client == nil {
		if err := r.connect(); err != nil {
			return 0, err
		}
	}
	r.acknowledge()
	if patience <= 0 {
		patience = deletedAfter
	}
	polling, cancel := context.WithTimeout(ctx, patience)
	fetches := r.client.PollRecords(polling, limit)
	cancel()
	r.shard.Working()
	r.at = r.shard.Now()
	n := 0
	var failed error
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if p.Err != nil {
			failed = errors.Join(failed, r.refused(ctx, p))
		}
		n += r.take(&p)
	})
	if n > 0 {
		r.shard.Record(func(rec *stats.Recorder, phase int) { rec.Window(phase).Fetches++ })
	}
	return n, failed
}

func (r *sharer) refused(ctx context.Context, p kgo.FetchTopicPartition) error {
	if ctx.Err() != nil || kgo.IsRetryableBrokerErr(p.Err) || errors.Is(p.Err, context.Canceled) || errors.Is(p.Err, context.DeadlineExceeded) {
		return nil
	}
	code := kafka.ErrorCode(p.Err)
	r.shard.Record(func(rec *stats.Recorder, phase int) { rec.FetchFailed(phase, code) })
	if reading.Fatal(p.Err) {
		return fmt.Errorf("share group %s: %w", r.driver.Groups[r.group].Name, p.Err)
	}
	return nil
}

// take counts the records of a partition that were delivered.
func (r *sharer) take(p *kgo.FetchTopicPartition) int {
	d := r.driver
	number := d.Layout.Number(p.Topic, p.Partition)
	if len(p.Records) == 0 || number < 0 {
		return 0
	}
	r.polled = append(r.polled, p.Records...)
	started, keys := r.shard.Started().UnixNano(), r.shard.WantsKeys()
	r.shard.Record(func(rec *stats.Recorder, phase int) {
		var s ledger.Stamp
		bytes, times, since := 0, int32(0), 0
		for i, record := range p.Records {
			bytes += len(record.Key) + len(record.Value)
			if keys {
				r.shard.Key(record.Key)
			}
			if count := record.DeliveryCount(); count != times {
				rec.Delivered(phase, times, i-since)
				times, since = count, i
			}
			if times == 1 && ledger.PeekStamp(record.Value, &s) {
				d.EndToEnd(rec, phase, &s, started, r.at)
			}
		}
		rec.Delivered(phase, times, len(p.Records)-since)
		rec.Consumed(phase, number, len(p.Records), bytes, r.at)
	})
	return len(p.Records)
}

// acknowledge acknowledges the records of the last poll. They go with the next request to their brokers.
func (r *sharer) acknowledge() {
	if len(r.polled) == 0 {
		return
	}
	d := r.driver
	by := make(map[int32]*acks)
	marked := make([][]*kgo.Record, 3)
	for _, record := range r.polled {
		number := d.Layout.Number(record.Topic, record.Partition)
		a := by[number]
		if a == nil {
			a = &acks{delivered: r.at, made: r.shard.Now()}
			by[number] = a
		}
		how := d.Plan.Read.Share.Ack.Draw(r.rng)
		archived := false
		switch how {
		case plan.Accept:
			a.accepted++
		case plan.Reject:
			a.rejected++
			archived = true
		case plan.Release:
			a.released++
			if limit := d.Groups[r.group].Limit; limit > 0 && int(record.DeliveryCount()) >= limit {
				a.archived++
				archived = true
			}
		}
		if d.Book != nil && (how == plan.Accept || archived) {
			of := reading.Record(record)
			of.Again, of.Archived = record.DeliveryCount() > 1, archived
			a.records = append(a.records, of)
		}
		if how != plan.Accept {
			marked[how] = append(marked[how], record)
		}
	}
	r.mu.Lock()
	for number, a := range by {
		r.waiting[number] = append(r.waiting[number], *a)
	}
	r.mu.Unlock()
	if len(marked[plan.Release]) > 0 {
		r.client.MarkAcks(kgo.AckRelease, marked[plan.Release]...)
	}
	if len(marked[plan.Reject]) > 0 {
		r.client.MarkAcks(kgo.AckReject, marked[plan.Reject]...)
	}
	r.client.MarkAcks(kgo.AckAccept) // the rest
	for i, record := range r.polled {
		if d.Book == nil { // else the ledger has the value
			record.Recycle()
		}
		r.polled[i] = nil
	}
	r.polled = r.polled[:0]
}

// acknowledged counts acknowledgements that have an answer. The client tells the partition alone: they are those that were made
// before the request.
func (r *sharer) acknowledged(_ *kgo.Client, results kgo.ShareAckResults) {
	now := r.shard.Now()
	for _, result := range results {
		number := r.driver.Layout.Number(result.Topic, result.Partition)
		r.mu.Lock()
		all := r.waiting[number]
		n := 0
		for n < len(all) && all[n].made <= r.answered {
			n++
		}
		if n == 0 && result.Err != nil { // the client did not send it
			n = len(all)
		}
		done := slices.Clone(all[:n])
		r.waiting[number] = slices.Delete(all, 0, n)
		r.mu.Unlock()
		r.settle(number, done, now, result.Err)
	}
}

func (r *sharer) settle(number int32, done []acks, now time.Duration, err error) {
	d := r.driver
	if err != nil {
		code := kafka.ErrorCode(err)
		r.shard.Record(func(rec *stats.Recorder, phase int) {
			rec.FetchFailed(phase, "acknowledge:"+code)
			for i := range done {
				rec.Window(phase).AckFailed += int64(done[i].accepted + done[i].released + done[i].rejected)
			}
		})
		if int(number) < d.Queues {
			d.failed[r.group*d.Queues+int(number)].Store(true)
		}
		return
	}
	r.shard.Record(func(rec *stats.Recorder, phase int) {
		w := rec.Window(phase)
		for i := range done {
			a := &done[i]
			w.Accepted, w.Released, w.Rejected, w.Archived = w.Accepted+int64(a.accepted), w.Released+int64(a.released), w.Rejected+int64(a.rejected), w.Archived+int64(a.archived)
			w.AckTime.RecordN(now-a.delivered, int64(a.accepted+a.released+a.rejected))
		}
	})
	for i := range done {
		a := &done[i]
		d.Settle(r.group, number, a.accepted+a.rejected+a.archived, a.records)
	}
}

// Flush acknowledges the records of the last poll, and waits for the answers.
func (r *sharer) Flush(ctx context.Context) {
	if r.client == nil {
		return
	}
	r.acknowledge()
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	_ = r.client.FlushAcks(ctx) // what has no answer is counted as delivered alone
}

// flushTimeout bounds the last acknowledgements. A request for records that is under way holds them up.
const flushTimeout = 5 * time.Second

// Close leaves the group. The brokers give the records that the client still has to other members.
func (r *sharer) Close() error {
	if r.client == nil {
		return nil
	}
	defer r.end()
	late := time.AfterFunc(closeTimeout, r.end)
	defer late.Stop()
	r.client.Close()
	return nil
}

type shareHooks struct {
	reading.Hooks
	reader *sharer
}

const shareFetchKey, shareAcknowledgeKey = 78, 79

// OnBrokerE2E notes when the request was made that has an answer now, and that the first one has.
func (h *shareHooks) OnBrokerE2E(b kgo.BrokerMetadata, key int16, e kgo.BrokerE2E) {
	h.Hooks.OnBrokerE2E(b, key, e)
	if key != shareFetchKey && key != shareAcknowledgeKey {
		return
	}
	r := h.reader
	made := r.shard.Now() - e.DurationE2E() - e.WriteWait
	r.mu.Lock()
	r.answered = max(r.answered, made)
	r.mu.Unlock()
	if e.Err() != nil || r.joined.Swap(true) {
		return
	}
	r.shard.Record(func(rec *stats.Recorder, phase int) {
		w := rec.Window(phase)
		w.JoinTime = max(w.JoinTime, r.shard.Now()-r.began)
	})
	if r.driver.waiting.Add(-1) == 0 {
		close(r.driver.ready)
	}
}
