package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/export"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/kafka/security"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/report/page"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/secret"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui"
	"github.com/kt-bench/kt/profiles"
)

// newLoad completes a command that makes a load.
func newLoad(env *Env, define func(*pflag.FlagSet) *config.Run, c *cobra.Command) *cobra.Command {
	var asked *config.Run
	command[*config.Run]{
		flags: func(set *pflag.FlagSet) *config.Run { asked = define(set); return asked },
		load: func(env *Env, asked *config.Run, _ []string) error {
			err := asked.Load(env.configSystem())
			for _, w := range asked.Warnings {
				env.line(w)
			}
			return err
		},
		values: map[string][]string{"profile": config.ProfileNames(profiles.Of(c.Name())), "run": nil},
		run: func(ctx context.Context, env *Env, asked *config.Run, _ []string) (*finding, error) {
			return nil, runLoad(ctx, env, asked)
		},
	}.of(env, c)
	for flag, names := range env.found(func(env *Env) (plan.Plan, config.Security) {
		_ = asked.Load(env.configSystem()) // what is there will do
		return asked.Plan, asked.Security
	}) {
		lookUp(c, flag, names)
	}
	return c
}

// runLoad checks everything that can be checked, makes the load and writes the result.
func runLoad(ctx context.Context, env *Env, asked *config.Run) error {
	date, badDate := report.ParseDateFormat(asked.DateFormat)
	if badDate != nil {
		badDate = fmt.Errorf("--date-format: %w", badDate)
	}
	l, err := env.maker().Check(asked)
	if err := errors.Join(err, badDate); err != nil {
		return usageError(err)
	}
	if l.Metrics != "" && !config.Loopback(l.Metrics) && !l.PrintConfig {
		env.say("--metrics-listen %s: everybody who reaches this address can read the metrics of this run", l.Metrics)
	}
	if l.PrintConfig {
		return effectiveConfig(l).Write(env.Stdout)
	}
	if asked.Protected != "" && !asked.Yes {
		ask := func(ctx context.Context) error { return env.permit(ctx, asked.Protected, describeLoad(&asked.Plan)) }
		if err := env.interruptible(ctx, ask); err != nil {
			return err
		}
	}
	ctx, stop, end := env.stoppable(ctx, l.Quiet)
	defer end()
	return stop.ended(carryOut(ctx, env, l, date, stop))
}

// carryOut makes the run, here or on other hosts, and writes its result.
func carryOut(ctx context.Context, env *Env, l *load.Load, date report.DateFormat, stop *stopper) error {
	shown, err := export.Start(env.Getenv, l.Metrics, l.Quiet, func(text string) { env.say("%s", text) })
	if err != nil {
		return usageError(err)
	}
	defer shown.Close(ctx, stop.end)
	file, err := env.maker().RunFile(l.ResultFile, l.Stem())
	if err != nil {
		return err
	}
	defer file.Discard()
	asPage, err := env.pageFile(l.HTML, l.Quiet)
	if err != nil {
		return err
	}
	defer asPage.Discard()
	out, screen := newOutput(env, l, date, stop), ctx
	shown.Notify = out.notify
	do, hosts, remove, err := l.Func(ctx)
	if err != nil {
		return err
	}
	defer remove()
	if hosts == nil {
		tuneProcess(env, &l.Plan)
	} else {
		out.hosts, out.oldest = hostHeaders(hosts, l.Parts), nil
		screen = stop.elsewhere(ctx)
	}
	r := l.Request(file)
	r.Status, r.Notify, r.Rates, r.Stop = &out.status, out.notify, out.rates, stop.asked
	prepared := out.prepare()
	defer prepared()
	r.Opened = func(h result.Header) error {
		prepared()
		shown.Open(h)
		return out.open(screen, h)
	}
	r.Began = func(at time.Time) result.Start {
		stop.begin()
		return result.Start{At: at.UTC()}
	}
	res, err := do(ctx, r, shown.Observers(out)...)
	out.close()
	if res.RunID == "" {
		return l.WithSources(err)
	}
	var process *cluster.ProcessError
	if errors.As(err, &process) {
		err = process.Err
	}
	env.runsFolder().Add(file.Path(), &res)
	err = errors.Join(err, out.write(res, file.Path()), asPage.Write(func(w io.Writer) error { return page.Run(w, res, report.Options{}) }, file.Path()))
	shown.Finished = true
	judged := judge(&res, stop.code(), l.Output, l.Strict)
	if judged == nil {
		judged = judgeParts(&res, process)
	} else if hosts == nil {
		judged = withReason(screen, l.System, &res, judged)
	}
	return worse(judged, err)
}

// withReason adds to the error of a result why the system cannot be reached now, if that is the reason.
func withReason(ctx context.Context, system run.System, res *result.Result, judged error) error {
	if s, ok := system.(run.Unreachable); ok {
		if now := s.WhyUnreachable(ctx, res.Errors.Worst()); now != nil {
			return fmt.Errorf("%w; now %w", judged, now)
		}
	}
	return judged
}

// hostHeaders returns the hosts of a load for the screen.
func hostHeaders(h *cluster.Hosts, parts []plan.Plan) (shown []tui.HostHeader) {
	for i, peer := range h.Load {
		share := 0.0
		for k := range h.Processes {
			share += parts[i*h.Processes+k].Part()
		}
		shown = append(shown, tui.HostHeader{Name: peer.Name, Processes: h.Processes, Share: share})
	}
	for _, peer := range h.Watch {
		shown = append(shown, tui.HostHeader{Name: peer.Name})
	}
	return shown
}

// effectiveConfig returns the values that --print-config shows: every flag and every Java property.
func effectiveConfig(l *load.Load) (c report.Config) {
	for _, name := range slices.Sorted(maps.Keys(l.Flags)) {
		value, source := l.Flags[name], l.Sources[name]
		if name == "help" || source == "default" && (value == "" || value == "0") {
			continue // nothing is set, and the default is not the flag's
		}
		c.Flags = append(c.Flags, result.Setting{Name: name, Value: secret.Hide(value), Source: source})
	}
	given := l.Security.Given()
	for _, name := range slices.Sorted(maps.Keys(given)) {
		c.Security = append(c.Security, result.Setting{Name: name, Value: security.Show(name, given[name].Value), Source: given[name].Source})
	}
	var h result.Header
	l.System.Describe(&h)
	c.Producer, c.Consumer = h.Config, h.ConsumerConfig
	return c
}

const (
	// readerGC is the GOGC of a run that only reads. A record is garbage as soon as it was
	// counted, and little lives, so the collector would run many times a second.
	// With 450 kt stays below 96 MiB and needs a fifth less CPU a record (scripts/bench
	// consume).
	readerGC = 450

	// A process with more than many clients, or topics, has manyGC: each keeps about 60 KB, and the heap grows by half of all.
	many   = 100
	manyGC = 50

	// loadMemory is the memory limit of the Go runtime with the embedded broker, and in a run that reads. The bound of what brokers
	// send is below it. With the memory outside of the heap, kt stays below 512 MiB.
	loadMemory = 384 << 20
)

// tuneProcess sets the garbage collector for the loads that this process makes at once.
func tuneProcess(env *Env, plans ...*plan.Plan) {
	var all plan.Plan // the clients of all
	topics, writes, reads := 0, false, false
	for _, p := range plans {
		all.Producers += p.Producers
		all.Read.Consumers += p.Read.Clients()
		topics, writes, reads = topics+len(p.Topic.Names()), writes || p.Writes(), reads || p.Reads()
	}
	switch {
	case env.Getenv("GOGC") != "":
	case max(all.Producers+all.Read.Consumers, topics) > many:
		debug.SetGCPercent(manyGC)
	case !writes:
		debug.SetGCPercent(readerGC)
	}
	switch {
	case plans[0].Embedded():
		debug.SetMemoryLimit(loadMemory)
	case reads && env.Getenv("GOMEMLIMIT") == "":
		debug.SetMemoryLimit(readerMemory(&all, host.System().UsableMemory()))
	}
}

// readerMemory returns the memory limit of the Go runtime in a run that reads: three quarters of the usable memory at most.
func readerMemory(p *plan.Plan, usable int64) int64 {
	most := int64(loadMemory + p.Read.Clients()*(4<<20) + max(0, p.Producers-1)*(32<<20))
	if usable > 0 {
		most = min(most, usable/4*3)
	}
	return most
}

// leastAddresses is the address space that kt needs: the Go runtime reserves more than it uses.
const leastAddresses = 2 << 30

// addressSpace returns an error if the process may have too little address space. The runtime would end it with a crash in the
// middle. Below about 0.8 GiB it does that before any code of kt runs.
func addressSpace(limit uint64) error {
	if limit == 0 || limit >= leastAddresses {
		return nil
	}
	return fmt.Errorf("ulimit -v: the address space is limited to %s, and kt needs 2 GiB: raise the limit (ulimit -v unlimited); "+
		"to bound memory, use a cgroup or GOMEMLIMIT", theme.Bytes(int64(limit)))
}

// latencyToolArgs takes the arguments of kafka-e2e-latency that are not named, and warns of them as it does.
func latencyToolArgs(env *Env) cobra.PositionalArgs {
	names := []string{"bootstrap-server", "topic", "num-records", "producer-acks", "record-size", "command-config"}
	return func(c *cobra.Command, args []string) error {
		if len(args) != len(names) && len(args) != len(names)-1 {
			return noArgs(c, args)
		}
		for i, value := range args {
			if c.Flags().Changed(names[i]) {
				return usageError(fmt.Errorf("--%s and the argument %q exclude each other: give one", names[i], value))
			}
			if err := c.Flags().Set(names[i], value); err != nil {
				return flagError(c, err)
			}
		}
		env.line("WARNING: Positional argument usage is deprecated and will be removed in Apache Kafka 5.0. Please use named arguments instead: --" + strings.Join(names, ", --"))
		return nil
	}
}

// permit asks before loads of a cluster that is marked as protected. Where nobody can be asked it refuses them.
func (e *Env) permit(ctx context.Context, cluster, loads string) error {
	yes, err := e.confirm(ctx, fmt.Sprintf("cluster %s is protected: %s?", cluster, loads))
	switch {
	case err != nil:
		return fmt.Errorf("cluster %s is protected: %w", cluster, err)
	case !yes:
		return usageError(errors.New("nothing was done"))
	}
	return nil
}

// describeLoad tells what a load will do to a cluster.
func describeLoad(p *plan.Plan) string {
	end := "until it is stopped"
	switch l := p.Load; {
	case l.Records > 0:
		end = theme.Plural(l.Records, "record", "records")
	case l.Duration > 0:
		end = "for " + theme.Duration(l.Duration.Std())
	case p.Read.ToEnd:
		end = "to the end"
	}
	rate := "at no limit"
	if !p.Load.Rate.IsUnlimited() {
		rate = "at " + theme.Amount(p.RecordsPerSecond()) + " records/s"
	}
	topic := p.Topic.Short()
	if topic == "" {
		topic = p.Read.Include
	}
	return fmt.Sprintf("kt %s with topic %s at %s, %s, %s", p.Command, topic, strings.Join(p.Servers(), ","), rate, end)
}

// permitStudy asks once before all runs of a study, if one of them goes to a protected cluster. The loads were planned.
func (e *Env) permitStudy(ctx context.Context, b *load.Runner, s *study.Study, yes bool) error {
	if b.Protected == "" || yes {
		return nil
	}
	return e.permit(ctx, b.Protected, "all runs of "+s.Name)
}
