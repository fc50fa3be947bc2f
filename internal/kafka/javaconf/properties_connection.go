package javaconf

import (
	"math"

	"github.com/twmb/franz-go/pkg/kgo"
)

// producerConnectionProperties returns the rows about connections that the producer
// has for itself.
func producerConnectionProperties() []property[Producer] {
	id := clientID[Producer]("kt-producer")
	id.note = "Kafka's own producer test calls itself perf-producer-client."
	return []property[Producer]{id, receiveBuffer[Producer]("32768")}
}

// connectionProperties are the rows about connections, metadata and identity that
// producer and consumer share.
func connectionProperties[S reader]() []property[S] {
	return []property[S]{
		{
			// Brokers to ask for the rest of the cluster.
			name: "bootstrap.servers", preset: "", check: textOf(1, math.MaxInt32),
			client: actsItself, // kt resolves it together with its own flag
		}, {
			// Rack the client is in.
			name: "client.rack", preset: "", check: textOf(0, 512), // franz-go's limit
			client: "Rack",
			apply:  func(s S) []kgo.Opt { return []kgo.Opt{kgo.Rack(s.value("client.rack"))} },
		}, {
			// Time after which an unused connection is closed.
			name: "connections.max.idle.ms", preset: "540000", check: millis(100, 900_000), // franz-go's limits
			note:   "franz-go may keep an unused connection up to twice as long.",
			client: "ConnIdleTimeout",
			apply: func(s S) []kgo.Opt {
				return []kgo.Opt{kgo.ConnIdleTimeout(s.duration("connections.max.idle.ms"))}
			},
		}, {
			// Age at which metadata is asked for again.
			name: "metadata.max.age.ms", preset: "300000", check: millis(10, 3_600_000), // franz-go's limits
			client: "MetadataMaxAge",
			apply: func(s S) []kgo.Opt {
				return []kgo.Opt{kgo.MetadataMaxAge(s.duration("metadata.max.age.ms"))}
			},
		}, {
			// Longest pause between retries.
			name: "retry.backoff.max.ms", preset: "1000", check: millis(0, math.MaxInt32),
			client: "RetryBackoffFn",
		}, {
			// Time a connection may take to be made.
			name: "socket.connection.setup.timeout.ms", preset: "10000", check: millis(1, math.MaxInt32),
			note:   "franz-go always waits this long; Java waits longer after each failure.",
			client: "Dialer, DialTimeout", apply: applyDialer[S],
		}, {
			// Socket send buffer; -1 leaves it to the operating system.
			name: "send.buffer.bytes", preset: "131072", check: orMinusOne(byteCount(math.MaxInt32)),
			client: "Dialer",
		}, {
			// Whether the client sends its metrics to brokers that subscribe to them.
			name: "enable.metrics.push", preset: "true", check: boolean,
			client: "DisableClientMetrics", apply: applyMetricsPush[S],
		},
	}
}

// clientID is a row whose default is not the same on both sides.
func clientID[S reader](preset string) property[S] {
	return property[S]{
		// Name that brokers log, measure and apply quotas by.
		name: "client.id", preset: preset, check: textOf(0, 256), // franz-go's limit
		client: "ClientID",
		apply:  func(s S) []kgo.Opt { return []kgo.Opt{kgo.ClientID(s.value("client.id"))} },
	}
}

// receiveBuffer is the other such row.
func receiveBuffer[S reader](preset string) property[S] {
	return property[S]{
		// Socket receive buffer; -1 leaves it to the operating system.
		name: "receive.buffer.bytes", preset: preset, check: orMinusOne(byteCount(math.MaxInt32)),
		client: "Dialer",
	}
}

// applyDialer sets DialTimeout as well, which franz-go does not use beside a
// dialer, so that the client still tells the truth when asked for it.
func applyDialer[S reader](s S) []kgo.Opt {
	timeout := s.duration("socket.connection.setup.timeout.ms")
	return []kgo.Opt{
		kgo.DialTimeout(timeout),
		kgo.Dialer(dialer(timeout, s.int("send.buffer.bytes"), s.int("receive.buffer.bytes"))),
	}
}

func applyMetricsPush[S reader](s S) []kgo.Opt {
	if s.bool("enable.metrics.push") {
		return nil
	}
	return []kgo.Opt{kgo.DisableClientMetrics()}
}
