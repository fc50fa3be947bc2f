package run_test

import (
	"context"
	"fmt"

	"github.com/kt-bench/kt/internal/kafka/system"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/run"
)

// A plan without bootstrap servers goes to a broker inside the process.
func ExampleRun() {
	p := plan.Plan{
		Command: plan.Produce, Topic: plan.Topic{Name: "orders", Partitions: 3}, Producers: 1,
		Load:    plan.Load{Rate: plan.Rate{PerSecond: 2000}, Records: 1000, Arrivals: plan.Uniform},
		Payload: plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(512), Keys: plan.NoKeys},
	}
	kafka, _, err := system.New(&p, nil, nil, false)
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := run.Run(context.Background(), run.Request{Plan: p, System: kafka})
	if err != nil {
		fmt.Println(err)
		return
	}
	l := res.Latency.Response
	fmt.Println(res.Records.Acknowledged, "records acknowledged; p99 is known:", l.Min <= l.P99 && l.P99 <= l.Max && l.Count > 0)
	// Output: 1000 records acknowledged; p99 is known: true
}
