package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// TestShardsTellEachOtherOfAnswersOnceAMillisecond answers and fails records that were all
// sent at 0, in two shards.
func TestShardsTellEachOtherOfAnswersOnceAMillisecond(t *testing.T) {
	const us = time.Microsecond
	a := nullShard(plan.Load{})
	b := newShard(a.run, 1)
	for _, step := range []struct {
		shard *Shard
		at    time.Duration
		gap   stats.Gap // that the shard counts then
	}{
		{a, 10_000 * us, stats.Gap{Length: 10_000 * us}},
		{a, 10_900 * us, stats.Gap{}},                                       // nobody else is told
		{b, 16_000 * us, stats.Gap{From: 10_000 * us, Length: 6000 * us}},   // it may be 1 ms too long
		{a, 28_000 * us, stats.Gap{From: 16_000 * us, Length: 12_000 * us}}, // b told
		{b, 41_000 * us, stats.Gap{From: 28_000 * us, Length: 13_000 * us}},
		{b, 41_900 * us, stats.Gap{}},
		{b, 55_900 * us, stats.Gap{From: 41_900 * us, Length: 14_000 * us}}, // its own answers are known exactly
	} {
		op := step.shard.oneOp()
		op.Acknowledge(0, step.at)
		if got := step.shard.rec.Take(new(stats.Phases), stats.Measured, 0, 0, 0)[stats.Measured].Outage; got != step.gap {
			t.Errorf("at %v: outage %+v, want %+v", step.at, got, step.gap)
		}
	}
}

func TestTheFirstSuccessIsToldAtOnce(t *testing.T) {
	a := nullShard(plan.Load{})
	b := newShard(a.run, 1)
	a.oneOp().Acknowledge(0, 100*time.Millisecond)
	b.oneOp().Fail(0, "X")
	a.oneOp().Acknowledge(0, 100*time.Millisecond+time.Microsecond)
	var kinds []stats.EventKind
	for _, e := range a.run.beside.events {
		kinds = append(kinds, e.Kind)
	}
	if !slices.Equal(kinds, []stats.EventKind{stats.FirstError, stats.FirstSuccess}) {
		t.Errorf("events %v, want the first error and the first success", kinds)
	}
}
