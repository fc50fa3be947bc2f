package tune

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

// A process in a container, and one that systemd gave a /tmp of its own, sees other
// mounts than kt, and so other files under the same names. /proc/PID/root leads to
// them, for root.

// ownMounts reports whether the broker sees other mounts than kt does.
func (m *Machine) ownMounts() bool { return m.Process != nil && m.OtherMounts(m.Process.PID) }

// within is a path as a process sees it, as the name of a file in the tree. Links on
// the way are followed as the process would, so the name has none.
func (m *Machine) within(pid int, p string) string {
	through := m.through(pid, p)
	return path.Join(through, host.Rel(m.follow(through, p)))
}

// through is the folder of the tree in which a process has its root: "" where it is
// kt's own.
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

// follow is a path without links on its way, below a folder of the tree that it never
// leaves. A path that leads nowhere is as it was.
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

// mountsFor are the mounts as a process sees them; 0 is the machine itself, whose
// first process has them where its root is mounted for kt in a folder.
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

// otherNetwork says whose network it is that kt cannot see: /proc/sys/net and the
// cards are those of whoever reads. "" when kt sees the right one, or may not know.
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
