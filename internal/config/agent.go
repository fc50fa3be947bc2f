package config

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/secret"
)

// AgentRoles are the values of --role.
var AgentRoles = []string{"client", "broker"}

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

// NewAgent defines the flags of kt agent on a set.
func NewAgent(set *pflag.FlagSet) *Agent { return &Agent{base: newBase(set, "agent", "agent")} }

// Load applies environment and configuration file, and makes the checks that need no machine.
func (a *Agent) Load(sys System) error { return a.load(sys, a, a.check) }

func (a *Agent) check(p *problems) {
	a.AllowTopic = is[*regexp.Regexp](a.layers, "allow-topic")
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
