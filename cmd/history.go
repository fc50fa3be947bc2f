package cmd

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/history"
)

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

// runPath returns the run file that an argument means: a file, or a run of the state folder by its number or name. What
// looks like the path of a file is returned as it is, for whoever opens it.
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

// runFile returns the run file that an argument means, or else the newest one of the state folder. It says which one that is
// where the argument does not.
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
