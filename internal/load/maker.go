package load

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"github.com/kt-bench/kt/internal/calibrate"
	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/cluster/port"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/kafka/security"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/secret"
)

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

// forbidCoreDump keeps the kernel from writing a core dump of this process, as GOTRACEBACK=crash and a signal ask for. The hard
// limit stays as it is for commands that a user has beside a load.
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
	c, err := calibrate.Find(filepath.Join(m.StateDir, calibrate.FileName), calibrate.Shape(h), h.KTVersion, h.Environment.Host)
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
