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

Without --num-records and --duration kt reads all that was there when it began, and
stops. From the latest record on (--from latest) it reads for a minute. It also stops
when no record has come for --timeout.

Without --group kt reads as a group with a random name, as Kafka's own tool does;
with --no-group its consumers split the partitions among themselves, so that nothing
is committed and no rebalance is measured. Offsets are committed in a group that you
name, and else only with --commit.

With --verify LEDGER kt looks for the records of an earlier kt produce --verify, and
says which of them are lost (exit code 5), and which corrupted, or twice there or out
of order although its producer's settings exclude that (exit code 1). Of several
groups (--groups) each must find them all.

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
