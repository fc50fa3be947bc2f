package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
	stem := strings.TrimSuffix(name, filepath.Ext(name))
	if err := mayWrite(name, stem, s.Payloads > 0); err != nil {
		return nil, err
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
			return stem + "." + load + ".payloads"
		}
	}
	payloads, err := seen.Write(&written, o)
	if err != nil {
		return nil, err
	}
	if s.Names {
		env.say("Warning: the workload has the names of this cluster: kt run of it here writes to these very topics, and joins these groups")
	}
	if name == "-" {
		return text(written.String()), nil
	}
	payloads[name] = written.Bytes()
	if err := writeAll(payloads, name); err != nil {
		return nil, err
	}
	delete(payloads, name)
	for path, values := range payloads {
		env.say("Warning: %s holds %s of record values as they are in the cluster: keep it as you keep that data", path, theme.Bytes(int64(len(values))))
	}
	say(fmt.Sprintf("wrote %s; make it with: kt run %s", name, theme.Quoted(name)))
	return nil, nil
}

// mayWrite finds what would keep a workload from being written, before minutes are spent on it.
func mayWrite(name, stem string, payloads bool) error {
	switch old, _ := filepath.Glob(stem + ".*.payloads"); { // no pattern: the files are new ones, or refused when they are written
	case name == "-" && payloads:
		return usageError(errors.New("--payloads: the values go into files beside the workload: name its file, as in kt capture shop.yaml"))
	case payloads && len(old) > 0:
		return exists(old[0])
	case name == "-":
		return nil
	}
	if err := writeNew(name, nil, 0o644); err != nil {
		return err
	}
	return os.Remove(name)
}

// writeAll writes new files, which only their owner may read, but for one. After an error none is left.
func writeAll(files map[string][]byte, public string) error {
	paths := slices.Sorted(maps.Keys(files))
	for i, path := range paths {
		if err := writeNew(path, files[path], map[bool]fs.FileMode{true: 0o644, false: 0o600}[path == public]); err != nil {
			for _, written := range paths[:i] {
				err = errors.Join(err, os.Remove(written))
			}
			return err
		}
	}
	return nil
}
