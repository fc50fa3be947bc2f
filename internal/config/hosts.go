package config

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/secret"
)

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

func (a *Agents) check(p *problems) { p.add(a.Check()) }

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
	b.add(h.Check())
	h.OwnProducers, h.OwnConsumers = b.given("producers"), b.given("consumers")
	h.On = named(h.On)
	switch {
	case len(h.On) > 0:
		b.checkRemote(p)
	case b.given("on"):
		b.bad("on", nil, "name a host, a tag or all")
	default:
		for _, name := range []string{"hosts", "processes", "watch", "join", "peers", "key-file"} {
			if b.isTyped(name) { // the rest speaks to every command
				b.bad(name, nil, "it needs --on")
			}
		}
	}
}

const noExecs = "no command is sent to another host; run it there at the time that kt prints"

// checkRemote refuses flags that other hosts cannot follow, or must not.
func (b *builder) checkRemote(p *plan.Plan) {
	if p.Embedded() {
		b.bad("on", nil, "other hosts need a real cluster: give --bootstrap-server")
	}
	roundtrip, toEnd := p.Command == plan.Roundtrip, p.Read.ToEnd
	for _, r := range []struct {
		flag    string
		isGiven bool
		why     string
	}{
		{"payload-file", p.Payload.Kind == plan.File, "no path is sent to another host"},
		{"payload-template", p.Payload.Kind == plan.Template, "no path is sent to another host"},
		{"exec", b.given("exec") || b.given("at"), noExecs},
		{"verify", p.Verify && !roundtrip, "a ledger is of one process; kt roundtrip --verify accounts for every record on all hosts"},
		{"ledger", b.text("ledger") != "", "no path is sent to another host"},
		{"ledger-sync", is[bool](b.layers, "ledger-sync"), "processes of other hosts leave no ledger"},
		{"group-protocol", roundtrip && p.Read.Share != nil, "each process reads what it writes, and a share group gives out records of all"},
		{"group", roundtrip && p.Read.Group != "" && p.Read.Share == nil, "each process reads the partitions that it writes, so that no clock is compared with another"},
		{"num-records", p.Command == plan.Consume && p.Load.Records > 0, "how many records each host's partitions hold is unknown; give --duration, or neither to read all"},
		{"commit", toEnd && p.Read.Group != "" && p.Read.Share == nil && p.Read.Commit == plan.CommitNone, "a process sees the progress of its group only in committed offsets; commit, or give --duration or --no-group"},
	} {
		if r.isGiven {
			b.bad(r.flag, nil, "it does not go with --on: %s", r.why)
		}
	}
	if p.Load.Duration == 0 && p.Load.Records == 0 && !toEnd {
		b.bad("duration", 0, "it does not go with --on: 0 is no end, and a load on other hosts needs one; give a time or --num-records")
	}
}

// Agent is the settings of kt agent.
type Agent struct {
	base
	Name      string   `flag:"name"` // "": the host's name
	Role      string   `flag:"role"` // "": broker where one runs, else client
	Tags      []string `flag:"tags"`
	Bind      string   `flag:"bind"` // HOST:PORT
	Advertise string   `flag:"advertise"`
	Join      []string `flag:"join"`
	KeyFile   string   `flag:"key-file"`
	Dir       string   `flag:"results"` // "": the state folder
	Keep      int      `flag:"keep"`

	MaxRate       plan.Rate      `flag:"max-rate"`      // Unlimited: none
	MaxProducers  int            `flag:"max-producers"` // 0: none
	MaxDuration   time.Duration  `flag:"max-duration"`
	AllowTopic    *regexp.Regexp // as it was typed; it has to match the whole name of a topic; nil: any
	Parallel      int            `flag:"parallel"`
	AllowTune     bool           `flag:"allow-tune"`
	CommandConfig string         `flag:"command-config"` // a file of Java properties, of which those of security count; "": none
	AllowBroker   []string       `flag:"allow-broker"`
	Quiet         bool           `flag:"quiet"`
}

// maxTags and longestTag keep the facts of an agent within one datagram.
const (
	maxTags    = 16
	longestTag = 32
)

func (a *Agent) check(p *problems) {
	a.AllowTopic = is[*regexp.Regexp](&a.layers, "allow-topic")
	if err := CheckAgentName(a.Name); a.Name != "" && err != nil {
		p.bad("name", a.Name, "%w", err)
	}
	if len(a.Tags) > maxTags {
		p.bad("tags", nil, "%d given, at most %d allowed", len(a.Tags), maxTags)
	}
	for _, tag := range a.Tags {
		if len(tag) > longestTag || CheckAgentName(tag) != nil {
			p.bad("tags", tag, "a tag has 1 to %d letters, digits, '.', '_' or '-', begins with a letter or a digit, and is none of %s", longestTag, strings.Join(groupWords, ", "))
		}
	}
	if a.Bind == "" {
		a.Bind, _ = withPort("127.0.0.1") // an address
		if a.KeyFile != "" {
			a.Bind, _ = withPort("0.0.0.0")
		}
	}
	for _, peer := range a.Join {
		if a.KeyFile == "" && !Loopback(peer) {
			p.bad("join", peer, "without a key an agent reaches only this host; add --key-file FILE")
		}
	}
	if a.KeyFile == "" && !Loopback(a.Bind) {
		p.bad("bind", a.Bind, "beyond loopback an agent needs a key: kt keygen FILE makes one, --key-file FILE uses it")
	}
}

// groupWords are the words of --on and --watch that stand for several hosts.
var groupWords = []string{"all", "clients", "brokers", "none"}

// CheckAgentName returns an error if an agent cannot have that name. A word that stands for several hosts is
// no name, so that a broker's host makes a load only if it is named.
func CheckAgentName(name string) error {
	if slices.Contains(groupWords, name) {
		return fmt.Errorf("%s stands for several hosts in --on and --watch: give the agent another --name", name)
	}
	return plan.CheckName(name)
}

// readBrokerPattern reads an address of --allow-broker.
func readBrokerPattern(addr string) (string, error) {
	if host, port := secret.SplitAddress(addr); host == "" || strings.ContainsAny(host+port, "/@ ") {
		return "", errors.New("write HOST:PORT, or HOST for every port; * stands for a part of the host")
	}
	return addr, nil
}

// Loopback reports whether an address is one that only its own host reaches.
func Loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// Collect is the settings of kt collect.
type Collect struct {
	form       `flag:",squash"`
	Agents     `flag:",squash"`
	Run        string   `flag:"run"` // name or epoch, with the start where several had one name (nightly@2026-11-21T22:00:00Z); "": all files are of one run
	Name       string   // of Run, without a start
	ResultFile string   `flag:"result"` // as Run.ResultFile
	Files      []string // that are named
	Fetch      bool     // agents were named: they are asked
	Verbose    bool     `flag:"verbose"`
}

func (c *Collect) check(p *problems) {
	// Agents that a file or the environment names are asked only when no files are given.
	typedAgents := c.isTyped("join") || c.isTyped("peers")
	c.Fetch = typedAgents || len(c.Files) == 0 && (len(c.Join) > 0 || len(c.Peers) > 0 || c.Run != "")
	c.Agents.check(p)
	name, start, exact := strings.Cut(c.Run, "@")
	c.Name = name
	if err := plan.CheckName(name); c.Run != "" && err != nil {
		p.bad("run", c.Run, "%w", err)
	}
	if _, err := time.Parse(time.RFC3339, start); exact && err != nil {
		p.bad("run", c.Run, "write a start after @, as in nightly@2026-11-21T22:00:00Z")
	}
	switch {
	case !c.Fetch && len(c.Files) == 0:
		p.add(needs("kt collect needs run files (kt collect a.ktr b.ktr dir/) or agents to ask (kt collect --join HOST --run NAME)"))
	case c.Fetch && c.Name == "":
		p.add(needs("kt collect needs the name of a run to ask agents for: add --run NAME"))
	}
}

// needs is the error of a command line that lacks something.
type needs string

func (n needs) Error() string { return string(n) }

// Peers is the settings of kt peers.
type Peers struct {
	form   `flag:",squash"`
	Agents `flag:",squash"`
}
