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
	"github.com/kt-bench/kt/internal/secret"
	"github.com/kt-bench/kt/internal/suggest"
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

	Kafka Kafka // the properties of Kafka's clients

	Foreign func(flag string) bool // flags that look typed and stand in a file that may be somebody else's; may be nil

	LeftOut func(flag string) bool // flags that only the command line sets, beside those of kt that are so always; may be nil

	Warn func(text string) // takes warnings; may be nil

	Addresses func(hosts []string) map[string][]string // returns the IP addresses of names, as far as they are known; may be nil

	check *checking // nil: it is a run, which ends with the first layer that is wrong
	shows bool      // values are shown, also those that no run takes
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

// layers sets every flag that the command line left alone from the environment, the
// configuration files, the cluster or the profile, and remembers the source of each.
type layers struct {
	flags   *pflag.FlagSet
	command string
	sys     System
	sources map[string]string // flag → where its value came from
	from    map[string]level  // flag → the kind of that source

	refused  problems // of single values
	clusters map[string]Cluster
	cluster  string   // the one in use, "": none
	servers  []string // of that cluster
}

// loadLayers sets the flags of a command, which were parsed, from the layers below its command line.
func loadLayers(set *pflag.FlagSet, command string, sys System) (*layers, error) {
	l := &layers{flags: set, command: command, sys: sys, sources: make(map[string]string), from: make(map[string]level)}
	if sys.check != nil {
		sys.check.layers = l
	}
	err := l.apply()
	if err != nil { // what was typed is told beside it
		set.VisitAll(func(f *pflag.Flag) {
			for i := 0; of(f) != nil && typedOn(f) && i < len(of(f).refused); i++ {
				err = errors.Join(err, of(f).refused[i])
			}
		})
	}
	return l, err
}

// apply reads the layers.
func (l *layers) apply() error {
	l.sys.warnOfStrangers()
	project, user, err := l.sys.readFiles(l.typedText("config"))
	if err != nil {
		return err
	}
	if user != nil {
		l.clusters = user.clusters
	}
	all := []layer{l.typed(), l.environment(), project.of(l.command, fromProject), user.of(l.command, fromUser)}
	if l.sys.Profiles != nil { // elsewhere --profile is something else, or nothing
		inProfile, err := l.profile(all)
		if err = l.sys.passed(err); err != nil {
			return err
		}
		all = append(all, inProfile)
	}
	if l.sys.check != nil {
		later := newLayer(fromProfile) // what a command needs beyond the files: a command line gives it
		later.put("bootstrap-server", []string{"localhost:9092"}, fromNobody)
		later.put("topic", []string{"kt-bench"}, fromNobody)
		all = append(all, later)
	}
	withCluster, err := l.applyCluster(all)
	if err = l.sys.passed(err); err != nil {
		return err
	} else if withCluster != nil {
		all = withCluster
	}
	l.flags.VisitAll(func(f *pflag.Flag) {
		v := of(f)
		l.sources[f.Name] = fromNobody
		for _, from := range all {
			isTyped := from.from == fromFlag && !from.chosen
			switch {
			case v == nil || !from.IsSet(f.Name) || f.Name == "cluster" && !from.chosen && !isTyped:
				continue
			case isTyped && l.isTheirs(f.Name):
				l.note(v, "--"+f.Name, fromForeign)
			case isTyped:
				l.note(v, "--"+f.Name, fromFlag)
			case !v.Typed && (l.sys.LeftOut == nil || !l.sys.LeftOut(f.Name)):
				l.set(f, from.GetStringSlice(f.Name), from.at[f.Name], from.from)
			}
			return
		}
	})
	return nil
}

// typed returns the flags of the command line.
func (l *layers) typed() layer {
	all := newLayer(fromFlag)
	l.flags.Visit(func(f *pflag.Flag) {
		if v := of(f); v != nil && typedOn(f) {
			all.put(f.Name, slices.Clone(v.texts), "--"+f.Name)
		}
	})
	return all
}

// typedText returns the text of a flag that was typed, "" if it was not.
func (l *layers) typedText(flag string) string {
	if f := l.flags.Lookup(flag); f != nil && f.Changed {
		return f.Value.String()
	}
	return ""
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

// set gives a flag the texts of a layer.
func (l *layers) set(f *pflag.Flag, texts []string, source string, from level) {
	v := of(f)
	if len(texts) == 0 && !v.isList() {
		v.refused = append(v.refused, plan.Refuse(f.Name, nil, "the list is empty: give a value, or leave the line out"))
	}
	secret.LearnFrom(texts...)
	for _, text := range texts {
		_ = l.flags.Set(f.Name, text) // it keeps what is wrong
	}
	if len(v.refused) > 0 && l.sys.shows {
		v.texts = texts
	}
	v.below = true
	l.note(v, source, from)
}

// note remembers where the value of a flag comes from, and what is wrong with it.
func (l *layers) note(v *value, source string, from level) {
	for _, p := range v.refused {
		if from < fromForeign {
			p = p.From(source)
		}
		l.refused = append(l.refused, p)
	}
	l.sources[v.Name], l.from[v.Name] = source, from
}

// typedOn reports whether a flag was given on the command line, and not by a file or
// the environment, which speak to every command.
func typedOn(f *pflag.Flag) bool { return f.Changed && !of(f).below }

// is returns what the value of a flag means: the zero if the command has no such flag, or nothing gives it a value.
func is[T any](l *layers, flag string) (zero T) {
	if f := l.flags.Lookup(flag); f != nil {
		if v, ok := of(f).is.(T); ok {
			return v
		}
	}
	return zero
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
		err = sourced(err, map[string]string{"profile": by.at["profile"], "": by.at["profile"]}, func(*plan.Problem) {})
	}
	return texts, err
}

// readProfile reads a profile of the command.
func (l *layers) readProfile(name string) (layer, error) {
	data, err := fs.ReadFile(l.sys.Profiles, name+".yaml")
	if err != nil {
		names := ProfileNames(l.sys.Profiles)
		for _, other := range LoadCommands() {
			if l.sys.ProfilesOf != nil && slices.Contains(ProfileNames(l.sys.ProfilesOf(other)), name) {
				return layer{}, plan.Refuse("profile", name, "it is a profile of kt %s; those of kt %s are %s", other, l.command, strings.Join(names, ", "))
			}
		}
		return layer{}, plan.Refuse("profile", name, "there is no such profile%s", suggest.Hint(name, names, "; there are "+strings.Join(names, ", ")))
	}
	p := parser{from: fromProfile, where: func(int) string { return "profile " + name }}
	entries, err := readYAML(p.where, data)
	if err != nil {
		return layer{}, err
	}
	texts := p.texts(entries, "", flagNames(l.command))
	if texts.IsSet("at") || texts.IsSet("exec") {
		p.errs = append(p.errs, fmt.Errorf("profile %s: --at and --exec run commands of the user's own: no profile may do so", name))
	}
	return texts, errors.Join(p.errs...)
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
