package export

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// standIn is a collector that keeps the newest request.
type standIn struct {
	mu     sync.Mutex // guards the rest
	newest collector.ExportMetricsServiceRequest
	header http.Header
}

func (c *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = proto.Unmarshal(body, &c.newest)
	}
	if err != nil || r.URL.Path != "/v1/metrics" {
		w.WriteHeader(http.StatusBadRequest)
	}
	c.header = r.Header
}

// sent makes a run whose metrics go to an address, and returns the warnings.
func sent(t *testing.T, endpoint string) (warnings []string, res result.Result) {
	t.Helper()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=lab")
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}
	o := must.Have(OTLPFromEnv(func(name string) string { return env[name] }, func(text string) { warnings = append(warnings, text) }))(t)
	res = runOf(t, plan.Produce, o.Open, o)
	o.Close()
	return warnings, res
}

func TestACollectorGetsTheTotalsOfTheResult(t *testing.T) {
	c := new(standIn)
	server := httptest.NewServer(c)
	defer server.Close()
	warnings, res := sent(t, server.URL)
	must.True(t, len(warnings) == 0, "warnings %q", warnings)
	c.mu.Lock()
	defer c.mu.Unlock()
	must.Match(t, "Bearer abc", c.header.Get("Authorization"), "authorization")
	about := c.newest.GetResourceMetrics()[0]
	attributes := make(map[string]string)
	for _, a := range about.GetResource().GetAttributes() {
		attributes[a.GetKey()] = a.GetValue().GetStringValue()
	}
	if attributes["service.name"] != "kt" || attributes["deployment.environment"] != "lab" || attributes["service.instance.id"] != res.RunID {
		t.Errorf("resource %v", attributes)
	}
	sums := make(map[string]float64) // of the measured phase
	var response *otlp.ExponentialHistogramDataPoint
	for _, m := range about.GetScopeMetrics()[0].GetMetrics() {
		for _, p := range m.GetSum().GetDataPoints() {
			if has(p, "phase", "measured") {
				sums[m.GetName()] += p.GetAsDouble()
			}
		}
		for _, p := range m.GetExponentialHistogram().GetDataPoints() {
			if m.GetName() == "kt.response" && has(p, "phase", "measured") && has(p, runLabel, res.RunID) {
				response = p
			}
		}
	}
	if sums["kt.records.acknowledged"] != float64(res.Records.Acknowledged) || sums["kt.records.offered"] != float64(res.Records.Offered) || sums["kt.acknowledged"] != float64(res.Throughput.Bytes) {
		t.Errorf("%v, want %+v and %d bytes", sums, res.Records, res.Throughput.Bytes)
	}
	inBuckets := response.GetZeroCount()
	for _, n := range response.GetPositive().GetBucketCounts() {
		inBuckets += n
	}
	if n := uint64(res.Latency.Response.Count); response.GetCount() != n || inBuckets != n || response.GetSum() != res.Histograms.Response.Sum() || response.GetScale() != schema {
		t.Errorf("%d response times, %d in buckets, want %d", response.GetCount(), inBuckets, n)
	}
}

// has reports whether a point has an attribute.
func has(p interface{ GetAttributes() []*common.KeyValue }, key, value string) bool {
	return slices.ContainsFunc(p.GetAttributes(), func(a *common.KeyValue) bool { return a.GetKey() == key && a.GetValue().GetStringValue() == value })
}

func TestHeadersWithSecretsFollowNoRedirect(t *testing.T) {
	asked := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	warnings, _ := sent(t, server.URL)
	must.True(t, !asked && len(warnings) == 1 && strings.Contains(warnings[0], "redirects"), "the other server was asked: %v; %q", asked, warnings)
}

func TestAnAnswerThatRepeatsAHeaderShowsNoSecret(t *testing.T) {
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20Qx7secret"}
	must.Have(OTLPFromEnv(func(name string) string { return env[name] }, nil))(t)
	got := theme.Clean("400 Bad Request (body: Bearer Qx7secret)")
	must.True(t, !strings.Contains(got, "Qx7"), "%v", got)
}

func TestACollectorThatDoesNotAnswerIsOneWarning(t *testing.T) {
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "100")
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	warnings, res := sent(t, strings.Replace(server.URL, "http://", "http://user:hidden@", 1))
	if len(warnings) != 1 || strings.Contains(warnings[0], "hidden") || strings.Contains(warnings[0], "abc") || !strings.Contains(warnings[0], "refused") {
		t.Errorf("warnings %q", warnings)
	}
	must.Match(t, 700, res.Records.Acknowledged, "%+v", res.Records)
}

func TestACollectorThatHangsHoldsUpTheEndForSeconds(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	from := time.Now()
	warnings, _ := sent(t, server.URL)
	took := time.Since(from)
	must.True(t, len(warnings) == 1 && took <= 15*time.Second, "it took %v, warnings %q", took, warnings)
}

func TestTheVariablesOfOpenTelemetryAreChecked(t *testing.T) {
	const secret = "s3cret"
	for _, one := range must.Rows[[]struct {
		Name string
		Env  map[string]string
		On   bool
		Bad  string
	}](t, "otlp") {
		o, err := OTLPFromEnv(func(name string) string { return one.Env[name] }, nil)
		text := ""
		if err != nil {
			text = err.Error()
		}
		must.True(t, (o != nil) == one.On && strings.HasPrefix(text, one.Bad) && (text == "") == (one.Bad == "") && !strings.Contains(text, secret),
			"%s: on %t, error %q", one.Name, o != nil, text)
	}
}

// Prometheus' receiver of OTLP replaces dots, and adds the unit and, to a counter, "total".
func TestOneNameIsTheOtherThroughOpenTelemetry(t *testing.T) {
	for _, m := range metric.Exported() {
		name := strings.ReplaceAll(otelName(&m), ".", "_")
		name += map[string]string{"s": "_seconds", "By": "_bytes", "{record}/s": "_per_second", "1": "_ratio"}[m.Unit.Code()]
		if m.Kind == metric.Count {
			name += "_total"
		}
		must.Match(t, m.Export, name, "%s in %s becomes", otelName(&m), m.Unit)
	}
}

func TestAnEmptyHistogramHasNoBuckets(t *testing.T) {
	p := exponentialPoint(new(stats.Histogram))
	must.True(t, p.Count == 0 && len(p.PositiveBucket.Counts) == 0, "%+v", p)
}
