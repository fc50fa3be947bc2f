package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// This file has what all commands share: groups of flags, marks on them, and the flags of
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
	groupLimits   = "Limit" // that bound what an agent does for others
	groupOutput   = "Output"
	groupConfig   = "Configuration"
)

// Groups lists the groups of flags, in the order in which the help shows them.
var Groups = []string{
	groupAction, groupMachine, groupChecks, groupChange, groupProbe, groupTarget, groupLoad, groupPayload, groupReading, groupProducer, groupConsumer, groupClient,
	groupVerify, groupEvents, groupHosts, groupLimits, groupOutput, groupConfig,
}

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
		}
	})
}

// otherCommands are those that make no load. They may have a section in the configuration
// file too.
var otherCommands = map[string]func(*pflag.FlagSet){
	"tune":    func(s *pflag.FlagSet) { NewTune(s) },
	"probe":   func(s *pflag.FlagSet) { NewProbe(s) },
	"agent":   func(s *pflag.FlagSet) { NewAgent(s) },
	"collect": func(s *pflag.FlagSet) { NewCollect(s) },
	"peers":   func(s *pflag.FlagSet) { NewPeers(s) },
	"report":  func(s *pflag.FlagSet) { NewReport(s) },
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

// defineFormat defines the flags of a command that writes a document in one of some forms.
func defineFormat(set *pflag.FlagSet, output *string, outputs []string, noColor, ascii *bool) {
	last := len(outputs) - 1
	set.StringVarP(output, "output", "o", "text", "`FORMAT`: "+strings.Join(outputs[:last], ", ")+" or "+outputs[last])
	set.BoolVar(noColor, "no-color", false, "no colours; NO_COLOR does the same")
	set.BoolVar(ascii, "ascii", false, "only ASCII")
}

func defineConfigFile(set *pflag.FlagSet, path *string) {
	set.StringVar(path, "config", "", "configuration `FILE` (default: kt/config.yaml in the user's configuration folder)")
}

// checkFormat checks what defineFormat defined. A form that only other commands have is
// no mistake in a file or the environment: this one writes text then.
func checkFormat(set *pflag.FlagSet, output *string, outputs []string, nearest Nearest) error {
	if isForOthers(set, *output, outputs) {
		*output = "text"
	}
	return oneOf("output", *output, outputs, nearest)
}

// isForOthers reports whether a form comes from a file or the environment, which speak to
// every command, and is one that only other commands have.
func isForOthers(set *pflag.FlagSet, output string, outputs []string) bool {
	every := slices.Concat(Outputs, ReportOutputs, TuneOutputs, ProbeOutputs)
	return !typedOn(set.Lookup("output")) && !slices.Contains(outputs, output) && slices.Contains(every, output)
}

// oneOf refuses a value that is not among some.
func oneOf(flag, value string, among []string, nearest Nearest) error {
	if slices.Contains(among, value) {
		return nil
	}
	hint := ""
	if n := nearest(value, among); n != "" {
		hint = "; did you mean " + n + "?"
	}
	return fmt.Errorf("--%s %q: it must be one of %s%s", flag, value, strings.Join(among, ", "), hint)
}
