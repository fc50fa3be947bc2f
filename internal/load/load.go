package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/kafka/security"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/secret"
	"github.com/kt-bench/kt/internal/theme"
)

// Load is a run on request, with everything known of it before kt connects to a broker.
type Load struct {
	*config.Run
	System run.System
	Parts  []plan.Plan // of the processes on other hosts; Func fills them

	maker *Maker
	book  *ledger.Book // of an earlier run, whose records are looked for; nil: none
}

// Check checks a run without connecting to a broker.
func (m *Maker) Check(asked *config.Run) (*Load, error) {
	l := &Load{Run: asked, maker: m}
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
	warnings, err := m.checkClients(l, own)
	for _, w := range warnings {
		m.Say(w)
	}
	err = errors.Join(err, l.Sourced(metric.CheckAll(l.Limits, l.AbortOn, &l.Plan, len(l.Hosts.On) > 0)))
	if err != nil {
		return nil, once(err)
	}
	return l, badLedger
}

// checkClients makes the system of a load, and checks its clients and where they may log in.
func (m *Maker) checkClients(l *Load, own config.Security) (warnings []string, err error) {
	secure, more, bad := m.Secure(&l.Plan, own)
	if l.System, warnings, err = NewSystem(l.Run, secure); l.Plan.Embedded() && secure.Protocol() != security.Plaintext {
		more = append(more, "the broker inside kt has no security: the security properties have no effect")
	}
	if bad != nil {
		more = nil // of properties without effect, beside the error that is the reason
	}
	unencrypted, badTLS := checkTLS(&l.Plan, own.Given())
	err = errors.Join(err, bad, badTLS)
	for _, addr := range l.Plan.Addresses() {
		err = errors.Join(err, secure.Bound.Permit(addr))
	}
	return slices.Concat(warnings, unencrypted, more), err
}

// CheckClients returns what the clients of a load refuse, and its limits. Whether the limits fit is known with the command line.
func (m *Maker) CheckClients(r *config.Run) error {
	secure, _, bad := m.Secure(&r.Plan, r.Security)
	_, _, err := NewSystem(r, secure)
	_, badTLS := checkTLS(&r.Plan, r.Security.Given())
	return errors.Join(err, bad, badTLS, metric.CheckAll(r.Limits, r.AbortOn, nil, false))
}

// settle notes the value of a flag, which the ledger may have changed.
func (l *Load) settle(flag, value string) {
	if l.Flags[flag] != value {
		l.Flags[flag], l.Sources[flag] = value, "ledger "+l.LedgerFile
	}
}

// once removes repeated problems. A bad property that both clients have is found twice.
func once(err error) error {
	var lines []error
	seen := make(map[string]bool)
	for _, line := range theme.Problems(err) {
		if !seen[line] {
			seen[line] = true
			lines = append(lines, errors.New(line))
		}
	}
	return errors.Join(lines...)
}

// WithSources adds to a plan that does not fit where its values came from. Another error stays as it is.
func (l *Load) WithSources(err error) error {
	var unfit *result.MisfitError
	if !errors.As(err, &unfit) {
		return err
	}
	return misfit(l.Sourced(err))
}

// Stem returns the part of the run file's name that names the load.
func (l *Load) Stem() string {
	acks := ""
	if l.Plan.Writes() {
		acks = l.Acks()
	}
	return run.Stem(&l.Plan, acks, l.Tags)
}

// Func returns what makes the run. hosts are those that make it; nil: it is made here.
func (l *Load) Func(ctx context.Context) (do run.Func, hosts *cluster.Hosts, remove func(), err error) {
	if len(l.Hosts.On) == 0 {
		return run.Run, nil, func() {}, nil
	}
	h, err := l.findHosts(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	if h.Dir, remove, err = cluster.Scratch(l.maker.StateDir, l.maker.Now()); err != nil {
		return nil, nil, nil, err
	}
	return h.Run, h, remove, nil
}

// Request returns the run that was asked for.
func (l *Load) Request(file *run.File) run.Request {
	r := run.Request{
		Plan: l.Plan, System: l.System, Version: l.maker.Version, Args: commandLine(l.maker.Args), Tags: l.Tags,
		Part: l.part(), Execs: l.Execs, Now: l.maker.Now, File: file, Ledger: l.Ledger, Book: l.book, BookName: l.LedgerFile,
		Tune: noteTune(), Limits: l.Limits, AbortOn: l.AbortOn,
	}
	if l.CanCalibrate() {
		r.Ceiling = l.maker.ceiling
	}
	return r
}

// part returns the part that --run makes of this run; nil: the run stands for itself.
func (l *Load) part() *result.Part {
	if l.Name == "" {
		return nil
	}
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	return &result.Part{Run: l.Name, Host: name, Process: 1} // merging tells several apart
}

// commandLine returns the command line for the header of a run, without secrets.
func commandLine(args []string) []string {
	line := []string{"kt"}
	for _, arg := range args {
		line = append(line, secret.Hide(arg))
	}
	return line
}

// MissingParts returns an error when parts of a run are not in its figures.
func MissingParts(res *result.Result) error {
	n := 0
	for i := range res.Processes {
		if !res.Processes[i].Counted {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d of %s left out: see the rows", n, theme.Plural(len(res.Processes), "part is", "parts are"))
}
