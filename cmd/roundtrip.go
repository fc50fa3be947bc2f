package cmd

import (
	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/config"
)

func newRoundtrip(env *Env) *cobra.Command {
	return newLoad(env, config.NewRoundtrip, &cobra.Command{
		Use:   "roundtrip [flags]",
		Short: "Produce records, read them back, and measure the whole way",
		Long: `Produce records to a topic and consume them in the same process, so that both ends
of the way are read off one clock: the time from when a record was due to when an
application has it.

The flags of kt produce decide what is written and how fast, those of kt consume how
it is read. By default the consumers read without a group, from the end of the topic
on: what they read is what this run writes. When all is written kt waits up to
--timeout for what is still on its way.

With --one-at-a-time a record is written when the one before has been read, as
kafka-e2e-latency does: the latency of an idle cluster, and no throughput.

With --verify the run also says whether every record that was acknowledged was read
and is still in the log (exit code 5 if not), once, in order and as it was sent (exit
code 1 if not, unless the producer's settings allow it). Where a log was cut off, by
an unclean election say, kt reads it again before it judges.

A Java property goes to the client that has it, to both if both have it. ` + everyFlag + `
Where no broker is configured, kt starts one inside its process, to try kt and not
Kafka.`,
		Example: `  # no Kafka at hand
  kt roundtrip --rate 1000 --duration 10s

  # from producer to consumer at 20,000 records a second
  kt roundtrip --bootstrap-server kafka-1:9092 --topic orders --rate 20000 \
      --linger 0 --producers 2 --consumers 4 --warmup 10s

  # what Kafka's own tool measures
  kt roundtrip --bootstrap-server kafka-1:9092 --topic one --partitions 1 \
      --one-at-a-time --num-records 10000 --producer-acks all --record-size 100

  # is a record lost when a broker goes down?
  kt roundtrip --bootstrap-server kafka-1:9092 --profile durable --duration 2m \
      --at 30s --exec 'ssh kafka-2 systemctl stop kafka'`,
	})
}
