// Package cmd is kt's command line: one file per command, which only wires internal packages.
package cmd

import (
	"context"
	"errors"
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

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/load"
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

// product is a stdout that is no terminal. After its reader has gone, every write fails and ends the
// work for it.
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

// stateDir returns the folder of kt's state: $XDG_STATE_HOME/kt or ~/.local/state/kt. It is empty
// without a home folder.
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

// configSystem returns the sources of a configuration, without profiles of flags.
func (e *Env) configSystem() config.System {
	sys := config.System{
		Getenv: e.Getenv, Environ: e.Environ, ConfigDir: e.ConfigDir, ProjectFile: projectFile,
		ProfilesOf: profiles.Of, Kafka: load.Clients(),
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
