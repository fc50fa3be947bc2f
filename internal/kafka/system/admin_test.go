package system

import (
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

// The search for the best number of clients goes up to the number of CPUs.
func TestASinkHasAPartitionForEachClient(t *testing.T) {
	for clients, want := range map[int]int32{1: 12, 2: 12, 64: 64} {
		s := new(System).Sink(new(plan.Plan), clients)
		must.True(t, s.Partitions == want && s.RecordBytes == plan.DefaultRecordSize, "%d clients: %+v, want %d partitions", clients, s, want)
	}
}
