package queue

import (
	"testing"

	"github.com/kt-bench/kt/internal/plan"
)

// What a system says of a queue is a guess or a second old. In queues of its own kt knows better.
func TestNoMoreWaitsInNewQueuesThanWasWrittenAndNotRead(t *testing.T) {
	for fresh, want := range map[bool]int64{true: 3, false: 9} {
		a := NewArrivals(Options{
			Plan: plan.Plan{Read: plan.Read{Consumers: 1}}, Queues: 2, Fresh: fresh, Written: func() []int64 { return []int64{10, 5} },
		})
		a.counted[0].Store(7)
		a.counted[1].Store(6) // read before its receipt came
		a.lag = []int64{8, 1}
		if w := a.Take(); w.ConsumerLag != want {
			t.Errorf("fresh %v: %d wait, want %d", fresh, w.ConsumerLag, want)
		}
	}
}
