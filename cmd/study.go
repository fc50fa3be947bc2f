package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

func newStudy(env *Env) *cobra.Command {
	c := describe(&cobra.Command{
		Use:   "study",
		Short: "Make many runs of which one thing differs, and say what they answer",

		SuggestFor: []string{"experiment", "sweep", "matrix"},
		Args:       noArgs,
		RunE:       func(c *cobra.Command, _ []string) error { return c.Help() },
	})
	c.AddCommand(newStudyList(env), newStudyShow(env), newStudyRun(env), newStudyResume(env), newStudyReport(env), newStudyRestore(env))
	return c
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
	return command[none]{run: listStudies}.of(env, &cobra.Command{Use: "list", Short: "List the studies that kt has, and those that were made here"})
}

func listStudies(_ context.Context, env *Env, _ none, _ []string) (*finding, error) {
	shipped, err := shippedStudies()
	if err != nil {
		return nil, err
	}
	made, unread, err := env.madeStudies()
	if err != nil {
		return nil, err
	}
	env.leftOut(unread)
	return found(report.StudyListDoc(shipped, made), nil), nil
}

func newStudyShow(env *Env) *cobra.Command {
	return command[none]{run: showStudy}.of(env, &cobra.Command{
		Use:               "show NAME",
		Short:             "Show what a study varies and answers",
		Example:           "  kt study show partitions > mine.yaml",
		Args:              one("the name of a study"),
		ValidArgsFunction: completeStudies,
	})
}

func showStudy(_ context.Context, _ *Env, _ none, args []string) (*finding, error) {
	file, err := studyText(args[0])
	if err != nil {
		return nil, usageError(err)
	}
	lines := strings.Split(strings.ReplaceAll(string(file), "\r\n", "\n"), "\n")
	for i, line := range lines {
		lines[i] = theme.Clean(line) // a file may be somebody else's
	}
	return text(strings.Join(lines, "\n")), nil
}

func newStudyRun(env *Env) *cobra.Command {
	return command[*config.Study]{flags: config.NewStudyRun, run: runStudy, signals: true}.of(env, &cobra.Command{
		Use:   "run NAME|FILE",
		Short: "Make a study",
		Example: `  kt study run partitions --set partitions=1,4,16 --run-time 5s
  kt study run mine.yaml --bootstrap-server kafka-1:9092 --dry-run`,
		Args:              one("the name of a study, or a file"),
		ValidArgsFunction: completeStudies,
	})
}

func newStudyResume(env *Env) *cobra.Command {
	return command[*config.Study]{flags: config.NewStudyResume, run: resumeStudy, signals: true}.of(env, &cobra.Command{
		Use:               "resume [ID]",
		Short:             "Go on with a study that was cut off",
		Long:              "Go on with a study that was cut off. Without ID kt takes the newest that has something left to do.",
		Args:              newest,
		ValidArgsFunction: env.completeMade,
	})
}

func resumeStudy(ctx context.Context, env *Env, flags *config.Study, args []string) (*finding, error) {
	f, unread, err := env.openStudy(args, true)
	env.leftOut(unread)
	if err != nil {
		return nil, usageError(err)
	}
	b := load.NewRunner(env.maker())
	for _, part := range f.Study.All() {
		if part, err = part.AtPeak(0); err == nil {
			err = part.CheckLoads(b)
		}
		if err != nil {
			return nil, usageError(err)
		}
	}
	if err := env.permitStudy(ctx, b, f.Study, flags.Yes); err != nil {
		return nil, err
	}
	return makeStudy(ctx, env, flags.Written(), f, b)
}

func newStudyReport(env *Env) *cobra.Command {
	return command[*config.Study]{flags: config.NewStudyReport, run: reportStudy}.of(env, &cobra.Command{
		Use:               "report [ID]",
		Short:             "Write what a study says, from its run files",
		Long:              "Write what a study says, made of its run files again. Without ID kt takes the newest.",
		Args:              newest,
		ValidArgsFunction: env.completeMade,
	})
}

func reportStudy(_ context.Context, env *Env, flags *config.Study, args []string) (*finding, error) {
	f, unread, err := env.openStudy(args, false)
	env.leftOut(unread)
	if err != nil {
		return nil, usageError(err)
	}
	if len(args) == 0 && !flags.Quiet {
		env.say("study %s", f.ID)
	}
	return foundInStudy(f)
}

func newStudyRestore(env *Env) *cobra.Command {
	return command[none]{run: restoreStudy, signals: true}.of(env, &cobra.Command{
		Use:   "restore [ID]",
		Short: "Put back what a study that was cut off has changed",
		Long: `Put back what a study or a trial that was cut off has changed on brokers and their hosts,
and delete the topics that it has left. Without ID kt takes the newest. The runs stay, and
kt study resume can go on with them.`,
		Example:           "  sudo kt study restore",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: env.completeMade,
	})
}

func restoreStudy(ctx context.Context, env *Env, _ none, args []string) (*finding, error) {
	f, unread, err := env.openStudy(args, true)
	if err != nil && unread == nil {
		err = usageError(err)
	}
	if err != nil {
		return nil, err
	}
	if unread != nil {
		unread = errors.Join(unread, errors.New("changes of a study that cannot be read are not put back; kt tune --rollback undoes those of this host"))
	}
	done, err := study.Restore(ctx, f, load.NewRunner(env.maker()))
	if err != nil {
		return nil, errors.Join(err, unread)
	}
	text := "there is nothing to put back"
	for _, line := range done {
		env.say("%s", line)
		text = "everything is as before"
	}
	env.say("study %s: %s", f.ID, text)
	return nil, unread
}
