package wire

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/driver"
	"github.com/kt-bench/kt/internal/kafka/reading"
	"github.com/kt-bench/kt/internal/kafka/watch"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
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
	must.Hold(t, first.broker >= 0 && l.topicID("t") != [16]byte{}, "leader %+v, topic id %x", first, l.topicID("t"))
	hint := leader{(first.broker + 1) % 3, first.epoch + 1}
	must.True(t, l.hear(0, hint) && l.leader(0) == hint, "leader %+v, want %+v", l.leader(0), hint)
	must.True(t, !l.hear(0, first) && l.leader(0) == hint, "leader %+v after older news, want %+v", l.leader(0), hint)
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
	var i responses
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
	must.Hold(t, held() == 1, "%d answers before the connection ends, want 1", held())
	err := c.Close()
	must.True(t, err == nil && held() == 0, "%v, %d answers after the connection has ended", err, held())
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
		o := brokerQueue{flying: tc.flying}
		connection, room := o.free(tc.limit)
		must.True(t, connection == tc.connection && room == tc.room, "%v, limit %d: connection %d, room %t", tc.flying, tc.limit, connection, room)
	}
}

// What a cluster says after the begin of a run is the same for every way to read.

// ways are the ways to read: with both engines, and in groups of both protocols.
var ways = []struct {
	name     string
	protocol string
	driver   func(*reading.State) engine.ReadDriver
}{
	{"the client engine", "", clientEngine},
	{"the wire engine", "", func(s *reading.State) engine.ReadDriver { return NewConsumer(s) }},
	{"a classic group", "group.protocol=classic", clientEngine},
	{"a group of the consumer protocol", "group.protocol=consumer", clientEngine},
}

// stateOf is the state of a reading with a protocol of groups, or without a group.
func (s *readScene) stateOf(protocol string, p plan.Plan, properties ...string) *reading.State {
	if protocol != "" {
		p.Read.Group, properties = "g", append(properties, protocol, "group.id=g")
	}
	return s.state(p, nil, properties...)
}

func clientEngine(s *reading.State) engine.ReadDriver { return driver.NewConsumer(s) }

// meanwhile reads, with the consumer lag beside it, and calls f when the readers have all partitions.
func (s *readScene) meanwhile(d engine.ReadDriver, state *reading.State, f func()) (stats.Window, engine.End) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	go func() {
		for state.At.Groups[0].Owned() < state.Layout.Count() && ctx.Err() == nil {
			kafka.Pause(ctx, time.Millisecond)
		}
		f()
	}()
	var all total
	end := must.Have(engine.Run(ctx, state.Plan, engine.Drivers{Read: d}, engine.Options{Sources: []engine.Source{watch.NewConsumerLag(s.cluster, state.At)}}, &all))(s)
	return all.Window, end
}

// told returns the events of a kind.
func told(w *stats.Window, kind stats.EventKind) (events []stats.Event) {
	for _, e := range w.Events {
		if e.Kind == kind {
			events = append(events, e)
		}
	}
	return events
}

func TestPartitionsThatATopicGetsAreReadFromTheirStart(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			s := newReadScene(t, 2)
			c := s.client()
			s.write(c, 2, 50)
			p := readPlan(func(p *plan.Plan) {
				p.Read.From.Latest, p.Read.ToEnd, p.Load.Records = true, false, 90
			})
			state := s.stateOf(way.protocol, p, "auto.offset.reset=latest")
			w, end := s.meanwhile(way.driver(state), state, func() {
				if _, err := kadm.NewClient(c).CreatePartitions(t.Context(), 3, "t"); err != nil {
					t.Error(err)
				}
				late := s.client() // it knows the partitions
				for partition := range int32(3) {
					for range 30 {
						err := late.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Partition: 2 + partition}).FirstErr()
						must.True(t, err == nil, "%v", err)
					}
				}
			})
			must.True(t, end.ReadEnd == engine.ReadCount && w.Consumed == 90,
				"%d records, end %q (%v), want 90", w.Consumed, end.ReadEnd, end.ReadErr)
			for partition := range int32(3) {
				must.Match(t, 30, w.Partitions[2+partition].Consumed, "partition %d: records", 2+partition)
			}
			n := 0
			for _, e := range told(&w, stats.PartitionsAdded) {
				n += e.Count
			}
			must.True(t, n == 3, "events %v, want them to tell of 3 partitions", w.Events)
		})
	}
}

func TestRecordsThatAreDeletedBeforeTheyAreReadAreCounted(t *testing.T) {
	for _, upTo := range []int64{700, 1000} {
		for _, way := range ways {
			t.Run(way.name, func(t *testing.T) {
				s := newReadScene(t, 2)
				s.write(s.client(), 2, 1000)
				p := readPlan(func(p *plan.Plan) { p.Load.Rate = plan.Rate{PerSecond: 1000} })
				state := s.stateOf(way.protocol, p, "max.partition.fetch.bytes=1000", "fetch.max.bytes=1000")
				w, end := s.meanwhile(way.driver(state), state, func() { must.Err(t, "", s.fake.DeleteRecords("t", 0, upTo), "delete records") })
				if end.ReadEnd != engine.ReadAll || w.Deleted == 0 || w.Consumed+w.Deleted != 2000 || w.Partitions[0].Deleted != w.Deleted {
					t.Errorf("%d records read and %d deleted (of partition 0: %d), end %q; want 2000 together, and all read that is there",
						w.Consumed, w.Deleted, w.Partitions[0].Deleted, end.ReadEnd)
				}
				if len(told(&w, stats.RecordsDeleted)) == 0 || w.ConsumerLag != 0 {
					t.Errorf("events %v and a consumer lag of %d, want the deletion and 0", w.Events, w.ConsumerLag)
				}
			})
		}
	}
}

func TestACommittedOffsetThatTheLogDoesNotHoldIsReset(t *testing.T) {
	for _, tc := range []struct {
		name                   string
		start, committed, want int64
		latest                 bool
	}{
		{"below the start", 400, 10, 600, false},
		{"below the start of an empty log", 1000, 10, 0, false},
		{"below the start, from the end on", 400, 10, 0, true},
		{"beyond the end", 0, 5000, 1000, false},
		{"held", 400, 700, 300, false},
	} {
		for _, way := range ways[2:] {
			t.Run(tc.name+", "+way.name, func(t *testing.T) {
				s := newReadScene(t, 1)
				c := s.client()
				s.write(c, 1, 1000)
				must.Do(t, s.fake.DeleteRecords("t", 0, tc.start))
				var committed kadm.Offsets
				committed.Add(kadm.Offset{Topic: "t", At: tc.committed, LeaderEpoch: -1})
				must.Do(t, kadm.NewClient(c).CommitAllOffsets(t.Context(), "g", committed))
				state := s.stateOf(way.protocol, readPlan(func(p *plan.Plan) { p.Read.From.Latest = tc.latest }))
				w, end := s.meanwhile(way.driver(state), state, func() {})
				if end.ReadEnd != engine.ReadAll || w.Consumed != tc.want || w.ConsumerLag != 0 || w.Deleted != 0 {
					t.Errorf("%d records read and %d deleted, lag %d, end %q; want %d, 0, 0 and all", w.Consumed, w.Deleted, w.ConsumerLag, end.ReadEnd, tc.want)
				}
				must.Match(t, tc.name != "held", len(told(&w, stats.OffsetReset)) > 0, "events %v", w.Events)
			})
		}
	}
}

func TestWhatWaitsBehindAnOpenTransactionIsCounted(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			s := newReadScene(t, 1)
			s.write(s.client(), 1, 100)
			c := s.client(kgo.TransactionalID("open"))
			must.Do(t, c.BeginTransaction())
			must.Do(t, c.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Timestamp: time.Unix(1_700_000_000, 0)}).FirstErr())
			s.write(s.client(), 1, 50)
			state := s.stateOf(way.protocol, readPlan(nil), "isolation.level=read_committed")
			w, end := s.meanwhile(way.driver(state), state, func() {})
			must.True(t, end.ReadEnd == engine.ReadAll && w.Consumed == 100 && w.Withheld == 51,
				"%d records read and %d withheld, end %q; want 100, 51 and all", w.Consumed, w.Withheld, end.ReadEnd)
			if e := told(&w, stats.TransactionOpen); len(e) != 1 || !strings.Contains(e[0].Text, "2023-11-14T22:13:20Z") || !strings.Contains(e[0].Text, "offset 100") {
				t.Errorf("events %v, want one of offset 100 and the time of its record", w.Events)
			}
		})
	}
}

func TestMarkersOfTransactionsAreNoRecords(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			s := newReadScene(t, 1)
			c := s.client(kgo.TransactionalID("many"))
			for range 20 {
				must.Do(t, c.BeginTransaction())
				for range 3 {
					must.Do(t, c.ProduceSync(t.Context(), &kgo.Record{Topic: "t"}).FirstErr())
				}
				must.Do(t, c.EndTransaction(t.Context(), kgo.TryCommit))
			}
			state := s.stateOf(way.protocol, readPlan(nil), "isolation.level=read_committed")
			w, end := s.meanwhile(way.driver(state), state, func() {})
			var fetched int64
			for _, b := range w.Brokers {
				fetched += b.Fetch.Records
			}
			must.True(t, end.ReadEnd == engine.ReadAll && w.Consumed == 60 && fetched == 60,
				"%d records read, %d of brokers, end %q; want 60, 60 and all", w.Consumed, fetched, end.ReadEnd)
			must.Match(t, 6, state.At.Groups[0].At(0).Records(8), "records of 8 offsets, of which each fourth is a marker")
		})
	}
}
