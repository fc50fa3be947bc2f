package tui

import (
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// Header is what does not change during a run.
type Header struct {
	Command  string   // "produce"
	Topic    string   // "orders-bench"
	Tags     []string // "acks=all", "21 partitions", "zstd"
	Embedded bool     // the broker is inside kt: its figures are not Kafka's

	Duration time.Duration // of the whole load; 0: no limit
	Records  int64         // 0: no limit
	Warmup   time.Duration // the first part of Duration, which is not counted

	// TargetRate is in records a second; 0: unlimited. At a target the latency
	// shown is the response time, from when a record was due. Without one no
	// record is ever due, and the time since it was handed to the client is shown,
	// which is mostly queueing.
	TargetRate float64

	Partitions  int32
	BufferBytes int64 // buffer.memory of all clients together
	MaxInFlight int   // requests over all connections together; 0: not known
	Brokers     map[int32]string
}

// State is how far a run has come.
type State int

// The states of a run, in order.
const (
	Warmup State = iota
	Running
	Draining // no more load; waiting for acks
	Done
)

func (s State) String() string {
	switch s {
	case Warmup:
		return "WARM-UP"
	case Running:
		return "RUN"
	case Draining:
		return "DRAIN"
	case Done:
		return "DONE"
	}
	return "?"
}

// Tick is what happened since the tick before, about a second ago.
type Tick struct {
	Window   stats.Window
	Sample   host.Sample
	Verdict  result.Verdict
	State    State
	Buffered int64 // bytes waiting for acks
	InFlight int   // requests
}

// merge is both ticks as one: what is counted adds up, and of what is looked at
// the later counts.
func merge(earlier, later Tick) Tick {
	later.Window = stats.Merge(earlier.Window, later.Window)
	return later
}
