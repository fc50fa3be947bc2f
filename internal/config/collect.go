package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
)

// Collect is the settings of kt collect.
type Collect struct {
	Agents
	Run        string // name or epoch, with the start where several had one name (nightly@2026-11-21T22:00:00Z); "": all files are of one run
	Name       string // of Run, without a start
	ResultFile string // as Run.ResultFile
	Fetch      bool   // agents were named: they are asked
	Verbose    bool
	form
}

// NewCollect defines the flags of kt collect on a set.
func NewCollect(set *pflag.FlagSet) *Collect {
	c := new(Collect)
	group(set, groupHosts, func() {
		set.StringVar(&c.Run, "run", "", "`NAME` of the run to merge; if several had one name, its epoch or NAME@START")
		c.define(set)
	})
	c.defineForm(set, "collect", CollectOutputs, func() {
		set.StringVar(&c.ResultFile, "result", "", "write the collection to this `FILE`; none: no file (default: a new file in the state folder)")
		set.BoolVarP(&c.Quiet, "quiet", "q", false, "only the result")
		defineVerbose(set, &c.Verbose)
	})
	return c
}

// Load applies environment and configuration file; files are the arguments.
func (c *Collect) Load(sys System, nearest Nearest, files []string) error {
	if err := c.layers(sys, nearest); err != nil {
		return err
	}
	// Agents that a file or the environment names are asked only when no files are given.
	typedAgents := typedOn(c.set.Lookup("join")) || typedOn(c.set.Lookup("peers"))
	c.Fetch = typedAgents || len(files) == 0 && (len(c.Join) > 0 || len(c.Peers) > 0 || c.Run != "")
	errs := []error{c.checkForm(nearest), c.Check()}
	name, start, exact := strings.Cut(c.Run, "@")
	c.Name = name
	if err := plan.CheckName(name); c.Run != "" && err != nil {
		errs = append(errs, fmt.Errorf("--run %q: %w", c.Run, err))
	}
	if _, err := time.Parse(time.RFC3339, start); exact && err != nil {
		errs = append(errs, fmt.Errorf("--run %q: write a start after @, as in nightly@2026-11-21T22:00:00Z", c.Run))
	}
	switch {
	case !c.Fetch && len(files) == 0:
		errs = append(errs, errors.New("kt collect needs run files (kt collect a.ktr b.ktr dir/) or agents to ask (kt collect --join HOST --run NAME)"))
	case c.Fetch && c.Name == "":
		errs = append(errs, errors.New("kt collect needs the name of a run to ask agents for: add --run NAME"))
	}
	return errors.Join(errs...)
}

// Peers is the settings of kt peers.
type Peers struct {
	Agents
	form
}

// NewPeers defines the flags of kt peers on a set.
func NewPeers(set *pflag.FlagSet) *Peers {
	p := new(Peers)
	group(set, groupHosts, func() { p.define(set) })
	p.defineForm(set, "peers", DocumentOutputs, nil)
	return p
}

// Load applies environment and configuration file.
func (p *Peers) Load(sys System, nearest Nearest) error {
	return errors.Join(p.form.Load(sys, nearest), p.Check())
}

// WatchOutputs are the forms of output of kt watch.
var WatchOutputs = []string{"text", "json", "jsonl", "markdown", "html"}

// Watch is the settings of kt watch.
type Watch struct{ form }

// NewWatch defines the flags of kt watch on a set.
func NewWatch(set *pflag.FlagSet) *Watch {
	w := new(Watch)
	w.defineForm(set, "watch", WatchOutputs, nil)
	return w
}
