package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// load is a run that was asked for, with everything that can be known of it before a
// broker is.
type load struct {
	*config.Run
	producer javaconf.Producer // when it writes
	values   *kafka.Values     // when it writes
	consumer javaconf.Consumer // when it reads
	date     report.DateFormat // of the output perf-test
	part     *part             // nil: the run is not one that an agent makes
	book     *ledger.Book      // of an earlier run, whose records are looked for; nil: none
}

// checkLoad checks all that.
func checkLoad(env *Env, run *config.Run) (*load, error) {
	l := &load{Run: run}
	var warnings, more []string
	var err error
	p := &run.Plan
	if p.Writes() {
		if l.values, err = kafka.MakeValues(p); err != nil {
			return nil, err
		}
		l.producer, warnings, err = javaconf.ParseProducer(run.Properties, p.Payload.MaxBytes(), run.Lenient)
		if err == nil {
			l.producer = kafka.FitBatches(l.producer, *p, l.values)
		}
	}
	if p.Reads() {
		var bad error
		l.consumer, more, bad = javaconf.ParseConsumer(run.ConsumerProperties, run.Lenient)
		err = errors.Join(err, bad)
	}
	for _, w := range append(warnings, more...) {
		env.say("%s", w)
	}
	var badDate error
	if l.date, badDate = report.ParseDateFormat(run.DateFormat); badDate != nil {
		err = errors.Join(err, fmt.Errorf("--date-format: %w", badDate))
	}
	if err != nil {
		return nil, once(err)
	}
	return l, l.readLedger()
}

// once tells each problem once: what is wrong with a property that both clients have
// is found twice.
func once(err error) error {
	var lines []error
	seen := make(map[string]bool)
	for _, line := range problems(err) {
		if !seen[line] {
			seen[line] = true
			lines = append(lines, errors.New(line))
		}
	}
	return errors.Join(lines...)
}

// runLoad checks everything that can be checked, makes the load and writes the
// result. What it opened or created is closed or undone in the reverse order.
func runLoad(ctx context.Context, env *Env, run *config.Run) error {
	l, err := checkLoad(env, run)
	if err != nil {
		return usageError(err)
	}
	if run.PrintConfig {
		return l.printConfig(env.Stdout)
	}
	ctx, abort := context.WithCancel(ctx)
	defer abort()
	stop := newStopper(abort, env.Exit, func(text string) {
		if _, screen := env.screen(); !screen || run.Quiet {
			env.say("%s", text)
		}
	})
	signals, ignore := env.Signals()
	defer ignore()
	defer stop.listen(signals)()
	env.unread = func() { stop.stop(syscall.SIGPIPE) }

	if len(run.Hosts.On) > 0 {
		err = l.runRemote(ctx, env, stop)
	} else {
		err = l.carryOut(ctx, env, stop)
	}
	code := stop.code()
	if err == nil || code == exitOK || exitCode(err) == exitLost {
		return err
	}
	if errors.Is(err, context.Canceled) {
		err = nil // what the signal asked for
	}
	return &exitError{code, err}
}

// carryOut makes the run itself.
func (l *load) carryOut(ctx context.Context, env *Env, stop *stopper) error {
	if !l.Plan.Writes() {
		tuneMemory(env)
	}
	file, err := openRunFile(env, l.ResultFile, runStem(&l.Plan))
	if err != nil {
		return usageError(err)
	}
	defer file.discardUnused()

	r := &runner{env: env, load: l, file: file, stop: stop}
	if err := r.checkLedger(); err != nil {
		return usageError(err)
	}
	if r.target, err = openTarget(ctx, env, l); err != nil {
		return err
	}
	defer r.target.close()
	return r.run(ctx)
}

// readerGC is the GOGC of a run that only reads: what is fetched is garbage as soon as it
// was counted, while little lives, so the collector would run many times a second.
// With 450 kt stays below 96 MiB and needs a fifth less CPU a record (scripts/bench
// consume).
const readerGC = 450

func tuneMemory(env *Env) {
	if env.Getenv("GOGC") == "" {
		debug.SetGCPercent(readerGC)
	}
}

// partOf is which part of a bigger run this one is: what the agent says, or what --run
// does.
func (l *load) partOf() *result.Part {
	switch {
	case l.part != nil:
		return &l.part.job.Part
	case l.Name == "":
		return nil
	}
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	return &result.Part{Run: l.Name, Host: name, Process: 1} // merging tells several apart
}

// printConfig writes what --print-config asks for: every flag and every Java
// property with its value and source.
func (l *load) printConfig(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# flags\n")
	for _, name := range slices.Sorted(maps.Keys(l.Flags)) {
		if name == "help" || l.Sources[name] == "default" && (l.Flags[name] == "" || l.Flags[name] == "0") {
			continue // nothing is set, and the default is not the flag's
		}
		printRow(&b, "%-42s %-24s %s", name, l.Flags[name], l.Sources[name])
	}
	if l.Plan.Writes() {
		printSettings(&b, "producer", l.producer.All())
	}
	if l.Plan.Reads() {
		printSettings(&b, "consumer", l.consumer.All())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func printSettings(b *strings.Builder, client string, settings []result.Setting) {
	fmt.Fprintf(b, "\n# %s properties\n", client)
	for _, set := range settings {
		printRow(b, "%-42s %-24s %-18s %s", set.Name, set.Value, set.Source, strings.TrimSpace(set.Client+"  "+set.Note))
	}
}

// printRow writes one line, whatever the values hold.
func printRow(b *strings.Builder, format string, args ...any) {
	b.WriteString(theme.Clean(fmt.Sprintf(format, args...)) + "\n")
}
