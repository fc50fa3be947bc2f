// Package driver carries a load with franz-go, as an application would: a Producer writes
// and a Consumer reads, each with a client and connections of its own for every shard.
//
//	values, err := driver.content.MakeValues(&p)
//	producer := &driver.Producer{Cluster: cluster, Plan: p, Settings: settings, Values: values, …}
//	end, err := engine.Run(ctx, p, engine.Drivers{Send: producer}, …)
//
// It must not know how a run is put together, and asks the cluster for offsets only.
package driver
