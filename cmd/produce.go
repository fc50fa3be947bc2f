package cmd

import (
	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/config"
)

func newProduce(env *Env) *cobra.Command {
	return newLoad(env, config.NewProduce, &cobra.Command{
		Use:   "produce [flags]",
		Short: "Produce records, measure, and say what the limit was",
		Long: `Produce records to a topic, measure throughput and latency, and say what the
limit was.

At a target --rate latency counts from the time each record was due, so a stall
counts in full. A run is not valid (exit code 4) if kt did not keep its own schedule.
Without --rate kt sends as fast as the brokers accept, and latency is mostly queueing.

With --verify kt numbers every record and writes a ledger. kt consume --verify LEDGER
then checks that every acknowledged record is there, once and in order. With
--engine wire the headers of batches hold the numbers (see kt help engines).

Command lines of kafka-producer-perf-test work unchanged. ` + everyFlag + `
Without a --bootstrap-server kt starts a broker inside its process: to try kt, not
Kafka.`,
		Example: `  # no Kafka at hand
  kt produce --acks all --partitions 21

  # how much does the cluster take? Creates the topic, and deletes it in the end
  kt produce --bootstrap-server kafka-1:9092 --topic kt-max --partitions 21 \
      --replication-factor 3 --producers 4 --duration 2m --delete-topic

  # what is the latency at 50,000 records a second?
  kt produce --bootstrap-server kafka-1:9092 --topic orders \
      --rate 50000 --warmup 10s

  # a command line of Kafka's own tool
  kt produce --topic orders --num-records 1000000 --record-size 512 \
      --throughput -1 \
      --producer-props bootstrap.servers=kafka-1:9092 acks=1 linger.ms=5

  # what happens when a broker goes down after half a minute?
  kt produce --bootstrap-server kafka-1:9092 --topic orders --rate 5000 \
      --duration 2m --verify --at 30s --exec 'ssh kafka-2 systemctl stop kafka'

  # for a script
  kt produce --rate 10k --duration 30s -o json | jq .latency_us.response.p99`,
	})
}
