package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/theme"
)

// layout checks the partitions of all topics that this client may see: their leaders and replicas.
func (e *examination) layout(ctx context.Context) {
	m, err := e.admin.Metadata(ctx)
	if err != nil {
		e.unread("replicas", "", "Describe on topics", err)
		return
	}
	s := spread{leads: make(map[int32]int)}
	for _, t := range m.Topics.Sorted() {
		for _, p := range t.Partitions.Sorted() {
			s.add(p, p.Topic == e.Topic)
		}
	}
	e.replicas(&s)
	e.leadership(&s)
}

// spread is how partitions lie on brokers.
type spread struct {
	partitions, led int
	leaderless      []string // TOPIC-PARTITION
	ours            bool     // one of them is of the load's topic
	behind          int      // partitions with a replica that is not in sync
	missing         []int32  // the brokers of these replicas
	moved           int      // partitions whose leader is not the preferred one
	leads           map[int32]int
}

func (s *spread) add(p kadm.PartitionDetail, ours bool) {
	s.partitions++
	if p.Leader < 0 || p.Err != nil && len(p.Replicas) == 0 {
		s.leaderless = append(s.leaderless, fmt.Sprintf("%s-%d", p.Topic, p.Partition))
		s.ours = s.ours || ours
		return
	}
	s.led++
	s.leads[p.Leader]++
	if p.Leader != p.Replicas[0] {
		s.moved++
	}
	if len(p.ISR) < len(p.Replicas) {
		s.behind++
	}
	for _, r := range p.Replicas {
		if !slices.Contains(p.ISR, r) && !slices.Contains(s.missing, r) {
			s.missing = append(s.missing, r)
		}
	}
}

func (e *examination) replicas(s *spread) {
	if n := len(s.leaderless); n > 0 {
		c := Check{
			Name: "replicas", State: Warn, Text: fmt.Sprintf("%s without a leader: %s", theme.Plural(n, "partition", "partitions"), kafka.Some(s.leaderless)),
			Advice: "start the brokers that have their replicas",
		}
		if s.ours {
			c.State = Fail // of the load's topic
		}
		e.add(c)
	}
	if s.behind > 0 {
		slices.Sort(s.missing)
		e.warn("replicas", "", "wait until they are, or start the brokers: catching up takes disk and network from a load",
			"%s of %d have replicas that are not in sync, on broker %s", theme.Plural(s.behind, "partition", "partitions"), s.partitions, strings.Trim(fmt.Sprint(s.missing), "[]"))
	} else if len(s.leaderless) == 0 && s.partitions > 0 {
		e.pass("replicas", "", "all replicas of %s are in sync", theme.Plural(s.partitions, "partition", "partitions"))
	}
}

// imbalance is the share of partitions without their preferred leader above which Kafka itself moves leaders
// (leader.imbalance.per.broker.percentage).
const imbalance = 0.10

func (e *examination) leadership(s *spread) {
	if s.led == 0 {
		e.pass("leadership", "", "there are no partitions yet")
		return
	}
	var each []string
	busiest := e.Cluster.Brokers[0].ID
	for _, b := range e.Cluster.Brokers {
		each = append(each, fmt.Sprintf("broker %d: %d", b.ID, s.leads[b.ID]))
		if s.leads[b.ID] > s.leads[busiest] {
			busiest = b.ID
		}
	}
	of := fmt.Sprintf("leaders of %s: %s", theme.Plural(s.led, "partition", "partitions"), kafka.Some(each))
	even := float64(s.led) / float64(len(e.Cluster.Brokers))
	switch most := float64(s.leads[busiest]); {
	case float64(s.moved) > imbalance*float64(s.led):
		advice := "kafka-leader-election --election-type preferred --all-topic-partitions"
		if s.behind > 0 {
			advice = "once replicas are in sync: " + advice
		}
		e.warn("leadership", "", advice,
			"%d of %d partitions are not led by their preferred replica (%s)", s.moved, s.led, of)
	case most > 1.5*even && most > even+1:
		e.warn("leadership", "", "move partitions with kafka-reassign-partitions, or make the topic anew", "broker %d leads more than its share (%s)", busiest, of)
	default:
		e.pass("leadership", "", "%s", of)
	}
}
