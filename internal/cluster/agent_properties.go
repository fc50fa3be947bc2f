package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/plan"
)

// allowed are the Java properties that an agent takes from other hosts. None of them names a
// file, a program or a source of other values. Agents refuse all others, so a property that kt
// learns later has to be added here after a review.
var allowed = strings.Fields(`
	acks batch.size buffer.memory client.dns.lookup client.id client.rack compression.gzip.level
	compression.lz4.level compression.type compression.zstd.level connections.max.idle.ms
	delivery.timeout.ms enable.idempotence enable.metrics.push interceptor.classes key.serializer
	linger.ms max.block.ms max.in.flight.requests.per.connection max.request.size metadata.max.age.ms
	metadata.max.idle.ms metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy
	metric.reporters metrics.num.samples metrics.recording.level metrics.sample.window.ms
	partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms partitioner.class
	partitioner.ignore.keys partitioner.rack.aware receive.buffer.bytes reconnect.backoff.max.ms
	reconnect.backoff.ms request.timeout.ms retries retry.backoff.max.ms retry.backoff.ms
	send.buffer.bytes socket.connection.setup.timeout.max.ms
	socket.connection.setup.timeout.ms transaction.timeout.ms transaction.two.phase.commit.enable
	transactional.id value.serializer

	allow.auto.create.topics auto.commit.interval.ms auto.offset.reset check.crcs default.api.timeout.ms
	enable.auto.commit exclude.internal.topics fetch.max.bytes fetch.max.wait.ms fetch.min.bytes
	group.id group.instance.id group.protocol group.remote.assignor heartbeat.interval.ms
	isolation.level key.deserializer max.partition.fetch.bytes max.poll.interval.ms max.poll.records
	partition.assignment.strategy session.timeout.ms share.acknowledgement.mode share.acquire.mode
	value.deserializer

	auto.ack delivery.mode mandatory prefetch.count

	ack.quorum batching.max.messages max.pending.messages receiver.queue.size subscription.type`)

// AllowsProperty reports whether an agent takes a Java property from another host.
func AllowsProperty(name string) bool { return slices.Contains(allowed, name) }

// allowProperties returns an error for each property that is not allowed, and for values that
// refer to a file.
func allowProperties(properties map[string]plan.Given) error {
	var errs []error
	for name, g := range properties {
		value := strings.ToLower(strings.TrimSpace(g.Value))
		switch {
		case !AllowsProperty(name):
			errs = append(errs, fmt.Errorf("property %q: agents do not take it from other hosts: leave it out", clean(name, 64)))
		case strings.HasPrefix(value, "file:") || strings.Contains(value, "${"):
			errs = append(errs, fmt.Errorf("property %s: its value names a file, and a load on other hosts reads no file there", name))
		}
	}
	return errors.Join(errs...)
}
