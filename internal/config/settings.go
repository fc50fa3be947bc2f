package config

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/secret"
	"github.com/kt-bench/kt/internal/suggest"
)

// setting is a flag of some commands, which a variable and a file may set too: a row of settings.json, which are in the order of
// the help. A flag that means something else in some commands has a row for these.
type setting struct {
	Name, Short, Group string
	Kind               string            // how its text is read, see kindOf
	Default            string            // as it would be typed
	Unset              string            // what counts without a default, as the help tells it
	Help               string            // the value has its name in `…`; {values} stands for the values of its kind, {unset} for Unset
	Commands           words             // that have it; nil: those of the group
	Forbidden          *string           // why the file of a project must not set it, allowed if it may; nil: that of the group
	Java               map[string]string // the property that it stands for: client → its name
	Values             words             // for the shell, beside the choices of the kind
	Note               string            // why the row is as it is
	Warning            string            // to be told where the flag is given, and no other takes its place

	Common bool // the help of a command with many flags shows it first
	Typed  bool // only the command line sets it
	Hidden bool

	kind
}

// words are a list that is written as one text.
type words []string

func (w *words) UnmarshalText(text []byte) error {
	*w = strings.Fields(string(text))
	return nil
}

//go:embed settings.json
var settingsFile []byte

// settings are all flags. projectProperties are the properties of clients that the file of a project may set: they name no class, no
// file and no address, and nothing of a login.
var settings, projectProperties = readSettings(settingsFile)

func readSettings(file []byte) (all []setting, properties words) {
	var blocks []struct {
		Group, Forbidden, Note string
		Commands, Properties   words
		Flags                  []setting
	}
	d := json.NewDecoder(bytes.NewReader(file))
	d.DisallowUnknownFields()
	if err := d.Decode(&blocks); err != nil {
		panic("settings.json: " + err.Error()) // it is a part of the program
	}
	for _, b := range blocks {
		properties = append(properties, b.Properties...)
		for _, s := range b.Flags {
			s.Group, s.kind = b.Group, kindOf(s.Kind)
			if s.Commands == nil {
				s.Commands = b.Commands
			}
			if s.Forbidden == nil {
				s.Forbidden = &b.Forbidden
			}
			s.Help = strings.NewReplacer("{values}", suggest.List(s.choices, "or"), "{unset}", s.Unset).Replace(s.Help)
			all = append(all, s)
		}
	}
	return all, properties
}

// define adds the flags of a command to a set.
func define(set *pflag.FlagSet, command string) {
	set.SortFlags = false
	for i := range settings {
		s := &settings[i]
		if !slices.Contains(s.Commands, command) {
			continue
		}
		v := &value{setting: s, source: fromNobody}
		if s.name == boolKind.name {
			_ = v.take("false") // which is a bool
		}
		if s.Default != "" {
			if err := v.take(s.Default); err != nil {
				panic(s.Name + ": " + err.Error()) // a mistake in the table
			}
		}
		v.given = false
		f := set.VarPF(v, s.Name, s.Short, s.Help)
		if f.Hidden = s.Hidden; v.isList() && !v.needed {
			f.DefValue = "" // no default is shown
		}
		if s.name == boolKind.name {
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
		if v := valueOf(f); v != nil && len(v.choices)+len(v.Values) > 0 {
			all[f.Name] = slices.Concat(v.choices, v.Values)
		}
	})
	return all
}

// flagNames returns the flags of a command that a file or the environment may set, sorted; "": those of all commands.
func flagNames(command string) []string {
	var names []string
	for _, s := range settings {
		if !s.Typed && s.isOf(command) {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// isOf reports whether a command has the setting; "": whether any has that may have a section in a file.
func (s *setting) isOf(command string) bool {
	return slices.ContainsFunc(s.Commands, func(c string) bool { return c == command || command == "" && slices.Contains(Commands(), c) })
}

// Commands returns the commands that have settings, sorted. Each may have a section in the configuration file.
func Commands() []string {
	return strings.Fields("agent calibrate capture collect compare consume doctor find optimize peers probe produce prune report roundtrip runs study trial tune watch")
}

// Groups returns the names of the groups of flags, in the order in which the help shows them.
func Groups() (names []string) {
	for _, s := range settings {
		if !slices.Contains(names, s.Group) {
			names = append(names, s.Group)
		}
	}
	return names
}

// GroupOf returns the group of a flag, "" for one that belongs to no group, and whether it is a common one.
func GroupOf(f *pflag.Flag) (group string, common bool) {
	if v := valueOf(f); v != nil {
		return v.Group, v.Common
	}
	return "", false
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

// value is the value of a flag: its texts, what they mean, and where they come from.
type value struct {
	*setting
	texts   []string
	is      any
	given   bool
	source  string          // --NAME, FILE:LINE, or what else names it
	from    level           // the kind of the source
	refused []*plan.Problem // of texts that it did not take
}

// Set reads a text of the command line.
func (v *value) Set(text string) error {
	v.source, v.from = "--"+v.Name, fromFlag
	v.add(text)
	return nil
}

// put takes the texts of a layer below the command line.
func (v *value) put(texts []string, source string, from level) {
	v.source, v.from, v.given = source, from, false
	if len(texts) == 0 && (!v.isList() || v.needed) {
		v.refused = append(v.refused, plan.Refuse(v.Name, nil, "the list is empty: give a value, or leave the line out"))
	}
	secret.LearnFrom(texts...)
	for _, text := range texts {
		v.add(text)
	}
	if len(v.refused) > 0 {
		v.texts = texts // kt config shows them as they stand
	}
}

// add reads a text. What is wrong with one is kept until the settings are loaded, which tells every problem at once, each with its source.
func (v *value) add(text string) {
	switch err := v.take(text); {
	case err == nil:
	case v.silent:
		v.refused = append(v.refused, plan.Refuse(v.Name, nil, "%w", err))
	case v.begins:
		v.refused = append(v.refused, plan.About(v.Name, fmt.Errorf("--%s %w", v.Name, err)))
	default:
		v.refused = append(v.refused, plan.Refuse(v.Name, text, "%w", err))
	}
}

// take reads a text. A list that is given several times is one list.
func (v *value) take(text string) error {
	texts := []string{text}
	if v.name == listKind.name {
		var err error
		lines := csv.NewReader(strings.NewReader(text))
		texts, err = lines.Read()
		if _, more := lines.Read(); text != "" && (err != nil || more != io.EOF) { // a list that goes on in another line would lose that
			return errors.New("it must be a list, as A,B")
		}
	}
	if v.given && v.isList() {
		texts = slices.Concat(v.texts, texts)
	}
	is, err := v.read(texts)
	if err != nil {
		return err
	}
	if slices.Contains([]string{"int", "float64", "bool"}, v.name) {
		texts = []string{fmt.Sprint(is)}
	}
	v.texts, v.is, v.given = texts, is, true
	return nil
}

func (v *value) isList() bool {
	return v.name == listKind.name || v.name == repeatedKind.name
}

// Type returns the kind of the value, for pflag.
func (v *value) Type() string { return v.name }

// String returns the value as it is typed.
func (v *value) String() string { return strings.Join(v.texts, ",") }

// valueOf returns the value of a flag of kt; nil: it is another's, as --help.
func valueOf(f *pflag.Flag) *value {
	v, _ := f.Value.(*value)
	return v
}
