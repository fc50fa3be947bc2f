package config

import (
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
)

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

// NewCollect defines the flags of kt collect on a set.
func NewCollect(set *pflag.FlagSet) *Collect { return &Collect{form: newForm(set, "collect")} }

// Load applies environment and configuration file.
func (c *Collect) Load(sys System) error { return c.load(sys, c, c.check) }

func (c *Collect) check(p *problems) {
	// Agents that a file or the environment names are asked only when no files are given.
	typedAgents := typedOn(c.flags.Lookup("join")) || typedOn(c.flags.Lookup("peers"))
	c.Fetch = typedAgents || len(c.Files) == 0 && (len(c.Join) > 0 || len(c.Peers) > 0 || c.Run != "")
	*p = append(*p, c.Check())
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
		*p = append(*p, needs("kt collect needs run files (kt collect a.ktr b.ktr dir/) or agents to ask (kt collect --join HOST --run NAME)"))
	case c.Fetch && c.Name == "":
		*p = append(*p, needs("kt collect needs the name of a run to ask agents for: add --run NAME"))
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

// NewPeers defines the flags of kt peers on a set.
func NewPeers(set *pflag.FlagSet) *Peers { return &Peers{form: newForm(set, "peers")} }

// Load applies environment and configuration file.
func (p *Peers) Load(sys System) error {
	return p.load(sys, p, func(found *problems) { *found = append(*found, p.Check()) })
}
