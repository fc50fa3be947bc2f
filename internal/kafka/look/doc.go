// Package look looks at a Kafka cluster for the load that it carries, without changing anything there.
//
//	seen, err := look.At(ctx, cluster, capture.Look{Last: 24 * time.Hour, Lookups: 500, Sample: 64 << 20}, say)
//
// Rates come from offsets by time, groups from commits that are looked at several times, and the rest from a sample of the logs' tails.
package look
