package cmd

import (
	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/config"
)

func newConsume(env *Env) *cobra.Command {
	return newLoad(env, config.NewConsume, &cobra.Command{
		Use:   "consume [flags]",
		Short: "Consume records, measure, and say what the limit was",
		Long: `Consume the records of a topic, measure throughput, consumer lag and rebalances, and say
what the limit was.

Without --num-records and --duration kt reads all records that the topic holds at the
start, and stops. With --from latest it reads for one minute. It also stops after
--timeout without a record.

Without --group kt reads as a group with a random name, as Kafka's own tool does. With
--no-group its consumers share the partitions: there are no commits and no rebalances.
kt commits offsets for a --group that you name, otherwise only with --commit.

With --verify LEDGER kt looks for the records of an earlier kt produce --verify. Lost
records end with exit code 5. Corrupted ones, and duplicated or reordered ones that the
producer's settings exclude, end with exit code 1. With --groups each group must find
all records.

Command lines of kafka-consumer-perf-test work unchanged. ` + everyFlag,
		Example: `  # how fast can everything in a topic be read?
  kt consume --bootstrap-server kafka-1:9092 --topic orders \
      --profile replay --consumers 4

  # a group of eight that commits as an application does, at 1 ms a record
  kt consume --bootstrap-server kafka-1:9092 --topic orders --group billing \
      --consumers 8 --commit sync --processing-time 1ms --duration 5m

  # what comes in, until Ctrl-C
  kt consume --bootstrap-server kafka-1:9092 --topic orders --profile tail

  # is every record there that was acknowledged?
  kt consume --bootstrap-server kafka-1:9092 --verify orders.ledger

  # a command line of Kafka's own tool, and its output
  kt consume --bootstrap-server kafka-1:9092 --topic orders --messages 1000000 \
      --show-detailed-stats --output perf-test`,
	})
}
