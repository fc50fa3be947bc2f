package export

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"github.com/kt-bench/kt/internal/kafka/system"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/stats"
)

// runOf makes a run of a thousand records on the broker inside the process, 300 of them as warm-up.
func runOf(t *testing.T, command plan.Command, open func(result.Header), o run.Observer) result.Result {
	t.Helper()
	p := plan.Plan{
		Command: command, Topic: plan.Topic{Name: "exported", Partitions: 3}, Producers: 1, Seed: 1,
		Load:    plan.Load{Rate: plan.Rate{PerSecond: 1000}, Records: 1000, Arrivals: plan.Uniform, Warmup: plan.Warmup{Records: 300}},
		Payload: plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(256), Keys: plan.NoKeys},
	}
	if command == plan.Roundtrip {
		p.Payload.Stamp = true
		p.Read = plan.Read{Consumers: 1, From: plan.From{Latest: true}, Commit: plan.CommitNone, Timeout: 20e9}
	}
	k, _ := must.Both(system.New(&p, nil, nil, false))(t)
	return must.Have(run.Run(t.Context(), run.Request{Plan: p, System: k, Opened: func(h result.Header) error { open(h); return nil }}, o))(t)
}

// exported makes a run whose metrics are served.
func exported(t *testing.T, command plan.Command) (*Prometheus, result.Result) {
	t.Helper()
	e := must.Have(ListenPrometheus("127.0.0.1:0"))(t)
	t.Cleanup(e.Close)
	return e, runOf(t, command, e.Open, e)
}

// scraped returns the series of a page, by their text without the run.
func scraped(t *testing.T, e *Prometheus) map[string]float64 {
	t.Helper()
	answer := must.Have(http.Get(e.URL()))(t)
	defer answer.Body.Close()
	page := must.Have(io.ReadAll(answer.Body))(t)
	series := make(map[string]float64)
	for line := range strings.Lines(string(page)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		name = strings.ReplaceAll(strings.ReplaceAll(name, `run_id="`+e.header.RunID+`",`, ""), `,run_id="`+e.header.RunID+`"`, "")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			series[name+"}"] = v
		}
	}
	return series
}

func TestTheTotalsOfTheLastScrapeAreThoseOfTheResult(t *testing.T) {
	e, res := exported(t, plan.Roundtrip)
	got := scraped(t, e)
	for name, want := range map[string]float64{
		`kt_records_offered_total{phase="measured"}`:                                                 float64(res.Records.Offered),
		`kt_records_offered_total{phase="warmup"}`:                                                   300,
		`kt_records_acknowledged_total{phase="measured"}`:                                            float64(res.Records.Acknowledged),
		`kt_records_acknowledged_total{phase="warmup"}`:                                              300,
		`kt_records_unknown_total{phase="measured"}`:                                                 0,
		`kt_records_consumed_total{phase="measured"}`:                                                float64(res.Records.Consumed),
		`kt_acknowledged_bytes_total{phase="measured"}`:                                              float64(res.Throughput.Bytes),
		`kt_response_seconds_count{phase="measured"}`:                                                float64(res.Latency.Response.Count),
		`kt_response_seconds_sum{phase="measured"}`:                                                  res.Histograms.Response.Sum(),
		`kt_response_seconds_bucket{phase="measured",le="+Inf"}`:                                     float64(res.Latency.Response.Count),
		`kt_service_seconds_count{phase="measured"}`:                                                 float64(res.Latency.Service.Count),
		`kt_send_delay_seconds_count{phase="measured"}`:                                              float64(res.Latency.SendDelay.Count),
		`kt_end_to_end_seconds_count{phase="measured"}`:                                              float64(res.Latency.EndToEnd.Count),
		`kt_latency_out_of_range_total{latency="response",phase="measured"}`:                         0,
		`kt_target_records_per_second{run_id="` + res.RunID + `"}`:                                   1000,
		`kt_run_stage{stage="finished"}`:                                                             1,
		`kt_run_stage{stage="running"}`:                                                              0,
		`kt_run_info{acks="all",command="roundtrip",engine="client",kt_version="",topic="exported"}`: 1,
	} {
		v, ok := got[name]
		must.True(t, ok && v == want, "%s is %v (%v), want %v", name, v, ok, want)
	}
	for _, b := range res.Brokers {
		name := fmt.Sprintf(`kt_broker_requests_total{broker="%d",phase="measured",request="produce"}`, b.ID)
		must.Match(t, float64(b.Requests), got[name], "%s is, want %d", name, b.Requests)
	}
	for _, bound := range bounds {
		var want int64
		res.Histograms.Response.Each(func(upTo time.Duration, n int64) {
			if upTo <= bound {
				want += n
			}
		})
		name := fmt.Sprintf(`kt_response_seconds_bucket{phase="measured",le="%v"}`, bound.Seconds())
		v, ok := got[name]
		must.True(t, ok && v == float64(want), "%s is %v (%v), want %d", name, v, ok, want)
	}
}

func TestMetricsFollowTheConventionsOfPrometheus(t *testing.T) {
	e, _ := exported(t, plan.Produce)
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(e)
	problems := must.Have(testutil.GatherAndLint(r))(t)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	families := must.Have(r.Gather())(t)
	for _, f := range families {
		must.True(t, !strings.Contains(f.GetName(), "consume") && !strings.Contains(f.GetName(), "end_to_end"),
			"a run that reads nothing has %s", f.GetName())
	}
}

func TestBothKindsOfBucketsHoldEveryValue(t *testing.T) {
	var h stats.Histogram
	for i := range 5000 {
		h.Record(time.Duration(i*i) * 3 * time.Microsecond)
	}
	h.Record(2 * time.Hour) // out of range
	out := written(t, &h)
	must.True(t, out.GetSampleCount() == 5000 && out.GetSampleSum() == h.Sum() && out.GetSchema() == schema && out.GetZeroCount() == 1,
		"%d values with a sum of %v, schema %d, %d of them 0", out.GetSampleCount(), out.GetSampleSum(), out.GetSchema(), out.GetZeroCount())
	native, inBucket := int64(out.GetZeroCount()), int64(0)
	for _, delta := range out.GetPositiveDelta() {
		inBucket += delta
		native += inBucket
	}
	classic := out.GetBucket()
	if last := classic[len(classic)-1]; native != 5000 || last.GetCumulativeCount() != 5000 || last.GetUpperBound() != 100 {
		t.Errorf("%d values in native buckets, %d in classic ones up to %v s", native, last.GetCumulativeCount(), last.GetUpperBound())
	}
	var none stats.Histogram
	empty := written(t, &none)
	must.True(t, empty.GetSampleCount() == 0 && empty.GetZeroThreshold() > 0, "an empty histogram is not native: %v", empty)
}

func TestABucketHoldsItsUpperBoundAndNotItsLower(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	values := []float64{1e-6, 0.25, 0.5, 1, 2, 3600}
	for range 10_000 {
		values = append(values, math.Exp(random.Float64()*22-14))
	}
	for _, v := range values {
		i := bucketOf(v)
		low, high := math.Exp2(float64(i-1)/8), math.Exp2(float64(i)/8)
		must.True(t, low*(1-1e-12) < v && v <= high*(1+1e-12), "%v is in bucket %d, from %v to %v", v, i, low, high)
	}
	must.Match(t, []int{0, 1, -8}, []int{bucketOf(1), bucketOf(math.Nextafter(1, 2)), bucketOf(0.5)}, "1 is in bucket %d, and 0.5 in %d", bucketOf(1), bucketOf(0.5))
}

func TestOnlyMetricsAreServed(t *testing.T) {
	e := must.Have(ListenPrometheus("127.0.0.1:0"))(t)
	defer e.Close()
	for _, one := range []struct {
		method, path string
		code         int
	}{
		{http.MethodGet, "/metrics", http.StatusOK},
		{http.MethodPost, "/metrics", http.StatusMethodNotAllowed},
		{http.MethodGet, "/", http.StatusNotFound},
		{http.MethodGet, "/debug/pprof/", http.StatusNotFound},
	} {
		r := must.Have(http.NewRequestWithContext(t.Context(), one.method, strings.TrimSuffix(e.URL(), "/metrics")+one.path, nil))(t)
		answer := must.Have(http.DefaultClient.Do(r))(t)
		_ = answer.Body.Close()
		must.Match(t, one.code, answer.StatusCode, "%s %s", one.method, one.path)
	}
	_, err := ListenPrometheus(e.listener.Addr().String())
	must.True(t, err != nil, "an address was taken twice")
}

func TestTheEndOfARunWaitsForAScraperAsLongAsItTakesToComeAgain(t *testing.T) {
	const first, second, curl = "192.0.2.1", "192.0.2.2", ""
	type scrape struct {
		after time.Duration
		from  string
	}
	for name, tc := range map[string]struct {
		before []scrape // in the run
		after  []scrape // when it is over
		status int      // of the last ones
		want   time.Duration
	}{
		"nobody":                       {nil, nil, http.StatusOK, 0},
		"one says nothing of the next": {[]scrape{{0, first}}, nil, http.StatusOK, longestLinger},
		"a person":                     {[]scrape{{0, curl}}, nil, http.StatusOK, 0},
		"none came again":              {[]scrape{{0, first}, {5 * time.Second, first}}, nil, http.StatusOK, 6 * time.Second},
		"one came":                     {[]scrape{{0, first}, {5 * time.Second, first}}, []scrape{{4 * time.Second, first}}, http.StatusOK, 4 * time.Second},
		"rare":                         {[]scrape{{0, first}, {time.Hour, first}}, nil, http.StatusOK, longestLinger},
		"refused":                      {[]scrape{{0, first}, {time.Second, first}}, []scrape{{time.Second, first}}, http.StatusServiceUnavailable, 2 * time.Second},
		"the second of a pair": {
			[]scrape{{0, first}, {0, second}, {5 * time.Second, first}, {0, second}}, []scrape{{2 * time.Second, first}, {time.Second, second}}, http.StatusOK, 3 * time.Second,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := newPrometheus()
			for _, s := range tc.before {
				time.Sleep(s.after)
				answered(e, s.from, http.StatusOK)
			}
			e.Observe(run.Second{Snapshot: result.Snapshot{Live: result.Live{Stage: result.Finished}}})
			go func() {
				for _, s := range tc.after {
					time.Sleep(s.after)
					answered(e, s.from, tc.status)
				}
			}()
			from := time.Now()
			e.Linger(t.Context(), e.Patience())
			must.Match(t, tc.want, time.Since(from), "%s: the run waited for", name)
			synctest.Wait()
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			e.Linger(ctx, longestLinger)
		})
	}
}

// answered is a scrape by a host that is answered with a status. One of a person says no time.
func answered(e *Prometheus, host string, status int) {
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	if host != "" {
		r.RemoteAddr = net.JoinHostPort(host, "40000")
		r.Header.Set(scrapeTimeout, "10")
	}
	answer := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
	e.noted(http.HandlerFunc(answer)).ServeHTTP(httptest.NewRecorder(), r)
}

// written returns a histogram as a scrape with protobuf has it.
func written(t *testing.T, h *stats.Histogram) *dto.Histogram {
	t.Helper()
	desc := prometheus.NewDesc("kt_test_seconds", "Test.", nil, nil)
	var out dto.Metric
	must.Do(t, newHistogram(desc, h, time.Unix(0, 0), nil).Write(&out))
	return out.GetHistogram()
}

// What a scrape costs, of a run with ten brokers and latencies from 0.1 ms to 1 s.
func BenchmarkScrape(b *testing.B) {
	e := newPrometheus()
	e.Open(result.Header{RunID: "run", Plan: plan.Plan{Producers: 1, Load: plan.Load{Rate: plan.Rate{PerSecond: 1000}}}})
	w := stats.Window{End: time.Second, Brokers: make(map[int32]stats.Broker)}
	spread := func(h *stats.Histogram) {
		for d := 100 * time.Microsecond; d < time.Second; d += d / 500 {
			h.Record(d)
		}
	}
	for _, h := range []*stats.Histogram{&w.Response, &w.Service, &w.SendDelay} {
		spread(h)
	}
	for id := range int32(10) {
		var of stats.Broker
		spread(&of.Latency)
		w.Brokers[id] = of
	}
	e.Observe(run.Second{Windows: []stats.Window{w}})
	r := prometheus.NewRegistry()
	r.MustRegister(e)
	for b.Loop() {
		must.Have(r.Gather())(b)
	}
}

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
		took := time.Since(from)
		must.True(t, sent.Load() == 1 && took <= 20*time.Second, "%s: the collector got %d messages, and it took %v", name, sent.Load(), took)
		collector.Close()
	}
}

// dashboard is the part of a Grafana dashboard that Grafana needs.
type dashboard struct {
	UID, Title    string
	SchemaVersion int
	Templating    struct {
		List []struct{ Name, Type, Definition string }
	}
	Panels []struct {
		ID         int
		Type       string
		Title      string
		Datasource source
		GridPos    struct{ X, Y, W, H int }
		Targets    []struct {
			RefID      string
			Expr       string
			Datasource source
		}
	}
}

type source struct{ Type, UID string }

var ownMetric = regexp.MustCompile(`\bkt_[a-z_]+`)

func TestTheDashboardIsOneThatGrafanaLoads(t *testing.T) {
	text := must.Have(os.ReadFile("../../docs/grafana/kt.json"))(t)
	var d dashboard
	must.Do(t, json.Unmarshal(text, &d))
	must.True(t, d.SchemaVersion >= 36 && d.UID != "" && d.Title != "" && len(d.Panels) != 0,
		"schema %d, uid %q, title %q, %d panels", d.SchemaVersion, d.UID, d.Title, len(d.Panels))
	if v := d.Templating.List; len(v) != 2 || v[0].Name != "datasource" || v[0].Type != "datasource" || v[1].Name != "run" || v[1].Definition != "label_values(kt_run_info, run_id)" {
		t.Errorf("variables %+v", v)
	}
	here := make(map[string]bool)
	for _, m := range metric.Exported() {
		here[m.Export] = true
	}
	variable := source{"prometheus", "${datasource}"}
	ids, cells := make(map[int]bool), make(map[[2]int]string)
	for _, p := range d.Panels {
		must.True(t, !ids[p.ID] && p.ID != 0 && p.Title != "" && p.Datasource == variable && len(p.Targets) != 0,
			"panel %d %q: its id is not unique, or its title, data source or query is missing", p.ID, p.Title)
		ids[p.ID] = true
		g := p.GridPos
		must.True(t, g.X >= 0 && g.Y >= 0 && g.W >= 1 && g.H >= 1 && g.X+g.W <= 24, "%s is outside of the grid: %+v", p.Title, g)
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				other := cells[[2]int{x, y}]
				must.Hold(t, other == "", "%s lies on %s", p.Title, other)
				cells[[2]int{x, y}] = p.Title
			}
		}
		refs := make(map[string]bool)
		for _, q := range p.Targets {
			must.True(t, !refs[q.RefID] && q.RefID != "" && q.Datasource == variable && strings.Contains(q.Expr, `run_id=~"$run"`),
				"%s: query %q %q", p.Title, q.RefID, q.Expr)
			refs[q.RefID] = true
			for _, name := range ownMetric.FindAllString(q.Expr, -1) {
				must.True(t, here[strings.TrimSuffix(name, "_bucket")], "%s asks for %s, which kt does not have", p.Title, name)
			}
		}
	}
}
