package cmd

import (
	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/config"
)

func newProduce(env *Env) *cobra.Command {
	return newLoad(env, config.NewProduce, &cobra.Command{
		Use:   "produce [flags]",
		Short: "Produce records, measure, and say what the limit was",
	})
}
