package cmd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/calibrate"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/study"
)

func newCalibrate(env *Env) *cobra.Command {
	return command[*config.Calibrate]{flags: config.NewCalibrate, run: runCalibrate, signals: true}.of(env, &cobra.Command{
		Use:   "calibrate [flags] [-- produce|consume FLAGS]",
		Short: "Measure how much load this host can offer",

		SuggestFor:        []string{"ceiling", "self-test"},
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeCalibrated,
	})
}

// calibratedLoad returns the load that stands behind the flags of kt calibrate.
func calibratedLoad(args []string) (study.Load, error) {
	if len(args) == 0 {
		args = []string{string(plan.Produce)}
	}
	switch args[0] {
	case string(plan.Produce), string(plan.Consume):
		return loadOf(args)
	case string(plan.Roundtrip):
		return study.Load{}, errors.New("kt calibrate: a sink keeps no records, so there is nothing to read again: calibrate produce, and then consume")
	}
	return study.Load{}, fmt.Errorf("%q is no load: write produce or consume first, as in: kt calibrate -- produce --engine wire", args[0])
}

// completeCalibrated offers the commands of loads that can be calibrated, and behind one of them its flags that count.
func completeCalibrated(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return []string{string(plan.Produce), string(plan.Consume)}, cobra.ShellCompDirectiveNoFileComp
	}
	l, _, err := c.Root().Find(args[:1])
	last := args[len(args)-1]
	if err != nil || len(args) > 1 && strings.HasPrefix(last, "--") && !strings.HasPrefix(typed, "-") {
		return nil, cobra.ShellCompDirectiveDefault // the value of a flag
	}
	var names []string
	for _, name := range flagNames(l.Flags()) {
		if config.CountsInCalibration(name) {
			names = append(names, "--"+name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func runCalibrate(ctx context.Context, env *Env, flags *config.Calibrate, args []string) (*finding, error) {
	l, err := calibratedLoad(args)
	if err != nil {
		return nil, usageError(err)
	}
	if flags.Save && l.Command == string(plan.Consume) {
		return nil, usageError(errors.New("--save: kt keeps no ceiling of reading, for what a record costs to read depends on the topic"))
	}
	c, err := env.maker().NewCalibration(l)
	if err != nil {
		return nil, err
	}
	kept := ""
	if flags.Save {
		if kept = env.stateDir(); kept == "" {
			return nil, usageError(errors.New("--save: there is no home folder to keep the ceiling in; set XDG_STATE_HOME"))
		}
		kept = filepath.Join(kept, calibrate.FileName)
		if err = calibrate.Check(kept); err != nil {
			return nil, usageError(fmt.Errorf("--save: %w", err))
		}
	}
	c.Time, c.Tell = flags.Time, func(text string) {
		if !flags.Quiet {
			env.say("%s", text)
		}
	}
	tuneProcess(env, c.Plan)
	d, err := c.Measure(ctx)
	if err != nil {
		return nil, err
	}
	d.KTVersion, d.MeasuredAt = buildVersion().String(), env.Now().UTC()
	if flags.Save {
		err = saveCeiling(env, kept, d, flags.Quiet)
	}
	return found(report.CalibrationDoc(&d), d), err
}

// saveCeiling keeps a ceiling in a file, unless it is too low.
func saveCeiling(env *Env, path string, d calibrate.Document, quiet bool) error {
	if d.TooLow != "" {
		return &exitError{exitNotValid, fmt.Errorf("--save: %s, so it was not saved; calibrate again when nothing else is busy on this host", d.TooLow)}
	}
	if err := calibrate.Save(path, d); err != nil {
		return fmt.Errorf("--save: %w", err)
	}
	if !quiet {
		env.say("saved in %s: later loads of this shape are held against it", path)
	}
	if d.OthersCPU == nil {
		env.say("whether others used the CPUs is not known: if they did, the saved ceiling is too low")
	}
	return nil
}

// runSink is the broker that kt calibrate starts. It keeps no record, and gives the same batch to every fetch.
func runSink(_ context.Context, env *Env, _ none, _ []string) (*finding, error) {
	var s kafka.Sink
	in := bufio.NewReader(env.Stdin)
	line, err := in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &s)
	}
	if err != nil {
		return nil, usageError(fmt.Errorf("kt sink is for kt calibrate, which says on standard input what records are like: %w", err))
	}
	debug.SetGCPercent(sinkGC)
	c, err := kafka.StartSink(s)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if _, err = fmt.Fprintln(env.Stdout, strings.Join(c.Addrs(), ",")); err == nil {
		_, err = io.Copy(io.Discard, in)
	}
	return nil, err
}

// sinkGC is the GOGC of a sink: all that it reads is garbage at once, and what it needs of the CPU the load cannot have.
const sinkGC = 400
