// Package engine runs a plan against a driver and emits windows.
//
//	end, err := engine.Run(ctx, p, engine.Drivers{Send: driver}, engine.Options{}, sink)
//
// Each producer of the plan is a shard: one goroutine that asks the plan's pacer
// when the next record is due, hands all due records to the driver's worker and
// sleeps to the next tick. Shards that send share only the time of the newest answer and
// the events of the run. Every second Run merges the records of the shards into a window
// and gives that to the sinks. Windows begin and end at whole seconds of the load.
//
// The engine, not the driver, bounds the records that wait for acknowledgements, as
// buffer.memory does in Kafka's Java client. So the time that a sender spends
// waiting for room is known exactly, and lateness by the brokers is counted apart
// from lateness by kt.
package engine
