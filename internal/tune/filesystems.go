package tune

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

// fileSystemSettings are about the file systems of the log directories.
func fileSystemSettings() []*Setting {
	return []*Setting{
		fsType(), fsNoatime(), fsDiscard(), fsTrim(), fsObsolete(), fsSync(),
		fsJournal(), fsXFS(), fsFreeSpace(), fsFreeFiles(), fsReadOnly(), fsErrors(),
	}
}

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

func fsType() *Setting {
	return &Setting{
		ID: "fs.type", Group: Disks, Title: "type of file system", Roles: []Role{Broker, Controller},
		Severity: Warning, Confidence: Measured,
		Why: "the slowest produces take longer. ext4 stops appends while its journal commits",
		Detail: "Allegro measured 82 % fewer produces of more than 65 ms with XFS than with ext4. Kafka's documentation has 160 ms for " +
			"XFS against 250 ms and more. Confluent accepts either. So ext4 is only a note for throughput. btrfs and zfs copy on " +
			"write, which fragments appended files.",
		Reads:   []string{"/proc/self/mountinfo", "statfs(2)"},
		Sources: []string{"Kafka documentation, Operations: Disks and filesystem", "Allegro: unlocking Kafka's potential", "Confluent Platform: production deployment"},
		Check: func(m *Machine, want Rule) Reading {
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
		},
	}
}

func fsNoatime() *Setting {
	return &Setting{
		ID: "fs.noatime", Group: Disks, Title: "access times", Roles: []Role{Broker},
		Severity: Warning, Confidence: Documented, Applies: true,
		Valid: oneOf("noatime", "relatime", "strictatime"),
		Why:   "reads may cause writes. Each read of a segment may update its access time",
		Detail: "strictatime writes with every read. relatime, the default, writes about once a day for each file, and is only a note. " +
			"noatime includes nodiratime. Kafka needs no access times. kt remounts a separate file system. For / it prints the " +
			"command, because other programs may need access times. It also does so for a broker with mounts of its own, as in a " +
			"container or with PrivateTmp: those do not change until the broker starts again.",
		Reads:   []string{"/proc/self/mountinfo", "/etc/fstab"},
		Sources: []string{"Kafka documentation, Operations: Disks and filesystem", "Intel: Kafka tuning guide"},
		Risk:    "programs that use access times, such as some cleaners and backups, see old ones",
		Check: func(m *Machine, want Rule) Reading {
			return eachLocal(m, withOptions(func(d Dir, _ string) Reading { return readAtime(m, d, want) }))
		},
	}
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

func fsDiscard() *Setting {
	return &Setting{
		ID: "fs.discard", Group: Disks, Title: "discard at every delete", Roles: []Role{Broker, Controller},
		Severity: Warning, Confidence: Documented, Want: "no discard",
		Why: "the disk may stall when Kafka deletes a segment",
		Detail: "A weekly fstrim does the same at a quiet time. The OpenMessaging benchmark mounts with nodiscard. btrfs discards in the " +
			"background, so kt does not check it.",
		Reads:   []string{"/proc/self/mountinfo"},
		Sources: []string{"Red Hat: Discarding unused blocks", "OpenMessaging benchmark: deployment for Kafka"},
		Check: unlessLeft(func(m *Machine) Reading {
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
		}),
	}
}

func fsTrim() *Setting {
	return &Setting{
		ID: "fs.trim", Group: Disks, Title: "weekly trim", Roles: []Role{Broker, Controller},
		Severity: Informational, Confidence: Documented,
		Why: "flash disks get slower as they fill. A trim reports deleted blocks to them",
		Detail: "For disks that support discard. The timer counts as on when it is enabled. kt does not see hosts that trim in other " +
			"ways, such as cron.",
		Reads:   []string{"/sys/block/DISK/queue/discard_max_bytes", "/etc/systemd/system/timers.target.wants"},
		Sources: []string{"Red Hat: Discarding unused blocks", "rpk tune fstrim"},
		Check: func(m *Machine, _ Rule) Reading {
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
		},
	}
}

func fsObsolete() *Setting {
	return &Setting{
		ID: "fs.obsolete_options", Group: Disks, Title: "obsolete or unsafe mount options", Roles: []Role{Broker, Controller},
		Severity: Warning, Confidence: Documented,
		Why: "the next mount may fail. The kernel rejects options that it no longer knows",
		Detail: "Linux 4.19 removed nobarrier from XFS. Kafka's documentation named it, and nobh of ext4, long after that. On ext4 " +
			"nobarrier still works; it loses data in a power failure unless the disk's cache is protected.",
		Reads:   []string{"/proc/self/mountinfo", "/etc/fstab"},
		Sources: []string{"kernel commit 1c02d50", "kernel documentation: ext4", "Kafka documentation, Operations: Disks and filesystem (for the opposite)"},
		Check: func(m *Machine, _ Rule) Reading {
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
		},
	}
}

func fsSync() *Setting {
	return &Setting{
		ID: "fs.sync", Group: Disks, Title: "synchronous mounts", Roles: []Role{Broker, Controller},
		Severity: Warning, Confidence: Documented, Want: "async",
		Valid:   oneOf("async"),
		Why:     "every append waits for the disk. Kafka relies on replicas for safety",
		Detail:  "sync and dirsync are options of any file system, wsync is one of XFS.",
		Reads:   []string{"/proc/self/mountinfo"},
		Sources: []string{"mount(8)", "Kafka documentation, Operations: Application vs. OS flush management"},
		Check: func(m *Machine, want Rule) Reading {
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
		},
	}
}

func fsJournal() *Setting {
	return &Setting{
		ID: "fs.ext4_journal", Group: Disks, Title: "journal of ext4", Roles: []Role{Broker, Controller},
		Severity: Warning, Confidence: Measured,
		Valid: oneOf("ordered", "writeback", "journal", "fast_commit"),
		Why:   "appends wait while the journal commits. A stalled append blocks its partition",
		Detail: "Allegro measured the slowest of 1000 produces at 3 s with data=ordered, 0.8 s with writeback and 0.5 s with fast_commit " +
			"(Linux 5.10 and later). XFS was better still, and a shorter commit= gained nothing. After a crash writeback may leave " +
			"old content in files: use it only where every topic has three replicas. Kafka's documentation warns of it too. The " +
			"superblock holds fast_commit; without root kt sees it only after a fast commit. data=journal writes everything twice.",
		Reads:   []string{"/proc/self/mountinfo", "/proc/fs/ext4/DEVICE/fc_info"},
		Sources: []string{"Allegro: unlocking Kafka's potential", "Kafka documentation, Operations: Ext4 notes"},
		Risk:    "fast_commit and writeback are set when the file system is made or mounted, not in use",
		Check: func(m *Machine, want Rule) Reading {
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
		},
	}
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

func fsXFS() *Setting {
	return &Setting{
		ID: "fs.xfs_options", Group: Disks, Title: "options of XFS", Roles: []Role{Broker, Controller},
		Severity: Informational, Confidence: Documented,
		Why: "options from old guides do nothing, or reserve too much. The defaults suit Kafka",
		Detail: "Kafka's documentation finds no effect in largeio and says that XFS tunes itself. A large allocsize reserves space until " +
			"a segment is closed.",
		Reads:   []string{"/proc/self/mountinfo"},
		Sources: []string{"Kafka documentation, Operations: XFS notes", "kernel documentation: XFS"},
		Check: func(m *Machine, _ Rule) Reading {
			return eachLocal(m, withOptions(func(d Dir, _ string) Reading {
				if o, ok := hasOption(d.Mount, "largeio", "allocsize", "swalloc", "noalign"); ok {
					return Reading{Verdict: Info, Current: o, Wanted: "defaults"}
				}
				return Reading{Verdict: OK, Current: "defaults"}
			}), "xfs")
		},
	}
}
