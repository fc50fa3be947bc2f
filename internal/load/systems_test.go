package load

import (
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/pulsar"
	"github.com/kt-bench/kt/internal/queue"
)

func TestTLSIsWhatTheURLSays(t *testing.T) {
	for _, tc := range []struct{ url, property, warning, err string }{
		{"amqp://h", "security.protocol=SSL", "", "security.protocol=SSL (from f): amqp:// in --url connects without TLS: write amqps://"},
		{"pulsar://h", "security.protocol=sasl_ssl", "", "write pulsar+ssl://"},
		{"amqp://h", "security.protocol=PLAINTEXT", "", ""},
		{"amqp://h", "ssl.truststore.location=ca.pem", "have no effect with amqp://", ""},
		{"amqps://h", "ssl.truststore.location=ca.pem", "", ""},
		{"amqps://h", "security.protocol=SSL", "", ""},
		{"", "security.protocol=SSL", "", ""},
	} {
		name, value, _ := strings.Cut(tc.property, "=")
		warnings, err := checkTLS(&plan.Plan{URL: tc.url}, map[string]plan.Given{name: {Value: value, Source: "f"}})
		if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) || !strings.Contains(strings.Join(warnings, ""), tc.warning) || (tc.warning == "") != (len(warnings) == 0) {
			t.Errorf("%+v: warnings %q, error %v", tc, warnings, err)
		}
	}
}

// Pulsar's client may find a late message only when its next look is due.
func TestAMessageOfPulsarMayWaitForTwiceTheTimeout(t *testing.T) {
	for given, want := range map[string]time.Duration{"": time.Minute, "5000": 10 * time.Second} {
		l := &Load{Run: &config.Run{}}
		if given != "" {
			l.Properties = map[string]plan.Given{"delivery.timeout.ms": {Value: given}}
		}
		p := plan.Plan{URL: "pulsar://h", Topic: plan.Topic{Name: "t"}, Producers: 1, Payload: plan.Payload{Kind: plan.Monotonic}}
		l.System, _ = must.Both(pulsar.New(&p, l.Properties, nil, queue.Access{}))(t)
		must.Match(t, want, l.DeliveryTimeout(), "delivery.timeout.ms=%s", given)
	}
}
