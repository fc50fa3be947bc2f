package export

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/secret"
	"github.com/kt-bench/kt/internal/stats"
)

// OTLP sends the metrics of a run to an OpenTelemetry collector, by OTLP over HTTP. The standard environment variables say
// where to, how often and under which name.
type OTLP struct {
	totals
	warn     func(text string)
	warned   sync.Once          // that metrics could not be sent
	provider *sdk.MeterProvider // nil: the run has not been opened
}

var (
	_ run.Observer = (*OTLP)(nil)
	_ sdk.Producer = (*OTLP)(nil)
)

// httpProtobuf is the one protocol that kt speaks.
const httpProtobuf = "http/protobuf"

// OTLPFromEnv returns an exporter if a variable names an endpoint and none says no; else nil. An error names a variable that
// is wrong, and none of its secrets. Environment variables are the SDK's too: getenv has to be that of the process.
func OTLPFromEnv(getenv func(string) string, warn func(text string)) (*OTLP, error) {
	name, endpoint := firstSet(getenv, "ENDPOINT")
	if endpoint == "" || strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || getenv("OTEL_METRICS_EXPORTER") == "none" {
		return nil, nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s: it is no URL: write http://HOST:4318", name)
	}
	if name, protocol := firstSet(getenv, "PROTOCOL"); protocol != "" && protocol != httpProtobuf {
		return nil, fmt.Errorf("%s=%s: kt speaks %s: set that, and the endpoint of the collector for it (port 4318)", name, protocol, httpProtobuf)
	}
	name, headers := firstSet(getenv, "HEADERS")
	for one := range strings.SplitSeq(headers, ",") {
		key, value, ok := strings.Cut(one, "=")
		plain, _ := url.PathUnescape(value) // as it is sent
		secret.Learn(strings.TrimSpace(value), strings.TrimSpace(plain))
		if headers != "" && (!ok || strings.TrimSpace(key) == "") {
			return nil, fmt.Errorf("%s: write KEY=VALUE,KEY=VALUE", name)
		}
	}
	for _, name := range []string{"OTEL_METRIC_EXPORT_INTERVAL", "OTEL_METRIC_EXPORT_TIMEOUT"} {
		if value := getenv(name); value != "" {
			if ms, err := strconv.Atoi(value); err != nil || ms <= 0 {
				return nil, fmt.Errorf("%s=%s: write milliseconds above 0, as 5000", name, value)
			}
		}
	}
	return &OTLP{warn: warn}, nil
}

// firstSet returns the variable of an endpoint that is set, with its value; "" if none is. That of metrics alone comes first.
func firstSet(getenv func(string) string, of string) (name, value string) {
	for _, prefix := range []string{"OTEL_EXPORTER_OTLP_METRICS_", "OTEL_EXPORTER_OTLP_"} {
		name := prefix + of
		if value := getenv(name); value != "" {
			return name, value
		}
	}
	return "", ""
}

// Open begins to send the metrics of a run.
func (o *OTLP) Open(h result.Header) {
	o.open(h)
	otel.SetLogger(logr.Discard()) // it writes to stderr, headers with secrets included
	otel.SetErrorHandler(otel.ErrorHandlerFunc(o.failed))
	ctx := context.Background() // nothing here waits for the network
	exporter, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithProxy(stay))
	if err != nil {
		o.failed(err)
		return
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "kt"), attribute.String("service.version", h.KTVersion),
		attribute.String("service.instance.id", h.RunID), attribute.String("host.name", h.Environment.Host.Hostname),
	), resource.WithFromEnv())
	if err != nil { // the rest of it stands
		o.warn(fmt.Sprintf("OTEL_RESOURCE_ATTRIBUTES: %v: write name=value,name=value; what is right of it is sent", err))
	}
	o.provider = sdk.NewMeterProvider(
		sdk.WithResource(about), sdk.WithReader(sdk.NewPeriodicReader(exporter, sdk.WithProducer(o))),
	)
}

// stay chooses the proxy as usual, and refuses a redirect, because headers with secrets would go along.
func stay(r *http.Request) (*url.URL, error) {
	if r.Response != nil { // it is the one that redirects
		return nil, errors.New("it redirects to another address: set OTEL_EXPORTER_OTLP_ENDPOINT to that one")
	}
	return http.ProxyFromEnvironment(r)
}

// Observe adds one second.
func (o *OTLP) Observe(s run.Second) { o.observe(&s) }

// failed says that metrics could not be sent, once: the next ones may be.
func (o *OTLP) failed(err error) {
	o.warned.Do(func() {
		var of *url.Error // with the endpoint, which may hold a token
		if errors.As(err, &of) {
			err = of.Err
		}
		o.warn(fmt.Sprintf("metrics were not sent to the OpenTelemetry collector: %v; the run goes on", err))
	})
}

// lastFlush is how long the last metrics may take.
const lastFlush = 5 * time.Second

// Close sends the last totals, for lastFlush at most.
func (o *OTLP) Close() {
	if o.provider == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastFlush)
	defer cancel()
	if err := o.provider.Shutdown(ctx); err != nil {
		o.failed(err)
	}
}

// Produce returns the metrics of the run up to its newest second.
func (o *OTLP) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	scope := metricdata.ScopeMetrics{Scope: instrumentation.Scope{Name: "github.com/kt-bench/kt", Version: o.header.KTVersion}}
	now := time.Now()
	o.each(func(m *metric.Metric, series func(put func(v metric.Value, labels ...string))) {
		one := metricdata.Metrics{Name: otelName(m), Description: m.Help(), Unit: m.Unit.Code()}
		var points []metricdata.DataPoint[float64]
		var times []metricdata.ExponentialHistogramDataPoint[float64]
		series(func(v metric.Value, labels ...string) {
			if v.Times == nil {
				points = append(points, metricdata.DataPoint[float64]{Attributes: o.attributes(m, labels), StartTime: o.header.StartedAt, Time: now, Value: v.Number})
				return
			}
			p := exponentialPoint(v.Times)
			p.Attributes, p.StartTime, p.Time = o.attributes(m, labels), o.header.StartedAt, now
			times = append(times, p)
		})
		switch {
		case m.IsDistribution():
			one.Data = metricdata.ExponentialHistogram[float64]{Temporality: metricdata.CumulativeTemporality, DataPoints: times}
		case m.Kind == metric.Count:
			one.Data = metricdata.Sum[float64]{DataPoints: points, Temporality: metricdata.CumulativeTemporality, IsMonotonic: true}
		default:
			one.Data = metricdata.Gauge[float64]{DataPoints: points}
		}
		scope.Metrics = append(scope.Metrics, one)
	})
	return []metricdata.ScopeMetrics{scope}, nil
}

// otelName returns the name of a metric as OpenTelemetry has it, such as kt.records.offered. Prometheus' receiver of OTLP
// makes kt's name for Prometheus of it, with the unit and the kind.
func otelName(m *metric.Metric) string {
	name := strings.TrimSuffix(strings.TrimSuffix(m.Export, "_total"), m.Unit.Suffix())
	return strings.ReplaceAll(name, "_", ".")
}

// attributes returns the labels of a series.
func (o *OTLP) attributes(m *metric.Metric, values []string) attribute.Set {
	all := []attribute.KeyValue{attribute.String(runLabel, o.header.RunID)}
	for i, name := range m.Labels {
		all = append(all, attribute.String(name, labelValue(values[i])))
	}
	return attribute.NewSet(all...)
}

// exponentialPoint returns a histogram as OpenTelemetry has it. Its bucket i begins where that of exponential ends.
func exponentialPoint(h *stats.Histogram) metricdata.ExponentialHistogramDataPoint[float64] {
	zero, buckets := exponential(h)
	p := metricdata.ExponentialHistogramDataPoint[float64]{Count: uint64(h.Count()), Sum: h.Sum(), Scale: schema, ZeroCount: zero}
	if h.Count() > 0 {
		p.Min, p.Max = metricdata.NewExtrema(h.Min().Seconds()), metricdata.NewExtrema(h.Served().Max().Seconds())
	}
	if len(buckets) == 0 {
		return p
	}
	keys := slices.Sorted(maps.Keys(buckets))
	first, last := keys[0], keys[len(keys)-1]
	p.PositiveBucket = metricdata.ExponentialBucket{Offset: int32(first - 1), Counts: make([]uint64, last-first+1)}
	for i, n := range buckets {
		p.PositiveBucket.Counts[i-first] = uint64(n)
	}
	return p
}
