// Package plan describes the load to make, and when each record is due.
//
// A [Plan] is a value: it can be validated, printed, written as JSON and sent to
// a peer. Its [Load] makes a [Pacer] for each shard, which tells when each record
// should be sent:
//
//	pacer := p.Load.Pacer(shard, shards, p.Payload.MeanBytes(), p.Seed)
//	for due, ok := pacer.Next(); ok; due, ok = pacer.Next() {
//		// send at start + due
//	}
//
// Nothing in this package reads a clock, sleeps or does IO.
package plan
