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
// cluster, so they have the same. The brokers of a project file may be somebody else's: only properties of the command
// line are sent there. A cluster that a project file chooses by name is the user's own.
func (b *builder) security() Security {
	ofProject := b.isOfProject()
	taken := make(map[string]plan.Given)
	for _, c := range b.clients {
		for _, name := range slices.Sorted(maps.Keys(c.given)) {
			if b.kafka.Security == nil || !b.kafka.Security(name) {
				continue
			}
			g := c.given[name]
			if ofProject && (b.sys.Untyped || c.levels[name] != fromFlag) {
				b.bad("%s (from %s): the brokers are those of a project file, which may be of somebody else: name them with --bootstrap-server or --cluster to log in there", name, g.Source)
				return Security{}
			}
			if other, twice := taken[name]; twice && other.Value != g.Value {
				b.bad("%s: the producer's (from %s) and the consumer's (from %s) differ; give both the same", name, other.Source, g.Source)
			}
			taken[name] = g
			delete(c.given, name)
		}
	}
	return Security{func() map[string]plan.Given { return taken }}
}

// isOfProject reports whether the brokers are those of a project file.
func (b *builder) isOfProject() bool {
	return b.cluster == "" && (b.sys.OfProject || b.from["bootstrap-server"] == fromProject || b.from["broker-list"] == fromProject || b.from["url"] == fromProject)
}

// SecurityOf returns the security properties in a file of Java properties. is reports whether a
// property is one of security. Others in the file are left out.
func SecurityOf(path string, sys System, is func(name string) bool) (Security, error) {
	c := newClient("", Client{Has: is})
	b := &builder{layers: &layers{sys: sys}, clients: []*client{c}, kafka: Kafka{Security: is}}
	b.readProperties(c, "command-config", path)
	b.provide(c)
	s := b.security()
	return s, errors.Join(b.errs...)
}
