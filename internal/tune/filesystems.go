package tune

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

// eachLocal is one reading of those log directories whose file system is on a disk
// and one of the types; none: all types. Each file system is asked once.
func eachLocal(m *Machine, ask func(d Dir, fs string) Reading, types ...string) Reading {
	seen := make(map[string]bool)
	return eachDir(m, func(d Dir) Reading {
		fs, kind := fsOf(d)
		switch {
		case fs == "":
			return Reading{Verdict: Unknown, Note: "the file system is not known"}
		case kind == fsNetworked || kind == fsPassing, len(types) > 0 && !slices.Contains(types, fs):
			return Absent("the file system is %s", fs)
		}
		r := ask(d, fs)
		if seen[d.Mount.Point] && d.Mount.Point != "" { // once is enough for what is to be done
			r.Changes, r.Command = nil, ""
		}
		seen[d.Mount.Point] = true
		return r
	})
}

// withOptions is a question to directories about their mount options, which must be known.
func withOptions(ask func(d Dir, fs string) Reading) func(Dir, string) Reading {
	return func(d Dir, fs string) Reading {
		if len(d.Mount.Options) == 0 {
			return Reading{Verdict: Unknown, Note: "the mount options are not known"}
		}
		return ask(d, fs)
	}
}

// hasOption reports whether a mount has one of some options, and which. mountinfo names
// those of the mount and those of its file system apart; for Kafka they are the same.
func hasOption(mount host.Mount, names ...string) (string, bool) {
	for _, list := range [][]string{mount.Options, mount.Super} {
		for _, o := range list {
			name, _, _ := strings.Cut(o, "=")
			if slices.Contains(names, o) || slices.Contains(names, name) {
				return o, true
			}
		}
	}
	return "", false
}

func checkFsType(m *Machine, want Rule) Reading {
	return eachLocal(m, func(_ Dir, fs string) Reading {
		r := Compare(fs, want, Warn)
		if r.Verdict == OK && fs == "ext4" {
			r.Verdict, r.Note = Info, "ext4 is accepted; some produces are slower than with XFS"
		}
		if r.Verdict == Warn {
			r.Command = "mkfs.xfs on a new disk, and let Kafka replicate to it"
		}
		return r
	})
}

func checkFsNoatime(m *Machine, want Rule) Reading {
	return eachLocal(m, withOptions(func(d Dir, _ string) Reading { return readAtime(m, d, want) }))
}

func readAtime(m *Machine, d Dir, want Rule) Reading {
	current, ok := hasOption(host.Mount{Options: d.Mount.Options}, "noatime", "relatime")
	bad := Info
	if !ok { // the kernel shows nothing for it
		current, bad = "strictatime", Warn
	}
	r := Compare(current, want, bad)
	if want.Leave() || r.Verdict == OK || want.Target(current) != "noatime" {
		return r
	}
	point := d.Mount.Point
	if point == "/" || point == "" || d.Mount.Root != "/" { // a part of a file system that is mounted elsewhere too, say
		r.Command = "mount -o remount,noatime " + point
		return r
	}
	if m.ownMounts() {
		r.Note, r.Command = ownMountAdvice(m, d)
		return r
	}
	r.Changes = []Change{{
		Setting: "fs.noatime", Kind: Remount, Path: point, Old: current, New: "noatime",
		Advice: fstabAdvice(m, d.Mount),
	}}
	return r
}

// ownMountAdvice is for a broker that sees other mounts than kt: what is mounted again
// here does not reach it before it starts again.
func ownMountAdvice(m *Machine, d Dir) (note, command string) {
	here, ok := host.MountOf(m.own, d.Path)
	if !ok || here.Point != d.Mount.Point || here.Major != d.Mount.Major || here.Minor != d.Mount.Minor {
		return "the broker has mounts of its own", "mount the volume of " + d.Path + " with noatime, and start the broker again"
	}
	note = "the broker has mounts of its own: it counts from its next start"
	if _, ok := hasOption(host.Mount{Options: here.Options}, "noatime"); ok {
		return note, "start the broker again"
	}
	return note, "mount -o remount,noatime " + here.Point + ", and start the broker again"
}

// fstabAdvice is the line of /etc/fstab that would make noatime last.
func fstabAdvice(m *Machine, mount host.Mount) string {
	if f := fstabEntry(m, mount.Point); f != nil {
		options := slices.DeleteFunc(strings.Split(f[3], ","), func(o string) bool {
			return o == "relatime" || o == "strictatime" || o == "atime"
		})
		f[3] = strings.Join(addNew(options, "noatime"), ",")
		return "in /etc/fstab: " + strings.Join(f, " ")
	}
	return fmt.Sprintf("/etc/fstab does not name %s: add noatime where it is mounted from", mount.Point)
}

// fstabEntry are the fields of a mount point's line in /etc/fstab, at least four; nil
// for none.
func fstabEntry(m *Machine, point string) []string {
	text, err := m.Text("etc/fstab")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) >= 4 && !strings.HasPrefix(f[0], "#") && f[1] == point {
			return f
		}
	}
	return nil
}

func checkFsDiscard(m *Machine) Reading {
	return eachLocal(m, withOptions(func(d Dir, _ string) Reading {
		if _, ok := hasOption(d.Mount, "discard"); ok {
			return Reading{
				Verdict: Warn, Current: "discard", Wanted: "no discard, and fstrim.timer",
				Note:    "also remove discard from /etc/fstab",
				Command: fmt.Sprintf("mount -o remount,nodiscard %s && systemctl enable --now fstrim.timer", d.Mount.Point),
			}
		}
		return Reading{Verdict: OK, Current: "no discard"}
	}), "xfs", "ext4", "ext3", "f2fs")
}

func checkFsTrim(m *Machine, _ Rule) Reading {
	if m.Container != "" {
		return Absent("the host of the container trims")
	}
	return eachLocal(m, func(d Dir, _ string) Reading {
		able := func(disk host.Disk) bool {
			n, err := m.Number(disk.Queue("discard_max_bytes"))
			return err == nil && n > 0
		}
		if !slices.ContainsFunc(d.Storage.Disks, able) {
			return Absent("the disk does not support discard")
		}
		if _, ok := hasOption(d.Mount, "discard"); ok {
			return Reading{Verdict: OK, Current: "at every delete"}
		}
		if !m.Exists("etc/systemd") {
			return Absent("systemd does not run here")
		}
		wants, err := m.Names("etc/systemd/system/timers.target.wants")
		switch {
		case err != nil:
			return Denied(err)
		case slices.Contains(wants, "fstrim.timer"):
			return Reading{Verdict: OK, Current: "fstrim.timer"}
		}
		return Reading{Verdict: Info, Current: "not seen", Wanted: "fstrim.timer", Command: "systemctl enable --now fstrim.timer"}
	})
}

func checkFsObsolete(m *Machine, _ Rule) Reading {
	return eachLocal(m, withOptions(func(d Dir, fs string) Reading {
		names := []string{"nobarrier", "barrier=0", "nobh", "bh"}
		if fs == "xfs" {
			names = []string{"nobarrier", "barrier", "delaylog", "nodelaylog", "ihashsize", "osyncisdsync", "osyncisosync", "irixsgid", "biosize"}
		}
		mount := d.Mount
		if f := fstabEntry(m, mount.Point); f != nil {
			mount.Super = append(slices.Clone(mount.Super), strings.Split(f[3], ",")...)
		}
		o, ok := hasOption(mount, names...)
		if !ok {
			return Reading{Verdict: OK, Current: "none"}
		}
		return Reading{
			Verdict: Warn, Current: o, Wanted: "none",
			Command: fmt.Sprintf("take %s out of the options of %s in /etc/fstab", o, mount.Point),
		}
	}), "xfs", "ext4", "ext3")
}

func checkFsSync(m *Machine, want Rule) Reading {
	return eachLocal(m, withOptions(func(d Dir, _ string) Reading {
		current, ok := hasOption(d.Mount, "sync", "dirsync", "wsync")
		if !ok {
			current = "async"
		}
		r := Compare(current, want, Warn)
		if r.Verdict == Warn {
			r.Command = fmt.Sprintf("take %s out of the options of %s in /etc/fstab, and mount it again", current, d.Mount.Point)
		}
		return r
	}))
}

func checkFsJournal(m *Machine, want Rule) Reading {
	return eachLocal(m, withOptions(func(d Dir, _ string) Reading {
		current := "ordered"
		if o, ok := hasOption(d.Mount, "data"); ok {
			current = strings.TrimPrefix(o, "data=")
		}
		if current == "ordered" && fastCommits(m, d.Storage.Device) {
			current = "fast_commit"
		}
		r := Compare(current, want, Warn)
		if r.Verdict == Warn {
			r.Note = "fast_commit may be on and not used yet"
			r.Command = "dumpe2fs -h " + d.Mount.Source + " | grep -o fast_commit"
		}
		return r
	}), "ext4")
}

var fastCommit = regexp.MustCompile(`(?m)^([0-9]+) commits`)

// fastCommits reports whether ext4 has made commits of the fast kind on a device.
func fastCommits(m *Machine, device string) bool {
	if device == "" {
		return false
	}
	text, err := m.Text("proc/fs/ext4/" + device + "/fc_info")
	if err != nil {
		return false // before Linux 5.10
	}
	f := fastCommit.FindStringSubmatch(text)
	return f != nil && strings.Trim(f[1], "0") != ""
}

func checkFsXFS(m *Machine, _ Rule) Reading {
	return eachLocal(m, withOptions(func(d Dir, _ string) Reading {
		if o, ok := hasOption(d.Mount, "largeio", "allocsize", "swalloc", "noalign"); ok {
			return Reading{Verdict: Info, Current: o, Wanted: "defaults"}
		}
		return Reading{Verdict: OK, Current: "defaults"}
	}), "xfs")
}
