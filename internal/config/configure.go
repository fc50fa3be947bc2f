package config

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/secret"
)

// Configure is the settings of kt config, and of the commands below it.
type Configure struct {
	form `flag:",squash"`
}

// Value is the effective value of a flag.
type Value struct {
	Name     string   `json:"name"`
	Value    string   `json:"value"` // without secrets
	Source   string   `json:"source"`
	Commands []string `json:"commands,omitempty"` // for which it is that; nil: for all that have the flag
	Default  bool     `json:"default"`            // nothing sets it
}

// Effective returns the values that flags have in some commands when nothing is typed: those that are set first, each part by name.
func (c *Configure) Effective(commands []string, sys System) ([]Value, error) {
	all := []Value{}
	found := new(mistakes)
	having := make(map[string]int) // flag → how many commands have it
	sys.Warn = nil                 // Load has warned
	for _, command := range commands {
		l, err := c.layersOf(command, sys)
		found.add(command, Flat(err))
		if err != nil {
			continue
		}
		l.flags.VisitAll(func(f *pflag.Flag) {
			having[f.Name]++
			if valueOf(f).Typed || f.Hidden {
				return
			}
			v := l.shown(f, command)
			if at := slices.IndexFunc(all, func(o Value) bool { return o.Name == v.Name && o.Value == v.Value && o.Source == v.Source }); at >= 0 {
				all[at].Commands = append(all[at].Commands, command)
			} else {
				all = append(all, v)
			}
		})
	}
	for i, v := range all {
		if len(v.Commands) == having[v.Name] {
			all[i].Commands = nil
		}
	}
	slices.SortStableFunc(all, func(a, b Value) int { // false is before true
		return cmp.Or(strings.Compare(strconv.FormatBool(a.Default), strconv.FormatBool(b.Default)), strings.Compare(a.Name, b.Name))
	})
	return all, found.err()
}

// shown returns the effective value of a flag. The brokers may be those of a properties file.
func (l *layers) shown(f *pflag.Flag, command string) Value {
	var texts []string
	for _, text := range valueOf(f).texts {
		texts = append(texts, secret.Hide(text))
	}
	v := Value{f.Name, secret.HideValue(f.Name, strings.Join(texts, ",")), valueOf(f).source, []string{command}, !l.given(f.Name)}
	if v.Default && f.DefValue == "" { // the default is not the flag's
		v.Value = cmp.Or(valueOf(f).Unset, "-")
	}
	if v.Default && f.Name == "bootstrap-server" {
		for _, name := range propertyFiles {
			if servers, source := serversOf(l.text(name)); servers != "" {
				v.Value, v.Source, v.Default = servers, source, false
			}
		}
	}
	return v
}

// layersOf applies the layers to the flags of a command, of which none is typed but those of kt config.
func (c *Configure) layersOf(command string, sys System) (*layers, error) {
	l := &layers{flags: flagSet(command), command: command}
	for _, flag := range []string{"config", "cluster"} {
		if c.isTyped(flag) && l.flags.Lookup(flag) != nil {
			_ = l.flags.Set(flag, c.text(flag)) // any text will do
		}
	}
	return l, l.apply(sys)
}

// Clusters returns the clusters of the configuration file by name.
func (c *Configure) Clusters(sys System) ([]Cluster, error) {
	sys.Warn, sys.Profiles = nil, nil // Load has warned
	l, err := c.layersOf(string(plan.Produce), sys)
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

// Check returns the names of the configuration files that there are, and everything that is wrong with them, by file and line:
// keys, values, and properties files of clusters. path is that of a file to check alone, "" for those that commands read. clients
// returns what the clients of a load refuse.
func (c *Configure) Check(path string, sys System, clients func(*Run) error) ([]string, error) {
	sys.warnOfStrangers()
	read, err := sys.readFiles(cmp.Or(path, c.text("config")))
	if read == nil {
		read = new(files)
	}
	sys.check, sys.Warn = read, nil
	found := &mistakes{files: read}
	found.add("", Flat(err))
	for _, command := range Commands() {
		found.add(command, checkCommand(command, sys, clients))
	}
	var names []string
	if read.user != nil {
		names = append(names, read.user.name)
		for _, name := range slices.Sorted(maps.Keys(read.user.clusters)) {
			one := read.user.clusters[name]
			if _, err := readProperties(one.Properties); err != nil && one.Properties != "" {
				found.add("", []error{plan.Refuse("", nil, "cluster %s: command-config %s: %w", name, one.Properties, err).From(one.Source)})
			}
		}
	}
	if read.project != nil {
		names = append(names, read.project.name)
	}
	return names, found.err()
}

// checkCommand returns what a command without arguments refuses. What no file and no variable holds is left out.
func checkCommand(command string, sys System, clients func(*Run) error) []error {
	set := pflag.NewFlagSet(command, pflag.ContinueOnError)
	settings := commands[command](set)
	for flag, text := range map[string]string{"bootstrap-server": "localhost:9092", "topic": "kt-bench"} { // a command line gives them
		if f := set.Lookup(flag); f != nil {
			valueOf(f).put([]string{text}, fromNobody, fromProfile)
		}
	}
	err := settings.Load(sys)
	if r, isLoad := settings.(*Run); isLoad {
		err = errors.Join(err, r.sourced(clients(r)))
	}
	return slices.DeleteFunc(Flat(err), func(err error) bool {
		var p *plan.Problem
		return errors.As(err, new(needs)) || errors.As(err, &p) && (p.Source == fromNobody || p.Source == "" && p.Flag != "")
	})
}

// mistakes are what is wrong with configuration files, each once.
type mistakes struct {
	files *files
	all   []mistake
}

type mistake struct {
	*plan.Problem
	commands []string // that have it
}

// add adds errors of a command; "": of the files as such.
func (m *mistakes) add(command string, errs []error) {
	for _, err := range errs {
		var one *plan.Problem
		if !errors.As(err, &one) {
			one = plan.Refuse("", nil, "%w", err)
		}
		i := slices.IndexFunc(m.all, func(o mistake) bool { return o.Error() == one.Error() })
		if i < 0 {
			i, m.all = len(m.all), append(m.all, mistake{Problem: one})
		}
		if command != "" {
			m.all[i].commands = append(m.all[i].commands, command)
		}
	}
}

// err joins the mistakes in the order of files and lines. One that a single command has with a setting for all names the command.
func (m *mistakes) err() error {
	slices.SortStableFunc(m.all, func(a, b mistake) int {
		return cmp.Or(strings.Compare(a.Source, b.Source), cmp.Compare(a.Line, b.Line))
	})
	var errs []error
	for _, one := range m.all {
		switch {
		case len(one.commands) == 1 && !m.files.hasIn(one.commands[0], one.Place()):
			errs = append(errs, one.Of("kt "+one.commands[0]))
		case one.Source == "": // it was typed
			errs = append(errs, one.Problem)
		default:
			errs = append(errs, one.Of(""))
		}
	}
	return errors.Join(errs...)
}

// hasIn reports whether the section of a command has a setting at a place.
func (f *files) hasIn(command, place string) bool {
	return f != nil && slices.ContainsFunc([]*file{f.user, f.project}, func(f *file) bool {
		return f != nil && slices.Contains(slices.Collect(maps.Values(f.parts[command].at)), place)
	})
}
