package config

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/plan"
)

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

// security takes the security properties out of those of the clients. Both clients go to one
// cluster, so they have the same.
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
	all := slices.Clone(b.servers)
	for _, c := range b.clients {
		all = append(all, c.servers...)
		if g := c.given[bootstrapProperty]; !c.levels[bootstrapProperty].isForeign() {
			all = append(all, g.Value)
		}
	}
	if !b.from["url"].isForeign() {
		all = append(all, (&plan.Plan{URL: b.text("url")}).Addresses()...)
	}
	return named(strings.Split(strings.Join(all, ","), ","))
}

// SecurityOf returns the security properties in a file of Java properties. is reports whether a
// property is one of security. Others in the file are left out. also are addresses that its owner named beside it.
func SecurityOf(path string, also []string, sys System, is func(name string) bool) (Security, error) {
	c := newClient("", Client{Has: is})
	sys.Kafka.Security = is
	b := &builder{layers: &layers{sys: sys, flags: flagSet("")}, clients: []*client{c}}
	b.readProperties(c, "command-config", path)
	b.provide(c)
	s := b.security()
	s.named = append(s.named, also...)
	return s, errors.Join(b.problems...)
}
