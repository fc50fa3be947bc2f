package probe

import (
	"context"
	"time"
)

// pacer spreads operations evenly over time.
type pacer struct {
	interval time.Duration
	due      time.Time // of the next operation
}

func newPacer(perSecond float64) *pacer {
	return &pacer{interval: time.Duration(float64(time.Second) / perSecond)}
}

// wait waits for the next operation to be due, and returns when it should begin:
// for one that the operation before held up, when it was due, so that a stall
// counts for all that it delays; else the moment itself, since a timer that is
// late is not the disk's.
func (p *pacer) wait(ctx context.Context) (begin time.Time, err error) {
	now := time.Now()
	if p.due.IsZero() {
		p.due = now
	}
	due := p.due
	p.due = due.Add(p.interval)
	if left := due.Sub(now); left > 0 {
		timer := time.NewTimer(left)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return now, ctx.Err()
		case <-timer.C:
			return time.Now(), nil
		}
	}
	return due, ctx.Err()
}
