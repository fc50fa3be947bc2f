package tune

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

// ofOptions reads which of some options a mount has.
func ofOptions(mount host.Mount, unset string, names ...string) Reading {
	if len(mount.Options) == 0 {
		return Unreadable("the mount options are not known")
	}
	return Reading{Current: cmp.Or(optionOf(mount, names...), unset)}
}

// optionOf is the first of some options that a mount, or its file system, has; "" for none.
func optionOf(mount host.Mount, names ...string) string {
	for _, o := range slices.Concat(mount.Options, mount.Super) {
		name, _, _ := strings.Cut(o, "=")
		if slices.Contains(names, o) || slices.Contains(names, name) {
			return o
		}
	}
	return ""
}

func readAtime(m place) Reading {
	d := m.dir
	r := ofOptions(host.Mount{Options: d.Mount.Options}, "strictatime", "noatime", "relatime") // the kernel shows nothing for strictatime
	if r.Verdict != "" || m.want.Leave() || m.want.Holds(r.Current) || m.want.Target(r.Current) != "noatime" {
		return r
	}
	point := d.Mount.Point
	switch {
	case point == "/" || point == "" || d.Mount.Root != "/": // a part of a file system that is mounted elsewhere too, say
		r.Command = "mount -o remount,noatime " + point
	case m.ownMounts():
		r.Note = "the broker has mounts of its own: it counts from its next start"
		r.Command = "mount the volume of " + d.Path + " with noatime, and start the broker again"
	default:
		r.set = func(value string) Change {
			return Change{Setting: "fs.noatime", Kind: Remount, Path: point, Old: r.Current, New: value, Advice: fstabAdvice(m.Machine, d.Mount)}
		}
	}
	return r
}

// fstabAdvice is the line of /etc/fstab that would make noatime last.
func fstabAdvice(m *Machine, mount host.Mount) string {
	f := fstabEntry(m, mount.Point)
	if f == nil {
		return fmt.Sprintf("/etc/fstab does not name %s: add noatime where it is mounted from", mount.Point)
	}
	options := slices.DeleteFunc(strings.Split(f[3], ","), func(o string) bool { return slices.Contains([]string{"relatime", "strictatime", "atime"}, o) })
	f[3] = strings.Join(addNew(options, "noatime"), ",")
	return "in /etc/fstab: " + strings.Join(f, " ")
}

// fstabEntry are the fields of a mount point's line in /etc/fstab, at least four; nil for none.
func fstabEntry(m *Machine, point string) []string {
	text, _ := m.Text("etc/fstab") // without it there is none
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) >= 4 && !strings.HasPrefix(f[0], "#") && f[1] == point {
			return f
		}
	}
	return nil
}

// trim is what trims the disks of a log directory.
func (a place) trim() (string, error) {
	if optionOf(a.dir.Mount, "discard") != "" {
		return "at every delete", nil
	}
	timers, err := a.Names("etc/systemd/system/timers.target.wants")
	switch {
	case err != nil:
		return "", err
	case slices.Contains(timers, "fstrim.timer"):
		return "fstrim.timer", nil
	}
	return "not seen", nil
}

// discards reports whether a disk takes discards.
func (m *Machine) discards(d host.Disk) bool {
	n, err := m.Number(d.Queue("discard_max_bytes"))
	return err == nil && n > 0
}

func readObsolete(m place) Reading {
	d := m.dir
	names := []string{"nobarrier", "barrier=0", "nobh", "bh"}
	if fsOf(d) == "xfs" {
		names = []string{"nobarrier", "barrier", "delaylog", "nodelaylog", "ihashsize", "osyncisdsync", "osyncisosync", "irixsgid", "biosize"}
	}
	mount := d.Mount
	if f := fstabEntry(m.Machine, mount.Point); f != nil {
		mount.Super = slices.Concat(mount.Super, strings.Split(f[3], ","))
	}
	return ofOptions(mount, "none", names...)
}

var fastCommit = regexp.MustCompile(`(?m)^0*[1-9][0-9]* commits`)

// readJournal takes the fast commits that ext4 has made for a sign of its feature. Before Linux 5.10 there is no such file.
func readJournal(m place) Reading {
	d := m.dir
	r := ofOptions(d.Mount, "ordered", "data")
	r.Current = strings.TrimPrefix(r.Current, "data=")
	if info, err := m.Text("proc/fs/ext4/" + d.Storage.Device + "/fc_info"); r.Current == "ordered" && err == nil && fastCommit.MatchString(info) {
		r.Current = "fast_commit"
	}
	return r
}
