package wire

import (
	"fmt"

	"github.com/kt-bench/kt/internal/plan"
)

// FitsReading returns an error if a plan asks for a way to read that this engine does not have. Its
// readers share the partitions out themselves, and so there is no group and nothing is committed.
func FitsReading(p *plan.Plan) error {
	if p.Read.Group == "" {
		return nil
	}
	return fmt.Errorf("--engine wire: it reads without a group (--group %s); --no-group reads all partitions, and --engine client reads in groups", p.Read.Group)
}
