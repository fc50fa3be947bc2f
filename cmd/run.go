package cmd

import (
	"context"
	"crypto/rand"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/result"
)

// runner makes one run whose plan has been checked.
type runner struct {
	env    *Env
	load   *load
	target *target
	file   *runFile

	book     *ledger.Book    // nil: no record carries a stamp
	producer *kafka.Producer // nil: nobody writes
	consumer *kafka.Consumer // nil: nobody reads
	watcher  *kafka.Watcher  // nil: the broker is inside kt
	moments  *moments

	status engine.Status
	stop   *stopper
}

// run makes the load, shows it, and writes the result.
func (r *runner) run(ctx context.Context) error {
	if r.target.embedded != nil {
		debug.SetMemoryLimit(embeddedMemory)
	}
	header := r.header()
	if err := r.openDrivers(ctx, header.RunID); err != nil {
		return errors.Join(misfitIsUsage(err), r.target.undo(ctx))
	}
	defer r.closeWatcher()
	out, err := newOutput(r.env, r.load, r.stop, header, r.screenHeader, r.status.Oldest)
	if err != nil {
		return errors.Join(usageError(err), r.target.undo(ctx))
	}
	feed, err := r.newFeed(header, out)
	if err != nil {
		return errors.Join(err, r.target.undo(ctx))
	}
	end, runErr := r.makeLoad(ctx, feed, out)
	if runErr != nil {
		return errors.Join(runErr, r.target.undo(ctx))
	}
	trailer := trailerOf(end)
	verdict, accountErr := r.account(ctx)
	trailer.Verify = verdict
	res, err := feed.finish(trailer)
	r.file.used = true
	judged := judge(res, r.stop.code(), r.load.Output)
	if l := r.load; l.part != nil && !l.part.done(ctx, worse(judged, errors.Join(err, accountErr))) {
		l.Plan.Topic.Delete = false // others may write to it yet
	}
	err = errors.Join(err, accountErr, r.deleteTopic(ctx), out.write(res, r.file.path))
	return worse(judged, err)
}

func trailerOf(end engine.End) result.Trailer {
	t := result.Trailer{
		Ended: result.Completed, ElapsedSeconds: end.Elapsed.Seconds(),
		SendingSeconds: end.Sending.Seconds(), DrainTimedOut: end.TimedOut, Reading: string(end.Reading),
	}
	if end.Stopped {
		t.Ended = result.Interrupted
	}
	if end.ReadErr != nil {
		t.ReadError = end.ReadErr.Error()
	}
	return t
}

// openDrivers makes what carries the load, and looks at the cluster beside it.
func (r *runner) openDrivers(ctx context.Context, id string) error {
	l, t := r.load, r.target
	p := &l.Plan
	r.book = l.book
	if p.Payload.Stamp {
		book, err := r.newBook(ctx, id)
		if err != nil {
			return err
		}
		r.book = book
	}
	if p.Writes() {
		r.producer = &kafka.Producer{
			Cluster: t.cluster, Plan: *p, Settings: l.producer, Values: l.values, Partitions: t.topic().Partitions,
		}
		if r.book != nil {
			r.producer.Run = r.book.Run
		}
	}
	if p.Reads() {
		if err := r.openConsumer(ctx); err != nil {
			return err
		}
	}
	if t.embedded != nil || l.part != nil && !l.part.job.CreateTopic { // one process looks for all
		return nil
	}
	var names []string
	for _, topic := range t.topics {
		names = append(names, topic.Name)
	}
	var base map[string]int32
	if r.consumer != nil {
		base = r.consumer.Layout()
	}
	var err error
	r.watcher, err = kafka.NewWatcher(t.cluster, names, base)
	return err
}

func (r *runner) openConsumer(ctx context.Context) (err error) {
	reading := kafka.Reading{
		Plan: r.load.Plan, Settings: r.load.consumer, Topics: r.target.topics,
	}
	if r.producer != nil {
		reading.Run, reading.Written = r.producer.Run, r.producer.Acked
	}
	if r.verifies() {
		reading.Book, reading.Again = r.book, r.readsAgain
	}
	r.consumer, err = kafka.NewConsumer(ctx, r.target.cluster, reading)
	return err
}

func (r *runner) closeWatcher() {
	if r.watcher != nil {
		r.watcher.Close()
	}
}

// sources are what is looked at beside the load.
func (r *runner) sources() []engine.Source {
	sources := []engine.Source{r.moments}
	if r.watcher != nil {
		sources = append(sources, r.watcher)
	}
	if r.consumer != nil {
		sources = append(sources, r.consumer.ConsumerLag())
		if r.target.embedded != nil {
			sources = append(sources, r.target.embedded.RecordDeleter(r.consumer))
		}
	}
	return sources
}

// makeLoad runs the engine, behind the screen if there is one.
func (r *runner) makeLoad(ctx context.Context, feed *feed, out *output) (engine.End, error) {
	r.moments = newMoments(r.load.Moments, out.conversation())
	opts := engine.Options{
		Stop: r.stop.asked, Status: &r.status, Sources: r.sources(),
		Started: func() { r.started(feed) },
	}
	if part := r.load.part; part != nil {
		opts.Ready = func(ctx context.Context) error { return part.await(ctx, feed.header) }
	}
	var drivers engine.Drivers
	if r.producer != nil {
		drivers.Send = r.producer
		r.boundWaiting(&opts)
	}
	if r.consumer != nil {
		drivers.Read = r.consumer
	}
	var end engine.End
	var err error
	var running sync.WaitGroup
	running.Go(func() {
		defer out.quit()
		end, err = engine.Run(ctx, r.load.Plan, drivers, opts, feed)
	})
	out.show(ctx)
	running.Wait()
	return end, err
}

// started notes that the load begins.
func (r *runner) started(f *feed) {
	r.stop.begin() // before an agent hears of it: what it orders then is no undoing
	f.begin(r.env.Now())
}

// boundWaiting sets how much may wait for acknowledgements, and how long.
func (r *runner) boundWaiting(opts *engine.Options) {
	p, s := &r.load.Plan, r.load.producer
	opts.BufferBytes = s.BufferMemory()
	opts.MaxBlock = max(s.MaxBlock(), 1) // 0 means the default there, and not to wait in Java
	// The client gives up by itself at delivery.timeout.ms; the rest is for it to
	// say so.
	opts.DrainTimeout = s.DeliveryTimeout() + 5*time.Second
	if p.Load.Rate.IsUnlimited() {
		opts.BufferOps = min(engine.DefaultBufferOps, kafka.PipelineRecords(s, r.target.topic().Partitions, p.Payload.MeanBytes()))
	}
}

// embeddedMemory is what the Go runtime aims to stay below with the embedded
// broker; with what is not the heap, kt stays below 512 MiB.
const embeddedMemory = 384 << 20

func (r *runner) header() result.Header {
	args := append([]string{"kt"}, r.env.Args...)
	if r.load.part != nil {
		args = r.load.part.job.Args
	}
	h := result.Header{
		Schema: result.Schema, RunID: rand.Text(), KTVersion: buildVersion().String(), StartedAt: r.env.Now().UTC(),
		Args: args, Part: r.load.partOf(), Embedded: r.target.embedded != nil, Plan: r.load.Plan,
		Environment: result.Environment{
			Host: host.ReadFacts(), Clock: host.ReadClock(),
			Cluster: r.target.cluster.Info, Topic: *r.target.topic(),
		},
	}
	if len(r.target.topics) > 1 {
		h.Environment.Topics = r.target.topics
	}
	if r.load.Plan.Writes() {
		h.Config = r.load.producer.All()
	}
	if r.load.Plan.Reads() {
		h.ConsumerConfig = r.load.consumer.All()
	}
	return h
}

func (r *runner) newFeed(h result.Header, out *output) (*feed, error) {
	f := &feed{header: h, fold: result.NewFold(h), out: out, status: &r.status, part: r.load.part}
	if r.file.file == nil {
		return f, nil
	}
	file, err := result.NewRunFile(r.file.file, h)
	f.file = file
	return f, err
}

// deleteTopic deletes the topic when that was asked for and this run created it.
func (r *runner) deleteTopic(ctx context.Context) error {
	t := r.target.topic()
	if !r.load.Plan.Topic.Delete {
		return nil
	}
	if !t.Created {
		r.env.say("topic %s was there before this run, so --delete-topic leaves it", t.Name)
		return nil
	}
	return r.target.cluster.DeleteTopic(context.WithoutCancel(ctx), t.Name)
}
