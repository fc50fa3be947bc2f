package cmd

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/kafka/security"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/theme"
)

// login is where a process of an agent finds the security settings of its host.
type login struct {
	file  string // "": none
	allow []string
}

// newPart returns the command that an agent starts to make a load: a process of its own,
// which gets its job on standard input and reports on standard output, as JSON lines.
func newPart(env *Env) *cobra.Command {
	return command[*login]{
		flags: func(set *pflag.FlagSet) *login {
			l := new(login)
			set.StringVar(&l.file, "command-config", "", "`FILE` with the security settings of this host")
			set.StringSliceVar(&l.allow, "allow-broker", nil, "`ADDRESSES` that they may be used at")
			return l
		},
		run: runPart,
	}.of(env, &cobra.Command{Use: "part", Short: "Make one process's part of a load, for kt agent", Hidden: true})
}

// partGrace is how long a process may take to leave at once, and to hand over its result. Its agent waits longer.
const partGrace = 3 * time.Second

// runPart makes the run that the agent asks for.
func runPart(ctx context.Context, env *Env, l *login, _ []string) (*finding, error) {
	p, err := cluster.NewPart(env.Stdin, env.Stdout)
	if err != nil {
		return nil, usageError(fmt.Errorf("kt part is for kt agent, which says on standard input what to do: %w", err))
	}
	ctx, abort := context.WithCancel(ctx)
	defer abort()
	stop := newStopper(abort, env.Exit, func(string) {})
	stop.grace = partGrace
	p.Stop, p.Begin = func() { stop.stop(nil) }, stop.begin
	signals, ignore := env.Signals()
	defer ignore()
	defer stop.listen(signals)()
	go p.Listen(ctx) // it ends with the load, or the process

	if err = makePart(ctx, env, l, p, stop); err != nil {
		p.Failed(cmp.Or(textOf(err), err.Error()))
	}
	return nil, err
}

// makePart makes the run.
func makePart(ctx context.Context, env *Env, login *login, p *cluster.Part, stop *stopper) error {
	asked, err := askedRun(env, login, &p.Job)
	if err != nil {
		return usageError(err)
	}
	l, err := env.maker().Check(asked)
	if err != nil {
		return err
	}
	file, err := env.maker().RunFile(l.ResultFile, l.Stem())
	if err != nil {
		return err
	}
	tuneProcess(env, &l.Plan)
	r := l.Request(file)
	p.Fit(&r)
	r.Stop = stop.asked
	r.Notify = func(n run.Notice) {
		if n.Kind != run.LogDirUnknown {
			env.notify(n, l.Quiet)
		}
	}
	judged := func(res *result.Result, err error) error { return worse(judge(res, stop.code(), l.Output), err) }
	r.Done = func(ctx context.Context, res result.Result, err error) bool {
		err = judged(&res, err)
		return p.Done(ctx, cluster.Ended{Code: exitCode(err), Text: textOf(err)})
	}
	res, err := run.Run(ctx, r, p)
	if res.RunID == "" {
		return err
	}
	return judged(&res, err)
}

// askedRun returns the run that a job asks for.
func askedRun(env *Env, l *login, job *cluster.ProcessJob) (*config.Run, error) {
	r := &config.Run{
		Plan: job.Plan, Properties: job.Producer, ConsumerProperties: job.Consumer,
		ResultFile: job.RunFile, Output: "text", Quiet: true, Interval: time.Second, DateFormat: "yyyy",
	}
	if !job.CreateTopic { // another process has made the topic, and its settings
		r.Plan.Topic.Delete, r.Plan.Topic.Configs = false, nil
	}
	if l.file == "" {
		return r, nil
	}
	var err error
	r.Security, err = config.SecurityOf(l.file, l.allow, env.configSystem(), security.Is)
	return r, err
}

// textOf returns the lines of an error, without kt's name before them.
func textOf(err error) string { return strings.Join(theme.Problems(err), "\n") }
