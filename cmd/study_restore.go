package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/study"
)

func newStudyRestore(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "restore [ID]",
		Short: "Put back what a study that was cut off has changed",
		Long: `Put back what a study or a trial that was cut off has changed on brokers and their hosts,
and delete the topics that it has left. Without ID kt takes the newest. The runs stay, and
kt study resume can go on with them.`,
		Example:           "  sudo kt study restore",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: env.completeMade,
		RunE: func(c *cobra.Command, args []string) error {
			f, err := env.openStudy(args, true)
			if err != nil {
				return usageError(err)
			}
			return env.interruptible(c.Context(), func(ctx context.Context) error {
				done, err := study.Restore(ctx, f, newLab(env))
				if err != nil {
					return err
				}
				for _, line := range done {
					env.say("%s", line)
				}
				text := "everything is as before"
				if len(done) == 0 {
					text = "there is nothing to put back"
				}
				env.say("study %s: %s", f.ID, text)
				return nil
			})
		},
	}
}
