package config

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/properties"
	"github.com/kt-bench/kt/internal/suggest"
)

// client gathers the Java properties of one of Kafka's clients.
type client struct {
	name   string // as it is in the names of Kafka's flags
	known  Client
	given  map[string]plan.Given
	levels map[string]level // that each came from

	servers string // bootstrap.servers of the files, also where another layer overrides it
}

func newClient(name string, known Client) *client {
	return &client{name: name, known: known, given: make(map[string]plan.Given), levels: make(map[string]level)}
}

// put sets a property that came from a layer, unless a higher one has set it.
func (c *client) put(property string, g plan.Given, from level) {
	if from >= c.levels[property] {
		c.given[property], c.levels[property] = g, from
	}
}

// drop removes the settings of a layer and of those below it.
func (c *client) drop(property string, from level) {
	if from >= c.levels[property] {
		delete(c.given, property)
	}
}

// readProperties reads a file of Java properties. As in Java, the last of two values counts.
func (b *builder) readProperties(c *client, flag, path string) {
	if path == "" {
		return
	}
	list, err := readProperties(path)
	if err != nil {
		b.bad(flag, path, "%w", err)
		return
	}
	list, stray := properties.Whole(list)
	for _, s := range stray {
		b.bad("", nil, "--%s %s:%d: %s", flag, path, s.Line, s.Problem())
	}
	lines := make(map[string]int)
	for _, p := range list {
		if first, twice := lines[p.Key]; twice {
			b.warn("%s:%d: %s is in line %d too; the last one counts", path, p.Line, p.Key, first)
		}
		lines[p.Key] = p.Line
		if p.Key == bootstrapProperty && b.from(flag) != fromForeign {
			c.servers = p.Value
		}
		b.take(c, flag, p.Key, plan.Given{Value: p.Value, Source: path + ":" + strconv.Itoa(p.Line)})
	}
}

// take sets a property that a flag gives, if it is one of the client. The name of a flag says if it is for one of them alone. A
// property that neither client has goes to the client with a similar name, which refuses it and says so.
func (b *builder) take(c *client, flag, key string, g plan.Given) {
	only := c
	for _, o := range b.clients { // producer.NAME and consumer.NAME are of one of them
		if name, ok := strings.CutPrefix(key, o.name+"."); ok && o.name != "client" && o.known.Has(name) { // client.id is no property "id"
			only, key = o, name
			break
		}
	}
	has := func(o *client) bool { return o.known.Has(key) }
	switch {
	case b.from(flag) == fromForeign && b.sys.Kafka.Security != nil && b.sys.Kafka.Security(key):
		b.bad("", nil, "%s: it says how clients log in, which the file of a study or a workload must not: give it with --command-config", key)
		return
	case only != c:
		return
	case len(b.clients) == 1, strings.HasPrefix(flag, c.name), has(c):
	case slices.ContainsFunc(b.clients, has):
		return
	default:
		like := slices.IndexFunc(b.clients, func(o *client) bool { return suggest.Nearest(key, o.known.Names) != "" })
		if c != b.clients[max(0, like)] {
			return
		}
	}
	c.put(key, g, b.from(flag))
}

// readProperties returns the Java properties in a file.
func readProperties(path string) ([]properties.Property, error) {
	data, err := input.Read(path, input.Settings)
	if err != nil {
		return nil, err
	}
	return properties.Parse(data)
}

func (b *builder) putPairs(c *client, flag string) {
	for key, value := range b.pairs(flag) {
		if !properties.IsName(key) {
			b.bad(flag, nil, "an item does not begin with the name of a property: write key=value") // it may be of a password
			continue
		}
		b.take(c, flag, key, plan.Given{Value: value, Source: b.value(flag).source})
	}
}

// pairs returns what a list of K=V says; nil: there is none.
func (b *builder) pairs(flag string) map[string]string {
	var out map[string]string
	for _, s := range b.list(flag) {
		key, value, err := splitProperty(flag, s)
		if err != nil {
			b.add(err)
			continue
		}
		if out == nil {
			out = make(map[string]string)
		}
		out[key] = value
	}
	return out
}

// ownFlags turns kt's flags that have a Java property into that property, so that only one
// place knows its meaning.
func (b *builder) ownFlags() {
	for _, c := range b.clients {
		for _, flag := range []string{"broker-list", "bootstrap-server"} {
			b.own(c, flag, bootstrapProperty, strings.Join(b.list(flag), ","))
		}
	}
	b.flags.VisitAll(func(f *pflag.Flag) {
		for _, c := range []*client{b.producer, b.consumer} {
			if v := valueOf(f); v != nil && v.Java[c.name] != "" {
				b.own(c, f.Name, v.Java[c.name], fmt.Sprint(v.is)) // sizes and times are numbers in Java
			}
		}
	})
	b.chosen("acks", "producer-acks")
	if _, ok := b.producer.given["linger.ms"]; !ok && b.oneAtATime && b.sys.Kafka.Takes(b.text("url"), "linger.ms") {
		b.own(b.producer, "one-at-a-time", "linger.ms", "0")
	}
	codec, level, hasLevel := strings.Cut(b.text("compression"), ":")
	b.own(b.producer, "compression", "compression.type", codec)
	if hasLevel {
		b.own(b.producer, "compression", "compression."+codec+".level", level)
	}
	b.own(b.consumer, "no-check-crcs", "check.crcs", strconv.FormatBool(!is[bool](b.layers, "no-check-crcs")))
}

// JavaOf returns the property of Kafka's clients that a flag of a load stands for, and the client, producer or consumer; "": none.
func JavaOf(flag string) (client, property string) {
	for i := range settings {
		for client, property := range settings[i].Java {
			if settings[i].Name == flag {
				return client, property
			}
		}
	}
	return "", ""
}

// own sets the property that a flag stands for, if the flag is given.
func (b *builder) own(c *client, flag, property, value string) {
	if b.given(flag) && !b.isRefused(flag) {
		c.put(property, plan.Given{Value: value, Source: b.value(flag).source}, b.from(flag))
	}
}

// reference matches ${provider:path:key} and ${provider:key}, as Kafka does.
var reference = regexp.MustCompile(`\$\{([^}:]+):(([^}:]*):)?([^}]*)\}`)

// providers are the classes that Kafka ships, without their package.
var providers = []string{"FileConfigProvider", "DirectoryConfigProvider", "EnvVarConfigProvider"}

// provide replaces the references to values that are kept elsewhere. Only providers that
// config.providers names are asked: a ${…} of another kind means itself, as in Java.
func (b *builder) provide(c *client) {
	const property = "config.providers"
	asked := c.given[property]
	classes := make(map[string]string) // of the providers, by their names
	for _, name := range addresses(asked.Value) {
		class := c.given[property+"."+name+".class"].Value
		classes[name] = class[strings.LastIndex(class, ".")+1:]
		if !slices.Contains(providers, classes[name]) {
			b.bad("", nil, "%s.%s.class=%s (from %s): kt knows %s; leave the provider out", property, name, class, asked.Source, suggest.List(providers, "and"))
			delete(classes, name)
		}
	}
	maps.DeleteFunc(c.given, func(name string, _ plan.Given) bool { return name == property || strings.HasPrefix(name, property+".") })
	resolve := func(name string, g plan.Given) string {
		return reference.ReplaceAllStringFunc(g.Value, func(text string) string {
			parts := reference.FindStringSubmatch(text)
			if classes[parts[1]] == "" {
				return text
			}
			value, err := b.lookUp(classes[parts[1]], parts[3], parts[4])
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
	c.servers = resolve(bootstrapProperty, plan.Given{Value: c.servers})
}

// lookUp returns the value that a provider has for a key.
func (b *builder) lookUp(provider, path, key string) (string, error) {
	switch provider {
	case "FileConfigProvider":
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
	case "DirectoryConfigProvider":
		if key == "" || key != filepath.Base(key) {
			return "", errors.New("the key must be the name of a file in the folder")
		}
		data, err := input.Read(filepath.Join(path, key), input.Settings)
		return string(data), err
	}
	if value := b.sys.Getenv(key); value != "" {
		return value, nil
	}
	return "", errors.New("there is no such variable in the environment")
}

// Security is the security properties of a run. They are apart from all others, because a plan, a
// run file and a message to an agent hold none. They are in a function, so that nothing prints them.
type Security struct {
	given func() map[string]plan.Given
	named []string
}

// Given returns the properties.
func (s Security) Given() map[string]plan.Given {
	if s.given == nil {
		return nil
	}
	return s.given()
}

// Named returns the addresses that the owner of the properties named beside them. Credentials are bound to these.
func (s Security) Named() []string { return s.named }

// String returns [hidden].
func (Security) String() string { return "[hidden]" }

// security takes the security properties out of those of the clients, which have the same.
func (b *builder) security() Security {
	taken := make(map[string]plan.Given)
	for _, c := range b.clients {
		for _, name := range slices.Sorted(maps.Keys(c.given)) {
			if b.sys.Kafka.Security == nil || !b.sys.Kafka.Security(name) {
				continue
			}
			g := c.given[name]
			if other, twice := taken[name]; twice && other.Value != g.Value {
				b.bad("", nil, "%s: the producer's (from %s) and the consumer's (from %s) differ; give both the same", name, other.Source, g.Source)
			}
			taken[name] = g
			delete(c.given, name)
		}
	}
	return Security{func() map[string]plan.Given { return taken }, b.owned()}
}

// owned returns the addresses that the owner of the security properties named: those of the cluster in use, of the properties
// files, and of the layers. A project file and the file of a study do not count, because they may be somebody else's.
func (b *builder) owned() []string {
	all := []string{b.servers}
	for _, c := range b.clients {
		all = append(all, c.servers)
		if g := c.given[bootstrapProperty]; !c.levels[bootstrapProperty].isForeign() {
			all = append(all, g.Value)
		}
	}
	if !b.from("url").isForeign() {
		all = append(all, (&plan.Plan{URL: b.text("url")}).Addresses()...)
	}
	return addresses(strings.Join(all, ","))
}

// SecurityOf returns the security properties in a file of Java properties. is reports whether a
// property is one of security. Others in the file are left out. also are addresses that its owner named beside it.
func SecurityOf(path string, also []string, sys System, is func(name string) bool) (Security, error) {
	c := newClient("", Client{Has: is})
	sys.Kafka.Security = is
	b := &builder{layers: &layers{sys: sys, flags: flagSet("")}, problems: new(problems), clients: []*client{c}}
	b.readProperties(c, "command-config", path)
	b.provide(c)
	s := b.security()
	s.named = append(s.named, also...)
	return s, b.err()
}
