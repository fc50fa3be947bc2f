package run

import (
	"context"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/host/watch"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
	"github.com/kt-bench/kt/internal/stats"
)

// System is a kind of system that loads are made on, with the settings of its clients.
type System interface {
	// Describe completes a header with the settings of the clients.
	Describe(h *result.Header)
	// Connect reaches the system that p names, makes what p writes to and finds what it
	// reads. Where p names no system, it starts one inside the process if it can, and fits
	// p to that. On an error nothing is left behind.
	Connect(ctx context.Context, p *plan.Plan, o Options) (Session, error)
}

// Options tell a System more than a plan does.
type Options struct {
	Watch  bool         // report what happens to the system while the load goes on
	Book   *ledger.Book // of an earlier run, whose records are looked for: its topics number the partitions; nil: none
	Notify func(Notice)
}

// Session is a system that was reached for one run. Its methods are called one after the
// other.
type Session interface {
	// Describe completes a header with the settings of the clients and with what the load
	// goes to.
	Describe(h *result.Header)
	// NewBook opens the account of the records of this run. The caller fills in the run and its topics.
	NewBook(ctx context.Context) (*ledger.Book, error)
	// Open makes the drivers and readers of the load. book may be nil. Records get its stamps if it
	// is from NewBook.
	Open(ctx context.Context, book *ledger.Book) (Clients, error)
	// Delete deletes the targets that Connect has made, and nothing else.
	Delete(ctx context.Context) error
	// Close ends the session.
	Close()
}

// Clients are the drivers and readers of a load, and the sources beside it.
type Clients struct {
	engine.Drivers
	Sources []engine.Source
	Full    <-chan struct{} // closed: the system has no room for more, and the load has to end; nil: never
	Limits  engine.Options  // how much may wait for acknowledgements, and how long
}

// The interfaces below are what a System may be able to do beside runs. Each system has those that make sense on it.
type (
	// Acknowledging tells the acknowledgements that a load waits for: 0, 1 or all.
	Acknowledging interface{ Acks() string }

	// Delivering tells how long a record may wait for its outcome.
	Delivering interface{ DeliveryTimeout() time.Duration }

	// TopicLister lists topics, for a shell to complete. A failure gives none.
	TopicLister interface {
		Topics(ctx context.Context) []string
	}

	// GroupLister lists consumer groups in the same way.
	GroupLister interface {
		Groups(ctx context.Context) []string
	}

	// TopicDeleter deletes the topics of a name, as plan.ParseTopics reads it. One that is not there is no error.
	TopicDeleter interface {
		DeleteTopic(ctx context.Context, name string) error
	}

	// Unreachable returns why the system cannot be reached now, where that explains records that failed with a code.
	Unreachable interface {
		WhyUnreachable(ctx context.Context, code string) error
	}

	// Partitioned reports whether each partition is read by one consumer of a group.
	Partitioned interface{ ReadsByPartition() bool }

	// Calibrated reports whether the load costs this host as much on the sink of kt calibrate as on the system.
	Calibrated interface{ LikeSink() bool }

	// Administered connects to the brokers of a system whose settings can be read and changed. A nil Admin means that
	// they are inside kt.
	Administered interface {
		Administer(ctx context.Context) (Admin, error)
	}
)

// Admin is a connection to brokers beside a run.
type Admin interface {
	Brokers() []result.Broker
	LogDirs(ctx context.Context) ([]result.LogDir, error)
	// Fits returns a *result.MisfitError if the brokers cannot carry a load: one that reads, if its topics are not there. What they may not be asked is no error.
	Fits(ctx context.Context, p plan.Plan) error
	CheckTopicSetting(ctx context.Context, name, value string) error
	BrokerSettings(ctx context.Context, names []string) ([]result.BrokerSetting, error)
	CheckBrokerSettings(ctx context.Context, settings []result.BrokerSetting) error
	SetBrokers(ctx context.Context, settings []result.BrokerSetting) error
	Close()
}

// machine is the source of what this host does during the load, and of events of brokers on it that are near vm.max_map_count.
type machine struct {
	engine.Events
	*watch.Watcher
	use  merge.BusySum
	told map[int]bool // by process
}

var _ engine.Source = (*machine)(nil)

// Start looks each second, and at last when ctx ends.
func (m *machine) Start(ctx context.Context, now func() time.Duration) {
	m.Go(func() {
		m.look(now())
		engine.Every(ctx, time.Second, func() { m.look(now()) })
		m.look(now())
	})
}

// look keeps an event for each process that is near the limit, once.
func (m *machine) look(at time.Duration) {
	v := m.Sample(at)
	if v.Interval > 0 {
		m.use.Add(&v)
	}
	for _, b := range v.Brokers {
		maps := host.Maps{PID: b.PID, Used: b.Maps, Limit: b.MapsLimit}
		if !maps.Near() || m.told[b.PID] {
			continue
		}
		m.told[b.PID] = true
		m.Add(stats.Event{At: at, Kind: stats.MapsNear, Broker: -1, To: -1, Text: maps.String()})
	}
}

// logsPatience is how long the logs may stand still before records count as missing: with acks=0 some may be on their way.
// logsEvery is the time between two looks.
const logsPatience, logsEvery = 5 * time.Second, 250 * time.Millisecond

// written returns how many records were ever written to the target; -1: that is not known.
func (m *maker) written(ctx context.Context) int64 {
	s, ok := m.session.(interface {
		Written(ctx context.Context) (int64, error)
	})
	if !ok || !m.Plan.Writes() || ctx.Err() != nil {
		return -1
	}
	n, err := s.Written(ctx)
	if err != nil {
		return -1
	}
	return n
}

// writtenBeside returns how many records were ever written to other topics; -1: that is not known, or the run is a part of one.
func (m *maker) writtenBeside(ctx context.Context) int64 {
	s, ok := m.session.(interface {
		Others(ctx context.Context) (int64, bool)
	})
	if ok && m.Part == nil && ctx.Err() == nil {
		if n, known := s.Others(ctx); known {
			return n
		}
	}
	return -1
}

// logEnds returns the log ends before the load, and those after it: once the logs hold what the run counts as acknowledged, or stand
// still. With acks=0, other processes of the load may still have records on their way. So each waits for a second without growth.
func (m *maker) logEnds(ctx context.Context) *result.LogEnds {
	ends, last, claimed := m.before, m.before, m.sink.fold.Snapshot().All.Acknowledged
	for still := time.Duration(0); ends >= 0 && still < logsPatience; still += logsEvery {
		if ends = m.written(ctx); ends > last {
			last, still = ends, 0
		}
		if ends-m.before >= claimed && (still >= time.Second || !m.together() || m.header.Outcome() != result.Sent) {
			break
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(logsEvery):
		}
	}
	if ends < 0 {
		return nil
	}
	return &result.LogEnds{Before: m.before, After: ends}
}
