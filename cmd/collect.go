package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/suggest"
)

func newCollect(env *Env) *cobra.Command {
	var flags *config.Collect
	settings := func(env *Env, files []string) error {
		flags.Files = files
		return flags.Load(env.configSystem())
	}
	c := command[*config.Collect]{
		flags: func(set *pflag.FlagSet) *config.Collect { flags = config.NewCollect(set); return flags },
		load:  func(env *Env, _ *config.Collect, files []string) error { return settings(env, files) },
		run:   collect, signals: true,
	}.of(env, &cobra.Command{
		Use:               "collect [RUN|DIR]...",
		Short:             "Merge the runs of many processes and hosts into one result",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: env.completeRunFiles,
	})
	lookUp(c, "run", func(ctx context.Context, set *pflag.FlagSet) []string {
		_ = settings(env, nil) // the command tells its problems when it runs
		client, found := env.agents(ctx, set)
		if client == nil {
			return nil
		}
		return client.Runs(ctx, found)
	})
	return c
}

func collect(ctx context.Context, env *Env, flags *config.Collect, files []string) (*finding, error) {
	m := newMerger(env)
	defer m.close()
	for _, path := range files {
		if err := m.addPath(path); err != nil {
			return nil, usageError(err)
		}
	}
	problems, err := m.fetch(ctx, flags)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 && m.Len() == 0 && len(m.Unreadable) == 0 {
		return nil, nothingFetched(problems)
	}
	if m.Len() == 0 {
		return nil, usageError(errors.Join(append(problems, m.Unreadable...)...))
	}
	for _, text := range m.Same {
		env.say("%s: it counts once", text)
	}
	problems = append(problems, m.going())
	if err := m.Select(flags.Run); err != nil {
		return nil, usageError(errors.Join(append(m.Unreadable, err)...))
	}
	res, err := m.Result(ctx)
	if err != nil {
		return nil, err
	}
	problems = append(env.withoutOthers(problems, &res), m.Lost()...)
	path, err := m.write(flags.ResultFile, &res)
	if err != nil {
		return nil, err
	}
	f := foundRun(res, path, "collection", flags.Written, env.reportOptions(flags.Look, flags.Verbose))
	return f, errors.Join(errors.Join(problems...), load.MissingParts(&res))
}

// withoutOthers returns problems without those of hosts that had no part in a run, which are only mentioned.
func (e *Env) withoutOthers(problems []error, res *result.Result) []error {
	return slices.DeleteFunc(problems, func(err error) bool {
		var of *cluster.PeerError
		if !errors.As(err, &of) || res.Part == nil || len(res.Part.Roster) == 0 ||
			slices.ContainsFunc(res.Part.Roster, func(m result.Member) bool { return m.Host == of.Peer }) {
			return false
		}
		e.say("%v; it had no part in the run", err)
		return true
	})
}

// fetch adds the files that agents have of a run, if they are to be asked.
func (m *merger) fetch(ctx context.Context, flags *config.Collect) (problems []error, err error) {
	if !flags.Fetch {
		return nil, nil
	}
	client, found, err := m.env.maker().Agents(ctx, &flags.Agents)
	if err != nil {
		return nil, err
	}
	dir, remove, err := cluster.Scratch(m.env.stateDir(), m.env.Now())
	if err != nil {
		return nil, err
	}
	m.remove = remove
	fetched, problems := client.Results(ctx, found, flags.Name, dir)
	var going *cluster.GoingError
	_ = errors.As(errors.Join(problems...), &going) // or it stays nil
	for _, path := range fetched {
		// The name alone: it contains the host, and the folder is temporary.
		if err := m.Offer(filepath.Base(path), path, going.IsCopy(path)); err != nil {
			return nil, err
		}
	}
	return problems, nil
}

// nothingFetched is why no agent has given a file.
func nothingFetched(problems []error) error {
	var unknown *cluster.UnknownRunError
	err := errors.Join(problems...)
	if !errors.As(err, &unknown) {
		return err
	}
	const otherwise = ": agents give only files from their --results and from ~/.local/state/kt/runs of their user; name other files: kt collect FILE…"
	return fmt.Errorf("%w%s", err, suggest.Hint(unknown.Run, unknown.Known, otherwise))
}

// merger merges files, and removes those that it has fetched.
type merger struct {
	*merge.Set
	env    *Env
	remove func() // removes the fetched files; may be nil
}

func newMerger(env *Env) *merger { return &merger{env: env, Set: merge.NewSet()} }

func (m *merger) close() {
	m.Close()
	if m.remove != nil {
		m.remove()
	}
}

// addPath adds a file, or the run files of a directory.
func (m *merger) addPath(path string) error {
	path, err := m.env.runPath(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, input.Cause(err))
	}
	files := []string{path}
	if info.IsDir() {
		if files, err = merge.FilesIn(path); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := m.Offer(f, f, false); err != nil {
			return err
		}
	}
	return nil
}

// going returns an error when files are still being written. Their lines so far are merged.
func (m *merger) going() error {
	if len(m.AtWork) == 0 {
		return nil
	}
	return fmt.Errorf("the run still goes on: %s is being written; collect again after its end", strings.Join(m.AtWork, ", "))
}

// write writes the collection: to a file of that name, or to a new one in the state
// folder.
func (m *merger) write(name string, res *result.Result) (path string, err error) {
	file, err := m.env.maker().RunFile(name, "collect-"+run.Stem(&res.Plan, "", res.Tags))
	if err != nil {
		return "", err
	}
	defer file.Discard()
	if err := file.Fill(m.Set); err != nil {
		return "", err
	}
	m.env.runsFolder().Add(file.Path(), res)
	return file.Path(), nil
}
