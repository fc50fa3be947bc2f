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
	prometheus *export.Prometheus // nil: nobody is to scrape
}

// exporters starts what the flags ask for. The address is taken before the run is made.
func (l *load) exporters(env *Env) (*exporters, error) {
	e := &exporters{say: env.say}
	if l.Quiet {
		e.say = env.silent().say
	}
	if l.Metrics == "" {
		return e, nil
	}
	var err error
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
}

// observers returns the observers of the run.
func (e *exporters) observers(first run.Observer) []run.Observer {
	all := []run.Observer{first}
	if e.prometheus != nil {
		all = append(all, e.prometheus)
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

// close ends the exporters.
func (e *exporters) close() {
	if e.prometheus != nil {
		e.prometheus.Close()
	}
}
