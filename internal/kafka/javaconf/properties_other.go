package javaconf

import "math"

// byteArray is the one serializer kt has: its keys and values are bytes.
const byteArray = "org.apache.kafka.common.serialization.ByteArraySerializer"

// anything returns the check of a property that kt does not read.
func anything(value string) (string, error) { return value, nil }

// producerOtherProperties returns the rows of otherProperties that the producer has
// for itself.
func producerOtherProperties() []property[Producer] {
	return []property[Producer]{
		{
			// Class that turns keys into bytes.
			name: "key.serializer", preset: byteArray, check: anything,
			note: "kt's keys are bytes already.", client: hasNoTwin,
		}, {
			// Class that turns values into bytes.
			name: "value.serializer", preset: byteArray, check: anything,
			note: "kt's values are bytes already.", client: hasNoTwin,
		}, {
			// Time after which an unused topic's metadata is forgotten.
			name: "metadata.max.idle.ms", preset: "300000", check: millis(5000, math.MaxInt64),
			note: "franz-go never forgets a topic it produced to.", client: hasNoTwin,
		},
	}
}

// otherProperties are the rows that Java applications set and that change nothing
// about kt's load. They are accepted, so that an application's file can be used as
// it is, and giving one another value than its default earns a warning.
func otherProperties[S reader]() []property[S] {
	return []property[S]{
		{
			// Classes that see each record.
			name: "interceptor.classes", preset: "", check: anything,
			note: "kt runs no Java classes.", client: hasNoTwin,
		}, {
			// How names of brokers become addresses.
			name: "client.dns.lookup", preset: "use_all_dns_ips", check: oneOf("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
			note: "franz-go always tries every address of a name.", client: hasNoTwin,
		}, {
			// Classes that look up values kept elsewhere.
			name: "config.providers", preset: "", check: onlyValue("", "must be empty; kt does not look up values elsewhere"),
			client: actsItself,
		}, {
			// The reaction when no known broker answers.
			name: "metadata.recovery.strategy", preset: "rebootstrap", check: inLowerCase(oneOf("rebootstrap", "none")),
			note: "franz-go keeps asking the bootstrap servers too.", client: hasNoTwin,
		}, {
			// Time without metadata after which the bootstrap servers are asked again.
			name: "metadata.recovery.rebootstrap.trigger.ms", preset: "300000", check: millis(0, math.MaxInt64),
			note: "franz-go keeps asking the bootstrap servers too.", client: hasNoTwin,
		}, {
			// Classes that publish the Java client's metrics.
			name: "metric.reporters", preset: "org.apache.kafka.common.metrics.JmxReporter", check: anything,
			note: "kt reports its own figures.", client: hasNoTwin,
		}, {
			// Samples the Java client's metrics are kept in.
			name: "metrics.num.samples", preset: "2", check: number(1, math.MaxInt32),
			note: "kt reports its own figures.", client: hasNoTwin,
		}, {
			// Detail of the Java client's metrics.
			name: "metrics.recording.level", preset: "INFO", check: oneOf("INFO", "DEBUG", "TRACE"),
			note: "kt reports its own figures.", client: hasNoTwin,
		}, {
			// Length of a sample of the Java client's metrics.
			name: "metrics.sample.window.ms", preset: "30000", check: millis(0, math.MaxInt64),
			note: "kt reports its own figures.", client: hasNoTwin,
		}, {
			// Pause before a broker is dialled again.
			name: "reconnect.backoff.ms", preset: "50", check: millis(0, math.MaxInt64),
			note: "franz-go pauses as retry.backoff.ms says.", client: hasNoTwin,
		}, {
			// Longest pause before a broker is dialled again.
			name: "reconnect.backoff.max.ms", preset: "1000", check: millis(0, math.MaxInt64),
			note: "franz-go pauses as retry.backoff.max.ms says.", client: hasNoTwin,
		}, {
			// Longest time a connection may take after failures.
			name: "socket.connection.setup.timeout.max.ms", preset: "30000", check: millis(0, math.MaxInt64),
			note: "franz-go keeps to socket.connection.setup.timeout.ms.", client: hasNoTwin,
		},
	}
}
