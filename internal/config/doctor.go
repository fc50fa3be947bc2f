package config

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
)

// Doctor is the settings of kt doctor.
type Doctor struct {
	Bootstrap []string
	URL       string // of another system than Kafka; "": none
	Topic     string
	Duration  time.Duration // of the load to be made
	ReadOnly  bool
	Protected string   // the name of the protected cluster that is examined; "": none
	Yes       bool     // try rights there too
	ClientIDs []string // of the clients of the load; nil: kt's own
	Security  Security
	Warnings  []string
	form

	cluster      string
	duration     string
	propertyFile string
	properties   []string
}

// NewDoctor defines the flags of kt doctor on a set.
func NewDoctor(set *pflag.FlagSet) *Doctor {
	d := new(Doctor)
	group(set, groupTarget, func() {
		set.StringSliceVar(&d.Bootstrap, "bootstrap-server", nil, bootstrapUsage)
		defineCluster(set, &d.cluster)
		set.StringVar(&d.URL, "url", "", "`URL` of RabbitMQ or Pulsar, which kt doctor does not examine")
		_ = set.MarkHidden("url") // it exists
		set.StringVar(&d.Topic, "topic", defaultTopic, "`NAME` of the topic of the load; it need not exist")
	})
	group(set, groupChecks, func() {
		set.StringVar(&d.duration, "duration", "1h", "`TIME` that the load is to take: retention must be longer")
		set.BoolVar(&d.ReadOnly, "read-only", false, "make no topic: leave out what this client may do, and the clocks")
		set.BoolVarP(&d.Yes, "yes", "y", false, "make a topic on a cluster that is marked as protected too")
		typed(set, "yes")
	})
	group(set, groupClient, func() {
		set.StringVar(&d.propertyFile, "command-config", "", "properties `FILE` of a client of Kafka, with its security")
		set.StringArrayVar(&d.properties, "command-property", nil, "client properties `K=V` by their Java names; may be repeated")
	})
	d.defineForm(set, "doctor", DocumentOutputs, nil)
	return d
}

// Load applies environment, configuration file and client properties, and makes the checks that need no cluster.
func (d *Doctor) Load(sys System, kafka Kafka) error {
	l, err := loadLayers(d.set, d.command, d.config, "", sys, kafka.Nearest)
	if err != nil {
		return err
	}
	b := &builder{layers: l, kafka: kafka}
	b.errs = append(b.errs, d.checkForm(kafka.Nearest))
	if err := plan.CheckTopic(d.Topic); err != nil {
		b.bad("--topic %q: %w", d.Topic, err)
	}
	b.errs = append(b.errs, timeOf(&d.Duration, "duration", d.duration, 0, "(90s, 5m, 24h)"))
	d.client(b)
	if _, err := plan.ParseURL(d.URL); d.URL != "" && err != nil {
		b.bad("--url: %w", err)
	}
	if len(d.Bootstrap) > 0 && l.from["bootstrap-server"] >= l.from["url"] {
		d.URL = "" // of a layer below
	}
	if errors.Join(b.errs...) == nil && len(d.Bootstrap) == 0 && d.URL == "" {
		b.bad("kt doctor needs a cluster: give --bootstrap-server HOST:PORT, set KT_BOOTSTRAP_SERVER, or name one of your file with --cluster")
	}
	d.Protected = l.protected(d.Bootstrap)
	d.Warnings = b.warnings
	return b.err()
}

// client takes what counts here from the properties of a client of Kafka: the brokers, the client id and the security. A
// property of a load is none of kt doctor's; one that no client has is a warning.
func (d *Doctor) client(b *builder) {
	c := newClient("client", Client{Has: func(string) bool { return true }})
	b.clients = []*client{c}
	b.readProperties(c, "command-config", d.propertyFile)
	b.putPairs(c, "command-property", d.properties)
	b.own(c, "bootstrap-server", "bootstrap.servers", strings.Join(d.Bootstrap, ","))
	b.provide(c)
	d.Security = b.security()
	for _, name := range slices.Sorted(maps.Keys(c.given)) {
		if g := c.given[name]; !b.kafka.Producer.Has(name) && !b.kafka.Consumer.Has(name) {
			hint := b.kafka.Nearest.hint(name, slices.Concat(b.kafka.Producer.Names, b.kafka.Consumer.Names), "")
			b.warn("Warning: no client of kt has the property %s (from %s)%s", name, g.Source, hint)
		}
	}
	if g, given := c.given["bootstrap.servers"]; given {
		d.Bootstrap = named(strings.Split(g.Value, ","))
	}
	if g, given := c.given["client.id"]; given {
		d.ClientIDs = []string{g.Value}
	}
}
