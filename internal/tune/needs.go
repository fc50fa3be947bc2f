package tune

import (
	"errors"
	"io/fs"
	"time"
)

// requirements are what a row may need to be judged at all. missing returns a reading with a verdict where the machine
// does not have it, and reads is the file that tells.
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

// lacksOptions is a reading of the options of a JVM of which only the command line is known, while the environment
// may set others.
func lacksOptions(m *Machine, r Reading) Reading {
	if p := m.Process; p.OptionsErr != nil && p.PerfErr != nil && r.Verdict != NotApplicable {
		return Reading{Verdict: Unknown, Current: r.Current, Note: "the command line alone; what else sets options: " + Denied(p.OptionsErr).Note}
	}
	return r
}
