package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"

	"github.com/kt-bench/kt/internal/calibrate"
	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/kafka/security"
	"github.com/kt-bench/kt/internal/kafka/system"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/secret"
	"github.com/kt-bench/kt/internal/tui"
)

// load is a run on request, with everything known of it before kt connects to a broker.
type load struct {
	*config.Run
	system run.System
	kafka  *system.System    // nil: the load is made on another system
	date   report.DateFormat // of the output perf-test
	book   *ledger.Book      // of an earlier run, whose records are looked for; nil: none
}

// checkLoad checks a run without connecting to a broker.
func checkLoad(env *Env, asked *config.Run) (*load, error) {
	l := &load{Run: asked}
	var badLedger error
	if l.LedgerFile != "" { // it may choose the engine
		l.book, badLedger = run.ReadBook(l.LedgerFile, &l.Plan, l.Sources["engine"] != "default")
		l.settle("engine", string(l.Plan.Engine))
		l.settle("topic", l.Plan.Topic.Name)
	}
	own := asked.Security
	if len(l.Hosts.On) > 0 { // the agents connect, with their own
		own = config.Security{}
	}
	secure, more, bad := env.secure(&l.Plan, own)
	warnings, err := l.chooseSystem(secure)
	unencrypted, badTLS := checkTLS(&l.Plan, own.Given())
	warnings, err = append(warnings, unencrypted...), errors.Join(err, bad, badTLS)
	if l.Plan.Embedded() && secure.Protocol() != plaintext {
		more = append(more, "the broker inside kt has no security: the security properties have no effect")
	}
	for _, addr := range l.Plan.Addresses() {
		err = errors.Join(err, secure.Bound.Permit(addr))
	}
	if bad != nil {
		more = nil // of properties without effect, beside the error that is the reason
	}
	for _, w := range append(warnings, more...) {
		env.say("%s", w)
	}
	var badDate error
	if l.date, badDate = report.ParseDateFormat(l.DateFormat); badDate != nil {
		err = errors.Join(err, fmt.Errorf("--date-format: %w", badDate))
	}
	err = errors.Join(err, l.sourced(metric.CheckAll(l.Limits, l.AbortOn, &l.Plan, len(l.Hosts.On) > 0)))
	if err != nil {
		return nil, once(err)
	}
	return l, badLedger
}

// settle notes the value of a flag, which the ledger may have changed.
func (l *load) settle(flag, value string) {
	if l.Flags[flag] != value {
		l.Flags[flag], l.Sources[flag] = value, "ledger "+l.LedgerFile
	}
}

// once removes repeated problems. A bad property that both clients have is found twice.
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
// result. Opened files are closed, and created ones undone, in the reverse order.
func runLoad(ctx context.Context, env *Env, asked *config.Run) error {
	l, err := checkLoad(env, asked)
	if err != nil {
		return usageError(err)
	}
	if l.PrintConfig {
		return l.config().Write(env.Stdout)
	}
	if err := env.permitLoad(ctx, asked); err != nil {
		return err
	}
	ctx, abort := context.WithCancel(ctx)
	defer abort()
	stop := newStopper(abort, env.Exit, func(text string) {
		if _, screen := env.screen(); !screen || l.Quiet {
			env.say("%s", text)
		}
	})
	signals, ignore := env.Signals()
	defer ignore()
	defer stop.listen(signals)()
	env.unread = func() { stop.stop(syscall.SIGPIPE) }

	err = l.carryOut(ctx, env, stop)
	code := stop.code()
	if err == nil || code == exitOK || exitCode(err) == exitLost {
		return err
	}
	if errors.Is(err, context.Canceled) {
		err = nil // what the signal asked for
	}
	return &exitError{code, err}
}

// carryOut makes the run, here or on other hosts, and writes its result.
func (l *load) carryOut(ctx context.Context, env *Env, stop *stopper) error {
	shown, err := l.exporters(env)
	if err != nil {
		return usageError(err)
	}
	defer shown.close(ctx, stop)
	file, err := openRunFile(env, l.ResultFile, l.stem())
	if err != nil {
		return usageError(err)
	}
	defer file.Discard()
	asPage, err := newPageFile(env, l.HTML, l.Quiet)
	if err != nil {
		return usageError(err)
	}
	defer asPage.discard()
	var status engine.Status
	out, screen := newOutput(env, l, stop, &status), ctx
	shown.notify = out.notify
	do, hosts, remove, err := l.maker(ctx, env)
	if err != nil {
		return err
	}
	defer remove()
	if hosts == nil {
		tuneProcess(env, l)
	} else {
		out.hosts, out.oldest = hosts, nil
		screen = stop.elsewhere(ctx)
	}
	r := l.request(env, file)
	r.Status, r.Notify, r.Rates, r.Stop = &status, out.notify, out.rates, stop.asked
	prepared := out.prepare()
	defer prepared()
	r.Opened = func(h result.Header) error {
		prepared()
		shown.open(h)
		return out.open(screen, h)
	}
	r.Began = func(at time.Time) result.Start {
		stop.begin()
		return result.Start{At: at.UTC()}
	}
	res, err := do(ctx, r, shown.observers(out)...)
	out.close()
	if res.RunID == "" {
		return runError(l.withSources(err))
	}
	var process *cluster.ProcessError
	if errors.As(err, &process) {
		err = process.Err
	}
	env.runsFolder().Add(file.Path(), &res)
	err = errors.Join(err, out.write(res, file.Path()), asPage.writeRun(res, report.Options{}, file.Path()))
	shown.finished = true
	judged := judge(&res, stop.code(), l.Output)
	if judged != nil && hosts == nil {
		judged = l.whyNow(screen, &res, judged)
	}
	if judged == nil {
		judged = judgeParts(&res, process)
	}
	return worse(judged, err)
}

// stem returns the part of the run file's name that names the load.
func (l *load) stem() string {
	acks := ""
	if l.Plan.Writes() {
		acks = l.acks()
	}
	return run.Stem(&l.Plan, acks, l.Tags)
}

// maker returns what makes the run, here or on other hosts. hosts are those for the screen; nil: here.
func (l *load) maker(ctx context.Context, env *Env) (do run.Func, hosts []tui.HostHeader, remove func(), err error) {
	if len(l.Hosts.On) == 0 {
		return run.Run, nil, func() {}, nil
	}
	h, hosts, err := l.findHosts(ctx, env)
	if err != nil {
		return nil, nil, nil, err
	}
	if h.Dir, remove, err = cluster.Scratch(env.stateDir(), env.Now()); err != nil {
		return nil, nil, nil, err
	}
	return h.Run, hosts, remove, nil
}

// request returns the run that was asked for.
func (l *load) request(env *Env, file *run.File) run.Request {
	return run.Request{
		Plan: l.Plan, System: l.system, Version: buildVersion().String(), Args: commandLine(env.Args), Tags: l.Tags,
		Part: l.partOf(), Execs: l.Execs, Now: env.Now,
		File: file, Ledger: l.Ledger, Book: l.book, BookName: l.LedgerFile, Ceiling: l.ceiling(env), Tune: noteTune(),
		Limits: l.Limits, AbortOn: l.AbortOn,
	}
}

// plaintext is the security protocol without TLS and SASL, which is that of a sink.
const plaintext = "PLAINTEXT"

// ceiling returns the function that finds what this host can offer of a load, nil for a load with TLS or SASL: a sink has
// neither, so what they cost is in no ceiling.
func (l *load) ceiling(env *Env) func(*result.Header) *result.Ceiling {
	if l.kafka == nil || l.kafka.Security.Protocol() != plaintext {
		return nil
	}
	return env.ceiling
}

// ceiling returns what this host can offer of a load, as kt calibrate has saved it.
func (e *Env) ceiling(h *result.Header) *result.Ceiling {
	dir := e.stateDir()
	if dir == "" || h.Plan.Reads() {
		return nil
	}
	c, err := calibrate.Find(filepath.Join(dir, calibrate.FileName), calibrate.Shape(h), h.KTVersion, h.Environment.Host)
	if err != nil {
		e.say("what this host can offer is not known: %v", err)
	}
	return c
}

// commandLine returns the command line for the header of a run, without secrets.
func commandLine(args []string) []string {
	line := []string{"kt"}
	for _, arg := range args {
		line = append(line, secret.Hide(arg))
	}
	return line
}

// runError gives an error of a request that does not fit the exit code of a wrong command
// line.
func runError(err error) error {
	var misfit *result.MisfitError
	var foreign *secret.BindingError
	if errors.As(err, &misfit) || errors.As(err, &foreign) {
		return usageError(err)
	}
	return err
}

// namedFlag matches a flag in an error.
var namedFlag = regexp.MustCompile(`--([a-z][a-z.-]*)`)

// withSources is sourced for a plan that does not fit. Another error stays as it is.
func (l *load) withSources(err error) error {
	var misfit *result.MisfitError
	if !errors.As(err, &misfit) {
		return err
	}
	return &result.MisfitError{Err: l.sourced(err)}
}

// sourced adds to each line of an error the source of the first value in it that was not typed.
func (l *load) sourced(err error) error {
	var lines []error
	for _, line := range problems(err) {
		for _, flag := range namedFlag.FindAllStringSubmatch(line, -1) {
			if source := l.Sources[flag[1]]; source != "" && source != "default" && source != flag[0] {
				line += " (from " + source + ")"
				break
			}
		}
		lines = append(lines, errors.New(line))
	}
	return errors.Join(lines...)
}

// noRunFile is the value of --result that means: no run file.
const noRunFile = "none"

// openRunFile creates the run file before anything else is made, so that a run is never made
// that cannot be kept. path is --result; without that the file is named after the time and
// stem. nil: no file is kept.
func openRunFile(env *Env, path, stem string) (*run.File, error) {
	if path == noRunFile {
		return nil, nil
	}
	if path == "" {
		f, err := (*run.File)(nil), errors.New("there is no home folder")
		if dir := env.stateDir(); dir != "" {
			f, err = run.CreateFileIn(filepath.Join(dir, "runs"), stem, env.Now())
		}
		if err != nil {
			env.say("no run file is kept: %v; name one with --result FILE", err)
		}
		return f, nil
	}
	f, err := run.CreateFile(path)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("--result %s: it exists, and kt does not overwrite results: name another file or remove it", path)
	}
	if err != nil {
		return nil, fmt.Errorf("--result %s: %w", path, input.Cause(err))
	}
	return f, nil
}

// partOf returns the part that --run makes of this run; nil: the run stands for itself.
func (l *load) partOf() *result.Part {
	if l.Name == "" {
		return nil
	}
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	return &result.Part{Run: l.Name, Host: name, Process: 1} // merging tells several apart
}

// config returns the values that --print-config shows: every flag and every Java property.
func (l *load) config() (c report.Config) {
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
	l.system.Describe(&h)
	c.Producer, c.Consumer = h.Config, h.ConsumerConfig
	return c
}
