package load

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/kt-bench/kt/internal/calibrate"
	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/cluster/port"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/input"
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
	err = errors.Join(err, l.Sourced(metric.CheckAll(l.Limits, l.AbortOn, &l.Plan, len(l.Hosts.On) > 0)), l.Sourced(result.CheckAccepted(l.Accept)))
	if err != nil {
		return nil, err
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
	if err == nil {
		err = l.fit(h)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	if h.Dir, remove, err = cluster.Scratch(l.maker.StateDir, l.maker.Now()); err != nil {
		return nil, nil, nil, err
	}
	do = func(ctx context.Context, r run.Request, observers ...run.Observer) (result.Result, error) {
		return h.Run(ctx, l.onHosts("", r, observers...))
	}
	return do, h, remove, nil
}

// Request returns the run that was asked for.
func (l *Load) Request(file *run.File) run.Request {
	r := run.Request{
		Plan: l.Plan, System: l.System, Version: l.maker.Version, Args: []string{"kt"}, Tags: l.Tags,
		Execs: l.Execs, Now: l.maker.Now, File: file, Ledger: l.Ledger, LedgerSync: l.LedgerSync, Book: l.book, BookName: l.LedgerFile,
		BrokerDirs: brokerDirs, Tune: noteTune(), Limits: l.Limits, AbortOn: l.AbortOn, Accepted: l.Accept,
	}
	for _, arg := range l.maker.Args { // the header has no secrets
		r.Args = append(r.Args, secret.Hide(arg))
	}
	if l.Name != "" {
		name, err := os.Hostname()
		if err != nil {
			name = "localhost"
		}
		r.Part = &result.Part{Run: l.Name, Host: name, Process: 1} // merging tells several apart
	}
	if l.CanCalibrate() {
		r.Ceiling = l.maker.ceiling
	}
	return r
}

// MissingParts returns an error when parts of a run are not in its figures.
func MissingParts(res *result.Result) error {
	n, rows := 0, res.Parts()
	for i := range rows {
		if !rows[i].Counted {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d of %s left out: see the rows", n, theme.Plural(len(rows), "part is", "parts are"))
}

// Maker is what loads need of the process that makes them.
type Maker struct {
	Config   config.System // where settings come from
	Say      func(text string)
	StateDir string // "": nothing can be kept
	Now      func() time.Time
	Version  string
	Args     []string // the command line
}

func (m *Maker) say(format string, args ...any) { m.Say(fmt.Sprintf(format, args...)) }

// misfit gives an error the exit code of a wrong command line.
func misfit(err error) error {
	if err == nil {
		return nil
	}
	return &result.MisfitError{Err: err}
}

// Secure turns security properties of a load into settings. From then on this process holds secrets, so it leaves no core dump.
func (m *Maker) Secure(p *plan.Plan, s config.Security) (security.Settings, []string, error) {
	given := ofURL(p, s.Given())
	if len(given) > 0 {
		forbidCoreDump()
	}
	return security.Parse(given, s.Named(), m.Config.Getenv)
}

// forbidCoreDump keeps the kernel from writing a core dump of this process. The hard limit stays, for commands beside a load.
func forbidCoreDump() {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_CORE, &limit) == nil {
		limit.Cur = 0
		_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &limit) // a lower limit is always allowed
	}
}

// OpenKey reads the key in a file. From then on this process holds a secret. Its errors leave out the path.
func OpenKey(path string) (port.Key, error) {
	f, err := input.Open(path)
	if err != nil {
		return port.Key{}, err
	}
	defer func() { _ = f.Close() }() // it was only read
	forbidCoreDump()
	key, err := port.ReadKey(f)
	if err == nil {
		secret.Learn(key.Text())
	}
	return key, err
}

// ReadKey returns the key of --key-file; nil if no file is named: agents on this host may need no key.
func ReadKey(path string) (*port.Key, error) {
	if path == "" {
		return nil, nil
	}
	key, err := OpenKey(path)
	if err != nil {
		return nil, misfit(fmt.Errorf("--key-file: %s: %w", path, err))
	}
	return &key, nil
}

// Agents asks the selected agents for their names, tags and roles.
func (m *Maker) Agents(ctx context.Context, a *config.Agents) (c *cluster.Client, found []cluster.Peer, err error) {
	key, err := ReadKey(a.KeyFile)
	if err != nil {
		return nil, nil, err
	}
	c = cluster.NewClient(key, m.Now, m.Say)
	if len(a.Peers) > 0 {
		found, err = c.Peers(ctx, a.Peers, false)
	} else {
		found, err = c.Peers(ctx, a.Join, true)
	}
	return c, found, err
}

// ceiling returns what this host can offer of a load, as kt calibrate has saved it.
func (m *Maker) ceiling(h *result.Header) *result.Ceiling {
	if m.StateDir == "" || h.Plan.Reads() {
		return nil
	}
	c, err := calibrate.Find(filepath.Join(m.StateDir, calibrate.FileName), calibrate.Shape(h, false), h.KTVersion, h.Environment.Host)
	if err != nil {
		m.say("what this host can offer is not known: %v", err)
	}
	return c
}

// noFile is the value of --result that means: no run file.
const noFile = "none"

// RunFile creates the run file before anything else is made, so that a run is never made that cannot be kept. path is --result;
// without that the file is named after the time and stem. nil: no file is kept.
func (m *Maker) RunFile(path, stem string) (*run.File, error) {
	switch path {
	case noFile:
		return nil, nil
	case "":
		f, err := (*run.File)(nil), errors.New("there is no home folder")
		if m.StateDir != "" {
			f, err = run.CreateFileIn(filepath.Join(m.StateDir, "runs"), stem, m.Now())
		}
		if err != nil {
			m.say("no run file is kept: %v; name one with --result FILE", err)
		}
		return f, nil
	}
	f, err := run.CreateFile(path)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, misfit(fmt.Errorf("--result %s: it exists, and kt does not overwrite results: name another file or remove it", path))
	case err != nil:
		return nil, misfit(fmt.Errorf("--result %s: %w", path, input.Cause(err)))
	}
	return f, nil
}
