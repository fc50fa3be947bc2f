package run

import (
	"context"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
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
	Watch  bool // report what happens to the system while the load goes on
	Notify func(Notice)
}

// Session is a system that was reached for one run. Its methods are called one after the
// other.
type Session interface {
	// Describe completes a header with the settings of the clients and with what the load
	// goes to.
	Describe(h *result.Header)
	// NewBook opens the account of the records of this run.
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
