// Package pulsar is Apache Pulsar as a system that runs are made on, by its Go client.
//
//	system, warnings, err := pulsar.New(&p, producer, consumer, access)
//	res, err := run.Run(ctx, run.Request{Plan: p, System: system, …})
//
// A record is a message, a partition one of a partitioned topic. Topics are made, and backlogs and
// brokers watched, over the admin API (HTTP). Pulsar counts a backlog in entries, which are batches.
package pulsar
