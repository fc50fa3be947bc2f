package tune

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/host"
)

// Options are what a person knows better than the machine. The zero Options, but
// for the profile, let kt find everything out.
type Options struct {
	Profile  *Profile
	Role     Role
	Dirs     []string      // log directories; none: those of the broker's server.properties
	PID      int           // of the broker
	Unit     string        // its systemd unit: "kafka.service"
	Interval time.Duration // for how long counters are watched; 0: since the machine started
}

// Look finds out what checks need to know of a machine. What cannot be found is
// left zero, and the check that needs it says so. It fails for what was asked for by
// name and is not there, and when ctx ends.
func Look(ctx context.Context, tree host.FS, calls host.Calls, o Options) (*Machine, error) {
	m := &Machine{FS: tree, Calls: calls, Profile: o.Profile, Interval: o.Interval, Before: tree.Counters()}
	watched := time.After(o.Interval) // counters are watched while the rest is read
	m.own, m.ownErr = tree.Mounts()
	found, err := m.findProcess(o)
	if err != nil {
		return nil, err
	}
	m.about()
	if err := m.findDirs(o.Dirs); err != nil {
		return nil, err
	}
	m.findRole(o, found)
	if tree.Root() != "" {
		m.unkept, _ = NewTree(tree.Root(), "").unkept() // a broken journal is told by what needs it
	}
	m.OtherNetwork = m.otherNetwork()
	m.Sysctls, _ = tree.Sysctls() // none are known then
	for _, name := range tree.NICs() {
		ethernet, err := calls.Ethernet(name)
		m.NICs = append(m.NICs, NIC{name, ethernet, err})
	}
	select {
	case <-watched:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	m.After = m.Before
	if o.Interval > 0 {
		m.After = tree.Counters()
	}
	return m, nil
}

// about reads what the machine is.
func (m *Machine) about() {
	m.Hostname, _ = m.Text("proc/sys/kernel/hostname") // every check can do without
	m.Kernel, _ = m.Text("proc/sys/kernel/osrelease")
	m.Container, m.Virtual, m.Cloud = m.FS.Container(), m.FS.Virtual(), m.FS.Cloud()
	pid := 0
	if m.Process != nil {
		pid = m.Process.PID
	}
	m.Cgroup, _ = m.FS.Cgroup(pid)
	if memory, err := m.FS.Memory(); err == nil {
		m.MemTotal = memory["MemTotal"]
	}
	m.Memory = m.MemTotal
	if l := m.Cgroup.Memory; l > 0 && (l < m.Memory || m.Memory == 0) {
		m.Memory = l
	}
	m.Logical, _ = m.OnlineCPUs()
	m.CPUs = float64(m.Logical)
	if n, err := m.AllowedCPUs(pid); err == nil && n > 0 {
		m.CPUs = float64(n)
	}
	if m.Cgroup.Cores > 0 {
		m.CPUs = min(m.CPUs, m.Cgroup.Cores)
	}
}

// findRole takes the role that was asked for, or that of the process, which is the first of so many.
func (m *Machine) findRole(o Options, found int) {
	switch {
	case o.Role != "":
		m.Role, m.RoleFrom = o.Role, "--role"
	case m.Process != nil:
		m.Role, m.RoleFrom = Broker, fmt.Sprintf("process %d", m.Process.PID)
		if found > 1 {
			m.RoleFrom += fmt.Sprintf(", the first of %d brokers here: --pid chooses", found)
		}
		if roles := processRoles(m); slices.Contains(roles, "controller") && !slices.Contains(roles, "broker") {
			m.Role = Controller
		}
	case len(o.Dirs) > 0:
		m.Role, m.RoleFrom = Broker, "--dirs"
	case o.Unit != "":
		m.Role, m.RoleFrom = Broker, "--unit"
	case m.processesHidden():
		m.Role, m.RoleFrom = Client, "other users' processes are not visible: needs root, or --role"
	default:
		m.Role, m.RoleFrom = Client, "no broker runs here"
	}
}
