package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/cluster/port"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/kafka/security"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/theme"
)

func listPeers(ctx context.Context, env *Env, s *config.Peers, _ []string) (*finding, error) {
	_, agents, err := env.maker().Agents(ctx, &s.Agents)
	if err != nil {
		return nil, err
	}
	var rows []report.Peer
	silent := 0
	for _, p := range agents {
		row := report.Peer{
			Name: p.Name, Address: p.Addr, Role: p.Role, Version: p.Version, State: p.State, Run: p.Run, Tags: p.Tags, Results: p.Results, Security: p.Security,
		}
		if p.Cores > 0 {
			row.CPUCores, row.Cores = &p.CPU, &p.Cores
		}
		if p.Memory > 0 {
			row.MemoryBytes, row.FreeBytes = &p.Memory, &p.Free
		}
		if p.RTT > 0 {
			off, bound := p.Offset.Microseconds(), p.Bound.Microseconds()
			row.ClockOffsetUS, row.ClockBoundUS = &off, &bound
		}
		if p.Rival != "" {
			row.Problem = fmt.Sprintf("another agent at %s is called %s too: give each a --name of its own, unless one has just been restarted", p.Rival, p.Name)
		}
		if p.Err != nil {
			row.Problem = p.Err.Error()
			silent++
		}
		rows = append(rows, row)
	}
	all := report.NewPeers(rows)
	if silent > 0 {
		err = fmt.Errorf("%d of %s could not be asked: the rows say why; kt agent must run there, be reached by TCP and have the same key (--key-file)", silent, theme.Plural(len(rows), "agent", "agents"))
	}
	return found(report.PeersDoc(all), all), err
}

func newKeygen(env *Env) *cobra.Command {
	var pem bool
	return command[none]{
		flags: func(set *pflag.FlagSet) none {
			set.BoolVar(&pem, "pem", false, "write the certificate and private key of the key in FILE, for openssl and curl")
			return none{}
		},
		run: func(_ context.Context, env *Env, _ none, args []string) (*finding, error) {
			if pem {
				key, err := load.OpenKey(args[0])
				if err != nil {
					return nil, usageError(fmt.Errorf("--pem: %s: %w", args[0], err))
				}
				return text(string(key.PEM())), nil
			}
			key := port.NewKey().Text() + "\n"
			if len(args) == 0 || args[0] == "-" {
				return text(key), nil
			}
			if err := writeNew(args[0], []byte(key), 0o600); err != nil {
				return nil, err
			}
			env.say("wrote a new key to %s; copy it to every host with kt agent, and to the hosts from which you start loads (--key-file)", args[0])
			return nil, nil
		},
	}.of(env, &cobra.Command{
		Use:   "keygen [FILE]",
		Short: "Make a key for agents and the hosts that start loads",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError(fmt.Errorf("kt keygen writes one key: %q is a second file; leave it out", args[1]))
			}
			if pem && len(args) == 0 {
				return usageError(errors.New("--pem: name the file with the key, as in kt keygen --pem kt.key"))
			}
			return nil
		},
	})
}

// writeNew writes a file that is not there yet.
func writeNew(path string, text []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return exists(path)
	} else if err != nil {
		return usageError(fmt.Errorf("%s: %w", path, input.Cause(err)))
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", path, input.Cause(err)), os.Remove(path))
	}
	return nil
}

// exists returns the error of a file that would be overwritten.
func exists(path string) error {
	return usageError(fmt.Errorf("%s: it exists, and kt does not overwrite it: name another file or remove it", path))
}

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
	judged := func(res *result.Result, err error) error { return worse(judge(res, stop.code(), l.Output, false), err) }
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
