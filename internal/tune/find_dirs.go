package tune

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

// findDirs looks at the log directories. One that was asked for by name must exist.
func (m *Machine) findDirs(asked []string) error {
	names, pid := asked, 0
	if len(asked) == 0 && m.Process != nil {
		pid = m.Process.PID
		if m.Config.Err == nil && len(m.Config.Values) > 0 {
			names = m.Config.LogDirs()
		}
	}
	mounts, mountsErr := m.mountsFor(pid)
	if mountsErr != nil {
		mountsErr = errors.New("the mounted file systems are not known: " + mountsErr.Error()) // not one that says what the disks lack
	}
	var problems []error
	for _, name := range names {
		through := m.through(pid, name)
		real := m.follow(through, name)
		file := path.Join(through, host.Rel(real))
		d := Dir{Path: path.Clean(name), File: "/" + file, Err: mountsErr}
		var entries []string
		var problem error
		switch entries, d.ListErr = m.Names(file); {
		case errors.Is(d.ListErr, fs.ErrPermission):
		case d.ListErr != nil:
			problem = fmt.Errorf("--dirs %s: it is no directory that can be read", name)
		case len(entries) == 0 && !m.Exists(file):
			problem = fmt.Errorf("--dirs %s: there is no such directory", name)
			d.Err = cmp.Or(d.Err, fmt.Errorf("%s: %w", name, fs.ErrNotExist))
		default:
			d.Partitions, d.Segments, d.ListErr = m.count(file, entries)
		}
		if len(asked) > 0 {
			problems = append(problems, problem)
		}
		mount, ok := host.MountOf(mounts, real)
		switch {
		case d.Err != nil:
		case !ok:
			d.Err = fmt.Errorf("%s: no mounted file system is known", d.Path)
		default:
			d.Mount = mount
			d.Storage, _ = m.StorageOf(mount) // network file systems and tmpfs have no device; their checks go by the type
			d.Space, d.Err = m.Calls.Space(d.File)
		}
		m.Dirs = append(m.Dirs, d)
	}
	return errors.Join(problems...)
}

var partitionName = regexp.MustCompile(`^.+-[0-9]+$`)

// count counts the partitions of a log directory, TOPIC-N, and their segments.
func (m *Machine) count(dir string, entries []string) (partitions, segments int, err error) {
	for _, e := range entries {
		if !partitionName.MatchString(e) {
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

// ownMounts reports whether the broker sees other mounts than kt does, and so other files under the same names, as in a container or
// with a /tmp of its own by systemd. /proc/PID/root leads to them, for root.
func (m *Machine) ownMounts() bool { return m.Process != nil && m.OtherMounts(m.Process.PID) }

// within is a path as a process sees it, as the name of a file in the tree without links on the way.
func (m *Machine) within(pid int, p string) string {
	through := m.through(pid, p)
	return path.Join(through, host.Rel(m.follow(through, p)))
}

// through is the folder of the tree in which a process has its root: "" where it is kt's own.
func (m *Machine) through(pid int, p string) string {
	if pid == 0 || !m.OtherMounts(pid) {
		return ""
	}
	folder := procFile(pid, "root")
	// Who may not go through may still look where both see the same file system.
	if _, err := m.Names(folder); err != nil && m.sameMount(pid, p) {
		return ""
	}
	return folder
}

// mostLinks is how many links are followed on the way to a file, as in the kernel.
const mostLinks = 40

// follow is a path without links on its way, below a folder of the tree that it never leaves; one that leads nowhere is as it was.
func (m *Machine) follow(folder, p string) string {
	at, links := "/", 0
	for rest := path.Clean("/" + p)[1:]; rest != ""; {
		name, more, _ := strings.Cut(rest, "/")
		next := path.Join(at, name)
		rest = more
		target, err := m.Link(path.Join(folder, host.Rel(next)))
		switch {
		case err != nil: // it is none, or not there
			at = next
			continue
		case links == mostLinks:
			return path.Clean("/" + p)
		case path.IsAbs(target):
			at = "/"
		}
		links++
		rest = strings.Trim(path.Join(target, more), "/")
	}
	return at
}

// sameMount reports whether a process has the same file system at a path as kt.
func (m *Machine) sameMount(pid int, p string) bool {
	theirs, err := m.readMounts(pid)
	if err != nil {
		return false
	}
	a, _ := host.MountOf(m.own, p)
	b, ok := host.MountOf(theirs, p)
	return ok && a.Major == b.Major && a.Minor == b.Minor && a.Root == b.Root && a.Type == b.Type && a.Point == b.Point
}

func (m *Machine) readMounts(pid int) ([]host.Mount, error) {
	text, err := m.Text(procFile(pid, "mountinfo"))
	if err != nil {
		return nil, err
	}
	return host.ParseMounts(text)
}

// mountsFor are the mounts as a process sees them; of 0 those of the machine, or of its first process where kt sees it in a folder.
func (m *Machine) mountsFor(pid int) ([]host.Mount, error) {
	if pid != 0 && m.OtherMounts(pid) {
		return m.readMounts(pid)
	}
	if m.Root() != "/" {
		if first, err := m.readMounts(1); err == nil {
			return first, nil
		}
	}
	return m.own, m.ownErr
}

// otherNetwork says whose network it is that kt cannot see; "" when kt sees the right one, or may not know.
func (m *Machine) otherNetwork() string {
	self, err := m.Link("proc/self/ns/net")
	if err != nil {
		return ""
	}
	if m.Process != nil {
		if theirs, err := m.Link(procFile(m.Process.PID, "ns/net")); err == nil && theirs != self {
			return "the broker has a network of its own: run kt tune in its container"
		}
		return ""
	}
	if first, err := m.Link("proc/1/ns/net"); err == nil && first != self && m.Root() != "/" {
		return "kt is in another network than the machine: run it with the host's network"
	}
	return ""
}

func procFile(pid int, name string) string { return fmt.Sprintf("proc/%d/%s", pid, name) }

// readOnly reports whether a change would write below a mount that takes none.
func (m *Machine) readOnly(c Change) bool {
	if c.Kind != WriteFile {
		return false
	}
	at := c.Path
	// A root that is one of kt's mounts is another machine's, mounted in a folder.
	if mount, ok := host.MountOf(m.own, m.Root()); ok && mount.Point == path.Clean(m.Root()) {
		at = path.Join(m.Root(), at)
	}
	mount, _ := host.MountOf(m.own, at)
	return slices.Contains(mount.Options, "ro")
}

// DirsInUse are the directories that the brokers and controllers of a machine write to, as kt sees them: those of a container by
// way of /proc/PID/root. The error names each whose settings cannot be read.
func DirsInUse(tree host.FS, calls host.Calls) ([]string, error) {
	m := &Machine{FS: tree, Calls: calls}
	m.own, m.ownErr = tree.Mounts()
	if m.processesHidden() {
		return nil, errors.New("other users' processes are not visible: only root can look for a broker here")
	}
	all, err := m.FS.Brokers()
	if err != nil {
		return nil, fmt.Errorf("look for brokers: %w", err)
	}
	var dirs []string
	var problems []error
	for _, p := range all {
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
