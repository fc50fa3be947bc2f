package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/theme"
)

// This file holds all ways to write to stderr. Text of names, files, brokers and commands is cleaned
// here, and cannot begin a line that looks like one of kt's. A test finds other ways.

const (
	prefix  = "kt: " // before every line that kt says
	restart = "\r\x1b[K"
)

// silent returns an Env that says nothing.
func (e *Env) silent() *Env {
	quiet := *e
	quiet.Stderr = io.Discard
	return &quiet
}

// say says one line.
func (e *Env) say(format string, args ...any) { e.line(prefix + fmt.Sprintf(format, args...)) }

// line writes one line as it is.
func (e *Env) line(text string) { e.print(theme.Clean(text) + "\n") }

// sayError says an error, a line for each problem.
func (e *Env) sayError(err error) {
	all := theme.Problems(err)
	for _, problem := range all[:min(len(all), maxProblems)] {
		e.say("%s", problem)
	}
	if more := len(all) - maxProblems; more > 0 {
		e.say("and %d more", more)
	}
}

// maxProblems is how many lines an error has.
const maxProblems = 50

// ask asks a question; the answer stands behind it.
func (e *Env) ask(question string) { e.print(theme.Clean(question) + " [y/N] ") }

var errNobodyToAsk = errors.New("there is no terminal to ask on: add --yes to go on without asking")

// confirm asks a question and reports whether the answer is y or yes. Without a terminal it returns an
// error, because silence is no consent.
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

// redraw writes a line of a terminal again; "" wipes it.
func (e *Env) redraw(line string) { e.print(restart + theme.Clean(line)) }

// gap writes an empty line.
func (e *Env) gap() { e.print("\n") }

// print writes to stderr. Errors are ignored: there is no other stream for them.
func (e *Env) print(text string) { _, _ = io.WriteString(e.Stderr, text) }

// notify says a notice of a run, with quiet only a warning.
func (e *Env) notify(n run.Notice, quiet bool) {
	switch {
	case quiet && !n.Kind.Warning():
	case n.Kind == run.CommandOutput:
		e.say("exec: %s", n.Text)
	default:
		e.say("%s", n.Text)
	}
}
