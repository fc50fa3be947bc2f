package rabbitmq

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/capture"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/theme"
)

var _ capture.Looker = (*System)(nil)

// The management API keeps counts of an hour by the minute, and of ten minutes by five seconds.
const (
	history, minutely = time.Hour, time.Minute
	recent, steps     = 10 * time.Minute, 5 * time.Second
)

// telling is how many messages have to wait for their mean size to be known: both sums are of moments that are seconds apart.
const telling = 1000

// seen is what the management API says of a queue.
type seen struct {
	Name, Type string
	Members    []string
	Arguments  map[string]any
	Messages   int64
	Bytes      int64 `json:"message_bytes"`
	Stats      struct {
		Publish counted `json:"publish_details"`
		Read    counted `json:"deliver_get_details"`
	} `json:"message_stats"`
}

// counted has how much was counted up to some moments, the newest first.
type counted struct {
	Samples []struct{ Sample, Timestamp int64 } // Unix milliseconds
}

// rates returns how much was counted a second in each of some stages up to the newest moment, the oldest first. Counts that fall began anew.
func (c *counted) rates(stages int, stage time.Duration) []float64 {
	rates := make([]float64, stages)
	for i := 1; i < len(c.Samples); i++ {
		newer := c.Samples[i-1]
		k := stages - 1 - int((c.Samples[0].Timestamp-newer.Timestamp)/stage.Milliseconds())
		if grown := newer.Sample - c.Samples[i].Sample; k >= 0 && grown > 0 {
			rates[k] += float64(grown) / stage.Seconds()
		}
	}
	return rates
}

// Look returns the queues of the virtual host as topics, and those with consumers as groups, as far as the management API tells.
func (s *System) Look(ctx context.Context, l capture.Look, say func(string)) (*capture.Cluster, error) {
	m := s.newManagement()
	var about struct {
		Version string `json:"rabbitmq_version"`
	}
	if err := m.get(ctx, "overview?columns=rabbitmq_version", &about); err != nil {
		text, do := m.unanswered(err)
		return nil, fmt.Errorf("%s (%w): %s", text, err, do)
	}
	c := &capture.Cluster{System: "rabbitmq", Version: about.Version}
	nodes, err := m.nodes(ctx)
	if c.Brokers = len(nodes); err != nil {
		c.Notes = append(c.Notes, "the number of nodes is not known: the user needs the tag monitoring")
	}
	span, stage, stages := min(cmp.Or(l.Live, l.Last), history), l.Stage, 1
	if span < cmp.Or(l.Live, l.Last) {
		c.Notes = append(c.Notes, "the management API keeps counts of the last hour alone")
	}
	if l.Live > 0 {
		say("waiting for " + theme.Duration(l.Live) + " while the nodes count messages")
		if !queue.Pause(ctx, l.Live) {
			return nil, ctx.Err()
		}
	}
	if stage == 0 || l.Live > 0 || span < 2*stage {
		stage = span
	} else {
		stages, c.Stage = int(span/stage), stage
	}
	c.At, c.Last = time.Now(), stage*time.Duration(stages)
	queues, err := m.seen(ctx, c.Last)
	members, unread := m.members(ctx)
	if err = cmp.Or(err, unread); err != nil {
		return nil, fmt.Errorf("the queues of virtual host %s: %w", s.vhost, err)
	}
	topics := topicsOf(queues)
	for _, name := range slices.Sorted(maps.Keys(topics)) {
		t, g := read(name, topics[name], members, stages, stage)
		t.Live = l.Live
		if c.Topics = append(c.Topics, t); g.Members > 0 || g.Lag > 0 {
			c.Groups = append(c.Groups, g)
		}
	}
	return c, nil
}

// read returns a topic and its readers, by what is known of its queues. members are the names of those that read, by queue.
func read(name string, queues []*seen, members map[string][]string, stages int, stage time.Duration) (capture.Topic, capture.Group) {
	t := capture.Topic{Name: name, Partitions: len(queues), Replicas: 1, Configs: make(map[string]string), Rates: make([]float64, stages), Sure: capture.Measured}
	g := capture.Group{Name: name, Topics: []string{name}}
	var messages, bytes int64
	readers := make(map[string]bool)
	for _, q := range queues {
		written, read, own := q.Stats.Publish.rates(stages, stage), q.Stats.Read.rates(stages, stage), 0.0
		for i := range written {
			t.Rates[i], own = t.Rates[i]+written[i], own+written[i]/float64(stages)
			g.Rate += read[i] / float64(stages)
		}
		t.Busiest, g.Written, g.Lag = max(t.Busiest, own), g.Written+own, g.Lag+q.Messages
		messages, bytes = messages+q.Messages, bytes+q.Bytes
		t.Replicas = max(t.Replicas, len(q.Members))
		for k, v := range q.Arguments {
			t.Configs[k] = fmt.Sprint(v)
		}
		if q.Type == "stream" {
			t.Notes = []string{"it is a stream, and kt writes queues"}
		}
		for _, name := range members[q.Name] {
			readers[name] = true
		}
	}
	g.Members = len(readers)
	t.Busiest /= cmp.Or(g.Written, 1)
	if messages >= telling {
		t.Bytes = g.Written * float64(bytes) / float64(messages)
	} else {
		t.Notes = append(t.Notes, "too few messages wait to tell how large they are")
	}
	return t, g
}

// seen returns all queues by their names, with the counts of a time.
func (m *management) seen(ctx context.Context, span time.Duration) (map[string]*seen, error) {
	all, step := make(map[string]*seen), minutely
	if span <= recent {
		step = steps
	}
	columns := fmt.Sprintf("name,type,members,arguments,messages,message_bytes,message_stats.publish_details,message_stats.deliver_get_details&msg_rates_age=%d&msg_rates_incr=%d",
		int(span.Seconds()), int(step.Seconds()))
	for at, pages := 1, 1; at <= min(pages, plan.MaxPartitions/perPage); at++ {
		var queues []*seen
		var err error
		if pages, err = m.page(ctx, at, ".", columns, &queues); err != nil {
			return nil, err
		}
		for _, q := range queues {
			all[q.Name] = q
		}
	}
	return all, nil
}

// members returns the names of the connections that read from each queue.
func (m *management) members(ctx context.Context) (map[string][]string, error) {
	var all []struct {
		Queue   struct{ Name string }
		Channel struct {
			Connection string `json:"connection_name"`
		} `json:"channel_details"`
	}
	err := m.get(ctx, "consumers/"+url.PathEscape(m.system.vhost)+"?columns=queue.name,channel_details.connection_name", &all)
	members := make(map[string][]string)
	for _, c := range all {
		members[c.Queue.Name] = append(members[c.Queue.Name], c.Channel.Connection)
	}
	return members, err
}

// topicsOf returns the queues of each topic, in order. Queues NAME-0, NAME-1 and so on, without a gap, are the partitions of one topic, as
// kt makes them. Any other queue is a topic of its own.
func topicsOf(queues map[string]*seen) map[string][]*seen {
	topics, numbered := make(map[string][]*seen), make(map[string][]*seen)
	number := func(q *seen) int {
		digits := q.Name[strings.LastIndexByte(q.Name, '-')+1:]
		n, err := strconv.Atoi(digits)
		if err != nil || strconv.Itoa(n) != digits || len(digits)+1 >= len(q.Name) {
			return -1
		}
		return n
	}
	for name, q := range queues {
		if topics[name] = []*seen{q}; number(q) >= 0 {
			base := name[:strings.LastIndexByte(name, '-')]
			numbered[base] = append(numbered[base], q)
		}
	}
	for base, all := range numbered {
		slices.SortFunc(all, func(a, b *seen) int { return number(a) - number(b) })
		if number(all[len(all)-1]) != len(all)-1 || queues[base] != nil {
			continue
		}
		for _, q := range all {
			delete(topics, q.Name)
		}
		topics[base] = all
	}
	return topics
}
