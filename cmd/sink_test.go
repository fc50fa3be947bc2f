package cmd

import (
	"testing"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/plan"
)

// The search for the best number of clients goes up to the number of CPUs.
func TestASinkHasAPartitionForEachClient(t *testing.T) {
	l := &load{Run: &config.Run{Plan: plan.Plan{Command: plan.Consume}}}
	for clients, want := range map[int]int32{1: minSinkPartitions, 2: minSinkPartitions, 64: 64} {
		if s := sinkOf(l, clients); s.Partitions != want || s.RecordBytes != plan.DefaultRecordSize {
			t.Errorf("%d clients: %+v, want %d partitions", clients, s, want)
		}
	}
}
