package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/properties"
)

// client gathers the Java properties of one of Kafka's clients.
type client struct {
	name   string // as it is in the names of Kafka's flags
	known  Client
	given  map[string]plan.Given
	levels map[string]layer // that each came from

	servers []string // bootstrap.servers of the files, also where another layer overrides it
}

func newClient(name string, known Client) *client {
	return &client{name: name, known: known, given: make(map[string]plan.Given), levels: make(map[string]layer)}
}

// put sets a property that came from a layer, unless a higher one has set it.
func (c *client) put(property string, g plan.Given, from layer) {
	if from >= c.levels[property] {
		c.given[property], c.levels[property] = g, from
	}
}

// drop removes the settings of a layer and of those below it.
func (c *client) drop(property string, from layer) {
	if from >= c.levels[property] {
		delete(c.given, property)
	}
}

// javaProperties gathers the Java properties of each client. Those of --command-property override
// those of the file, and kt's own flags override both. A higher layer overrides all of them.
func (b *builder) javaProperties() {
	for _, c := range b.clients {
		old := c.name + ".config"
		file := b.chosen("command-config", old)
		if file == old {
			b.deprecated(old, "command-config")
		}
		if file != "" {
			b.readProperties(c, file, b.value(file))
		}
		old = c.name + "-props"
		list := b.chosen("command-property", old)
		if list == old {
			b.deprecated(old, "command-property")
		}
		switch list {
		case "command-property":
			b.putPairs(c, list, b.f.properties)
		case "producer-props":
			b.putPairs(c, list, b.f.producerProps)
		}
		b.provide(c)
	}
	b.ownFlags()
}

// belongs reports whether a property that was given with a flag is one of the client's.
// The name of a flag says if it is for one of them alone. A property that neither client has
// goes to the client with a similar name, which refuses it and says so.
func (b *builder) belongs(c *client, flag, property string) bool {
	if len(b.clients) == 1 || strings.HasPrefix(flag, c.name) || c.known.Has(property) {
		return true
	}
	first := b.clients[0]
	for _, other := range b.clients {
		if other.known.Has(property) {
			return false
		}
	}
	for _, other := range b.clients {
		if b.kafka.Nearest(property, other.known.Names) != "" {
			first = other
			break
		}
	}
	return c == first
}

// readProperties reads a file of Java properties. As in Java, the last of two values counts.
func (b *builder) readProperties(c *client, flag, path string) {
	if path == "" {
		return
	}
	list, err := readProperties(path)
	if err != nil {
		b.bad("--%s %s: %w", flag, path, err)
		return
	}
	list, stray := properties.Whole(list)
	for _, s := range stray {
		b.bad("--%s %s:%d: %s", flag, path, s.Line, s.Problem())
	}
	lines := make(map[string]int)
	for _, p := range list {
		if first, twice := lines[p.Key]; twice {
			b.warnOnce("%s:%d: %s is in line %d too; the last one counts", path, p.Line, p.Key, first)
		}
		lines[p.Key] = p.Line
		if p.Key == bootstrapProperty && !b.isTheirs(flag) {
			c.servers = []string{p.Value}
		}
		b.take(c, flag, p.Key, plan.Given{Value: p.Value, Source: path + ":" + strconv.Itoa(p.Line)})
	}
}

// take sets a property that a flag gives, if it is one of the client.
func (b *builder) take(c *client, flag, key string, g plan.Given) {
	switch {
	case b.isTheirs(flag) && b.kafka.Security != nil && b.kafka.Security(key):
		b.bad("%s: it says how clients log in, which the file of a study must not: give it with --command-config", key)
	case b.belongs(c, flag, key):
		c.put(key, g, b.from[flag])
	}
}

// isTheirs reports whether the file of a study gives a flag.
func (l *layers) isTheirs(flag string) bool { return l.sys.Foreign != nil && l.sys.Foreign(flag) }

// readProperties returns the Java properties in a file.
func readProperties(path string) ([]properties.Property, error) {
	data, err := input.Read(path, input.Settings)
	if err != nil {
		return nil, err
	}
	return properties.Parse(data)
}

// warnOnce warns of what is found for each of two clients.
func (b *builder) warnOnce(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(b.warnings, text) {
		b.warnings = append(b.warnings, text)
	}
}

func (b *builder) putPairs(c *client, flag string, list []string) {
	for key, value := range b.pairs(flag, list) {
		if !properties.IsName(key) {
			b.bad("--%s: an item does not begin with the name of a property: write key=value", flag) // it may be of a password
			continue
		}
		b.take(c, flag, key, plan.Given{Value: value, Source: b.sources[flag]})
	}
}

func (b *builder) pairs(flag string, list []string) map[string]string {
	if len(list) == 0 {
		return nil
	}
	out := make(map[string]string, len(list))
	for _, s := range list {
		key, value, err := splitProperty("--"+flag, s)
		if err != nil {
			b.errs = append(b.errs, err)
			continue
		}
		out[key] = value
	}
	return out
}

// ownFlags turns kt's flags that have a Java property into that property, so that only one
// place knows its meaning.
func (b *builder) ownFlags() {
	f := b.f
	for _, c := range b.clients {
		b.own(c, "broker-list", "bootstrap.servers", strings.Join(f.brokerList, ","))
		b.own(c, "bootstrap-server", "bootstrap.servers", strings.Join(f.bootstrap, ","))
	}
	b.own(b.producer, "acks", "acks", f.acks)
	if b.chosen("acks", "producer-acks") == "producer-acks" {
		b.own(b.producer, "producer-acks", "acks", f.producerAcks)
	}
	b.own(b.producer, "max-in-flight", "max.in.flight.requests.per.connection", strconv.Itoa(f.inFlight))
	b.own(b.producer, "idempotence", "enable.idempotence", f.idempotence)
	b.own(b.producer, "transactional-id", "transactional.id", f.transactionalID)
	b.own(b.producer, "batch-size", "batch.size", b.bytes("batch-size", f.batch))
	if b.given("linger") {
		d, err := plan.ParseTime(f.linger, time.Millisecond)
		if err != nil || d < 0 || d%time.Millisecond != 0 {
			b.bad("--linger %q: write whole milliseconds, as 5 or 5ms", f.linger)
		}
		b.own(b.producer, "linger", "linger.ms", strconv.FormatInt(d.Milliseconds(), 10))
	}
	if _, ok := b.producer.given["linger.ms"]; !ok && b.oneAtATime && (&plan.Plan{URL: f.url}).System() != plan.RabbitMQ { // which gathers nothing
		b.own(b.producer, "one-at-a-time", "linger.ms", "0")
	}
	codec, level, hasLevel := strings.Cut(f.compression, ":")
	b.own(b.producer, "compression", "compression.type", codec)
	if hasLevel {
		b.own(b.producer, "compression", "compression."+codec+".level", level)
	}
	b.own(b.consumer, "group", "group.id", f.group)
	b.own(b.consumer, "group-protocol", "group.protocol", f.groupProtocol)
	b.own(b.consumer, "group-instance-id", "group.instance.id", f.instance)
	b.own(b.consumer, "isolation", "isolation.level", f.isolation)
	b.own(b.consumer, "no-check-crcs", "check.crcs", strconv.FormatBool(!f.noCheckCRCs))
	b.own(b.consumer, "fetch-size", "max.partition.fetch.bytes", b.bytes("fetch-size", f.fetchSize))
	b.own(b.consumer, "max-message-bytes", "max.message.bytes", b.bytes("max-message-bytes", f.maxMessage))
	b.own(b.consumer, "socket-buffer-size", "receive.buffer.bytes", b.bytes("socket-buffer-size", f.socketBuffer))
}

// own sets the property that a flag stands for, if the flag is given.
func (b *builder) own(c *client, flag, property, value string) {
	if b.given(flag) {
		c.put(property, plan.Given{Value: value, Source: b.sources[flag]}, b.from[flag])
	}
}

// bytes returns a number of bytes as Java writes it. -1 means something for some
// properties; those that it does not will say so.
func (b *builder) bytes(flag, text string) string {
	if !b.given(flag) || text == "-1" {
		return text
	}
	n, err := plan.ParseBytes(text)
	if err != nil {
		b.bad("--%s: %w", flag, err)
	}
	return strconv.FormatInt(n, 10)
}
