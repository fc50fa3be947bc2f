package tune

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/host/jvm"
	"github.com/kt-bench/kt/internal/properties"
)

// mostRead is the size up to which a file is read that a process names, or anybody may have written.
const mostRead = 1 << 20

// findProcess finds the broker or controller that runs here, the first of several, and how many there are.
func (m *Machine) findProcess(o Options) (found int, err error) {
	m.Unit = unitName(o.Unit)
	all, err := m.Processes()
	if err != nil && o.PID != 0 {
		return 0, fmt.Errorf("look for the broker's process: %w", err)
	}
	for _, p := range all {
		if o.PID != 0 && p.PID != o.PID || o.Unit != "" && p.Unit != m.Unit {
			continue
		}
		if !m.RunsKafka(p.PID, p.Args) {
			if o.PID != 0 {
				return 0, fmt.Errorf("--pid %d: it is no Kafka broker or controller", o.PID)
			}
			continue
		}
		if found++; found > 1 {
			continue
		}
		m.Process = &Process{Process: p}
		m.Process.Perf, m.Process.PerfErr = m.Perf(p)
		if errors.Is(m.Process.PerfErr, fs.ErrNotExist) && !m.Calls.Root() { // folders that may not be listed look empty
			m.Process.PerfErr = fs.ErrPermission
		}
		m.Process.JVM = m.Process.Perf.Flags(p.Args)
		m.Config = m.readConfig(p)
		m.Unit = p.Unit
	}
	m.Brokers = found
	switch {
	case found > 1 || found > 0 && o.PID != 0:
		m.pick = fmt.Sprintf(" --pid %d", m.Process.PID)
	case o.Unit != "":
		m.pick = " --unit " + quote(m.Unit)
	}
	if found == 0 && o.PID != 0 {
		return 0, fmt.Errorf("--pid %d: there is no such process", o.PID)
	}
	return found, nil
}

// unitName is a unit with its kind: "kafka" is "kafka.service".
func unitName(name string) string {
	if name == "" || strings.HasSuffix(name, ".service") {
		return name
	}
	return name + ".service"
}

// readConfig reads the server.properties that a process was started with, and its --override flags.
func (m *Machine) readConfig(p host.Process) Config {
	args := jvm.ParseFlags(p.Args).MainArgs
	if len(args) == 0 {
		return Config{Err: fmt.Errorf("process %d names no server.properties", p.PID)}
	}
	file := args[0]
	if !path.IsAbs(file) {
		file = path.Join(p.Dir, file)
	}
	c := Config{File: file, WorkDir: p.Dir}
	text, _, err := m.ReadRegular(m.within(p.PID, file), mostRead)
	if err != nil {
		c.Err = err
		return c
	}
	list, err := properties.Parse(text)
	if err != nil {
		c.Err = fmt.Errorf("%s: %w", file, err)
		return c
	}
	c.Values = make(map[string]string)
	for _, p := range list {
		c.Values[p.Key] = p.Value
	}
	for i, a := range args[1:] {
		set, ok := strings.CutPrefix(a, "--override=")
		if a == "--override" && i+2 < len(args) {
			set, ok = args[i+2], true
		}
		if k, v, isSet := strings.Cut(set, "="); ok && isSet {
			c.Values[strings.TrimSpace(k)] = strings.TrimSpace(v)
		}
	}
	return c
}

// LogDirs are the log directories that the settings name.
func (c Config) LogDirs() []string {
	all := c.Get("log.dirs", "")
	if all == "" {
		all = c.Get("log.dir", "/tmp/kafka-logs")
	}
	var dirs []string
	for d := range strings.SplitSeq(all, ",") {
		if d = strings.TrimSpace(d); d == "" {
			continue
		}
		if !path.IsAbs(d) {
			d = path.Join(c.WorkDir, d)
		}
		if !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	return dirs
}
