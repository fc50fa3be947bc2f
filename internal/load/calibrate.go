package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/calibrate"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// sinkTopic is the topic of a sink.
const sinkTopic = "kt-calibrate"

// Calibration measures what this host can offer of a load, against a sink in a process of its own.
type Calibration struct {
	Time time.Duration // of each run
	Tell func(text string)
	Plan *plan.Plan // of its runs

	runner  *Runner
	load    study.Load
	clients string // the flag of their number
	options calibrate.Options
	sink    kafka.Sink
}

// NewCalibration checks the load of a calibration.
func (m *Maker) NewCalibration(l study.Load) (*Calibration, error) {
	c := &Calibration{runner: NewRunner(m), load: l, clients: "producers", options: calibrate.Options{CPUs: runtime.GOMAXPROCS(0), Rates: calibrate.Rates}}
	if l.Command == string(plan.Consume) {
		c.clients, c.options.Rates = "consumers", nil
	}
	type sinkable interface {
		Sink(p *plan.Plan, clients int) kafka.Sink
	}
	if at, err := c.runner.place(l); err == nil {
		if _, ok := at.System.(sinkable); !ok {
			return nil, noSink(&at.Plan)
		}
	}
	for _, f := range l.Flags {
		if !config.CountsInCalibration(f.Name) {
			return nil, misfit(fmt.Errorf("--%s: it does not count in a calibration: leave it out", f.Name))
		}
		if f.Name == c.clients {
			n, _ := plan.ParseCount(f.Value) // the load is checked below
			c.options.Clients = int(n)
		}
	}
	c.runner.sink = true
	check := l
	check.Flags = append(slices.Clone(l.Flags), study.Flag{Name: bootstrapServer, Value: "localhost:9092"}, study.Flag{Name: "topic", Value: sinkTopic})
	ld, err := c.runner.Load(check)
	if err != nil {
		return nil, misfit(err)
	}
	system, ok := ld.System.(sinkable)
	if !ok {
		return nil, noSink(&ld.Plan)
	}
	c.Plan, c.sink = &ld.Plan, system.Sink(&ld.Plan, max(c.options.Clients, c.options.CPUs))
	c.sink.Topic = sinkTopic
	return c, nil
}

// noSink is the error for a system that has no sink.
func noSink(p *plan.Plan) error {
	return Cannot("kt calibrate", p, "its sink speaks Kafka's protocol; kt produce without --rate says whether kt was the limit")
}

// Measure makes the runs of the calibration.
func (c *Calibration) Measure(ctx context.Context) (calibrate.Document, error) {
	sink, addr, err := startSink(ctx, c.sink)
	if err != nil {
		return calibrate.Document{}, err
	}
	defer func() {
		_ = sink.In.Close() // it ends with its input
		_ = sink.End()
	}()
	return calibrate.Measure(ctx, c.options, func(ctx context.Context, n int, rate float64) (calibrate.Run, error) {
		text := theme.PerSecond(rate) + " records/s"
		if rate == 0 {
			text = "no limit, " + theme.Plural(float64(n), strings.TrimSuffix(c.clients, "s"), c.clients)
		}
		c.Tell(text)
		others, unknown := host.NewOthers(sink.Process.Pid)
		r, err := c.runner.Run(ctx, c.run(n, rate, addr), "", func([]string) error { return nil })
		made := calibrate.Run{Result: r}
		if unknown == nil {
			var share float64
			if share, unknown = others.Share(); unknown == nil {
				made.OthersCPU = &share
			}
		}
		if unknown != nil && err == nil {
			c.runner.warn(fmt.Sprintf("how busy others keep the CPUs is not known: %v", unknown))
		}
		return made, err
	})
}

// run returns the load of one run.
func (c *Calibration) run(n int, rate float64, addr string) study.Load {
	warmup := c.Time / 4
	own := []study.Flag{
		{Name: bootstrapServer, Value: addr},
		{Name: "topic", Value: sinkTopic},
		{Name: c.clients, Value: strconv.Itoa(n)},
		{Name: "warmup", Value: warmup.String()},
		{Name: "duration", Value: (warmup + c.Time).String()},
	}
	if rate > 0 {
		own = append(own, study.Flag{Name: "rate", Value: strconv.FormatFloat(rate, 'f', -1, 64)})
	}
	if c.load.Command == string(plan.Consume) {
		own = append(own, study.Flag{Name: "no-group", Value: "true"})
	}
	given := slices.DeleteFunc(slices.Clone(c.load.Flags), func(f study.Flag) bool { return f.Name == c.clients || f.Name == "no-group" })
	return study.Load{Command: c.load.Command, Typed: c.load.Typed, Flags: append(given, own...)}
}

// sinkStart is how long a sink may take to start.
const sinkStart = 20 * time.Second

// startSink starts a sink in a process of its own.
func startSink(ctx context.Context, s kafka.Sink) (c *Child, addr string, err error) {
	if c, err = Spawn(ctx, "sink"); err != nil {
		return nil, "", err
	}
	late := time.AfterFunc(sinkStart, func() { _ = c.Process.Kill() })
	defer late.Stop()
	if err = json.NewEncoder(c.In).Encode(s); err == nil {
		addr, err = bufio.NewReader(c.Out).ReadString('\n')
	}
	if err != nil {
		return nil, "", fmt.Errorf("start a sink: %w", errors.Join(err, c.In.Close(), c.End()))
	}
	return c, strings.TrimSpace(addr), nil
}
