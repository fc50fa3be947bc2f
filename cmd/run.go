package cmd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
)

// runner makes one run whose plan has been checked.
type runner struct {
	env      *Env
	config   *config.Produce
	settings kafka.Settings
	values   *kafka.Values
	target   *target
	file     *runFile

	status engine.Status
	stop   *stopper
}

// run makes the load, shows it, and writes the result.
func (r *runner) run(ctx context.Context) error {
	if r.target.embedded != nil {
		debug.SetMemoryLimit(embeddedMemory)
	}
	header := r.header()
	out := r.newOutput(header)
	feed, err := r.newFeed(header, out)
	if err != nil {
		return errors.Join(err, r.undo(ctx))
	}
	end, runErr := r.load(ctx, feed, out)
	if runErr != nil {
		return errors.Join(runErr, r.undo(ctx))
	}
	trailer := result.Trailer{
		Ended: result.Completed, ElapsedSeconds: end.Elapsed.Seconds(),
		SendingSeconds: end.Sending.Seconds(), DrainTimedOut: end.TimedOut,
	}
	if end.Stopped {
		trailer.Ended = result.Interrupted
	}
	res, err := feed.finish(trailer)
	r.file.used = true
	err = errors.Join(err, r.deleteTopic(ctx), r.write(res, out))
	if err != nil {
		return err
	}
	return r.judge(res)
}

// load runs the engine, behind the screen if there is one.
func (r *runner) load(ctx context.Context, feed *feed, out *output) (engine.End, error) {
	driver := &kafka.Producer{Bootstrap: r.target.bootstrap, Plan: r.config.Plan, Settings: r.settings, Values: r.values}
	opts := engine.Options{
		Stop: r.stop.asked, Status: &r.status,
		BufferBytes: r.settings.BufferMemory(),
		MaxBlock:    max(r.settings.MaxBlock(), 1), // 0 means the default there, and not to wait in Java
		Started: func() {
			feed.begin(r.env.Now())
			r.stop.begin()
		},
		// The client gives up by itself at delivery.timeout.ms; the rest is for
		// it to say so.
		DrainTimeout: r.settings.DeliveryTimeout() + 5*time.Second,
	}
	if p := &r.config.Plan; p.Load.Rate.IsUnlimited() {
		opts.BufferOps = min(engine.DefaultBufferOps, r.settings.PipelineRecords(r.target.topic.Partitions, p.Payload.MeanBytes()))
	}
	var end engine.End
	var err error
	var running sync.WaitGroup
	running.Go(func() {
		defer out.quit()
		end, err = engine.Run(ctx, r.config.Plan, engine.Drivers{Send: driver}, opts, feed)
	})
	out.show(ctx)
	running.Wait()
	return end, err
}

// embeddedMemory is what the Go runtime aims to stay below with the embedded
// broker; with what is not the heap, kt stays below 512 MiB.
const embeddedMemory = 384 << 20

func (r *runner) header() result.Header {
	t, c := r.target.topic, r.target.cluster.Info
	h := result.Header{
		Schema: result.Schema, RunID: rand.Text(), KTVersion: buildVersion().String(), StartedAt: r.env.Now().UTC(),
		Args: append([]string{"kt"}, r.env.Args...), Embedded: r.target.embedded != nil, Plan: r.config.Plan,
		Environment: result.Environment{
			Host:    host.ReadFacts(),
			Cluster: result.Cluster{ID: c.ID, Version: c.Version, Controller: c.Controller},
			Topic:   result.Topic(t),
		},
	}
	for _, b := range c.Brokers {
		h.Environment.Cluster.Brokers = append(h.Environment.Cluster.Brokers, result.Broker(b))
	}
	for _, s := range r.settings.All() {
		h.Config = append(h.Config, result.Setting{
			Name: s.Name, Value: s.Value, Default: s.Default, Source: s.Source, Client: s.Client, Note: s.Note,
		})
	}
	return h
}

func (r *runner) newFeed(h result.Header, out *output) (*feed, error) {
	f := &feed{fold: result.NewFold(h), out: out, status: &r.status}
	if r.file.file == nil {
		return f, nil
	}
	file, err := result.NewRunFile(r.file.file, h)
	f.file = file
	return f, err
}

func (r *runner) write(res result.Result, out *output) error {
	if err := out.result(res, report.Options{RunFile: r.file.path}); err != nil || !r.config.PrintMetrics {
		return err
	}
	w := r.env.Stdout
	if out.format != "text" && out.format != "perf-test" {
		w = r.env.Stderr // a table would spoil what a program reads
	}
	return report.Metrics(w, res)
}

// undo deletes the topic that was created for a load that never began.
func (r *runner) undo(ctx context.Context) error {
	if !r.target.topic.Created {
		return nil
	}
	return r.target.cluster.DeleteTopic(context.WithoutCancel(ctx), r.target.topic.Name)
}

// deleteTopic deletes the topic when that was asked for and this run created it.
func (r *runner) deleteTopic(ctx context.Context) error {
	if !r.config.Plan.Topic.Delete {
		return nil
	}
	if !r.target.topic.Created {
		fmt.Fprintf(r.env.Stderr, "kt: topic %s was there before this run, so --delete-topic leaves it\n", r.target.topic.Name)
		return nil
	}
	return r.target.cluster.DeleteTopic(context.WithoutCancel(ctx), r.target.topic.Name)
}

// judge turns the result into an exit code.
func (r *runner) judge(res result.Result) error {
	if code := r.stop.code(); code != exitOK {
		return &exitError{code: code}
	}
	lost := res.Records.Failed + res.Records.Unknown
	if res.Warmup != nil {
		lost += res.Warmup.Records.Failed + res.Warmup.Records.Unknown
	}
	switch {
	case !res.Valid:
		return &exitError{exitNotValid, fmt.Errorf("the run is not valid: %s", strings.Join(res.Invalid, "; "))}
	case res.Client.Aborted > 0:
		return &exitError{exitFailed, fmt.Errorf("%d transactions could not be committed", res.Client.Aborted)}
	case lost > 0:
		return &exitError{exitFailed, fmt.Errorf("%d records were not acknowledged", lost)}
	}
	return nil
}
