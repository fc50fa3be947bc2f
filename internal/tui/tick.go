package tui

import (
	"fmt"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
)

// Header is what does not change during a run.
type Header struct {
	Command string   // "produce", "consume" or "roundtrip": what the panes draw
	Topic   string   // "orders-bench"
	Group   string   // that the readers are members of; "": none
	Tags    []string // "acks=all", "21 partitions", "zstd"
	Notice  string   // a sentence that is always seen; empty: none
	Replay  bool     // of a run that is over

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

	Uncounted bool // the clients do not count their requests by broker

	Hosts []HostHeader // that take part, in the order of their table; empty: kt runs here alone
}

// HostHeader is a host that takes part in a run.
type HostHeader struct {
	Name      string
	Processes int     // that make a load; 0: the host is only watched
	Share     float64 // of the load that is its own, 0 to 1; 0: all hosts have the same

	// Of a load of a workload, which has a row in the place of a host.
	Command string  // "": it is a host
	Target  float64 // in records a second; 0: unlimited
}

// loads reports whether the rows of hosts are loads of a workload.
func (h *Header) loads() bool { return len(h.Hosts) > 0 && h.Hosts[0].Command != "" }

// name returns the command as a user types it.
func (h *Header) name() string { return "kt " + map[bool]string{true: "run", false: h.Command}[h.loads()] }

// rowName returns what a row of the table of hosts is: "host", or "load".
func (h *Header) rowName() string { return map[bool]string{true: "load", false: "host"}[h.loads()] }

// stageNames are what the stages are called.
var stageNames = map[result.Stage]string{
	result.Gathering: "WAITING", result.Preparing: "PREPARE", result.WarmingUp: "WARM-UP", result.Running: "RUN", result.Draining: "DRAIN", result.Finished: "DONE",
}

// Tick is a run at the end of one second.
type Tick struct {
	Snapshot result.Snapshot

	// Notice is what is waited for, and what the key q does about it, in one line: "waiting
	// for vm16 until 01:32:03; q: without it". Each tick has it for as long as that is so,
	// and it stands in the place of what q does else. "": nothing.
	Notice string

	// Hosts are those of a run on many hosts; one that is not among them is as it was.
	Hosts []run.Host
	// StartsIn is the time until all hosts begin, once that is agreed; 0: it is not.
	StartsIn time.Duration
}

// notice tells for whom the run waits that is else over, for as long as it does; "": it
// waits for nobody. The screen has an event for a host that came back or is lost.
func notice(hosts []run.Host) string {
	var waits []string
	var until time.Time
	for _, h := range hosts {
		if !h.Until.IsZero() {
			waits = append(waits, h.Name)
		}
		if h.Until.After(until) {
			until = h.Until
		}
	}
	if len(waits) == 0 {
		return ""
	}
	them := map[bool]string{true: "it", false: "them"}[len(waits) == 1]
	return fmt.Sprintf("waiting for %s until %s; q: without %s", named(waits), until.UTC().Format("15:04:05 MST"), them)
}

// role is what a run does, as far as it is drawn: decided here, once, by the
// command. Panes ask for it and never for the command.
type role struct {
	writes, reads bool
	main          way // whose rate comes first
}

// way is which way records go.
type way int

// The ways.
const (
	acked way = iota // to the brokers, which acknowledged them
	read             // from the brokers
	ways
)

// endToEnd reports whether latency counts until a record was polled.
func (d *data) endToEnd() bool { return d.reads && (d.writes || d.Stamped) }

// untimed reports whether there is no latency to show: what is read carries no stamp.
func (d *data) untimed() bool { return d.reads && !d.endToEnd() }

// joining reports whether no consumer of the group has a partition yet. Where records
// are sent too, they had theirs before.
func (d *data) joining() bool {
	return d.reads && !d.writes && d.header.Group != "" && d.Stage >= result.WarmingUp && d.Stage < result.Draining && d.All.Consumed == 0 && d.All.JoinTime == 0
}

// byWay returns what is of records that were acknowledged, or of those that were read.
func byWay[T any](w way, acks, reads T) T {
	if w == read {
		return reads
	}
	return acks
}
