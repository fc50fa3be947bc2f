package rabbitmq

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/capture"
	"github.com/kt-bench/kt/internal/must"
)

// samples are what a queue has counted, by the minute: the newest first.
const samples = `"samples": [{"sample": 900, "timestamp": 240000}, {"sample": 300, "timestamp": 180000}, {"sample": 0, "timestamp": 120000}, {"sample": 6000, "timestamp": 60000}, {"sample": 0, "timestamp": 0}]`

func TestALookFindsQueuesTheirRatesAndTheirReaders(t *testing.T) {
	s, _ := answering(t, func(r *http.Request) string {
		switch path := r.URL.EscapedPath(); {
		case strings.HasSuffix(path, "/overview"):
			return `{"rabbitmq_version": "4.1.0"}`
		case strings.HasSuffix(path, "/nodes"):
			return `[{"name": "a", "running": true}, {"name": "b", "running": true}]`
		case strings.HasSuffix(path, "/consumers/v"):
			return `[{"queue": {"name": "orders-0"}, "channel_details": {"connection_name": "x"}}, {"queue": {"name": "orders-1"}, "channel_details": {"connection_name": "x"}},
				{"queue": {"name": "orders-1"}, "channel_details": {"connection_name": "y"}}]`
		}
		return `{"page_count": 1, "items": [
			{"name": "orders-0", "type": "quorum", "members": ["a", "b", "c"], "arguments": {"x-queue-type": "quorum"}, "messages": 1500, "message_bytes": 450000,
				"message_stats": {"publish_details": {` + samples + `}, "deliver_get_details": {"samples": [{"sample": 120, "timestamp": 240000}, {"sample": 0, "timestamp": 180000}]}}},
			{"name": "orders-1", "messages": 0}, {"name": "logs-1", "type": "stream", "messages": 3, "message_bytes": 1}, {"name": "a", "messages": 0}, {"name": "a-0", "messages": 0}]}`
	})
	for _, row := range []struct {
		look  capture.Look
		rates []float64
		last  time.Duration
		notes int
	}{
		{capture.Look{Last: 4 * time.Minute}, []float64{6900. / 240}, 4 * time.Minute, 0}, // 600 and 300, and before the node counted anew 6,000
		{capture.Look{Last: 4 * time.Minute, Stage: 2 * time.Minute}, []float64{50, 7.5}, 4 * time.Minute, 0},
		{capture.Look{Last: 24 * time.Hour}, []float64{6900. / 3600}, time.Hour, 1},
		{capture.Look{Last: time.Hour, Live: time.Millisecond}, []float64{6900 / 0.001}, time.Millisecond, 0},
	} {
		if row.look.Live > 0 { // all samples are of that time
			row.rates = []float64{600 / 0.001}
		}
		c := must.Have(s.Look(t.Context(), row.look, func(string) {}))(t)
		must.True(t, c.Version == "4.1.0" && c.Brokers == 2 && c.Last == row.last && len(c.Notes) == row.notes, "%+v", c)
		var names []string
		for _, topic := range c.Topics {
			names = append(names, topic.Name)
		}
		must.Match(t, []string{"a", "a-0", "logs-1", "orders"}, names, "topics")
		o := c.Topics[3]
		must.Match(t, row.rates, o.Rates, "rates")
		must.True(t, o.Partitions == 2 && o.Replicas == 3 && o.Configs["x-queue-type"] == "quorum" && o.Bytes == o.Mean()*300, "%+v", o)
		must.Match(t, 1., o.Busiest, "share of the busiest queue")
		must.Match(t, []string{"it is a stream, and kt writes queues", "too few messages wait to tell how large they are"}, c.Topics[2].Notes, "notes")
		must.True(t, len(c.Groups) == 2 && c.Groups[1].Name == "orders" && c.Groups[1].Members == 2 && c.Groups[1].Lag == 1500 && c.Groups[0].Members == 0, "%+v", c.Groups)
	}
	denied, api := answering(t, func(*http.Request) string { return "" })
	api.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	_, err := denied.Look(t.Context(), capture.Look{Last: time.Hour}, func(string) {})
	must.Err(t, "user kt needs the right password", err, "no rights")
}
