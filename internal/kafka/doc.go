// Package kafka is the way to a Kafka cluster: Connect makes the connection, and a Cluster
// answers for brokers, topics and offsets, and makes all clients.
//
//	cluster, err := kafka.Connect(ctx, kafka.Access{Bootstrap: []string{"localhost:9092"}})
//	topics, err := cluster.EnsureTopics(ctx, p, compressed)
//	client, err := cluster.Client(settings.Options()...)
//
// StartEmbedded runs a broker inside the process, for people who have none at hand. The
// package knows no engine, no screen and none of Java's property names.
package kafka
