package pulsar

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/capture"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

var _ capture.Looker = (*System)(nil)

// counting is the time that the rates of the brokers are of.
const counting = time.Minute

// head returns about how many bytes the brokers count for a message beside its own, where so many are stored together.
func head(together float64) float64 {
	if together < 2 {
		return 40
	}
	return 5 + 55/together
}

// Look returns the topics of the namespace and their subscriptions, as the brokers count them.
func (s *System) Look(ctx context.Context, l capture.Look, say func(string)) (*capture.Cluster, error) {
	c := s.reach(ctx, plan.Topic{})
	var names []string // of all partitions, and of topics without any
	if err := c.admin.Get(ctx, "/admin/v2/persistent/"+s.namespace, &names); err != nil {
		return nil, fmt.Errorf("list the topics of namespace %s: %w; ?admin=http://HOST:PORT behind --url says where the admin API is, and url.password=TOKEN in the file of --command-config logs in", s.namespace, err)
	}
	c.lay(names)
	_, version, _ := strings.Cut(c.cluster.Version, " ")
	found := &capture.Cluster{System: "pulsar", Version: version, Brokers: len(c.watched), Last: cmp.Or(l.Live, counting)}
	if l.Live == 0 {
		found.Notes = append(found.Notes, "Pulsar's brokers tell rates of the last minute alone: --live measures over a longer time")
	}
	now, errs := c.stats(ctx)
	count := func(_ int32, p *partitionStats) *partitionStats { return p }
	if l.Live > 0 {
		before, began := now, time.Now()
		say("waiting for " + theme.Duration(l.Live) + " while the brokers count messages")
		if !queue.Pause(ctx, l.Live) {
			return nil, ctx.Err()
		}
		now, errs = c.stats(ctx)
		took := time.Since(began)
		count = func(n int32, p *partitionStats) *partitionStats { return p.since(before[n], took) }
	}
	found.At = time.Now()
	for i := range c.topics.All {
		t := &c.topics.All[i]
		topic := capture.Topic{Name: t.Name, Partitions: t.Partitions, Sure: capture.Measured, Live: l.Live, Rates: []float64{0}}
		if errs[i] != nil {
			topic.Notes = append(topic.Notes, "the admin API does not tell what the brokers count of it")
		}
		var bookies persistence
		_ = c.admin.Get(ctx, c.path(t)+"/persistence?applied=true", &bookies) // else nothing is known of them
		topic.Replicas = max(1, bookies.WriteQuorum)
		var counted []*partitionStats
		for id := range t.Partitions {
			if n := c.topics.Number(t.Name, id); now[n] != nil {
				counted = append(counted, count(n, now[n]))
			}
		}
		groups := read(&topic, counted)
		for _, name := range slices.Sorted(maps.Keys(groups)) {
			found.Groups = append(found.Groups, *groups[name])
		}
		found.Topics = append(found.Topics, topic)
	}
	slices.SortStableFunc(found.Groups, func(a, b capture.Group) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}

// read completes a topic by what was counted of its partitions, and returns its subscriptions by name.
func read(t *capture.Topic, counted []*partitionStats) map[string]*capture.Group {
	groups, together, consumers := make(map[string]*capture.Group), 0.0, 0.0
	for _, p := range counted {
		t.Rates[0], t.Bytes = t.Rates[0]+p.MsgRateIn, t.Bytes+p.MsgThroughputIn
		t.Producers, t.Busiest = max(t.Producers, len(p.Publishers)), max(t.Busiest, p.MsgRateIn)
		for name, of := range p.Subscriptions {
			g := groups[name]
			if g == nil {
				g = &capture.Group{Name: name, Protocol: strings.ToLower(of.Type), Topics: []string{t.Name}}
				groups[name] = g
			}
			g.Members, g.Rate, g.Lag = max(g.Members, len(of.Consumers)), g.Rate+of.MsgRateOut, g.Lag+p.backlog(name)
			for _, reader := range of.Consumers {
				if n := float64(reader.AvgMessagesPerEntry); n > 0 {
					together, consumers = together+n, consumers+1
				}
			}
		}
	}
	mean := t.Rates[0]
	t.Bytes = max(0, t.Bytes-mean*head(together/max(1, consumers)))
	if t.Busiest /= cmp.Or(mean, 1); len(counted) < t.Partitions {
		t.Busiest = 0 // of some it is not known
	}
	for _, g := range groups {
		g.Written = mean
	}
	return groups
}

// lay finds the topics among the names of partitions, and of topics without any. It leaves out those of Pulsar itself.
func (s *session) lay(names []string) {
	partitions := make(map[string]int) // 0: the topic has none
	for _, name := range names {
		topic, digits, several := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], partitionOf)
		if n, err := strconv.Atoi(digits); !strings.HasPrefix(topic, "__") {
			partitions[topic] = max(partitions[topic], map[bool]int{true: n + 1}[several && err == nil && n < plan.MaxPartitions])
		}
	}
	var all []result.Topic
	for _, name := range slices.Sorted(maps.Keys(partitions)) {
		all = append(all, result.Topic{Name: name, Partitions: max(1, partitions[name])})
	}
	s.topics = queue.NewLayout(all...)
	for i := range all {
		if partitions[all[i].Name] == 0 {
			s.topics.All[i].Leaders = nil // as single has it
		}
	}
}

// since returns what was counted since an earlier answer, nil for none, with the rates over that time. Counts that fall began anew.
func (p *partitionStats) since(before *partitionStats, took time.Duration) *partitionStats {
	before = cmp.Or(before, new(partitionStats))
	rate := func(now, before int64) float64 {
		if before > now {
			before = 0
		}
		return float64(now-before) / took.Seconds()
	}
	all := *p
	all.MsgRateIn, all.MsgThroughputIn = rate(p.MsgInCounter, before.MsgInCounter), rate(p.BytesInCounter, before.BytesInCounter)
	all.Subscriptions = maps.Clone(p.Subscriptions)
	for name, of := range all.Subscriptions {
		of.MsgRateOut = rate(of.MsgOutCounter, before.Subscriptions[name].MsgOutCounter)
		all.Subscriptions[name] = of
	}
	return &all
}
