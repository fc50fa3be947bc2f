package run

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

func TestARunFileIsNamedAfterItsRun(t *testing.T) {
	var files []*File
	defer func() {
		for _, f := range files {
			f.Discard()
			must.Match(t, "", f.Path(), "a file that is gone")
		}
	}()
	dir := filepath.Join(t.TempDir(), "runs")
	at := time.Date(2026, 1, 31, 15, 4, 5, 0, time.UTC)
	long := strings.Repeat("x", 249)
	for _, r := range []struct {
		name, topic string
		load        plan.Plan
		acks        string
		tags        []string
		want        string
	}{
		{"a topic", "orders", plan.Plan{Command: plan.Consume}, "", nil, "consume-orders"},
		{"several topics", "orders-{00..99},b", plan.Plan{Command: plan.Consume}, "", nil, "consume-orders-00-and-100-more"},
		{"the same again", "orders", plan.Plan{Command: plan.Consume}, "", nil, "consume-orders-2"},
		{"dots", "...", plan.Plan{Command: plan.Consume}, "", nil, "consume-..."},
		{"a pattern, which is no name", "", plan.Plan{Command: plan.Consume, Read: plan.Read{Include: "../(a|b).*"}}, "", nil, "consume-topics"},
		{"the longest topic there can be", long, plan.Plan{Command: plan.Consume}, "", nil, "consume-" + long[:212]},
		{"a group", "orders", plan.Plan{Command: plan.Consume, Read: plan.Read{Group: "billing/eu *"}}, "", nil, "consume-orders-group-billing-eu--"},
		{"a group that nobody has named", "orders", plan.Plan{Command: plan.Consume, Read: plan.Read{Group: "perf-consumer-4711"}}, "", nil, "consume-orders-3"},
		{"a rate, acks and tags", "orders", atRate(t, "50000"), "all", []string{"nightly", "eu"}, "produce-orders-50k-acks-all-nightly"},
		{"an odd rate", "orders", atRate(t, "12345678"), "1", nil, "produce-orders-12.35M-acks-1"},
		{"a rate in bytes", "orders", atRate(t, "100MiB/s"), "0", nil, "produce-orders-100MiB-acks-0"},
		{"stages", "orders", atRate(t, "10k@1m,10k..50k@5m"), "all", nil, "produce-orders-stages-acks-all"},
		{"all of it at its longest", long, atRate(t, "0.125"), "all", []string{long[:64]}, "produce-" + long[:220-8-6-9-33] + "-0.125-acks-all-" + long[:32]},
	} {
		t.Run(r.name, func(t *testing.T) {
			p := r.load
			p.Topic.Name = r.topic
			f := must.Have(CreateFileIn(dir, Stem(&p, r.acks, r.tags), at))(t)
			files = append(files, f)
			must.Match(t, filepath.Join(dir, "20260131-150405-"+r.want+".ktr"), f.Path(), "it")
		})
	}
}

// atRate returns a load that writes at a rate.
func atRate(t *testing.T, rate string) plan.Plan {
	t.Helper()
	r := must.Have(plan.ParseTarget(rate))(t)
	return plan.Plan{Command: plan.Produce, Producers: 1, Load: plan.Load{Rate: r}}
}
