package verdict

import (
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/must"
)

// reads returns the evidence of ten seconds of reading 1,000 records a second: readers keep up, and there is consumer lag all the time.
func reads() Evidence {
	return Evidence{
		Measured: 10 * time.Second, Consumed: 10_000, CoresAvailable: 4, HostCores: 8,
		Read: &Readers{Only: true, Seconds: 10, RecordsPerSecond: 1000, LagThere: 1, Lag: Lag{KeptUp: new(true)}},
	}
}

func TestTheVerdictOnReadingNamesTheLimitAndItsNumbers(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name    string
		In      yaml.Node
		Want    Limit
		Valid   bool
		Numbers []string
	}](t, "reading") {
		t.Run(tc.Name, func(t *testing.T) { judged(t, given(t, reads(), tc.In), tc.Want, tc.Valid, tc.Numbers...) })
	}
}

func TestReadersThatDoNotKeepUpAreTheLimitOfARoundtrip(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name    string
		In      yaml.Node
		Want    Limit
		Numbers []string
	}](t, "reading") {
		base := with(0, func(*Evidence) {})
		base.Read = &Readers{Lag: Lag{Records: 2000, Slope: 200, Appended: 350, KeptUp: new(false)}}
		t.Run(tc.Name, func(t *testing.T) { judged(t, given(t, base, tc.In), tc.Want, true, tc.Numbers...) })
	}
}
