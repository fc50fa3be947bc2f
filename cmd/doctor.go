package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/host/watch"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/kafka/doctor"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/probe"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tune"
)

func newDoctor(env *Env) *cobra.Command {
	var flags *config.Doctor
	settings := func(env *Env) error { return flags.Load(env.configSystem()) }
	c := command[*config.Doctor]{
		flags: func(set *pflag.FlagSet) *config.Doctor { flags = config.NewDoctor(set); return flags },
		load: func(env *Env, s *config.Doctor, _ []string) error {
			err := settings(env)
			for _, w := range s.Warnings {
				env.line(w)
			}
			return err
		},
		values: map[string][]string{"bootstrap-server": nil}, run: examine, signals: true,
	}.of(env, &cobra.Command{
		Use:   "doctor [flags]",
		Short: "Examine a cluster from this host, before a load",
	})
	for flag, names := range env.found(func(env *Env) (plan.Plan, config.Security) {
		_ = settings(env)
		return plan.Plan{Bootstrap: flags.Bootstrap}, flags.Security
	}) {
		lookUp(c, flag, names)
	}
	return c
}

func examine(ctx context.Context, env *Env, s *config.Doctor, _ []string) (*finding, error) {
	at, err := env.systemAt(&s.Target)
	if err != nil {
		return nil, err
	}
	system, ok := at.(interface {
		Examine(ctx context.Context, o doctor.Options) (*doctor.Report, error)
	})
	if !ok {
		return nil, load.Cannot("kt doctor", &plan.Plan{URL: s.URL}, "kt roundtrip --url "+theme.Quoted(s.URL)+" --verify --duration 10s tells whether a load gets through")
	}
	if s.Yes {
		s.Protected = ""
	}
	r, err := system.Examine(ctx, doctor.Options{
		Topic: s.Topic, Duration: s.Duration, ReadOnly: s.ReadOnly, Protected: s.Protected, ClientIDs: s.ClientIDs, Now: env.Now(),
	})
	if r == nil {
		return nil, usageError(err) // an address
	}
	if err == nil && r.Failed() {
		err = &exitError{code: exitNotMet}
	}
	d := &report.DoctorDocument{Schema: report.Schema, Healthy: err == nil, Checks: []report.DoctorRow{}, Cluster: r.Cluster, Exit: exitCode(err)}
	if d.Cluster.Brokers == nil {
		d.Cluster.Brokers, d.Cluster.Controller = []result.Broker{}, -1 // no broker was reached
	}
	for _, c := range r.Checks {
		d.Checks = append(d.Checks, report.DoctorRow{Name: c.Name, About: c.About, State: string(c.State), Text: c.Text, Advice: c.Advice, Figures: c.Figures})
	}
	return found(report.DoctorDoc(d), d), err
}

// systemAt returns the system that a command looks at.
func (e *Env) systemAt(t *config.Target) (run.System, error) {
	secure, warnings, err := e.maker().Secure(&plan.Plan{Bootstrap: t.Bootstrap, URL: t.URL}, t.Security)
	if err != nil {
		return nil, usageError(err)
	}
	for _, w := range warnings {
		e.say("%s", w)
	}
	return load.SystemAt(t.URL, t.Bootstrap, secure), nil
}

// watchHost samples this host once a second until ctx ends.
func watchHost(ctx context.Context, env *Env, w *config.Plain, _ []string) (*finding, error) {
	name, err := os.Hostname()
	seen, sum := report.WatchDocument{Schema: 1, Host: name}, new(merge.BusySum)
	watcher, begun, tick := watch.New(host.System()), env.Now(), time.NewTicker(time.Second)
	defer tick.Stop()
	screen, tty := env.screen()
	if tty = tty && w.Output == "text"; tty {
		_, _ = io.WriteString(screen, "\x1b[?1049h") // the alternate screen, until the end
	}
	for err == nil && ctx.Err() == nil {
		select {
		case <-ctx.Done():
			continue
		case <-tick.C:
		}
		v, second := watcher.Sample(env.Now().Sub(begun)), new(merge.BusySum)
		if v.Interval <= 0 {
			continue
		}
		second.Add(&v)
		sum.Add(&v)
		seen.Now, seen.Overall = &second.Busy, &sum.Busy
		switch {
		case w.Output == "jsonl":
			err = theme.JSON(env.Stdout, seen, "")
		case tty:
			_, _ = io.WriteString(screen, "\x1b[H\x1b[J")
			err = report.Write(screen, "text", report.WatchDoc(&seen), nil, report.Options{Options: doc.Options{Theme: env.screenTheme(screen, w.Look), Width: terminalWidth(screen, true)}})
		case w.Output == "text":
			env.line(report.WatchLine(&seen))
		}
	}
	if tty {
		_, _ = io.WriteString(screen, "\x1b[?1049l")
	}
	if err != nil || w.Output == "jsonl" {
		return nil, err
	}
	return found(report.WatchDoc(&seen), seen), nil
}

func newProbe(env *Env) *cobra.Command {
	return command[*config.Probe]{
		flags: config.NewProbe, values: map[string][]string{"tests": probe.Tests()},
		run: runProbe, signals: true,
	}.of(env, &cobra.Command{
		Use:   "probe DIR... [flags]",
		Short: "Measure disks as Kafka uses them",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError(errors.New("kt probe needs the directories to measure: kt probe /data/kafka1 (see: kt probe --help)"))
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	})
}

// readProbe reads an earlier result that a new one of some directories can be held
// against; nil without one.
func readProbe(path string, dirs []string) (*probe.Report, error) {
	if path == "" {
		return nil, nil
	}
	const most = 64 * input.MiB // every test of many directories
	text, err := input.Read(path, most)
	if err != nil {
		return nil, fmt.Errorf("--compare %s: %w", path, err)
	}
	r, err := probe.Earlier(text)
	if err == nil {
		err = probe.Comparable(r, dirs)
	}
	if err != nil {
		return nil, fmt.Errorf("--compare %s: %w", path, err)
	}
	return r, nil
}

func runProbe(ctx context.Context, env *Env, p *config.Probe, dirs []string) (*finding, error) {
	before, err := readProbe(p.Compare, dirs)
	if err != nil {
		return nil, usageError(err)
	}
	brokers, err := tune.DirsInUse(host.System(), host.SystemCalls("/"))
	if err != nil && !p.Force && probe.Mode(p.Mode) != probe.Live { // which does no harm anywhere
		return nil, usageError(fmt.Errorf("%w; so kt cannot tell whether a broker uses %s: ask as root, or add --force", err, strings.Join(dirs, ", ")))
	}
	o := probe.Options{
		Dirs: dirs, Mode: probe.Mode(p.Mode), Tests: p.Tests, Size: p.Size, Duration: p.Duration,
		Blocks: p.Blocks, Direct: p.Direct, Brokers: brokers, Force: p.Force,
	}
	if p.DD {
		o.Tests = []string{"dd"}
	}
	r, err := env.probe(ctx, o, p.Quiet)
	if r == nil || len(r.Directories) == 0 {
		return nil, err
	}
	if before != nil {
		c, incomparable := probe.Compare(before, r)
		if incomparable != nil {
			return nil, incomparable
		}
		r.Comparison = &c
	}
	return found(report.ProbeDoc(r, p.Compare), r), err
}

// between is how much time lies between two lines of one test.
const between = 10 * time.Second

// probe checks a probe, makes it and shows how it goes: a line that is written over on a terminal, else a line for each test.
func (e *Env) probe(ctx context.Context, o probe.Options, quiet bool) (*probe.Report, error) {
	plan, err := probe.Check(o)
	if err != nil {
		return nil, usageError(err)
	}
	if quiet {
		return probe.Run(ctx, o, func(probe.Progress) {})
	}
	for _, d := range plan.Directories { // writes wear disks out
		e.say("%s: writes at most %s, repeatedly", d.Path, theme.Bytes(d.SizeBytes))
	}
	e.say("takes %s at most", theme.Duration(plan.Duration.Round(time.Second)))
	tty := e.StderrTTY && e.Getenv("TERM") != "dumb" && e.Getenv("CI") == ""
	step, told := 0, time.Duration(0) // of the last line
	defer func() {
		if tty && step > 0 {
			e.redraw("")
		}
	}()
	return probe.Run(ctx, o, func(now probe.Progress) {
		switch {
		case tty:
			e.redraw(report.ProbeLine(now, terminalWidth(e.Stderr, true)))
		case now.Step != step:
			e.say("%d/%d %s: %s", now.Step, now.Steps, now.Dir, now.Test)
		case now.Elapsed >= told+between:
			e.say("%s", report.ProbeLine(now, 0))
		default:
			return
		}
		step, told = now.Step, now.Elapsed
	})
}

// probe measures the log directories quickly, for checks whose wanted values depend
// on what a disk can do.
func (t *tuner) probe(ctx context.Context, m *tune.Machine) error {
	var dirs []string
	for _, d := range m.Dirs {
		dirs = append(dirs, d.File)
	}
	if len(dirs) == 0 {
		return usageError(errors.New("--probe: no log directory is known: add --dirs DIR,DIR"))
	}
	brokers, err := tune.DirsInUse(host.System(), m.Calls)
	o := probe.Options{Dirs: dirs, Mode: probe.Quick, Brokers: brokers}
	if m.Process != nil || len(brokers) > 0 { // its load would be measured too, and disturbed
		o.Mode = probe.Live
		t.env.say("a broker runs here: --probe measures with hardly any load, as kt probe --mode live, and finds no rate to plan with")
	} else if err != nil {
		return usageError(fmt.Errorf("--probe: %w", err))
	}
	r, err := t.env.probe(ctx, o, t.Quiet)
	if err != nil {
		return fmt.Errorf("--probe: %w", err)
	}
	if len(r.Directories) > 0 { // the slowest counts
		rate := math.Inf(1)
		for _, d := range r.Directories {
			rate = min(rate, d.PlanMiBPerSecond)
		}
		m.Bandwidth = int64(rate * (1 << 20))
	}
	if t.Output == "text" && (t.Action == config.ActionCheck || t.Action == config.ActionApply || t.Action == config.ActionDryRun) {
		return t.env.document(t.Output, t.Look, report.ProbeDoc(r, ""), r)
	}
	return nil
}
