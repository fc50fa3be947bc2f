package cmd

import (
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

func TestTheQuestionAboutAProtectedClusterTellsWhatTheLoadDoes(t *testing.T) {
	p := plan.Plan{
		Command: plan.Produce, Bootstrap: []string{"p-1:9092", "p-2:9092"}, Topic: plan.Topic{Name: "orders"},
		Load: plan.Load{Rate: plan.Rate{PerSecond: 50_000}, Duration: plan.Duration(time.Minute)},
	}
	must.Match(t, "kt produce with topic orders at p-1:9092,p-2:9092, at 50,000 records/s, for 1m00s", describeLoad(&p), "the load")
	p.Load = plan.Load{Rate: plan.Unlimited, Records: 1000}
	must.Match(t, "kt produce with topic orders at p-1:9092,p-2:9092, at no limit, 1,000 records", describeLoad(&p), "the load")
}
