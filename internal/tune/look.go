package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/magiconair/properties"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/host/jvm"
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
	if err := m.findProcess(o); err != nil {
		return nil, err
	}
	m.about()
	if err := m.findDirs(o.Dirs); err != nil {
		return nil, err
	}
	m.findRole(o)
	m.Sysctls, _ = tree.Sysctls() // none are known then
	for _, name := range tree.Cards() {
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

// findProcess finds the broker or controller that runs here. Of several the first
// is taken; --pid tells another.
func (m *Machine) findProcess(o Options) error {
	all, err := m.Processes()
	if err != nil && (o.PID != 0 || o.Unit != "") {
		return fmt.Errorf("look for the broker's process: %w", err)
	}
	for _, p := range all {
		flags := jvm.ParseFlags(p.Args)
		switch {
		case o.PID != 0 && p.PID != o.PID:
			continue
		case o.Unit != "" && p.Unit != o.Unit && p.Unit != o.Unit+".service":
			continue
		case o.PID == 0 && !isKafka(flags.Main):
			continue
		}
		m.Process = &Process{Process: p, JVM: flags}
		m.Process.Perf, m.Process.PerfErr = m.readPerf(p.PID)
		m.readConfig()
		return nil
	}
	switch {
	case o.PID != 0:
		return fmt.Errorf("--pid %d: there is no such process", o.PID)
	case o.Unit != "":
		return fmt.Errorf("--unit %s: no Kafka broker or controller runs in it", o.Unit)
	}
	return nil
}

// isKafka tells whether a class is the server's own: Apache's, and Confluent's
// wrapper around it.
func isKafka(class string) bool {
	return class == "kafka.Kafka" || class == "io.confluent.support.metrics.SupportedKafka"
}

// readPerf reads what a JVM publishes of itself, in the /tmp that the process sees.
func (m *Machine) readPerf(pid int) (jvm.Perf, error) {
	inner := m.InnerPID(pid)
	for _, pattern := range []string{
		fmt.Sprintf("tmp/hsperfdata_*/%d", inner),
		fmt.Sprintf("proc/%d/root/tmp/hsperfdata_*/%d", pid, inner),
	} {
		if inner != pid && strings.HasPrefix(pattern, "tmp/") {
			continue // that would be another process
		}
		for _, name := range m.Glob(pattern) {
			b, err := m.Read(name)
			if err != nil {
				return jvm.Perf{}, err
			}
			return jvm.ParsePerf(b)
		}
	}
	if !m.Calls.Root() {
		return jvm.Perf{}, fs.ErrPermission // folders that may not be listed look empty
	}
	return jvm.Perf{}, fmt.Errorf("hsperfdata of process %d: %w", pid, fs.ErrNotExist)
}

// within is a path as the process sees it, as the name of a file in the tree.
func (m *Machine) within(pid int, p string) string {
	if root, err := m.Link(fmt.Sprintf("proc/%d/root", pid)); err == nil && root != "/" {
		return path.Join("proc", fmt.Sprint(pid), "root", host.Rel(p))
	}
	return host.Rel(p)
}

// readConfig reads the server.properties that the process was started with, and
// its --override flags.
func (m *Machine) readConfig() {
	args := m.Process.JVM.MainArgs
	if len(args) == 0 {
		return
	}
	file := args[0]
	if !path.IsAbs(file) {
		file = path.Join(m.Process.Dir, file)
	}
	m.Config = Config{File: file, Values: make(map[string]string)}
	text, err := m.Read(m.within(m.Process.PID, file))
	if err != nil {
		m.Config.Err = err
		return
	}
	loader := properties.Loader{Encoding: properties.UTF8, DisableExpansion: true}
	p, err := loader.LoadBytes(text)
	if err != nil {
		m.Config.Err = fmt.Errorf("%s: %w", file, err)
		return
	}
	m.Config.Values = p.Map()
	for i, a := range args[1:] {
		set, ok := strings.CutPrefix(a, "--override=")
		if a == "--override" && i+2 < len(args) {
			set, ok = args[i+2], true
		}
		if k, v, isSet := strings.Cut(set, "="); ok && isSet {
			m.Config.Values[strings.TrimSpace(k)] = strings.TrimSpace(v)
		}
	}
}

// LogDirs are the log directories that the settings name.
func (c Config) LogDirs() []string {
	all := c.Get("log.dirs", "")
	if all == "" {
		all = c.Get("log.dir", "/tmp/kafka-logs")
	}
	var dirs []string
	for d := range strings.SplitSeq(all, ",") {
		if d = strings.TrimSpace(d); d != "" && !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	return dirs
}

// findDirs looks at the log directories. One that was asked for by name must exist.
func (m *Machine) findDirs(asked []string) error {
	names := asked
	if len(names) == 0 && m.Process != nil && m.Config.Err == nil && len(m.Config.Values) > 0 {
		names = m.Config.LogDirs()
	}
	mounts, mountsErr := m.Mounts()
	m.mounts = mounts
	if mountsErr != nil {
		mountsErr = errors.New("the mounted file systems are not known: " + mountsErr.Error()) // not one that says what the disks lack
	}
	var problems []error
	for _, name := range names {
		d := Dir{Path: path.Clean(name), Err: mountsErr}
		file := host.Rel(name)
		if len(asked) == 0 {
			file = m.within(m.Process.PID, name)
		}
		if entries, err := m.Names(file); err != nil {
			d.ListErr = err
		} else if len(entries) == 0 && !m.Exists(file) {
			if len(asked) > 0 {
				problems = append(problems, fmt.Errorf("--dirs %s: there is no such directory", name))
			}
			d.Err = cmp.Or(d.Err, fmt.Errorf("%s: %w", name, fs.ErrNotExist))
		} else {
			d.Partitions, d.Segments, d.ListErr = m.count(file, entries)
		}
		if d.Err == nil {
			d.Err = m.findStorage(&d, mounts)
		}
		m.Dirs = append(m.Dirs, d)
	}
	return errors.Join(problems...)
}

func (m *Machine) findStorage(d *Dir, mounts []host.Mount) (err error) {
	var ok bool
	if d.Mount, ok = host.MountOf(mounts, d.Path); !ok {
		return fmt.Errorf("%s: no mounted file system is known", d.Path)
	}
	// Network file systems and tmpfs have no device; their checks go by the type.
	d.Storage, _ = m.StorageOf(d.Mount)
	d.Space, err = m.Calls.Space(d.Path)
	return err
}

// count counts the partitions of a log directory, TOPIC-N, and their segments.
func (m *Machine) count(dir string, entries []string) (partitions, segments int, err error) {
	for _, e := range entries {
		topic := e[:max(strings.LastIndexByte(e, '-'), 0)]
		number := strings.TrimPrefix(e[len(topic):], "-")
		if topic == "" || number == "" || strings.Trim(number, "0123456789") != "" {
			continue
		}
		files, nameErr := m.Names(path.Join(dir, e))
		if nameErr != nil {
			return 0, 0, nameErr
		}
		partitions++
		for _, f := range files {
			if strings.HasSuffix(f, ".log") {
				segments++
			}
		}
	}
	return partitions, segments, nil
}

// findRole takes the role that was asked for, or that of the process.
func (m *Machine) findRole(o Options) {
	switch {
	case o.Role != "":
		m.Role, m.RoleFrom = o.Role, "--role"
	case m.Process != nil:
		m.Role, m.RoleFrom = Broker, fmt.Sprintf("process %d", m.Process.PID)
		roles := strings.Split(m.Config.Get("process.roles", "broker"), ",")
		for i := range roles {
			roles[i] = strings.TrimSpace(roles[i])
		}
		if slices.Contains(roles, "controller") && !slices.Contains(roles, "broker") {
			m.Role = Controller
		}
	case len(o.Dirs) > 0:
		m.Role, m.RoleFrom = Broker, "--dirs"
	default:
		m.Role, m.RoleFrom = Client, "no broker runs here"
	}
}
