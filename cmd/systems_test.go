package cmd

import (
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/pulsar"
	"github.com/kt-bench/kt/internal/queue"
)

// Pulsar's client may find a late message only when its next look is due.
func TestAMessageOfPulsarMayWaitForTwiceTheTimeout(t *testing.T) {
	for given, want := range map[string]time.Duration{"": time.Minute, "5000": 10 * time.Second} {
		l := &load{Run: &config.Run{}}
		if given != "" {
			l.Properties = map[string]plan.Given{"delivery.timeout.ms": {Value: given}}
		}
		p := plan.Plan{URL: "pulsar://h", Topic: plan.Topic{Name: "t"}, Producers: 1, Payload: plan.Payload{Kind: plan.Monotonic}}
		var err error
		if l.system, _, err = pulsar.New(&p, l.Properties, nil, queue.Access{}); err != nil {
			t.Fatal(err)
		}
		if got := l.deliveryTimeout(); got != want {
			t.Errorf("delivery.timeout.ms=%s: %s, want %s", given, got, want)
		}
	}
}
