package tune

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/host/jvm"
	"github.com/kt-bench/kt/internal/properties"
)

// Machine is everything that checks look at. [Look] finds once what is costly or needed by several; the rest a check reads from the tree.
type Machine struct {
	host.FS
	Calls host.Calls

	Role     Role
	RoleFrom string // how it was found: "--role", "process 4711"
	Profile  *Profile

	Hostname string
	Kernel   string      // "6.8.0-45-generic"
	CPUs     float64     // that the broker, or kt, may use: of the machine, its cpuset and its CPU limit
	Logical  int         // CPUs of the machine
	Memory   int64       // bytes: of the machine, or the cgroup's limit if it is lower
	MemTotal int64       // bytes of the machine
	Cgroup   host.Cgroup // of the broker, or of kt

	Container string // "docker", "podman", "kubernetes"; "" for none
	Virtual   string // "kvm", "xen", "vmware", "hyperv", "virtual"; "" on bare metal
	Cloud     string // "aws", "gcp", "azure"; "" for none that is known

	Brokers int      // how many brokers and controllers run here, of those that were asked for
	Process *Process // the first of them: the broker or controller that runs here; nil for none
	Config  Config   // the broker's settings, of the file that it was started with
	Dirs    []Dir    // its log directories, or those of --dirs

	NICs    []NIC
	Sysctls map[string][]host.Sysctl // what files set at boot, see [host.FS.Sysctls]

	// What the kernel counted before and after an interval of some seconds, or twice the same with an interval of 0.
	Before, After host.Counters
	Interval      time.Duration

	Bandwidth    int64  // what the slowest log directory can write for long, in bytes a second, as kt probe measured it; 0: not measured
	Unit         string // the systemd unit of the broker, also of one that does not run: "" where none is known
	OtherNetwork string // why the network that kt sees is not the one that matters; "": it is

	own    []host.Mount // the mounts that kt sees
	ownErr error

	pick   string   // the flag with which a suggested kt tune looks at the same broker, with a space before it
	unkept []Change // of values that kt set for now only
}

// Process is a broker or controller that runs here.
type Process struct {
	host.Process
	JVM     jvm.Flags
	Perf    jvm.Perf
	PerfErr error // nil: Perf was read
}

// Dir is a log directory.
type Dir struct {
	Path    string
	File    string // where kt finds it, without links on the way: of a broker in a container below /proc/PID/root
	Mount   host.Mount
	Storage host.Storage
	Space   host.Space
	Err     error // why the rest is not known

	// What is in it. Partitions and Segments are 0 when it may not be read, and ListErr says why.
	Partitions, Segments int
	ListErr              error
}

// NIC is a network card, or in a container an interface, that is up.
type NIC struct {
	Name     string
	Ethernet host.Ethernet
	Err      error // why Ethernet is not known
}

// Config is a broker's settings.
type Config struct {
	File    string            // "/etc/kafka/server.properties"; "" for none
	Values  map[string]string // what the file and --override set
	WorkDir string            // of the process: paths in the file may be relative to it
	Err     error             // why the file could not be read: then nothing is known of what it sets
}

// Get is a setting, or Kafka's default when it is not set.
func (c Config) Get(name, unset string) string {
	if v, ok := c.Values[name]; ok {
		return v
	}
	return unset
}

// Options are what a person knows better than the machine. But for the profile, kt finds everything out.
type Options struct {
	Profile  *Profile
	Role     Role
	Dirs     []string      // log directories; none: those of the broker's server.properties
	PID      int           // of the broker
	Unit     string        // its systemd unit: "kafka.service"
	Interval time.Duration // for how long counters are watched; 0: since the machine started
}

// Look finds out what checks need to know of a machine. What cannot be found is left zero. It fails for what was asked for by name
// and is not there, and when ctx ends.
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

// mostRead is the size up to which a file is read that a process names, or anybody may have written.
const mostRead = 1 << 20

// findProcess finds the broker or controller that runs here, the first of several, and how many there are.
func (m *Machine) findProcess(o Options) (found int, err error) {
	if o.Unit != "" {
		m.Unit = strings.TrimSuffix(o.Unit, ".service") + ".service"
	}
	all, err := m.Processes("")
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
