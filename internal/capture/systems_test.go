package capture_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/capture"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/workload"
)

// Groups, and what is counted, are what the system calls so. Topics of which no sizes are known are no small ones.
func TestOtherSystemsAreWrittenWithWhatTheyHave(t *testing.T) {
	for system, row := range map[string]struct{ has, not []string }{
		"rabbitmq": {[]string{"rate: 300  # measured: counters of the brokers", "record-size: 700  # estimated", "consumers: 2"}, []string{"group:", "group-protocol", "idempotent"}},
		"pulsar":   {[]string{`group: "group-01"`, `command-property: ["subscription.type=shared"]`, "but their number and their mean size", "bytes: 70000"}, []string{"group-protocol", "idempotent"}},
	} {
		c := capture.Cluster{
			System: system, Last: time.Hour, At: time.Now(),
			Topics: []capture.Topic{
				{Name: "a", Partitions: 3, Replicas: 1, Rates: []float64{300}, Sure: capture.Measured, Producers: 2},
				{Name: "b", Partitions: 1, Replicas: 1, Rates: []float64{100}, Bytes: 70_000, Sure: capture.Measured},
			},
			Groups: []capture.Group{{Name: "g", Topics: []string{"a"}, Members: 2, Protocol: map[string]string{"pulsar": "shared"}[system]}},
		}
		var text bytes.Buffer
		must.Have(c.Write(&text, capture.Options{Similar: 0.2}))(t)
		must.Has(t, system, text.String(), row.has...)
		for _, s := range row.not {
			must.True(t, !strings.Contains(text.String(), s), "%s: %q is in\n%s", system, s, text.String())
		}
		known := func(command, flag string) error { return config.CheckFlag(plan.Command(command), flag) }
		must.Have(workload.Parse("w.yaml", text.Bytes(), known))(t)
	}
}
