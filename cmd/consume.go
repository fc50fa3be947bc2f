package cmd

import (
	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/config"
)

func newConsume(env *Env) *cobra.Command {
	return newLoad(env, config.NewConsume, &cobra.Command{
		Use:   "consume [flags]",
		Short: "Consume records, measure, and say what the limit was",
	})
}
