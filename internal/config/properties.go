package config

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/magiconair/properties"

	"github.com/kt-bench/kt/internal/plan"
)

// javaProperties gathers the Java properties of the producer: those of the file,
// over them those of --command-property, over them kt's own flags; what comes from
// a higher layer over all of them.
func (b *builder) javaProperties() map[string]Given {
	f := b.f
	props := make(map[string]Given)
	b.levels = make(map[string]layer)
	switch b.oneOf("command-config", "producer.config") {
	case "command-config":
		b.readProperties(props, "command-config", f.propertyFile)
	case "producer.config":
		b.deprecated("producer.config", "command-config")
		b.readProperties(props, "producer.config", f.oldPropertyFile)
	}
	switch b.oneOf("command-property", "producer-props") {
	case "command-property":
		b.pairsInto(props, "command-property", f.properties)
	case "producer-props":
		b.deprecated("producer-props", "command-property")
		b.pairsInto(props, "producer-props", f.oldProperties)
	}
	b.ownFlags(props)
	return props
}

// put sets a property that came with a flag, unless a flag of a higher layer has
// set it.
func (b *builder) put(props map[string]Given, flag, property string, g Given) {
	if from := b.from[flag]; from >= b.levels[property] {
		props[property], b.levels[property] = g, from
	}
}

func (b *builder) readProperties(props map[string]Given, flag, path string) {
	if path == "" {
		return
	}
	// As Java reads them: Latin-1, and no ${…}, which would turn a password with
	// a dollar sign into an empty one.
	loader := properties.Loader{Encoding: properties.ISO_8859_1, DisableExpansion: true}
	data, err := os.ReadFile(path)
	if err != nil {
		b.bad("--%s: %w", flag, err)
		return
	}
	// The loader takes \r\n for two ends of line, which breaks a continued line.
	read, err := loader.LoadBytes(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))
	if err != nil {
		b.bad("--%s %s: %w", flag, path, err)
		return
	}
	for key, value := range read.Map() {
		b.put(props, flag, key, Given{Value: value, Source: path})
	}
}

func (b *builder) pairsInto(props map[string]Given, flag string, list []string) {
	for key, value := range b.pairs(flag, list) {
		b.put(props, flag, key, Given{Value: value, Source: b.sources[flag]})
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

// ownFlags are kt's flags for what has a Java property: they become that
// property, so that only one place knows what it means.
func (b *builder) ownFlags(props map[string]Given) {
	f := b.f
	set := func(flag, property, value string) {
		if b.given(flag) {
			b.put(props, flag, property, Given{Value: value, Source: b.sources[flag]})
		}
	}
	set("bootstrap-server", "bootstrap.servers", strings.Join(f.bootstrap, ","))
	set("acks", "acks", f.acks)
	set("max-in-flight", "max.in.flight.requests.per.connection", strconv.Itoa(f.inFlight))
	set("idempotence", "enable.idempotence", f.idempotence)
	set("transactional-id", "transactional.id", f.transactionalID)
	if b.given("batch-size") {
		n, err := plan.ParseBytes(f.batch)
		if err != nil {
			b.bad("--batch-size: %w", err)
		}
		set("batch-size", "batch.size", strconv.FormatInt(n, 10))
	}
	if b.given("linger") {
		d, err := parseTime(f.linger, time.Millisecond)
		if err != nil || d < 0 || d%time.Millisecond != 0 {
			b.bad("--linger %q: write whole milliseconds, as 5 or 5ms", f.linger)
		}
		set("linger", "linger.ms", strconv.FormatInt(d.Milliseconds(), 10))
	}
	codec, level, hasLevel := strings.Cut(f.compression, ":")
	set("compression", "compression.type", codec)
	if hasLevel {
		set("compression", "compression."+codec+".level", level)
	}
}
