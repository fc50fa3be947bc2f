package cmd

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/study"
)

func newSize(env *Env) *cobra.Command {
	c := command[*config.Size]{flags: config.NewSize, run: sizeWorkload}.of(env, &cobra.Command{
		Use:               "size FILE --scale N --measured FIND",
		Short:             "Say how many brokers carry a workload, from a search that was made",
		SuggestFor:        []string{"sizing", "capacity", "brokers"},
		Args:              one("one workload's file"),
		ValidArgsFunction: yamlFiles,
	})
	_ = c.RegisterFlagCompletionFunc("measured", env.completeMade) // the flag exists
	return c
}

func sizeWorkload(_ context.Context, env *Env, flags *config.Size, args []string) (*finding, error) {
	if flags.Measured == "" {
		return nil, usageError(errors.New("--measured: name the search that was made of the workload (kt find -- run FILE): kt study list has its name, as 20260102-150405-find-abcde"))
	}
	l, err := readWorkload(args[0])
	if flags.IsTyped("broker") && err == nil {
		_, err = study.ParseBroker(flags.Broker)
	}
	var f *study.Folder
	if path := filepath.Clean(flags.Measured); err == nil && study.IsFolder(path) {
		f, err = study.Open(filepath.Dir(path), filepath.Base(path))
	} else if err == nil {
		f, _, err = env.openStudy([]string{flags.Measured}, false)
	}
	if err != nil {
		return nil, usageError(err)
	}
	if err = load.NewRunner(env.maker()).SameWorkload(l, f.Study.All()[0]); err != nil {
		return nil, usageError(err)
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
