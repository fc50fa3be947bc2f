package engine

import (
	"testing"
	"testing/synctest"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

func TestTheWarmupOfReadingIsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{}
		p := consuming(plan.Load{Duration: seconds(4), Warmup: plan.Warmup{Duration: seconds(1)}}, plan.Read{})
		must.Have(Run(t.Context(), p, Drivers{Read: newLog(1000, 1e6)}, Options{}, c))(t)
		if n := c.total[stats.Warmup].Consumed; n < 950 || n > 1050 {
			t.Errorf("%d records in the warm-up, want 1000", n)
		}
		if n := c.total[stats.Measured].Consumed; n < 2900 || n > 3050 {
			t.Errorf("%d records measured, want 3000", n)
		}
	})
}

func TestTheReadersOfAllProcessesShareOutTheWarmup(t *testing.T) {
	for name, producers := range map[string]int{"of a round trip": 4, "of what only reads": 0} {
		p := consuming(plan.Load{Warmup: plan.Warmup{Records: 101}}, plan.Read{Consumers: 3, Groups: 2})
		p.Producers = producers
		shares := must.Have(p.Divide(2))(t)
		var warmup int64
		for _, share := range shares {
			n := share.Read.Clients()
			for i := range n {
				warmup += newReadShard(&run{plan: share}, i, n).warm.records
			}
		}
		if warmup != 101 {
			t.Errorf("%s: %d records of the warm-up, want 101", name, warmup)
		}
	}
}
