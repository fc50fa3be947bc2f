package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/theme"
)

// queueName returns the name of a queue of a topic, which is its key behind that of the exchange.
func queueName(topic string, id int) string { return topic + "-" + strconv.Itoa(id) }

// queue returns the name of a queue.
func (s *session) queue(number int32) string {
	topic, id := s.topics.Place(number)
	return queueName(s.topics.All[topic].Name, id)
}

func (s *session) prepare(ctx context.Context) error {
	s.topics = queue.Named(s.plan.Topic.Names())
	var missing []*result.Topic
	for i := range s.topics.All {
		t := &s.topics.All[i]
		exchange, err := s.find(ctx, t)
		switch have := t.Partitions > 0; {
		case err != nil:
			return err
		case exchange != have:
			return result.Misfit("only one of exchange %s and queue %s-0 is there, and kt adds nothing to what it did not make; name another --topic", t.Name, t.Name)
		case !have && !s.plan.Writes():
			return result.Misfit("exchange %s %w; kt produce makes it", t.Name, plan.ErrNoTopic)
		case !have:
			missing = append(missing, t)
		}
	}
	err := s.describe(ctx)
	if err != nil || len(missing) == 0 {
		return err
	}
	if err = s.create(ctx, missing); err == nil {
		err = s.describe(ctx) // queues of this run may be of the type of the virtual host
	}
	if err != nil {
		return errors.Join(err, s.Delete(context.WithoutCancel(ctx)))
	}
	return nil
}

// describe completes the topics that are there, and returns why kt cannot use them. If the management API knows nothing now, it is
// asked again.
func (s *session) describe(ctx context.Context) (err error) {
	if s.topics.Lay(); s.management != nil && s.topics.Count() > 0 {
		s.found, err = s.management.describeQueues(ctx, s.topics, s.cluster.Brokers)
		for i := 0; i < len(s.topics.All) && err == nil && s.plan.Writes(); i++ {
			err = s.management.checkExchange(ctx, s.topics.All[i].Name) // without an error if it is not there
		}
		if errors.As(err, new(*result.MisfitError)) {
			return err
		}
	}
	for i, want := 0, s.plan.Topic; i < len(s.topics.All); i++ {
		switch t := &s.topics.All[i]; {
		case t.Created || t.Partitions == 0:
		case t.ReplicationFactor == 0 && want.ReplicationFactor > 0:
			return result.Misfit("--replication-factor %d: only the management API tells how many members the queues of %s have, and it does not; leave the flag out, or name another --topic", want.ReplicationFactor, t.Name).About("replication-factor")
		case t.Fits(want) != nil:
			return t.Fits(want)
		}
	}
	return nil
}

// findTimeout is how long looking for all queues may take, and asking the management API about them.
const findTimeout = time.Minute

// find looks for the exchange of a topic, and for queues until one is not there.
func (s *session) find(ctx context.Context, t *result.Topic) (exchange bool, err error) {
	late := fmt.Errorf("looking for its queues took longer than %s: check the log of the server", findTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, findTimeout, late)
	defer cancel()
	exchange, err = s.finds(ctx, t, func(ch *amqp.Channel) error {
		return ch.ExchangeDeclarePassive(t.Name, amqp.ExchangeDirect, true, false, false, false, nil)
	})
	if err != nil {
		return false, err
	}
	_, err = s.finds(ctx, t, func(ch *amqp.Channel) error {
		for ; t.Partitions < plan.MaxPartitions; t.Partitions++ {
			if _, err := inspect(ch, queueName(t.Name, t.Partitions)); err != nil {
				return err
			}
		}
		return fmt.Errorf("there are more than %d queues, the most that kt uses: name another --topic", plan.MaxPartitions)
	})
	return exchange, err
}

func (s *session) finds(ctx context.Context, t *result.Topic, question func(*amqp.Channel) error) (bool, error) {
	err := s.ask(ctx, question)
	switch e := new(amqp.Error); {
	case errors.As(err, &e) && e.Code == amqp.NotFound:
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look up %s: %w", t.Name, explain(err))
	}
	return true, nil
}

func inspect(ch *amqp.Channel, name string) (int64, error) {
	q, err := ch.QueueDeclarePassive(name, true, false, false, false, nil)
	return int64(q.Messages), err
}

// create makes exchanges and their queues, with their leaders on the nodes in turn: each is on the node that it is declared at.
func (s *session) create(ctx context.Context, topics []*result.Topic) error {
	want := &s.plan.Topic
	if n := int(want.ReplicationFactor); n > len(s.cluster.Brokers) && s.management != nil {
		return result.Misfit("--replication-factor %d: the cluster has %s", n, theme.Plural(len(s.cluster.Brokers), "node", "nodes")).About("replication-factor")
	}
	var links []*link
	for _, host := range s.hosts[:min(len(s.hosts), maxNodes)] {
		if l, err := s.connect(ctx, host, "kt"); err == nil { // it was told if not
			links = append(links, l)
			defer l.end()
		}
	}
	if len(links) == 0 {
		return errors.New("no node answers any more")
	}
	args, each := arguments(want), max(1, int(want.Partitions))
	for n := range each * len(topics) {
		t := topics[n/each]
		t.ReplicationFactor = int(want.ReplicationFactor)
		if err := declare(ctx, t, links[n%len(links)], args); err != nil {
			return result.Misfit("create queue %s: %w", queueName(t.Name, t.Partitions), explain(err))
		}
	}
	text := fmt.Sprintf("created exchange %s with %s", topics[0].Name, theme.Plural(each, "queue", "queues"))
	if n := len(topics); n > 1 {
		text = fmt.Sprintf("created %d exchanges: %s and so on (queues of each: %d)", n, topics[0].Name, each)
	}
	s.options.Notify(run.Notice{Kind: run.TopicCreated, Text: text})
	return nil
}

// declare makes the next queue of a topic, and before the first one the exchange.
func declare(ctx context.Context, t *result.Topic, l *link, args amqp.Table) error {
	n := t.Partitions
	return l.within(ctx, answerTimeout, func() error {
		ch, err := l.Channel()
		if err == nil && !t.Created {
			err = ch.ExchangeDeclare(t.Name, amqp.ExchangeDirect, true, false, false, false, nil)
			t.Created = err == nil
		}
		if err == nil {
			_, err = ch.QueueDeclare(queueName(t.Name, n), true, false, false, false, args)
		}
		if err == nil {
			t.Partitions++
			err = ch.QueueBind(queueName(t.Name, n), strconv.Itoa(n), t.Name, false, nil)
		}
		if err == nil {
			err = ch.Close() // a connection has 2047 at most
		}
		return err
	})
}

// arguments returns the arguments of the queues. More than one member has only a quorum queue.
func arguments(t *plan.Topic) amqp.Table {
	args := make(amqp.Table)
	for name, value := range t.Configs {
		switch n, err := strconv.ParseInt(value, 10, 64); {
		case err == nil:
			args[name] = n
		case value == "true" || value == "false":
			args[name] = value == "true"
		default:
			args[name] = value
		}
	}
	if n := t.ReplicationFactor; n > 1 || n == 1 && args["x-queue-type"] == "quorum" {
		args["x-queue-type"], args["x-quorum-initial-group-size"] = "quorum", int64(n)
	}
	return args
}

// Delete deletes the exchanges and the queues that were made for the load. It goes on behind an error, unless the server does not
// answer: each of the others would take as long.
func (s *session) Delete(ctx context.Context) (err error) {
	var late interface{ Timeout() bool }
	for i := range s.topics.All {
		t := &s.topics.All[i]
		if !t.Created {
			continue
		}
		for n := t.Partitions - 1; n >= 0; n-- { // so that what is left is found by its first queues
			_, bad := s.finds(ctx, t, func(ch *amqp.Channel) error {
				_, err := ch.QueueDelete(queueName(t.Name, n), false, false, false)
				return err
			})
			if err = errors.Join(err, bad); errors.As(bad, &late) && late.Timeout() {
				return err
			}
		}
		_, bad := s.finds(ctx, t, func(ch *amqp.Channel) error { return ch.ExchangeDelete(t.Name, false, false) })
		err = errors.Join(err, bad)
	}
	return err
}

// DeleteTopic deletes an exchange and its queues. It is for names that only kt gives. What is not there is no error.
func (s *System) DeleteTopic(ctx context.Context, name string) error {
	topic := plan.Topic{Name: name} // which may mean several
	c := &session{System: s, plan: &plan.Plan{}, topics: queue.Named(topic.Names()), asker: dialer{name: "kt"}}
	defer c.Close()
	for i := range c.topics.All {
		t := &c.topics.All[i]
		if _, err := c.find(ctx, t); err != nil {
			return err
		}
		t.Created = true
	}
	return c.Delete(ctx)
}

// backlog returns how many messages of each queue wait: there, and then on their way to the consumers of this process.
func (s *session) backlog(ctx context.Context) ([]int64, error) {
	waiting := make([]int64, s.topics.Count())
	for i := 0; i < len(waiting); i++ {
		err := s.ask(ctx, func(ch *amqp.Channel) (err error) { // until a queue ends the channel
			for ; i < len(waiting); i++ {
				if queue.Mine(s.plan, int32(i)) { // else another process counts it
					if waiting[i], err = inspect(ch, s.queue(int32(i))); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil && !isDeleted(err) { // one that is deleted has nothing left
			return nil, fmt.Errorf("ask for the messages of queue %s: %w", s.queue(int32(i)), explain(err))
		}
	}
	for q, n := range s.read.onTheirWay() {
		waiting[q] += n
	}
	return waiting, nil
}

// isDeleted reports whether an answer is that a queue is not there. One whose node is down is NOT_FOUND too.
func isDeleted(err error) bool {
	var e *amqp.Error
	return errors.As(err, &e) && e.Code == amqp.NotFound && strings.Contains(e.Reason, "no queue")
}
