package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

func newStudy(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "study",
		Short: "Make many runs of which one thing differs, and say what they answer",

		SuggestFor: []string{"experiment", "sweep", "matrix"},
		Long: `A study varies one thing or several, makes a run for each choice several times, and
answers a question: which value is best, and which cannot be told from it. It is a YAML
file, or one of those that kt has. Every run has a topic of its own, which is deleted
after it. Ctrl-C keeps the finished runs; kt study resume goes on with the others.`,
		Example: `  kt study list
  kt study run partitions --bootstrap-server kafka-1:9092
  kt study run partitions --set partitions=1,4,16 --run-time 5s
  kt study report --output json | jq '.answers[].sentence'`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newStudyList(env), newStudyShow(env), newStudyRun(env), newStudyResume(env), newStudyReport(env), newStudyRestore(env))
	return c
}

// making lets a command make runs, and write a document of them. Its flags are loaded before.
func (e *Env) making(c *cobra.Command, flags interface {
	Load(config.System) error
}, output *string, run func(ctx context.Context, args []string) error,
) {
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := errors.Join(flags.Load(e.configSystem()), e.checkOutput(*output)); err != nil {
			return usageError(err)
		}
		return e.interruptible(c.Context(), func(ctx context.Context) error { return run(ctx, args) })
	}
}

// one refuses more or fewer arguments than one.
func one(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageError(fmt.Errorf("%s takes %s (see: %s --help)", c.CommandPath(), what, c.CommandPath()))
		}
		return nil
	}
}

// newest refuses more than one study; without any, the newest is meant.
func newest(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return one("one study or none")(c, args)
}

func newStudyList(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the studies that kt has, and those that were made here",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			shipped, err := shippedStudies()
			if err != nil {
				return err
			}
			made, unread, err := env.madeStudies()
			if err != nil {
				return err
			}
			env.leftOut(unread)
			return env.document("text", config.Look{}, report.StudyListDoc(shipped, made), nil)
		},
	}
}

func newStudyShow(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:               "show NAME",
		Short:             "Show what a study varies and answers",
		Example:           "  kt study show partitions > mine.yaml",
		Args:              one("the name of a study"),
		ValidArgsFunction: completeStudies,
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := studyText(args[0])
			if err != nil {
				return usageError(err)
			}
			lines := strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
			for i, line := range lines {
				lines[i] = theme.Clean(line) // a file may be somebody else's
			}
			_, err = io.WriteString(env.Stdout, strings.Join(lines, "\n"))
			return err
		},
	}
}

func newStudyRun(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "run NAME|FILE",
		Short: "Make a study",
		Example: `  kt study run partitions --set partitions=1,4,16 --run-time 5s
  kt study run mine.yaml --bootstrap-server kafka-1:9092 --dry-run`,
		Args:              one("the name of a study, or a file"),
		ValidArgsFunction: completeStudies,
	}
	flags := config.NewStudyRun(c.Flags())
	completions(c, map[string][]string{"output": config.DocumentOutputs, "join": nil, "peers": nil})
	completeClusters(env, c)
	env.making(c, flags, &flags.Output, func(ctx context.Context, args []string) error { return runStudy(ctx, env, flags, args[0]) })
	return c
}

func newStudyResume(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:               "resume [ID]",
		Short:             "Go on with a study that was cut off",
		Long:              "Go on with a study that was cut off. Without ID kt takes the newest that has something left to do.",
		Args:              newest,
		ValidArgsFunction: env.completeMade,
	}
	flags := config.NewStudyResume(c.Flags())
	completions(c, map[string][]string{"output": config.DocumentOutputs})
	env.making(c, flags, &flags.Output, func(ctx context.Context, args []string) error {
		f, unread, err := env.openStudy(args, true)
		env.leftOut(unread)
		if err != nil {
			return usageError(err)
		}
		b := newRunner(env)
		for _, part := range f.Study.All() {
			if part, err = part.AtPeak(0); err == nil {
				err = part.CheckLoads(b)
			}
			if err != nil {
				return usageError(err)
			}
		}
		if err := b.permitStudy(ctx, f.Study, flags.Yes); err != nil {
			return err
		}
		return makeStudy(ctx, env, formOf(flags), f, b)
	})
	return c
}

func newStudyReport(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:               "report [ID]",
		Short:             "Write what a study says, from its run files",
		Long:              "Write what a study says, made of its run files again. Without ID kt takes the newest.",
		Args:              newest,
		ValidArgsFunction: env.completeMade,
	}
	flags := config.NewStudyReport(c.Flags())
	completions(c, map[string][]string{"output": config.DocumentOutputs})
	c.RunE = func(_ *cobra.Command, args []string) error {
		if err := errors.Join(flags.Load(env.configSystem()), env.checkOutput(flags.Output)); err != nil {
			return usageError(err)
		}
		f, unread, err := env.openStudy(args, false)
		env.leftOut(unread)
		if err != nil {
			return usageError(err)
		}
		if len(args) == 0 && !flags.Quiet {
			env.say("study %s", f.ID)
		}
		return writeStudy(env, formOf(flags), f)
	}
	return c
}

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
			if unread != nil {
				unread = errors.Join(unread, errors.New("changes of a study that cannot be read are not put back; kt tune --rollback undoes those of this host"))
			}
			return env.interruptible(c.Context(), func(ctx context.Context) error {
				done, err := study.Restore(ctx, f, newRunner(env))
				if err != nil {
					return errors.Join(err, unread)
				}
				text := "there is nothing to put back"
				for _, line := range done {
					env.say("%s", line)
					text = "everything is as before"
				}
				env.say("study %s: %s", f.ID, text)
				return unread
			})
		},
	}
}
