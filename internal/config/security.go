package config

import (
	"errors"
	"maps"
	"slices"

	"github.com/kt-bench/kt/internal/plan"
)

// Security is the security properties of a run. They are apart from all others, because a plan, a
// run file and a message to an agent hold none. They are in a function, so that nothing prints them.
type Security struct{ given func() map[string]plan.Given }

// Given returns the properties.
func (s Security) Given() map[string]plan.Given {
	if s.given == nil {
		return nil
	}
	return s.given()
}

// String returns [hidden].
func (Security) String() string { return "[hidden]" }

// security takes the security properties out of those of the clients. Both clients go to one
// cluster, so they have the same.
func (b *builder) security() Security {
	taken := make(map[string]plan.Given)
	for _, c := range b.clients {
		for _, name := range slices.Sorted(maps.Keys(c.given)) {
			if b.kafka.Security == nil || !b.kafka.Security(name) {
				continue
			}
			g := c.given[name]
			if other, twice := taken[name]; twice && other.Value != g.Value {
				b.bad("%s: the producer's (from %s) and the consumer's (from %s) differ; give both the same", name, other.Source, g.Source)
			}
			taken[name] = g
			delete(c.given, name)
		}
	}
	if b.from["bootstrap-server"] == fromProject || b.from["broker-list"] == fromProject {
		for _, name := range slices.Sorted(maps.Keys(taken)) {
			if b.from["command-config"] != fromFlag && b.from["command-property"] != fromFlag {
				b.bad("%s (from %s): the brokers are those of a project file, which may be of somebody else: name them with --bootstrap-server or --cluster to log in there", name, taken[name].Source)
				return Security{}
			}
		}
	}
	return Security{func() map[string]plan.Given { return taken }}
}

// SecurityOf returns the security properties in a file of Java properties. is reports whether a
// property is one of security. Others in the file are left out.
func SecurityOf(path string, sys System, is func(name string) bool) (Security, error) {
	c := newClient("", Client{Has: is})
	b := &builder{f: &Flags{}, clients: []*client{c}, kafka: Kafka{Security: is}, getenv: sys.Getenv}
	b.readProperties(c, "command-config", path)
	b.provide(c)
	s := b.security()
	return s, errors.Join(b.errs...)
}
