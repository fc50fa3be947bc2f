package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/capture"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/theme"
)

func newCapture(env *Env) *cobra.Command {
	return command[*config.Capture]{
		flags: config.NewCapture, values: map[string][]string{"bootstrap-server": nil}, run: captureCluster, signals: true,
	}.of(env, &cobra.Command{
		Use:               "capture [FILE] [flags]",
		Short:             "Make a workload of the load of a live cluster",
		Args:              orNone("one file"),
		ValidArgsFunction: yamlFiles,
	})
}

// captureCluster looks at a cluster and writes its workload to a file, or to stdout.
func captureCluster(ctx context.Context, env *Env, s *config.Capture, args []string) (*finding, error) {
	for _, w := range s.Warnings {
		env.line(w)
	}
	name := "-"
	if len(args) > 0 {
		name = args[0]
	}
	switch _, err := os.Lstat(name); {
	case name == "-" && s.Payloads > 0:
		return nil, usageError(errors.New("--payloads: the values go into files beside the workload: name its file, as in kt capture shop.yaml"))
	case name != "-" && err == nil:
		return nil, exists(name)
	}
	at, err := env.systemAt(&s.Target)
	if err != nil {
		return nil, err
	}
	system, ok := at.(capture.Looker)
	if !ok {
		return nil, load.Cannot("kt capture", &plan.Plan{URL: s.URL}, "write the workload by hand, from kt run --init")
	}
	say := func(line string) {
		if !s.Quiet {
			env.say("%s", line)
		}
	}
	seen, err := system.Look(ctx, capture.Look{
		Last: s.Last, Stage: s.Stage, Live: s.Live, Sample: s.Sample, SampleRate: int64(s.SampleRate.PerSecond), Lookups: int(s.Lookups.PerSecond), Payloads: s.Payloads,
	}, say)
	if err != nil {
		return nil, err
	}
	var written bytes.Buffer
	o := capture.Options{Similar: s.Similar, Each: s.Each, Names: s.Names}
	if s.Payloads > 0 {
		o.Payloads = func(load string) string {
			return strings.TrimSuffix(name, filepath.Ext(name)) + "." + load + ".payloads"
		}
	}
	payloads, err := seen.Write(&written, o)
	if err != nil || name == "-" {
		return text(written.String()), err
	}
	for path, values := range payloads {
		if err := writeNew(path, values, 0o644); err != nil {
			return nil, err
		}
		env.say("Warning: %s holds %s of record values as they are in the cluster: keep it as you keep that data", path, theme.Bytes(int64(len(values))))
	}
	if err := writeNew(name, written.Bytes(), 0o644); err != nil {
		return nil, err
	}
	say(fmt.Sprintf("wrote %s; make it with: kt run %s", name, theme.Quoted(name)))
	return nil, nil
}
