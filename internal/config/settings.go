package config

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
)

// setting is a flag of some commands, which a variable and a file may set too.
type setting struct {
	name, short, def, help string
	kind
	group    string
	commands []string
	project  string   // why the file of a project must not set it; allowed: it may
	client   string   // of the Java property: producer, consumer; "": it stands for none
	property string   // the name of that property
	values   []string // for the shell, beside the choices of the kind

	common bool // the help of a command with many flags shows it first
	typed  bool // only the command line sets it
	hidden bool
	single bool // a second value would be lost in silence
}

// option is a rare property of a setting.
type option func(*setting)

var (
	common option = func(s *setting) { s.common = true }
	typed  option = func(s *setting) { s.typed, s.project = true, "" }
	hidden option = func(s *setting) { s.hidden = true }
	single option = func(s *setting) { s.single = true }
)

func short(letter string) option { return func(s *setting) { s.short = letter } }

// only are the commands that have a setting, of those of its group.
func only(commands string) option {
	return func(s *setting) { s.commands = strings.Fields(commands) }
}

// project is the reason why the file of a project must not set a setting, where that of the group does not fit.
func project(why string) option { return func(s *setting) { s.project = why } }

// java is the property that a setting stands for.
func java(client, property string) option {
	return func(s *setting) { s.client, s.property = client, property }
}

// values are what a shell completes.
func values(words ...string) option { return func(s *setting) { s.values = words } }

// row returns a setting. def is its default as it would be typed; "": none.
func row(name string, k kind, def, help string, options ...option) setting {
	s := setting{name: name, kind: k, def: def, help: help, project: unset}
	for _, o := range options {
		o(&s)
	}
	return s
}

// unset is the reason of a row that takes that of its group.
const unset = "?"

// in puts rows into a group of flags. They are those of all its commands unless a row says others.
func in(group, commands, project string, rows ...setting) []setting {
	for i := range rows {
		rows[i].group = group
		if rows[i].commands == nil {
			rows[i].commands = strings.Fields(commands)
		}
		if rows[i].project == unset {
			rows[i].project = project
		}
	}
	return rows
}

// define adds the flags of a command to a set.
func define(set *pflag.FlagSet, command string) {
	set.SortFlags = false
	for i := range settings {
		s := &settings[i]
		if !slices.Contains(s.commands, command) {
			continue
		}
		v := &value{setting: s}
		if s.kind.name == boolKind.name {
			_ = v.take("false") // which is a bool
		}
		if s.def != "" {
			if err := v.take(s.def); err != nil {
				panic(s.name + ": " + err.Error()) // a mistake in the table
			}
		}
		v.given = false
		f := set.VarPF(v, s.name, s.short, s.help)
		f.Hidden = s.hidden
		if v.isList() {
			f.DefValue = "" // no default is shown
		}
		if s.kind.name == boolKind.name {
			f.NoOptDefVal = "true"
		}
	}
}

// flagSet returns the flags of a command.
func flagSet(command string) *pflag.FlagSet {
	set := pflag.NewFlagSet(command, pflag.ContinueOnError)
	define(set, command)
	return set
}

// Values returns what a shell completes of the flags of a command that have few values.
func Values(set *pflag.FlagSet) map[string][]string {
	all := make(map[string][]string)
	set.VisitAll(func(f *pflag.Flag) {
		if v := of(f); v != nil && len(v.choices)+len(v.values) > 0 {
			all[f.Name] = slices.Concat(v.choices, v.values)
		}
	})
	return all
}

// flagNames returns the flags of a command that a file or the environment may set, sorted; "": those of all commands.
func flagNames(command string) []string {
	var names []string
	for _, s := range settings {
		if !s.typed && slices.ContainsFunc(s.commands, func(c string) bool { return c == command || command == "" && slices.Contains(Commands(), c) }) {
			names = append(names, s.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Commands returns the commands that have settings, sorted. Each may have a section in the configuration file.
func Commands() []string {
	return strings.Fields("agent calibrate collect compare consume doctor find peers probe produce prune report roundtrip runs study trial tune watch")
}

const (
	loads   = "produce consume roundtrip"
	writers = "produce roundtrip"
	readers = "consume roundtrip"
	allowed = ""
	none    = math.MaxInt64
)

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

// IsCommon reports whether a flag is a common one.
func IsCommon(f *pflag.Flag) bool { return of(f) != nil && of(f).common }

// GroupOf returns the group of a flag; "" for one that belongs to no group.
func GroupOf(f *pflag.Flag) string {
	if v := of(f); v != nil {
		return v.group
	}
	return ""
}

// listFlags take several values after one flag in Kafka's own tools.
var listFlags = map[string]bool{"--command-property": true, "--producer-props": true, "--topic-config": true, "--header": true}

// ExpandLists repeats a flag for each of the k=v that follow it. Kafka's tools take such lists,
// and pflag does not:
//
//	--producer-props acks=1 linger.ms=5  →  --producer-props acks=1 --producer-props linger.ms=5
//
// A list flag without a value is an error, for the flag parser would take the
// next flag as its value.
func ExpandLists(args []string) ([]string, error) {
	var out []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			return append(out, args[i:]...), nil
		}
		if !listFlags[a] {
			out = append(out, a)
			continue
		}
		first := i + 1
		for ; i+1 < len(args) && !strings.HasPrefix(args[i+1], "-"); i++ {
			if i+1 > first && !strings.Contains(args[i+1], "=") {
				break // not of the list; the first is, and its error names the missing =
			}
			out = append(out, a+"="+args[i+1])
		}
		if i < first {
			return nil, fmt.Errorf("%s needs at least one key=value after it", a)
		}
	}
	return out, nil
}

// splitProperty cuts key=value at the first "=": values may contain more.
func splitProperty(flag, s string) (key, value string, err error) {
	key, value, ok := strings.Cut(s, "=")
	if key = strings.TrimSpace(key); !ok || key == "" {
		if strings.Contains(flag, "propert") || strings.Contains(flag, "props") {
			return "", "", plan.Refuse(flag, nil, "write key=value; an item has no key, or no =") // it may be of a password
		}
		return "", "", plan.Refuse(flag, s, "write key=value")
	}
	return key, value, nil
}
