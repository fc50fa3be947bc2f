package cmd

import (
	"context"
	"fmt"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/export"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/theme"
)

// exporters show the metrics of a run to monitoring systems.
type exporters struct {
	say        func(format string, args ...any)
	notify     func(run.Notice)
	prometheus *export.Prometheus // nil: nobody is to scrape
	otlp       *export.OTLP       // nil: no collector is named
}

// exporters starts what the flags and the variables of OpenTelemetry ask for. The address is taken before the run is made.
// Variables that are wrong cost the metrics and not the run: they are there for other programs too.
func (l *load) exporters(env *Env) (*exporters, error) {
	e := &exporters{say: env.say}
	if l.Quiet {
		e.say = env.silent().say
	}
	var err error
	e.otlp, err = export.OTLPFromEnv(env.Getenv, func(text string) { e.notify(run.Notice{Kind: run.MetricsFailed, Text: text}) })
	if err != nil {
		env.say("metrics are not sent: %v", err)
	}
	if l.Metrics == "" {
		return e, nil
	}
	if e.prometheus, err = export.ListenPrometheus(l.Metrics); err != nil {
		return nil, fmt.Errorf("--metrics-listen %s: %w: name a free address of this host", l.Metrics, err)
	}
	e.say("metrics at %s", e.prometheus.URL())
	if !config.Loopback(l.Metrics) {
		env.say("--metrics-listen %s: everybody who reaches this address can read the metrics of this run", l.Metrics)
	}
	return e, nil
}

// open begins to show the run of a header.
func (e *exporters) open(h result.Header) {
	if e.prometheus != nil {
		e.prometheus.Open(h)
	}
	if e.otlp != nil {
		e.otlp.Open(h)
	}
}

// observers returns the observers of the run.
func (e *exporters) observers(first run.Observer) []run.Observer {
	all := []run.Observer{first}
	if e.prometheus != nil {
		all = append(all, e.prometheus)
	}
	if e.otlp != nil {
		all = append(all, e.otlp)
	}
	return all
}

// linger waits until the totals of the finished run were scraped, if somebody scraped before.
func (e *exporters) linger(ctx context.Context, stop *stopper) {
	if e.prometheus == nil {
		return
	}
	stop.end()
	if patience := e.prometheus.Patience(); patience > 0 && ctx.Err() == nil {
		e.say("waiting for the scrape of the last totals, %s at most; Ctrl-C ends at once", theme.Duration(patience))
		e.prometheus.Linger(ctx, patience)
	}
}

// close sends the last metrics, and ends the exporters.
func (e *exporters) close(ctx context.Context) {
	if e.otlp != nil {
		e.otlp.Close(ctx)
	}
	if e.prometheus != nil {
		e.prometheus.Close()
	}
}
