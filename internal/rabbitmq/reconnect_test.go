package rabbitmq

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// nobody returns an address at which nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// consumerOf returns the driver of readers of a cluster with nodes at addresses.
func consumerOf(p *plan.Plan, hosts ...string) *consumer {
	s := &session{System: &System{hosts: hosts}, plan: p, queues: []string{"t-0", "t-1"}, gone: make(map[string]bool)}
	s.topic = result.Topic{Name: "t", Partitions: 2}
	s.read = &consumer{session: s, Arrivals: queue.NewArrivals(queue.Options{Plan: *p, Queues: 2})}
	return s.read
}

func TestAClientIsOpenedAtAnyNodeThatAnswers(t *testing.T) {
	c := consumerOf(testPlan(nil), nobody(t), nobody(t), nobody(t))
	r, err := c.OpenReader(t.Context(), &engine.Shard{})
	if err == nil || r.(*reader).tries != 3 {
		t.Errorf("%d nodes were tried, %v; want 3", r.(*reader).tries, err)
	}
}

type adding struct{ stats.Window }

func (s *adding) Observe(windows []stats.Window) {
	for _, w := range windows {
		s.Add(&w)
	}
}

// Readers that share a number of messages wait for a short time each, shorter than the pause between two attempts.
func TestAReaderThatSharesANumberOfMessagesConnectsAgain(t *testing.T) {
	p := plan.Plan{
		Command: plan.Consume, Engine: plan.Client, URL: "amqp://localhost", Topic: plan.Topic{Name: "t"},
		Load: plan.Load{Records: 100, Rate: plan.Unlimited}, Read: plan.Read{Consumers: 2, Commit: plan.CommitNone, Timeout: plan.Duration(2 * time.Second)},
	}
	c := consumerOf(&p, nobody(t))
	var total adding
	must.Have(engine.Run(t.Context(), p, engine.Drivers{Read: c}, engine.Options{}, &total))(t)
	if n := total.FetchErrors[lost]; n < 6 { // at once, after 0.1, 0.3, 0.7 and 1.5 s
		t.Errorf("two readers tried to connect %d times in 2 s", n)
	}
}

func TestTheNodeOfTheURLKeepsItsName(t *testing.T) {
	for _, tc := range []struct {
		name        string
		nodes, want []string // addresses; those of nodes that do not run are empty
		hosts       int
	}{
		{"another name of its host", []string{"127.0.0.2:5672", "127.0.0.1:5672"}, []string{"127.0.0.2:5672", "localhost:5672"}, 2},
		{"other ports", []string{"127.0.0.1:5673", "localhost:5674"}, []string{"127.0.0.1:5673", "localhost:5674"}, 3},
		{"the only one", []string{"rabbit-1.invalid:5672"}, []string{"localhost:5672"}, 1},
		{"one that does not run", []string{"", "localhost:5672"}, []string{"", "localhost:5672"}, 1},
	} {
		s := &System{hosts: []string{"localhost:5672"}}
		var nodes []result.Broker
		for _, at := range tc.nodes {
			nodes = append(nodes, result.Broker{Addr: at})
		}
		s.learn(t.Context(), nodes)
		s.learn(t.Context(), nodes) // another run does it again
		for i, want := range tc.want {
			must.Match(t, want, nodes[i].Addr, "%s: node %d is at", tc.name, i)
		}
		must.Match(t, tc.hosts, len(s.hosts), "%s: hosts %q", tc.name, s.hosts)
	}
}

// value is a message of the run 1, of the producer 0.
func value(seq int64) []byte {
	v := make([]byte, ledger.StampSize)
	(&ledger.Stamp{Run: 1, Seq: seq}).Put(v, ledger.Around{})
	return v
}

// The server sends at most 3 messages without an acknowledgement. It marks as delivered before what comes on a second connection: what
// was on the first one comes again, and somebody has put copies behind it.
func TestAReaderKnowsWhatComesAgainBecauseItsConnectionWasLost(t *testing.T) {
	for _, tc := range []struct {
		name                    string
		second                  []int64
		redelivered, duplicated int64
	}{
		{"what was not acknowledged", []int64{2, 3, 4, 5}, 3, 0},
		{"what was acknowledged before", []int64{0, 2, 3, 4, 5}, 3, 1},
		{"it is there twice", []int64{2, 3, 4, 4, 5}, 3, 1},
	} {
		p := plan.Plan{
			Command: plan.Consume, Engine: plan.Client, URL: "amqp://localhost", Topic: plan.Topic{Name: "t"}, Verify: true,
			Load: plan.Load{Records: int64(5 + len(tc.second)), Rate: plan.Unlimited}, Read: plan.Read{Consumers: 1, Commit: plan.CommitNone, Timeout: plan.Duration(time.Second)},
		}
		s := server{bodies: make([][][]byte, 2)}
		for seq := range int64(5) {
			s.bodies[0] = append(s.bodies[0], value(seq))
		}
		for _, seq := range tc.second {
			s.bodies[1] = append(s.bodies[1], value(seq))
		}
		c := consumerOf(&p, s.listen(t))
		c.queues, c.topic.Partitions, c.settings = []string{"t-0"}, 1, settings{prefetch: 3}
		book := &ledger.Book{Run: 1, SameTopic: true, Lanes: []ledger.Lane{{Issued: 6, Acknowledged: ledger.Ranges{{To: 6}}}}}
		c.Arrivals = queue.NewArrivals(queue.Options{
			Plan: p, Queues: 1, Run: 1, Book: book, Backlog: func(context.Context) ([]int64, error) { return []int64{0}, nil },
		})
		var total adding
		must.Have(engine.Run(t.Context(), p, engine.Drivers{Read: c}, engine.Options{}, &total))(t)
		readers, _ := c.Readers(t.Context())
		v := book.Verify(readers...)
		if v.Redelivered != tc.redelivered || v.Duplicated != tc.duplicated || v.AcknowledgedRead != 6 || v.Reordered > 0 {
			t.Errorf("%s: %d redelivered, %d duplicated, %d reordered, %d read", tc.name, v.Redelivered, v.Duplicated, v.Reordered, v.AcknowledgedRead)
		}
	}
}
