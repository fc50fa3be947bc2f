package tune

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// Verdict is what a check found.
type Verdict string

// The verdicts.
const (
	OK            Verdict = "ok"
	Fail          Verdict = "fail"
	Warn          Verdict = "warn"
	Info          Verdict = "info"    // not as wanted, or worth knowing; nothing depends on it
	Unknown       Verdict = "unknown" // could not be read: neither good nor bad
	NotApplicable Verdict = "not_applicable"
)

// Verdicts are all verdicts, the worst first.
var Verdicts = []Verdict{Fail, Warn, Info, Unknown, OK, NotApplicable}

// Reading is what one check found on one machine.
type Reading struct {
	Verdict Verdict `json:"verdict"`
	Current string  `json:"current"`        // as the machine has it, "" for nothing
	Wanted  string  `json:"wanted"`         // "≥ 262144"; "" where nothing is wanted
	Note    string  `json:"note,omitempty"` // what is special about this machine, in one line; shown before the setting's Why

	// What it will be after the next boot, and which file says so: "" for none.
	Persisted   string `json:"persisted"`
	PersistedIn string `json:"persisted_in,omitempty"`
	Drifts      bool   `json:"-"` // the value is as wanted now, and Note says which one it will have after the next boot

	Changes []Change `json:"changes,omitempty"` // would make it as wanted
	Command string   `json:"command,omitempty"` // what to run instead, where kt does not change it by itself

	rule  Rule    // that the value was held to, or is to be held to in place of the row's
	shown string  // Current in other words, of a reading without a verdict
	bad   Verdict // in place of the row's, of a reading without a verdict
	// set makes the change to another value, of a reading without a verdict.
	set func(value string) Change
}

// Unreadable is the reading of what could not be read, and why.
func Unreadable(format string, args ...any) Reading {
	return Reading{Verdict: Unknown, Note: fmt.Sprintf(format, args...)}
}

const needsRoot = "needs root"

// none is the error of what a machine does not have: the reason.
type none string

func (n none) Error() string { return string(n) }

// Denied is the reading of what kt could not read, and why. A file that is not there is [NotApplicable].
func Denied(err error) Reading {
	var reason none
	switch {
	case errors.As(err, &reason):
		return Absent("%s", reason)
	case errors.Is(err, fs.ErrPermission):
		return Unreadable(needsRoot)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errors.ErrUnsupported):
		return Absent("this machine does not have it")
	}
	return Unreadable("%s", err)
}

// lacking is [Denied], with a reason of its own, if there is one, for a file that is not there.
func lacking(err error, reason string) Reading {
	r := Denied(err)
	if reason != "" && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, errors.ErrUnsupported)) {
		r.Note = reason
	}
	return r
}

// Absent is the reading of what does not apply to this machine, and why.
func Absent(format string, args ...any) Reading {
	return Reading{Verdict: NotApplicable, Note: fmt.Sprintf(format, args...)}
}

// requirements are what a row may need to be judged at all: a reading without it, and the file that tells.
var requirements = map[string]struct {
	missing func(m *Machine) Reading
	reads   string
}{
	"":        {func(*Machine) Reading { return Reading{} }, ""},
	"jvm":     {lacksJVM, ""},
	"flags":   {lacksJVM, "/proc/PID/{cmdline,environ}, /tmp/hsperfdata_USER/PID"},
	"g1":      {lacksG1, "/proc/PID/{cmdline,environ}, /tmp/hsperfdata_USER/PID"},
	"perf":    {lacksPerf, "/tmp/hsperfdata_USER/PID"},
	"settled": {lacksSettled, "/tmp/hsperfdata_USER/PID"},
	"config":  {lacksConfig, "server.properties"},
	"broker":  {lacksBroker, "server.properties"},
}

func lacksJVM(m *Machine) Reading {
	if m.Process == nil {
		return Absent("no broker runs here")
	}
	return Reading{}
}

func lacksG1(m *Machine) Reading {
	r := lacksJVM(m)
	if r.Verdict == "" {
		if name, _ := collector(m); name != "G1" {
			return Absent("only G1 has it")
		}
	}
	return r
}

func lacksPerf(m *Machine) Reading {
	switch p := m.Process; {
	case p == nil:
		return lacksJVM(m)
	case errors.Is(p.PerfErr, fs.ErrNotExist):
		return Unreadable("the JVM publishes no figures: -XX:-UsePerfData or -XX:+PerfDisableSharedMem")
	case p.PerfErr != nil:
		return Denied(p.PerfErr)
	case p.Perf.Uptime <= 0:
		return Unreadable("the JVM does not report its uptime")
	}
	return Reading{}
}

// lacksSettled asks for a JVM that has run for long enough for its averages to mean anything.
func lacksSettled(m *Machine) Reading {
	r := lacksPerf(m)
	if r.Verdict == "" && m.Process.Perf.Uptime < time.Minute {
		n, _ := collections(m.Process.Perf)
		r.Verdict = Unknown
		r.addNote("%d collections in the %.0f s since the JVM started: ask again after a minute", n, m.Process.Perf.Uptime.Seconds())
	}
	return r
}

func lacksConfig(m *Machine) Reading {
	switch {
	case m.Process == nil:
		return lacksJVM(m)
	case m.Config.Err != nil: // a broker has its settings somewhere
		r := lacking(m.Config.Err, "settings file not found: "+m.Config.File)
		r.Verdict = Unknown
		return r
	case m.Config.File == "":
		return Unreadable("its command line names no settings file")
	}
	return Reading{}
}

func lacksBroker(m *Machine) Reading {
	r := lacksConfig(m)
	if r.Verdict == "" && !runsBroker(m) {
		return Absent("only a controller runs here")
	}
	return r
}

// lacksOptions is a reading of options of a JVM of which only the command line is known, while the environment may set others.
func lacksOptions(m *Machine, r Reading) Reading {
	if p := m.Process; p.OptionsErr != nil && p.PerfErr != nil && r.Verdict != NotApplicable {
		return Reading{Verdict: Unknown, Current: r.Current, Note: "the command line alone; what else sets options: " + Denied(p.OptionsErr).Note}
	}
	return r
}
