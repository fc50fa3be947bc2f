package writing

import (
	"testing"

	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/plan"
)

// A plan cannot ask the ledger how large its stamps are: neither may import the other.
func TestAPlanLeavesRoomForTheStampOfTheLedger(t *testing.T) {
	if plan.StampBytes != ledger.StampSize {
		t.Errorf("plan.StampBytes is %d, and a stamp takes %d bytes", plan.StampBytes, ledger.StampSize)
	}
}
