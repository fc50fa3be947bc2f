package wire

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
)

// leaders returns the leaders of the topic, which brokers were asked for once.
func (s *scene) leaders() *leaders {
	s.Helper()
	client := must.Have(s.cluster.Client())(s)
	s.Cleanup(client.Close)
	l := newLeaders(client, kafka.NewLayout([]result.Topic{{Name: "t", Partitions: s.partitions}}))
	s.ask(l)
	return l
}

func (s *scene) ask(l *leaders) {
	s.Helper()
	must.Do(s, l.ask(s.Context(), time.Now()))
}

// In an outage the answer takes long. Lanes of other brokers are not to wait for it.
func TestLeadersAreKnownWhileBrokersAreAsked(t *testing.T) {
	s := newScene(t, 1)
	l := s.leaders()
	asked := false
	s.fake.ControlKey(int16(kmsg.Metadata), func(kmsg.Request) (kmsg.Response, error, bool) {
		if asked = true; !l.mu.TryLock() {
			t.Error("locked while a broker is asked")
			return nil, nil, false
		}
		l.mu.Unlock()
		return nil, nil, false
	})
	if s.ask(l); !asked {
		t.Error("nobody was asked")
	}
}

func TestTheHighestEpochNamesTheLeader(t *testing.T) {
	s := newScene(t, 1)
	l := s.leaders()
	first := l.leader(0)
	if first.broker < 0 || l.topicID("t") == [16]byte{} {
		t.Fatalf("leader %+v, topic id %x", first, l.topicID("t"))
	}
	hint := leader{(first.broker + 1) % 3, first.epoch + 1}
	if !l.hear(0, hint) || l.leader(0) != hint {
		t.Errorf("leader %+v, want %+v", l.leader(0), hint)
	}
	if l.hear(0, first) || l.leader(0) != hint {
		t.Errorf("leader %+v after older news, want %+v", l.leader(0), hint)
	}
	if s.ask(l); l.leader(0) != hint { // the brokers do not know it yet
		t.Errorf("leader %+v after an older answer, want %+v", l.leader(0), hint)
	}
	l.ids["t"] = [16]byte{1}
	if s.ask(l); l.leader(0) != first {
		t.Errorf("leader %+v of a topic that was made anew, want %+v", l.leader(0), first)
	}
}

func TestLanesThatWaitForOneAnswerAskOnce(t *testing.T) {
	s := newScene(t, 1)
	l := s.leaders()
	asked := 0
	s.fake.ControlKey(int16(kmsg.Metadata), func(kmsg.Request) (kmsg.Response, error, bool) {
		s.fake.KeepControl()
		asked++
		return nil, nil, false
	})
	failed := time.Now()
	for range 3 {
		must.Do(t, l.ask(t.Context(), failed))
	}
	must.Match(t, 1, asked, "questions")
}

// An answer whose request was cancelled is as large as any other, and must not stay in memory.
func TestAnAnswerThatNobodyTakesGoesWithItsConnection(t *testing.T) {
	const version = 11
	here, there := net.Pipe()
	defer func() { _ = there.Close() }()
	var i inlet
	c := i.over(here)
	go func() {
		_, _ = io.ReadFull(there, make([]byte, 12))
		answer := kmsg.NewPtrFetchResponse()
		answer.Version = version
		b := answer.AppendTo(make([]byte, 8)) // its length and the id of the request, 0
		binary.BigEndian.PutUint32(b, uint32(len(b)-4))
		_, _ = there.Write(b)
	}()
	request := make([]byte, 12)
	binary.BigEndian.PutUint16(request[atKey:], fetchKey)
	binary.BigEndian.PutUint16(request[atVersion:], version)
	must.Have(c.Write(request))(t)
	must.Have(c.Read(make([]byte, 100)))(t)
	held := func() (n int) {
		i.answers.Range(func(any, any) bool { n++; return true })
		return n
	}
	if held() != 1 {
		t.Fatalf("%d answers before the connection ends, want 1", held())
	}
	if err := c.Close(); err != nil || held() != 0 {
		t.Errorf("%v, %d answers after the connection has ended", err, held())
	}
}

func TestARequestGoesOverTheConnectionWithTheFewestInFlight(t *testing.T) {
	for _, tc := range []struct {
		flying     []int
		limit      int
		connection int
		room       bool
	}{
		{[]int{0, 0, 0}, 5, 0, true},
		{[]int{1, 0, 0}, 5, 1, true},
		{[]int{1, 1, 0}, 5, 2, true},
		{[]int{2, 1, 1}, 5, 1, true},
		{[]int{2, 2, 1}, 5, 2, false},
		{[]int{1}, 1, 0, false},
	} {
		o := outlet{flying: tc.flying}
		if connection, room := o.free(tc.limit); connection != tc.connection || room != tc.room {
			t.Errorf("%v, limit %d: connection %d, room %t", tc.flying, tc.limit, connection, room)
		}
	}
}
