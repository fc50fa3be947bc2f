package export

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// exporter shows the metrics of a run to a monitoring system.
type exporter interface {
	run.Observer
	Open(h result.Header)
	Close()
}

// Exporters are those that a run has.
type Exporters struct {
	Finished bool             // the run has a result, so the totals are the last ones
	Notify   func(run.Notice) // of the run

	all        []exporter  // in the order in which they are closed
	prometheus *Prometheus // one of them; nil: nobody is to scrape
	say        func(text string)
}

// Start starts what a user and the variables of OpenTelemetry ask for. listen is an address for Prometheus; "": none is wanted. It
// is taken before the run is made. Variables that are wrong cost the metrics and not the run: they are there for other programs
// too. With quiet, only what is wrong is said, and a port that nobody knows yet.
func Start(getenv func(string) string, listen string, quiet bool, say func(text string)) (*Exporters, error) {
	e := &Exporters{say: say}
	otlp, err := OTLPFromEnv(getenv, func(text string) { e.Notify(run.Notice{Kind: run.MetricsFailed, Text: text}) })
	if err != nil {
		say("metrics are not sent: " + err.Error())
	}
	if otlp != nil {
		e.all = append(e.all, otlp)
	}
	_, port, _ := net.SplitHostPort(listen)
	if quiet && port != "0" {
		e.say = func(string) {}
	}
	if listen == "" {
		return e, nil
	}
	if e.prometheus, err = ListenPrometheus(listen); err != nil {
		return nil, fmt.Errorf("--metrics-listen %s: %w: name a free address of this host", listen, err)
	}
	e.all = append(e.all, e.prometheus)
	e.say("metrics at " + e.prometheus.URL())
	return e, nil
}

// Open begins to show the run of a header.
func (e *Exporters) Open(h result.Header) {
	for _, one := range e.all {
		one.Open(h)
	}
}

// Observers returns the observers of the run.
func (e *Exporters) Observers(first run.Observer) []run.Observer {
	all := []run.Observer{first}
	for _, one := range e.all {
		all = append(all, one)
	}
	return all
}

// Close sends the last metrics, and ends the exporters. A collector gets its metrics first, because the scrape of a finished run
// is waited for, if somebody scraped before, until ctx ends at most. waits is called before.
func (e *Exporters) Close(ctx context.Context, waits func()) {
	for _, one := range e.all {
		if one == exporter(e.prometheus) && e.Finished {
			waits()
			if patience := e.prometheus.Patience(); patience > 0 && ctx.Err() == nil {
				e.say(fmt.Sprintf("waiting for the scrape of the last totals, %s at most; Ctrl-C ends at once", theme.Duration(patience)))
				e.prometheus.Linger(ctx, patience)
			}
		}
		one.Close()
	}
}

// totals are the running totals of a run, and its newest snapshot. The zero value is that of a run that has not
// reached its system yet.
type totals struct {
	mu     sync.Mutex     // guards the rest
	header *result.Header // nil: the system has not been reached
	phases stats.Phases
	newest result.Snapshot
}

// open takes the header of the run.
func (t *totals) open(h result.Header) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.header = &h
	t.newest.Stage = result.Preparing
}

// observe adds one second.
func (t *totals) observe(s *run.Second) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range s.Windows {
		w := s.Windows[i]
		w.Partitions, w.Events, w.EventsLeftOut = nil, nil, nil // no metric has them
		t.phases[stats.PhaseOf(w.Warmup)].Add(&w)
	}
	t.newest = s.Snapshot
}

// runLabel is a label of every series.
const runLabel = "run_id"

// stages are the names of the stages of a run, from result.Gathering on.
var stages = []string{"gathering", "preparing", "warming_up", "running", "draining", "finished"}

// each calls use for each metric that the run has, with its series. Its caller holds mu.
func (t *totals) each(use func(m *metric.Metric, series func(put func(v metric.Value, labels ...string)))) {
	h, s := t.header, &t.newest
	f := &metric.Figures{Plan: &h.Plan, Cores: s.Sample.ProcessCPU, ConsumerLag: -1, Now: &metric.Now{
		Stages: stages, Stage: int(s.Stage - result.Gathering), At: s.At, Target: s.Target,
		Oldest: s.Second.Counts.Oldest, InFlight: s.InFlight, Buffered: s.Buffered, Sample: s.Sample,
	}}
	if s.Target == 0 && len(s.Targets) <= 1 { // with stages, 0 is a pause
		f.Now.Target = -1
	}
	f.Now.Info = []string{string(h.Plan.Command), h.Subject(), cmp.Or(string(h.Plan.Engine), string(plan.Client)), "", h.KTVersion}
	for _, setting := range h.Config {
		if setting.Name == "acks" {
			f.Now.Info[3] = setting.Value
		}
	}
	if s.ConsumerLag.Known {
		f.ConsumerLag = s.ConsumerLag.Records
	}
	phases := map[string]*stats.Window{"measured": &t.phases[stats.Measured]}
	if w := &t.phases[stats.Warmup]; h.Plan.Load.Warmup != (plan.Warmup{}) || !w.IsZero() {
		phases["warmup"] = w
	}
	for _, m := range metric.Exported() {
		if m.Lacks(&h.Plan) == "" {
			use(&m, func(put func(v metric.Value, labels ...string)) { m.Series(f, phases, put) })
		}
	}
}

// labelValue returns a text of names, files and brokers as the value of a label.
func labelValue(s string) string { return theme.Clean(strings.ToValidUTF8(s, "\uFFFD")) }

// schema is the resolution of the exponential histograms: 2^schema buckets for each doubling, each 9% wider than the one
// before. It is that of Prometheus' clients, and the scale of OpenTelemetry.
const schema = 3

// exponential returns how many durations are below a microsecond, and how many are in each bucket. Bucket i holds those
// above 2^((i-1)/8) s, up to 2^(i/8) s.
func exponential(h *stats.Histogram) (zero uint64, buckets map[int]int64) {
	buckets = make(map[int]int64)
	h.Each(func(upTo time.Duration, n int64) {
		if upTo <= 0 {
			zero += uint64(n)
			return
		}
		buckets[bucketOf(upTo.Seconds())] += n
	})
	return zero, buckets
}

// octave are the bounds of the buckets from 0.5 to 1.
var octave = func() (all [1 << schema]float64) {
	for i := range all {
		all[i] = math.Exp2(float64(i)/float64(len(all)) - 1)
	}
	return all
}()

// bucketOf returns the bucket of a value above 0.
func bucketOf(v float64) int {
	fraction, exponent := math.Frexp(v)
	return sort.SearchFloat64s(octave[:], fraction) + (exponent-1)*len(octave)
}
