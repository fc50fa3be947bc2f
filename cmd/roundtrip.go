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
