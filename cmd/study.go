package cmd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/report/page"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/suggest"
	"github.com/kt-bench/kt/profiles"
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
	if len(args) > 1 {
		return usageError(fmt.Errorf("%s takes one study or none (see: %s --help)", c.CommandPath(), c.CommandPath()))
	}
	return nil
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
			made, err := env.madeStudies()
			if err != nil {
				return err
			}
			return report.StudyList(env.Stdout, shipped, made, env.reportOptions(config.Look{}, false))
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
			_, err = env.Stdout.Write(text)
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
	completions(c, map[string][]string{"output": config.StudyOutputs, "join": nil, "peers": nil})
	completeClusters(env, c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := errors.Join(flags.Load(env.configSystem(), suggest.Nearest), env.checkOutput(flags.Output)); err != nil {
			return usageError(err)
		}
		return env.interruptible(c.Context(), func(ctx context.Context) error { return runStudy(ctx, env, flags, args[0]) })
	}
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
	completions(c, map[string][]string{"output": config.StudyOutputs})
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := errors.Join(flags.Load(env.configSystem(), suggest.Nearest), env.checkOutput(flags.Output)); err != nil {
			return usageError(err)
		}
		f, err := env.openStudy(args, true)
		if err == nil {
			err = checkForm(f.Study, flags.Output)
		}
		if err != nil {
			return usageError(err)
		}
		b := newLab(env)
		for _, part := range f.Study.All() {
			if part, err = part.AtPeak(0); err == nil {
				err = part.CheckLoads(b)
			}
			if err != nil {
				return usageError(err)
			}
		}
		return env.interruptible(c.Context(), func(ctx context.Context) error {
			if err := b.permitStudy(ctx, f.Study, flags.Yes); err != nil {
				return err
			}
			return makeStudy(ctx, env, formOf(flags), f, b)
		})
	}
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
	completions(c, map[string][]string{"output": config.StudyOutputs})
	c.RunE = func(_ *cobra.Command, args []string) error {
		if err := errors.Join(flags.Load(env.configSystem(), suggest.Nearest), env.checkOutput(flags.Output)); err != nil {
			return usageError(err)
		}
		f, err := env.openStudy(args, false)
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

// runStudy makes a new study.
func runStudy(ctx context.Context, env *Env, flags *config.Study, name string) error {
	text, err := studyText(name)
	if err != nil {
		return usageError(err)
	}
	s, err := parseStudy(name, text)
	if err != nil {
		return usageError(err)
	}
	adapt(s, flags)
	b := newLab(env)
	brokers := 0
	if s.NeedsBrokers() {
		if brokers, err = b.brokers(ctx, s.All()[0].Loads[0]); err != nil {
			return err
		}
	}
	err = s.Fill(brokers)
	if err == nil {
		err = errors.Join(s.Check(), checkForm(s, flags.Output))
	}
	if err != nil {
		return usageError(err)
	}
	forecasts, err := b.foresee(ctx, s, flags.DryRun)
	if err != nil || flags.DryRun {
		return errors.Join(err, writePlan(env, flags, s, forecasts))
	}
	if err := b.permitStudy(ctx, s, flags.Yes); err != nil {
		return err
	}
	f, err := env.createStudy(s, b)
	if err != nil {
		return err
	}
	return makeStudy(ctx, env, formOf(flags), f, b)
}

// checkForm refuses a form that what a study says cannot be written in.
func checkForm(s *study.Study, form string) error {
	if form == "csv" && len(s.Parts) > 0 {
		return errors.New("--output csv: each part has a table of its own: make the study, and write one with kt study report ID/PART --output csv")
	}
	return nil
}

// foresee checks a study and each of its parts, and returns what they will take: of a search it is not known.
func (b *lab) foresee(ctx context.Context, s *study.Study, dry bool) (all []*study.Forecast, err error) {
	for _, whole := range s.All() {
		part, err := whole.AtPeak(0)
		if err != nil {
			return nil, usageError(err)
		}
		if err := b.checkStudy(ctx, part); err != nil {
			return nil, err
		}
		f := &study.Forecast{Schema: study.Schema, Study: part, More: true, Room: study.RoomUnknown, NotKnown: []string{"how many trials a search takes"}}
		if part.Find == nil {
			if f, err = b.forecast(ctx, part, dry); err != nil {
				return nil, err
			}
		}
		if err := f.Err(); err != nil && !dry {
			return nil, usageError(err)
		}
		if part != whole {
			f.NotKnown = append(f.NotKnown, "which peak the searches find: some rate stands for it here")
		}
		all = append(all, f)
	}
	return all, nil
}

// writePlan writes what a study will take.
func writePlan(env *Env, flags *config.Study, s *study.Study, forecasts []*study.Forecast) error {
	switch {
	case flags.Output == "json" && len(s.Parts) > 0:
		return report.Indented(env.Stdout, forecasts)
	case flags.Output == "json":
		return report.Indented(env.Stdout, forecasts[0])
	}
	o := env.reportOptions(flags.Look, false)
	for _, f := range forecasts {
		write := report.StudyPlan
		if f.Study.Find != nil {
			write = func(w io.Writer, f *study.Forecast, o report.Options) error { return report.FindPlan(w, f.Study, o) }
		}
		if err := write(env.Stdout, f, o); err != nil {
			return err
		}
	}
	return nil
}

// adapt changes a study as the command line says.
func adapt(s *study.Study, flags *config.Study) {
	for _, set := range flags.Set {
		s.Set(set.Name, set.Values)
	}
	for _, part := range s.All() {
		adaptPart(part, flags)
	}
}

func adaptPart(s *study.Study, flags *config.Study) {
	for _, shared := range flags.Shared() {
		s.Share(shared.Name, shared.Values)
	}
	s.Mark(flags.OfProject(), !flags.IsLoginTyped())
	if flags.RunTime > 0 {
		s.LimitTo(flags.RunTime)
	}
	if flags.Rest >= 0 {
		s.Rest = plan.Duration(flags.Rest)
	}
	if s.Find != nil { // its trials are no repeats
		return
	}
	if flags.Repeats > 0 {
		s.Repeats = flags.Repeats
	}
	if flags.Discard >= 0 {
		s.Discard = flags.Discard
	}
	if flags.Bytes > 0 {
		s.Bytes = flags.Bytes
	}
}

// createStudy makes the folder of a new study. It keeps the brokers that the environment or a file named: to go on,
// and to put back what was changed, kt has to find the same ones.
func (e *Env) createStudy(s *study.Study, b *lab) (*study.Folder, error) {
	sys, noLogin := e.configSystem(), b.kafka // the brokers alone are asked for, so nothing is refused to them
	sys.Profiles, noLogin.Security = profiles.Of(string(plan.Produce)), nil
	own, err := config.LoadOf(plan.Produce, nil, sys, noLogin)
	if err != nil {
		return nil, err
	}
	for _, part := range s.All() {
		switch {
		case own.Cluster != "":
			part.Keep("cluster", own.Cluster, false, bootstrapServer, "cluster")
		case !own.Plan.Embedded():
			part.Keep(bootstrapServer, strings.Join(own.Plan.Bootstrap, ","), own.OfProject, bootstrapServer, "cluster")
		}
	}
	dir, err := e.studiesDir()
	if err != nil {
		return nil, err
	}
	return study.Create(dir, s, fmt.Sprintf("%s-%s-%s", e.Now().UTC().Format("20060102-150405"), s.Name, strings.ToLower(rand.Text()[:5])))
}

// studyForm is how a study is written.
type studyForm struct {
	output string
	look   config.Look
	quiet  bool
}

func formOf(flags *config.Study) studyForm { return studyForm{flags.Output, flags.Look, flags.Quiet} }

// makeStudy makes the runs of a study that are not done, part by part if it has parts, and writes what it says.
func makeStudy(ctx context.Context, env *Env, form studyForm, f *study.Folder, b *lab) error {
	for _, part := range f.Study.All() {
		one, err := f.Begin(part)
		if err == nil {
			if part != f.Study && !form.quiet && one.IsOpen() {
				env.say("part %s: %s", part.Name, part.About)
			}
			err = makePart(ctx, env, form, one, b)
		}
		if err != nil {
			if !form.quiet && !errors.Is(err, study.ErrBusy) {
				env.say("go on with: kt study resume %s", f.ID)
			}
			return err
		}
	}
	return writeStudy(env, form, f)
}

// makePart makes the runs of a study without parts that are not done.
func makePart(ctx context.Context, env *Env, form studyForm, f *study.Folder, b *lab) error {
	board, err := env.openBoard(ctx, form, f)
	if err != nil {
		return err
	}
	follow := func(p study.Progress) {
		if !form.quiet {
			env.say("%s", report.StudyProgress(p))
		}
	}
	if board != nil {
		follow, b.say, b.observers = board.follow, board.say, []run.Observer{board}
	} else if !form.quiet {
		env.say("study %s", f.ID)
	}
	err = study.Execute(ctx, f, b, follow)
	if board != nil {
		board.close(env)
	}
	return err
}

// writeStudy writes what a study says, whatever kind it is of.
func writeStudy(env *Env, form studyForm, f *study.Folder) error {
	o := env.reportOptions(form.look, false)
	if len(f.Study.Parts) > 0 {
		if err := checkForm(f.Study, form.output); err != nil {
			return usageError(err)
		}
		doc, err := f.Whole()
		if err != nil {
			return err
		}
		return orPage(form.output, report.WholeFormats, page.Whole)(env.Stdout, doc, o)
	}
	if f.Study.Find != nil {
		doc, err := f.Find()
		if err == nil {
			err = orPage(form.output, report.FindFormats, page.Find)(env.Stdout, doc, o)
		}
		if err == nil {
			err = judgeFind(doc)
		}
		return err
	}
	if f.Study.Trial != nil {
		doc, err := f.Trial()
		if err != nil {
			return err
		}
		return orPage(form.output, report.TrialFormats, page.Trial)(env.Stdout, doc, o)
	}
	doc, err := f.Document()
	if err != nil {
		return err
	}
	err = orPage(form.output, report.StudyFormats, page.Study)(env.Stdout, doc, o)
	if err == nil && doc.Wanted == 0 {
		err = errors.New("no run was made: every cell was left out")
	}
	return err
}
