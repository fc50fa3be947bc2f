// Package wire carries a load without a client between kt and the brokers: it sends whole record batches that were
// encoded before the run, and counts what it reads from batch headers. So one process can offer more than brokers take.
//
//	producer := wire.NewProducer(&writing.State{Cluster: cluster, Plan: p, Settings: settings, …})
//	end, err := engine.Run(ctx, p, engine.Drivers{Send: producer}, …)
//
// It measures the brokers, and not what an application's client gets from them. Connections, API versions,
// throttling and security are franz-go's: every request goes through its brokers.
package wire
