package queue

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/ledger"
)

// Times of looking at queues that are nearly read.
const (
	emptyEvery = 300 * time.Millisecond // two looks in a row at empty queues end the reading
	endPoll    = emptyEvery / 10
)

// Pause waits, and reports whether ctx goes on.
func Pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// SetEndOffsets ends reading when what waits now was read, or when the queues are empty. With a book, messages may be on their
// way back to a queue. So what waits is then read once more, until nothing of the book is in it. It asks again while the system
// does not answer.
func (a *Arrivals) SetEndOffsets(ctx context.Context) error {
	waiting, err := a.Backlog(ctx)
	for err != nil {
		if !Pause(ctx, lagEvery) {
			return err
		}
		waiting, err = a.Backlog(ctx)
	}
	ends := a.ends(waiting)
	a.Go(ctx, func(ctx context.Context) { a.watchEnd(ctx, ends) })
	return nil
}

// unknown is the end of a queue whose backlog is not known. It is never reached.
const unknown = math.MaxInt64

// ends returns how many messages will have been read of each queue when those that wait have been. A queue may hold older ones
// than this process has written.
func (a *Arrivals) ends(waiting []int64) []int64 {
	ends, written := a.read(), make([]int64, a.Queues)
	if a.Written != nil {
		written = a.Written()
	}
	for i := range ends {
		if ends[i] = max(ends[i]+waiting[i], written[i%a.Queues]); waiting[i] < 0 {
			ends[i] = unknown
		}
	}
	return ends
}

func (a *Arrivals) read() []int64 {
	read := make([]int64, len(a.counted))
	for i := range read {
		read[i] = a.counted[i].Load()
	}
	return read
}

func (a *Arrivals) watchEnd(ctx context.Context, ends []int64) {
	looked, issued := time.Now(), int64(-1)
	var before look
	for Pause(ctx, endPoll) {
		all := true
		for i, n := range a.read() {
			all = all && n >= ends[i]
		}
		if all && a.Book == nil {
			a.End()
			return
		}
		if time.Since(looked) < emptyEvery {
			continue
		}
		looked = time.Now()
		n := a.issued.Load()
		now, err := a.look(ctx)
		switch {
		case err != nil:
		case now.allEmpty(before): // messages on their way would have come meanwhile
			a.empty.Store(true)
			a.End()
			return
		case all && issued == n && (!now.nothing() || before.nothing()): // others write to the queues
			a.End()
			return
		case all:
			ends, issued = a.ends(now.waiting), n
		default:
			for i, end := range a.ends(now.waiting) {
				if ends[i] == unknown {
					ends[i] = end
				}
			}
		}
		before = now
	}
}

// look is what waits in the queues, and how many messages of each were read before that was asked; the zero value: no answer came.
type look struct{ waiting, read []int64 }

func (a *Arrivals) look(ctx context.Context) (l look, err error) {
	l.read = a.read()
	l.waiting, err = a.Backlog(ctx) // nil with an error
	return l, err
}

// nothing reports whether nothing waits in any queue.
func (l look) nothing() bool {
	return l.waiting != nil && !slices.ContainsFunc(l.waiting, func(n int64) bool { return n != 0 })
}

// empty reports whether a queue is empty: nothing waits in it, as at the look before, and nothing was read between the two.
func (l look) empty(at int, before look) bool {
	return l.waiting != nil && before.waiting != nil && l.waiting[at] == 0 && before.waiting[at] == 0 && l.read[at] == before.read[at]
}

func (l look) allEmpty(before look) bool {
	for at := range l.waiting {
		if !l.empty(at, before) {
			return false
		}
	}
	return l.waiting != nil
}

// End ends reading: a driver that knows the ends of its queues by itself has found that everything was read.
func (a *Arrivals) End() { a.atEnd.Store(true) }

// AtEndOffsets reports whether everything was read.
func (a *Arrivals) AtEndOffsets() bool { return a.atEnd.Load() }

// Readers returns what was read. A message that was acknowledged and did not come is lost only if its queue was found empty,
// twice: messages that were not acknowledged come back to a queue only when the system has seen that the connection of their
// consumer is gone. Else it is unchecked, and the error says why.
func (a *Arrivals) Readers(ctx context.Context) ([]*ledger.Reader, error) {
	var before, now look
	var err error
	found := a.empty.Load()
	if !found {
		if before, err = a.look(ctx); err == nil && Pause(ctx, emptyEvery) {
			now, err = a.look(ctx)
		}
		err = cmp.Or(err, ctx.Err())
	}
	for group, r := range a.books {
		for q := range int32(a.Queues) {
			at := group*a.Queues + int(q)
			next := a.counted[at].Load()
			r.ReadTo(q, next, next)
			if !found && !now.empty(at, before) {
				r.Unfinished(q)
			}
		}
	}
	switch {
	case found || now.allEmpty(before) || a.Book.Verify(a.books...).Unchecked == 0: // all came
		return a.books, nil
	case err != nil:
		return a.books, err
	}
	return a.books, ErrWaiting
}

// ErrWaiting says that the reading ended before the queues were empty, as far as is known.
var ErrWaiting = errors.New("messages wait in the queues still, as while others write to them, or the system does not say how many")
