package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/kt-bench/kt/internal/input"
)

// envPrefix starts the name of every environment variable that sets a flag.
const envPrefix = "KT"

// keyDelimiter separates a section from a key in viper. Kafka's own keys have
// dots, viper's default.
const keyDelimiter = "::"

// System is the sources of a configuration outside its flags.
type System struct {
	Getenv    func(string) string
	Environ   []string // NAME=value, to find variables that were meant for kt and are none
	ConfigDir string   // of the user; "" when there is none
	Profiles  fs.FS    // of the command: NAME.yaml

	Warn func(text string) // takes warnings; may be nil
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
	fromFile
	fromEnv
	fromFlag
)

// layers sets every flag that the command line left alone from the environment,
// the configuration file or the profile, and remembers the source of each.
type layers struct {
	flags   *pflag.FlagSet
	command string
	all     []string // the flags of every command: a setting of another command is no mistake
	sys     System
	sources map[string]string // flag → where its value came from
	from    map[string]layer  // flag → the kind of that source
	nearest Nearest
}

// loadLayers sets the flags of a command, which were parsed, from the layers below its
// command line. file and profile are --config and --profile, "" when they are not given;
// a command without profiles has no sys.Profiles.
func loadLayers(set *pflag.FlagSet, command, file, profile string, sys System, nearest Nearest) (*layers, error) {
	l := &layers{
		flags: set, command: command, all: allFlags(), sys: sys, nearest: nearest,
		sources: make(map[string]string), from: make(map[string]layer),
	}
	if sys.Profiles != nil { // elsewhere --profile is something else, or nothing
		profile = cmp.Or(profile, sys.Getenv(envName("profile")))
	}
	return l, l.apply(cmp.Or(file, sys.Getenv(envName("config"))), profile)
}

// apply reads the layers.
func (l *layers) apply(file, profile string) error {
	l.warnOfStrangers()
	inFile, fileName, err := l.readFile(file)
	if err != nil {
		return err
	}
	if profile == "" && inFile != nil && l.sys.Profiles != nil {
		profile, _ = inFile.Get("profile").(string)
	}
	inProfile, err := l.readProfile(profile)
	if err != nil {
		return err
	}
	var errs []error
	l.flags.VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Changed, isOnlyTyped(f):
			l.sources[f.Name], l.from[f.Name] = "--"+f.Name, fromFlag
		case f.Name == "no-color" && l.sys.Getenv("NO_COLOR") != "": // https://no-color.org
			errs = append(errs, l.set(f, true, fromEnv, "NO_COLOR"))
		case l.sys.Getenv(envName(f.Name)) != "":
			errs = append(errs, l.set(f, split(f, l.sys.Getenv(envName(f.Name))), fromEnv, envName(f.Name)))
		case inFile != nil && inFile.IsSet(f.Name):
			errs = append(errs, l.set(f, inFile.Get(f.Name), fromFile, fileName))
		case inProfile != nil && inProfile.IsSet(f.Name):
			errs = append(errs, l.set(f, inProfile.Get(f.Name), fromProfile, "profile "+profile))
		default:
			l.sources[f.Name] = "default"
		}
	})
	return errors.Join(errs...)
}

// warnOfStrangers warns of variables that look like kt's and set nothing: a load that
// ignores KT_BOOTSTRAP_SERVERS goes to the wrong place. It is no error, because other
// programs may have variables of that form. Those of scripts/kafka are known.
func (l *layers) warnOfStrangers() {
	if l.sys.Warn == nil {
		return
	}
	var names []string
	for _, flag := range l.all {
		names = append(names, envName(flag))
	}
	for _, pair := range l.sys.Environ {
		name, value, _ := strings.Cut(pair, "=")
		if value == "" || !strings.HasPrefix(name, envPrefix+"_") || strings.HasPrefix(name, envPrefix+"_KAFKA_") || slices.Contains(names, name) {
			continue
		}
		l.sys.Warn(name + " is ignored: kt has no such variable" + l.suggest(name, names))
	}
}

// split takes the environment's value of a list flag apart as ExpandLists does the
// command line's: at spaces.
func split(f *pflag.Flag, value string) any {
	if !listFlags["--"+f.Name] {
		return value
	}
	var list []any
	for item := range strings.FieldsSeq(value) {
		list = append(list, item)
	}
	return list
}

// set gives a flag a value from another layer. A list in a file is a flag given
// several times.
func (l *layers) set(f *pflag.Flag, value any, from layer, source string) error {
	values := []any{value}
	if list, ok := value.([]any); ok {
		values = list
	}
	for _, v := range values {
		switch v.(type) {
		case string, bool, int, int64, uint64, float64:
		default: // a section, a date, nothing
			return fmt.Errorf("%s: %s: %v is no single value; put text in quotes", source, f.Name, v)
		}
		if err := l.flags.Set(f.Name, fmt.Sprint(v)); err != nil {
			return fmt.Errorf("%s: %s %q: %w", source, f.Name, fmt.Sprint(v), Unfit(f, err))
		}
	}
	l.sources[f.Name], l.from[f.Name] = source, from
	_ = l.flags.SetAnnotation(f.Name, layered, []string{"true"}) // the flag exists
	return nil
}

// readFile reads the configuration file: keys are flag names, at the top for
// every command that has such a flag, and in a section with the command's name
// for that command alone. Without --config a missing file is no error, and one that may not be read
// is a warning.
func (l *layers) readFile(path string) (*viper.Viper, string, error) {
	asked := path != ""
	if !asked {
		if l.sys.ConfigDir == "" {
			return nil, "", nil
		}
		path = filepath.Join(l.sys.ConfigDir, "kt", "config.yaml")
	}
	data, err := input.Read(path, input.Settings)
	var refused syscall.Errno
	switch {
	case err == nil:
	case !asked && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)):
		return nil, "", nil
	case !asked && errors.As(err, &refused): // as in a container with a user of its own
		if l.sys.Warn != nil {
			l.sys.Warn(fmt.Sprintf("the configuration file %s is left out, because it cannot be read: %v; name another with --config", path, err))
		}
		return nil, "", nil
	case !asked:
		return nil, "", fmt.Errorf("configuration file %s: %w", path, err)
	default:
		return nil, "", fmt.Errorf("--config %s: %w", path, err)
	}
	v, err := l.decode(path, data, l.all)
	return v, path, err
}

func (l *layers) readProfile(name string) (*viper.Viper, error) {
	if name == "" {
		return nil, nil
	}
	data, err := fs.ReadFile(l.sys.Profiles, name+".yaml")
	if err != nil {
		names := ProfileNames(l.sys.Profiles)
		return nil, fmt.Errorf("--profile %s: there is no such profile; there are %s", name, strings.Join(names, ", "))
	}
	v, err := l.decode("profile "+name, data, flagNames(l.flags))
	if err == nil && (v.IsSet("at") || v.IsSet("exec")) {
		err = fmt.Errorf("profile %s: --at and --exec run commands of the user's own: no profile may do so", name)
	}
	return v, err
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

// decode reads YAML, lifts the command's section to the top and refuses keys that
// are no flags: at the top others than those in known.
func (l *layers) decode(name string, data []byte, known []string) (*viper.Viper, error) {
	v := viper.NewWithOptions(viper.KeyDelimiter(keyDelimiter))
	v.SetConfigType("yaml")
	if err := v.ReadConfig(strings.NewReader(string(data))); err != nil {
		return nil, fmt.Errorf("%s: %s; write a flag and its value on each line, as rate: 50k", name, yamlWords.Replace(err.Error()))
	}
	settings := v.AllSettings()
	section, isSection := settings[l.command].(map[string]any)
	if settings[l.command] != nil && !isSection {
		return nil, fmt.Errorf("%s: %s: it is a section: put keys below it", name, l.command)
	}
	for _, c := range sections() {
		delete(settings, c)
	}
	flat := viper.NewWithOptions(viper.KeyDelimiter(keyDelimiter))
	var errs []error
	for _, part := range []struct {
		values map[string]any
		known  []string
		path   string
	}{{settings, known, ""}, {section, flagNames(l.flags), l.command + "."}} {
		for _, key := range slices.Sorted(maps.Keys(part.values)) {
			if key != "description" && !slices.Contains(part.known, key) {
				errs = append(errs, fmt.Errorf("%s: unknown key %q%s", name, part.path+key, l.suggest(key, part.known)))
				continue
			}
			flat.Set(key, part.values[key])
		}
	}
	return flat, errors.Join(errs...)
}

// yamlWords says in a person's words what the library says in Go's.
var yamlWords = strings.NewReplacer("While parsing config: ", "", "yaml: unmarshal errors:\n  ", "", "yaml: ", "",
	"cannot unmarshal !!str", "the text", "cannot unmarshal !!seq", "a list", "cannot unmarshal !!int", "the number",
	" into map[string]interface {}", " is no flag with a value", "mapping key", "the flag")

// allFlags returns the names of the flags of every command, sorted.
func allFlags() []string {
	var names []string
	for _, c := range commands {
		names = append(names, flagNames(newFlags(pflag.NewFlagSet("", pflag.ContinueOnError), c).set)...)
	}
	for _, define := range otherCommands {
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		define(set)
		names = append(names, flagNames(set)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// sections returns the names of the commands that may have a section in the file.
func sections() []string {
	names := slices.Collect(maps.Keys(otherCommands))
	for _, c := range commands {
		names = append(names, string(c))
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

// suggest is "; did you mean X?" for the nearest name, or nothing.
func (l *layers) suggest(key string, among []string) string {
	if n := l.nearest(key, among); n != "" {
		return fmt.Sprintf("; did you mean %s?", n)
	}
	return ""
}
