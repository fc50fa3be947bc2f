package tune

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/theme"
)

// classOf goes by a disk's name for what it is, as far as that decides what suits it: "hard", "fast" (an SSD, or NVMe), "virtual",
// of which only its host knows what it is made of, or "" for loop devices, memory, and disks over the network by a driver of
// their own. What the kernel says of rotation is believed of SATA and SAS disks of a real machine only: virtio says 1 of flash.
func classOf(m *Machine, d host.Disk) string {
	scsi := strings.HasPrefix(d.Name, "sd")
	switch {
	case volumeOf(d) != "", strings.HasPrefix(d.Name, "vd"), strings.HasPrefix(d.Name, "xvd"), scsi && m.Virtual != "":
		return "virtual"
	case scsi && d.Rotational:
		return "hard"
	case scsi, strings.HasPrefix(d.Name, "nvme"):
		return "fast"
	}
	return ""
}

// choice reads the word that a file holds, and those that it may: of a list as "none [mq-deadline]" itself, else in the file beside it.
func (m *Machine) choice(name, beside string) (current string, offered []string, err error) {
	text, err := m.Text(name)
	list, _ := m.Text(path.Join(path.Dir(name), beside)) // without it there is nothing to choose from
	if beside == "itself" {
		list = strings.NewReplacer("[", " ", "]", " ").Replace(text)
	}
	current, offered = normal(text), strings.Fields(list)
	switch {
	case err == nil && text == "":
		err = fmt.Errorf("/%s is empty", name)
	case err == nil && beside == "itself" && (!slices.Contains(offered, current) || !wordForm.MatchString(strings.Join(offered, ""))):
		err = fmt.Errorf("%s: %q has no choice in brackets", name, text)
	}
	return current, offered, err
}

// readScheduler narrows a profile's words to those that suit a disk, if any of them does, by the names that this kernel has for them.
func readScheduler(m place) Reading {
	asked, best := strings.Split(m.want.Value, "|"), []string{"none"}
	switch {
	case m.want.Leave():
		return m.files()
	case classOf(m.Machine, m.disk) == "hard":
		best = []string{"mq-deadline"}
	case strings.HasPrefix(m.disk.Name, "sd"):
		best = []string{"none", "mq-deadline"}
	}
	best = slices.DeleteFunc(best, func(w string) bool { return !slices.Contains(asked, w) })
	if len(best) == 0 {
		best = asked // a profile of somebody's own: kyber, say
	}
	m.want = Rule{Equal, strings.Join(best, "|")}
	if _, choices, _ := m.choice(m.disk.Queue("scheduler"), "itself"); slices.Contains(choices, "noop") { // a kernel before 5.0
		m.want.Value = strings.NewReplacer("mq-deadline", "deadline", "none", "noop").Replace(m.want.Value)
	}
	r := m.files()
	r.rule = m.want
	return r
}

// topOf are the devices whose read-ahead the file system of a directory uses: the one over its disks, if there is one, else these.
func (a place) topOf() []host.Disk {
	on := a.dir.Storage
	top := host.Disk{Name: on.Device, Match: fmt.Sprintf("KERNEL==%q", on.Device)}
	if len(on.Layers) == 0 || top.Name == "" || !a.Exists(top.Queue("read_ahead_kb")) {
		return on.Disks
	}
	if name, err := a.Text("sys/block/" + top.Name + "/dm/name"); err == nil && name != "" {
		top.Match, top.Stable = fmt.Sprintf("ENV{DM_NAME}==%q", name), true
	}
	return []host.Disk{top}
}

func readAhead(m place) Reading {
	r := m.readFile()
	r.rule = m.want
	if kib, err := strconv.Atoi(m.want.Value); err == nil {
		distant := []string{"EBS", "Persistent Disk", "managed disk"} // a cloud's, and not in the machine itself
		if !slices.ContainsFunc(m.dir.Storage.Disks, func(d host.Disk) bool {
			return classOf(m.Machine, d) == "hard" || slices.Contains(distant, volumeOf(d))
		}) {
			kib = min(kib, 128) // which gains nothing by large reads
		}
		r.rule.Value = strconv.Itoa((kib + 3) / 4 * 4) // the kernel cuts it to whole pages, mostly of 4 KiB
	}
	return r
}

// sysfsChange is a value written to a file of the tree below sys, and written again at each boot: that of a disk by udev.
func (a place) sysfsChange(name, old, wanted string) Change {
	c := Change{Setting: a.row.ID, Kind: WriteFile, Path: "/" + name, Old: old, New: wanted}
	d := a.disk
	if d.Name == "" {
		c.Keep = []Line{{File: TmpfilesFile, Text: "w /" + name + " - - - - " + wanted}}
		return c
	}
	if !d.Stable {
		c.Advice = d.Name + " has no identity of its own: look at the rule again when disks are added or removed, for names may change"
	}
	c.Keep = []Line{{File: UdevFile, Text: fmt.Sprintf(
		`ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", %s, ATTR{queue/%s}="%s"`, d.Match, path.Base(name), wanted)}}
	return c
}

// volumeOf is the cloud's kind of a disk by what it calls its model, "" for none that is known.
func volumeOf(d host.Disk) string { return rowOf("disk.cloud").Read.Shown[strings.TrimSpace(d.Model)] }

func readVolume(m place) Reading {
	d := m.disk
	kind := volumeOf(d)
	switch {
	case kind == "" && m.Cloud == "aws" && strings.HasPrefix(d.Name, "xvd"):
		kind = "EBS or instance store"
	case kind == "", strings.TrimSpace(d.Model) == "Virtual Disk" && m.Cloud != "azure": // Hyper-V anywhere calls it so
		return Absent("no cloud disk was recognised by its model")
	}
	r := Reading{Verdict: Info, Current: kind, Note: rowOf("disk.cloud").Read.Noted[kind]}
	if m.Bandwidth > 0 {
		r.addNote("kt probe measured %s/s", theme.Bytes(m.Bandwidth))
	}
	return r
}

var deviceNumber = regexp.MustCompile(`\b\d+:\d+\b`)

func readLimits(m place) Reading {
	d := m.dir
	if m.Cgroup.Layout == "" {
		return Absent("no control groups are visible from here")
	}
	names := map[string]string{fmt.Sprintf("%d:%d", d.Mount.Major, d.Mount.Minor): d.Storage.Device} // of what lies over the disks
	for _, disk := range d.Storage.Disks {
		n, _ := m.Text("sys/block/" + disk.Name + "/dev")
		names[n] = disk.Name
	}
	r := Reading{Verdict: OK, Current: "none"}
	for _, line := range m.Cgroup.IO {
		number := deviceNumber.FindString(line)
		switch name := names[number]; {
		case name != "" && number != "" && r.Verdict == "":
			r.Current = name + " limited"
			r.addNote("%s: %s", name, line)
		case name != "" && number != "":
			r = Reading{Current: name + " limited", Note: name + ": " + line}
		case r.Verdict == OK:
			r = Reading{Verdict: Info, Current: "of other devices", Note: line}
		}
	}
	return r
}

// readShared tells which log directories share a disk.
func readShared(m place) Reading {
	d := m.dir
	var shared, notes []string
	for _, device := range devicesOf(d) {
		var on []string
		for _, other := range m.Dirs {
			if slices.Contains(devicesOf(other), device) {
				on = append(on, other.Path)
			}
		}
		if len(on) > 1 {
			shared, notes = append(shared, device), addNew(notes, strings.Join(on, " and ")+" share a disk")
		}
	}
	if len(shared) > 0 {
		return Reading{Current: "shared: " + listed(shared), Note: strings.Join(notes, "; ")}
	}
	return Reading{Verdict: OK, Current: map[bool]string{true: "one log directory", false: "each on its own"}[len(m.Dirs) == 1]}
}

// devicesOf are the names of the disks that a directory is on, or of its file system where they cannot be seen.
func devicesOf(d Dir) (names []string) {
	for _, disk := range d.Storage.Disks {
		names = append(names, disk.Name)
	}
	if len(names) == 0 && d.Mount.Point != "" {
		return []string{fmt.Sprintf("%s (device %d:%d)", d.Mount.Type, d.Mount.Major, d.Mount.Minor)}
	}
	return names
}

// beside is the disk that a log directory shares with another path, or with the broker's log files; "" for none.
func (a place) beside(other string) (string, error) {
	if other == "LOGS" {
		other = a.Process.JVM.D["kafka.logs.dir"]
	}
	mounts, err := a.Mounts()
	mount, ok := host.MountOf(mounts, other)
	if err == nil && !ok {
		err = errors.New("the file system of " + other + " is not mounted")
	}
	return a.sharedDevice(a.dir, mount), err
}

// onMount is a directory on a mount.
func (m *Machine) onMount(mount host.Mount) Dir {
	storage, _ := m.StorageOf(mount) // without it the mount's device number still tells
	return Dir{Mount: mount, Storage: storage}
}

// sharedDevice is the disk of a directory that a mount is on too; "" for none.
func (m *Machine) sharedDevice(d Dir, mount host.Mount) string {
	there := devicesOf(m.onMount(mount))
	for _, name := range devicesOf(d) {
		if slices.Contains(there, name) {
			return name
		}
	}
	return ""
}

// networked are the types of file systems on another machine, and passing those that are gone after the next start.
var (
	networked = strings.Fields("nfs nfs4 cifs smb3 smbfs 9p virtiofs ceph glusterfs lustre gpfs afs beegfs fuse")
	passing   = strings.Fields("overlay aufs tmpfs ramfs squashfs")
)

// overNetwork reports whether a file system is another machine's.
func overNetwork(fs string) bool {
	return slices.Contains(networked, fs) || strings.HasPrefix(fs, "fuse.")
}

// fsOf is the type of a directory's file system, "" when it is not known.
func fsOf(d Dir) string { return cmp.Or(d.Mount.Type, host.FileSystems[d.Space.Magic]) }
