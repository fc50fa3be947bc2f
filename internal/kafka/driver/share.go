package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
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

// Share is the driver that reads in share groups. A partition is a queue there: its readers have no positions, and what waits is what
// the group has not settled. Set its fields, and call Begin.
type Share struct {
	Cluster  *kafka.Cluster
	Settings javaconf.Consumer
	Layout   *kafka.Layout
	Memory   *reading.Memory
	Groups   []kafka.ShareGroup
	Written  func() []int64  // as in reading.Options
	Embedded *kafka.Embedded // it deletes the records that all groups have settled; nil: another cluster

	*queue.Arrivals

	opened, from []int64      // by partition number: the ends of the logs before the load, and where a new group begins
	leaders      []int32      // the same
	waiting      atomic.Int64 // members that have fetched nothing yet
	ready        chan struct{}
	others       atomic.Bool // a group has members of other processes

	mu      sync.Mutex
	doubted []acks          // guarded by mu: those that no broker has confirmed
	ends    map[place]int64 // guarded by mu: behind the last record that was delivered
	locks   atomic.Int64    // of stats.Share
	news    shareNews
}

// place is a partition of a group, by their numbers.
type place struct {
	group  int
	number int32
}

var _ engine.ReadDriver = (*Share)(nil)

// Begin notes where the logs end before the load. o is what all queues have in common.
func (d *Share) Begin(ctx context.Context, o queue.Options) (err error) {
	d.ready, d.ends = make(chan struct{}), make(map[place]int64)
	d.waiting.Store(int64(o.Plan.Read.Clients()))
	d.opened, _, err = d.Cluster.LogEnds(ctx, d.Layout)
	if d.from = d.opened; err == nil && !o.Plan.Read.From.Latest {
		d.from, err = d.Cluster.LogStarts(ctx, d.Layout)
	}
	if err != nil {
		return fmt.Errorf("find the first and last offsets: %w", err)
	}
	for _, t := range d.Layout.Topics {
		for id := range int32(t.Partitions) {
			d.leaders = append(d.leaders, t.Leaders[id])
		}
	}
	o.Queues, o.Shared, o.Counted, o.Backlog = len(d.opened), func(int32) bool { return true }, true, d.backlog
	if d.Written != nil {
		o.Written = func() []int64 { // of this load
			all := d.Written()
			for q, opened := range d.opened {
				all[q] = max(0, all[q]-opened)
			}
			return all
		}
	}
	d.Arrivals = queue.NewArrivals(o)
	for i := range d.Groups {
		d.free(&d.Groups[i], d.from) // before anything is written
	}
	return nil
}

// backlog returns how many records each group has to settle. The brokers do not tell that before it has settled one of the partition.
func (d *Share) backlog(ctx context.Context) (all []int64, err error) {
	ends, _, err := d.Cluster.LogEnds(ctx, d.Layout)
	locks := int64(0)
	for i := 0; err == nil && i < len(d.Groups); i++ {
		g := &d.Groups[i]
		var starts, left []int64
		if starts, left, err = d.Cluster.ShareOffsets(ctx, d.Layout, g.Name); err == nil {
			d.free(g, starts)
		}
		for q, n := range left[:d.Queues] {
			start := starts[q]
			if start < 0 && g.Made {
				start = d.from[q]
			}
			if n < 0 && start >= 0 {
				n = max(0, ends[q]-start)
			}
			if used := d.deliveredUpTo(place{i, int32(q)}, 0) - start; start >= 0 { // more were delivered since the brokers said that
				locks = max(locks, min(used, int64(cmp.Or(g.Locks, math.MaxInt))))
			}
			all = append(all, n)
		}
		d.look(ctx, i)
	}
	if err == nil {
		d.locks.Store(locks)
	}
	return all, err
}

// deliveredUpTo notes the end of records that were delivered, and returns the furthest.
func (d *Share) deliveredUpTo(p place, end int64) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ends[p] = max(d.ends[p], end)
	return d.ends[p]
}

// Take returns the change of the consumer lag since the last call, the locks, and the events of the groups.
func (d *Share) Take() stats.Window {
	w := d.Arrivals.Take()
	w.Locks = d.locks.Load()
	found := d.news.events.Take()
	w.Add(&found)
	return w
}

// free lets the embedded broker delete the records that a group has settled.
func (d *Share) free(g *kafka.ShareGroup, starts []int64) {
	for i, p := range d.Layout.All() {
		if d.Embedded != nil && i < len(starts) {
			d.Embedded.DeleteRead(g, p.Topic, p.ID, max(0, starts[i]))
		}
	}
}

// Readers returns the records that were accepted or archived. Others are unchecked where that is not all that the group settled.
func (d *Share) Readers(ctx context.Context) ([]*ledger.Reader, error) {
	why := ""
	for i := range d.Groups {
		switch {
		case d.others.Load():
			why = "other processes have members in it, which may have accepted them"
		case !d.Groups[i].Made:
			why = "it was there before, and may have accepted them then"
		case len(d.doubted) > 0:
			why = "brokers did not confirm all acknowledgements, so they may be archived"
		}
		for q := 0; why != "" && q < d.Queues; q++ {
			d.Unfinished(i, int32(q))
		}
	}
	all, err := d.Arrivals.Readers(ctx)
	for i := 0; err == nil && !d.others.Load() && i < len(d.doubted); i++ { // brokers have taken those that never came again, although they could
		if a := &d.doubted[i]; !a.last {
			d.Settle(a.group, a.number, len(a.records), a.records)
		}
	}
	if n := d.Book.Verify(all...).Unchecked; why != "" && n > 0 {
		err = errors.Join(err, fmt.Errorf("share group %s did not give %d records to these consumers: %s", d.Plan.Read.Group, n, why))
	}
	return all, err
}

// OpenReader makes a member of a group. In a run that also sends, the last one waits until all have fetched: then the group has its
// place in each partition.
func (d *Share) OpenReader(ctx context.Context, s *engine.Shard) (engine.Reader, error) {
	number, _ := d.Plan.Reader(s.Index)
	r := &sharer{
		driver: d, shard: s, member: strconv.Itoa(number + 1), group: s.Index / d.Plan.Read.Consumers,
		rng: rand.New(rand.NewPCG(uint64(number), 0x61636b)), waiting: make(map[int32][]acks),
	}
	if !d.Plan.Writes() {
		return r, nil
	}
	if err := r.connect(); err != nil || s.Index < s.Count-1 {
		return r, err
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	select {
	case <-d.ready:
		return r, nil
	case <-ctx.Done():
		_ = r.Close()
		return nil, fmt.Errorf("share group %s: its members could not fetch: %w", d.Plan.Read.Group, context.Cause(ctx))
	}
}

// sharer is a member of a share group.
type sharer struct {
	driver *Share
	shard  *engine.Shard
	group  int
	member string // its number, from 1 on, among the consumers of all groups and processes
	rng    *rand.Rand

	client *kgo.Client
	living context.Context // of the client: Close alone would wait for hung brokers
	end    context.CancelFunc
	began  time.Duration
	joined atomic.Bool

	polled []*kgo.Record // by the last poll
	at     time.Duration // of that poll

	mu       sync.Mutex       // guards what follows
	waiting  map[int32][]acks // by partition number: acknowledgements without an answer, in order
	answered time.Duration    // when the newest request was made that has an answer
}

// acks are the acknowledgements of the records of one partition in one poll.
type acks struct {
	stats.Share
	group           int
	number          int32 // of the partition
	delivered, made time.Duration
	records         []ledger.Record // of a run that is verified: those that nobody gets any more
	last            bool            // it was the last delivery of one that was accepted
}

func (a *acks) count() int64 { return a.Accepted + a.Released + a.Rejected }

func (r *sharer) connect() error {
	d := r.driver
	opts := append(append(d.Settings.Options(), d.Settings.GroupOptions()...), d.Memory.ClientOptions()...)
	if id := d.Settings.Value("client.id"); id == plan.ShareClient {
		opts = append(opts, kgo.ClientID(id+"-"+r.member))
	}
	r.began = r.shard.Now()
	r.living, r.end = context.WithCancel(context.Background())
	client, err := d.Cluster.Client(append(opts, kgo.WithContext(r.living), kgo.WithHooks(&shareHooks{reading.Hooks{Shard: r.shard}, r}),
		kgo.ShareGroup(d.Groups[r.group].Name), // the settings name the first of several
		kgo.ConsumeTopics(d.Layout.Names()...), kgo.ShareAckCallback(r.acknowledged))...)
	if r.client = client; err == nil {
		d.Layout.Follow(func([]kafka.Place) { client.ForceMetadataRefresh() })
	}
	return err
}

// Read acknowledges the records of the last poll, which are done with, and polls once.
func (r *sharer) Read(ctx context.Context, limit int, patience time.Duration) (n int, failed error) {
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
	defer cancel()
	fetches := r.client.PollRecords(polling, limit)
	r.shard.Working()
	r.at = r.shard.Now()
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if p.Err != nil && polling.Err() == nil && !kgo.IsRetryableBrokerErr(p.Err) {
			r.shard.Record(func(rec *stats.Recorder, phase int) { rec.FetchFailed(phase, kafka.ErrorCode(p.Err)) })
			if reading.Fatal(p.Err) {
				failed = errors.Join(failed, fmt.Errorf("share group %s: %w", r.driver.Groups[r.group].Name, p.Err))
			}
		}
		n += r.take(&p)
	})
	if n > 0 {
		held := int64(len(r.polled)) + r.client.BufferedFetchRecords()
		r.shard.Record(func(rec *stats.Recorder, phase int) {
			w := rec.Window(phase)
			w.Fetches, w.Held = w.Fetches+1, max(w.Held, held)
		})
	}
	return n, failed
}

// take counts the records of a partition that were delivered.
func (r *sharer) take(p *kgo.FetchTopicPartition) int {
	d, n := r.driver, len(p.Records)
	number := d.Layout.Number(p.Topic, p.Partition)
	if n == 0 || number < 0 {
		return 0
	}
	d.deliveredUpTo(place{r.group, number}, p.Records[n-1].Offset+1)
	r.polled = append(r.polled, p.Records...)
	started, keys := r.shard.Started().UnixNano(), r.shard.WantsKeys()
	r.shard.Record(func(rec *stats.Recorder, phase int) {
		var s ledger.Stamp
		bytes, times, since, again := 0, int32(0), 0, int64(0)
		for i, record := range p.Records {
			bytes += len(record.Key) + len(record.Value)
			if keys {
				r.shard.Key(record.Key)
			}
			count := record.DeliveryCount()
			if count > 1 {
				again++
			}
			if count != times {
				rec.Delivered(phase, times, i-since)
				times, since = count, i
			}
			if times == 1 && ledger.PeekStamp(record.Value, &s) {
				d.EndToEnd(rec, phase, &s, started, r.at)
			}
		}
		rec.Delivered(phase, times, n-since)
		rec.Consumed(phase, number, n, bytes, r.at)
		rec.GotBy(phase, r.member, n, bytes)
		d.news.again.Add(again)
		if int(number) < d.Queues {
			rec.Broker(phase, d.leaders[number]).Fetch.Records += int64(n)
		}
	})
	return n
}

// acknowledge acknowledges the records of the last poll. The client sends that with its next request to their brokers.
func (r *sharer) acknowledge() {
	d, by := r.driver, make(map[int32]*acks)
	marked := make(map[kgo.AckStatus][]*kgo.Record)
	for _, record := range r.polled {
		number := d.Layout.Number(record.Topic, record.Partition)
		if by[number] == nil {
			by[number] = &acks{group: r.group, number: number, delivered: r.at, made: r.shard.Now()}
		}
		a, archived := by[number], false
		last := int(record.DeliveryCount()) == d.Groups[r.group].Limit
		switch d.Plan.Read.Share.Draw(r.rng) {
		case plan.Accept:
			a.Accepted++
			a.last = a.last || last
		case plan.Release:
			a.Released++
			d.news.again.Add(-1)
			marked[kgo.AckRelease] = append(marked[kgo.AckRelease], record)
			if archived = last; !last {
				continue
			}
		case plan.Reject:
			a.Rejected++
			archived = true
			marked[kgo.AckReject] = append(marked[kgo.AckReject], record)
		}
		if archived {
			a.Archived++
		}
		if d.Book != nil {
			of := reading.Record(record)
			of.Again, of.Archived = record.DeliveryCount() > 1, archived
			a.records = append(a.records, of)
		}
	}
	r.mu.Lock()
	for number, a := range by {
		r.waiting[number] = append(r.waiting[number], *a)
	}
	r.mu.Unlock()
	for status, records := range marked {
		r.client.MarkAcks(status, records...)
	}
	r.client.MarkAcks(kgo.AckAccept) // the rest
	for _, record := range r.polled {
		if d.Book == nil { // else the ledger needs its value
			record.Recycle()
		}
	}
	if len(r.polled) > 0 && !d.Plan.Read.Processing.IsZero() { // a poll is less than a fetch: else its locks would wait for the next one
		now, end := context.WithTimeout(r.living, 0)
		_ = r.client.FlushAcks(now) // it waits for nothing
		end()
	}
	clear(r.polled)
	r.polled = r.polled[:0]
}

// acknowledged counts acknowledgements that have an answer. The client names their partition alone: they are those that were made
// before the request.
func (r *sharer) acknowledged(_ *kgo.Client, results kgo.ShareAckResults) {
	for _, result := range results {
		number := r.driver.Layout.Number(result.Topic, result.Partition)
		r.mu.Lock()
		all := r.waiting[number]
		n := slices.IndexFunc(all, func(a acks) bool { return a.made > r.answered })
		if n < 0 || n == 0 && result.Err != nil { // the client could not send it
			n = len(all)
		}
		done := slices.Clone(all[:n])
		r.waiting[number] = slices.Delete(all, 0, n)
		r.mu.Unlock()
		r.settle(done, result.Err)
	}
}

func (r *sharer) settle(done []acks, err error) {
	now := r.shard.Now()
	r.shard.Record(func(rec *stats.Recorder, phase int) {
		w := rec.Window(phase)
		if err != nil {
			rec.FetchFailed(phase, "acknowledge:"+kafka.ErrorCode(err))
		}
		for i := range done {
			a := &done[i]
			if err != nil {
				w.AckFailed += a.count()
				continue
			}
			w.Accepted, w.Released, w.Rejected, w.Archived = w.Accepted+a.Accepted, w.Released+a.Released, w.Rejected+a.Rejected, w.Archived+a.Archived
			w.AckTime.RecordN(now-a.delivered, a.count())
		}
	})
	if err != nil {
		r.driver.doubt(done)
		return
	}
	for i := range done {
		r.driver.Settle(r.group, done[i].number, int(done[i].Accepted+done[i].Archived), done[i].records)
	}
}

// doubt keeps acknowledgements that no broker has confirmed.
func (d *Share) doubt(all []acks) {
	for i := range all {
		for k := range all[i].records {
			all[i].records[k].Again = true
		}
	}
	const most = 100_000
	d.mu.Lock()
	defer d.mu.Unlock()
	d.doubted = append(d.doubted, all[:min(len(all), most-len(d.doubted))]...)
}

// Flush acknowledges the records of the last poll, and waits for the answers. A fetch that is under way holds them up.
func (r *sharer) Flush(ctx context.Context) {
	if r.client != nil {
		r.acknowledge()
		ctx, cancel := context.WithTimeout(ctx, closeTimeout)
		defer cancel()
		_ = r.client.FlushAcks(ctx) // what has no answer counts as delivered alone
	}
}

// Close leaves the group. The brokers give the records that the client still has to others.
func (r *sharer) Close() error {
	if r.client != nil {
		defer r.end()
		defer time.AfterFunc(closeTimeout, r.end).Stop()
		r.client.Close()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, all := range r.waiting {
		r.driver.doubt(all)
	}
	return nil
}

type shareHooks struct {
	reading.Hooks
	reader *sharer
}

// OnBrokerE2E notes when a request was made that has an answer now, and the first fetch.
func (h *shareHooks) OnBrokerE2E(b kgo.BrokerMetadata, key int16, e kgo.BrokerE2E) {
	const fetch, acknowledge = reading.ShareFetchKey, 79
	if h.Hooks.OnBrokerE2E(b, key, e); key != fetch && key != acknowledge {
		return
	}
	r := h.reader
	now := r.shard.Now()
	r.mu.Lock()
	r.answered = max(r.answered, now-e.DurationE2E()-e.WriteWait)
	r.mu.Unlock()
	first := e.Err() == nil && key == fetch && !r.joined.Swap(true)
	r.shard.Record(func(rec *stats.Recorder, phase int) {
		if rec.Broker(phase, b.NodeID).Fetch.WireBytes += int64(e.BytesRead); first {
			rec.Window(phase).JoinTime = max(rec.Window(phase).JoinTime, now-r.began)
		}
	})
	if first && r.driver.waiting.Add(-1) == 0 {
		close(r.driver.ready)
	}
}
