package wire

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"net"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/format"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/kafka/reading"
	"github.com/kt-bench/kt/internal/kafka/writing"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/payload"
	"github.com/kt-bench/kt/internal/plan"
)

// Producer is the driver that writes. NewProducer makes it.
type Producer struct {
	*writing.State
	pool     *pool
	each     bool  // records differ from batch to batch, and are encoded one by one
	sequence int64 // of the first record of a lane; a test begins elsewhere than at 0
}

var _ engine.Driver = (*Producer)(nil)

// NewProducer encodes, and compresses, the batches of the load.
func NewProducer(o *writing.State) *Producer {
	if p := o.Plan; p.Verify && p.Payload.OwnValues() {
		p.Seed ^= int64(o.Run)
		o.Values, _ = payload.MakeValues(&p) // no file, and so no error
	}
	d, load := &Producer{State: o}, &o.Plan.Payload
	d.each = load.Stamp || load.Kind == plan.Monotonic || load.Keys == plan.RangeKeys
	limit := o.Settings.BatchLimit()
	d.pool = newPool(o.Plan, o.Values, min(o.Settings.BatchTarget(), limit), limit, o.Settings.Compressor(), d.each)
	return d
}

// most is the largest number of outstanding records of a producer at a rate. buffer.memory is the limit before.
const most = 1 << 20

// BufferRecords returns the number of outstanding records that one producer needs: at an unlimited rate a batch for each lane,
// and one more for each partition.
func (d *Producer) BufferRecords() int {
	if d.Plan.Load.Rate.IsUnlimited() {
		return int(min(math.MaxInt32, int64(d.depth()+1)*int64(d.pool.full)*int64(max(2, d.Partitions))))
	}
	return most
}

func (d *Producer) depth() int { return min(d.Settings.MaxInFlight(), maxDepth) }

// maxDepth bounds the lanes of a partition: as many batches of a producer id are on their way with Kafka's client.
const maxDepth = 5

// Open makes a client that is connected and, with idempotence, has a producer id, so that neither is timed.
func (d *Producer) Open(ctx context.Context, s *engine.Shard) (engine.Worker, error) {
	w := &worker{
		driver: d, shard: s, pool: d.pool,
		linger: d.Settings.Duration("linger.ms"), delivery: d.Settings.DeliveryTimeout(),
		retries: d.Settings.Int64("retries"), backoff: d.Settings.RetryBackoff(),
		brokers: make(map[int32]*brokerQueue), turns: d.Turns(s.Index), template: s.Index * len(d.pool.templates) / max(1, s.Count),
	}
	w.idle.L = &w.mu
	w.ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	number, all := d.Plan.Shard(s.Index)
	w.generator = d.Values.Generator(d.Plan, number, all)
	w.headers = format.EncodeHeaders(d.Plan.Payload.Headers)
	w.headerSum = reading.HeaderSum(writing.RecordHeaders(d.Plan.Payload.Headers))
	targets := d.Targets()
	w.topics = make([]topic, len(targets))
	for i := range targets {
		w.topics[i] = topic{Target: &targets[i], turn: s.Index}
	}
	w.rounds, w.identities = make([]int64, d.Partitions), slices.Repeat([]identity{nobody}, d.depth())
	w.lanes = make([]*lane, d.depth()*d.Partitions)
	if d.accounts() {
		for i := range w.identities {
			w.accounts = append(w.accounts, ledger.NewProducer(uint16(s.Index*d.depth()+i))) // a producer id keeps an order of its own
		}
	}
	w.outcomes, w.refs = d.State.Open(w.accounts...), &references{lanes: w.lanes}
	_, _ = rand.Read(w.refs.prefix[:]) // it never fails
	w.hooks = writing.NewHooks(s, d.Settings)
	for range min(connections, max(1, mostConnections/max(1, s.Count)), d.Settings.MaxInFlight()) {
		client, err := d.Cluster.ClientOver(func(c net.Conn) net.Conn { return &conn{Conn: c, refs: w.refs} }, append(d.Settings.Options(), kgo.WithHooks(w.hooks))...)
		if err != nil {
			w.disconnect()
			return nil, err
		}
		w.clients = append(w.clients, client)
	}
	if err := w.ready(ctx); err != nil {
		w.disconnect()
		return nil, err
	}
	return w, nil
}

func (d *Producer) accounts() bool { return d.Plan.Payload.Stamp || d.Plan.Verify }

// byHeaders reports whether the headers of batches say which records they hold, and no stamps.
func (d *Producer) byHeaders() bool { return d.Plan.Verify && !d.Plan.Payload.Stamp }

func (w *worker) disconnect() {
	for _, c := range w.clients {
		c.Close()
	}
}

const openTimeout = 30 * time.Second

func (w *worker) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	w.leaders = newLeaders(w.clients[0], w.driver.Layout)
	if err := w.leaders.ask(ctx, time.Now()); err != nil {
		return fmt.Errorf("find the leaders: %w", kafka.Closed(err))
	}
	if !w.driver.Settings.Idempotent() {
		return nil
	}
	for i := range w.identities {
		id, err := newIdentity(ctx, w.clients[0])
		if err != nil {
			return fmt.Errorf("get a producer id: %w", kafka.Closed(err))
		}
		id.sequence = w.driver.sequence
		w.identities[i] = id
	}
	return nil
}

// Fits returns an error for each thing that a plan asks for and that this way to write does not have.
func Fits(p *plan.Plan, s javaconf.Producer) (errs []error) {
	refuse := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("--engine wire: "+format+"; --engine client does that", args...))
	}
	if id := s.TransactionalID(); id != "" || p.Load.Transaction > 0 {
		refuse("it makes no transactions (transactional.id=%s)", cmp.Or(id, "kt's own"))
	}
	if p.Payload.Keys != plan.NoKeys && !s.Bool("partitioner.ignore.keys") {
		refuse("a whole batch goes to one partition, so keys cannot choose it (--key-distribution %s); partitioner.ignore.keys=true keeps the keys and lets partitions take turns", p.Payload.Keys)
	}
	if s.RoundRobin() {
		refuse("a whole batch goes to one partition, so records cannot take turns (partitioner.class=RoundRobinPartitioner)")
	}
	return errs
}
