package study

import (
	"testing"

	"github.com/kt-bench/kt/internal/result"
)

// A study on the embedded broker says so, and does not call it a cluster of Kafka beside published figures.
func TestEmbedded(t *testing.T) {
	for _, embedded := range []bool{true, false} {
		var r result.Result
		r.Embedded = embedded
		f := figuresOf("", "", &r)
		d := &Document{Cells: []CellDoc{{Runs: []RunDoc{{Loads: []LoadFigures{f}}}}}}
		if got := d.Embedded(); got != embedded {
			t.Errorf("Embedded() = %v, want %v (cluster %q)", got, embedded, f.cluster)
		}
	}
}
