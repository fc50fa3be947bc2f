package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/history"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result/merge"
	"github.com/kt-bench/kt/internal/study"
)

func newCompare(env *Env) *cobra.Command {
	var set *pflag.FlagSet
	return command[*config.Compare]{
		flags: func(s *pflag.FlagSet) *config.Compare { set = s; return config.NewCompare(s) },
		run: func(_ context.Context, env *Env, s *config.Compare, args []string) (*finding, error) {
			dash := set.ArgsLenAtDash()
			if dash < 0 && len(args) == 2 {
				dash = 1
			}
			if dash < 1 || dash == len(args) {
				return nil, usageError(errors.New("name two sets of runs: kt compare A B, or kt compare A1 A2 -- B1 B2"))
			}
			return compareRuns(env, s, args[:dash], args[dash:])
		},
	}.of(env, &cobra.Command{
		Use:   "compare A... -- B...",
		Short: "Compare two sets of runs, and tell differences from noise",

		SuggestFor:        []string{"diff", "versus"},
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: env.completeRuns,
	})
}

// completeRuns completes runs and studies, and leaves files to the shell.
func (e *Env) completeRuns(c *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
	ids, _ := e.completeMade(c, args, text)
	return append(e.offered(text), ids...), cobra.ShellCompDirectiveDefault
}

func compareRuns(env *Env, flags *config.Compare, a, b []string) (*finding, error) {
	var limits []study.FailOn
	var errs []error
	for _, text := range flags.FailOn {
		limit, err := study.ParseFailOn(text)
		if err != nil {
			err = fmt.Errorf("--fail-on %w", err)
		}
		limits, errs = append(limits, limit), append(errs, err)
	}
	sideA, err := env.side(a, limits)
	errs = append(errs, err)
	sideB, err := env.side(b, limits)
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, usageError(err)
	}
	d, err := study.Compare(sideA, sideB, flags.Delta)
	if err != nil {
		return nil, usageError(err)
	}
	d.Judge(limits)
	if len(d.Failures) > 0 {
		err = &exitError{exitNotMet, fmt.Errorf("a limit of --fail-on is passed: %s", strings.Join(d.Failures, "; "))}
	}
	return found(report.CompareDoc(d), d), err
}

// side reads the runs of one side. Of many it leaves out those that cannot be read.
func (e *Env) side(names []string, limits []study.FailOn) (*study.Side, error) {
	var errs []error
	s := study.NewSide(limits)
	for _, name := range names {
		files, err := e.runsOf(name)
		if history.IsReference(name) && len(files) == 1 {
			name = runName(files[0])
		}
		s.Name = strings.TrimSpace(s.Name + " " + name)
		var unread []error
		for _, file := range files {
			if r, err := readLoad(file, study.Expressions(limits)...); err != nil {
				unread = append(unread, err)
			} else {
				s.Add(file, &r)
			}
		}
		if errs = append(errs, err); len(unread) == len(files) {
			errs = append(errs, unread...)
		} else {
			e.leftOut(errors.Join(unread...))
		}
	}
	return s, errors.Join(errs...)
}

// runsOf returns the run files that an argument means: a run file, a folder of them, a study, or a
// cell of a study.
func (e *Env) runsOf(name string) ([]string, error) {
	id, cell, _ := strings.Cut(name, ":")
	info, err := os.Stat(name)
	switch {
	case err == nil && !info.IsDir():
		return []string{name}, nil
	case study.IsFolder(id):
		return studyRuns(filepath.Dir(filepath.Clean(id)), filepath.Base(filepath.Clean(id)), cell)
	case err == nil:
		files, err := merge.FilesIn(name)
		if err == nil && len(files) == 0 {
			err = fmt.Errorf("%s: it holds no run file", name)
		}
		return files, err
	case strings.HasPrefix(name, "-"):
		return nil, fmt.Errorf("%s: write flags before the runs, as in kt compare --output json A -- B", name)
	case history.IsReference(name):
		return e.oneRun(name)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if strings.Count(id, "/") <= 1 {
		dir, err := e.studiesDir()
		if err != nil {
			return nil, err
		}
		files, err := studyRuns(dir, id, cell)
		if err == nil || cell != "" {
			return files, err
		}
		if files, bad := e.oneRun(name); bad == nil || !errors.Is(bad, fs.ErrNotExist) {
			return files, bad
		}
		if strings.Count(id, "-") >= 2 && !strings.HasSuffix(id, history.Ext) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s: there is no such file, folder or study, and no such run; kt runs and kt study list have them", name)
}

// oneRun returns the run file that the name or number of a run means.
func (e *Env) oneRun(name string) ([]string, error) {
	path, err := history.Find(e.runFiles(), name)
	if err != nil {
		return nil, err
	}
	return []string{path}, nil
}

// studyRuns returns the run files of a study, or of a cell.
func studyRuns(dir, id, cell string) ([]string, error) {
	f, err := study.Open(dir, id)
	if err != nil {
		return nil, err
	}
	return f.Files(cell)
}
