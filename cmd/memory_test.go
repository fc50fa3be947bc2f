package cmd

import (
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/plan"
)

func TestLittleAddressSpaceIsAnErrorThatNamesTheLimit(t *testing.T) {
	for limit, want := range map[uint64]bool{0: false, 1 << 30: true, 2 << 30: false} {
		err := addressSpace(limit)
		if (err != nil) != want || want && !strings.Contains(err.Error(), "ulimit -v: the address space is limited to 1") {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
}

func TestMemoryOfAReadingRunLeavesAQuarterOfTheCgroup(t *testing.T) {
	p := &plan.Plan{Read: plan.Read{Consumers: 1}}
	for usable, most := range map[int64]int64{0: 400 << 20, 64 << 30: 400 << 20, 256 << 20: 192 << 20} {
		if got := readerMemory(p, usable); got > most {
			t.Errorf("of %d bytes, %d, want %d at most", usable, got, most)
		}
	}
}
