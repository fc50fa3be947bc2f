package report

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

// ofOneLoadOnly are the formats that have nothing for loads that are not added up.
var ofOneLoadOnly = []string{"csv", "hgrm", "line", "markdown", "perf-test"}

func TestDifferentLoadsAreListedUnderOneHeadingAndNotAddedUp(t *testing.T) {
	r := mergedBeside()
	must.Err(t, "", compiled(t).Validate(decoded(t, written(t, JSON, r, Options{}))), "the document")
	var refused []string
	for _, name := range slices.Sorted(maps.Keys(Formats)) {
		if err := Formats[name](new(bytes.Buffer), r, Options{}); err != nil {
			refused = append(refused, name)
			must.Has(t, name, err.Error(), r.NotAddedUp)
		}
	}
	must.Match(t, ofOneLoadOnly, refused, "formats that have nothing for it")
}
