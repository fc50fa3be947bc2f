// Package cmd is kt's command line, which only wires internal packages.
package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/charmbracelet/x/term"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/secret"
	"github.com/kt-bench/kt/profiles"
)

// Env is everything that kt takes from the process it runs in. Nothing else in kt
// looks at the process's arguments, environment, streams or signals.
type Env struct {
	Args    []string // without the program's name
	Getenv  func(string) string
	Environ []string // the same, as NAME=value
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer

	StdinTTY  bool // Stdin is a terminal: somebody can answer
	StdoutTTY bool // Stdout is a terminal
	StderrTTY bool
	Now       func() time.Time
	ConfigDir string // of the user; "" when there is none
	HomeDir   string

	Exit func(code int) // ends the process at once

	// Signals delivers SIGINT, SIGTERM and SIGHUP until stop is called. A write to a pipe that was closed
	// fails then, and does not end the process. SIGHUP and SIGINT stay ignored if kt was started so: by nohup, or
	// with & by a shell without job control.
	Signals func() (signals <-chan os.Signal, stop func())

	helpAll bool // help has every flag

	resolver *resolver // nil: addresses of brokers are compared as text

	unread func() // ends what is at work for a reader of stdout that has gone; nil: nothing is
}

// product is a stdout that is no terminal. After its reader has gone, every write fails and ends the work for it.
type product struct {
	io.Writer
	env *Env
}

// errUnread is the error of a write to stdout whose reader has gone. It has no text, and the
// exit code of a process that SIGPIPE has ended.
var errUnread = &exitError{exitUnread, nil}

func (p *product) Write(b []byte) (int, error) {
	n, err := p.Writer.Write(b)
	if !errors.Is(err, syscall.EPIPE) {
		return n, err
	}
	if p.env.unread != nil {
		p.env.unread()
	}
	return n, errUnread
}

// System returns the real environment.
func System() Env {
	configDir, _ := os.UserConfigDir() // "" then: no configuration file
	home, _ := os.UserHomeDir()
	return Env{
		resolver: new(resolver), Args: os.Args[1:], Getenv: os.Getenv, Environ: os.Environ(),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		StdinTTY: term.IsTerminal(os.Stdin.Fd()), StdoutTTY: term.IsTerminal(os.Stdout.Fd()), StderrTTY: term.IsTerminal(os.Stderr.Fd()),
		Now: time.Now, Exit: os.Exit, ConfigDir: configDir, HomeDir: home,
		Signals: func() (<-chan os.Signal, func()) {
			ch := make(chan os.Signal, 2)
			signal.Ignore(syscall.SIGPIPE)
			signal.Notify(ch, append(slices.DeleteFunc([]os.Signal{syscall.SIGINT, syscall.SIGHUP}, signal.Ignored), syscall.SIGTERM)...)
			return ch, func() { signal.Stop(ch) }
		},
	}
}

// stateDir returns the folder of kt's state: $XDG_STATE_HOME/kt or ~/.local/state/kt; "" without a home folder.
func (e *Env) stateDir() string {
	if dir := e.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "kt")
	}
	if e.HomeDir == "" {
		return ""
	}
	return filepath.Join(e.HomeDir, ".local", "state", "kt")
}

// maker returns what loads need of this process.
func (e *Env) maker() *load.Maker {
	return &load.Maker{
		Config: e.configSystem(), Say: func(text string) { e.say("%s", text) }, StateDir: e.stateDir(), Now: e.Now,
		Version: buildVersion().String(), Args: e.Args,
	}
}

// projectFile is the configuration file of the folder in which kt runs.
const projectFile = "kt.yaml"

// configSystem returns the sources of a configuration.
func (e *Env) configSystem() config.System {
	sys := config.System{
		Getenv: e.Getenv, Environ: e.Environ, ConfigDir: e.ConfigDir, ProjectFile: projectFile,
		Profiles: profiles.Of, Kafka: load.Clients(),
		Warn: func(text string) { e.say("%s", text) },
	}
	if e.resolver != nil {
		sys.Addresses = e.resolver.addresses
	}
	return sys
}

// resolveTime is how long kt waits for the addresses of names that may be those of a protected cluster.
const resolveTime = time.Second

// resolver looks up the addresses of hosts, of each host once.
type resolver struct {
	mu    sync.Mutex
	known map[string][]string // guarded by mu
}

// addresses returns the addresses of hosts. A name that does not resolve in time has none.
func (r *resolver) addresses(hosts []string) map[string][]string {
	ctx, cancel := context.WithTimeout(context.Background(), resolveTime)
	defer cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = make(map[string][]string)
	}
	found := make([][]string, len(hosts))
	var all sync.WaitGroup
	for i, host := range hosts {
		if _, known := r.known[host]; !known {
			all.Go(func() { found[i], _ = net.DefaultResolver.LookupHost(ctx, host) })
		}
	}
	all.Wait()
	out := make(map[string][]string)
	for i, host := range hosts {
		if _, known := r.known[host]; !known {
			r.known[host] = found[i]
		}
		out[host] = r.known[host]
	}
	return out
}

// The exit codes of every command. help/exit-codes.txt explains them, and which of several applies.
const (
	exitOK          = 0
	exitFailed      = 1 // it could not be done, or records failed
	exitUsage       = 2 // the command line, a file or the topic does not fit; nothing was done
	exitNotMet      = 3 // the machine or the cluster is not fit, or a limit is not held
	exitNotValid    = 4 // kt did not keep its own schedule, so the latencies are not the system's
	exitLost        = 5 // acknowledged records are lost
	exitHungUp      = 129
	exitInterrupted = 130
	exitUnread      = 141
	exitTerminated  = 143
)

// exitError is an error with an exit code. Without err it has no text: the command has printed everything.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usageError(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitUsage, err}
}

// exitCode returns the exit code for the error of a command.
func exitCode(err error) int {
	var e *exitError
	var f *run.Fault
	var unfit *result.MisfitError
	var foreign *secret.BindingError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &e):
		return e.code
	case errors.As(err, &f) && f.Kind == run.Lost:
		return exitLost
	case errors.As(err, &unfit), errors.As(err, &foreign):
		return exitUsage
	case errors.As(err, &f) && f.Kind == run.NotValid:
		return exitNotValid
	case errors.As(err, &f) && f.Kind == run.NotMet:
		return exitNotMet
	}
	return exitFailed
}

// judge returns the error of a result; nil: exit code 0. signalled is the code of the signal that
// ended the run, or exitOK. With the output perf-test a reader that got too few records is no
// error, as with Kafka's own tool. With strict a doubt is one.
func judge(res *result.Result, signalled int, output string, strict bool) error {
	if signalled != exitOK && !res.Lost() {
		return &exitError{code: signalled}
	}
	judged := run.Judge(res, output == "perf-test")
	if strict {
		judged = run.Strict(res.Doubts, judged)
	}
	return judged
}

// worse joins the error of a result and that of anything beside the load, whose exit code it has unless records are lost.
func worse(judged, err error) error {
	if err == nil {
		return judged
	}
	code := exitCode(err)
	if exitCode(judged) == exitLost {
		code = exitLost
	}
	return &exitError{code, errors.Join(judged, err)}
}

// judgeParts returns the error of a run on many hosts whose result as a whole has no fault.
// process is the worst error of a process, or nil. A lost process counts as a missing part,
// because a notice has given the reason.
func judgeParts(res *result.Result, process *cluster.ProcessError) error {
	missing := load.MissingParts(res)
	switch {
	case process == nil:
		return missing
	case process.Lost:
		return &exitError{process.Code, missing}
	}
	return &exitError{process.Code, fmt.Errorf("%s: %s", process.Host, process.Text)}
}
