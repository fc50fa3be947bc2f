package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// This file has the parts that all commands share: groups of flags, marks on them, and the flags of
// output and configuration.

// Groups of flags.
const (
	groupAction   = "Action"
	groupMachine  = "Machine"
	groupChecks   = "Check"
	groupChange   = "Change"
	groupProbe    = "Probe"
	groupTarget   = "Target"
	groupLoad     = "Load"
	groupPayload  = "Records"
	groupReading  = "Reading"
	groupProducer = "Producer"
	groupConsumer = "Consumer"
	groupClient   = "Client"
	groupVerify   = "Verification"
	groupEvents   = "Event"
	groupHosts    = "Host"  // that name hosts and reach their agents
	groupLimits   = "Limit" // that bound an agent's work for others
	groupOutput   = "Output"
	groupConfig   = "Configuration"
)

// Groups lists the groups of flags, in the order in which the help shows them.
var Groups = []string{
	groupAction, groupMachine, groupChecks, groupChange, groupProbe, groupTarget, groupLoad, groupPayload, groupReading, groupProducer, groupConsumer, groupClient,
	groupVerify, groupEvents, groupHosts, groupLimits, groupOutput, groupConfig,
}

// common are the flags that the help of a command with many flags shows first.
var common = []string{
	"bootstrap-server", "cluster", "topic", "partitions", "replication-factor", "rate", "num-records", "duration", "warmup", "producers", "consumers", "group", "from",
	"record-size", "acks", "compression", "engine", "verify", "command-config", "on", "limit", "output", "html", "verbose",
	"delta", "fail-on", "slo", "ladder", "trial-time", "set", "run-time", "repeats", "bytes", "check", "apply", "dry-run", "script", "rollback", "status", "explain", "all", "role", "dirs", "only", "strict", "yes", "profile",
}

// IsCommon reports whether a flag is a common one.
func IsCommon(f *pflag.Flag) bool { return slices.Contains(common, f.Name) }

// GroupOf returns the group of a flag; "" for one that belongs to no group.
func GroupOf(f *pflag.Flag) string {
	if g := f.Annotations[groupKey]; len(g) > 0 {
		return g[0]
	}
	return ""
}

const groupKey = "kt_group"

// group marks the flags that add defines as a group.
func group(set *pflag.FlagSet, name string, add func()) {
	before := make(map[string]bool)
	set.VisitAll(func(f *pflag.Flag) { before[f.Name] = true })
	add()
	set.VisitAll(func(f *pflag.Flag) {
		if !before[f.Name] {
			_ = set.SetAnnotation(f.Name, groupKey, []string{name}) // the flag exists
			if kind := f.Value.Type(); strings.HasPrefix(kind, "int") || strings.HasPrefix(kind, "float") {
				f.Value = decimal{f.Value}
			}
		}
	})
}

// loader applies the layers to the flags of a command. Only a command that makes a load has a run.
type loader func(sys System, kafka Kafka) (*Run, error)

// definitions returns what defines the flags of each command. Each may have a section in the configuration file.
func definitions() map[string]func(*pflag.FlagSet) loader {
	return map[string]func(*pflag.FlagSet) loader{
		"produce":   func(s *pflag.FlagSet) loader { return NewProduce(s).loader },
		"consume":   func(s *pflag.FlagSet) loader { return NewConsume(s).loader },
		"roundtrip": func(s *pflag.FlagSet) loader { return NewRoundtrip(s).loader },
		"tune":      func(s *pflag.FlagSet) loader { return without(NewTune(s).Load) },
		"probe":     func(s *pflag.FlagSet) loader { return without(NewProbe(s).Load) },
		"watch":     func(s *pflag.FlagSet) loader { return without(NewWatch(s).Load) },
		"study":     func(s *pflag.FlagSet) loader { return without(NewStudyRun(s).Load) },
		"find":      func(s *pflag.FlagSet) loader { return without(NewFind(s).Load) },
		"trial":     func(s *pflag.FlagSet) loader { return without(NewTrial(s).Load) },
		"compare":   func(s *pflag.FlagSet) loader { return without(NewCompare(s).Load) },
		"calibrate": func(s *pflag.FlagSet) loader { return without(NewCalibrate(s).Load) },
		"doctor": func(s *pflag.FlagSet) loader {
			d := NewDoctor(s)
			return func(sys System, kafka Kafka) (*Run, error) { return nil, d.Load(sys, kafka) }
		},
		"agent": func(s *pflag.FlagSet) loader { return without(NewAgent(s).Load) },
		"collect": func(s *pflag.FlagSet) loader {
			c := NewCollect(s)
			return without(func(sys System, nearest Nearest) error { return c.Load(sys, nearest, nil) })
		},
		"peers":  func(s *pflag.FlagSet) loader { return without(NewPeers(s).Load) },
		"report": func(s *pflag.FlagSet) loader { return without(NewReport(s).Load) },
		"runs":   func(s *pflag.FlagSet) loader { return without(NewRuns(s).Load) },
		"prune":  func(s *pflag.FlagSet) loader { return without(NewPrune(s).Load) },
	}
}

// without returns the loader of a command that makes no load of its own.
func without(load func(System, Nearest) error) loader {
	return func(sys System, kafka Kafka) (*Run, error) { return nil, load(sys, kafka.Nearest) }
}

func (f *Flags) loader(sys System, kafka Kafka) (*Run, error) {
	r, err := f.Load(sys, kafka)
	return &r, err
}

// onlyTyped marks flags that only the command line sets: no environment and no file
// makes kt change a machine.
const onlyTyped = "kt_only_typed"

// typed marks flags that only the command line sets.
func typed(set *pflag.FlagSet, flags ...string) {
	for _, name := range flags {
		_ = set.SetAnnotation(name, onlyTyped, []string{"true"}) // the flag exists
	}
}

func isOnlyTyped(f *pflag.Flag) bool { return len(f.Annotations[onlyTyped]) > 0 }

// layered marks flags that a layer below the command line has set.
const layered = "kt_layered"

// typedOn reports whether a flag was given on the command line, and not by a file or
// the environment, which speak to every command.
func typedOn(f *pflag.Flag) bool { return f.Changed && len(f.Annotations[layered]) == 0 }

// DocumentOutputs are the forms of output of commands that write a document.
var DocumentOutputs = []string{"text", "json", "yaml", "csv", "markdown", "html"}

// form is the part that commands that write a document have in common: its form, and the
// configuration file.
type form struct {
	Output string
	Look
	Quiet bool   // no progress
	HTML  string // the file of a page; "": none

	set     *pflag.FlagSet
	command string
	outputs []string // the forms that the command has
	config  string
	sources map[string]string // flag → where its value came from
	from    map[string]layer  // flag → the kind of that source
}

// Written is how a command writes its document.
type Written struct {
	Output string
	Look
	HTML  string // the file of a page; "": none
	Quiet bool
}

// Written returns how the command writes its document.
func (f *form) Written() Written { return Written{f.Output, f.Look, f.HTML, f.Quiet} }

// defineForm defines the flags. more defines further ones that belong to the output; it may be nil.
func (f *form) defineForm(set *pflag.FlagSet, command string, outputs []string, more func()) {
	set.SortFlags = false
	f.set, f.command, f.outputs = set, command, outputs
	group(set, groupOutput, func() {
		last := len(outputs) - 1
		set.StringVarP(&f.Output, "output", "o", "text", "`FORMAT`: "+strings.Join(outputs[:last], ", ")+" or "+outputs[last])
		f.define(set)
		if more != nil {
			more()
		}
	})
	group(set, groupConfig, func() { defineConfigFile(set, &f.config) })
}

// Load applies environment and configuration file, and checks the form.
func (f *form) Load(sys System, nearest Nearest) error {
	return errors.Join(f.layers(sys, nearest), f.checkForm(nearest))
}

// layers applies environment and configuration file.
func (f *form) layers(sys System, nearest Nearest) error {
	l, err := loadLayers(f.set, f.command, f.config, "", sys, nearest)
	f.sources, f.from = l.sources, l.from
	return err
}

// checkForm refuses an unknown form. A form of another command in a file or the environment is no
// mistake: this command writes text then.
func (f *form) checkForm(nearest Nearest) error {
	if isForOthers(f.set, f.Output, f.outputs) {
		f.Output = "text"
	}
	return errors.Join(oneOf("output", f.Output, f.outputs, nearest), f.check(nearest))
}

func defineHTML(set *pflag.FlagSet, path *string) {
	set.StringVar(path, "html", "", "also write the result as a page to this `FILE`, for a browser")
}

// checkHTML refuses what names no file: nothing, as of a variable that is not set, and "-".
func checkHTML(set *pflag.FlagSet, path string) error {
	if path == "-" || path == "" && set.Changed("html") {
		return fmt.Errorf("--html %q: name a file; kt report --output html writes the page of a run to stdout", path)
	}
	return nil
}

func defineQuiet(set *pflag.FlagSet, quiet *bool) {
	set.BoolVarP(quiet, "quiet", "q", false, "no progress, only the result")
}

func defineVerbose(set *pflag.FlagSet, verbose *bool) {
	set.BoolVarP(verbose, "verbose", "v", false, "write every line of the summary: client, fetches, partitions, run files")
}

func defineConfigFile(set *pflag.FlagSet, path *string) {
	set.StringVar(path, "config", "", "configuration `FILE` (default: ./kt.yaml, and kt/config.yaml in the user's configuration folder)")
}

// defineYes defines the flag for loads of protected clusters. Only the command line has it: a file or a variable would
// answer a question that was never asked.
func defineYes(set *pflag.FlagSet, yes *bool) {
	set.BoolVarP(yes, "yes", "y", false, "do not ask before a load of a cluster that is marked as protected")
	typed(set, "yes")
}

// isForOthers reports whether a form comes from a file or the environment, which speak to
// every command, and is one that only other commands have.
func isForOthers(set *pflag.FlagSet, output string, outputs []string) bool {
	every := slices.Concat(Outputs, ReportOutputs)
	return !typedOn(set.Lookup("output")) && !slices.Contains(outputs, output) && slices.Contains(every, output)
}

// oneOf returns an error if the value of a flag is not one of those that are allowed.
func oneOf(flag, value string, among []string, nearest Nearest) error {
	if slices.Contains(among, value) {
		return nil
	}
	return fmt.Errorf("--%s %q: it must be one of %s%s", flag, value, strings.Join(among, ", "), nearest.hint(value, among, ""))
}
