package watch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/stats"
)

// watched is one broker that a Brokers asks. It has a client to itself, whose only
// seed it is: a client of the whole cluster would forget the broker as soon as the
// others say that it is gone, and would ask them where it is.
type watched struct {
	id     int32
	addr   string
	client *kgo.Client
	lag    *kgo.Client // of the questions in watch_lag.go; nil before the first

	asking   bool // there is a question that is not answered yet
	awaited  bool // it was asked in this round, and answered in the last
	failures int  // questions in a row that were not answered
	since    time.Duration
	gone     bool
	refusals int // questions in a row for the ends of its logs that told of none
}

// answer is what one broker said to one question.
type answer struct {
	broker   int32
	sent, at time.Duration // since the start of the run
	metadata *kmsg.MetadataResponse
	err      error
}

// failuresToGo is how many questions in a row a broker must leave without an answer
// to be gone, unless it refuses the connection: nobody listens there, then.
const failuresToGo = 2

// add makes a client of a broker and puts it in the place of the one that it had.
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

// ask asks a broker for the topics as it knows them.
func (w *Brokers) ask(ctx context.Context, client *kgo.Client) (*kmsg.MetadataResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	for again := false; ; again = true {
		req := kmsg.NewPtrMetadataRequest()
		for _, name := range w.topics {
			topic := kmsg.NewMetadataRequestTopic()
			topic.Topic = kmsg.StringPtr(name)
			req.Topics = append(req.Topics, topic)
		}
		answer, err := req.RequestWith(ctx, client.SeedBrokers()[0])
		if err == nil || again || ctx.Err() != nil || refusedConnection(err) {
			return answer, err
		}
		// The connection broke. Whether somebody still listens tells a new one.
	}
}

// hear takes note of an answer and returns the event that it is, if it is one.
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

// answers tells whether the broker answered the last question.
func (b *watched) answers() bool { return b.failures == 0 }

func refusedConnection(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

func address(host string, port int32) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}
