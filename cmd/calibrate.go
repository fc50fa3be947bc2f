package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/calibrate"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/suggest"
	"github.com/kt-bench/kt/internal/theme"
)

func newCalibrate(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "calibrate [flags] [-- produce|consume FLAGS]",
		Short: "Measure how much load this host can offer",

		SuggestFor: []string{"ceiling", "self-test"},
		Long: `Measure how much load this host can offer, whatever the brokers. kt makes the load against
a sink: a process of kt on this host that takes everything and keeps nothing. It tells
the highest rate, what a million records cost in CPU, which number of producers offers most, and how
precisely 1,000, 50,000 and 1,000,000 records/s are kept.

kt makes up to five runs on two cores, and one more each time that the cores double: some 25 s.
No broker of yours is asked: the sink's address takes the place of --bootstrap-server.

The sink needs CPU too: a host whose brokers are elsewhere can offer more than kt says here.

With --save, later loads of this shape (engine, records, and the properties that decide what a record
costs) are held against the ceiling, and kt says when it was the limit. Ceilings are kept in
~/.local/state/kt/ceilings.json; remove that file to forget them.`,
		Example: `  kt calibrate
  kt calibrate --save -- produce --engine wire --record-size 100
  kt calibrate --run-time 10s -- consume --engine wire
  kt calibrate --output json -- produce --acks all | jq .ceiling`,
		Args: cobra.ArbitraryArgs,
	}
	flags := config.NewCalibrate(c.Flags())
	completions(c, map[string][]string{"output": config.DocumentOutputs})
	c.ValidArgs = []string{string(plan.Produce), string(plan.Consume)}
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := flags.Load(env.configSystem(), suggest.Nearest); err != nil {
			return usageError(err)
		}
		if len(args) == 0 {
			args = []string{string(plan.Produce)}
		}
		l, err := loadOf(args)
		if err != nil {
			return usageError(err)
		}
		return env.interruptible(c.Context(), func(ctx context.Context) error { return runCalibrate(ctx, env, flags, l) })
	}
	return c
}

// setByCalibrate are the flags of a load that kt calibrate sets itself.
var setByCalibrate = []string{
	bootstrapServer, "cluster", "topic", "rate", "throughput", "duration", "num-records", "messages", "warmup", "warmup-records", "on", "result", "output",
	"group", "groups", "from", "from-latest", "verify", "ledger", "at", "exec", "include", "partitions",
}

func runCalibrate(ctx context.Context, env *Env, flags *config.Calibrate, l study.Load) error {
	if l.Command == string(plan.Roundtrip) {
		return usageError(errors.New("kt calibrate: a sink keeps no records, so there is nothing to read again: calibrate produce, and then consume"))
	}
	o := calibrate.Options{CPUs: runtime.GOMAXPROCS(0)}
	clients := "producers"
	if l.Command == string(plan.Consume) {
		clients = "consumers"
		if flags.Save {
			return usageError(errors.New("--save: kt keeps no ceiling of reading, for what a record costs to read depends on the topic"))
		}
	} else {
		o.Rates = calibrate.Rates
	}
	for _, f := range l.Flags {
		if slices.Contains(setByCalibrate, f.Name) {
			return usageError(fmt.Errorf("--%s: kt calibrate sets it itself; leave it out", f.Name))
		}
		if f.Name == clients {
			o.Clients, _ = strconv.Atoi(f.Value) // the load is checked below
		}
	}
	b := newSinkLab(env)
	check := l
	check.Flags = append(slices.Clone(l.Flags), study.Flag{Name: bootstrapServer, Value: "localhost:9092"}, study.Flag{Name: "topic", Value: sinkTopic})
	ld, err := b.load(check)
	if err != nil {
		return usageError(err)
	}
	kept := ""
	if flags.Save {
		if kept, err = env.ceilings(); err != nil {
			return usageError(fmt.Errorf("--save: %w", err))
		}
	}
	addr, end, err := startSink(ctx, sinkOf(ld, max(o.Clients, o.CPUs)))
	if err != nil {
		return err
	}
	defer end()
	tuneProcess(env, ld)
	d, err := calibrate.Measure(ctx, o, func(ctx context.Context, n int, rate float64) (result.Result, error) {
		run := calibrating(l, clients, n, rate, addr, flags.Time)
		if !flags.Quiet {
			env.say("%s", describeCalibration(clients, n, rate))
		}
		return b.Run(ctx, run, "", func() {})
	})
	if err != nil {
		return err
	}
	d.KTVersion, d.MeasuredAt = buildVersion().String(), env.Now().UTC()
	write := report.Calibration
	if flags.Output == "json" {
		write = report.CalibrationJSON
	}
	err = write(env.Stdout, d, env.reportOptions(flags.Look, false)) // first: the measurement took longer than saving does
	if flags.Save {
		if saveErr := calibrate.Save(kept, d); saveErr != nil {
			err = errors.Join(err, fmt.Errorf("--save: %w", saveErr))
		}
	}
	return err
}

// ceilings returns the path of the file that keeps ceilings, or an error if none can be saved there.
func (e *Env) ceilings() (string, error) {
	dir := e.stateDir()
	if dir == "" {
		return "", errors.New("there is no home folder to keep the ceiling in; set XDG_STATE_HOME")
	}
	path := filepath.Join(dir, calibrate.FileName)
	return path, calibrate.Check(path)
}

func describeCalibration(clients string, n int, rate float64) string {
	if rate == 0 {
		return fmt.Sprintf("no limit, %s: %d", clients, n)
	}
	return theme.Count(int64(rate)) + " records/s"
}

// calibrating returns the load of one run of a calibration.
func calibrating(l study.Load, clients string, n int, rate float64, addr string, measure time.Duration) study.Load {
	warmup := measure / 4
	own := []study.Flag{
		{Name: bootstrapServer, Value: addr},
		{Name: "topic", Value: sinkTopic},
		{Name: clients, Value: strconv.Itoa(n)},
		{Name: "warmup", Value: warmup.String()},
		{Name: "duration", Value: (warmup + measure).String()},
	}
	if rate > 0 {
		own = append(own, study.Flag{Name: "rate", Value: strconv.FormatFloat(rate, 'f', -1, 64)})
	}
	if l.Command == string(plan.Consume) {
		own = append(own, study.Flag{Name: "no-group", Value: "true"})
	}
	run := study.Load{Command: l.Command}
	for _, f := range l.Flags {
		if f.Name != clients && f.Name != "no-group" {
			run.Flags = append(run.Flags, f)
		}
	}
	run.Flags = append(run.Flags, own...)
	return run
}
