package doctor

import (
	"context"
	"errors"
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
)

// cluster is a fake cluster of a test.
type cluster struct {
	*kfake.Cluster
	t      *testing.T
	frozen bool // see metadata
}

func start(t *testing.T, opts ...kfake.Opt) *cluster {
	t.Helper()
	fake := must.Have(kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(3)}, opts...)...))(t)
	t.Cleanup(fake.Close)
	return &cluster{Cluster: fake, t: t}
}

// admin returns a client of the test's own.
func (c *cluster) admin() *kadm.Client {
	client := must.Have(kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...)))(c.t)
	c.t.Cleanup(client.Close)
	return kadm.NewClient(client)
}

// answer makes the brokers answer one kind of request otherwise, for good.
func (c *cluster) answer(r kmsg.Request, with func(kmsg.Request) kmsg.Response) {
	c.ControlKey(r.Key(), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		answer := with(r)
		return answer, nil, answer != nil
	})
}

// fails makes the brokers refuse what requests of one kind ask for.
func (c *cluster) fails(key kmsg.Key, code *kerr.Error) {
	c.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Err: code, Count: -1})
}

// topic makes a topic with 3 replicas and these settings.
func (c *cluster) topic(name string, partitions int32, settings ...string) {
	c.t.Helper()
	configs := make(map[string]*string)
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		configs[key] = &value
	}
	answer, err := c.admin().CreateTopic(c.t.Context(), partitions, 3, configs, name)
	if err == nil {
		err = answer.Err
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// examine examines the cluster for a load of an hour on topic orders.
func (c *cluster) examine(change ...func(*Options)) *Report {
	c.t.Helper()
	o := Options{
		Access: kafka.Access{Bootstrap: c.ListenAddrs()[:1], Timeout: 2 * time.Second}, Topic: "orders", Duration: time.Hour,
		ClientIDs: []string{"kt-producer", "perf-consumer-client"}, ReadOnly: c.frozen, Now: time.Now(),
	}
	for _, f := range change {
		f(&o)
	}
	return must.Have(Examine(c.t.Context(), o))(c.t)
}

// left returns the topics and groups of examinations that are there.
func (c *cluster) left() (left []string) {
	c.t.Helper()
	if c.frozen {
		return nil
	}
	topics := must.Have(c.admin().ListTopics(c.t.Context()))(c.t)
	groups := must.Have(c.admin().ListGroups(c.t.Context()))(c.t)
	for _, name := range append(topics.Names(), groups.Groups()...) {
		if strings.HasPrefix(name, ownPrefix) {
			left = append(left, name)
		}
	}
	return left
}

// find returns the checks of a name.
func find(r *Report, name string) (found []Check) {
	for _, c := range r.Checks {
		if c.Name == name {
			found = append(found, c)
		}
	}
	return found
}

func TestAHealthyClusterPassesEveryCheck(t *testing.T) {
	c := start(t)
	c.topic("orders", 9)
	for p := range int32(9) { // the fake cluster spreads them by chance
		must.Do(t, c.MoveTopicPartition("orders", p, p%3))
	}
	r := c.examine()
	for name, n := range map[string]int{
		"bootstrap": 1, "listener": 3, "round trip": 3, "cluster": 1, "versions": 1, "controller": 1, "replicas": 1, "leadership": 1,
		"settings": 1, "quotas": 1, "create": 1, "describe": 1, "write": 1, "read": 1, "clock": 1, "commit": 1, "delete": 1, "share groups": 2,
	} {
		found := find(r, name)
		must.Match(t, n, len(found), "checks %s", name)
		for _, one := range found {
			must.True(t, one.State == Pass && one.Advice == "" && one.Text != "", "%+v", one)
		}
	}
	for _, trip := range find(r, "round trip") {
		f := trip.Figures
		must.True(t, f["min_us"] > 0 && f["p99_us"] >= f["min_us"], "%v", f)
	}
	if left := c.left(); r.Failed() || r.Cluster.ID == "" || len(r.Cluster.Brokers) != 3 || len(left) > 0 {
		t.Errorf("failed %v, cluster %+v, left %q", r.Failed(), r.Cluster, left)
	}
}

// Every kind of trouble, and the line that tells it.
func TestTroubleIsNamed(t *testing.T) {
	for _, tc := range []struct {
		name         string
		opts         []kfake.Opt
		prepare      func(*cluster)
		check, about string
		state        State
		text, advice string
	}{
		{
			name: "a broker that hung up", prepare: func(c *cluster) { c.listens(0, "127.0.0.1:1") },
			check: "listener", about: "broker 0", state: Fail, text: "advertises 127.0.0.1:1: connection refused", advice: "advertised.listeners of broker 0",
		},
		{
			name: "a name that does not resolve", prepare: func(c *cluster) { c.listens(2, "no-such-host.invalid:9092") },
			check: "listener", about: "broker 2", state: Fail, text: "the name does not resolve from here", advice: "DNS or /etc/hosts",
		},
		{
			name: "another cluster", prepare: func(c *cluster) {
				c.listens(1, start(c.t, kfake.NumBrokers(1), kfake.ClusterID("other")).ListenAddrs()[0])
			},
			check: "cluster", about: "broker 1", state: Fail, text: "is a broker of another cluster (other, not kfake)", advice: "advertised.listeners",
		},
		{
			name: "a partition without a leader", prepare: func(c *cluster) {
				c.topic("orders", 3)
				c.partition("orders", func(p *kmsg.MetadataResponseTopicPartition) { p.Leader, p.ErrorCode = -1, kerr.LeaderNotAvailable.Code })
			},
			check: "replicas", state: Fail, text: "3 partitions without a leader: orders-0", advice: "start the brokers",
		},
		{
			name: "a partition of another topic without a leader", prepare: func(c *cluster) {
				c.topic("other", 1)
				c.partition("other", func(p *kmsg.MetadataResponseTopicPartition) { p.Leader, p.ErrorCode = -1, kerr.LeaderNotAvailable.Code })
			},
			check: "replicas", state: Warn, text: "1 partition without a leader: other-0",
		},
		{
			name: "replicas behind", prepare: func(c *cluster) {
				c.topic("orders", 3)
				c.partition("orders", func(p *kmsg.MetadataResponseTopicPartition) {
					p.Leader, p.Replicas, p.ISR = 0, []int32{0, 1, 2}, []int32{0, 2}
				})
			},
			check: "replicas", state: Warn, text: "3 partitions of 3 have replicas that are not in sync, on broker 1", advice: "wait until they are",
		},
		{
			name: "leaders that are not preferred", prepare: func(c *cluster) {
				c.topic("orders", 3)
				c.partition("orders", func(p *kmsg.MetadataResponseTopicPartition) {
					p.Leader, p.Replicas, p.ISR = 1, []int32{0, 1}, []int32{0, 1}
				})
			},
			check: "leadership", state: Warn, text: "3 of 3 partitions are not led by their preferred replica", advice: "kafka-leader-election",
		},
		{
			name: "a broker that leads everything", prepare: func(c *cluster) {
				c.topic("orders", 6)
				c.partition("orders", func(p *kmsg.MetadataResponseTopicPartition) {
					p.Leader, p.Replicas, p.ISR = 1, []int32{1, 0}, []int32{0, 1}
				})
			},
			check: "leadership", state: Warn, text: "broker 1 leads more than its share (leaders of 6 partitions: broker 0: 0, broker 1: 6", advice: "kafka-reassign-partitions",
		},
		{
			name: "min.insync.replicas of a topic", prepare: func(c *cluster) { c.topic("orders", 1, "min.insync.replicas=4") },
			check: "settings", about: "topic orders", state: Fail, text: "min.insync.replicas 4 is above the 3 replicas", advice: "to 3 at most",
		},
		{
			name: "min.insync.replicas of the brokers", opts: []kfake.Opt{kfake.BrokerConfigs(map[string]string{"min.insync.replicas": "5", "default.replication.factor": "2"})},
			check: "settings", about: "new topics", state: Fail, text: "min.insync.replicas 5 is above the 2 replicas", advice: "to 2 at most",
		},
		{
			name: "too few replicas in sync", prepare: func(c *cluster) {
				c.topic("orders", 1, "min.insync.replicas=2")
				c.partition("orders", func(p *kmsg.MetadataResponseTopicPartition) { p.Replicas, p.ISR = []int32{0, 1, 2}, []int32{0} })
			},
			check: "settings", about: "topic orders", state: Fail, text: "min.insync.replicas is 2, and of a partition only 1 replica is in sync",
		},
		{
			name: "retention", prepare: func(c *cluster) { c.topic("orders", 1, "retention.ms=60000") },
			check: "settings", about: "topic orders", state: Warn, text: "records are kept for 1m00s, and the load takes 1h00m", advice: "raise retention.ms",
		},
		{
			name: "compression by the brokers", prepare: func(c *cluster) { c.topic("orders", 1, "compression.type=zstd") },
			check: "settings", about: "topic orders", state: Warn, text: "compression.type is zstd", advice: "--compression zstd",
		},
		{
			name: "a flush after each record", prepare: func(c *cluster) { c.topic("orders", 1, "flush.messages=1") },
			check: "settings", about: "topic orders", state: Warn, text: "flush.messages is 1",
		},
		{
			name: "settings that may not be read", prepare: func(c *cluster) {
				c.topic("orders", 1)
				c.fails(kmsg.DescribeConfigs, kerr.TopicAuthorizationFailed)
			},
			check: "settings", about: "topic orders", state: Unknown, text: "it cannot be read: TOPIC_AUTHORIZATION_FAILED", advice: "allow Describe and DescribeConfigs on topic orders",
		},
		{
			name: "a quota", prepare: func(c *cluster) { c.quota("client-id", "kt-producer", "producer_byte_rate", 1<<20) },
			check: "quotas", about: "client-id kt-producer", state: Warn, text: "producer_byte_rate 1 MiB/s", advice: "raise it, or stay below",
		},
		{
			name: "a quota of others", prepare: func(c *cluster) { c.quota("client-id", "somebody", "producer_byte_rate", 1) },
			check: "quotas", state: Pass, text: "none applies to client ids kt-producer, perf-consumer-client",
		},
		{
			name: "no right to make a topic", prepare: func(c *cluster) { c.topic("orders", 1); c.fails(kmsg.CreateTopics, kerr.TopicAuthorizationFailed) },
			check: "create", state: Warn, text: "this client may not make a topic", advice: "name a topic that exists",
		},
		{
			name: "no right to make the topic of the load", prepare: func(c *cluster) { c.fails(kmsg.CreateTopics, kerr.TopicAuthorizationFailed) },
			check: "rights", about: "topic orders", state: Fail, text: "it does not exist, and this client may not make it",
		},
		{
			name: "a topic that this client may use", prepare: func(c *cluster) { c.permit(kmsg.ACLOperationRead, kmsg.ACLOperationWrite) },
			check: "rights", about: "topic orders", state: Pass, text: "this client may write and read it",
		},
		{
			name: "a topic that this client may read", prepare: func(c *cluster) { c.permit(kmsg.ACLOperationRead) },
			check: "rights", about: "topic orders", state: Warn, text: "may read it, and not write", advice: "allow Write on topic orders",
		},
		{
			name: "a topic that this client may write", prepare: func(c *cluster) { c.permit(kmsg.ACLOperationWrite) },
			check: "rights", about: "topic orders", state: Warn, text: "may write it, and not read", advice: "allow Read on topic orders",
		},
		{
			name: "a topic that this client may only see", prepare: func(c *cluster) { c.permit(kmsg.ACLOperationDescribe) },
			check: "rights", about: "topic orders", state: Fail, text: "may neither write nor read", advice: "allow Write and Read on topic orders",
		},
		{
			name: "a topic that is not shown", prepare: func(c *cluster) {
				c.topic("orders", 1)
				c.metadata(func(m *kmsg.MetadataResponse) { m.Topics[0].ErrorCode = kerr.TopicAuthorizationFailed.Code })
			},
			check: "rights", about: "topic orders", state: Fail, text: "it is not there for this client", advice: "allow Describe, Write and Read",
		},
		{
			name: "no right to write", prepare: func(c *cluster) { c.fails(kmsg.Produce, kerr.TopicAuthorizationFailed) },
			check: "write", state: Fail, text: "TOPIC_AUTHORIZATION_FAILED", advice: "allow Write on the topics",
		},
		{
			name: "too few replicas to write", prepare: func(c *cluster) { c.fails(kmsg.Produce, kerr.InvalidRecord) },
			check: "write", state: Fail, text: "INVALID_RECORD", advice: "look at the log of the broker",
		},
		{
			name: "no right to read", prepare: func(c *cluster) {
				c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Err: kerr.TopicAuthorizationFailed, Count: -1, When: func(r kmsg.Request) bool {
					return r.(*kmsg.ListOffsetsRequest).Topics[0].Partitions[0].Timestamp != -1 // whether the leaders serve
				}})
			},
			check: "read", state: Fail, text: "0 of 6 records were read: TOPIC_AUTHORIZATION_FAILED", advice: "allow Read on the topics",
		},
		{
			name: "no right to commit", prepare: func(c *cluster) { c.fails(kmsg.FindCoordinator, kerr.GroupAuthorizationFailed) },
			check: "commit", state: Fail, text: "GROUP_AUTHORIZATION_FAILED", advice: "allow Read on groups",
		},
		{
			name: "no right to say where share groups begin", prepare: func(c *cluster) {
				c.answer(kmsg.NewPtrIncrementalAlterConfigsRequest(), func(r kmsg.Request) kmsg.Response {
					answer := r.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
					answer.Resources = []kmsg.IncrementalAlterConfigsResponseResource{{ErrorCode: kerr.GroupAuthorizationFailed.Code}}
					return answer
				})
			},
			check: "share groups", state: Warn, text: "GROUP_AUTHORIZATION_FAILED", advice: "allow AlterConfigs on groups",
		},
		{
			name: "no share groups", opts: []kfake.Opt{kfake.MaxVersions(kversion.V4_0_0())},
			check: "share groups", state: Pass, text: "off: share.version is 0",
		},
		{
			name: "share groups that cannot keep their state", opts: []kfake.Opt{kfake.BrokerConfigs(map[string]string{"share.coordinator.state.topic.replication.factor": "5"})},
			check: "share groups", state: Warn, text: "replication.factor is 5 with 3 brokers", advice: "to 3 at most",
		},
		{
			name: "no right to delete", prepare: func(c *cluster) { c.fails(kmsg.DeleteTopics, kerr.TopicAuthorizationFailed) },
			check: "delete", state: Fail, text: "is left: ", advice: "by hand",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := start(t, tc.opts...)
			if tc.prepare != nil {
				tc.prepare(c)
			}
			r := c.examine()
			for _, found := range find(r, tc.check) {
				if found.About == tc.about && found.State == tc.state && strings.Contains(found.Text, tc.text) && strings.Contains(found.Advice, tc.advice) {
					must.Match(t, tc.state == Fail, r.Failed(), "failed")
					left := c.left()
					must.True(t, (len(left) > 0) == (tc.check == "delete"), "left: %q", left)
					return
				}
			}
			t.Errorf("no such check in %+v", r.Checks)
		})
	}
}

// permit makes the topic of the load, with which this client may do only some things.
func (c *cluster) permit(operations ...kmsg.ACLOperation) {
	c.topic("orders", 1)
	c.metadata(func(m *kmsg.MetadataResponse) {
		m.Topics[0].AuthorizedOperations = 0
		for _, o := range operations {
			m.Topics[0].AuthorizedOperations |= 1 << o
		}
	})
}

// listens makes a broker advertise another address.
func (c *cluster) listens(broker int, addr string) {
	c.metadata(func(m *kmsg.MetadataResponse) {
		host, port, _ := net.SplitHostPort(addr)
		n, _ := strconv.Atoi(port)
		m.Brokers[broker].Host, m.Brokers[broker].Port = host, int32(n)
	})
}

// partition changes what the metadata says of the partitions of a topic.
func (c *cluster) partition(topic string, change func(*kmsg.MetadataResponseTopicPartition)) {
	c.metadata(func(m *kmsg.MetadataResponse) {
		for _, t := range m.Topics {
			for i := range t.Partitions {
				if t.Topic != nil && *t.Topic == topic {
					change(&t.Partitions[i])
				}
			}
		}
	})
}

// metadata makes the brokers answer later questions for metadata with what change makes of the present answer. A topic that is
// made afterwards is not in it, so examinations make none from then on.
func (c *cluster) metadata(change func(*kmsg.MetadataResponse)) {
	c.t.Helper()
	c.frozen = true
	client := must.Have(kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...)))(c.t)
	defer client.Close()
	now := must.Have(kmsg.NewPtrMetadataRequest().RequestWith(c.t.Context(), client))(c.t)
	change(now)
	c.answer(&kmsg.MetadataRequest{}, func(r kmsg.Request) kmsg.Response {
		answer := *now
		answer.Version = r.GetVersion()
		if asked := r.(*kmsg.MetadataRequest).Topics; asked != nil {
			answer.Topics = slices.DeleteFunc(slices.Clone(now.Topics), func(t kmsg.MetadataResponseTopic) bool {
				return !slices.ContainsFunc(asked, func(a kmsg.MetadataRequestTopic) bool { return a.Topic != nil && *a.Topic == *t.Topic })
			})
		}
		return &answer
	})
}

func (c *cluster) quota(kind, name, key string, value float64) {
	c.t.Helper()
	must.Have(c.admin().AlterClientQuotas(c.t.Context(), []kadm.AlterClientQuotaEntry{{
		Entity: kadm.ClientQuotaEntity{{Type: kind, Name: &name}}, Ops: []kadm.AlterClientQuotaOp{{Key: key, Value: value}},
	}}))(c.t)
}

func TestClocksAreComparedByWhenARecordWasOnItsWay(t *testing.T) {
	sent := time.UnixMilli(1_000_000)
	s := stamp{sent: sent.Add(400 * time.Microsecond), acknowledged: sent.Add(20 * time.Millisecond)}
	for at, want := range map[time.Duration]time.Duration{
		0: 0, 5 * time.Millisecond: 0, 20 * time.Millisecond: 0, // in whole milliseconds
		2020 * time.Millisecond: 2 * time.Second, -2001 * time.Millisecond: -2000*time.Millisecond - 400*time.Microsecond,
	} {
		s.appended = sent.Add(at)
		must.Match(t, want, s.off(), "appended at %s: off by", at)
	}
}

func TestAClockThatIsOffIsNamed(t *testing.T) {
	now := time.Now()
	e := &examination{}
	o := own{examination: e}
	o.topic.Leaders = map[int32]int32{0: 1, 1: 2}
	o.clocks(map[int32]*stamp{0: {sent: now, acknowledged: now, appended: now.Add(time.Minute)}, 1: {sent: now, acknowledged: now, appended: now}})
	if len(e.Checks) != 1 || e.Checks[0].State != Warn || e.Checks[0].About != "broker 1" || e.Checks[0].Text != "it is 1m00s ahead of this host's" {
		t.Errorf("%+v", e.Checks)
	}
}

func TestReadingOnlyMakesNothing(t *testing.T) {
	c := start(t)
	var made bool
	c.answer(&kmsg.CreateTopicsRequest{}, func(kmsg.Request) kmsg.Response {
		made = true
		return nil
	})
	r := c.examine(func(o *Options) { o.ReadOnly = true })
	if rights := find(r, "rights"); len(rights) != 2 || rights[0].Text != "it does not exist" || rights[1].State != Unknown || len(find(r, "create")) > 0 || made || r.Failed() {
		t.Errorf("made %v: %+v", made, r.Checks)
	}
}

// Whatever an examination has made is gone when it ends, however it ends.
func TestAnInterruptLeavesNoTopic(t *testing.T) {
	for _, at := range []kmsg.Request{&kmsg.CreateTopicsRequest{}, &kmsg.ProduceRequest{}, &kmsg.FetchRequest{}, &kmsg.OffsetCommitRequest{}} {
		c := start(t)
		ctx, interrupt := context.WithCancel(t.Context())
		c.answer(at, func(kmsg.Request) kmsg.Response {
			interrupt()
			return nil // as before
		})
		r, err := Examine(ctx, Options{Access: kafka.Access{Bootstrap: c.ListenAddrs()}, Topic: "orders"})
		must.True(t, errors.Is(err, context.Canceled) && r != nil, "key %d: %v", at.Key(), err)
		left := c.left()
		must.True(t, len(left) == 0, "key %d: left: %q", at.Key(), left)
		interrupt()
	}
}

func TestServersThatDoNotAnswerAreFailedChecks(t *testing.T) {
	r := must.Have(Examine(t.Context(), Options{Access: kafka.Access{Bootstrap: []string{"127.0.0.1:1", "127.0.0.1:2"}}}))(t)
	if len(r.Checks) != 2 || !r.Failed() || r.Checks[1].About != "127.0.0.1:2" || r.Checks[1].Text != "connection refused" || r.Checks[1].Advice != checkServers {
		t.Errorf("%+v", r.Checks)
	}
	var address *kafka.AddressError
	if r, err := Examine(t.Context(), Options{}); r != nil || !errors.As(err, &address) {
		t.Errorf("%v, %v", r, err)
	}
}

func TestAnInterruptIsNoFailureOfTheCluster(t *testing.T) {
	listener := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t) // it accepts connections, and answers nothing
	defer func() { _ = listener.Close() }()
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		_, _ = listener.Accept()
		interrupt()
	}()
	r, err := Examine(ctx, Options{Access: kafka.Access{Bootstrap: []string{listener.Addr().String()}, Timeout: time.Minute}, Topic: "orders"})
	must.True(t, errors.Is(err, context.Canceled) && len(r.Checks) == 1 && r.Checks[0].State == Unknown && r.Checks[0].Text == "interrupted",
		"%+v, %v", r, err)
	ctx, interrupt = context.WithCancel(t.Context())
	var e examination
	e.step(ctx, func(context.Context) {
		e.pass("listener", "broker 0", "answers")
		interrupt()
		e.fail("listener", "broker 1", "look at its log", "%v", ctx.Err())
	})
	e.step(ctx, func(context.Context) { t.Error("checks go on") })
	want := (Check{Name: "listener", About: "broker 1", State: Unknown, Text: "interrupted"})
	must.True(t, !e.Failed() && e.Checks[0].State == Pass && reflect.DeepEqual(e.Checks[1], want), "%+v", e.Checks)
}

func TestReplicasThatAreFewerThanInSyncOnesAreEnoughSinceKafka37(t *testing.T) {
	for version, want := range map[string]bool{"v3.6": true, "v3.7": false, "v4.3": false, "at least v4.3": false, "unknown custom version": true} {
		e := examination{Report: Report{Cluster: result.Cluster{Version: version}}}
		e.minInSync(target{replicas: 1, inSync: 1, configs: map[string]string{"min.insync.replicas": "2"}})
		must.Match(t, want, e.Failed(), "%s: min.insync.replicas 2 with 1 replica fails", version)
	}
}
