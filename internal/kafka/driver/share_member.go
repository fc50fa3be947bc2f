package driver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
	if gone := r.driver.failed.Load(); gone != nil {
		return 0, *gone
	}
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
			of := "share group " + r.driver.Groups[r.group].Name
			if p.Topic != "" {
				of = fmt.Sprintf("partition %d of topic %s", p.Partition, p.Topic)
			}
			if reading.Fatal(p.Err) {
				failed = errors.Join(failed, fmt.Errorf("%s: %w", of, p.Err))
			}
		}
		n += r.take(&p)
	})
	if n > 0 {
		held := int64(len(r.polled)) + r.client.BufferedFetchRecords()
		r.shard.Record(func(rec *stats.Recorder, phase int) {
			w := rec.Window(phase)
			w.Fetches, w.Held = w.Fetches+1, max(w.Held, held)
			w.Locks = max(w.Locks, (held+int64(r.driver.Queues)-1)/int64(r.driver.Queues)) // of the partition that it holds most of
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
		d.delivered(place{r.group, number}, p.Records, n-int(again))
		if int(number) < d.Queues {
			rec.Broker(phase, d.leaders[number]).Fetch.Records += int64(n)
		}
	})
	return n
}

// Flush acknowledges the records of the last poll, and waits for the answers. A fetch that is under way holds them up.
func (r *sharer) Flush(ctx context.Context) {
	if r.client != nil {
		r.acknowledge()
		untouched := r.client.BufferedFetchRecords()
		r.shard.Record(func(rec *stats.Recorder, phase int) { rec.Window(phase).Untouched += untouched })
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
