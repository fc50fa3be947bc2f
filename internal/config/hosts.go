package config

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

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
	Join    []string // HOST:PORT of agents that know the others; used when Peers is empty
	Peers   []string // HOST:PORT of exactly the agents that are meant, without gossip
	KeyFile string   // "": no key, and only agents on this host
}

// define adds the flags.
func (a *Agents) define(set *pflag.FlagSet) {
	set.StringSliceVar(&a.Join, "join", nil, "ask these `AGENTS` for all others: HOST:PORT,HOST (default "+defaultJoin+")")
	set.StringSliceVar(&a.Peers, "peers", nil, "use exactly these `AGENTS` (HOST:PORT,HOST), over TCP alone")
	set.StringVar(&a.KeyFile, "key-file", "", "`FILE` with the key from kt keygen; needed for other hosts")
}

// Check completes addresses, and refuses invalid ones.
func (a *Agents) Check() error {
	if len(a.Join) > 0 && len(a.Peers) > 0 {
		return errors.New("--join and --peers exclude each other: give one")
	}
	var errs []error
	for i := range a.Join {
		errs = append(errs, complete("join", &a.Join[i]))
	}
	for i := range a.Peers {
		errs = append(errs, complete("peers", &a.Peers[i]))
	}
	if len(a.Join) == 0 && len(a.Peers) == 0 {
		a.Join = []string{defaultJoin}
	}
	return errors.Join(errs...)
}

// complete completes the address of a flag as withPort does.
func complete(flag string, addr *string) error {
	full, err := withPort(*addr)
	if err != nil {
		return fmt.Errorf("--%s %q: %w", flag, *addr, err)
	}
	*addr = full
	return nil
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
	On        []string // names, tags, or "all"; empty: this process makes it
	Watch     []string // names, tags, "all" or "none": hosts that are only watched; empty: the brokers' hosts
	Hosts     int      // how many On has to mean; 0: any number
	Processes int      // on each host
	Agents

	OwnProducers, OwnConsumers bool // the numbers of producers and consumers are the user's, and not kt's default
}

func (f *Flags) defineHosts() {
	set := f.set
	set.StringVar(&f.run.Name, "run", "", "`NAME` of the run; kt collect --run NAME merges its parts")
	set.StringSliceVar(&f.run.Hosts.On, "on", nil, "make the load on these `HOSTS`, where kt agent runs: names, tags, clients, brokers, or all (except brokers' hosts); they share the load")
	set.IntVar(&f.run.Hosts.Hosts, "hosts", 0, "refuse to begin unless --on means exactly `N` hosts (default any number)")
	set.IntVar(&f.run.Hosts.Processes, "processes", 1, "`N` processes on each host of --on")
	set.StringSliceVar(&f.run.Hosts.Watch, "watch", nil, "only watch these `HOSTS`: names, tags, all or none (default with --on: those with the role broker)")
	f.run.Hosts.define(set)
}

// hostsOf checks the flags about other hosts.
func (b *builder) hostsOf(p *plan.Plan) Hosts {
	h := b.f.run.Hosts
	if err := h.Check(); err != nil {
		b.errs = append(b.errs, err)
	}
	if err := plan.CheckName(b.f.run.Name); b.f.run.Name != "" && err != nil {
		b.bad("--run %q: %w", b.f.run.Name, err)
	}
	h.OwnProducers, h.OwnConsumers = b.given("producers"), b.given("consumers")
	h.On = named(h.On)
	if len(h.On) == 0 {
		if b.given("on") {
			b.bad("--on: name a host, a tag or all")
			return h
		}
		for _, name := range []string{"hosts", "processes", "watch", "join", "peers", "key-file"} {
			if b.from[name] >= fromForeign { // the rest speaks to every command
				b.bad("--%s: it needs --on", name)
			}
		}
		return h
	}
	if b.given("hosts") && h.Hosts < 1 {
		b.bad("--hosts %d: it must be 1 or more", h.Hosts)
	}
	if n := h.Processes; n < 1 || n > maxProcesses {
		b.bad("--processes %d: it must be from 1 to %d", n, maxProcesses)
	}
	b.checkRemote(p)
	return h
}

// named returns the words of a list without the empty ones. A shell leaves an empty word where
// a variable is not set.
func named(words []string) (out []string) {
	for _, word := range words {
		if word = strings.TrimSpace(word); word != "" {
			out = append(out, word)
		}
	}
	return out
}

// maxProcesses is how many processes a host is asked for: far more than it has cores.
const maxProcesses = 256

// checkRemote refuses flags that other hosts cannot follow, or must not.
func (b *builder) checkRemote(p *plan.Plan) {
	refuse := func(flag, why string) { b.bad("--%s: it does not go with --on: %s", flag, why) }
	if p.Embedded() {
		b.bad("--on: other hosts need a real cluster: give --bootstrap-server")
	}
	if p.Payload.Kind == plan.File {
		refuse("payload-file", "no path is sent to another host")
	}
	if len(b.f.exec) > 0 || len(b.f.at) > 0 {
		refuse("exec", "no command is sent to another host; run it there at the time that kt prints")
	}
	if p.Verify && p.Command != plan.Roundtrip {
		refuse("verify", "a ledger is of one process; kt roundtrip --verify accounts for every record on all hosts")
	}
	if b.f.run.Ledger != "" {
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
		b.bad("--duration 0: it does not go with --on: 0 is no end, and a load on other hosts needs one; give a time or --num-records")
	}
}

// parseLimit reads a time limit; "" and 0 set none.
func parseLimit(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	d, err := plan.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, errors.New("write a time (30m, 2h), or 0 for no limit")
	}
	return d, nil
}
