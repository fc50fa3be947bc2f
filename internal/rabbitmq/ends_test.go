package rabbitmq

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// linked returns a session whose questions go to a server in the process, so that time in it is that of the test.
func linked(t *testing.T, server *server) *session {
	t.Helper()
	ours, theirs := net.Pipe()
	go server.serve(theirs, 0)
	s := consumerOf(testPlan(nil)).session
	s.admin = must.Have(s.logIn(t.Context(), ours, "rabbit:5672", "kt"))(t)
	t.Cleanup(func() {
		s.Close()
		_ = theirs.Close()
		<-time.After(time.Minute) // the server may be about to answer
	})
	return s
}

func TestAServerThatSendsOnlyHeartbeatsIsNotWaitedFor(t *testing.T) {
	for _, tc := range []struct {
		name string
		most time.Duration
		wait func(ctx context.Context, s *session) error
	}{
		{"a handshake", dialTimeout, func(ctx context.Context, _ *session) error {
			ours, theirs := net.Pipe()
			go func() {
				_, _ = io.ReadFull(theirs, make([]byte, 8))
				beat(theirs)
			}()
			_, err := new(System).logIn(ctx, ours, "rabbit:5672", "kt")
			return err
		}},
		{"a question", answerTimeout, func(ctx context.Context, s *session) error { _, err := s.find(ctx, &s.topics.All[0]); return err }},
		{"queues that are deleted, not one after the other", answerTimeout, func(ctx context.Context, s *session) error {
			s.topics.All[0].Partitions, s.topics.All[0].Created = 3, true
			return s.Delete(ctx)
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := linked(t, &server{silent: true})
			began := time.Now()
			err := tc.wait(t.Context(), s)
			if took := time.Since(began); took != tc.most || !errors.As(err, new(*lateError)) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: it ends after %s with %v", tc.name, took, err)
			}
		})
	}
}

func TestWhatCanBeDeletedIsDeletedBehindAnError(t *testing.T) {
	server := server{deletions: make(chan string, 3)}
	s := consumerOf(testPlan(nil), server.listen(t)).session
	s.topics = queue.NewLayout(result.Topic{Name: "was-there", Partitions: 1}, s.topics.All[0])
	s.topics.All[1].Created = true
	err := s.Delete(t.Context())
	must.True(t, err != nil && strings.Count(err.Error(), "403") == 2, "%v, want an error of each queue", err)
	close(server.deletions)
	var asked []string
	for name := range server.deletions {
		asked = append(asked, name)
	}
	must.Match(t, []string{"t-1", "t-0", "t"}, asked, "what is deleted")
}

func TestAQuestionEndsWithTheRun(t *testing.T) {
	for _, tc := range []struct {
		name string
		ask  func(context.Context, *session) error
	}{
		{"a queue", func(ctx context.Context, s *session) error { _, err := s.find(ctx, &s.topics.All[0]); return err }},
		{"what waits", func(ctx context.Context, s *session) error { _, err := s.backlog(ctx); return err }},
		{"an exchange that is made", func(ctx context.Context, s *session) error { return declare(ctx, &s.topics.All[0], s.admin, nil) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := linked(t, &server{silent: true})
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				began := time.Now()
				err := tc.ask(ctx, s)
				if took := time.Since(began); took != 5*time.Second || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("it ends after %s with %v", took, err)
				}
				must.True(t, s.admin.frames.isClosed(), "the next question would use the same connection")
			})
		})
	}
}

// Only the time between two answers counts.
func TestManyAnswersMayTakeLongTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := linked(t, &server{pause: answerTimeout - time.Second})
		s.admin.frames.patience.Store(int64(time.Hour)) // as if heartbeats came
		err := s.ask(t.Context(), func(ch *amqp.Channel) (err error) {
			for range 5 {
				_, err = inspect(ch, "t-0")
			}
			return err
		})
		if err != nil || s.admin.frames.isClosed() {
			t.Errorf("%v, closed: %v", err, s.admin.frames.isClosed())
		}
	})
}

// Another process counts what is in queue 1, and cannot know what has left it for this one.
func TestAProcessCountsWhatCameToItFromASharedQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := linked(t, &server{})
		s.plan.Share.Consumers = 2
		r := &reader{queues: []int32{0, 1}}
		r.in.Store(&subscription{waiting: []queue.Message{{Queue: 1}, {Queue: 0}, {Queue: 1}, {Queue: 0}, {Queue: 1}, {Queue: 0}, {Queue: 1}}})
		s.read.readers = append(s.read.readers, r)
		if got, err := s.backlog(t.Context()); err != nil || !slices.Equal(got, []int64{3, 4}) {
			t.Errorf("%v wait, %v; want 3 and 4", got, err)
		}
	})
}

// The server says that every queue is there.
func TestLookingForQueuesHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := linked(t, &server{})
		s.topics.All[0].Partitions = plan.MaxPartitions - 2
		if _, err := s.find(t.Context(), &s.topics.All[0]); err == nil || !strings.Contains(err.Error(), "100000") || s.topics.All[0].Partitions != plan.MaxPartitions {
			t.Errorf("%d queues, %v", s.topics.All[0].Partitions, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := linked(t, &server{pause: 10 * time.Second})
		began := time.Now()
		_, err := s.find(t.Context(), &s.topics.All[0])
		if took := time.Since(began); err == nil || took != findTimeout {
			t.Errorf("it ends after %s with %v", took, err)
		}
	})
}

// The API says that there are a billion pages, and that a name has no end.
func TestAnswersOfTheAPIAreBounded(t *testing.T) {
	asked := 0
	s, _ := answering(t, func(*http.Request) string { asked++; return `{"page_count": 1000000000}` })
	if _, _, err := described(t, s, 2); err != nil || asked > plan.MaxPartitions/perPage {
		t.Errorf("%d pages, %v", asked, err)
	}
	s, _ = answering(t, func(*http.Request) string { return `[{"name": "` + strings.Repeat(" ", 17<<20) + `"}]` })
	api := s.newManagement()
	api.HTTP.Timeout = 0 // the time must not end it before its size does
	if err := api.Get(t.Context(), s.admin, new([]any)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("it ends with %v", err)
	}
}

// An answer comes byte by byte. Many nodes are asked one after the other.
func TestAnswersOfTheAPIHaveATime(t *testing.T) {
	over := make(chan struct{})
	trickle := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for {
			_, _ = io.WriteString(w, " ")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-over:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}))
	defer trickle.Close()
	defer close(over)
	m := (&System{admin: trickle.URL}).newManagement()
	m.HTTP.Timeout = 50 * time.Millisecond
	for range 1000 {
		m.urls = append(m.urls, trickle.URL)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := m.nodes(ctx); !errors.Is(err, context.DeadlineExceeded) || m.at > 100 {
		t.Errorf("%d nodes were asked, %v", m.at, err)
	}
}

// nobody returns an address at which nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// consumerOf returns the driver of readers of a cluster with nodes at addresses.
func consumerOf(p *plan.Plan, hosts ...string) *consumer {
	s := &session{System: &System{hosts: hosts}, plan: p, gone: make(map[string]bool)}
	s.topics = queue.NewLayout(result.Topic{Name: "t", Partitions: 2})
	s.read = &consumer{session: s, Arrivals: queue.NewArrivals(queue.Options{Plan: *p, Queues: 2})}
	return s.read
}

// readingPlan is to read so many messages, or until none came for some time.
func readingPlan(records int64, consumers int, timeout time.Duration) *plan.Plan {
	return &plan.Plan{
		Command: plan.Consume, Engine: plan.Client, URL: "amqp://localhost", Topic: plan.Topic{Name: "t"},
		Load: plan.Load{Records: records, Rate: plan.Unlimited}, Read: plan.Read{Consumers: consumers, Commit: plan.CommitNone, Timeout: plan.Duration(timeout)},
	}
}

func TestAClientIsOpenedAtAnyNodeThatAnswers(t *testing.T) {
	c := consumerOf(testPlan(nil), nobody(t), nobody(t), nobody(t))
	r, err := c.OpenReader(t.Context(), &engine.Shard{})
	must.True(t, err != nil && r.(*reader).tries == 3, "%d nodes were tried, %v; want 3", r.(*reader).tries, err)
}

type adding struct{ stats.Window }

func (s *adding) Observe(windows []stats.Window) {
	for _, w := range windows {
		s.Add(&w)
	}
}

// Readers that share a number of messages wait for a short time each, shorter than the pause between two attempts.
func TestAReaderThatSharesANumberOfMessagesConnectsAgain(t *testing.T) {
	p := readingPlan(100, 2, 2*time.Second)
	c := consumerOf(p, nobody(t))
	var total adding
	must.Have(engine.Run(t.Context(), *p, engine.Drivers{Read: c}, engine.Options{}, &total))(t)
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
		p := readingPlan(int64(5+len(tc.second)), 1, time.Second)
		p.Verify = true
		s := server{bodies: make([][][]byte, 2)}
		for seq := range int64(5) {
			s.bodies[0] = append(s.bodies[0], value(seq))
		}
		for _, seq := range tc.second {
			s.bodies[1] = append(s.bodies[1], value(seq))
		}
		c := consumerOf(p, s.listen(t))
		c.topics, c.Settings = queue.NewLayout(result.Topic{Name: "t", Partitions: 1}), settings{prefetch: 3}
		book := &ledger.Book{Run: 1, SameTopic: true, Lanes: []ledger.Lane{{Issued: 6, Acknowledged: ledger.Ranges{{To: 6}}}}}
		c.Arrivals = queue.NewArrivals(queue.Options{
			Plan: *p, Queues: 1, Run: 1, Book: book, Backlog: func(context.Context) ([]int64, error) { return []int64{0}, nil },
		})
		var total adding
		must.Have(engine.Run(t.Context(), *p, engine.Drivers{Read: c}, engine.Options{}, &total))(t)
		readers, _ := c.Readers(t.Context())
		v := book.Verify(readers...)
		if v.Redelivered != tc.redelivered || v.Duplicated != tc.duplicated || v.AcknowledgedRead != 6 || v.Reordered > 0 {
			t.Errorf("%s: %d redelivered, %d duplicated, %d reordered, %d read", tc.name, v.Redelivered, v.Duplicated, v.Reordered, v.AcknowledgedRead)
		}
	}
}
