// Package driver carries a load with franz-go, as an application would: a Producer writes
// and a Consumer reads, each with a client and connections of its own for every shard.
//
//	producer := &driver.Producer{State: &writing.State{Cluster: cluster, Plan: p, Settings: settings, …}}
//	end, err := engine.Run(ctx, p, engine.Drivers{Send: producer}, …)
//
// It must not know how a run is put together, and asks the cluster for offsets only.
package driver
