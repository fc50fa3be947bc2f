// Package kafka carries kt's load to Kafka brokers with franz-go, as an
// application would.
//
//	settings, warnings, err := javaconf.ParseProducer(given, p.Payload.MaxBytes(), false)
//	cluster, err := kafka.Connect(ctx, kafka.Access{Bootstrap: []string{"localhost:9092"}})
//	topic, err := cluster.EnsureTopic(ctx, p, settings.Compression() != "none")
//	end, err := engine.Run(ctx, p, engine.Drivers{Send: &kafka.Producer{…}}, …)
//
// Producer is the engine's driver: one franz-go client, with connections of its
// own, for each shard. StartEmbedded runs a broker inside the process, for people
// who have none at hand.
package kafka
