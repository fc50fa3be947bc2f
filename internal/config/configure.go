package config

import (
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/secret"
)

// Configure is the settings of kt config, and of the commands below it.
type Configure struct {
	form `flag:",squash"`
}

// NewConfigure defines the flags on a set.
func NewConfigure(set *pflag.FlagSet) *Configure { return &Configure{newForm(set, "config")} }

// NewConfigFile defines the flags of a command that only reads or writes the files.
func NewConfigFile(set *pflag.FlagSet) *Configure {
	return &Configure{form{base: newBase(set, "config-file", "config"), Output: "text"}}
}

// Load applies environment and configuration file.
func (c *Configure) Load(sys System) error { return c.load(sys, c) }

// Value is the effective value of a flag.
type Value struct {
	Name     string   `json:"name"`
	Value    string   `json:"value"` // without secrets
	Source   string   `json:"source"`
	Commands []string `json:"commands,omitempty"` // for which it is that; nil: for all that have the flag
	Default  bool     `json:"default"`            // nothing sets it
}

// Effective returns the values that flags have in some commands when nothing is typed: those that are set first, each
// part by name. profiles returns the profiles of a command that makes loads.
func (c *Configure) Effective(commands []string, sys System, profiles func(command string) fs.FS) ([]Value, error) {
	all := []Value{}
	found := new(mistakes)
	having := make(map[string]int)  // flag → how many commands have it
	sys.Warn, sys.shows = nil, true // Load has warned
	for _, command := range commands {
		l, err := c.layersOf(command, sys, profiles)
		found.add(command, flat(err))
		if err != nil {
			continue
		}
		l.flags.VisitAll(func(f *pflag.Flag) {
			having[f.Name]++
			if of(f).typed || f.Hidden {
				return
			}
			v := l.valueOf(f, command)
			at := slices.IndexFunc(all, func(o Value) bool { return o.Name == v.Name && o.Value == v.Value && o.Source == v.Source })
			if at < 0 {
				all = append(all, v)
				return
			}
			all[at].Commands = append(all[at].Commands, command)
		})
	}
	for i, v := range all {
		if len(v.Commands) == having[v.Name] {
			all[i].Commands = nil
		}
	}
	slices.SortStableFunc(all, func(a, b Value) int {
		switch {
		case a.Default == b.Default:
			return strings.Compare(a.Name, b.Name)
		case a.Default:
			return 1
		}
		return -1
	})
	return all, found.err()
}

// valueOf returns the effective value of a flag. The brokers may be those of a properties file.
func (l *layers) valueOf(f *pflag.Flag, command string) Value {
	v := Value{Name: f.Name, Value: shown(f), Source: l.sources[f.Name], Default: l.from[f.Name] == fromDefault, Commands: []string{command}}
	if v.Default && f.DefValue == "" { // the default is not the flag's
		v.Value = "-"
		if told := toldDefault.FindStringSubmatch(f.Usage); told != nil {
			v.Value = told[1]
		}
	}
	for _, name := range propertyFiles {
		if file := l.flags.Lookup(name); v.Default && f.Name == "bootstrap-server" && file != nil {
			if servers, source := (&Cluster{Properties: file.Value.String()}).ofProperties(); servers != "" {
				v.Value, v.Source, v.Default = servers, source, false
			}
		}
	}
	return v
}

// toldDefault matches the default in the help of a flag.
var toldDefault = regexp.MustCompile(`\(default:? ([^()]*)\)`)

// layersOf applies the layers to the flags of a command, of which none is typed but those of kt config.
func (c *Configure) layersOf(command string, sys System, profiles func(string) fs.FS) (*layers, error) {
	set := flagSet(command)
	if slices.Contains(LoadCommands(), command) && profiles != nil {
		sys.Profiles = profiles(command)
	}
	for _, flag := range []string{"config", "cluster"} {
		if own := c.flags.Lookup(flag); own != nil && typedOn(own) && set.Lookup(flag) != nil {
			_ = set.Set(flag, own.Value.String()) // any text will do
		}
	}
	return loadLayers(set, command, sys)
}

// shown returns the value of a flag without secrets.
func shown(f *pflag.Flag) string {
	if !of(f).isList() {
		return secret.HideValue(f.Name, secret.Hide(f.Value.String()))
	}
	var items []string
	for _, item := range of(f).texts {
		items = append(items, secret.Hide(item))
	}
	return strings.Join(items, ",")
}

// Clusters returns the clusters of the configuration file by name.
func (c *Configure) Clusters(sys System) ([]Cluster, error) {
	sys.Warn = nil // Load has warned
	l, err := c.layersOf(string(plan.Produce), sys, nil)
	all := []Cluster{}
	for _, name := range slices.Sorted(maps.Keys(l.clusters)) {
		one := l.clusters[name]
		one.Current = name == l.cluster
		if len(one.Bootstrap) == 0 {
			one.Bootstrap = append(one.Bootstrap, one.brokers()...)
		}
		all = append(all, one)
	}
	return all, err
}
