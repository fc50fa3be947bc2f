package cmd

import "github.com/spf13/cobra"

// newSystems returns a help topic.
func newSystems() *cobra.Command {
	return &cobra.Command{
		Use: "systems", Short: "RabbitMQ and Pulsar under the same loads: how their words map to kt's", SuggestFor: []string{"system", "rabbitmq", "pulsar", "amqp"},
		Long: `kt makes loads on Kafka. With --url it makes the same ones on RabbitMQ or Pulsar, with the same
rates, latencies, screen, run files and reports:

  kt produce --url amqp://guest@localhost/ --rate 10k
  kt roundtrip --url pulsar://localhost --verify

A password, or a token, stands in a file: url.password=… for --command-config.

  kt             RabbitMQ            Pulsar
  --topic        direct exchange     topic
  --partitions   queues, bound       its partitions
  replicas       of quorum queues    ensemble, quorums
  --topic-config queue arguments     policies, in JSON
  --acks all     publisher confirm   broker's receipt
  --acks 0       nothing awaited     refused
  --batch-size   refused             of the client
  --linger       refused             of the client
  --compression  refused             lz4 zlib zstd snappy
  --group        refused             subscription
  acknowledging  auto.ack=true|false by --commit
  consumer lag   ready + unacked     backlog, estimated
  leader         of quorum queues    owner of a bundle

A setting that a system does not have is refused by its name, with what comes nearest.`,
	}
}
