package cmd

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/charmbracelet/x/term"

	"github.com/kt-bench/kt/internal/config"
)

// This file has what commands share that make no load, or none of their own.

// configSystem returns what the configuration of a command is loaded from that has no profiles
// of flags.
func (e *Env) configSystem() config.System {
	return config.System{
		Getenv: e.Getenv, Environ: e.Environ, ConfigDir: e.ConfigDir,
		Warn: func(text string) { e.say("%s", text) },
	}
}

// interruptible runs something that a signal ends by way of its context. The exit
// code is the signal's then.
func (e *Env) interruptible(ctx context.Context, run func(context.Context) error) error {
	ctx, abort := context.WithCancel(ctx)
	defer abort()
	stop := newStopper(abort, e.Exit, func(text string) { e.say("%s", text) })
	signals, ignore := e.Signals()
	defer ignore()
	defer stop.listen(signals)()

	err := run(ctx)
	if code := stop.code(); code != exitOK && (err == nil || errors.Is(err, context.Canceled)) {
		return &exitError{code, nil}
	}
	return err
}

var errNobodyToAsk = errors.New("there is no terminal to ask on: add --yes to go on without asking")

// width returns how many columns stdout has, 0 where it is no terminal.
func (e *Env) width() int { return terminalWidth(e.Stdout, e.StdoutTTY) }

// stderrWidth returns the same of stderr, which is a terminal.
func (e *Env) stderrWidth() int { return terminalWidth(e.Stderr, true) }

func terminalWidth(w io.Writer, tty bool) int {
	f, ok := w.(interface{ Fd() uintptr })
	if !ok || !tty {
		return 0
	}
	columns, _, err := term.GetSize(f.Fd())
	if err != nil {
		return 0
	}
	return columns
}

// confirm asks a question that is answered with y or yes. Nobody to ask is an error:
// kt does not take silence for consent.
func (e *Env) confirm(ctx context.Context, question string) (bool, error) {
	if !e.StdinTTY {
		return false, usageError(errNobodyToAsk)
	}
	e.gap()
	e.ask(question)
	answered := make(chan string, 1)
	go func() { // reading cannot be interrupted: the goroutine ends with the process, or the answer
		line, _ := bufio.NewReader(e.Stdin).ReadString('\n') // the end of input is a no
		answered <- line
	}()
	select {
	case line := <-answered:
		answer := strings.ToLower(strings.TrimSpace(line))
		return answer == "y" || answer == "yes", nil
	case <-ctx.Done():
		e.gap()
		return false, ctx.Err()
	}
}
