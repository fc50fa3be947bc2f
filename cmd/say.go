package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/theme"
)

// All ways to write to stderr are here. Text of names, files, brokers and commands is cleaned
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

var errNobodyToAsk = errors.New("there is no terminal to ask on: add --yes to go on without asking")

// confirm asks a question and reports whether the answer is yes. Without a terminal it is an error: silence is no consent.
func (e *Env) confirm(ctx context.Context, question string) (bool, error) {
	if !e.StdinTTY {
		return false, usageError(errNobodyToAsk)
	}
	e.gap()
	e.print(theme.Clean(question) + " [y/N] ")
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

// screen returns where the screen can be drawn: stdout, or stderr when only stdout is
// redirected. ok is false when nobody would see it, and for a job in the background, which would be stopped.
func (e *Env) screen() (w io.Writer, ok bool) {
	if t := e.Getenv("TERM"); t == "" || t == "dumb" || e.Getenv("CI") != "" {
		return nil, false
	}
	switch {
	case e.StdoutTTY:
		w = e.Stdout
	case e.StderrTTY:
		w = e.Stderr
	}
	f, ok := w.(interface{ Fd() uintptr })
	return w, ok && host.Foreground(f.Fd())
}

// screenTheme returns the look of a screen on w.
func (e *Env) screenTheme(w io.Writer, l config.Look) *theme.Theme {
	return theme.New(theme.Options{Profile: e.profile(w, l.NoColor), ASCII: e.ascii(l.ASCII), Dark: e.dark(l.Theme)})
}

// profile returns how many colours w has.
func (e *Env) profile(w io.Writer, none bool) colorprofile.Profile {
	if none {
		return colorprofile.ASCII
	}
	var environ []string
	for _, name := range []string{"TERM", "COLORTERM", "TERM_PROGRAM", "TMUX", "CLICOLOR", "CLICOLOR_FORCE"} {
		if v := e.Getenv(name); v != "" {
			environ = append(environ, name+"="+v)
		}
	}
	return colorprofile.Detect(w, environ)
}

// ascii reports whether only ASCII may be drawn: on request, and where the locale
// says that there is nothing else.
func (e *Env) ascii(asked bool) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(e.Getenv(name)); v != "" {
			return asked || !strings.Contains(v, "utf-8") && !strings.Contains(v, "utf8")
		}
	}
	return asked
}

// reportOptions returns how a result is written to stdout, of a run of the past.
func (e *Env) reportOptions(l config.Look, verbose bool) report.Options {
	return report.Options{Options: doc.Options{Theme: e.theme(l), Width: e.width(), Verbose: verbose, Full: true}}
}

// theme returns the look of stdout: colours only on a terminal.
func (e *Env) theme(l config.Look) *theme.Theme {
	profile := colorprofile.NoTTY
	if e.StdoutTTY && e.Getenv("TERM") != "dumb" {
		profile = e.profile(e.Stdout, l.NoColor)
	}
	return theme.New(theme.Options{Profile: profile, ASCII: e.ascii(l.ASCII), Dark: e.dark(l.Theme)})
}

// dark reports whether colours are for a dark background. Some terminals say theirs in
// COLORFGBG, as "0;15"; only the screen asks the others, because an answer takes time.
func (e *Env) dark(theme string) bool {
	ground := e.Getenv("COLORFGBG")
	ground = ground[strings.LastIndexByte(ground, ';')+1:]
	return theme == "dark" || theme == "auto" && ground != "7" && ground != "15" // light gray and white
}

// width returns how many columns stdout has, 0 where it is no terminal.
func (e *Env) width() int { return terminalWidth(e.Stdout, e.StdoutTTY) }

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
