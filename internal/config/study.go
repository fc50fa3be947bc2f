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
	"github.com/kt-bench/kt/internal/suggest"
)

// Study is the settings of kt study run.
type Study struct {
	form    `flag:",squash"`
	Set     []Assignment  `flag:"set"`
	RunTime time.Duration `flag:"run-time"` // of each run, instead of the study's own end; 0: as it says
	Discard int           `flag:"discard"`  // runs that do not count; below 0: as the study says
	Repeats int           `flag:"repeats"`  // 0: as the study says
	Rest    time.Duration `flag:"rest"`     // between two runs; below 0: as the study says
	Bytes   int64         `flag:"bytes"`    // that each load writes; 0: as the study says
	DryRun  bool          `flag:"dry-run"`
	Yes     bool          `flag:"yes"` // do not ask before loads of a protected cluster
}

// Assignment is a flag or a factor with its values.
type Assignment struct {
	Name    string
	Values  []string
	Foreign bool // a file that may be somebody else's says so
}

// Workload is the settings of kt run.
type Workload struct {
	form       `flag:",squash"`
	Init       bool          `flag:"init"`
	Drivers    []string      `flag:"drivers"` // the files of drivers of OpenMessaging Benchmark, whose workloads are made; none: it is kt's own
	Set        []Assignment  `flag:"set"`
	Scale      float64       `flag:"scale"`    // of every rate
	Speed      float64       `flag:"speed"`    // how many times shorter stages and durations are
	RunTime    time.Duration `flag:"run-time"` // of each load, instead of its own end; 0: as it says
	Limits     []string      `flag:"limit"`    // with the name of a load, or of all loads that have the metric
	Execs      []plan.Exec   // are run once beside all loads
	DryRun     bool          `flag:"dry-run"`
	Yes        bool          `flag:"yes"`
	ResultFile string        `flag:"result"` // as Run.ResultFile
	Interval   time.Duration `flag:"reporting-interval"`
	Verbose    bool          `flag:"verbose"`
}

func (w *Workload) check(p *problems) {
	if w.Execs = execs(&w.layers, p, 0); len(w.Execs) > 0 && w.given("on") {
		p.bad("exec", nil, "it does not go with --on: %s", noExecs)
	}
}

// readFactor reads a number above 0.
func readFactor(text string) (float64, error) {
	n, err := plan.ParseNumber(text)
	if err == nil && !(n > 0 && n <= 1e6) {
		err = errors.New("it must be above 0, and 1,000,000 at most")
	}
	return n, err
}

func (s *Study) check(p *problems) {
	if s.Bytes > 0 && s.RunTime > 0 {
		p.bad("", nil, "--bytes and --run-time: each says when a load ends; give one of them")
	}
	if !s.given("discard") {
		s.Discard = -1
	}
	if !s.given("rest") {
		s.Rest = -1
	}
}

// readAssignment reads NAME=VALUE,VALUE.
func readAssignment(text string) (Assignment, error) {
	name, values, ok := strings.Cut(text, "=")
	if !ok || name == "" || values == "" {
		return Assignment{}, errors.New("write NAME=VALUE or NAME=VALUE,VALUE")
	}
	return Assignment{Name: strings.TrimPrefix(name, "--"), Values: strings.Split(values, ",")}, nil
}

// The flags of kt run that a workload itself has, and those that all loads of a study or a workload share.
const (
	ofWorkloads = "scale speed run-time limit at exec yes"
	shared      = "accept config cluster bootstrap-server command-config tag on processes watch join peers key-file"
)

// Shared returns the flags that every load of a study or a workload gets: the cluster it goes to, and the hosts that make it. A
// cluster is shared by its name, so that each load takes its settings and its protection from the file.
func (l *layers) Shared() []Assignment { return l.assigned(shared) }

// Assigned returns what the command line makes of a workload, as WorkloadOf takes it.
func (w *Workload) Assigned() []Assignment {
	all := w.assigned(ofWorkloads + " " + shared)
	for _, s := range w.Set {
		all = append(all, Assignment{Name: s.Name, Values: []string{strings.Join(s.Values, ",")}})
	}
	return all
}

// assigned returns the values of some flags that are given.
func (l *layers) assigned(names string) (all []Assignment) {
	cluster := l.text("cluster")
	for _, name := range strings.Fields(names) {
		v := l.value(name)
		switch {
		case v.from == fromDefault:
		case name == "bootstrap-server" && cluster != "":
		case name == "command-config" && v.source == "cluster "+cluster:
		default:
			values := []string{v.String()}
			if list, ok := v.is.([]string); ok && slices.Contains([]string{"limit", "at", "exec"}, name) { // which may have commas
				values = list
			} else if ok { // an address has its port
				values = []string{strings.Join(list, ",")}
			}
			all = append(all, Assignment{name, values, v.from.isForeign()})
		}
	}
	return all
}

// IsTyped reports whether a flag is given on the command line.
func (l *layers) IsTyped(flag string) bool { return l.from(flag) == fromFlag }

// IsLimit reports whether a flag of a load judges the run by itself.
func IsLimit(flag string) bool { return flag == "limit" || flag == "abort-on" }

// CheckFlag returns an error if a command for loads has no such flag, or if only the command line may give it.
func CheckFlag(command plan.Command, name string) error {
	f := flagSet(string(command)).Lookup(name)
	switch {
	case command == plan.Workload: // its loads are known with its file
		return nil
	case f == nil:
		return noFlag(command, name)
	case valueOf(f).Typed:
		return plan.Refuse("", nil, "%s: only the command line can say it: a file must not answer for the person who starts the study", name)
	case name == "config":
		return errors.New("config: it names whose clusters and credentials count: give it with kt study run --config")
	}
	return nil
}

func noFlag(command plan.Command, name string) error {
	return plan.Refuse("", nil, "%s: kt %s has no such flag%s", name, command, suggest.Hint(name, flagNames(string(command)), ""))
}

// LoadOf makes a run of flags that do not come from a command line, as if they did.
func LoadOf(command plan.Command, flags []Assignment, sys System) (*Run, error) {
	set := pflag.NewFlagSet(string(command), pflag.ContinueOnError)
	r := commands[string(command)](set).(*Run)
	var errs []error
	for _, one := range flags {
		if !assign(set, one) {
			errs = append(errs, noFlag(command, one.Name))
		}
	}
	if len(errs) > 0 {
		return r, errors.Join(errs...)
	}
	return r, r.Load(sys)
}

// assign gives a flag its values, and reports whether there is such a flag.
func assign(set *pflag.FlagSet, one Assignment) bool {
	f := set.Lookup(one.Name)
	if f == nil {
		return false
	}
	before := valueOf(f).from
	for _, value := range one.Values {
		_ = set.Set(one.Name, value) // it keeps what is wrong
	}
	if one.Foreign || before == fromForeign {
		valueOf(f).from = fromForeign
	}
	return true
}

// WorkloadOf makes settings of kt run of flags that do not come from a command line. What is no flag of a workload itself is of its
// loads: Set has it.
func WorkloadOf(flags []Assignment, sys System) (*Workload, error) {
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	w := NewWorkload(set)
	var ofLoads []Assignment
	for _, one := range flags {
		if !slices.Contains(strings.Fields(ofWorkloads+" "+shared), one.Name) || !assign(set, one) {
			ofLoads = append(ofLoads, one)
		}
	}
	err := w.Load(sys)
	w.Set = ofLoads
	return w, err
}

// LoadArgs reads a load that follows the flags of another command, as in
// "kt find -- produce --acks all": its command, its flags in their order, and the file of a workload.
func LoadArgs(args []string) (command plan.Command, flags []Assignment, file string, err error) {
	if len(args) == 0 {
		return "", nil, "", errors.New("no load is given: write it behind --, as in -- produce --acks all")
	}
	command = plan.Command(args[0])
	if err := oneOf(args[0], append(LoadCommands(), string(plan.Workload))); err != nil {
		return "", nil, "", plan.Refuse("", nil, "%s is no load: %w", strconv.Quote(args[0]), err)
	}
	set, isWorkload := flagSet(args[0]), command == plan.Workload
	err = set.ParseAll(args[1:], func(f *pflag.Flag, value string) (err error) {
		one := Assignment{Name: f.Name, Values: []string{value}}
		if isWorkload && f.Name == "set" {
			one.Name, one.Values[0], _ = strings.Cut(value, "=")
		} else if isWorkload && !slices.Contains(strings.Fields(ofWorkloads+" "+shared), f.Name) {
			err = fmt.Errorf("--%s: it is of a workload that is made once, by itself", f.Name)
		}
		flags = append(flags, one)
		return err
	})
	rest := set.Args()
	if isWorkload && err == nil {
		if len(rest) == 0 {
			rest, err = []string{""}, errors.New("name the file of the workload, as in -- run shop.yaml")
		}
		file, rest = rest[0], rest[1:]
	}
	if err == nil && len(rest) > 0 {
		err = errors.New(strconv.Quote(rest[0]) + " is no flag")
	}
	if err != nil {
		err = plan.Refuse("", nil, "kt %s: %w (see: kt %s --help-all)", command, err, command)
	}
	return command, flags, file, err
}
