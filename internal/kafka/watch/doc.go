// Package watch looks at a cluster beside the load: Brokers at leaders, replicas and the
// controller, ConsumerLag at the ends of the partitions. Each is a source of the engine.
//
//	brokers, err := watch.New(cluster, layout)
//	lag := watch.NewConsumerLag(cluster, state.At)
//
// It must not know drivers or how a run is put together, and neither waits for the load nor
// holds it up.
package watch
