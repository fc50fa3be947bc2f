package probe

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnOperationThatWasHeldUpBeganWhenItWasDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		p := newPacer(100) // every 10 ms
		for i, r := range []struct {
			took  time.Duration // the operation before
			begin time.Duration
		}{
			{0, 0},
			{4 * time.Millisecond, 10 * time.Millisecond},
			{35 * time.Millisecond, 20 * time.Millisecond}, // a stall: from 10 to 45 ms
			{0, 30 * time.Millisecond},
			{0, 40 * time.Millisecond},
			{0, 50 * time.Millisecond}, // it has caught up
		} {
			time.Sleep(r.took)
			begin, err := p.wait(context.Background())
			if got := begin.Sub(start); got != r.begin || err != nil {
				t.Errorf("operation %d: wait() = %s, %v, want %s", i, got, err, r.begin)
			}
		}
	})
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		p := newPacer(0.1)
		_, _ = p.wait(ctx)
		if _, err := p.wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("wait(ctx) = %v, want the end of the context", err)
		}
	})
}
