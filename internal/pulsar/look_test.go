package pulsar

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/capture"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
)

func TestALookFindsTopicsTheirRatesAndTheirSubscriptions(t *testing.T) {
	const (
		list     = `["persistent://n/s/orders-partition-1", "persistent://n/s/orders-partition-0", "persistent://n/s/one", "persistent://n/s/gone", "persistent://n/s/__change_events-partition-0"]`
		pair     = `{}, {}`
		consumer = `{"avgMessagesPerEntry": 1}`
	)
	// A second look finds 300 more messages of 140 bytes, and those of partition 1 counted anew.
	partitions := []string{
		`{"partitions": {"persistent://n/s/orders-partition-0": {"msgRateIn": 90, "msgThroughputIn": 12600, "msgInCounter": 100, "bytesInCounter": 14000, "publishers": [` + pair + `],
			"subscriptions": {"billing": {"type": "Key_Shared", "msgRateOut": 80, "msgBacklog": 5, "msgOutCounter": 100, "consumers": [` + consumer + `, ` + consumer + `]}}},
		"persistent://n/s/orders-partition-1": {"msgRateIn": 10, "msgThroughputIn": 1400, "msgInCounter": 900, "bytesInCounter": 126000,
			"subscriptions": {"billing": {"type": "Key_Shared", "msgRateOut": 0, "msgBacklog": 7}, "audit": {"type": "Failover"}}}}}`,
		`{"partitions": {"persistent://n/s/orders-partition-0": {"msgInCounter": 300, "bytesInCounter": 42000, "subscriptions": {"billing": {"msgOutCounter": 250}}},
		"persistent://n/s/orders-partition-1": {"msgInCounter": 100, "bytesInCounter": 14000}}}`,
	}
	for _, live := range []time.Duration{0, 20 * time.Millisecond} {
		asked := 0
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := map[string]string{
				"/admin/v2/brokers": `["b:1", "c:1"]`, "/admin/v2/brokers/version": "3.0.0", "/admin/v2/persistent/n/s": list, "/admin/v2/persistent/n/s/one/stats": `{"msgRateIn": 1}`,
				"/admin/v2/persistent/n/s/orders/partitioned-stats": partitions[min(asked, 1)], "/admin/v2/persistent/n/s/orders/persistence": `{"bookkeeperWriteQuorum": 3}`,
			}[r.URL.Path]
			if r.URL.Path == "/admin/v2/persistent/n/s/orders/partitioned-stats" {
				asked++
			}
			if answer == "" {
				http.NotFound(w, r)
			}
			_, _ = io.WriteString(w, answer)
		}))
		s, _ := must.Both(New(&plan.Plan{URL: "pulsar://localhost/n/s?admin=" + api.URL}, nil, nil, queue.Access{TLS: func(string) (*tls.Config, error) { return nil, nil }}))(t)
		c := must.Have(s.Look(t.Context(), capture.Look{Last: time.Hour, Live: live}, func(string) {}))(t)
		api.Close()
		var names []string
		for _, topic := range c.Topics {
			names = append(names, topic.Name)
		}
		must.Match(t, []string{"gone", "one", "orders"}, names, "topics")
		must.True(t, c.Version == "3.0.0" && c.Brokers == 2 && c.Topics[1].Partitions == 1 && len(c.Topics[0].Notes) == 1, "%+v", c)
		o := c.Topics[2]
		must.True(t, o.Partitions == 2 && o.Replicas == 3 && o.Live == live, "%+v", o)
		if live == 0 {
			must.Match(t, []float64{100}, o.Rates, "rates")
			must.Match(t, 0.9, o.Busiest, "share of the busiest partition")
			must.True(t, o.Bytes == 10_000 && o.Producers == 2 && len(c.Groups) == 2 && len(c.Notes) == 1, "%+v", c)
			g := c.Groups[1]
			must.True(t, g.Name == "billing" && g.Protocol == "key_shared" && g.Members == 2 && g.Rate == 80 && g.Written == 100 && g.Lag == 12, "%+v", g)
			continue
		}
		seconds := 300 / o.Rates[0] // 200 more, and 100 counted anew
		must.True(t, seconds >= live.Seconds() && seconds < 5 && len(c.Notes) == 0, "300 messages in %v s: %+v", seconds, c)
		must.True(t, c.Groups[0].Rate*seconds > 149 && c.Groups[0].Rate*seconds < 151, "150 messages were read: %+v", c.Groups)
	}
}
