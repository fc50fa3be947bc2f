package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/suggest"
)

// envPrefix starts the name of every environment variable that sets a flag.
const envPrefix = "KT"

// System is the sources of a configuration outside its flags.
type System struct {
	Getenv    func(string) string
	Environ   []string // NAME=value, to find variables that were meant for kt and are none
	ConfigDir string   // of the user; "" when there is none

	Profiles func(command string) fs.FS // of a command that makes loads: NAME.yaml; may be nil

	ProjectFile string // "": none

	Kafka Kafka // the properties of Kafka's clients

	LeftOut func(flag string) bool // flags that only the command line sets, beside those of kt that are so always; may be nil

	Warn func(text string) // takes warnings; may be nil

	Addresses func(hosts []string) map[string][]string // returns the IP addresses of names, as far as they are known; may be nil

	check *files // they are checked as a whole: what is wrong with one layer does not end it; nil: it is a run
}

// envName returns the environment variable of a flag: KT_BOOTSTRAP_SERVER for --bootstrap-server.
func envName(flag string) string {
	return envPrefix + "_" + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(flag))
}

// level is the kind of source of a value: a higher one wins.
type level int

const (
	fromDefault level = iota
	fromProfile
	fromUser    // the file of the user, or one that --config names
	fromProject // ./kt.yaml
	fromEnv
	fromForeign // the file of a study: it wins as the command line does
	fromFlag
)

// isForeign reports whether the source may be a file of somebody else, whose addresses get no credentials.
func (l level) isForeign() bool { return l == fromProject || l == fromForeign }

// layer is what one source below the command line says of the flags of a command.
type layer struct {
	*viper.Viper // flag → its texts
	from         level
	at           map[string]string // flag → FILE:LINE, or what else names the source
	chosen       bool              // it is the cluster in use
}

func newLayer(from level) layer {
	return layer{Viper: viper.NewWithOptions(viper.KeyDelimiter("::")), from: from, at: make(map[string]string)}
}

// put sets the texts of a flag, and where they stand. A list in a file is a flag given several times.
func (l layer) put(flag string, texts []string, at string) {
	_ = l.MergeConfigMap(map[string]any{flag: texts}) // which always fits
	l.at[flag] = at
}

// text returns the value of a flag as text, "" if it has none.
func (l layer) text(flag string) string { return strings.Join(l.GetStringSlice(flag), ",") }

// layers are the values of the flags of a command, from the command line and what lies below it.
type layers struct {
	flags   *pflag.FlagSet
	command string // whose section of the files counts
	sys     System

	clusters map[string]Cluster
	cluster  string // the one in use, "": none
	servers  string // of that cluster
}

// apply sets each flag that the command line left alone from the environment, the configuration files, the cluster or the profile.
func (l *layers) apply(sys System) error {
	l.sys = sys
	sys.warnOfStrangers()
	read, err := sys.readFiles(l.text("config"))
	if err != nil {
		return err
	}
	if read.user != nil {
		l.clusters = read.user.clusters
	}
	all := []layer{l.typed(), l.environment(), read.project.of(l.command), read.user.of(l.command)}
	if sys.Profiles != nil && slices.Contains(LoadCommands(), l.command) { // elsewhere --profile is something else, or nothing
		profile, wrong := l.profile(all)
		all, err = append(all, profile), wrong
	}
	if err == nil || sys.check != nil {
		with, wrong := l.applyCluster(all)
		if err = errors.Join(err, wrong); wrong == nil {
			all = with
		}
	}
	if err != nil && sys.check == nil {
		return err
	}
	l.flags.VisitAll(func(f *pflag.Flag) {
		v := valueOf(f)
		if v == nil || v.Typed || sys.LeftOut != nil && sys.LeftOut(f.Name) {
			return
		}
		i := slices.IndexFunc(all, func(o layer) bool {
			return o.IsSet(f.Name) && (f.Name != "cluster" || o.chosen) && !slices.Contains(v.elsewhere, o.text(f.Name))
		})
		if i >= 0 && v.from < fromForeign {
			v.put(all[i].GetStringSlice(f.Name), all[i].at[f.Name], all[i].from)
		}
	})
	return err
}

// typed returns the flags of the command line.
func (l *layers) typed() layer {
	all := newLayer(fromFlag)
	l.flags.Visit(func(f *pflag.Flag) {
		if v := valueOf(f); v != nil {
			all.put(f.Name, v.texts, v.source)
		}
	})
	return all
}

// environment returns the flags that variables set. The items of a list of K=V are separated by spaces, as on the command line.
func (l *layers) environment() layer {
	env := newLayer(fromEnv)
	l.flags.VisitAll(func(f *pflag.Flag) {
		name := envName(f.Name)
		texts := []string{l.sys.Getenv(name)}
		switch items := strings.Fields(texts[0]); {
		case f.Name == "no-color" && l.sys.Getenv("NO_COLOR") != "": // https://no-color.org
			name, texts = "NO_COLOR", []string{"true"}
		case texts[0] == "" && !slices.Contains(l.sys.Environ, name+"="):
			return
		case listFlags["--"+f.Name] && len(items) > 0:
			texts = items
		}
		env.put(f.Name, texts, name)
	})
	return env
}

// warnOfStrangers warns of variables that look like kt's and set nothing: a load that
// ignores KT_BOOTSTRAP_SERVERS goes to the wrong place. It is no error, because other
// programs may have variables of that form. Those of scripts/kafka are known.
func (s System) warnOfStrangers() {
	if s.Warn == nil {
		return
	}
	var names []string
	for _, flag := range flagNames("") {
		names = append(names, envName(flag))
	}
	for _, pair := range s.Environ {
		name, value, _ := strings.Cut(pair, "=")
		if value == "" || !strings.HasPrefix(name, envPrefix+"_") || strings.HasPrefix(name, envPrefix+"_KAFKA_") || slices.Contains(names, name) {
			continue
		}
		if i := slices.IndexFunc(settings, func(s setting) bool { return s.Typed && envName(s.Name) == name }); i >= 0 {
			s.Warn(fmt.Sprintf("%s is ignored: only the command line can say --%s", name, settings[i].Name))
			continue
		}
		near := suggest.Hint(name, names, "")
		if of, flag, found := strings.Cut(strings.TrimPrefix(name, envPrefix+"_"), "_"); found && slices.Contains(Commands(), strings.ToLower(of)) && slices.Contains(names, envPrefix+"_"+flag) {
			near = "; did you mean " + envPrefix + "_" + flag + "?"
		}
		s.Warn(name + " is ignored: kt has no such variable" + near)
	}
}

// value returns the value of a flag; of one that the command does not have: none.
func (l *layers) value(flag string) *value {
	if f := l.flags.Lookup(flag); f != nil && valueOf(f) != nil {
		return valueOf(f)
	}
	return &value{setting: new(setting)}
}

// is returns what the value of a flag means: the zero if the command has no such flag, or nothing gives it a value.
func is[T any](l *layers, flag string) T {
	v, _ := l.value(flag).is.(T)
	return v
}

// text returns the value of a flag as text; "": the command has no such flag, or nothing is given.
func (l *layers) text(flag string) string { return l.value(flag).String() }

// list returns the items of a list.
func (l *layers) list(flag string) []string { return is[[]string](l, flag) }

// from returns the kind of the source of a value.
func (l *layers) from(flag string) level { return l.value(flag).from }

func (l *layers) given(flag string) bool { return l.from(flag) != fromDefault }

// isTyped reports whether a flag was given on the command line, and not by a file or the environment, which speak to every command.
func (l *layers) isTyped(flag string) bool { return l.from(flag) >= fromForeign }

func (l *layers) isRefused(flag string) bool { return len(l.value(flag).refused) > 0 }

// refused returns what flags did not take, each with its place.
func (l *layers) refused() (all []error) {
	l.flags.VisitAll(func(f *pflag.Flag) {
		v := l.value(f.Name)
		for _, p := range v.refused {
			if v.from < fromForeign {
				p = p.From(v.source)
			}
			all = append(all, p)
		}
	})
	return all
}

// profile returns the profile that the command line or the highest of the layers names.
func (l *layers) profile(above []layer) (layer, error) {
	at := slices.IndexFunc(above, func(o layer) bool { return o.IsSet("profile") })
	if at < 0 || above[at].text("profile") == "" {
		return newLayer(fromProfile), nil
	}
	by, name := above[at], above[at].text("profile")
	texts, err := l.readProfile(name)
	for _, flag := range slices.Sorted(maps.Keys(texts.at)) {
		if does := inProject(l.command, flag); err == nil && by.from == fromProject && does != allowed {
			err = plan.Refuse("", nil, "the profile %s %s: name it on the command line", name, does)
		}
	}
	if err != nil {
		texts = newLayer(fromProfile)
	}
	if by.from < fromFlag {
		err = sourced(err, func(p *plan.Problem) *plan.Problem { return p.From(by.at["profile"]) })
	}
	return texts, err
}

// readProfile reads a profile of the command.
func (l *layers) readProfile(name string) (layer, error) {
	data, err := fs.ReadFile(l.sys.Profiles(l.command), name+".yaml")
	if err != nil {
		names := ProfileNames(l.sys.Profiles(l.command))
		for _, other := range LoadCommands() {
			if slices.Contains(ProfileNames(l.sys.Profiles(other)), name) {
				return newLayer(fromProfile), plan.Refuse("profile", name, "it is a profile of kt %s; those of kt %s are %s", other, l.command, strings.Join(names, ", "))
			}
		}
		return newLayer(fromProfile), plan.Refuse("profile", name, "there is no such profile%s", suggest.Hint(name, names, "; there are "+strings.Join(names, ", ")))
	}
	p := parser{from: fromProfile, where: func(int) string { return "profile " + name }}
	entries, err := readYAML(p.where, data)
	texts := p.texts(entries, "", flagNames(l.command))
	if texts.IsSet("at") || texts.IsSet("exec") {
		p.errs = append(p.errs, fmt.Errorf("profile %s: --at and --exec run commands of the user's own: no profile may do so", name))
	}
	return texts, errors.Join(append(p.errs, err)...)
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
