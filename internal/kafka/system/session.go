package system

import (
	"context"
	"fmt"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/driver"
	"github.com/kt-bench/kt/internal/kafka/reading"
	"github.com/kt-bench/kt/internal/kafka/watch"
	"github.com/kt-bench/kt/internal/kafka/wire"
	"github.com/kt-bench/kt/internal/kafka/writing"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
)

type session struct {
	*System
	plan      *plan.Plan
	options   run.Options
	bootstrap []string
	embedded  *kafka.Embedded // nil: a real cluster
	cluster   *kafka.Cluster
	topics    []result.Topic     // that are written to or read
	layout    *kafka.Layout      // of them
	quotas    map[string]float64 // of its clients

	run      uint64         // in the stamps of records; 0: none are verified
	producer engine.Driver  // nil: nobody writes
	reading  *reading.State // nil: nobody reads, or in share groups
	share    *driver.Share  // nil: nobody reads in share groups
	groups   []kafka.ShareGroup
	watcher  *watch.Brokers // nil: nobody watches
	logDirs  *watch.LogDirs // nil: nobody looks at them
}

// Describe completes a header with the settings, the cluster and the topics.
func (s *session) Describe(h *result.Header) {
	s.System.Describe(h)
	h.Embedded = s.embedded != nil
	h.Environment.Cluster = s.cluster.Info
	h.Environment.SetTopics(s.topics)
	h.Environment.Quotas = s.quotas
	for _, g := range s.groups {
		h.Environment.Share = &result.ShareLimits{Deliveries: g.Limit, Locks: int64(g.Locks), LockMillis: g.LockMillis}
	}
}

// NewBook opens the account of the records of this run.
func (s *session) NewBook(ctx context.Context) (*ledger.Book, error) {
	ends, epochs, err := s.cluster.LogEnds(ctx, s.layout)
	if err != nil {
		return nil, fmt.Errorf("find the last offsets before the run: %w", err)
	}
	return &ledger.Book{
		Start: ends, StartEpochs: epochs,
		Headers: !s.plan.Payload.Stamp, OwnValues: s.plan.Payload.OwnValues(), Idempotent: s.Producer.Idempotent(), Acks: s.Producer.Acks(), Retries: s.Producer.Int64("retries") > 0,
	}, nil
}

// Open makes the drivers and the sources beside them.
func (s *session) Open(ctx context.Context, book *ledger.Book) (c run.Clients, err error) {
	if s.writes {
		c.Limits = s.openProducer(book)
		c.Send = s.producer
	}
	switch {
	case s.reads && s.plan.Read.Share != nil:
		if err = s.openShare(ctx, book); err != nil {
			return c, err
		}
		c.Read = s.share
	case s.reads:
		if c.Read, err = s.openConsumer(ctx, book); err != nil {
			return c, misfit(err)
		}
	}
	if c.Sources, err = s.sources(); s.logDirs != nil {
		c.Full = s.logDirs.Full()
	}
	return c, err
}

func (s *session) openProducer(book *ledger.Book) engine.Options {
	limits := engine.Options{
		BufferBytes: s.Producer.Int64("buffer.memory"),
		MaxBlock:    max(s.Producer.Duration("max.block.ms"), 1), // 0 means the default there, and not to wait in Java
		// The client gives up by itself at delivery.timeout.ms. The rest is for it to report that.
		DrainTimeout: s.Producer.DeliveryTimeout() + 5*time.Second,
	}
	if s.plan.Load.Rate.IsUnlimited() {
		limits.BufferRecords = min(engine.DefaultBufferRecords, driver.PipelineRecords(s.Producer, s.layout.Count(), s.plan.Payload.MeanBytes()))
	}
	if book != nil {
		s.run = book.Run
	}
	state := &writing.State{Cluster: s.cluster, Plan: *s.plan, Settings: s.Producer, Values: s.values, Layout: s.layout, Partitions: s.layout.Count(), Run: s.run}
	if s.plan.Engine == plan.Wire {
		d := wire.NewProducer(state)
		s.producer, limits.BufferRecords = d, d.BufferRecords()
		return limits
	}
	s.producer = &driver.Producer{State: state}
	return limits
}

func (s *session) openConsumer(ctx context.Context, book *ledger.Book) (_ engine.ReadDriver, err error) {
	options := reading.Options{Plan: *s.plan, Settings: s.Consumer, Layout: s.layout, Memory: reading.NewMemory(host.System().UsableMemory()), Reread: wire.Reread}
	if s.producer != nil {
		options.Run, options.Written, options.Blind = s.run, s.producer.Acked, s.Producer.Acks() == "0"
	}
	if s.plan.Verify {
		options.Book, options.Again = book, func(partitions int) {
			s.options.Notify(run.Notice{Kind: run.ReadingAgain, Text: fmt.Sprintf("logs were cut off below offsets that were read (partitions: %d): kt reads those again", partitions)})
		}
	}
	if s.reading, err = reading.New(ctx, s.cluster, options); err != nil {
		return nil, err
	}
	if from := s.reading.Resolved; from != "" {
		s.options.Notify(run.Notice{Kind: run.StartFound, Text: from})
	}
	if s.plan.Engine == plan.Wire {
		return wire.NewConsumer(s.reading), nil
	}
	return driver.NewConsumer(s.reading), nil
}

func (s *session) openShare(ctx context.Context, book *ledger.Book) error {
	o := queue.Options{Plan: *s.plan, Run: s.run, Fresh: s.plan.Share.IsZero() && len(s.made()) == len(s.topics)}
	if o.Fresh { // where a leader goes before the group has settled anything, its successor would begin at the latest record again
		o.Plan.Read.From = plan.From{}
	}
	for _, g := range s.groups {
		if err := s.cluster.StartShare(ctx, g, o.Plan.Read.From.String()); err != nil {
			return err
		}
	}
	if s.plan.Verify {
		o.Book = book
	}
	s.share = &driver.Share{Cluster: s.cluster, Settings: s.Consumer, Layout: s.layout, Memory: reading.NewMemory(host.System().UsableMemory()), Groups: s.groups, Embedded: s.embedded}
	if s.producer != nil && s.Producer.Acks() != "0" { // else no broker says what is in its log
		s.share.Written = s.producer.Acked
	}
	return s.share.Begin(ctx, o)
}

// findShare looks up the share groups of the plan.
func (s *session) findShare(ctx context.Context) error {
	if err := s.cluster.CheckShare(ctx, max(s.plan.Read.Consumers, s.plan.Share.Consumers)); err != nil {
		return err
	}
	for i := range max(1, s.plan.Read.Groups) {
		g, err := s.cluster.FindShare(ctx, s.plan.Read.GroupName(i))
		if err != nil {
			return err
		}
		if s.groups = append(s.groups, g); !g.Made && s.plan.Share.IsZero() {
			s.options.Notify(run.Notice{Kind: run.StartFound, Text: fmt.Sprintf("share group %s is there already: it goes on where it is, and --share-start has no effect", g.Name)})
		}
	}
	return nil
}

func (s *session) sources() (all []engine.Source, err error) {
	if s.embedded == nil && s.options.Watch {
		if s.watcher, err = watch.New(s.cluster, s.layout); err != nil {
			return nil, err
		}
		all = append(all, s.watcher)
	}
	if l := s.plan.Load; s.embedded == nil && s.writes && (s.options.Watch || l.StopAtDisk > 0 || l.UntilFull) {
		say := func(kind run.NoticeKind, text string) { s.options.Notify(run.Notice{Kind: kind, Text: text}) }
		s.logDirs, err = watch.NewLogDirs(s.cluster, watch.LogDirOptions{
			Load: l, Tell: s.options.Watch, Notify: func(text string) { say(run.LogDirNews, text) },
			Unknown: func() {
				say(run.LogDirUnknown, "no broker says how large its disks are (Kafka 3.3 or newer does): their log directories are not watched")
			},
		})
		if err != nil {
			return nil, err
		}
		all = append(all, s.logDirs)
	}
	if s.reading != nil {
		all = append(all, watch.NewConsumerLag(s.cluster, s.reading.At))
		if s.embedded != nil {
			all = append(all, watch.NewRecordDeleter(s.embedded, s.reading.At))
		}
	} else if s.share != nil {
		all = append(all, s.share)
	} else if s.Embedded != nil {
		all = append(all, watch.NewUnreadDeleter(s.embedded, s.layout))
	}
	return all, nil
}

// Written returns how many records were ever written to the topics that the load writes to.
func (s *session) Written(ctx context.Context) (int64, error) {
	return s.cluster.Written(ctx, s.layout.Names())
}

// Others returns how many records were ever written to other topics; false: that is not known.
func (s *session) Others(ctx context.Context) (int64, bool) {
	if s.embedded != nil {
		return 0, false
	}
	return s.cluster.Others(ctx, s.layout.Names())
}

// Delete deletes the topics that were created for the load.
func (s *session) Delete(ctx context.Context) error {
	return s.cluster.DeleteTopics(ctx, kafka.NewLayout(s.made()).Names()...)
}

// Close frees the connections, and stops the embedded broker.
func (s *session) Close() {
	if s.watcher != nil {
		s.watcher.Close()
	}
	if s.logDirs != nil {
		s.logDirs.Close()
	}
	if s.cluster != nil {
		for _, g := range s.groups {
			if err := s.cluster.DeleteShareGroup(context.Background(), g); err != nil && s.embedded == nil {
				s.options.Notify(run.Notice{Kind: run.GroupKept, Text: err.Error()})
			}
		}
		s.cluster.Close()
	}
	if s.embedded != nil && s.Embedded == nil {
		s.embedded.Close()
	}
}
