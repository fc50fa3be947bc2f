package config

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/plan"
)

// reference matches ${provider:path:key} and ${provider:key}, as Kafka does.
var reference = regexp.MustCompile(`\$\{([^}:]+):(([^}:]*):)?([^}]*)\}`)

// providers are the classes that Kafka ships, by their names without the package, with what looks
// a value up.
var providers = map[string]func(sys lookup, path, key string) (string, error){
	"FileConfigProvider":      lookup.inFile,
	"DirectoryConfigProvider": lookup.inFolder,
	"EnvVarConfigProvider":    lookup.inEnvironment,
}

// lookup is where values are looked up.
type lookup struct{ getenv func(string) string }

// provide replaces the references to values that are kept elsewhere. Only providers that
// config.providers names are asked: a ${…} of another kind means itself, as in Java.
func (b *builder) provide(c *client) {
	const property = "config.providers"
	asked := c.given[property]
	found := make(map[string]func(lookup, string, string) (string, error))
	for _, name := range named(strings.Split(asked.Value, ",")) {
		class := c.given[property+"."+name+".class"].Value
		find := providers[class[strings.LastIndex(class, ".")+1:]]
		if find == nil {
			b.bad("", nil, "%s.%s.class=%s (from %s): kt knows FileConfigProvider, DirectoryConfigProvider and EnvVarConfigProvider; leave the provider out", property, name, class, asked.Source)
			continue
		}
		found[name] = find
	}
	maps.DeleteFunc(c.given, func(name string, _ plan.Given) bool { return name == property || strings.HasPrefix(name, property+".") })
	resolve := func(name string, g plan.Given) string {
		return reference.ReplaceAllStringFunc(g.Value, func(text string) string {
			parts := reference.FindStringSubmatch(text)
			find := found[parts[1]]
			if find == nil {
				return text
			}
			value, err := find(lookup{b.sys.Getenv}, parts[3], parts[4])
			if err != nil {
				b.bad("", nil, "%s=%s (from %s): %w", name, text, g.Source, err)
			}
			return value
		})
	}
	for _, name := range slices.Sorted(maps.Keys(c.given)) {
		g := c.given[name]
		g.Value = resolve(name, g)
		c.given[name] = g
	}
	for i, text := range c.servers {
		c.servers[i] = resolve(bootstrapProperty, plan.Given{Value: text})
	}
}

// inFile looks a key up in a properties file.
func (lookup) inFile(path, key string) (string, error) {
	list, err := readProperties(path)
	if err != nil {
		return "", err
	}
	for _, p := range slices.Backward(list) { // Java takes the last one
		if p.Key == key {
			return p.Value, nil
		}
	}
	return "", fmt.Errorf("the file has no key %s", key)
}

// inFolder reads a file, whose name is the key.
func (lookup) inFolder(path, key string) (string, error) {
	if key == "" || key != filepath.Base(key) {
		return "", errors.New("the key must be the name of a file in the folder")
	}
	data, err := input.Read(filepath.Join(path, key), input.Settings)
	return string(data), err
}

// inEnvironment reads a variable of the environment.
func (l lookup) inEnvironment(_, key string) (string, error) {
	if value := l.getenv(key); value != "" {
		return value, nil
	}
	return "", errors.New("there is no such variable in the environment")
}
