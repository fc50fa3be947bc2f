package cmd

import (
	"context"
	"fmt"
	"net"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/export"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/theme"
)

// exporter shows the metrics of a run to a monitoring system.
type exporter interface {
	run.Observer
	Open(h result.Header)
	Close()
}

// exporters are those that a run has.
type exporters struct {
	all        []exporter         // in the order in which they are closed
	prometheus *export.Prometheus // one of them; nil: nobody is to scrape
	finished   bool               // the run has a result, so the totals are the last ones
	say        func(format string, args ...any)
	notify     func(run.Notice)
}

// newExporters starts what the flags and the variables of OpenTelemetry ask for. The address is taken before the run is made.
// Variables that are wrong cost the metrics and not the run: they are there for other programs too.
func newExporters(env *Env, l *config.Run) (*exporters, error) {
	e := &exporters{say: env.say}
	if l.Quiet {
		e.say = env.silent().say
	}
	otlp, err := export.OTLPFromEnv(env.Getenv, func(text string) { e.notify(run.Notice{Kind: run.MetricsFailed, Text: text}) })
	if err != nil {
		env.say("metrics are not sent: %v", err)
	}
	if otlp != nil {
		e.all = append(e.all, otlp)
	}
	if l.Metrics == "" {
		return e, nil
	}
	if e.prometheus, err = export.ListenPrometheus(l.Metrics); err != nil {
		return nil, fmt.Errorf("--metrics-listen %s: %w: name a free address of this host", l.Metrics, err)
	}
	e.all = append(e.all, e.prometheus)
	if _, port, _ := net.SplitHostPort(l.Metrics); port == "0" {
		e.say = env.say // without the port nobody can scrape
	}
	e.say("metrics at %s", e.prometheus.URL())
	if !config.Loopback(l.Metrics) {
		env.say("--metrics-listen %s: everybody who reaches this address can read the metrics of this run", l.Metrics)
	}
	return e, nil
}

// open begins to show the run of a header.
func (e *exporters) open(h result.Header) {
	for _, one := range e.all {
		one.Open(h)
	}
}

// observers returns the observers of the run.
func (e *exporters) observers(first run.Observer) []run.Observer {
	all := []run.Observer{first}
	for _, one := range e.all {
		all = append(all, one)
	}
	return all
}

// close sends the last metrics, and ends the exporters. A collector gets its metrics first, because the scrape of a
// finished run is waited for, until ctx ends at most.
func (e *exporters) close(ctx context.Context, stop *stopper) {
	for _, one := range e.all {
		if one == exporter(e.prometheus) && e.finished {
			e.linger(ctx, stop)
		}
		one.Close()
	}
}

// linger waits until the totals of the finished run were scraped, if somebody scraped before.
func (e *exporters) linger(ctx context.Context, stop *stopper) {
	stop.end()
	if patience := e.prometheus.Patience(); patience > 0 && ctx.Err() == nil {
		e.say("waiting for the scrape of the last totals, %s at most; Ctrl-C ends at once", theme.Duration(patience))
		e.prometheus.Linger(ctx, patience)
	}
}
