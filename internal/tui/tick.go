package tui

import (
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// Header is what does not change during a run.
type Header struct {
	Command  string   // "produce", "consume" or "roundtrip": what the panes draw
	Topic    string   // "orders-bench"
	Group    string   // that the readers are members of; "": none
	Tags     []string // "acks=all", "21 partitions", "zstd"
	Embedded bool     // the broker is inside kt: its figures are not Kafka's

	Duration time.Duration // of the whole load; 0: no limit
	Records  int64         // 0: no limit

	// TargetRate is in records a second; 0: unlimited. At a target the latency
	// shown is the response time, from when a record was due. Without one no
	// record is ever due, and the time since it was handed to the client is shown,
	// which is mostly queueing. Where records are read, the latency shown is from due
	// to polled.
	TargetRate float64

	Partitions  int32
	BufferBytes int64 // buffer.memory of all clients together
	MaxInFlight int   // requests over all connections together; 0: not known
	Brokers     map[int32]string

	Hosts []HostHeader // that take part, in the order of their table; empty: kt runs here alone
}

// HostHeader is a host that takes part in a run.
type HostHeader struct {
	Name      string
	Processes int     // that make a load; 0: the host is only watched
	Share     float64 // of the load that is its own, 0 to 1; 0: all hosts have the same
}

// State is how far a run has come.
type State int

// The states of a run, in order. Only a run on many hosts is in one before Warmup,
// the zero State.
const (
	Lobby     State = iota - 2 // its hosts are looked for
	Preparing                  // they open their clients, and wait for the start
	Warmup
	Running
	Draining // no more load; waiting for acks
	Done
)

func (s State) String() string {
	switch s {
	case Lobby:
		return "LOBBY"
	case Preparing:
		return "PREPARE"
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
	// Windows are those of the phases that the second was in, as the engine gives
	// them: one, or the warm-up and the measured one of the second in which the
	// warm-up ended.
	Windows []stats.Window

	Sample   host.Sample
	Verdict  verdict.Verdict
	State    State
	Buffered int64 // bytes waiting for acks
	InFlight int   // requests

	// Notice is what is waited for, and what the key q does about it, in one line: "waiting
	// for vm16 until 01:32:03; q: without it". Each tick has it for as long as that is so,
	// and it stands in the place of what q does else. "": nothing.
	Notice string

	// Hosts are those of a run on many hosts; one that is not among them is as it was.
	Hosts []HostState
	// StartsIn is the time until all hosts begin, once that is agreed; 0: it is not.
	StartsIn time.Duration
}

// HostState is how one host is, and what it did in the last second.
type HostState struct {
	Name      string
	Processes int // as in HostHeader

	// State is one of lobby, preparing, ready, running, draining, done, away (not
	// heard for seconds), lost (given up) and watching.
	State string

	Window stats.Window // of its processes together; zero: it makes no load, or told nothing
	Vitals *host.Vitals // nil: not known

	Offset time.Duration // its clock minus the coordinator's
	Bound  time.Duration // by which that may be wrong; 0: nobody compared them
	Seen   time.Duration // since it was last heard
	Note   string        // for people
}

// merge is both ticks as one: what is counted adds up, each phase for itself and each
// host for itself, and of what is looked at the later counts.
func merge(earlier, later Tick) Tick {
	var merged []stats.Window
	for _, warmup := range []bool{true, false} {
		var sum stats.Window
		n := 0
		for _, windows := range [][]stats.Window{earlier.Windows, later.Windows} {
			for i := range windows {
				if windows[i].Warmup == warmup {
					sum.Add(&windows[i])
					n++
				}
			}
		}
		if n > 0 {
			sum.Warmup = warmup
			merged = append(merged, sum)
		}
	}
	later.Windows = merged
	later.Hosts = mergeHosts(earlier.Hosts, later.Hosts)
	return later
}

// mergeHosts are the hosts as they are later, each with what it did in both ticks.
func mergeHosts(earlier, later []HostState) []HostState {
	merged := slices.Clone(later)
	for i := range earlier {
		e := &earlier[i]
		at := slices.IndexFunc(later, func(h HostState) bool { return h.Name == e.Name })
		if at < 0 {
			merged = append(merged, *e)
			continue
		}
		h := &merged[at]
		h.Window = stats.Merge(e.Window, h.Window)
		if h.Vitals == nil {
			h.Vitals = e.Vitals
		}
	}
	return merged
}

// whole is all windows as one.
func (t *Tick) whole() stats.Window {
	if len(t.Windows) == 1 {
		return t.Windows[0]
	}
	var sum stats.Window
	for i := range t.Windows {
		sum.Add(&t.Windows[i])
	}
	return sum
}
