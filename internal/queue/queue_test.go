package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// queues are message queues in memory, which can lose a message or deliver one twice.
type queues struct {
	*Accounts
	*Arrivals
	plan plan.Plan

	queueMu sync.Mutex
	waiting [][]Message
	sent    int
	lose    int // the number of the message that is acknowledged and dropped; -1: none
	twice   int // the number of the one that is there twice, the second one marked; -1: none
}

func (q *queues) backlog(context.Context) ([]int64, error) {
	q.queueMu.Lock()
	defer q.queueMu.Unlock()
	var n []int64
	for _, w := range q.waiting {
		n = append(n, int64(len(w)))
	}
	return n, nil
}

type writer struct {
	*queues
	*Lanes
}

func (q *queues) Open(_ context.Context, s *engine.Shard) (engine.Worker, error) {
	return &writer{q, q.Add(s, nil)}, nil
}

func (w *writer) OpRecords() int { return 1 }

func (w *writer) Do(op *engine.Op) bool {
	value := make([]byte, 100)
	at := w.Choose(w.Topic(), nil)
	seq := w.Stamp(op, nil, value, at)
	op.Bytes = len(value)
	w.queueMu.Lock()
	defer w.queueMu.Unlock()
	if w.sent != w.lose {
		w.waiting[at] = append(w.waiting[at], Message{Queue: at, Value: value})
	}
	if w.sent == w.twice {
		w.waiting[at] = append(w.waiting[at], Message{Queue: at, Value: value, Redelivered: true})
	}
	w.sent++
	op.State = &Outgoing{Queue: at, seq: seq}
	w.Settle(op, "", op.Sent)
	return false
}

func (w *writer) Place(*engine.Op) int32      { return -1 }
func (w *writer) Flush(context.Context) error { return nil }
func (w *writer) Close() error                { return nil }

type taker struct {
	*queues
	shard *engine.Shard
}

func (q *queues) OpenReader(_ context.Context, s *engine.Shard) (engine.Reader, error) {
	return &taker{q, s}, nil
}

func (r *taker) Read(ctx context.Context, _ int, _ time.Duration) (int, error) {
	r.queueMu.Lock()
	got := slices.Concat(r.waiting...)
	for i := range r.waiting {
		r.waiting[i] = nil
	}
	r.queueMu.Unlock()
	if len(got) > 0 {
		r.shard.Working()
		r.Count(r.shard, 0, got)
		return len(got), nil
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Millisecond):
	}
	return 0, nil
}

func (r *taker) Flush(context.Context) {}
func (r *taker) Close() error          { return nil }

type adding struct{ stats.Window }

func (s *adding) Observe(windows []stats.Window) {
	for _, w := range windows {
		s.Add(&w)
	}
}

// through sends 1000 messages through the queues, and returns what was counted and what became of them.
func through(t *testing.T, lose, twice int) (stats.Window, ledger.Verdict) {
	t.Helper()
	p := plan.Plan{
		Command: plan.Roundtrip, Engine: plan.Client, URL: "amqp://localhost:5672", Topic: plan.Topic{Name: "t"}, Producers: 1, Verify: true,
		Load:    plan.Load{Rate: plan.Unlimited, Records: 1000, Arrivals: plan.Uniform},
		Payload: plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(100), Keys: plan.NoKeys, Stamp: true},
		Read:    plan.Read{Consumers: 1, Commit: plan.CommitAuto},
	}
	const run = 42
	book := &ledger.Book{Run: run, SameTopic: true}
	q := &queues{Accounts: NewAccounts(&p, run, NewLayout(result.Topic{Name: "t", Partitions: 3})), plan: p, waiting: make([][]Message, 3), lose: lose, twice: twice}
	q.Arrivals = NewArrivals(Options{Plan: p, Queues: 3, Run: run, Book: book, Written: q.Acked, Backlog: q.backlog})
	var total adding
	must.Have(engine.Run(t.Context(), p, engine.Drivers{Send: q, Read: q}, engine.Options{Sources: []engine.Source{q.Arrivals}}, &total))(t)
	book.Lanes = q.Lanes()
	readers := must.Have(q.Readers(t.Context()))(t)
	return total.Window, book.Verify(readers...)
}

func TestEveryMessageOfQueuesIsAccountedFor(t *testing.T) {
	w, v := through(t, -1, -1)
	if w.Acknowledged != 1000 || w.Consumed != 1000 || w.EndToEnd.Count() != 1000 || w.ConsumerLag != 0 {
		t.Errorf("%d acknowledged, %d read, %d timed, lag %d", w.Acknowledged, w.Consumed, w.EndToEnd.Count(), w.ConsumerLag)
	}
	must.True(t, v.AcknowledgedRead == 1000 && v.Lost+v.Duplicated+v.Reordered+v.Redelivered+v.Unchecked <= 0, "%+v", v)
}

func TestAMessageThatLeftItsQueueBehindKtsBackIsLost(t *testing.T) {
	if _, v := through(t, 500, -1); v.Lost != 1 || v.AcknowledgedRead != 999 {
		t.Errorf("%+v", v)
	}
	if _, v := through(t, 999, -1); v.Lost != 1 { // the last one too
		t.Errorf("%+v", v)
	}
}

func TestAMessageThatIsMarkedAsDeliveredBeforeIsADuplicateAllTheSame(t *testing.T) {
	if _, v := through(t, -1, 500); v.Redelivered != 0 || v.Duplicated != 1 || v.AcknowledgedRead != 1000 {
		t.Errorf("%+v", v)
	}
}

// The system sends 4 messages without an acknowledgement. So of 10 the first 6 were acknowledged, and 2 more when 2 more had come.
func TestWhatIsNewestOfALostConnectionMayComeAgain(t *testing.T) {
	for _, tc := range []struct{ most, unread, again int }{{4, 0, 4}, {4, 2, 2}, {4, 4, 0}, {20, 0, 10}, {20, 15, 5}, {0, 0, 0}} {
		a := NewArrivals(Options{Queues: 1, Book: written(10)})
		messages, held := make([]Message, 0, 10), Held{Most: tc.most}
		for seq := range int64(10) {
			messages = append(messages, stamped(seq))
		}
		rec := stats.NewRecorder()
		a.account(rec, 0, 0, messages, 0, 0)
		for i := range messages {
			held.Add(&messages[i])
			messages[i].Redelivered = true
		}
		a.Lost(0, 0, &held, tc.unread)
		a.account(rec, 0, 0, messages, 0, 0)
		v := a.Book.Verify(a.books...)
		if v.Redelivered != int64(tc.again) || v.Duplicated != int64(10-tc.again) || len(held.newest) > 2*tc.most {
			t.Errorf("%+v: %d came back, %d are duplicated", tc, v.Redelivered, v.Duplicated)
		}
	}
}

func TestManyReadersOfOneQueueCountEachMessage(t *testing.T) {
	a := NewArrivals(Options{Queues: 1})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			rec := stats.NewRecorder()
			for range 1_000_000 {
				a.account(rec, 0, 0, []Message{{}}, 0, 0)
			}
		})
	}
	readers.Wait()
	must.Match(t, 4_000_000, a.counted[0].Load(), "messages were counted")
}

// Groups have the queues one after the other, so the third queue of the first group is not the first one of the second.
func TestAQueueThatIsAddedCountsAsNoOther(t *testing.T) {
	a := NewArrivals(Options{Plan: plan.Plan{Read: plan.Read{Groups: 2}}, Queues: 2})
	rec := stats.NewRecorder()
	a.account(rec, 0, 0, []Message{{Queue: 2}, {Queue: 2}}, 0, 0)
	a.account(rec, 0, 1, []Message{{Queue: 2}}, 0, 0)
	for i := range a.counted {
		must.Match(t, 0, a.counted[i].Load(), "messages count at %d", i)
	}
}

func TestReadingWaitsForASystemThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		asked := 0
		a := NewArrivals(Options{Queues: 1, Backlog: func(context.Context) ([]int64, error) {
			if asked++; asked < 4 {
				return nil, errors.New("no node answers")
			}
			return []int64{0}, nil
		}})
		if err := a.SetEndOffsets(ctx); err != nil || asked != 4 {
			t.Errorf("asked %d times: %v", asked, err)
		}
		time.Sleep(time.Second)
		must.True(t, a.AtEndOffsets(), "reading goes on")
		cancel()
		asked = 0
		if err := a.SetEndOffsets(ctx); err == nil {
			t.Error("it goes on asking after the end of the run")
		}
	})
}

func TestEachQueueIsCountedByOneProcess(t *testing.T) {
	whole := plan.Plan{Command: plan.Consume, Read: plan.Read{Consumers: 5}}
	shared := plan.Plan{Command: plan.Roundtrip, Producers: 3, Read: plan.Read{Consumers: 3}}
	for _, p := range []plan.Plan{whole, shared} {
		parts := must.Have(p.Divide(3))(t)
		for q := range int32(8) {
			n := 0
			for i := range parts {
				if Mine(&parts[i], q) {
					n++
				}
			}
			must.True(t, n == 1 && Mine(&p, q), "%s: queue %d is counted by %d of 3 processes", p.Command, q, n)
		}
	}
}

// stamped returns a message of run 42, of its producer 0.
func stamped(seq int64) Message {
	value := make([]byte, ledger.StampSize)
	(&ledger.Stamp{Run: 42, Seq: seq}).Put(value, ledger.Around{})
	return Message{Value: value}
}

// written is the book of run 42 with so many acknowledged messages in queue 0.
func written(n int64) *ledger.Book {
	lane := ledger.Lane{Issued: n, Acknowledged: ledger.Ranges{{From: 0, To: n}}, LastOffset: -1}
	return &ledger.Book{Run: 42, SameTopic: true, Lanes: []ledger.Lane{lane}}
}

// Others write as fast as kt reads, so that the queue is never found empty, or a little slower.
func TestAReadingToVerifyEndsThoughOthersWriteToTheQueue(t *testing.T) {
	for _, tc := range []struct {
		name            string
		seqs            []int64 // of the messages of the book that wait, between those of others
		others          int     // messages that they write each 10 ms, as many as kt reads
		unchecked, lost int64
	}{
		{"all come", []int64{0, 1, 2, 3}, 1, 0, 0},
		{"one does not", []int64{0, 1, 3}, 1, 1, 0},
		{"the last does not", []int64{0, 1, 2}, 1, 1, 0},
		{"the queue is empty now and then", []int64{0, 1, 3}, 0, 0, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var mu sync.Mutex // guards waiting
				var waiting []Message
				for _, seq := range tc.seqs {
					waiting = append(append(waiting, make([]Message, 50)...), stamped(seq))
				}
				rec, book := stats.NewRecorder(), written(4)
				a := NewArrivals(Options{Queues: 1, Book: book, Backlog: func(context.Context) ([]int64, error) {
					mu.Lock()
					defer mu.Unlock()
					return []int64{int64(len(waiting))}, nil
				}})
				must.Do(t, a.SetEndOffsets(ctx))
				for tick := 0; !a.AtEndOffsets(); tick++ {
					must.Hold(t, tick != 1000, "reading goes on")
					mu.Lock()
					if len(waiting) > 0 {
						a.account(rec, 0, 0, waiting[:1], 0, 0)
						waiting = waiting[1:]
					}
					waiting = append(waiting, make([]Message, tc.others)...)
					if tc.others == 0 && tick%20 == 7 { // not when kt looks
						waiting = append(waiting, Message{})
					}
					mu.Unlock()
					time.Sleep(10 * time.Millisecond)
				}
				readers, err := a.Readers(ctx)
				v := book.Verify(readers...)
				if v.Unchecked != tc.unchecked || v.Lost != tc.lost || (err != nil) != (tc.unchecked > 0) {
					t.Errorf("%+v, %v; want %d unchecked and %d lost", v, err, tc.unchecked, tc.lost)
				}
			})
		})
	}
}

func TestAQueueOfSeveralReadersHasNoOrder(t *testing.T) {
	for _, shared := range []bool{false, true} {
		book := written(4)
		a := NewArrivals(Options{Queues: 1, Book: book, Backlog: func(context.Context) ([]int64, error) { return []int64{0}, nil }, Shared: func(int32) bool { return shared }})
		rec := stats.NewRecorder()
		for _, seq := range []int64{1, 3, 0, 2, 2} {
			a.account(rec, 0, 0, []Message{stamped(seq)}, 0, 0)
		}
		readers, err := a.Readers(t.Context())
		v := book.Verify(readers...)
		if reordered := v.Reordered > 0; err != nil || reordered == shared || v.AnyOrder != shared || v.Duplicated != 1 || v.AcknowledgedRead != 4 {
			t.Errorf("shared %v: %+v, %v", shared, v, err)
		}
	}
}

func TestSettingsAreThoseGivenAndTheDefaultsOfOthers(t *testing.T) {
	type settings struct {
		n    int
		wait time.Duration
		yes  bool
	}
	has := []Property[settings]{
		{Name: "n", Default: "5", Set: func(s *settings, v string) error { return Number(v, 1, 10, &s.n) }},
		{Name: "wait.ms", Default: "1", Set: func(s *settings, v string) error { return Millis(v, time.Millisecond, &s.wait) }},
		{Name: "yes", Default: "true", Set: func(s *settings, v string) error {
			return Choice(v, YesNo, &s.yes)
		}},
	}
	for _, tc := range []struct {
		name, value string
		want        settings
		err         string
	}{
		{"", "", settings{5, time.Millisecond, true}, ""},
		{"n", " 10 ", settings{10, time.Millisecond, true}, ""},
		{"wait.ms", "1000", settings{5, time.Second, true}, ""},
		{"yes", "false", settings{5, time.Millisecond, false}, ""},
		{"n", "11", settings{}, "n=11 (from f:1): write a whole number from 1 to 10"},
		{"wait.ms", "2147483648", settings{}, "wait.ms=2147483648 (from f:1): write a whole number from 1 to 2147483647"},
		{"wait.ms", "0", settings{}, "wait.ms=0 (from f:1): write a whole number from 1 to 2147483647"},
		{"yes", "no", settings{}, "yes=no (from f:1): write false or true"},
		{"linger.ms", "5", settings{}, "linger.ms (from f:1): Some does not have it: messages go one by one"},
		{"m", "1", settings{}, "m (from f:1): Some does not have it: leave it out; there is n, wait.ms, yes"},
	} {
		s := System[settings]{of: &Properties[settings]{System: "Some", Nearest: map[string]string{"linger.ms": "messages go one by one"}}}
		given := make(map[string]plan.Given)
		if tc.name != "" {
			given[tc.name] = plan.Given{Value: tc.value, Source: "f:1"}
		}
		all, err := s.set(has, given)
		switch {
		case tc.err != "":
			must.Match(t, tc.err, fmt.Sprint(err), "%s=%s", tc.name, tc.value)
		case err != nil || s.Settings != tc.want || len(all) != 3 || all[0].Default != "5":
			t.Errorf("%s=%s: %+v, %+v, %v; want %+v", tc.name, tc.value, s.Settings, all, err, tc.want)
		}
	}
}
