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
	Name, Role      string // "": the host's name; "broker" where one runs, else "client"
	Tags            []string
	Bind, Advertise string // HOST:PORT
	Join            []string
	KeyFile         string
	Dir             string // "": the state folder
	Keep            int

	MaxRate       plan.Rate // Unlimited: none
	MaxProducers  int       // 0: none
	MaxDuration   time.Duration
	AllowTopic    *regexp.Regexp // as it was typed; it has to match the whole name of a topic; nil: any
	Parallel      int
	AllowTune     bool
	CommandConfig string // a file of Java properties, of which those of security count; "": none
	AllowBroker   []string
	Quiet         bool

	maxRate, maxDuration, allowTopic string
	config                           string
	set                              *pflag.FlagSet
}

// maxTags and longestTag keep the facts of an agent within one datagram.
const (
	maxTags    = 16
	longestTag = 32
)

// NewAgent defines the flags of kt agent on a set.
func NewAgent(set *pflag.FlagSet) *Agent {
	a := &Agent{set: set}
	set.SortFlags = false
	group(set, groupHosts, func() {
		set.StringVar(&a.Name, "name", "", "`NAME` of this host among the agents (default: the hostname)")
		set.StringVar(&a.Role, "role", "", "`ROLE` of this host: client (makes loads) or broker (is only watched) (default: broker where one runs, else client)")
		set.StringSliceVar(&a.Tags, "tags", nil, "`TAGS` by which --on finds this host: TAG,TAG")
		set.StringVar(&a.Bind, "bind", "", "listen on this `ADDRESS`, TCP and UDP (default 0.0.0.0:7946 with a key, 127.0.0.1:7946 without)")
		set.StringVar(&a.Advertise, "advertise", "", "`ADDRESS` at which others reach this host (default: the one of --bind, or a private one of this host)")
		set.StringSliceVar(&a.Join, "join", nil, "other `AGENTS`: HOST:PORT,HOST; one is enough, and it may start later")
		set.StringVar(&a.KeyFile, "key-file", "", "`FILE` with the key from kt keygen, mode 0600; needed beyond loopback")
	})
	group(set, groupLimits, func() {
		set.StringVar(&a.maxRate, "max-rate", "", "refuse loads above this `RATE`, all loads on this host together: records/s (50000) or bytes/s (100MiB/s)")
		set.IntVar(&a.MaxProducers, "max-producers", 0, "refuse more than `N` producers and consumers, all loads on this host together")
		set.StringVar(&a.maxDuration, "max-duration", "24h", "refuse loads longer than this `TIME`; 0: no limit")
		set.StringVar(&a.allowTopic, "allow-topic", "", "refuse topics whose whole name does not match this `REGEX`")
		set.BoolVar(&a.AllowTune, "allow-tune", false, "let studies change settings of this host that kt tune knows (sysctl., tune.), by its journal; needs root")
		set.IntVar(&a.Parallel, "parallel", 1, "make `N` loads at a time; watching does not count")
	})
	group(set, groupClient, func() {
		set.StringVar(&a.CommandConfig, "command-config", "", "`FILE` of Java properties (client.properties) with the security settings of this host's connections; loads of other hosts bring none")
		set.StringSliceVar(&a.AllowBroker, "allow-broker", nil, "log in at these `ADDRESSES` too (kafka-1:9093, *.prod.example:9093, 10.0.0.*), beside bootstrap.servers of --command-config; refuse loads to others")
	})
	group(set, groupOutput, func() {
		set.StringVar(&a.Dir, "results", "", "keep run files in this `DIR` (default: a folder in the state folder)")
		set.IntVar(&a.Keep, "keep", 100, "keep the files of the last `N` runs that other hosts asked for")
		set.BoolVarP(&a.Quiet, "quiet", "q", false, "report only problems")
	})
	group(set, groupConfig, func() { defineConfigFile(set, &a.config) })
	return a
}

// Load applies environment and configuration file, and makes the checks that need no machine.
func (a *Agent) Load(sys System, nearest Nearest) error {
	if _, err := loadLayers(a.set, "agent", a.config, "", sys, nearest); err != nil {
		return err
	}
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	var err error
	if a.maxRate != "" {
		if a.MaxRate, err = plan.ParseRate(a.maxRate); err != nil {
			bad("--max-rate: %w", err)
		}
	}
	if a.MaxDuration, err = parseLimit(a.maxDuration); err != nil {
		bad("--max-duration %q: %w", a.maxDuration, err)
	}
	if a.allowTopic != "" {
		if a.AllowTopic, err = regexp.Compile(a.allowTopic); err != nil {
			bad("--allow-topic %q: %w", a.allowTopic, err)
		}
	}
	if a.MaxProducers < 0 {
		bad("--max-producers %d: it must be 1 or more, or 0 for no limit", a.MaxProducers)
	}
	if a.Parallel < 1 || a.Parallel > maxProcesses {
		bad("--parallel %d: it must be from 1 to %d", a.Parallel, maxProcesses)
	}
	for _, addr := range a.AllowBroker {
		if host, port := secret.SplitAddress(addr); host == "" || strings.ContainsAny(host+port, "/@ ") {
			bad("--allow-broker %q: write HOST:PORT, or HOST for every port; * stands for a part of the host", addr)
		}
	}
	if a.Keep < 1 {
		bad("--keep %d: it must be 1 or more", a.Keep)
	}
	if a.Role != "" {
		errs = append(errs, oneOf("role", a.Role, AgentRoles, nearest))
	}
	errs = append(errs, a.checkNames(), a.checkAddresses())
	return errors.Join(errs...)
}

func (a *Agent) checkNames() error {
	var errs []error
	if err := CheckAgentName(a.Name); a.Name != "" && err != nil {
		errs = append(errs, fmt.Errorf("--name %q: %w", a.Name, err))
	}
	if len(a.Tags) > maxTags {
		errs = append(errs, fmt.Errorf("--tags: %d given, at most %d allowed", len(a.Tags), maxTags))
	}
	for _, tag := range a.Tags {
		if len(tag) > longestTag || CheckAgentName(tag) != nil {
			errs = append(errs, fmt.Errorf("--tags %q: a tag has 1 to %d letters, digits, '.', '_' or '-', begins with a letter or a digit, and is none of %s", tag, longestTag, strings.Join(groupWords, ", ")))
		}
	}
	return errors.Join(errs...)
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

func (a *Agent) checkAddresses() error {
	var errs []error
	if a.Bind == "" {
		a.Bind = "127.0.0.1"
		if a.KeyFile != "" {
			a.Bind = "0.0.0.0"
		}
	}
	errs = append(errs, complete("bind", &a.Bind))
	if a.Advertise != "" {
		errs = append(errs, complete("advertise", &a.Advertise))
	}
	for i := range a.Join {
		err := complete("join", &a.Join[i])
		if err == nil && a.KeyFile == "" && !Loopback(a.Join[i]) {
			err = fmt.Errorf("--join %s: without a key an agent reaches only this host; add --key-file FILE", a.Join[i])
		}
		errs = append(errs, err)
	}
	err := errors.Join(errs...)
	if err == nil && a.KeyFile == "" && !Loopback(a.Bind) {
		return fmt.Errorf("--bind %s: beyond loopback an agent needs a key: kt keygen FILE makes one, --key-file FILE uses it", a.Bind)
	}
	return err
}

// Loopback reports whether an address is one that only its own host reaches.
func Loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}
