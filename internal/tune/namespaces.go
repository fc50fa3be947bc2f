package tune

import (
	"fmt"
	"path"
	"strconv"

	"github.com/kt-bench/kt/internal/host"
)

// A process in a container, and one that systemd gave a /tmp of its own, sees other
// mounts than kt, and so other files under the same names. /proc/PID/root leads to
// them, for root.

// otherMounts tells whether a process sees other mounts than kt does. The lists are
// compared, which every user may read; the links in /proc/PID/ns only root may.
func (m *Machine) otherMounts(pid int) bool {
	own, err := m.Text("proc/self/mountinfo")
	theirs, theirErr := m.Text(procFile(pid, "mountinfo"))
	return err == nil && theirErr == nil && own != theirs
}

// ownMounts tells whether the broker sees other mounts than kt does.
func (m *Machine) ownMounts() bool { return m.Process != nil && m.otherMounts(m.Process.PID) }

// within is a path as a process sees it, as the name of a file in the tree.
func (m *Machine) within(pid int, p string) string {
	if !m.otherMounts(pid) {
		return host.Rel(p)
	}
	through := path.Join("proc", strconv.Itoa(pid), "root")
	// Who may not go through may still look where both see the same root.
	if _, err := m.Names(through); err != nil && m.sameRoot(pid) {
		return host.Rel(p)
	}
	return path.Join(through, host.Rel(p))
}

// sameRoot tells whether a process has the same file system at / as kt.
func (m *Machine) sameRoot(pid int) bool {
	theirs, err := m.readMounts(pid)
	if err != nil {
		return false
	}
	a, _ := host.MountOf(m.own, "/")
	b, ok := host.MountOf(theirs, "/")
	return ok && a.Major == b.Major && a.Minor == b.Minor && a.Root == b.Root && a.Type == b.Type
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
	if pid != 0 && m.otherMounts(pid) {
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

// readOnly tells whether a change would write below a mount that takes none.
func (m *Machine) readOnly(c Change) bool {
	if c.Kind != WriteFile {
		return false
	}
	at := c.Path
	// A root that is one of kt's mounts is another machine's, mounted in a folder.
	if mount, ok := host.MountOf(m.own, m.Root()); ok && mount.Point == path.Clean(m.Root()) {
		at = path.Join(m.Root(), at)
	}
	mount, ok := host.MountOf(m.own, at)
	for _, o := range mount.Options {
		if ok && o == "ro" {
			return true
		}
	}
	return false
}
