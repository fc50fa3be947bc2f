package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/secret"
)

// envPrefix starts the name of every environment variable that sets a flag.
const envPrefix = "KT"

// System is the sources of a configuration outside its flags.
type System struct {
	Getenv    func(string) string
	Environ   []string // NAME=value, to find variables that were meant for kt and are none
	ConfigDir string   // of the user; "" when there is none
	Profiles  fs.FS    // of the command: NAME.yaml

	ProfilesOf func(command string) fs.FS // of another command, to say whose a profile is; may be nil

	ProjectFile string // "": none

	Foreign func(flag string) bool // flags that look typed and stand in a file that may be somebody else's; may be nil

	LeftOut func(flag string) bool // flags that only the command line sets, beside those of kt that are so always; may be nil

	Warn func(text string) // takes warnings; may be nil

	Addresses func(hosts []string) map[string][]string // returns the IP addresses of names, as far as they are known; may be nil

	check *checking // nil: it is a run, which ends with the first layer that is wrong
}

// envName returns the environment variable of a flag: KT_BOOTSTRAP_SERVER for
// --bootstrap-server.
func envName(flag string) string {
	return envPrefix + "_" + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(flag))
}

// layer is the kind of source of a value: a higher one wins.
type layer int

const (
	fromDefault layer = iota
	fromProfile
	fromUser    // the file of the user, or one that --config names
	fromProject // ./kt.yaml
	fromEnv
	fromForeign // the file of a study: it wins as the command line does
	fromFlag
)

// isForeign reports whether the source may be a file of somebody else, whose addresses get no credentials.
func (l layer) isForeign() bool { return l == fromProject || l == fromForeign }

// layers sets every flag that the command line left alone from the environment, the
// configuration files, the cluster or the profile, and remembers the source of each.
type layers struct {
	flags   *pflag.FlagSet
	command string
	sys     System
	sources map[string]string // flag → where its value came from
	from    map[string]layer  // flag → the kind of that source
	nearest Nearest

	clusters map[string]Cluster
	cluster  string   // the one in use, "": none
	servers  []string // of that cluster
}

// fill is a layer below the command line.
type fill struct {
	from layer
	of   settings
}

// loadLayers sets the flags of a command, which were parsed, from the layers below its
// command line. file and profile are --config and --profile, "" when they are not given;
// a command without profiles has no sys.Profiles.
func loadLayers(set *pflag.FlagSet, command, file, profile string, sys System, nearest Nearest) (*layers, error) {
	l := &layers{
		flags: set, command: command, sys: sys, nearest: nearest,
		sources: make(map[string]string), from: make(map[string]layer),
	}
	if sys.check != nil {
		sys.check.layers = l
	}
	return l, l.apply(file, profile)
}

// apply reads the layers.
func (l *layers) apply(file, profile string) error {
	l.sys.warnOfStrangers(l.nearest)
	project, user, err := l.sys.readFiles(file, l.nearest)
	if err != nil {
		return err
	}
	if user != nil {
		l.clusters = user.clusters
	}
	fills := []fill{{fromEnv, l.environment()}, {fromProject, project.of(l.command)}, {fromUser, user.of(l.command)}}
	if l.sys.Profiles != nil { // elsewhere --profile is something else, or nothing
		var by fill
		set := typedOn(l.flags.Lookup("profile"))
		for _, f := range fills {
			if _, ok := f.of["profile"]; ok && !set {
				profile, by, set = f.of.text("profile"), f, true
			}
		}
		inProfile, err := l.readProfile(profile)
		for _, key := range slices.Sorted(maps.Keys(inProfile)) {
			if does := inProject(l.command, key); err == nil && by.from == fromProject && does != "" && key != "description" {
				err = fmt.Errorf("%s: the profile %s %s: name it on the command line", by.of["profile"].source, profile, does)
			}
		}
		if err = l.sys.passed(err); err != nil {
			return err
		}
		fills = append(fills, fill{fromProfile, inProfile})
	}
	if l.sys.check != nil {
		fills = append(fills, fill{fromProfile, typedLater})
	}
	withCluster, err := l.applyCluster(fills)
	if err == nil {
		fills = withCluster
	} else if err = l.sys.passed(err); err != nil {
		return err
	}
	var errs []error
	l.flags.VisitAll(func(f *pflag.Flag) {
		l.sources[f.Name] = "default"
		if f.Changed {
			l.sources[f.Name], l.from[f.Name] = "--"+f.Name, fromFlag
			if l.isTheirs(f.Name) {
				l.from[f.Name] = fromForeign
			}
			return
		}
		for _, layer := range fills {
			if s, ok := layer.of[f.Name]; ok && !isOnlyTyped(f) && !l.sys.leavesOut(f.Name) {
				errs = append(errs, l.sys.passed(l.set(f, s, layer.from)))
				return
			}
		}
	})
	return errors.Join(errs...)
}

// leavesOut reports whether a value of a flag counts on the command line alone.
func (s System) leavesOut(flag string) bool { return s.LeftOut != nil && s.LeftOut(flag) }

// environment returns the flags that variables set.
func (l *layers) environment() settings {
	s := make(settings)
	l.flags.VisitAll(func(f *pflag.Flag) {
		name := envName(f.Name)
		switch value := l.sys.Getenv(name); {
		case f.Name == "no-color" && l.sys.Getenv("NO_COLOR") != "": // https://no-color.org
			s[f.Name] = setting{[]string{"true"}, "NO_COLOR"}
		case value != "" || slices.Contains(l.sys.Environ, name+"="):
			s[f.Name] = setting{split(f, value), name}
		}
	})
	return s
}

// text returns the value of a flag as text, "" if it has none.
func (s settings) text(flag string) string { return strings.Join(s[flag].values, ",") }

// warnOfStrangers warns of variables that look like kt's and set nothing: a load that
// ignores KT_BOOTSTRAP_SERVERS goes to the wrong place. It is no error, because other
// programs may have variables of that form. Those of scripts/kafka are known.
func (s System) warnOfStrangers(nearest Nearest) {
	if s.Warn == nil {
		return
	}
	var names []string
	for _, flag := range knownKeys()[""] {
		names = append(names, envName(flag))
	}
	for _, pair := range s.Environ {
		name, value, _ := strings.Cut(pair, "=")
		if value == "" || !strings.HasPrefix(name, envPrefix+"_") || strings.HasPrefix(name, envPrefix+"_KAFKA_") || slices.Contains(names, name) {
			continue
		}
		if flag := typedFlag(name); flag != "" {
			s.Warn(fmt.Sprintf("%s is ignored: only the command line can say --%s", name, flag))
			continue
		}
		hint := nearest.hint(name, names, "")
		if of, flag, found := strings.Cut(strings.TrimPrefix(name, envPrefix+"_"), "_"); found && slices.Contains(Commands(), strings.ToLower(of)) && slices.Contains(names, envPrefix+"_"+flag) {
			hint = "; did you mean " + envPrefix + "_" + flag + "?"
		}
		s.Warn(name + " is ignored: kt has no such variable" + hint)
	}
}

// typedFlag returns the flag of a variable if only the command line sets that flag; "": it is no such flag.
func typedFlag(variable string) (name string) {
	for _, define := range definitions() {
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		define(set)
		set.VisitAll(func(f *pflag.Flag) {
			if isOnlyTyped(f) && envName(f.Name) == variable {
				name = f.Name
			}
		})
	}
	return name
}

// split returns the items of a list flag that the environment sets. They are separated by
// spaces, as on the command line (see ExpandLists).
func split(f *pflag.Flag, value string) []string {
	if items := strings.Fields(value); listFlags["--"+f.Name] && len(items) > 0 {
		return items
	}
	return []string{value}
}

// set gives a flag a value from another layer. A list in a file is a flag given
// several times.
func (l *layers) set(f *pflag.Flag, s setting, from layer) error {
	if _, isList := f.Value.(pflag.SliceValue); len(s.values) == 0 && !isList {
		return fmt.Errorf("%s: %s: the list is empty: give a value, or leave the line out", s.source, f.Name)
	}
	for _, v := range s.values {
		secret.LearnFrom(v)
		if err := l.flags.Set(f.Name, v); err != nil {
			return fmt.Errorf("%s: %s %q: %w", s.source, f.Name, v, Unfit(f, err))
		}
	}
	l.sources[f.Name], l.from[f.Name] = s.source, from
	_ = l.flags.SetAnnotation(f.Name, layered, []string{"true"}) // the flag exists
	return nil
}

// readProfile reads a profile of the command; "": none.
func (l *layers) readProfile(name string) (settings, error) {
	if name == "" {
		return nil, nil
	}
	data, err := fs.ReadFile(l.sys.Profiles, name+".yaml")
	if err != nil {
		names := ProfileNames(l.sys.Profiles)
		for _, other := range commands {
			if l.sys.ProfilesOf != nil && slices.Contains(ProfileNames(l.sys.ProfilesOf(string(other))), name) {
				return nil, fmt.Errorf("--profile %s: it is a profile of kt %s; those of kt %s are %s", name, other, l.command, strings.Join(names, ", "))
			}
		}
		return nil, fmt.Errorf("--profile %s: there is no such profile%s", name, l.nearest.hint(name, names, "; there are "+strings.Join(names, ", ")))
	}
	where := func(int) string { return "profile " + name }
	entries, err := readYAML(where, data)
	if err != nil {
		return nil, err
	}
	p := parser{where: where, nearest: l.nearest}
	s := p.settings(entries, "", flagNames(l.flags))
	for _, key := range []string{"at", "exec"} {
		if _, ok := s[key]; ok {
			p.errs = append(p.errs, fmt.Errorf("profile %s: --at and --exec run commands of the user's own: no profile may do so", name))
		}
	}
	return s, errors.Join(p.errs...)
}

// ProfileNames lists the profiles of a command.
func ProfileNames(profiles fs.FS) []string {
	var names []string
	files, _ := fs.Glob(profiles, "*.yaml") // the pattern is right, so there is no error
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f, ".yaml"))
	}
	return names
}

// flagNames returns the flags that a file or the environment may set, sorted.
func flagNames(set *pflag.FlagSet) []string {
	var names []string
	set.VisitAll(func(f *pflag.Flag) {
		if !isOnlyTyped(f) {
			names = append(names, f.Name)
		}
	})
	slices.Sort(names)
	return names
}
