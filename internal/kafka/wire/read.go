package wire

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/reading"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// Consumer is the driver that reads with raw fetches. NewConsumer makes it.
type Consumer struct{ *reading.State }

var _ engine.ReadDriver = (*Consumer)(nil)

// NewConsumer returns the driver that reads all partitions of a state; [FitsReading] refuses a plan with a group.
func NewConsumer(s *reading.State) *Consumer { return &Consumer{s} }

// OpenReader makes a reader. It connects with the first Read, as a consumer of the client engine does, or at once in a run that
// also sends.
func (d *Consumer) OpenReader(_ context.Context, s *engine.Shard) (engine.Reader, error) {
	r := d.reader(s, func(partition int32) bool { return d.Plan.ReaderOf(partition) == s.Index }, kgo.WithHooks(reading.Hooks{Shard: s}))
	if !d.Plan.Writes() {
		return r, nil
	}
	return r, r.connect()
}

func (d *Consumer) reader(s *engine.Shard, has func(partition int32) bool, opts ...kgo.Opt) *reader {
	return &reader{
		Consumer: d, shard: s, has: has, opts: opts, answers: make(chan *fetched), stale: make(chan struct{}, 1),
		fetchers: make(map[int32]bool), changed: make(chan struct{}), room: sync.OnceValue(d.Memory.NewRoom),
	}
}

type reader struct {
	*Consumer
	shard     *engine.Shard
	group     int                        // its number; 0 without groups
	has       func(partition int32) bool // by number in the Layout
	opts      []kgo.Opt
	client    *kgo.Client
	leaders   *leaders
	end       context.CancelFunc // ends the goroutines
	all       sync.WaitGroup     // the goroutines
	backoff   time.Duration      // between two tries of the same
	responses responses
	room      func() *reading.Room // made for the first compressed batch: that costs as much as a client
	current   *fetched             // not counted to its end yet
	answers   chan *fetched        // one goroutine waits with the next answer until Read takes it
	stale     chan struct{}        // holds one value: leaders have to be looked up

	mu         sync.Mutex // guards the rest
	partitions []*partition
	fetchers   map[int32]bool // by broker
	changed    chan struct{}  // closed: partitions have other leaders
	turn       int            // rotates the partitions, for a broker fills an answer in their order
}

type partition struct {
	topic      string
	number, id int32 // in the Layout, and in the topic

	// The reader's mu guards the rest.
	topicID [16]byte
	offset  int64 // of the next fetch; records before it may still wait to be counted
	epoch   int32 // of the leader that wrote the record before it, -1: not known
	size    int32 // most bytes of the next fetch
	busy    bool  // a fetch is on its way, or its answer waits
	unknown int   // times in a row that a broker did not know the partition
}

func (r *reader) connect() error {
	ctx, cancel := context.WithCancel(context.Background())
	opts := append(r.Settings.Options(), kgo.WithContext(ctx))
	client, err := r.Cluster.ClientOver(r.responses.over, append(opts, r.opts...)...)
	if err != nil {
		cancel()
		return err
	}
	r.client, r.end, r.leaders = client, cancel, newLeaders(client, r.Layout)
	r.backoff, _ = client.OptValue(kgo.MetadataMinAge).(time.Duration)
	r.Layout.Follow(r.share)
	r.all.Go(func() { r.followLeaders(ctx) })
	return nil
}

func (r *reader) share(of []kafka.Place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range of {
		if !r.has(p.Number) {
			continue
		}
		at := r.At.Groups[r.group].At(p.Number)
		r.partitions = append(r.partitions, &partition{
			topic: p.Topic, number: p.Number, id: p.ID,
			offset: at.Next.Load(), epoch: -1, size: int32(r.Settings.Int("max.partition.fetch.bytes")),
		})
		at.Owner.Store(1)
		r.followAgain()
	}
}

// Read counts records of one answer, and waits for it if there is none.
func (r *reader) Read(ctx context.Context, limit int, patience time.Duration) (n int, err error) {
	if r.client == nil {
		if err := r.connect(); err != nil {
			return 0, err
		}
	}
	if most := r.Settings.Int("max.poll.records"); most > 0 {
		limit = min(limit, most)
	}
	if r.current == nil {
		r.await(ctx, patience)
	}
	r.shard.Working()
	if r.current == nil {
		return 0, nil
	}
	if r.current.err != nil {
		return 0, r.current.err
	}
	now := r.shard.Now()
	for n < limit && err == nil && len(r.current.chunks) > 0 {
		var taken int
		taken, err = r.take(&r.current.chunks[0], limit-n, now)
		n += taken
		if r.current.chunks[0].counted() {
			r.current.chunks = r.current.chunks[1:]
		}
	}
	if errors.Is(err, reading.ErrBusy) {
		err = nil
	}
	if len(r.current.chunks) == 0 {
		r.responses.free(r.current.bytes)
		r.current = nil
	}
	if n > 0 {
		r.shard.Record(func(rec *stats.Recorder, phase int) { rec.Window(phase).Fetches++ })
	}
	return n, err
}

func (r *reader) await(ctx context.Context, patience time.Duration) {
	var late <-chan time.Time
	if patience > 0 {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case r.current = <-r.answers:
	case <-late:
	case <-ctx.Done():
	}
}

// Flush has nothing to do: nothing is committed without a group.
func (r *reader) Flush(context.Context) {}

// Close ends the goroutines and the connections.
func (r *reader) Close() error {
	if r.client != nil {
		r.end()
		r.all.Wait()
		r.client.Close()
	}
	return nil
}

// FitsReading returns an error if a plan asks for a way to read that this engine does not have. Its readers share the
// partitions out themselves, and so there is no group and nothing is committed.
func FitsReading(p *plan.Plan) error {
	if p.Read.Group == "" {
		return nil
	}
	return fmt.Errorf("--engine wire: it reads without a group (--group %s); --no-group reads all partitions, and --engine client reads in groups", p.Read.Group)
}

// Reread is reading.State.Reread for readers of any engine. It needs no group and measures nothing.
func Reread(ctx context.Context, s *reading.State, group int, ends map[int32]int64, idle time.Duration) error {
	r := (&Consumer{s}).reader(engine.NoRun(), func(partition int32) bool { _, ok := ends[partition]; return ok })
	r.group = group
	defer func() { _ = r.Close() }() // it ends goroutines, and has no error
	at := make(map[int32]int64)
	progress(&s.At.Groups[group], ends, at)
	for last := time.Now(); len(ends) > 0; {
		_, err := r.Read(ctx, math.MaxInt32, idle)
		moved := progress(&s.At.Groups[group], ends, at)
		switch {
		case len(ends) == 0:
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case moved:
			last = time.Now()
		case time.Since(last) >= idle:
			return nil
		}
	}
	return nil
}

// progress updates the positions in at, and reports whether one has moved. It takes partitions read to their end from ends.
func progress(positions *kafka.GroupPositions, ends, at map[int32]int64) (moved bool) {
	for partition, end := range ends {
		next := positions.At(partition).Next.Load()
		if before, ok := at[partition]; !ok || next != before {
			at[partition], moved = next, true
		}
		if next >= end {
			delete(ends, partition)
		}
	}
	return moved
}
