package tui

import "github.com/kt-bench/kt/internal/result"

// role is what a run does, as far as it is drawn: decided here, once, by the
// command. Panes ask for it and never for the command.
type role struct {
	writes, reads bool
	main          way // whose rate comes first
}

func roleOf(command string) role {
	switch command {
	case "consume":
		return role{reads: true, main: read}
	case "roundtrip":
		return role{writes: true, reads: true, main: acked}
	}
	return role{writes: true, main: acked}
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
