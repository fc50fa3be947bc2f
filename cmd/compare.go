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
	"github.com/kt-bench/kt/internal/run"
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
	if err := errors.Join(errs...); err != nil {
		return nil, usageError(err)
	}
	sideA, err := env.side(a, limits)
	sideB, wrong := env.side(b, limits)
	if err := errors.Join(err, wrong); err != nil {
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
	if d.Accept(flags.Accept); flags.Strict {
		err = run.Strict(d.Doubts, err)
	}
	return found(report.CompareDoc(d), d), err
}

// side reads the runs of one side. Of many it leaves out those that cannot be read.
func (e *Env) side(names []string, limits []study.FailOn) (*study.Side, error) {
	var errs []error
	s, expressions := study.NewSide(limits)
	for _, name := range names {
		files, err := e.runsOf(name)
		load := ""
		if at := strings.LastIndexByte(name, ':'); err != nil && at > 0 { // a load of a workload
			if of, wrong := e.runsOf(name[:at]); wrong == nil && len(of) == 1 {
				files, err, load = of, nil, name[at+1:]
			}
		}
		if history.IsReference(name) && len(files) == 1 {
			name = runName(files[0])
		}
		s.Name = strings.TrimSpace(s.Name + " " + name)
		var unread []error
		for _, file := range files {
			if r, err := readRun(file, load, expressions...); err != nil {
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
	if dir, of := filepath.Split(filepath.Clean(id)); of == "runs" && dir != "" && study.IsFolder(dir) {
		id = filepath.Clean(dir) // whose log says which runs count: one may be cut off
	}
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

// runsFolder returns the folder where kt keeps runs. Without a home folder it is one that is not there.
func (e *Env) runsFolder() history.Folder {
	if dir := e.stateDir(); dir != "" {
		return history.Folder{Dir: filepath.Join(dir, "runs")}
	}
	return history.Folder{}
}

func (e *Env) runFiles() []string {
	files, _ := e.runsFolder().Files() // a folder that cannot be read has none
	return files
}

// runPath returns the run file that an argument means: a file, or a run of the state folder by its number or name.
func (e *Env) runPath(name string) (string, error) {
	_, err := os.Lstat(name)
	switch {
	case err == nil && history.IsReference(name):
		e.say("%s: a file here has that name, and is read instead of the run", name)
		return name, nil
	case !errors.Is(err, fs.ErrNotExist) || strings.ContainsRune(name, filepath.Separator):
		return name, nil
	}
	switch name {
	case "":
		return "", errors.New(`"": the name of a run is empty: name a run file, or last for the newest run`)
	case "-":
		return "", errors.New("-: there is no such file or run; to read a run from stdin, name /dev/stdin")
	}
	return history.Find(e.runFiles(), name)
}

// runFile returns the run file that an argument means, or else the newest one of the state folder, and says which one.
func (e *Env) runFile(args []string) (path string, err error) {
	if len(args) > 0 {
		path, err = e.runPath(args[0])
	} else if files := e.runFiles(); len(files) > 0 {
		path = files[0]
	} else {
		err = errors.New("no run file is kept here yet: name one, or make a run with kt produce")
	}
	if err == nil && (len(args) == 0 || path != args[0]) {
		e.say("run file %s", path)
	}
	return path, err
}

// offered are runs for a shell to complete.
func (e *Env) offered(typed string) (names []string) {
	const (
		most    = 10
		numbers = 3 // that a person can count to
	)
	files := e.runFiles()
	for i := range files[:min(numbers, len(files))] {
		names = append(names, cobra.CompletionWithDesc(history.Reference(i), runName(files[i])))
	}
	for _, file := range files[:min(most, len(files))] {
		names = append(names, runName(file))
	}
	var fit []string
	for _, name := range names {
		if strings.HasPrefix(name, typed) {
			fit = append(fit, name)
		}
	}
	return fit
}

func runName(path string) string { return strings.TrimSuffix(filepath.Base(path), history.Ext) }

// completeRunFiles offers the newest runs of the state folder, and else the run files that the shell finds.
func (e *Env) completeRunFiles(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	if names := e.offered(typed); len(names) > 0 {
		return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
	return []string{strings.TrimPrefix(history.Ext, ".")}, cobra.ShellCompDirectiveFilterFileExt
}

// completeKept offers the newest runs of the state folder alone.
func (e *Env) completeKept(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return e.offered(typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
