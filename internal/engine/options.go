package engine

import (
	"context"
	"time"
)

// Options are the limits of a run. The zero value of each has the default that
// its comment gives.
type Options struct {
	Stop    <-chan struct{} // closed: stop sending, drain, and finish; nil: never
	Rates   <-chan float64  // new target rates of this process, in records a second; nil: it does not change
	Sources []Source

	BufferBytes   int64         // most bytes waiting for acks in each shard: 32 MiB
	BufferRecords int           // most records waiting for acks in each shard: 50,000
	MaxBlock      time.Duration // longest wait for room before a record fails: 60 s
	DrainTimeout  time.Duration // longest wait for outstanding acks at the end: 120 s
	StopTimeout   time.Duration // the same after Stop: 10 s

	// Ready is called when every worker is open. The load begins when it returns nil, and never after
	// an error. nil: the load begins at once.
	Ready func(ctx context.Context) error

	// NewSleeper is called by each sender, which closes what it returns. nil: time.Sleep.
	NewSleeper func() Sleeper

	Started func()  // called when the load begins; may be nil
	Status  *Status // updated during the run; may be nil
}

// The defaults of Options. Bytes and waits are those of Kafka's Java client
// (buffer.memory, max.block.ms, delivery.timeout.ms); the record limit keeps kt's
// memory bounded for tiny records, of which 32 MiB would hold millions.
const (
	DefaultBufferBytes   = 32 << 20
	DefaultBufferRecords = 50_000
	DefaultMaxBlock      = 60 * time.Second
	DefaultDrainTimeout  = 120 * time.Second
	DefaultStopTimeout   = 10 * time.Second
)

func (o Options) withDefaults() Options {
	if o.BufferBytes == 0 {
		o.BufferBytes = DefaultBufferBytes
	}
	if o.BufferRecords == 0 {
		o.BufferRecords = DefaultBufferRecords
	}
	if o.MaxBlock == 0 {
		o.MaxBlock = DefaultMaxBlock
	}
	if o.DrainTimeout == 0 {
		o.DrainTimeout = DefaultDrainTimeout
	}
	if o.StopTimeout == 0 {
		o.StopTimeout = DefaultStopTimeout
	}
	if o.NewSleeper == nil {
		o.NewSleeper = func() Sleeper { return plainSleeper{} }
	}
	if o.Status == nil {
		o.Status = new(Status)
	}
	return o
}
