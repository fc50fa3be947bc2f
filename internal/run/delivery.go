package run

import (
	"context"
	"time"

	"github.com/kt-bench/kt/internal/engine"
)

// Delivery gives seconds to observers, each on a goroutine of its own with seconds of its
// own that wait.
type Delivery []*engine.Feed[Second]

// NewDelivery starts a delivery, which its maker closes.
func NewDelivery(observers []Observer) Delivery {
	var d Delivery
	for _, o := range observers {
		d = append(d, engine.NewFeed(o.Observe, func(older, s Second) Second { return s.Merge(older) }))
	}
	return d
}

// Send hands a second over. It does not wait.
func (d Delivery) Send(s Second) {
	for _, o := range d {
		o.Send(s)
	}
}

// lastSecond is how long observers may take for the last second of a run that was ended by
// its ctx: what is written after the run comes after what they write.
const lastSecond = time.Second

// Close waits until every observer has taken the last second, or for lastSecond after ctx
// ends.
func (d Delivery) Close(ctx context.Context) {
	waiting, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastSecond, leave) })()
	for _, o := range d {
		select {
		case <-o.Close():
		case <-waiting.Done():
		}
	}
}
