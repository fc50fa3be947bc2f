package result

import (
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

func TestKtSaysHowMuchOfTheMedianIsItsOwnDelay(t *testing.T) {
	for _, c := range []struct {
		name          string
		target        float64
		own, response int64 // medians, in microseconds
		want          string
	}{
		{"a burst waits for half of its length", 20_000, 500, 1400, "kt's own delay is 500µs of 1.40ms (p50)"},
		{"a twentieth is not worth a word", 20_000, 50, 1000, ""},
		{"nothing is due at an unlimited rate", 0, 500, 1400, ""},
		{"nothing was acknowledged", 20_000, 500, 0, ""},
	} {
		r := Result{Throughput: Throughput{TargetRecordsPerSecond: c.target}, Latency: Latencies{
			OwnSendDelay: Latency{Count: 1, P50: Micros(c.own)}, Response: Latency{Count: 1, P50: Micros(c.response)},
		}}
		r.OwnDelayShare = r.ownDelayShare()
		must.Match(t, c.want, r.OwnDelay(), "%s", c.name)
	}
}
