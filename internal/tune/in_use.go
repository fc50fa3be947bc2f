package tune

import (
	"errors"
	"fmt"

	"github.com/kt-bench/kt/internal/host"
)

// DirsInUse are the directories that the brokers and controllers of a machine write
// to, as kt sees them: those of a container by way of /proc/PID/root. The error names
// each whose settings cannot be read, so that its directories are not known; the
// others are returned all the same.
func DirsInUse(tree host.FS, calls host.Calls) ([]string, error) {
	m := &Machine{FS: tree, Calls: calls}
	m.own, m.ownErr = tree.Mounts()
	if m.processesHidden() {
		return nil, errors.New("other users' processes are not visible: only root can look for a broker here")
	}
	all, err := m.Processes()
	if err != nil {
		return nil, fmt.Errorf("look for brokers: %w", err)
	}
	var dirs []string
	var problems []error
	for _, p := range all {
		if !m.RunsKafka(p.PID, p.Args) {
			continue
		}
		c := m.readConfig(p)
		if c.Err != nil {
			problems = append(problems, fmt.Errorf("the broker that is process %d: its settings cannot be read: %w", p.PID, c.Err))
			continue
		}
		named := c.LogDirs()
		if d := c.Get("metadata.log.dir", ""); d != "" {
			named = append(named, d)
		}
		for _, d := range named {
			dirs = append(dirs, "/"+m.within(p.PID, d))
		}
	}
	return dirs, errors.Join(problems...)
}
