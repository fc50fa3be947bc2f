package config

import (
	"cmp"
	"errors"
	"io/fs"
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
			if of(f).Typed || f.Hidden {
				return
			}
			v := l.valueOf(f, command)
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

// valueOf returns the effective value of a flag. The brokers may be those of a properties file.
func (l *layers) valueOf(f *pflag.Flag, command string) Value {
	v := Value{Name: f.Name, Value: secret.HideValue(f.Name, secret.Hide(f.Value.String())), Source: l.sources[f.Name], Default: l.from[f.Name] == fromDefault, Commands: []string{command}}
	if of(f).isList() {
		var items []string
		for _, item := range of(f).texts {
			items = append(items, secret.Hide(item))
		}
		v.Value = strings.Join(items, ",")
	}
	if v.Default && f.DefValue == "" { // the default is not the flag's
		v.Value = cmp.Or(of(f).Unset, "-")
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

// Checks is what a check of the configuration files needs beside them.
type Checks struct {
	Profiles func(command string) fs.FS // of a command that makes loads
	Clients  func(*Run) error           // returns what the clients of a load refuse
}

// checking is the state of a check of the configuration files. What is wrong with one layer does not end it.
type checking struct {
	project, user *file
	layers        *layers // of the command that was loaded last
	errs          []error // of its layers
}

// passed keeps an error for a check of the files, which goes on. In a run it returns the error.
func (s System) passed(err error) error {
	if s.check == nil || err == nil {
		return err
	}
	s.check.errs = append(s.check.errs, err)
	return nil
}

// Check returns the names of the configuration files that there are, and everything that is wrong with them, by file and line:
// keys, values, and properties files of clusters. path is that of a file to check alone, "" for those that commands read.
func (c *Configure) Check(path string, sys System, with Checks) ([]string, error) {
	sys.warnOfStrangers()
	project, user, err := sys.readFiles(cmp.Or(path, c.typedText("config")))
	found := &mistakes{files: []*file{project, user}}
	found.add("", flat(err))
	for _, command := range Commands() {
		state := &checking{project: project, user: user}
		sys.check, sys.Warn, sys.Profiles = state, nil, nil
		if slices.Contains(LoadCommands(), command) && with.Profiles != nil {
			sys.Profiles = with.Profiles(command)
		}
		run, err := loadCommand(command, sys)
		if run != nil {
			err = errors.Join(err, state.layers.sourced(with.Clients(run)))
		}
		typed := slices.DeleteFunc(flat(err), func(err error) bool { // no file and no variable holds the rest
			var p *plan.Problem
			return errors.As(err, new(needs)) || errors.As(err, &p) && (p.Source == fromNobody || p.Source == "" && p.Flag != "")
		})
		found.add(command, append(state.errs, typed...))
	}
	var names []string
	if user != nil {
		names = append(names, user.name)
		for _, name := range slices.Sorted(maps.Keys(user.clusters)) {
			cluster := user.clusters[name]
			if _, err := cluster.readProperties(); err != nil {
				found.add("", []error{plan.Refuse("", nil, "cluster %s: %w", name, err).From(cluster.Source)})
			}
		}
	}
	if project != nil {
		names = append(names, project.name)
	}
	return names, found.err()
}

// mistakes are what is wrong with configuration files, each once.
type mistakes struct {
	files []*file
	all   []mistake
}

type mistake struct {
	of       plan.Problem
	commands []string // that have it
}

// add adds errors of a command; "": of the files as such.
func (m *mistakes) add(command string, errs []error) {
	for _, err := range errs {
		var one *plan.Problem
		if !errors.As(err, &one) {
			one = plan.Refuse("", nil, "%w", err)
		}
		i := slices.IndexFunc(m.all, func(o mistake) bool { return o.of.Error() == one.Error() })
		if i < 0 {
			i, m.all = len(m.all), append(m.all, mistake{of: *one})
		}
		if command != "" {
			m.all[i].commands = append(m.all[i].commands, command)
		}
	}
}

// err joins the mistakes in the order of files and lines. One that a single command has with a setting for all names the command.
func (m *mistakes) err() error {
	slices.SortStableFunc(m.all, func(a, b mistake) int {
		return cmp.Or(strings.Compare(a.of.Source, b.of.Source), cmp.Compare(a.of.Line, b.of.Line))
	})
	var errs []error
	for _, one := range m.all {
		command := ""
		if len(one.commands) == 1 && !slices.ContainsFunc(m.files, func(f *file) bool { // it stands in no section of the command
			return f != nil && slices.Contains(slices.Collect(maps.Values(f.parts[one.commands[0]].at)), one.of.Place())
		}) {
			command = "kt " + one.commands[0]
		}
		if command == "" && one.of.Source == "" { // it was typed
			errs = append(errs, &one.of)
		} else {
			errs = append(errs, one.of.Of(command))
		}
	}
	return errors.Join(errs...)
}
