package run

import (
	"context"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// Request is everything that a run needs, as values. Plan and System are required. The zero
// value of each other field means what its comment says.
type Request struct {
	Plan   plan.Plan
	System System

	Version string           // of kt, for the header
	Args    []string         // the command line, for the header
	Tags    []string         // of the run, for the header
	Part    *result.Part     // of a bigger run; nil: the run stands for itself
	Follows bool             // another process of the same load watches the system
	Execs   []plan.Exec      // commands to run beside the load
	Now     func() time.Time // the wall clock; nil: time.Now

	File       *File           // the run file, which Run completes or discards; nil: none
	Ledger     string          // the ledger file of a verified load; "": beside the run file
	LedgerSync bool            // each second of the ledger is on the disk when it is written
	BrokerDirs func() []string // directories that brokers of this host write to; nil: not known
	Book       *ledger.Book    // of an earlier run, whose records are looked for; nil: none
	BookName   string          // for messages: the file that Book was read from

	Limits   []string // what the run has to keep: expressions of --limit
	AbortOn  []string // conditions that end the load: expressions of --abort-on
	Accepted []string // the ids of doubts that are not raised: --accept

	// Aborted returns the condition for which Stop was closed, if another process judges the load; "" means that
	// there was none. nil: this process judges it.
	Aborted func() string

	Stop   <-chan struct{} // closed: stop sending, drain and finish; nil: never
	Until  <-chan struct{} // closed: a load that only reads ends when it has read what is there then; nil: it ends as its plan says
	Rates  <-chan float64  // new targets, in records a second, of a run with a fixed rate; nil: it stays
	Notify func(Notice)    // called from several goroutines; nil: nobody listens
	Status *engine.Status  // kept up to date while the load goes on; nil: nobody looks

	// Ceiling returns what this host can offer of a load with this header; nil: that is not known.
	Ceiling func(h *result.Header) *result.Ceiling

	// Tune returns what kt tune says of this host; nil: nothing. It is called beside the load, and its context ends with the
	// load. nil: no check is made. Nor is one made of a load on an embedded broker.
	Tune func(ctx context.Context) *result.TuneCheck

	// Opened is called when the system has been reached, before any client is open. An
	// error ends the run.
	Opened func(h result.Header) error

	// Ready is called when every client is open. The load begins when it returns, or never
	// if that is an error.
	Ready func(ctx context.Context, h result.Header) error

	// Began is called when the load begins. It returns the start to write down. nil: by the
	// clock of this host.
	Began func(at time.Time) result.Start

	// Done is called when the result is complete and the run file is written. It reports
	// whether what the run made may be deleted now. err is of what went wrong beside the
	// load. nil: it may.
	Done func(ctx context.Context, res result.Result, err error) bool
}

// Observer follows a run. Observe is called once a second from one goroutine, in order. It
// must not change what it gets. A slow observer gets merged seconds. It holds up neither the
// run nor other observers, except that Run waits for it at the end, until a second after its
// ctx has ended.
type Observer interface{ Observe(Second) }

// Second is what happened in one second of a run, or in several for a slow observer.
type Second struct {
	Windows  []stats.Window // one for each phase that had something to count, warm-up first
	Sample   host.Sample
	Snapshot result.Snapshot // of the run up to here

	// Of a run on many hosts.
	Hosts    []Host
	StartsIn time.Duration // until the agreed start; 0: it is over, or not agreed yet
}

// Length returns the time that the windows cover.
func (s *Second) Length() time.Duration {
	var from, to time.Duration
	for i := range s.Windows {
		if w := &s.Windows[i]; i == 0 || w.Start < from {
			from = w.Start
		}
		to = max(to, s.Windows[i].End)
	}
	return to - from
}

// Merge returns the second that spans an older one and s.
func (s Second) Merge(older Second) Second {
	s.Windows = engine.MergeWindows(older.Windows, s.Windows)
	older.Sample.Add(s.Sample)
	s.Sample = older.Sample
	return s
}

// Func makes a run: Run does here, others do on many hosts.
type Func func(ctx context.Context, r Request, observers ...Observer) (result.Result, error)

// Notice is a message of a run while it goes on.
type Notice struct {
	Kind NoticeKind
	Text string // a sentence for people; of CommandOutput the line as it is
	Path string // of LedgerWritten
}

// NoticeKind is a kind of notice.
type NoticeKind int

// The kinds of notices.
const (
	BrokerUnreached NoticeKind = iota // an address does not answer, while another does
	RateChosen                        // the plan has no rate, and the system needs one
	TopicCreated
	TopicKept     // what existed before the run is not deleted
	GroupKept     // a group that kt made could not be deleted
	FileFailed    // the run file cannot be written any more, and the run goes on
	ReadingAgain  // logs were cut off below what was read
	LogsUnknown   // the logs of some partitions cannot be read, so their records are unchecked
	LedgerWritten // and where
	LedgerBeside  // what is synced of the ledger goes to the file system of a broker's log
	HostsChosen   // for a run on many hosts
	HostTrouble   // a problem of a host, or of a run on many hosts
	CommandOutput // a line that a command beside the load has written
	LogDirNews    // of a log directory of a broker, as in its event
	LogDirUnknown // no broker says how large its disks are
	StoreUnread   // a store of certificates has changed and cannot be read; the run goes on with what was read before
	StartFound    // the offsets at the time from which on is read
	BatchLimited  // the topic takes smaller batches than the settings make
	MetricsFailed // metrics were not sent, and the run goes on
)

// Warning reports whether the notice is of something that is not as it was asked for.
func (k NoticeKind) Warning() bool {
	switch k {
	case BrokerUnreached, TopicKept, GroupKept, FileFailed, LedgerBeside, LogsUnknown, HostTrouble, StoreUnread, MetricsFailed:
		return true
	}
	return false
}

// Host is the state of one host of a run on many.
type Host struct {
	Name      string
	Processes int              // that make a load; 0: the host is only watched
	State     string           // lobby, preparing, ready, running, draining, done, away (not heard for seconds), lost (given up) or watching
	Snapshot  *result.Snapshot // of its processes together; nil: nothing came from them
	Vitals    *host.Vitals     // the newest; nil: none came
	Offset    time.Duration    // its clock minus this one
	Bound     time.Duration    // by how much that may be wrong
	Seen      time.Duration    // since the host or its load was heard last
	Until     time.Time        // when the host is given up, if a run that is else over waits for it; zero: it does not
	Note      string           // for people; "" when all is well
}

// Delivery gives seconds to observers, each on a goroutine of its own with seconds of its
// own that wait.
type Delivery []*engine.Feed[Second]

// NewDelivery starts a delivery, which its maker closes.
func NewDelivery(observers []Observer) Delivery {
	var d Delivery
	for _, o := range observers {
		d = append(d, engine.NewFeed(o.Observe, func(older, s Second) Second { return s.Merge(older) }))
	}
	return d
}

// Send hands a second over. It does not wait.
func (d Delivery) Send(s Second) {
	for _, o := range d {
		o.Send(s)
	}
}

// lastSecond is how long observers may take for the last second of a run that was ended by its ctx.
const lastSecond = time.Second

// Close waits until every observer has taken the last second, or for lastSecond after ctx
// ends.
func (d Delivery) Close(ctx context.Context) {
	waiting, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastSecond, leave) })()
	for _, o := range d {
		select {
		case <-o.Close():
		case <-waiting.Done():
		}
	}
}
