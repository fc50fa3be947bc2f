package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/watch"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

const (
	checkServers = "correct --bootstrap-server, or start a broker there"
	checkName    = "correct the name in --bootstrap-server, or let DNS or /etc/hosts know it"
)

// server adds a check of a bootstrap server that did not answer. Its error is "ADDRESS: cause".
func (e *examination) server(state State, err error) {
	c := Check{Name: "bootstrap", State: state, Text: err.Error()}
	if cause := errors.Unwrap(err); cause != nil {
		c.About, c.Text = strings.TrimSuffix(err.Error(), ": "+cause.Error()), cause.Error()
	}
	switch {
	case strings.Contains(c.Text, "no such host"): // as the resolver of Go says of a name without an address
		c.Advice = checkName
	case !strings.Contains(c.Text, ": "):
		c.Advice = checkServers
	}
	e.add(c)
}

func (e *examination) listeners(ctx context.Context) {
	for i, l := range e.cluster.Listeners(ctx) { // in the order of the brokers
		about := aboutBroker(l.Broker)
		if l.Cause != nil {
			e.fail("listener", about, l.Advice, "advertises %s: %v", l.Addr, l.Cause)
			continue
		}
		e.answering = append(e.answering, e.Cluster.Brokers[i])
		e.pass("listener", about, "advertises %s (%s), which resolves and answers from here", l.Addr, strings.Join(l.IPs, ", "))
	}
}

const (
	trips = 20                    // requests to each broker
	far   = 10 * time.Millisecond // the round trip above which a client is not beside the brokers
)

type trip struct {
	cluster string          // the id of its cluster
	times   []time.Duration // the shortest first
	err     error
}

// roundTrips times requests to each broker over an open connection. A broker of another cluster counts as one that does not
// answer: a client that asks it would take over its cluster.
func (e *examination) roundTrips(ctx context.Context) {
	all := make([]trip, len(e.answering))
	var wg sync.WaitGroup
	for i, b := range e.answering {
		wg.Go(func() { all[i] = e.ask(ctx, b.Addr) })
	}
	wg.Wait()
	var ours []result.Broker
	for i, b := range e.answering {
		about, t := aboutBroker(b.ID), all[i]
		switch {
		case t.err != nil:
			e.fail("round trip", about, "look at the log of the broker", "%s does not answer a request: %v", b.Addr, t.err)
			continue
		case t.cluster != e.Cluster.ID:
			e.fail("cluster", about, "correct its advertised.listeners, or what the name means here",
				"%s is a broker of another cluster (%s, not %s)", b.Addr, t.cluster, e.Cluster.ID)
			continue
		}
		ours = append(ours, b)
		least, p99 := t.times[0], t.times[(trips*99+99)/100-1]
		c := Check{
			Name: "round trip", About: about, State: Pass, Text: fmt.Sprintf("min %s, p99 %s of %d", theme.Duration(least), theme.Duration(p99), trips),
			Figures: map[string]int64{"min_us": least.Microseconds(), "p99_us": p99.Microseconds()},
		}
		if least > far {
			c.State, c.Advice = Warn, "run kt beside the brokers: each latency has this on top"
		}
		e.add(c)
	}
	e.answering = ours
	e.pass("cluster", "", "id %s, Kafka %s, %s", e.Cluster.ID, strings.TrimPrefix(e.Cluster.Version, "v"), theme.Plural(len(e.Cluster.Brokers), "broker", "brokers"))
}

// ask times requests to the server at an address. Its client knows no other address.
func (e *examination) ask(ctx context.Context, addr string) (t trip) {
	client, err := e.cluster.Client(append(e.clientOptions(), kgo.SeedBrokers(addr))...)
	if err != nil {
		return trip{err: err}
	}
	defer client.Close()
	broker := client.SeedBrokers()[0]
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}  // none
	answer, err := req.RequestWith(ctx, broker) // and it connects
	if err != nil {
		return trip{err: err}
	}
	if answer.ClusterID != nil {
		t.cluster = *answer.ClusterID
	}
	for range trips {
		begun := time.Now()
		if _, err := req.RequestWith(ctx, broker); err != nil {
			return trip{err: err}
		}
		t.times = append(t.times, time.Since(begun))
	}
	slices.Sort(t.times)
	return t
}

func (e *examination) versions(ctx context.Context) {
	answers, err := e.admin.ApiVersions(ctx)
	if err != nil {
		e.unread("versions", "", "", err)
		return
	}
	var first *kmsg.ApiVersionsResponse
	guesses := make(map[string][]string)
	for _, a := range answers.Sorted() {
		if a.Err != nil {
			continue // its listener is a check of its own
		}
		guess := strings.TrimPrefix(a.VersionGuess(), "v")
		guesses[guess] = append(guesses[guess], fmt.Sprint(a.NodeID))
		if first == nil {
			first = a.Raw()
		}
	}
	if first == nil {
		return
	}
	if len(guesses) > 1 {
		var each []string
		for guess, ids := range guesses {
			each = append(each, fmt.Sprintf("%s: Kafka %s", strings.Join(ids, ", "), guess))
		}
		slices.Sort(each)
		e.warn("versions", "", "finish the upgrade before you measure", "brokers are of different versions (%s)", strings.Join(each, "; "))
	} else {
		e.pass("versions", "", "all brokers offer %s of Kafka %s", theme.Plural(len(first.ApiKeys), "request", "requests"), strings.TrimPrefix(e.Cluster.Version, "v"))
	}
	e.features(first)
	e.shareGroups(ctx, first)
}

// shareGroups says whether the cluster has share groups, and what bounds them. A load that has none needs nothing of it.
func (e *examination) shareGroups(ctx context.Context, answer *kmsg.ApiVersionsResponse) {
	const name, feature, replicas = "share groups", "share.version", "share.coordinator.state.topic.replication.factor"
	able := slices.ContainsFunc(answer.SupportedFeatures, func(f kmsg.ApiVersionsResponseSupportedFeature) bool { return f.Name == feature && f.MaxVersion > 0 })
	if err := e.cluster.CheckShare(ctx, 0); err != nil {
		e.pass(name, "", "off: %s is 0%s", feature, map[bool]string{true: "; kafka-features upgrade --feature share.version=1 turns them on", false: ", and the brokers have none; Kafka 4.2 has them"}[able])
		return
	}
	of, err := kafka.Values(e.admin.DescribeBrokerConfigs(ctx, e.answering[0].ID))
	if err != nil {
		e.unread(name, "", "DescribeConfigs on the cluster", err)
		return
	}
	if n, _ := strconv.Atoi(of[replicas]); n > len(e.Cluster.Brokers) {
		e.warn(name, "", fmt.Sprintf("set %s and share.coordinator.state.topic.min.isr to %d at most, unless the topic __share_group_state is there", replicas, len(e.Cluster.Brokers)),
			"%s is %d with %s: no share group can begin", replicas, n, theme.Plural(len(e.Cluster.Brokers), "broker", "brokers"))
		return
	}
	var bounds []string
	for _, key := range []string{"max.size", "partition.max.record.locks", "record.lock.duration.ms", "delivery.count.limit"} {
		if v := of["group.share."+key]; v != "" {
			bounds = append(bounds, "group.share."+key+" "+v)
		}
	}
	e.pass(name, "", "%s is 1 or more: %s", feature, cmp.Or(strings.Join(bounds, ", "), "the brokers do not say what bounds them"))
}

// features checks that the feature level is the highest that the brokers support. Clusters with ZooKeeper have none.
func (e *examination) features(answer *kmsg.ApiVersionsResponse) {
	const level = "metadata.version"
	at := slices.IndexFunc(answer.FinalizedFeatures, func(f kmsg.ApiVersionsResponseFinalizedFeature) bool { return f.Name == level })
	most := slices.IndexFunc(answer.SupportedFeatures, func(f kmsg.ApiVersionsResponseSupportedFeature) bool { return f.Name == level })
	switch {
	case at < 0 || most < 0:
		e.unknown("features", "", "the brokers name no feature level (metadata.version)")
	case answer.FinalizedFeatures[at].MaxVersionLevel < answer.SupportedFeatures[most].MaxVersion:
		e.warn("features", "", "finish the upgrade: kafka-features upgrade --release-version VERSION", "metadata.version is %d, and the brokers could use %d",
			answer.FinalizedFeatures[at].MaxVersionLevel, answer.SupportedFeatures[most].MaxVersion)
	default:
		e.pass("features", "", "metadata.version is %d, the highest that the brokers support", answer.FinalizedFeatures[at].MaxVersionLevel)
	}
}

// controller finds the controller. Of a KRaft cluster only the quorum knows it.
func (e *examination) controller(ctx context.Context) {
	leader, _, err := watch.QuorumLeader(ctx, e.client.Broker(int(e.answering[0].ID)))
	switch {
	case errors.Is(err, watch.ErrNoQuorum):
		leader = e.Cluster.Controller
	case err != nil:
		e.unread("controller", "", "Describe on the cluster", err)
		return
	}
	if leader < 0 {
		e.fail("controller", "", "look at the logs of the controllers: no topic can be made and no leader elected", "the cluster has none")
		return
	}
	e.Cluster.Controller = leader
	role := "a node that is no broker"
	if slices.ContainsFunc(e.Cluster.Brokers, func(b result.Broker) bool { return b.ID == leader }) {
		role = "a broker too"
	}
	e.pass("controller", "", "node %d, %s", leader, role)
}

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

// imbalance is the share of partitions not led as preferred above which Kafka moves leaders (leader.imbalance.per.broker.percentage).
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
