package export

import (
	"context"
	"fmt"
	"net"

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
