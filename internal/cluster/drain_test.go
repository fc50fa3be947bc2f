package cluster

import (
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

func TestALoadMayDrainAsLongAsItsDeliveryTimeoutLasts(t *testing.T) {
	for _, tc := range []struct {
		name             string
		producers, reads int
		delivery         string
		want             time.Duration
	}{
		{"as a client does by default", 1, 0, "", drainWithin},
		{"a shorter timeout leaves room to say so", 1, 0, "1000", drainWithin},
		{"ten minutes of an outage that is to be measured", 1, 0, "600000", 630 * time.Second},
		{"who only reads is over at once", 0, 1, "", drainWithin},
		{"a round trip reads until all is read", 1, 1, "", 0},
		{"what is no number is refused elsewhere", 1, 0, "soon", drainWithin},
	} {
		p := plan.Plan{Producers: tc.producers}
		p.Read.Consumers = tc.reads
		must.Match(t, tc.want, drain(&p, map[string]plan.Given{"delivery.timeout.ms": {Value: tc.delivery}}), "%s", tc.name)
	}
}
