package workload

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/suggest"
)

// Workload is several unlike loads that run at once. Each load has a name of its own. A load with Reads has no topic: it reads
// those of that load, which is in the workload.
type Workload struct {
	Name string // the name of its file, without its ending
	study.Load
}

// at returns an error with the place in the file of the first of some things that has one: "load NAME", "flag NAME FLAG" or "reads NAME".
func (w *Workload) at(err error, of ...string) error {
	for _, what := range of {
		if place := w.Places[what]; place != "" {
			return fmt.Errorf("%s: %w", place, err)
		}
	}
	return err
}

// Placed gives each of several errors of a load its place in the file: that of the flag or the property that it is of, or else of the
// load. load is "" for errors of the whole.
func (w *Workload) Placed(load string, err error) error {
	var errs []error
	for _, one := range config.Flat(err) {
		p, flag, value := new(plan.Problem), "", ""
		if errors.As(one, &p) {
			flag = p.Flag
		}
		if p.Source == "--command-property" {
			flag, value, one = "command-property", " "+p.Value, errors.New(p.Text())
		}
		if load != "" {
			one = fmt.Errorf("load %s: %w", load, one)
		}
		of := "flag " + load + " " + flag
		errs = append(errs, w.at(one, of+value, of, flag, "load "+load))
	}
	return errors.Join(errs...)
}

// Parse reads a workload as a load of kt run. name is the path of its file. known returns an error for a flag that a command does
// not have. The error has every problem, each on a line of its own with the line and the column in the file.
func Parse(name string, text []byte, known func(command, flag string) error) (study.Load, error) {
	l := study.Load{Command: string(plan.Workload), Flags: []study.Flag{}, File: name, Places: make(map[string]string)}
	root, err := input.YAML(text, func(line int) string { return name + ":" + strconv.Itoa(line) })
	switch {
	case err != nil:
		return l, fmt.Errorf("%w; kt run --init writes a workload to compare with", err)
	case root == nil:
		return l, fmt.Errorf("%s: it is empty; kt run --init writes a workload to begin with", name)
	}
	p := study.NewParser(name, known)
	flag := func(name string) func(*yaml.Node) { // of kt run
		return func(n *yaml.Node) {
			for _, v := range input.Items(n) {
				text, err := input.Text(v)
				if l.Flags = append(l.Flags, study.Flag{Name: name, Value: text}); err != nil {
					p.Bad(v, "%s: %w", name, err)
				}
			}
		}
	}
	p.Mapping(root, "workload", map[string]any{
		"about": &l.About, "on": flag("on"), "at": flag("at"), "exec": flag("exec"),
		"loads": func(n *yaml.Node) { l.Loads = p.Loads(n, "loads") },
	})
	if err := p.Err(); err != nil {
		return l, err
	}
	if len(l.Loads) == 0 {
		p.Bad(root, "loads: there is none; write loads: [{name: orders, command: produce, rate: 1000}]")
	}
	for what, n := range p.Places() {
		l.Places[what] = fmt.Sprintf("%s:%d:%d", name, n.Line, n.Column)
	}
	_, err = Of(l)
	return l, errors.Join(p.Err(), err)
}

// Of returns the workload of a load of kt run. The error has all that is wrong with its loads.
func Of(l study.Load) (*Workload, error) {
	w := &Workload{Name: strings.TrimSuffix(strings.TrimSuffix(path.Base(l.File), ".yaml"), ".yml"), Load: l}
	w.Loads, w.Places = slices.Clone(l.Loads), maps.Clone(l.Places)
	var errs []error
	for i := range w.Loads {
		of := &w.Loads[i]
		of.Flags, of.Typed = slices.Clone(of.Flags), slices.Clone(of.Typed) // they will change
		errs = append(errs, w.check(of)...)
	}
	return w, errors.Join(errs...)
}

// taken matches names that stand for something else: in limits for a part of a metric, as in response.p99, and in results for the whole.
var taken = regexp.MustCompile(`^(response|service|send-delay|end-to-end|p[0-9]+|all|workload)$`)

// foreignFlags are flags of a load that a workload has for all of its loads, or that it sets itself.
var foreignFlags = []string{
	"run", "on", "hosts", "processes", "watch", "join", "peers", "key-file", "result", "output", "html", "quiet", "verbose", "no-color", "ascii",
	"theme", "fps", "reporting-interval", "hide-header", "show-detailed-stats", "date-format", "metrics-listen", "print-metrics", "print-config", "ledger", "ledger-sync",
}

// check returns what is wrong with a load.
func (w *Workload) check(l *study.Load) (errs []error) {
	bad := func(what, format string, args ...any) {
		errs = append(errs, w.at(fmt.Errorf(format, args...), what+" "+l.Name))
	}
	switch err := plan.CheckName(l.Name); {
	case err != nil:
		bad("load", "load %q: %w", l.Name, err)
	case strings.Contains(l.Name, "."):
		bad("load", "load %q: a load of a workload has no '.' in its name, for LOAD.FLAG and LOAD.METRIC have one behind it", l.Name)
	case taken.MatchString(l.Name):
		bad("load", "load %q: a part of a metric or the whole has that name: give it another one", l.Name)
	case w.load(l.Name) != l:
		bad("load", "load %q: two have this name", l.Name)
	}
	for _, f := range l.Flags {
		if err := refused(l, f.Name); err != nil {
			errs = append(errs, w.at(err, "flag "+l.Name+" "+f.Name))
		}
	}
	if l.Captured != nil && l.Command == string(plan.Consume) {
		bad("captured", "captured: its figures are of what is written: it is for command: produce or roundtrip")
	}
	if l.Reads == "" {
		has := func(f study.Flag) bool { return f.Name == "topic" || f.Name == "include" }
		if l.Command == string(plan.Consume) && !slices.ContainsFunc(l.Flags, has) {
			bad("load", "load %q: name what it reads: reads: LOAD, of a load in this file, or topic: NAME", l.Name)
		}
		return errs
	}
	names := w.Names()
	switch {
	case l.Command != string(plan.Consume):
		bad("reads", "reads: kt %s writes to topics of its own: it is for command: consume", l.Command)
	case w.load(l.Reads) == nil:
		bad("reads", "reads %q: there is no load of that name%s", l.Reads, suggest.Hint(l.Reads, names, "; there are "+strings.Join(names, ", ")))
	case w.inCircle(l):
		bad("reads", "reads %q: it reads %s, in a circle: one of them has to name a topic", l.Reads, l.Name)
	}
	return errs
}

// refused returns why a load of a workload cannot have a flag; nil: it can.
func refused(l *study.Load, flag string) error {
	switch {
	case slices.Contains(foreignFlags, flag):
		return fmt.Errorf("%s: a workload has it for all of its loads together: leave it out", flag)
	case flag == "verify" && l.Command == string(plan.Produce):
		return errors.New("verify: its records are looked for after the run, when the topic is gone: use command: roundtrip, which reads them back")
	case l.Reads != "" && (flag == "topic" || flag == "topics" || flag == "include"):
		return fmt.Errorf("%s: the load reads the topics of %s: leave one of them out", flag, l.Reads)
	}
	return nil
}

// Set gives a flag another value: LOAD.FLAG in one load, FLAG in every load that has it. typed and known are as those of
// study.Share and Parse.
func (w *Workload) Set(name, value string, typed bool, known func(command, flag string) error) error {
	before, flag, found := strings.Cut(name, ".")
	one := found && w.load(before) != nil
	if !one {
		flag = name
	}
	is := flag
	if strings.HasPrefix(flag, "topic.") {
		is = "topic-config"
	}
	var wrong error
	set := false
	for i := range w.Loads {
		l := &w.Loads[i]
		if one && l.Name != before {
			continue
		}
		if err := cmp.Or(known(l.Command, is), refused(l, is)); err != nil {
			wrong = cmp.Or(wrong, err)
			continue
		}
		(&study.Study{Loads: w.Loads[i : i+1]}).Share(flag, value, typed)
		delete(w.Places, "flag "+l.Name+" "+flag)
		set = true
	}
	if !set {
		return fmt.Errorf("%s: %s; the loads are %s", name, strings.TrimPrefix(wrong.Error(), is+": "), strings.Join(w.Names(), ", "))
	}
	return nil
}

// Names returns the names of the loads.
func (w *Workload) Names() (names []string) {
	for i := range w.Loads {
		names = append(names, w.Loads[i].Name)
	}
	return names
}

// load returns the load of a name; nil: there is none.
func (w *Workload) load(name string) *study.Load {
	if i := slices.IndexFunc(w.Loads, func(l study.Load) bool { return l.Name == name }); i >= 0 {
		return &w.Loads[i]
	}
	return nil
}

// Follows returns the load with which a load ends: the one that it reads, unless it has an end of its own; "": none.
func Follows(l *study.Load) string {
	ends := []string{"duration", "num-records", "messages"}
	if slices.ContainsFunc(l.Flags, func(f study.Flag) bool { return slices.Contains(ends, f.Name) }) {
		return ""
	}
	return l.Reads
}

// inCircle reports whether the loads that a load reads, one after the other, have no end.
func (w *Workload) inCircle(l *study.Load) bool {
	for range w.Loads {
		if l = w.load(l.Reads); l == nil {
			return false
		}
	}
	return true
}
