package export

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
)

func TestACollectorGetsTheLastMetricsBeforeTheScrapeIsAwaited(t *testing.T) {
	for name, signalled := range map[string]bool{"the wait for the scrape is ended by a signal": false, "a signal came before": true} {
		ctx, abort := context.WithCancel(t.Context())
		var sent atomic.Int32
		collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			sent.Add(1)
			abort() // else the scrape is waited for
		}))
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
		shown := must.Have(Start(os.Getenv, "127.0.0.1:0", false, func(string) {}))(t)
		shown.Open(result.Header{})
		scrape := must.Have(http.NewRequestWithContext(t.Context(), http.MethodGet, shown.prometheus.URL(), http.NoBody))(t)
		scrape.Header.Set("X-Prometheus-Scrape-Timeout-Seconds", "10")
		answer := must.Have(http.DefaultClient.Do(scrape))(t)
		_ = answer.Body.Close()
		shown.Finished = true
		if signalled {
			abort()
		}
		from := time.Now()
		shown.Close(ctx, func() {})
		if took := time.Since(from); sent.Load() != 1 || took > 20*time.Second {
			t.Errorf("%s: the collector got %d messages, and it took %v", name, sent.Load(), took)
		}
		collector.Close()
	}
}
