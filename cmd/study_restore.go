package cmd

import (
	"context"
	"errors"

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
			f, unread, err := env.openStudy(args, true)
			if err != nil && unread == nil {
				err = usageError(err)
			}
			if err != nil {
				return err
			}
			return env.interruptible(c.Context(), func(ctx context.Context) error {
				done, err := study.Restore(ctx, f, newRunner(env))
				if unread != nil {
					unread = errors.Join(unread, errors.New("changes of a study that cannot be read are not put back; kt tune --rollback undoes those of this host"))
				}
				if err != nil {
					return errors.Join(err, unread)
				}
				for _, line := range done {
					env.say("%s", line)
				}
				text := "everything is as before"
				if len(done) == 0 {
					text = "there is nothing to put back"
				}
				env.say("study %s: %s", f.ID, text)
				return unread
			})
		},
	}
}
