package watch

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

func TestAMovedLeaderIsToldWithAllItsPartitions(t *testing.T) {
	watch(t, func(c *watchedCluster) {
		c.moveAll(0)
		c.start()
		c.until(1200 * time.Millisecond)
		c.move(1, 2, 3)
		c.until(2 * time.Second)
		c.wants(stats.Event{
			At: 1500 * time.Millisecond, Kind: stats.LeaderMoved, Broker: 0, To: 1,
			Partitions: []int32{2, 3}, Count: 2,
		})
	})
}

func TestNothingIsToldOfAClusterInWhichNothingHappens(t *testing.T) {
	watch(t, func(c *watchedCluster) {
		c.start()
		c.until(10 * time.Minute)
		c.wants()
	})
}

func TestABrokerThatRefusesConnectionsIsGoneAtOnce(t *testing.T) {
	watch(t, func(c *watchedCluster) {
		c.start()
		c.until(1200 * time.Millisecond)
		c.network.kill(c.address(1))
		c.until(3200 * time.Millisecond)
		c.network.revive(c.address(1))
		c.until(5 * time.Second)
		c.wants(
			stats.Event{At: 1500 * time.Millisecond, Kind: stats.BrokerGone, Broker: 1, To: -1, Text: "broker 1 refuses connections"},
			stats.Event{At: 3500 * time.Millisecond, Kind: stats.BrokerBack, Broker: 1, To: -1, Text: "broker 1 answers again"},
		)
	})
}

func TestAConnectionThatBreaksIsNoBrokerThatIsGone(t *testing.T) {
	watch(t, func(c *watchedCluster) {
		c.start()
		for at := 1200 * time.Millisecond; at < 10*time.Second; at += 500 * time.Millisecond {
			c.until(at)
			c.network.kill(c.address(1))
			c.network.revive(c.address(1))
		}
		c.wants()
	})
}

// The first question that a stopped broker left unanswered was asked at 1.5 s. The
// second was asked at 2.5 s, or in the round after that, and given up 1 s later.
func TestAHangingBrokerIsGoneSinceTheFirstQuestionAndHoldsUpNobody(t *testing.T) {
	watch(t, func(c *watchedCluster) {
		c.moveAll(0)
		c.start()
		c.until(1200 * time.Millisecond)
		c.stop(2)
		c.until(1700 * time.Millisecond)
		c.move(1, 0)
		c.until(2300 * time.Millisecond)
		c.wants(stats.Event{
			At: 2 * time.Second, Kind: stats.LeaderMoved, Broker: 0, To: 1,
			Partitions: []int32{0}, Count: 1,
		})
		c.until(3400 * time.Millisecond)
		c.wants()
		c.until(4100 * time.Millisecond)
		c.wants(stats.Event{At: 1500 * time.Millisecond, Kind: stats.BrokerGone, Broker: 2, To: -1, Text: "broker 2 does not answer"})
		c.until(20 * time.Second)
		c.resume()
		c.until(30 * time.Second)
		got := c.take()
		must.True(t, len(got) == 1 && got[0].Kind == stats.BrokerBack && got[0].At <= 21*time.Second,
			"events %v, want that broker 2 is back within 1 s", got)
	})
}

func TestOneLateAnswerIsNoBrokerThatIsGone(t *testing.T) {
	watch(t, func(c *watchedCluster) {
		c.start()
		c.until(1400 * time.Millisecond)
		c.stop(0)
		c.until(2100 * time.Millisecond)
		c.resume()
		c.until(20 * time.Second)
		c.wants()
	})
}

func TestEachBrokerIsAskedTwiceASecondAndAHangingOneLess(t *testing.T) {
	watch(t, func(c *watchedCluster) {
		c.start()
		c.until(100 * time.Millisecond)
		c.stop(2)
		c.until(10*time.Second - 1)
		for broker, want := range [][2]int64{{20, 20}, {20, 20}, {2, 10}} {
			got := c.asked[broker].Load()
			must.True(t, got >= want[0] && got <= want[1], "broker %d was asked %d times in 10 s, want %d to %d", broker, got, want[0], want[1])
		}
	})
}

func TestABrokerThatJoinsIsWatchedToo(t *testing.T) {
	watch(t, func(c *watchedCluster) {
		c.start()
		c.until(1200 * time.Millisecond)
		must.Both(c.AddNode(3, 9095))(t)
		c.until(3 * time.Second)
		c.take() // kfake gives all partitions new leaders
		c.until(3200 * time.Millisecond)
		c.network.kill(c.address(3))
		c.until(4 * time.Second)
		c.wants(stats.Event{At: 3500 * time.Millisecond, Kind: stats.BrokerGone, Broker: 3, To: -1})
	})
}

func TestABrokerIsLookedForAtItsNewAddress(t *testing.T) {
	watch(t, func(c *watchedCluster) {
		c.start()
		c.until(1200 * time.Millisecond)
		c.network.kill(c.address(2))
		must.Do(t, c.RemoveNode(2))
		c.until(3 * time.Second)
		must.Both(c.AddNode(2, 9195))(t)
		c.until(5 * time.Second)
		var got []stats.EventKind
		for _, e := range c.take() {
			if e.Broker == 2 && (e.Kind == stats.BrokerGone || e.Kind == stats.BrokerBack) {
				got = append(got, e.Kind)
			}
		}
		must.Match(t, []stats.EventKind{stats.BrokerGone, stats.BrokerBack}, got, "of broker 2")
	})
}

// The metadata of a KRaft cluster names a controller drawn by lot; see
// watch_controller.go.
func TestTheQuorumTellsWhoTheControllerIs(t *testing.T) {
	watch(t, func(c *watchedCluster) {
		c.quorum(2, 7)
		c.start()
		c.until(2500 * time.Millisecond)
		c.leader.Store(1)
		c.epoch.Store(8)
		c.until(3500 * time.Millisecond)
		c.leader.Store(0)
		c.epoch.Store(6) // a broker that has not heard of the election
		c.until(4500 * time.Millisecond)
		c.leader.Store(-1)
		c.epoch.Store(9) // it is not over
		c.until(6 * time.Second)
		c.wants(stats.Event{At: 3 * time.Second, Kind: stats.ControllerMoved, Broker: 2, To: 1, Text: "controller moved from node 2 to 1"})
	})
}

func TestWithoutAQuorumTheControllerCountsWhenAllBrokersNameIt(t *testing.T) {
	w := &Brokers{brokers: map[int32]*watched{0: {}, 1: {}, 2: {failures: 1}}, named: controller{id: -1}}
	for i, round := range []struct {
		named map[int32]int32 // by broker
		want  int             // events
	}{
		{map[int32]int32{0: 0, 1: 0}, 0},
		{map[int32]int32{0: 0, 1: 1}, 0},
		{map[int32]int32{1: 1}, 0},
		{map[int32]int32{0: 1, 1: 1}, 1},
		{map[int32]int32{0: -1, 1: -1}, 0},
		{map[int32]int32{0: 1, 1: 1}, 0},
	} {
		w.fresh = nil
		for broker, named := range round.named {
			w.fresh = append(w.fresh, answer{broker: broker, metadata: &kmsg.MetadataResponse{ControllerID: named}})
		}
		w.lookForController()
		got := w.Take().Events
		must.True(t, len(got) == round.want, "round %d: %v, want %d events", i, got, round.want)
	}
}

func TestAWatcherThatWasNeverStartedCloses(t *testing.T) {
	w := must.Have(New(&kafka.Cluster{Info: result.Cluster{Brokers: []result.Broker{{ID: 1, Addr: "127.0.0.1:1"}}}}, kafka.NewLayout([]result.Topic{{Name: "t", Partitions: 4}})))(t)
	w.Close()
}

// watchedCluster is three brokers in memory, 0 to 2, with one topic of four
// partitions, and a watcher of it.
type watchedCluster struct {
	*kfake.Cluster
	t       *testing.T
	network *network
	began   time.Time
	watcher *Brokers
	cancel  context.CancelFunc

	stopped       atomic.Pointer[stopped] // nil: no broker is
	asked         [3]atomic.Int64
	leader, epoch atomic.Int32 // of the quorum
}

// stopped is a broker that takes requests and answers them once it is resumed.
type stopped struct {
	broker  int32
	resumed chan struct{}
}

// watch runs a test in a bubble of synctest. All goroutines have to end with it.
func watch(t *testing.T, test func(c *watchedCluster)) {
	synctest.Test(t, func(t *testing.T) {
		c := &watchedCluster{t: t, network: &network{dead: make(map[string]bool), open: make(map[string][]net.Conn)}}
		c.Cluster = must.Have(kfake.NewCluster(kfake.NumBrokers(3), kfake.Ports(9092, 9093, 9094), kfake.SeedTopics(4, "t"), kfake.ListenFn(c.network.Listen)))(t)
		defer c.Close()
		c.Control(func(kmsg.Request) (kmsg.Response, error, bool) {
			if s := c.stopped.Load(); s != nil && s.broker == c.CurrentNode() {
				c.SleepControl(func() { <-s.resumed })
			}
			return nil, nil, false
		})
		defer func() {
			c.resume()
			time.Sleep(time.Second) // what waited in the cluster is answered; kfake may not be closed in the middle of it
			c.cancel()
			c.watcher.Close()
		}()
		test(c)
	})
}

const metadataKey, versionsKey = 3, 18

func (c *watchedCluster) start() {
	var info result.Cluster
	for i, addr := range c.ListenAddrs() {
		info.Brokers = append(info.Brokers, result.Broker{ID: int32(i), Addr: addr})
	}
	client := func(addr string) (*kgo.Client, error) {
		return kgo.NewClient(append(watchOptions(addr), kgo.Dialer(c.network.dial), kgo.WithHooks(c))...)
	}
	c.watcher = must.Have(newBrokers(info, kafka.NewLayout([]result.Topic{{Name: "t", Partitions: 4}}), client))(c.t)
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(c.t.Context())
	c.began = time.Now()
	c.watcher.Start(ctx, func() time.Duration { return time.Since(c.began) })
}

// OnBrokerWrite counts the questions.
func (c *watchedCluster) OnBrokerWrite(b kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, _ error) {
	if i := b.Port - 9092; key == metadataKey && int(i) < len(c.asked) {
		c.asked[i].Add(1)
	}
}

// until lets the time pass to a moment of the run.
func (c *watchedCluster) until(at time.Duration) {
	time.Sleep(time.Until(c.began.Add(at)))
	synctest.Wait()
}

func (c *watchedCluster) take() []stats.Event { return c.watcher.Take().Events }

// wants compares the events since the last look, and the texts of those that are given one.
func (c *watchedCluster) wants(want ...stats.Event) {
	c.t.Helper()
	got := c.take()
	for i := range min(len(got), len(want)) {
		if want[i].Text == "" {
			got[i].Text = ""
		}
	}
	must.Match(c.t, want, got, "events")
}

func (c *watchedCluster) move(to int32, partitions ...int32) {
	for _, p := range partitions {
		must.Do(c.t, c.MoveTopicPartition("t", p, to))
	}
}

func (c *watchedCluster) moveAll(to int32) { c.move(to, 0, 1, 2, 3) }

func (c *watchedCluster) stop(broker int32) {
	c.stopped.Store(&stopped{broker: broker, resumed: make(chan struct{})})
}

func (c *watchedCluster) resume() {
	if s := c.stopped.Swap(nil); s != nil {
		close(s.resumed)
	}
}

func (c *watchedCluster) address(broker int) string { return c.ListenAddrs()[broker] }

// quorum lets the brokers tell of a metadata quorum.
func (c *watchedCluster) quorum(leader, epoch int32) {
	c.leader.Store(leader)
	c.epoch.Store(epoch)
	c.ControlKey(versionsKey, func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		answer := req.ResponseKind().(*kmsg.ApiVersionsResponse)
		for key, version := range map[int16]int16{metadataKey: 12, versionsKey: 3, int16(kmsg.DescribeQuorum): 1} {
			answer.ApiKeys = append(answer.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: key, MaxVersion: version})
		}
		return answer, nil, true
	})
	c.ControlKey(int16(kmsg.DescribeQuorum), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		answer := req.ResponseKind().(*kmsg.DescribeQuorumResponse)
		p := kmsg.NewDescribeQuorumResponseTopicPartition()
		p.LeaderID, p.LeaderEpoch = c.leader.Load(), c.epoch.Load()
		topic := kmsg.NewDescribeQuorumResponseTopic()
		topic.Topic, topic.Partitions = "__cluster_metadata", append(topic.Partitions, p)
		answer.Topics = append(answer.Topics, topic)
		return answer, nil, true
	})
}

// network is one in memory, whose hosts can die.
type network struct {
	kfake.VirtualNetwork

	mu   sync.Mutex // guards the rest
	dead map[string]bool
	open map[string][]net.Conn
}

func (n *network) dial(ctx context.Context, protocol, addr string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dead[addr] {
		return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	conn, err := n.DialContext(ctx, protocol, addr)
	if err != nil {
		return nil, errors.Join(errors.New("dial"), err)
	}
	n.open[addr] = append(n.open[addr], conn)
	return conn, nil
}

func (n *network) kill(addr string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dead[addr] = true
	for _, conn := range n.open[addr] {
		_ = conn.Close()
	}
	delete(n.open, addr)
}

func (n *network) revive(addr string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.dead, addr)
}

func TestVeryManyPartitionsAreAskedForInFewerRounds(t *testing.T) {
	for partitions, want := range map[int]int{0: 1, 1: 1, 2000: 1, 2001: 2, 10_000: 5} {
		must.Match(t, want, rarely(partitions), "%d partitions: rounds", partitions)
	}
}
