package cmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/config"
)

func newRoundtrip(env *Env) *cobra.Command {
	c := newLoad(env, config.NewRoundtrip, &cobra.Command{
		Use:   "roundtrip [flags]",
		Short: "Produce records, read them back, and measure the whole way",
		Long: `Produce records to a topic and consume them in the same process. End-to-end latency
is the time from when a record was due until an application has it, by one clock.

The flags of kt produce set the load, those of kt consume how it is read. By default
the consumers read without a group, from the end of the topic, so they read only the
records of this run. After the last write kt waits up to --timeout for the rest.

With --one-at-a-time kt writes a record after the one before was read, as
kafka-e2e-latency does. This measures the latency of an idle cluster, no throughput.
The command lines of that tool do the same, with named arguments and without.

With --verify kt checks that every acknowledged record was read and is still in the
log (exit code 5 if not), once, in order and unchanged (exit code 1 if not, unless the
producer's settings allow it). If a log was cut off, for example by an unclean
election, kt reads it again first.

A Java property goes to each client that knows it. ` + everyFlag + `
Without a --bootstrap-server kt starts a broker inside its process: to try kt, not
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
	c.Args = func(c *cobra.Command, args []string) error { return latencyToolArgs(env, c, args) }
	return c
}

// latencyToolArgs takes the arguments of kafka-e2e-latency that are not named, and warns of them as it does.
func latencyToolArgs(env *Env, c *cobra.Command, args []string) error {
	names := []string{"bootstrap-server", "topic", "num-records", "producer-acks", "record-size", "command-config"}
	if len(args) != len(names) && len(args) != len(names)-1 {
		return noArgs(c, args)
	}
	for i, value := range args {
		if c.Flags().Changed(names[i]) {
			return usageError(fmt.Errorf("--%s and the argument %q exclude each other: give one", names[i], value))
		}
		if err := c.Flags().Set(names[i], value); err != nil {
			return flagError(c, err)
		}
	}
	env.line("WARNING: Positional argument usage is deprecated and will be removed in Apache Kafka 5.0. Please use named arguments instead: --" + strings.Join(names, ", --"))
	return nil
}
