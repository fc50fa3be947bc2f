package run_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/run"
)

// What is written after a run that was ended must not be mixed with what observers write.
func TestTheLastSecondOfAnEndedRunIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		var seen atomic.Int64 // Close need not have seen the end of each observer
		never := make(chan struct{})
		hung := observerFunc(func(run.Second) { <-never })
		slow := observerFunc(func(run.Second) {
			time.Sleep(100 * time.Millisecond)
			seen.Add(1)
		})
		d := run.NewDelivery([]run.Observer{hung, slow})
		d.Send(run.Second{})
		synctest.Wait()
		d.Send(run.Second{})
		end()
		from := time.Now()
		d.Close(ctx)
		took := time.Since(from)
		must.True(t, seen.Load() == 2 && took == time.Second, "%d of 2 seconds were seen, and the hung observer was left after %v", seen.Load(), took)
		close(never)
	})
}
