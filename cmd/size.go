package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/study"
)

func newSize(env *Env) *cobra.Command {
	c := command[*config.Size]{flags: config.NewSize, run: sizeWorkload}.of(env, &cobra.Command{
		Use:   "size FILE --scale N --measured FIND",
		Short: "Say how many brokers carry a workload, from a search that was made",

		SuggestFor: []string{"sizing", "plan", "capacity", "brokers"},
		Args:       one("one workload's file"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
		},
	})
	if err := c.RegisterFlagCompletionFunc("measured", env.completeMade); err != nil {
		panic(err) // the flag exists, and has no other completion
	}
	return c
}

func sizeWorkload(_ context.Context, env *Env, flags *config.Size, args []string) (*finding, error) {
	if flags.Measured == "" {
		return nil, usageError(errors.New("--measured: name the search that was made of the workload (kt find -- run FILE): kt study list has its name, as 20260102-150405-find-abcde"))
	}
	l, err := readWorkload(args[0])
	if err != nil {
		return nil, usageError(err)
	}
	f, err := env.searchOf(flags.Measured)
	if err != nil {
		return nil, usageError(fmt.Errorf("--measured %w", err))
	}
	b := load.NewRunner(env.maker())
	made := f.Study.All()[0].First()
	if made.IsWorkload() {
		if err := b.SameWorkload(l, made); err != nil {
			return nil, usageError(err)
		}
	}
	d, err := f.Document()
	if err != nil {
		return nil, err
	}
	s, err := study.Size(d, flags.Scale, flags.Broker)
	if err != nil {
		return nil, usageError(err)
	}
	s.Workload = args[0]
	return found(report.SizeDoc(s), s), nil
}

// searchOf opens a study by its name, or by the path of its folder.
func (e *Env) searchOf(name string) (*study.Folder, error) {
	if path := filepath.Clean(name); study.IsFolder(path) {
		return study.Open(filepath.Dir(path), filepath.Base(path))
	}
	f, _, err := e.openStudy([]string{name}, false)
	return f, err
}
