package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/suggest"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/profiles"
)

func newStudy(env *Env) *cobra.Command {
	c := describe(&cobra.Command{
		Use:   "study",
		Short: "Make many runs of which one thing differs, and say what they answer",

		SuggestFor: []string{"experiment", "sweep", "matrix"},
		Args:       noArgs,
		RunE:       func(c *cobra.Command, _ []string) error { return c.Help() },
	})
	c.AddCommand(
		command[none]{run: listStudies}.of(env, &cobra.Command{Use: "list", Short: "List the studies that kt has, and those that were made here"}),
		command[none]{run: showStudy}.of(env, &cobra.Command{
			Use:               "show NAME",
			Short:             "Show what a study varies and answers",
			Example:           "  kt study show partitions > mine.yaml",
			Args:              one("the name of a study"),
			ValidArgsFunction: completeStudies,
		}),
		command[*config.Study]{flags: config.NewStudyRun, run: runStudy, signals: true}.of(env, &cobra.Command{
			Use:   "run NAME|FILE",
			Short: "Make a study",
			Long:  "Make the runs of a study and answer its question. A study is one that kt has (kt study list), or a YAML file.",
			Example: `  kt study run partitions --set partitions=1,4,16 --run-time 5s
  kt study run mine.yaml --bootstrap-server kafka-1:9092 --dry-run`,
			Args:              one("the name of a study, or a file"),
			ValidArgsFunction: completeStudies,
		}),
		command[*config.Study]{flags: config.NewStudyResume, run: resumeStudy, signals: true}.of(env, &cobra.Command{
			Use:               "resume [ID]",
			Short:             "Go on with a study that was cut off",
			Long:              "Go on with a study that was cut off. Without ID kt takes the newest that has something left to do.",
			Args:              orNone("one study"),
			ValidArgsFunction: env.completeMade,
		}),
		command[*config.Study]{flags: config.NewStudyReport, run: reportStudy}.of(env, &cobra.Command{
			Use:               "report [ID]",
			Short:             "Write what a study says, from its run files",
			Long:              "Write what a study says, made of its run files again. Without ID kt takes the newest.",
			Args:              orNone("one study"),
			ValidArgsFunction: env.completeMade,
		}),
		command[none]{run: restoreStudy, signals: true}.of(env, &cobra.Command{
			Use:   "restore [ID]",
			Short: "Put back what a study that was cut off has changed",
			Long: `Put back what a study or a trial that was cut off has changed on brokers and their hosts,
and delete the topics that it has left. Without ID kt takes the newest. The runs stay, and
kt study resume can go on with them.`,
			Example:           "  sudo kt study restore",
			Args:              orNone("one study"),
			ValidArgsFunction: env.completeMade,
		}),
	)
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

// orNone refuses more than one argument.
func orNone(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return one(what+" or none")(c, args)
	}
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

func resumeStudy(ctx context.Context, env *Env, flags *config.Study, args []string) (*finding, error) {
	f, unread, err := env.openStudy(args, true)
	env.leftOut(unread)
	if err != nil {
		return nil, usageError(err)
	}
	b := load.NewRunner(env.maker())
	for _, part := range f.Study.All() {
		if part, err = part.AtPeak(0); err == nil {
			err = part.CheckLoads(b.Plans)
		}
		if err != nil {
			return nil, usageError(err)
		}
	}
	if err := env.permitStudy(ctx, b, f.Study, flags.Yes); err != nil {
		return nil, err
	}
	return makeStudy(ctx, env, flags.Written, f, b)
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
	return foundInStudy(f, flags.Doubts)
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

// readStudy returns a study that kt has, or of a file.
func readStudy(name string) (*study.Study, error) {
	text, err := studyText(name)
	if err != nil {
		return nil, err
	}
	s, err := study.Parse(name, text, load.CheckFlag)
	if err != nil {
		return nil, err
	}
	for _, part := range s.All() {
		for i := range part.Loads {
			l := &part.Loads[i]
			if !l.IsWorkload() {
				continue
			}
			w, err := readWorkload(filepath.Join(filepath.Dir(name), l.File)) // beside the study
			if err != nil {
				return nil, err
			}
			l.About, l.Loads, l.Places = w.About, w.Loads, w.Places
		}
	}
	return s, nil
}

// studyText returns a study that kt has, or a file.
func studyText(name string) ([]byte, error) {
	if strings.ContainsRune(name, '/') || strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") {
		text, err := input.Read(name, input.Settings)
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return text, err
	}
	text, err := fs.ReadFile(profiles.Of("study"), name+".yaml")
	if err != nil {
		const otherwise = "; kt study list lists them, and a file of your own ends in .yaml, as ./mine.yaml"
		err = fmt.Errorf("there is no study %s%s", name, suggest.Hint(name, config.ProfileNames(profiles.Of("study")), otherwise))
	}
	return text, err
}

// shippedStudies returns the studies that kt has.
func shippedStudies() (all []*study.Study, err error) {
	for _, name := range config.ProfileNames(profiles.Of("study")) {
		s, err := readStudy(name)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// studiesDir returns the folder of the studies that were made here.
func (e *Env) studiesDir() (string, error) {
	if dir := e.stateDir(); dir != "" {
		return filepath.Join(dir, "studies"), nil
	}
	return "", errors.New("no study can be kept: there is no home folder; set XDG_STATE_HOME")
}

// madeStudies returns the studies that were made here, the newest first. unread is of those that cannot be read.
func (e *Env) madeStudies() (made []*study.Folder, unread, err error) {
	dir, err := e.studiesDir()
	if err != nil {
		return nil, nil, err
	}
	ids, err := study.IDs(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for _, id := range ids {
		if f, err := study.Open(dir, id); err != nil {
			unread = errors.Join(unread, err)
		} else {
			made = append(made, f)
		}
	}
	return made, unread, err
}

// openStudy opens the study that is named, or the newest that can be read; with unfinished, the newest one with something left to
// do. unread is of others that cannot be read.
func (e *Env) openStudy(args []string, unfinished bool) (f *study.Folder, unread, err error) {
	if len(args) == 1 {
		dir, err := e.studiesDir()
		if err == nil {
			f, err = study.Open(dir, args[0])
		}
		return f, nil, err
	}
	made, unread, err := e.madeStudies()
	for i := 0; i < len(made) && unfinished; i++ {
		s, err := made[i].Status()
		if err == nil && s.Open {
			return made[i], unread, nil
		}
		unread = errors.Join(unread, err)
	}
	switch {
	case len(made) > 0:
		return made[0], unread, nil
	case err == nil && unread == nil:
		err = errors.New("no study was made here yet: make one with kt study run")
	}
	return nil, nil, errors.Join(err, unread)
}

// leftOut warns of files that cannot be read, and so are left out.
func (e *Env) leftOut(unread error) {
	for _, text := range theme.Problems(unread) {
		e.say("left out: %s", text)
	}
}

func completeStudies(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return config.ProfileNames(profiles.Of("study")), cobra.ShellCompDirectiveDefault
}

func (e *Env) completeMade(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	dir, _ := e.studiesDir() // without a folder there is none
	ids, _ := study.IDs(dir)
	return ids, cobra.ShellCompDirectiveNoFileComp
}
