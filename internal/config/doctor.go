package config

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Doctor is the settings of kt doctor.
type Doctor struct {
	URL       string `flag:"url"` // of another system than Kafka; "": none
	form      `flag:",squash"`
	Bootstrap []string      `flag:"bootstrap-server"`
	Topic     string        `flag:"topic"`
	Duration  time.Duration `flag:"duration"` // of the load to be made
	ReadOnly  bool          `flag:"read-only"`
	Protected string        // the name of the protected cluster that is examined; "": none
	Yes       bool          `flag:"yes"` // try rights there too
	ClientIDs []string      // of the clients of the load; nil: kt's own
	Security  Security
	Warnings  []string
}

// NewDoctor defines the flags of kt doctor on a set.
func NewDoctor(set *pflag.FlagSet) *Doctor { return &Doctor{form: newForm(set, "doctor")} }

// Load applies environment, configuration file and client properties, and makes the checks that need no cluster.
func (d *Doctor) Load(sys System) error { return d.load(sys, d, d.check) }

func (d *Doctor) check(p *problems) {
	b := &builder{layers: d.layers}
	d.client(b)
	if chosen := b.chosen("bootstrap-server", "url"); chosen != "url" && len(d.Bootstrap) > 0 {
		d.URL = "" // of a layer below
	}
	if errors.Join(append(b.problems, d.refused.err())...) == nil && len(d.Bootstrap) == 0 && d.URL == "" {
		b.problems = append(b.problems, needs("kt doctor needs a cluster: give --bootstrap-server HOST:PORT, set KT_BOOTSTRAP_SERVER, or name one of your file with --cluster"))
	}
	d.Protected = d.protected(d.Bootstrap)
	d.Warnings = b.warnings
	*p = append(*p, b.problems...)
}

// client takes what counts here from the properties of a client of Kafka: the brokers, the client id and the security. A
// property of a load is none of kt doctor's; one that no client has is a warning.
func (d *Doctor) client(b *builder) {
	c := newClient("client", Client{Has: func(string) bool { return true }})
	b.clients = []*client{c}
	b.readProperties(c, "command-config", is[string](b.layers, "command-config"))
	b.putPairs(c, "command-property")
	b.own(c, "bootstrap-server", bootstrapProperty, strings.Join(d.Bootstrap, ","))
	b.provide(c)
	d.Security = b.security()
	kafka := b.sys.Kafka
	for _, name := range slices.Sorted(maps.Keys(c.given)) {
		if g := c.given[name]; !kafka.Producer.Has(name) && !kafka.Consumer.Has(name) {
			b.warn("Warning: no client of kt has the property %s (from %s)%s", name, g.Source, hint(name, slices.Concat(kafka.Producer.Names, kafka.Consumer.Names), ""))
		}
	}
	if g, given := c.given[bootstrapProperty]; given {
		d.Bootstrap = named(strings.Split(g.Value, ","))
	}
	if g, given := c.given["client.id"]; given {
		d.ClientIDs = []string{g.Value}
	}
}
