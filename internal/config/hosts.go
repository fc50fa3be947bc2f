package config

import (
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
)

// This file has the flags of the commands that talk to agents on other hosts.

// agentPort is where an agent listens: the port that memberlist has as its own.
const agentPort = 7946

// defaultJoin is the agent that is asked for the others: the one on this host.
var defaultJoin = net.JoinHostPort("127.0.0.1", strconv.Itoa(agentPort))

// Agents is how the agents are found and talked to.
type Agents struct {
	Join    []string `flag:"join"`     // HOST:PORT of agents that know the others; used when Peers is empty
	Peers   []string `flag:"peers"`    // HOST:PORT of exactly the agents that are meant, without gossip
	KeyFile string   `flag:"key-file"` // "": no key, and only agents on this host
}

// Check refuses that agents are named in both ways.
func (a *Agents) Check() error {
	if len(a.Join) > 0 && len(a.Peers) > 0 {
		return plan.Refuse("", nil, "--join and --peers exclude each other: give one")
	}
	if len(a.Join) == 0 && len(a.Peers) == 0 {
		a.Join = []string{defaultJoin}
	}
	return nil
}

// AgentsOf returns what the flags of a set say of agents, for a shell that completes a line.
func AgentsOf(set *pflag.FlagSet) (a Agents) {
	l := &layers{flags: set}
	a.Join, a.Peers, a.KeyFile = slices.Clone(l.list("join")), slices.Clone(l.list("peers")), l.text("key-file")
	return a
}

// withPort completes HOST to HOST:7946.
func withPort(addr string) (string, error) {
	addr = strings.TrimSpace(addr)
	host, port, err := net.SplitHostPort(addr)
	switch {
	case err != nil && strings.HasPrefix(addr, "[") && strings.HasSuffix(addr, "]"): // [::1]
		host, port = addr[1:len(addr)-1], strconv.Itoa(agentPort)
	case err != nil && (!strings.Contains(addr, ":") || net.ParseIP(addr) != nil): // a name, or ::1
		host, port = addr, strconv.Itoa(agentPort)
	case err != nil:
		return "", errors.New("write HOST:PORT")
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || host == "" || strings.ContainsAny(host, " /\\") {
		return "", errors.New("write HOST:PORT, with a port from 0 to 65535")
	}
	return net.JoinHostPort(host, strconv.FormatUint(n, 10)), nil
}

// Hosts is which other hosts make a load together.
type Hosts struct {
	On        []string `flag:"on"`        // names, tags, or "all"; empty: this process makes it
	Watch     []string `flag:"watch"`     // names, tags, "all" or "none": hosts that are only watched; empty: the brokers' hosts
	Hosts     int      `flag:"hosts"`     // how many On has to mean; 0: any number
	Processes int      `flag:"processes"` // on each host
	Agents    `flag:",squash"`

	OwnProducers, OwnConsumers bool // the numbers of producers and consumers are the user's, and not kt's default
}

// hosts checks the flags about other hosts.
func (b *builder) hosts(h *Hosts, p *plan.Plan) {
	b.problems = append(b.problems, h.Check())
	h.OwnProducers, h.OwnConsumers = b.given("producers"), b.given("consumers")
	h.On = named(h.On)
	switch {
	case len(h.On) > 0:
		b.checkRemote(p)
	case b.given("on"):
		b.bad("on", nil, "name a host, a tag or all")
	default:
		for _, name := range []string{"hosts", "processes", "watch", "join", "peers", "key-file"} {
			if b.from[name] >= fromForeign { // the rest speaks to every command
				b.bad(name, nil, "it needs --on")
			}
		}
	}
}

// maxProcesses is how many processes a host is asked for: far more than it has cores.
const maxProcesses = 256

// checkRemote refuses flags that other hosts cannot follow, or must not.
func (b *builder) checkRemote(p *plan.Plan) {
	refuse := func(flag, why string) { b.bad(flag, nil, "it does not go with --on: %s", why) }
	if p.Embedded() {
		b.bad("on", nil, "other hosts need a real cluster: give --bootstrap-server")
	}
	if p.Payload.Kind == plan.File {
		refuse("payload-file", "no path is sent to another host")
	}
	if b.given("exec") || b.given("at") {
		refuse("exec", "no command is sent to another host; run it there at the time that kt prints")
	}
	if p.Verify && p.Command != plan.Roundtrip {
		refuse("verify", "a ledger is of one process; kt roundtrip --verify accounts for every record on all hosts")
	}
	if b.text("ledger") != "" {
		refuse("ledger", "no path is sent to another host")
	}
	if p.Command == plan.Roundtrip && p.Read.Group != "" {
		refuse("group", "each process reads the partitions that it writes, so that no clock is compared with another")
	}
	if p.Command == plan.Consume && p.Load.Records > 0 {
		refuse("num-records", "how many records each host's partitions hold is unknown; give --duration, or neither to read all")
	}
	if p.Read.ToEnd && p.Read.Group != "" && p.Read.Commit == plan.CommitNone {
		refuse("commit", "a process sees the progress of its group only in committed offsets; commit, or give --duration or --no-group")
	}
	if p.Load.Duration == 0 && p.Load.Records == 0 && !p.Read.ToEnd {
		b.bad("duration", 0, "it does not go with --on: 0 is no end, and a load on other hosts needs one; give a time or --num-records")
	}
}
