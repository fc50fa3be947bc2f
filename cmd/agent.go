package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/cluster/port"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/host/watch"
	"github.com/kt-bench/kt/internal/kafka/security"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/secret"
)

func newAgent(env *Env) *cobra.Command {
	var set *pflag.FlagSet
	what := ""
	return command[*config.Agent]{
		flags: func(s *pflag.FlagSet) *config.Agent {
			flags := config.NewAgent(s)
			for _, f := range printFlags {
				s.Bool(f.name, false, f.usage)
			}
			set = s
			return flags
		},
		load: func(env *Env, s *config.Agent, _ []string) (err error) {
			what, err = toPrint(set)
			if what == "" && err == nil {
				err = s.Load(env.configSystem())
			}
			return err
		},
		run: func(ctx context.Context, env *Env, s *config.Agent, _ []string) (*finding, error) {
			if what != "" {
				return nil, printAgent(set, what, env, s)
			}
			return nil, runAgent(ctx, env, s)
		},
	}.of(env, &cobra.Command{
		Use:   "agent",
		Short: "Take part in loads that other hosts ask for",
	})
}

func runAgent(ctx context.Context, env *Env, flags *config.Agent) error {
	o, err := agentOptions(env, flags)
	if err != nil {
		return err
	}
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	signals, ignore := env.Signals()
	defer ignore()
	defer newStopper(leave, env.Exit, func(text string) { env.say("%s", text) }).listen(signals)() // an agent that is told to go has done nothing wrong
	err = cluster.Serve(ctx, o, func(addr string) {
		if o.Key == nil {
			env.say("there is no key: every user of this host may use this agent, and no other host can. kt keygen FILE makes a key, --key-file FILE uses it")
		}
		if o.Tune != nil {
			env.say("whoever has the key may change settings of this host that kt tune knows (--allow-tune)")
		}
		if !flags.Quiet {
			env.say("agent %s (%s) listens on %s; results in %s", o.Info.Name, o.Info.Role, addr, o.Dir)
		}
	})
	var option *port.OptionError
	switch {
	case errors.Is(err, context.Canceled):
		return nil
	case errors.As(err, &option):
		return usageError(err)
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w; an agent may run here already (see kt peers); or choose another address with --bind", err)
	}
	return err
}

// agentOptions returns the options of an agent, from its flags and this host.
func agentOptions(env *Env, flags *config.Agent) (cluster.AgentOptions, error) {
	key, err := load.ReadKey(flags.KeyFile)
	if err != nil {
		return cluster.AgentOptions{}, err
	}
	name, role := flags.Name, flags.Role
	if name == "" {
		if name, err = os.Hostname(); err != nil {
			return cluster.AgentOptions{}, usageError(fmt.Errorf("this host has no name: give one with --name: %w", err))
		}
	}
	tree := host.System()
	if role == "" {
		role = cluster.RoleClient
		if watch.IsBroker(tree) {
			role = cluster.RoleBroker
		}
	}
	if err := config.CheckAgentName(name); err != nil {
		return cluster.AgentOptions{}, usageError(fmt.Errorf("--name %q: %w", name, err))
	}
	dir, shared, err := agentDirs(env, flags.Dir, name)
	if err != nil {
		return cluster.AgentOptions{}, usageError(err)
	}
	limits := cluster.Limits{Producers: flags.MaxProducers, Topic: flags.AllowTopic, Duration: flags.MaxDuration}
	if flags.MaxRate.Bytes {
		limits.BytesPerSecond = flags.MaxRate.PerSecond
	} else {
		limits.Rate = flags.MaxRate.PerSecond
	}
	secure, bound, err := agentSecurity(env, flags)
	if err != nil {
		return cluster.AgentOptions{}, usageError(err)
	}
	limits.Broker = bound.Permit
	o := cluster.AgentOptions{
		Info: cluster.Info{Name: name, Role: role, Version: buildVersion().Version, Tags: flags.Tags, Security: secure},
		Key:  key, Bind: flags.Bind, Advertise: flags.Advertise, Join: flags.Join,
		Limits: limits, Parallel: flags.Parallel, Keep: flags.Keep, Dir: dir, Shared: shared,
		Spawn: spawnPart(flags.CommandConfig, flags.AllowBroker), Now: env.Now,
		Watch: func(func() time.Duration) func(at time.Duration) host.Vitals { return watch.New(tree).Sample },
		Log:   func(text string) { env.say("%s", text) },
	}
	switch {
	case !flags.AllowTune:
		return o, nil
	case key == nil:
		return o, usageError(errors.New("--allow-tune: without a key every user of this host could change its settings: make one with kt keygen FILE, and use it with --key-file FILE"))
	case !host.SystemCalls("/").Root():
		return o, usageError(errors.New("--allow-tune: only root can change settings of this host: sudo kt agent"))
	}
	o.Tune = load.NewHostTuner(env.maker(), "/").Obey
	return o, nil
}

// agentDirs returns where the agent of that name keeps run files, and where those of kt commands on this host lie.
func agentDirs(env *Env, asked, name string) (dir, shared string, err error) {
	state := env.stateDir()
	if asked != "" {
		dir, err = filepath.Abs(asked)
		if state != "" {
			shared = filepath.Join(state, "runs")
		}
		return dir, shared, err
	}
	if state == "" {
		return "", "", errors.New("there is no home folder: name one for run files with --results DIR")
	}
	return filepath.Join(state, "agent", name), filepath.Join(state, "runs"), nil
}

// agentSecurity returns the protocol and the mechanism of this host's connections to Kafka, and the addresses that loads may go
// to. It makes the path of the file absolute, because each process of a load reads the file. shown is empty for a file without
// a protocol: it may be for RabbitMQ or Pulsar, whose URLs decide about TLS.
func agentSecurity(env *Env, flags *config.Agent) (shown string, bound *secret.Binding, err error) {
	if len(flags.AllowBroker) > 0 { // it limits an agent without credentials too
		bound = secret.Bind(flags.AllowBroker)
	}
	if flags.CommandConfig == "" {
		return security.Settings{}.String(), bound, nil
	}
	if flags.CommandConfig, err = filepath.Abs(flags.CommandConfig); err != nil {
		return "", nil, err
	}
	own, err := config.SecurityOf(flags.CommandConfig, flags.AllowBroker, env.configSystem(), security.Is)
	if err != nil {
		return "", nil, err
	}
	settings, warnings, err := env.maker().Secure(&plan.Plan{}, own)
	for _, w := range warnings {
		env.say("%s", w)
	}
	if err == nil && !settings.Bound.Named() {
		err = fmt.Errorf("--command-config %s: it holds credentials, and nothing says at which brokers they may be used: add --allow-broker HOST:PORT (such as '*.prod.example:9093'), or bootstrap.servers to the file", flags.CommandConfig)
	}
	if _, isKafka := own.Given()["security.protocol"]; isKafka || len(own.Given()) == 0 {
		shown = settings.String()
	}
	return shown, cmp.Or(settings.Bound, bound), err
}

// spawnPart starts a process that makes a part of a load: this program, with nothing on
// its command line that came from another host. secure is the file with its security settings, allow are addresses for them.
func spawnPart(secure string, allow []string) func(context.Context) (*cluster.Process, error) {
	return func(ctx context.Context) (*cluster.Process, error) {
		args := []string{"part"}
		if secure != "" {
			args = append(args, "--command-config", secure)
			if len(allow) > 0 {
				args = append(args, "--allow-broker", strings.Join(allow, ","))
			}
		}
		c, err := load.Spawn(ctx, args...)
		if err != nil {
			return nil, err
		}
		return &cluster.Process{In: c.In, Out: c.Out, Kill: c.Process.Kill, Wait: c.End}, nil
	}
}
