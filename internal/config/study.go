package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
)

// Study is the settings of kt study run.
type Study struct {
	form
	Set     []Assignment
	RunTime time.Duration // of each run, instead of the study's own end; 0: as it says
	Discard int           // runs that do not count; below 0: as the study says
	Repeats int           // 0: as the study says
	Rest    time.Duration // between two runs; below 0: as the study says
	Bytes   int64         // that each load writes; 0: as the study says
	DryRun  bool
	Yes     bool // do not ask before loads of a protected cluster

	assigned, servers, on  []string
	tags                   []string
	runTime, commandConfig string
	cluster                string
	bytes, rest            string
	processes              int
	agents                 Agents
}

// Assignment is a flag or a factor with its values.
type Assignment struct {
	Name    string
	Values  []string
	Foreign bool // a file that may be somebody else's says so
}

// NewStudyRun defines the flags of kt study run on a set.
func NewStudyRun(flags *pflag.FlagSet) *Study {
	s := new(Study)
	group(flags, groupTarget, func() {
		flags.StringSliceVar(&s.servers, "bootstrap-server", nil, bootstrapUsage+" (default: a broker inside kt)")
		defineCluster(flags, &s.cluster)
		flags.StringVar(&s.commandConfig, "command-config", "", "properties `FILE` of the clients")
	})
	group(flags, groupLoad, func() {
		flags.StringArrayVar(&s.assigned, "set", nil, "values of a factor, or a flag of the loads: `NAME=VALUE,VALUE`; may be repeated")
		flags.StringVar(&s.runTime, "run-time", "", "end every load after this `TIME`, instead of its own end")
		flags.StringVar(&s.bytes, "bytes", "", "write this `AMOUNT` of data in every load (5GiB), instead of its number of records")
		flags.IntVar(&s.Discard, "discard", -1, "make `N` runs first that do not count, to warm the brokers up (default: as the study says)")
		flags.Lookup("discard").DefValue = "0" // no default is shown: it is the study's
		flags.IntVar(&s.Repeats, "repeats", 0, "`N` runs of each cell (default: as the study says)")
		flags.StringVar(&s.rest, "rest", "", "wait this `TIME` between two runs (default: as the study says)")
		flags.BoolVar(&s.DryRun, "dry-run", false, "show the runs, and make none")
	})
	group(flags, groupHosts, func() {
		flags.StringSliceVar(&s.on, "on", nil, "make the loads on these `HOSTS`, where kt agent runs: names, tags, clients, brokers, or all")
		flags.IntVar(&s.processes, "processes", 1, "`N` processes on each host of --on")
		s.agents.define(flags)
	})
	s.defineForm(flags, "study", DocumentOutputs, func() {
		defineQuiet(flags, &s.Quiet)
		defineTags(flags, &s.tags, tagsUsage)
	})
	group(flags, groupConfig, func() { defineYes(flags, &s.Yes) })
	return s
}

// NewStudyResume defines the flags of kt study resume.
func NewStudyResume(flags *pflag.FlagSet) *Study {
	s := NewStudyReport(flags)
	group(flags, groupConfig, func() { defineYes(flags, &s.Yes) })
	return s
}

// NewStudyReport defines the flags of the commands that write a study that was made.
func NewStudyReport(flags *pflag.FlagSet) *Study {
	s := new(Study)
	s.defineForm(flags, "study", DocumentOutputs, func() { defineQuiet(flags, &s.Quiet) })
	return s
}

// Load applies environment and configuration file.
func (s *Study) Load(sys System, nearest Nearest) error {
	err := s.layers(sys, nearest)
	var errs []error
	for _, one := range s.assigned {
		name, values, ok := strings.Cut(one, "=")
		if !ok || name == "" || values == "" {
			errs = append(errs, fmt.Errorf("--set %q: write NAME=VALUE or NAME=VALUE,VALUE", one))
			continue
		}
		s.Set = append(s.Set, Assignment{Name: strings.TrimPrefix(name, "--"), Values: strings.Split(values, ",")})
	}
	if s.runTime != "" {
		errs = append(errs, timeOf(&s.RunTime, "run-time", s.runTime, 1, "above 0 (30s, 2m)"))
	}
	if s.Rest = -1; s.rest != "" {
		errs = append(errs, timeOf(&s.Rest, "rest", s.rest, 0, "(5s, 1m), or 0"))
	}
	if s.bytes != "" {
		var err error
		if s.Bytes, err = plan.ParseVolume(s.bytes); err != nil {
			errs = append(errs, fmt.Errorf("--bytes %w", err))
		}
		if s.RunTime > 0 {
			errs = append(errs, errors.New("--bytes and --run-time: each says when a load ends; give one of them"))
		}
	}
	if f := s.set.Lookup("repeats"); f != nil && f.Changed && s.Repeats < 1 {
		errs = append(errs, fmt.Errorf("--repeats %d: it must be 1 or more", s.Repeats))
	}
	return errors.Join(err, errors.Join(errs...), s.checkForm(nearest))
}

// Shared returns the flags that every load of the study gets: the cluster it goes to, and the hosts that make it. A cluster is
// shared by its name, so that each load takes its settings and its protection from the file.
func (s *Study) Shared() (shared []Assignment) {
	add := func(name string, values ...string) {
		if f := s.set.Lookup(name); f != nil && f.Changed {
			shared = append(shared, Assignment{name, values, s.from[name].isForeign()})
		}
	}
	add("config", s.config)
	add("cluster", s.cluster)
	if s.cluster == "" {
		add("bootstrap-server", strings.Join(s.servers, ","))
	}
	if s.sources["command-config"] != "cluster "+s.cluster {
		add("command-config", s.commandConfig)
	}
	add("tag", strings.Join(s.tags, ","))
	add("on", strings.Join(s.on, ","))
	add("processes", strconv.Itoa(s.processes))
	add("join", strings.Join(s.agents.Join, ","))
	add("peers", strings.Join(s.agents.Peers, ","))
	add("key-file", s.agents.KeyFile)
	return shared
}

// IsTyped reports whether a flag is given on the command line.
func (s *Study) IsTyped(flag string) bool { return s.from[flag] == fromFlag }

// IsLimit reports whether a flag of a load judges the run by itself.
func IsLimit(flag string) bool { return flag == "limit" || flag == "abort-on" }

// CheckFlag returns an error if a command for loads has no such flag, or if only the command line may give it.
func CheckFlag(command plan.Command, name string, nearest Nearest) error {
	set := pflag.NewFlagSet(string(command), pflag.ContinueOnError)
	newFlags(set, command)
	f := set.Lookup(name)
	switch {
	case f == nil:
		return noFlag(set, command, name, nearest)
	case isOnlyTyped(f):
		return fmt.Errorf("%s: only the command line can say it: a file must not answer for the person who starts the study", name)
	case name == "config":
		return errors.New("config: it names whose clusters and credentials count: give it with kt study run --config")
	}
	return nil
}

func noFlag(set *pflag.FlagSet, command plan.Command, name string, nearest Nearest) error {
	return fmt.Errorf("%s: kt %s has no such flag%s", name, command, nearest.hint(name, flagNames(set), ""))
}

// LoadOf makes a run of flags that do not come from a command line, as if they did.
func LoadOf(command plan.Command, flags []Assignment, sys System, kafka Kafka) (Run, error) {
	set := pflag.NewFlagSet(string(command), pflag.ContinueOnError)
	f := newFlags(set, command)
	var errs []error
	sys.Foreign = func(flag string) bool {
		return slices.ContainsFunc(flags, func(a Assignment) bool { return a.Foreign && a.Name == flag })
	}
	for _, one := range flags {
		fl := set.Lookup(one.Name)
		if fl == nil {
			errs = append(errs, noFlag(set, command, one.Name, kafka.Nearest))
			continue
		}
		for _, value := range one.Values {
			if err := set.Set(one.Name, value); err != nil {
				errs = append(errs, fmt.Errorf("%s %q: %w", one.Name, value, Unfit(fl, err)))
			}
		}
	}
	if len(errs) > 0 {
		return Run{}, errors.Join(errs...)
	}
	return f.Load(sys, kafka)
}
