package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/suggest"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/profiles"
)

// readStudy returns a study that kt has, or of a file.
func readStudy(name string) (*study.Study, error) {
	text, err := studyText(name)
	if err != nil {
		return nil, err
	}
	return study.Parse(name, text, func(command, flag string) error {
		return config.CheckFlag(plan.Command(command), flag)
	})
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
		err = fmt.Errorf("there is no study %s; kt study list lists them, and a file of your own ends in .yaml, as ./mine.yaml", name)
		if n := suggest.Nearest(name, config.ProfileNames(profiles.Of("study"))); n != "" {
			err = fmt.Errorf("there is no study %s; did you mean %s?", name, n)
		}
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
		open, err := made[i].IsOpen()
		if err == nil && open {
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
