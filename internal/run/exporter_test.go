package run_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
)

// exporter is all that a metrics exporter takes: it observes a run, and serves the newest
// snapshot in Prometheus' text format.
type exporter struct {
	newest atomic.Pointer[result.Snapshot]
}

func (e *exporter) Observe(s run.Second) { e.newest.Store(&s.Snapshot) }

func (e *exporter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if s := e.newest.Load(); s != nil {
		fmt.Fprintf(w, "kt_acknowledged_records_total %d\nkt_failed_records_total %d\n", s.All.Acknowledged, s.All.Failed)
		fmt.Fprintf(w, "kt_response_seconds{quantile=\"0.99\"} %g\n", s.Second.Response.P99.Seconds())
		fmt.Fprintf(w, "kt_consumer_lag_records %d\n", s.ConsumerLag.Records)
	}
}

func TestAMetricsExporterIsOneObserver(t *testing.T) {
	e := new(exporter)
	if _, err := run.Run(t.Context(), request(t, producing("exported", 500)), e); err != nil {
		t.Fatal(err)
	}
	page := httptest.NewRecorder()
	e.ServeHTTP(page, nil)
	for _, want := range []string{"kt_acknowledged_records_total 500\n", "kt_failed_records_total 0\n", "kt_response_seconds{quantile=\"0.99\"} "} {
		if !strings.Contains(page.Body.String(), want) {
			t.Errorf("there is no %q in\n%s", want, page.Body)
		}
	}
}
