package watch

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/stats"
)

// watched is one broker. It is the only seed of a client of its own: a client of the whole
// cluster would forget the broker as soon as the other brokers report it gone.
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

// answer is a broker's answer to one request, or its absence.
type answer struct {
	broker   int32
	sent, at time.Duration // since the start of the run
	metadata *kmsg.MetadataResponse
	err      error
}

// failuresToGo is the number of unanswered requests in a row after which a broker is gone. One
// that refuses the connection is gone at once: nothing listens there.
const failuresToGo = 2

// add makes a client for a broker, in place of the one that it had.
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

// ask asks a broker for its metadata of the topics.
func (w *Brokers) ask(ctx context.Context, client *kgo.Client) (*kmsg.MetadataResponse, error) {
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range w.topics.Names() {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = kmsg.StringPtr(name)
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

// hear notes an answer, and returns an event if the broker has gone or come back.
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

// answers reports whether the broker answered the last request.
func (b *watched) answers() bool { return b.failures == 0 }

func refusedConnection(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
