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

	File     *File        // the run file, which Run completes or discards; nil: none
	Ledger   string       // the ledger file of a verified load; "": beside the run file
	Book     *ledger.Book // of an earlier run, whose records are looked for; nil: none
	BookName string       // for messages: the file that Book was read from

	Limits  []string // what the run has to keep: expressions of --limit
	AbortOn []string // conditions that end the load: expressions of --abort-on

	// Aborted returns the condition for which Stop was closed, if another process judges the load; "" means that
	// there was none. nil: this process judges it.
	Aborted func() string

	Stop   <-chan struct{} // closed: stop sending, drain and finish; nil: never
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
