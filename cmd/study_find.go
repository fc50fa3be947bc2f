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
	"github.com/kt-bench/kt/profiles"
)

func parseStudy(name string, text []byte) (*study.Study, error) {
	return study.Parse(name, text, func(command, flag string) error {
		return config.CheckFlag(plan.Command(command), flag, suggest.Nearest)
	})
}

// studyText returns a study that kt has, or a file.
func studyText(name string) ([]byte, error) {
	if strings.ContainsRune(name, '/') || strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") {
		text, err := input.Read(name, input.Settings)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return text, nil
	}
	shipped := profiles.Of("study")
	text, err := fs.ReadFile(shipped, name+".yaml")
	if err != nil {
		names := config.ProfileNames(shipped)
		hint := "; kt study list lists them, and a file of your own ends in .yaml, as ./mine.yaml"
		if n := suggest.Nearest(name, names); n != "" {
			hint = "; did you mean " + n + "?"
		}
		return nil, fmt.Errorf("there is no study %s%s", name, hint)
	}
	return text, nil
}

// shippedStudies returns the studies that kt has.
func shippedStudies() (all []*study.Study, err error) {
	for _, name := range config.ProfileNames(profiles.Of("study")) {
		text, err := studyText(name)
		if err != nil {
			return nil, err
		}
		s, err := parseStudy(name, text)
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

// madeStudies returns the studies that were made here, the newest first.
func (e *Env) madeStudies() ([]*study.Folder, error) {
	dir, err := e.studiesDir()
	if err != nil {
		return nil, err
	}
	ids, err := study.IDs(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var made []*study.Folder
	for _, id := range ids {
		f, err := study.Open(dir, id)
		if err != nil {
			return nil, err
		}
		made = append(made, f)
	}
	return made, nil
}

// openStudy opens the study that is named, or the newest; with unfinished, the newest one with something left to do.
func (e *Env) openStudy(args []string, unfinished bool) (*study.Folder, error) {
	dir, err := e.studiesDir()
	if err != nil {
		return nil, err
	}
	if len(args) == 1 {
		if id, part, ok := strings.Cut(args[0], "/"); ok {
			f, err := e.openStudy([]string{id}, false)
			if err != nil {
				return nil, err
			}
			return f.Part(part)
		}
		if err := plan.CheckName(args[0]); err != nil {
			return nil, fmt.Errorf("study %q: %w", args[0], err)
		}
		return study.Open(dir, args[0])
	}
	ids, err := study.IDs(dir)
	if err != nil || len(ids) == 0 {
		return nil, errors.New("no study was made here yet: make one with kt study run")
	}
	for _, id := range ids {
		if !unfinished {
			break
		}
		if f, err := study.Open(dir, id); err == nil && f.IsOpen() { // one that cannot be read is not meant
			return f, nil
		}
	}
	return study.Open(dir, ids[0])
}

func completeStudies(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return config.ProfileNames(profiles.Of("study")), cobra.ShellCompDirectiveDefault
}

func (e *Env) completeMade(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	dir, _ := e.studiesDir() // without a folder there is none
	ids, _ := study.IDs(dir)
	return ids, cobra.ShellCompDirectiveNoFileComp
}
