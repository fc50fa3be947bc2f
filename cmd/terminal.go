package cmd

import (
	"io"
	"strings"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/theme"
)

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

// profile returns how many colours w has. NO_COLOR counts with any value, which
// colorprofile takes for a boolean.
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
	return report.Options{Theme: e.theme(l), Width: e.width(), Verbose: verbose, Full: true}
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
