package javaconf

import (
	"math"

	"github.com/twmb/franz-go/pkg/kgo"
)

// partitionProperties returns the rows that choose each record's partition.
func partitionProperties() []property[Producer] {
	return []property[Producer]{
		{
			// Class that chooses partitions; empty is Kafka's own, which fills one batch per partition in turn.
			name: "partitioner.class", preset: "", check: checkPartitioner,
			client: "RecordPartitioner", apply: applyPartitioner,
		}, {
			// Whether records with a key are spread like those without.
			name: "partitioner.ignore.keys", preset: "false", check: boolean,
			client: "RecordPartitioner",
		}, {
			// Whether partitions on faster brokers get more records.
			name: "partitioner.adaptive.partitioning.enable", preset: "true", check: boolean,
			note:   "franz-go judges a partition by its waiting records, Java by its waiting batches.",
			client: "RecordPartitioner",
		}, {
			// Time after which a partition whose broker takes no requests is passed over; 0 is never.
			name: "partitioner.availability.timeout.ms", preset: "0", check: millis(0, math.MaxInt64),
			note:   "franz-go has no such timeout.",
			client: hasNoTwin,
		}, {
			// Whether partitions led from the client's own rack come first.
			name: "partitioner.rack.aware", preset: "false", check: boolean,
			note:   "Java applies it to its own partitioner only, franz-go to any.",
			client: "RackAwarePartitioning", apply: applyRackAware,
		},
	}
}

// applyPartitioner turns to another partition after batch.size bytes, as Java
// does, whatever franz-go's limit for a batch was raised to.
func applyPartitioner(s Producer) []kgo.Opt {
	if s.RoundRobin() {
		return []kgo.Opt{kgo.RecordPartitioner(kgo.RoundRobinPartitioner())}
	}
	return []kgo.Opt{kgo.RecordPartitioner(kgo.UniformBytesPartitioner(max(s.BatchSize(), 1), s.Adaptive(), !s.IgnoresKeys(), nil))}
}

func applyRackAware(s Producer) []kgo.Opt {
	if !s.bool("partitioner.rack.aware") {
		return nil
	}
	return []kgo.Opt{kgo.RackAwarePartitioning()}
}
