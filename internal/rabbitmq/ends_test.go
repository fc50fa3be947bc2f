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

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
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

func TestAHandshakeOfHeartbeatsAloneEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		go func() {
			_, _ = io.ReadFull(theirs, make([]byte, 8))
			beat(theirs)
		}()
		began := time.Now()
		_, err := new(System).logIn(t.Context(), ours, "rabbit:5672", "kt")
		if took := time.Since(began); took != dialTimeout || !errors.As(err, new(*lateError)) {
			t.Errorf("it ends after %s with %v", took, err)
		}
	})
}

func TestAServerThatSendsOnlyHeartbeatsIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := linked(t, &server{silent: true})
		began := time.Now()
		_, err := s.find(t.Context())
		if took := time.Since(began); took != answerTimeout || !errors.As(err, new(*lateError)) {
			t.Errorf("it ends after %s with %v", took, err)
		}
	})
}

func TestAQuestionEndsWithTheRun(t *testing.T) {
	for _, tc := range []struct {
		name string
		ask  func(context.Context, *session) error
	}{
		{"a queue", func(ctx context.Context, s *session) error { _, err := s.find(ctx); return err }},
		{"what waits", func(ctx context.Context, s *session) error { _, err := s.backlog(ctx); return err }},
		{"an exchange that is made", func(ctx context.Context, s *session) error { return s.declare(ctx, s.admin, s.add(), nil) }},
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
				if !s.admin.pipe.isClosed() {
					t.Error("the next question would use the same connection")
				}
			})
		})
	}
}

// Only the time between two answers counts.
func TestManyAnswersMayTakeLongTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := linked(t, &server{})
		s.admin.pipe.patience.Store(int64(time.Hour)) // as if heartbeats came
		err := s.ask(t.Context(), func(_ *amqp.Channel, answered func()) error {
			for range 5 {
				<-time.After(answerTimeout - time.Second)
				answered()
			}
			return nil
		})
		if err != nil || s.admin.pipe.isClosed() {
			t.Errorf("%v, closed: %v", err, s.admin.pipe.isClosed())
		}
	})
}

// Another process counts what is in queue 1, and cannot know what has left it for this one.
func TestAProcessCountsWhatCameToItFromASharedQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := linked(t, &server{})
		s.plan.Share.Consumers = 2
		r := &reader{queues: []int{0, 1}}
		r.in.Store(&inlet{link: &link{pipe: &pipe{delivered: map[uint16]uint64{channelOf(0): 5, channelOf(1): 4}, taken: map[uint16]uint64{channelOf(0): 2}}}})
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
		s.queues = make([]string, plan.MaxPartitions-2)
		if _, err := s.find(t.Context()); err == nil || !strings.Contains(err.Error(), "100000") || len(s.queues) != plan.MaxPartitions {
			t.Errorf("%d queues, %v", len(s.queues), err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := linked(t, &server{pause: 10 * time.Second})
		began := time.Now()
		_, err := s.find(t.Context())
		if took := time.Since(began); err == nil || took != findTimeout {
			t.Errorf("it ends after %s with %v", took, err)
		}
	})
}

func TestNotAllQueuesAreDeletedAtAServerThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := linked(t, &server{silent: true})
		s.queues, s.made, s.topic.Created = []string{"t-0", "t-1", "t-2"}, 3, true
		began := time.Now()
		if err := s.Delete(t.Context()); err == nil || time.Since(began) != answerTimeout {
			t.Errorf("it ends after %s with %v", time.Since(began), err)
		}
	})
}

// The API says that there are a billion pages.
func TestLookingForMembersHasAnEnd(t *testing.T) {
	asked := 0
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = io.WriteString(w, `{"page_count": 1000000000}`)
	}))
	defer api.Close()
	topic := result.Topic{Name: "t", Partitions: 2}
	if _, err := (&System{admin: api.URL}).newManagement().describeQueues(t.Context(), &topic, nil); err != nil || asked > plan.MaxPartitions/perPage {
		t.Errorf("%d pages, %v", asked, err)
	}
}

func TestAnAnswerOfTheAPIIsBounded(t *testing.T) {
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `[{"name": "`)
		for space := strings.Repeat(" ", 1<<20); ; {
			if _, err := io.WriteString(w, space); err != nil {
				return
			}
		}
	}))
	defer endless.Close()
	api := (&System{admin: endless.URL}).newManagement()
	api.client.Timeout = 0 // the time must not end it before its size does
	if err := api.ask(t.Context(), endless.URL, new([]any)); !errors.Is(err, io.ErrUnexpectedEOF) {
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
	m.client.Timeout = 50 * time.Millisecond
	for range 1000 {
		m.urls = append(m.urls, trickle.URL)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := m.nodes(ctx); !errors.Is(err, context.DeadlineExceeded) || m.at > 100 {
		t.Errorf("%d nodes were asked, %v", m.at, err)
	}
}
