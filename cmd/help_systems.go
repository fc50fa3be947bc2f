package cmd

import "github.com/spf13/cobra"

// newSystems returns a help topic.
func newSystems() *cobra.Command {
	return &cobra.Command{
		Use: "systems", Short: "RabbitMQ and Pulsar under the same loads: how their words map to kt's", SuggestFor: []string{"system", "rabbitmq", "pulsar", "amqp"},
		Long: `kt makes loads on Kafka. With --url it makes the same ones on RabbitMQ or Pulsar, with the same
rates, latencies, screen, run files and reports:

  kt produce --url amqp://guest@localhost:5672/ --partitions 4 --rate 10k
  kt roundtrip --url pulsar://localhost:6650/public/default --verify

A password, or a token, stands in a file: url.password=… for --command-config.

  kt                    RabbitMQ                       Pulsar
  --topic               a direct exchange              a topic
  --partitions          queues, bound to it            its partitions
  --replication-factor  members of quorum queues       ensemble and write quorum
  --topic-config        arguments of the queues        policies of the topic, in JSON
  --acks all            publisher confirms             the broker's receipt
  --acks 0              nothing is awaited             not there
  --batch-size, linger  not there: one by one          batches of the client
  --compression         not there                      lz4, zstd, snappy, zlib
  --group               not there: queues are shared   a subscription
  --commit none         auto.ack=true: by RabbitMQ     nothing is acknowledged
  --commit auto         auto.ack=false: by each read   acknowledged after each read
  consumer lag          ready + unacknowledged         backlog of the subscription
  leader                of a quorum queue              owner of a bundle

A setting that a system does not have is refused by its name, with what comes nearest.`,
	}
}
