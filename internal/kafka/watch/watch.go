package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// Brokers is a source of events of the cluster during a run: leaders, in-sync replicas,
// brokers that answer, and the controller. It asks over connections of its own, so it neither
// waits for the load nor holds it up.
//
// Each broker is asked separately, because its metadata may be old: a broker that was cut off
// keeps answering with the state before that. The view merges the answers.
type Brokers struct {
	engine.Events
	topics *kafka.Layout
	client func(addr string) (*kgo.Client, error) // makes one of a single broker

	stop context.CancelFunc // nil before Start

	// Of the loop alone.
	brokers map[int32]*watched
	fresh   []answer // since the view was last updated
	view    view
	catchUp catchUp    // of replicas that are out of sync
	named   controller // by the brokers' metadata

	noQuorum atomic.Bool // then the brokers' metadata names the controller

	mu        sync.Mutex // guards answering
	answering []string   // addresses of the brokers that answer
}

var _ engine.Source = (*Brokers)(nil)

const (
	watchInterval = 500 * time.Millisecond // between two questions to one broker
	watchTimeout  = time.Second            // longest wait for an answer

	// gentle is how many partitions cost a broker little in each round. Those of more are asked for in fewer rounds.
	gentle = 2000

	// hungTimeout ends a connection on which nothing is answered: even a closed one takes one of the 50 places in the queue of
	// a stopped process.
	hungTimeout = 3 * time.Second
)

// New returns a source for these topics on the brokers of the cluster, and on brokers that join it later.
func New(c *kafka.Cluster, topics *kafka.Layout) (*Brokers, error) {
	return newBrokers(c.Info, topics, func(addr string) (*kgo.Client, error) {
		return c.Client(append(watchOptions(addr), kgo.DialTimeout(watchTimeout))...)
	})
}

func watchOptions(addr string) []kgo.Opt {
	return []kgo.Opt{
		kgo.SeedBrokers(addr),
		kgo.ClientID("kt-watch"),
		kgo.RequestTimeoutOverhead(hungTimeout),
		kgo.DisableClientMetrics(),
	}
}

func newBrokers(info result.Cluster, topics *kafka.Layout, client func(addr string) (*kgo.Client, error)) (*Brokers, error) {
	w := &Brokers{
		topics: topics, client: client,
		brokers: make(map[int32]*watched),
		view:    view{partitions: make(map[int32]*partitionView)},
		catchUp: catchUp{measured: make(chan measurement), brokers: make(map[int32]*laggard)},
		named:   controller{id: -1},
	}
	for _, b := range info.Brokers {
		if err := w.add(b.ID, b.Addr); err != nil {
			w.Close()
			return nil, err
		}
	}
	return w, nil
}

// Start begins to ask the brokers, until ctx ends.
func (w *Brokers) Start(ctx context.Context, now func() time.Duration) {
	ctx, w.stop = context.WithCancel(ctx)
	w.Go(func() { w.watch(ctx, now) })
	w.Go(func() { w.followQuorum(ctx, now) })
}

// Close stops asking, if ctx has not, and frees the connections.
func (w *Brokers) Close() {
	if w.stop != nil {
		w.stop()
	}
	w.Wait()
	for _, b := range w.brokers {
		b.close()
	}
}

// watch asks all brokers in rounds. It updates the view when all that answered before have answered, or after half of the
// round, so that one event holds all partitions of a change.
func (w *Brokers) watch(ctx context.Context, now func() time.Duration) {
	var asking sync.WaitGroup
	defer asking.Wait()
	answers := make(chan answer)
	ask := func(b *watched, whole bool) {
		b.asking, b.awaited = true, b.failures == 0
		client, id := b.client, b.id
		asking.Go(func() {
			a := answer{broker: id, sent: now()}
			a.metadata, a.err = w.ask(ctx, client, whole)
			a.at = now()
			select {
			case answers <- a:
			case <-ctx.Done():
			}
		})
	}
	round := time.NewTicker(watchInterval)
	defer round.Stop()
	late := time.NewTimer(watchInterval / 2)
	defer late.Stop()
	lags := time.NewTicker(lagInterval)
	defer lags.Stop()
	for begin, rounds := true, 0; ; {
		if begin {
			for _, b := range w.brokers {
				if b.awaited = false; !b.asking {
					ask(b, rounds%rarely(w.topics.Count()) == 0)
				}
			}
			late.Reset(watchInterval / 2)
		}
		begin = false
		select {
		case <-ctx.Done():
			return
		case <-round.C:
			begin, rounds = true, rounds+1
		case a := <-answers:
			if w.hear(a) {
				w.measure(ctx, now, &asking) // it is furthest behind now
			}
			awaiting := false // a broker that answered in the last round
			for _, b := range w.brokers {
				awaiting = awaiting || b.asking && b.awaited
			}
			if !awaiting {
				w.look()
			}
		case <-late.C:
			w.look()
		case <-lags.C:
			w.measure(ctx, now, &asking)
		case m := <-w.catchUp.measured:
			w.catchUp.measuring = false
			for broker, found := range m.ends {
				if w.brokers[broker].refusals++; len(found) > 0 {
					w.brokers[broker].refusals = 0
				}
			}
			w.Add(w.catchUp.tell(w.view.behind(m.ends), m.at)...)
		}
	}
}

func (w *Brokers) hear(a answer) (back bool) {
	b := w.brokers[a.broker]
	if told, ok := b.hear(a); ok {
		w.Add(told)
		back = told.Kind == stats.BrokerBack
	}
	if a.err == nil {
		w.fresh = append(w.fresh, a)
		for _, m := range a.metadata.Brokers {
			addr, b := net.JoinHostPort(theme.Name(m.Host), strconv.Itoa(int(m.Port))), w.brokers[m.NodeID]
			if b != nil && b.addr != addr && !b.answers() && !b.asking || b == nil && result.CheckBrokers(len(w.brokers)+1) == nil {
				_ = w.add(m.NodeID, addr) // one with an address that no client can be made for is not watched
			}
		}
	}
	var answering []string
	for _, b := range w.brokers {
		if b.answers() {
			answering = append(answering, b.addr)
		}
	}
	slices.Sort(answering)
	w.mu.Lock()
	w.answering = answering
	w.mu.Unlock()
	return back
}

func (w *Brokers) look() {
	if len(w.fresh) == 0 {
		return
	}
	slices.SortFunc(w.fresh, func(a, b answer) int { return cmp.Compare(a.broker, b.broker) })
	events := w.view.update(w.fresh, w.topics, func(broker int32) bool {
		b := w.brokers[broker]
		return b != nil && b.answers()
	})
	for i := range events {
		if e := &events[i]; e.Kind == stats.InSync {
			e.Text += w.catchUp.done()
		}
	}
	w.Add(events...)
	if w.noQuorum.Load() {
		w.lookForController()
	}
	clear(w.fresh) // or it would hold on to the answers
	w.fresh = w.fresh[:0]
}

// watched is one broker, with clients of its own: one of the whole cluster would forget a broker that others report gone.
type watched struct {
	id     int32
	addr   string
	client *kgo.Client
	lag    *kgo.Client // of the requests in catchup.go; nil before the first

	asking   bool // a request is not answered yet
	awaited  bool // it was asked in this round, and answered in the last
	failures int  // requests in a row without an answer
	since    time.Duration
	gone     bool
	refusals int // requests in a row for the ends of its logs that returned none
}

type answer struct {
	broker   int32
	sent, at time.Duration // since the start of the run
	metadata *kmsg.MetadataResponse
	err      error
}

// failuresToGo is after how many unanswered requests in a row a broker is gone. One that refuses the connection is so at once.
const failuresToGo = 2

func (w *Brokers) add(id int32, addr string) error {
	client, err := w.client(addr)
	if err != nil {
		return fmt.Errorf("watch broker %d at %s: %w", id, addr, err)
	}
	b := w.brokers[id]
	if b == nil {
		b = &watched{id: id}
		w.brokers[id] = b
	} else {
		b.close()
	}
	b.addr, b.client, b.lag = addr, client, nil
	return nil
}

func (b *watched) close() {
	b.client.Close()
	if b.lag != nil {
		b.lag.Close()
	}
}

// rarely returns in how many rounds so many partitions are asked for once.
func rarely(partitions int) int { return max(1, (partitions+gentle-1)/gentle) }

// ask asks for brokers, and for the partitions with whole.
func (w *Brokers) ask(ctx context.Context, client *kgo.Client, whole bool) (*kmsg.MetadataResponse, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{} // nil: all
	for i := 0; whole && i < len(w.topics.Topics); i++ {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = &w.topics.Topics[i].Name
		req.Topics = append(req.Topics, topic)
	}
	return twice(ctx, client, req.RequestWith)
}

// twice asks a broker again if the connection broke. A new one shows whether the broker still listens.
func twice[A any](ctx context.Context, client *kgo.Client, ask func(context.Context, kmsg.Requestor) (A, error)) (A, error) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	answer, err := ask(ctx, client.SeedBrokers()[0])
	if err != nil && ctx.Err() == nil && !refusedConnection(err) {
		return ask(ctx, client.SeedBrokers()[0])
	}
	return answer, err
}

func (b *watched) hear(a answer) (stats.Event, bool) {
	b.asking = false
	e := stats.Event{Broker: b.id, To: -1}
	if a.err == nil {
		was := b.gone
		b.failures, b.gone = 0, false
		e.Kind, e.At = stats.BrokerBack, a.at
		e.Text = fmt.Sprintf("broker %d answers again", b.id)
		return e, was
	}
	if b.failures++; b.failures == 1 {
		b.since = a.sent
	}
	refused := refusedConnection(a.err)
	if b.gone || !refused && b.failures < failuresToGo {
		return e, false
	}
	b.gone = true
	e.Kind, e.At = stats.BrokerGone, b.since
	e.Text = fmt.Sprintf("broker %d does not answer", b.id)
	if refused {
		e.Text = fmt.Sprintf("broker %d refuses connections", b.id)
	}
	return e, true
}

func (b *watched) answers() bool { return b.failures == 0 }

func refusedConnection(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
