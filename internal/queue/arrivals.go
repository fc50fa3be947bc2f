package queue

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// Message is a message that was read.
type Message struct {
	Queue       int32
	Key, Value  []byte
	Redelivered bool // the system does not rule out that it was delivered before

	number ledger.Number // in the run that is verified, a Seq below 0: it is of another; set by Count
}

// Options are what is read, and how its backlog is known.
type Options struct {
	Plan   plan.Plan
	Queues int
	Run    uint64       // end-to-end latency counts for stamps of this run; 0: for those of any
	Book   *ledger.Book // of the run to verify; nil: nothing is verified

	// Written returns, by queue, how many messages this process had acknowledged; nil: it writes none.
	Written func() []int64

	// Shared reports whether several readers share a queue, so that no order is defined there; nil: none is.
	Shared func(queue int32) bool

	// Counted says that the system counts deliveries, so that Redelivered is proof: a copy that has it is no other message.
	Counted bool

	// Fresh says that the queues were made for this run, and that this process alone writes to them and reads them. Then no
	// more waits than was acknowledged and not read.
	Fresh bool

	// Backlog returns how many messages of each queue wait to be read, of all groups: that of queue q of group g is at
	// g*Queues+q. One that is not known is below 0, and 0 is one that is not Mine.
	Backlog func(ctx context.Context) ([]int64, error)
}

// Begin returns the accounts of a plan's producers, and the options of its readers but for the functions that know the system.
// book may be nil.
func Begin(p *plan.Plan, l *Layout, book *ledger.Book) (*Accounts, Options) {
	o := Options{Plan: *p, Queues: l.Count(), Fresh: p.Share.IsZero()}
	for i := range l.All {
		o.Fresh = o.Fresh && l.All[i].Created
	}
	if book != nil && p.Writes() {
		o.Run = book.Run
	}
	if p.Verify {
		o.Book = book
	}
	accounts := NewAccounts(p, o.Run, l)
	if p.Writes() {
		o.Written = accounts.Acked
	}
	return accounts, o
}

// Mine reports whether this process counts what waits in a queue, of a load that several make.
func Mine(p *plan.Plan, queue int32) bool {
	reader := p.ReaderOf(queue)
	return reader >= 0 && reader < p.Read.Consumers
}

// Arrivals counts the messages that the readers of a run get. It is the part of an engine.ReadDriver that is the same for all
// systems without offsets, and the source of the consumer lag.
type Arrivals struct {
	Options
	counted []atomic.Int64   // messages read, as Backlog has them
	late    atomic.Int64     // the same, of all queues that the topic has got since, which count in no backlog
	books   []*ledger.Reader // by group; nil: nothing is verified
	issued  atomic.Int64     // those of the book
	atEnd   atomic.Bool
	empty   atomic.Bool // all queues were found empty

	tasks sync.WaitGroup
	over  context.Context // ends the tasks
	stop  context.CancelFunc
	mu    sync.Mutex // guards what follows
	lag   []int64    // as Backlog said last
	asked time.Time  // when Backlog was asked for it; zero: nothing is known
	told  []int64    // by queue: the sum of the windows so far
}

var _ engine.Source = (*Arrivals)(nil)

// NewArrivals returns the account of a run's readers.
func NewArrivals(o Options) *Arrivals {
	groups := max(1, o.Plan.Read.Groups)
	a := &Arrivals{Options: o, counted: make([]atomic.Int64, groups*o.Queues), told: make([]int64, o.Queues)}
	a.over, a.stop = context.WithCancel(context.Background())
	if o.Book == nil {
		return a
	}
	for range groups {
		r := ledger.NewReader(o.Book)
		for q := range int32(o.Queues) {
			r.Begin(q, 0)
			if o.Shared != nil && o.Shared(q) {
				r.Log(q).Shared(o.Counted)
			}
		}
		a.books = append(a.books, r)
	}
	return a
}

// Count counts messages that a reader of a group got, in the order in which they came.
func (a *Arrivals) Count(s *engine.Shard, group int, messages []Message) {
	now, started := s.Now(), s.Started().UnixNano()
	for i := 0; s.WantsKeys() && i < len(messages); i++ {
		s.Key(messages[i].Key)
	}
	s.Record(func(rec *stats.Recorder, phase int) {
		for from, to := 0, 0; from < len(messages); from = to {
			queue, bytes := messages[from].Queue, 0
			for to = from; to < len(messages) && messages[to].Queue == queue; to++ {
				bytes += len(messages[to].Key) + len(messages[to].Value)
			}
			rec.Consumed(phase, queue, to-from, bytes, now)
			a.account(rec, phase, group, messages[from:to], started, now)
		}
		rec.Window(phase).Fetches++
	})
}

func (a *Arrivals) account(rec *stats.Recorder, phase, group int, messages []Message, started int64, now time.Duration) {
	queue := messages[0].Queue
	counted := &a.late
	if int(queue) < a.Queues {
		counted = &a.counted[group*a.Queues+int(queue)]
	}
	var log *ledger.Log
	if a.books != nil {
		log = a.books[group].Log(queue)
		log.Lock()
		defer log.Unlock()
	}
	at, issued := counted.Load(), int64(0)
	var s ledger.Stamp
	for i := range messages {
		m := &messages[i]
		status := ledger.Unstamped
		if log != nil {
			status = log.Add(&ledger.Record{
				Offset: at + int64(i), Epoch: -1, Value: m.Value, Around: ledger.Around{Key: m.Key}, Millis: -1, Again: m.Redelivered,
			}, &s)
			if status == ledger.Stamped {
				issued++
			}
			if m.number = (ledger.Number{Seq: -1}); status == ledger.Stamped || status == ledger.Redelivered {
				m.number = ledger.Number{Producer: s.Producer, Seq: s.Seq}
			}
		} else if ledger.PeekStamp(m.Value, &s) {
			status = ledger.Stamped
		}
		if status == ledger.Stamped {
			a.EndToEnd(rec, phase, &s, started, now)
		}
	}
	a.issued.Add(issued)
	counted.Add(int64(len(messages))) // several readers may share a queue
}

// EndToEnd counts the time since a message was due, if that was in this run. started is the start of the run in nanoseconds since
// 1970, and now the time since then.
func (a *Arrivals) EndToEnd(rec *stats.Recorder, phase int, s *ledger.Stamp, started int64, now time.Duration) {
	switch {
	case s.Due < started || a.Run != 0 && s.Run != a.Run:
		return
	case a.Run != 0:
		phase = stats.PhaseOf(s.Warmup)
	}
	rec.EndToEnd(phase, time.Duration(started-s.Due)+now)
}

// Settle accounts for n messages of a queue that the system gives to nobody any more. It is Count for a system that tells so later
// than it delivers them. records are those of a run that is verified; without offsets.
func (a *Arrivals) Settle(group int, queue int32, n int, records []ledger.Record) {
	counted := &a.late
	if int(queue) < a.Queues {
		counted = &a.counted[group*a.Queues+int(queue)]
	}
	if a.books == nil {
		counted.Add(int64(n))
		return
	}
	log := a.books[group].Log(queue)
	log.Lock() // other readers settle messages of the queue too, and offsets have to rise
	defer log.Unlock()
	at := counted.Add(int64(n)) - int64(n)
	var s ledger.Stamp
	for i := range records {
		r := &records[i]
		r.Offset, r.Epoch = at+int64(i), -1
		if log.Add(r, &s) == ledger.Stamped {
			a.issued.Add(1)
		}
	}
}

// Skipped notes that up to n messages of a queue were deleted, or passed over, before a group had them. So many of those that are
// missing are unchecked and not lost.
func (a *Arrivals) Skipped(group int, queue int32, n int64) {
	if a.books != nil {
		a.books[group].Log(queue).Skipped(n)
	}
}

// Unfinished notes that what is missing of a queue is unchecked and not lost.
func (a *Arrivals) Unfinished(group int, queue int32) {
	if a.books != nil {
		a.books[group].Unfinished(queue)
	}
}

// lagEvery is the time between two looks at the backlog, and that which the last one may take. lagHolds is how long one tells of now.
const lagEvery, lagHolds = time.Second, 3 * time.Second

// Progress returns 0: what other processes read is known only as a smaller backlog.
func (a *Arrivals) Progress() int64 { return 0 }

// Start begins to ask for the backlog: at once, each second and, if the system answers, when ctx has ended.
func (a *Arrivals) Start(ctx context.Context, _ func() time.Duration) {
	a.Go(ctx, func(ctx context.Context) {
		answers := a.ask(ctx)
		engine.Every(ctx, lagEvery, func() { answers = a.ask(ctx) })
		if answers {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lagEvery)
			defer cancel()
			a.ask(ctx)
		}
	})
}

// ask asks for the backlog. It reports whether the system answers, as far as is known when ctx ends.
func (a *Arrivals) ask(ctx context.Context) bool {
	asked := time.Now()
	waiting, err := a.Backlog(ctx)
	if err != nil {
		return ctx.Err() != nil && time.Since(asked) < lagEvery
	}
	a.mu.Lock()
	a.lag, a.asked = waiting, asked
	a.mu.Unlock()
	return true
}

// Go begins a task, which has to end with its context. That ends with ctx, and when Wait is called.
func (a *Arrivals) Go(ctx context.Context, task func(context.Context)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over.Err() != nil {
		return
	}
	a.tasks.Go(func() {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		defer context.AfterFunc(a.over, stop)()
		task(ctx)
	})
}

// Wait ends all tasks, and returns when nothing is asked any more.
func (a *Arrivals) Wait() {
	a.mu.Lock()
	a.stop()
	a.mu.Unlock()
	a.tasks.Wait()
}

// Take returns the change of the consumer lag since the last call.
func (a *Arrivals) Take() stats.Window {
	a.mu.Lock()
	defer a.mu.Unlock()
	var w stats.Window
	if !a.atEnd.Load() && (time.Since(a.asked) > lagHolds || slices.Min(a.lag) < 0) {
		w.LagUnknown = 1
	}
	var written []int64
	if a.Fresh && a.Written != nil {
		written = a.Written()
	}
	for q := range a.told {
		if !a.Plan.Share.IsZero() && !Mine(&a.Plan, int32(q)) {
			continue
		}
		var lag int64
		for at := q; at < len(a.lag); at += a.Queues {
			waits := a.lag[at]
			if written != nil {
				waits = min(waits, written[q]-a.counted[at].Load())
			}
			lag += max(0, waits)
		}
		if a.atEnd.Load() { // the system may learn that a little later
			lag = 0
		}
		change := lag - a.told[q]
		if a.told[q] = lag; change == 0 {
			continue
		}
		if w.Partitions == nil {
			w.Partitions = make(map[int32]stats.Partition)
		}
		w.Partitions[int32(q)] = stats.Partition{ConsumerLag: change}
		w.ConsumerLag += change
	}
	return w
}

// Held is the newest messages of one queue that a reader counted on one connection. If that is lost, the system gives out again
// those whose acknowledgement it has not got.
type Held struct {
	Most   int // how many messages the system sends without an acknowledgement; 0: none comes back
	newest []ledger.Number
}

// Add notes that a message was counted.
func (h *Held) Add(m *Message) {
	if len(h.newest) >= 2*h.Most {
		h.newest = append(h.newest[:0], h.newest[h.Most:]...)
	}
	if h.Most > 0 {
		h.newest = append(h.newest, m.number)
	}
}

// Lost notes that a reader of a group lost its connection, on which it counted messages of a queue. unread more had come. So
// many messages at most had no acknowledgement, those counted last before the unread ones.
func (a *Arrivals) Lost(group int, queue int32, h *Held, unread int) {
	if a.books == nil || h.Most == 0 {
		return
	}
	last := h.newest[max(0, len(h.newest)-max(0, h.Most-unread)):]
	last = slices.DeleteFunc(last, func(n ledger.Number) bool { return n.Seq < 0 })
	a.books[group].Log(queue).Returned(last, h.Most)
}
