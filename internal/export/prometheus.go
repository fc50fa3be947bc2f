package export

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/stats"
)

// Prometheus serves the metrics of a run at /metrics, for Prometheus to scrape.
type Prometheus struct {
	totals
	descs    map[string]*prometheus.Desc // by the names of the metrics
	listener net.Listener
	server   *http.Server
	serving  sync.WaitGroup

	scraping sync.Mutex          // guards the rest
	scrapers map[string]*scraper // by host
	complete bool                // the totals are those of the whole run
	taken    chan struct{}       // holds one: a scraper has taken the last totals
}

var (
	_ run.Observer         = (*Prometheus)(nil)
	_ prometheus.Collector = (*Prometheus)(nil)
)

// Bounds of what a client of the server gets.
const (
	scrapeTime    = 10 * time.Second
	idleTime      = 2 * time.Minute // longer than the usual distance of two scrapes, so that a connection is kept
	headerBytes   = 16 << 10
	scrapesAtOnce = 4
)

// ListenPrometheus serves at an address until Close. There are no metrics before Open.
func ListenPrometheus(addr string) (*Prometheus, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	p := newPrometheus()
	p.listener = listener
	registry := prometheus.NewRegistry()
	registry.MustRegister(p)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", p.noted(promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		EnableOpenMetrics: true, MaxRequestsInFlight: scrapesAtOnce, Timeout: scrapeTime,
	})))
	p.server = &http.Server{
		Handler: mux, ReadTimeout: scrapeTime, WriteTimeout: 2 * scrapeTime, IdleTimeout: idleTime,
		MaxHeaderBytes: headerBytes, ErrorLog: log.New(io.Discard, "", 0), // of clients, not of the run
	}
	p.serving.Go(func() { _ = p.server.Serve(listener) }) // Close ends it
	return p, nil
}

func newPrometheus() *Prometheus {
	p := &Prometheus{scrapers: make(map[string]*scraper), taken: make(chan struct{}, 1), descs: make(map[string]*prometheus.Desc)}
	for _, m := range metric.Exported() {
		p.descs[m.Export] = prometheus.NewDesc(m.Export, m.Help(), append([]string{runLabel}, m.Labels...), nil)
	}
	return p
}

// URL returns the address to scrape.
func (p *Prometheus) URL() string { return "http://" + p.listener.Addr().String() + "/metrics" }

// Open begins to show the run of a header.
func (p *Prometheus) Open(h result.Header) { p.open(h) }

// Observe adds one second.
func (p *Prometheus) Observe(s run.Second) {
	p.observe(&s)
	if s.Snapshot.Stage == result.Finished {
		p.finish()
	}
}

// finish notes that the totals are those of the whole run.
func (p *Prometheus) finish() {
	p.scraping.Lock()
	defer p.scraping.Unlock()
	p.complete = true
}

// scraper is a host that scrapes. Two of them may scrape one run: Prometheus is often run in pairs.
type scraper struct {
	last     time.Time     // begin of its newest scrape
	distance time.Duration // between its last two scrapes; 0: there were not two
	served   bool          // it has the last totals
	regular  bool          // it says that it will come again
}

// scrapeTimeout is a header of every scrape by Prometheus, and by others that do as it does. A person with curl sends none.
const scrapeTimeout = "X-Prometheus-Scrape-Timeout-Seconds"

// maxScrapers bounds the scrapers that the end of a run waits for.
const maxScrapers = 16

// noted notes the scrapes that a handler answers.
func (p *Prometheus) noted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, complete := p.came(r)
		answer := &answer{ResponseWriter: w, status: http.StatusOK}
		h.ServeHTTP(answer, r)
		if s == nil || !complete || answer.status != http.StatusOK {
			return
		}
		p.scraping.Lock()
		defer p.scraping.Unlock()
		s.served = true
		select {
		case p.taken <- struct{}{}:
		default: // Linger has not looked since the scrape before
		}
	})
}

// answer notes the status of an answer.
type answer struct {
	http.ResponseWriter
	status int
}

// WriteHeader writes the status.
func (a *answer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// came notes the begin of a scrape. It returns the scraper, nil beyond maxScrapers, and whether the totals are those of the
// whole run.
func (p *Prometheus) came(r *http.Request) (*scraper, bool) {
	host, _, _ := net.SplitHostPort(r.RemoteAddr) // the server has set it
	p.scraping.Lock()
	defer p.scraping.Unlock()
	now, s := time.Now(), p.scrapers[host]
	switch {
	case s != nil:
		s.distance, s.last = now.Sub(s.last), now
	case len(p.scrapers) < maxScrapers:
		s = &scraper{last: now}
		p.scrapers[host] = s
	}
	if s != nil {
		s.regular = s.regular || r.Header.Get(scrapeTimeout) != ""
	}
	return s, p.complete
}

// longestLinger bounds the time for which the metrics of a finished run are kept.
const longestLinger = 30 * time.Second

// Patience returns how long a finished run waits for the scrapes of its last totals: for each scraper that came, the
// distance of its last two scrapes and a second more, or 30 s if that is less or not known. It is 0 if nobody scraped, if
// all have those totals, or if a scraper came once and is no Prometheus.
func (p *Prometheus) Patience() time.Duration {
	p.finish()
	p.scraping.Lock()
	defer p.scraping.Unlock()
	longest := time.Duration(0)
	for _, s := range p.scrapers {
		switch {
		case s.served, s.distance == 0 && !s.regular:
		case s.distance == 0:
			longest = longestLinger
		default:
			longest = max(longest, min(s.distance+time.Second, longestLinger))
		}
	}
	return longest
}

// Linger waits until every scraper has the last totals, for a time at most, or until ctx ends.
func (p *Prometheus) Linger(ctx context.Context, patience time.Duration) {
	over := time.NewTimer(patience)
	defer over.Stop()
	for p.Patience() > 0 {
		select {
		case <-p.taken:
		case <-over.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Close ends the server. A scrape that is being answered gets a second.
func (p *Prometheus) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := p.server.Shutdown(ctx); err != nil {
		_ = p.server.Close()
	}
	p.serving.Wait()
}

// Describe sends the descriptions of all metrics.
func (p *Prometheus) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range p.descs {
		to <- desc
	}
}

// Collect sends the metrics of the run up to its newest second.
func (p *Prometheus) Collect(to chan<- prometheus.Metric) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.header == nil {
		return
	}
	p.each(func(m *metric.Metric, series func(put func(v metric.Value, labels ...string))) {
		desc, kind := p.descs[m.Export], prometheus.GaugeValue
		if m.Kind == metric.Count {
			kind = prometheus.CounterValue
		}
		series(func(v metric.Value, labels ...string) {
			values := []string{p.header.RunID}
			for _, l := range labels {
				values = append(values, labelValue(l))
			}
			if v.Times != nil {
				to <- newHistogram(desc, v.Times, p.header.StartedAt, values)
				return
			}
			one, err := prometheus.NewConstMetric(desc, kind, v.Number, values...)
			if err != nil {
				one = prometheus.NewInvalidMetric(desc, err)
			}
			to <- one
		})
	})
}

// histogramMetric is a histogram with classic buckets, and with native ones for a Prometheus that asks for them.
type histogramMetric struct {
	prometheus.Metric // with native buckets
	classic           prometheus.Metric
}

// newHistogram returns the metric of a histogram.
func newHistogram(desc *prometheus.Desc, h *stats.Histogram, since time.Time, labels []string) prometheus.Metric {
	n, sum := uint64(h.Count()), h.Sum()
	zero, buckets := exponential(h)
	native, err := prometheus.NewConstNativeHistogram(desc, n, sum, buckets, nil, zero, schema, prometheus.DefNativeHistogramZeroThreshold, since, labels...)
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	classic, err := prometheus.NewConstHistogram(desc, n, sum, cumulative(h), labels...)
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	return &histogramMetric{native, classic}
}

// Write writes both kinds of buckets.
func (m *histogramMetric) Write(out *dto.Metric) error {
	var classic dto.Metric
	if err := m.classic.Write(&classic); err != nil {
		return err
	}
	if err := m.Metric.Write(out); err != nil {
		return fmt.Errorf("native histogram: %w", err)
	}
	out.Histogram.Bucket = classic.GetHistogram().GetBucket()
	return nil
}

// bounds are the upper bounds of the classic histograms.
var bounds = func() (all []time.Duration) {
	for d := 100 * time.Microsecond; d < 100*time.Second; d *= 10 {
		all = append(all, d, 2*d, 5*d)
	}
	return append(all, 100*time.Second)
}()

// cumulative returns how many durations are at most as long as each of the bounds. Those of one sub-bucket count with its
// end, so that a bound within a sub-bucket leaves it out: an error of a thousandth of the bound at most.
func cumulative(h *stats.Histogram) map[float64]uint64 {
	counts := make(map[float64]uint64, len(bounds))
	var sum int64
	next := 0
	h.Each(func(upTo time.Duration, n int64) {
		for next < len(bounds) && upTo > bounds[next] {
			counts[bounds[next].Seconds()] = uint64(sum)
			next++
		}
		sum += n
	})
	for ; next < len(bounds); next++ {
		counts[bounds[next].Seconds()] = uint64(sum)
	}
	return counts
}
