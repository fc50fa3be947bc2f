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

// queue returns the name of the queue of a partition, which is its key behind that of the exchange.
func (s *session) queue(partition int) string { return s.topic.Name + "-" + strconv.Itoa(partition) }

func (s *session) prepare(ctx context.Context) error {
	t := &s.plan.Topic
	s.topic = result.Topic{Name: t.Name, Leaders: map[int32]int32{}, Configs: map[string]string{}}
	exchange, err := s.find(ctx)
	if err != nil {
		return err
	}
	have := s.topic.Partitions
	switch {
	case exchange != (have > 0):
		return result.Misfit("only one of exchange %s and queue %s-0 is there, and kt adds nothing to what it did not make; name another --topic", t.Name, t.Name)
	case have == 0 && !s.plan.Writes():
		return result.Misfit("exchange %s %w; kt produce makes it", t.Name, plan.ErrNoTopic)
	case have == 0:
		err = s.create(ctx, max(1, int(t.Partitions)))
	}
	if err == nil && s.management != nil {
		if s.more, err = s.management.describeQueues(ctx, &s.topic, s.cluster.Brokers); err == nil && s.plan.Writes() {
			err = s.management.checkExchange(ctx, t.Name)
		}
		if !errors.As(err, new(*result.MisfitError)) { // if it knows nothing now, it is asked again
			err = nil
		}
	}
	switch members := s.topic.ReplicationFactor; {
	case err != nil:
		return errors.Join(err, s.Delete(context.WithoutCancel(ctx))) // queues of this run may be of the type of the virtual host
	case have == 0:
		return nil
	case members == 0 && t.ReplicationFactor > 0:
		return result.Misfit("--replication-factor %d: only the management API tells how many members the queues of %s have, and it does not; leave the flag out, or name another --topic", t.ReplicationFactor, t.Name).About("replication-factor")
	default:
		return s.topic.Fits(*t)
	}
}

// findTimeout is how long looking for all queues may take, and asking the management API about them.
const findTimeout = time.Minute

// find looks for the exchange, and for queues until one is not there.
func (s *session) find(ctx context.Context) (exchange bool, err error) {
	late := fmt.Errorf("looking for its queues took longer than %s: check the log of the server", findTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, findTimeout, late)
	defer cancel()
	exchange, err = s.finds(ctx, func(ch *amqp.Channel) error {
		return ch.ExchangeDeclarePassive(s.topic.Name, amqp.ExchangeDirect, true, false, false, false, nil)
	})
	if err != nil {
		return false, err
	}
	_, err = s.finds(ctx, func(ch *amqp.Channel) error {
		for ; s.topic.Partitions < plan.MaxPartitions; s.topic.Partitions++ {
			if _, err := inspect(ch, s.queue(s.topic.Partitions)); err != nil {
				return err
			}
		}
		return fmt.Errorf("there are more than %d queues, the most that kt uses: name another --topic", plan.MaxPartitions)
	})
	return exchange, err
}

func (s *session) finds(ctx context.Context, question func(*amqp.Channel) error) (bool, error) {
	err := s.ask(ctx, question)
	switch e := new(amqp.Error); {
	case errors.As(err, &e) && e.Code == amqp.NotFound:
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look up %s: %w", s.topic.Name, explain(err))
	}
	return true, nil
}

func inspect(ch *amqp.Channel, name string) (int64, error) {
	q, err := ch.QueueDeclarePassive(name, true, false, false, false, nil)
	return int64(q.Messages), err
}

// create makes the exchange and the queues, with their leaders on the nodes in turn: each is on the node that it is declared at.
func (s *session) create(ctx context.Context, queues int) error {
	t := &s.plan.Topic
	if n := int(t.ReplicationFactor); n > len(s.cluster.Brokers) && s.management != nil {
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
	args := arguments(t)
	for n := range queues {
		if err := s.declare(ctx, links[n%len(links)], args); err != nil {
			return result.Misfit("create queue %s: %w", s.queue(n), explain(err))
		}
	}
	s.topic.ReplicationFactor = int(t.ReplicationFactor)
	s.options.Notify(run.Notice{Kind: run.TopicCreated, Text: fmt.Sprintf("created exchange %s with %s", t.Name, theme.Plural(queues, "queue", "queues"))})
	return nil
}

// declare makes the next queue, and before the first one the exchange.
func (s *session) declare(ctx context.Context, l *link, args amqp.Table) error {
	n := s.topic.Partitions
	return l.within(ctx, answerTimeout, func() error {
		ch, err := l.Channel()
		if err == nil && !s.topic.Created {
			err = ch.ExchangeDeclare(s.topic.Name, amqp.ExchangeDirect, true, false, false, false, nil)
			s.topic.Created = err == nil
		}
		if err == nil {
			_, err = ch.QueueDeclare(s.queue(n), true, false, false, false, args)
		}
		if err == nil {
			s.topic.Partitions++
			err = ch.QueueBind(s.queue(n), strconv.Itoa(n), s.topic.Name, false, nil)
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

// Delete deletes the exchange and the queues that were made for the load. It goes on behind an error, unless the server does not
// answer: each of the others would take as long.
func (s *session) Delete(ctx context.Context) (err error) {
	if !s.topic.Created {
		return nil
	}
	for n := s.topic.Partitions - 1; n >= 0; n-- { // so that what is left is found by its first queues
		_, bad := s.finds(ctx, func(ch *amqp.Channel) error { _, err := ch.QueueDelete(s.queue(n), false, false, false); return err })
		err = errors.Join(err, bad)
		var late interface{ Timeout() bool }
		if errors.As(bad, &late) && late.Timeout() {
			return err
		}
	}
	_, bad := s.finds(ctx, func(ch *amqp.Channel) error { return ch.ExchangeDelete(s.topic.Name, false, false) })
	return errors.Join(err, bad)
}

// DeleteTopic deletes an exchange and its queues. It is for names that only kt gives. What is not there is no error.
func (s *System) DeleteTopic(ctx context.Context, name string) error {
	c := &session{System: s, plan: &plan.Plan{}, topic: result.Topic{Name: name, Created: true}, asker: dialer{name: "kt"}}
	defer c.Close()
	if _, err := c.find(ctx); err != nil {
		return err
	}
	return c.Delete(ctx)
}

// backlog returns how many messages of each queue wait: there, and then on their way to the consumers of this process.
func (s *session) backlog(ctx context.Context) ([]int64, error) {
	waiting := make([]int64, s.topic.Partitions)
	for i := 0; i < len(waiting); i++ {
		err := s.ask(ctx, func(ch *amqp.Channel) (err error) { // until a queue ends the channel
			for ; i < len(waiting); i++ {
				if queue.Mine(s.plan, int32(i)) { // else another process counts it
					if waiting[i], err = inspect(ch, s.queue(i)); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil && !isDeleted(err) { // one that is deleted has nothing left
			return nil, fmt.Errorf("ask for the messages of queue %s: %w", s.queue(i), explain(err))
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
