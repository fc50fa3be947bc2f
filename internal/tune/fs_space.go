package tune

import (
	"fmt"
	"strconv"

	"github.com/kt-bench/kt/internal/theme"
)

// What has to be free.
const (
	leastFree = 10 << 30 // bytes, as rpk warns
	warnFree  = 0.15     // MSK's alarm is at 85 % used
	failFree  = 0.02
)

func fsFreeSpace() *Setting {
	return &Setting{
		ID: "fs.free_space", Group: Disks, Title: "free space", Roles: []Role{Broker, Controller},
		Severity: Fatal, Confidence: Documented,
		Why: "a full disk takes its log directory offline. The broker ends with the last directory",
		Detail: "Below 2 % is a failure, below 15 % or 10 GiB a warning. Amazon MSK raises its alarm at 85 % used, rpk warns below 10 " +
			"GB. A kt test also fills disks: leave space for it. Space that is reserved for root does not count as free.",
		Reads:   []string{"statfs(2)"},
		Sources: []string{"Amazon MSK: best practices", "rpk: free space", "kt's proposal (2 %)"},
		Check: func(m *Machine, _ Rule) Reading {
			return eachDir(m, func(d Dir) Reading {
				s := d.Space
				if s.Total <= 0 {
					return Reading{Verdict: Unknown, Note: "the size is not known"}
				}
				share := float64(s.Free) / float64(s.Total)
				r := Reading{
					Verdict: OK, Current: fmt.Sprintf("%s (%s)", percent(share), theme.Bytes(s.Free)),
					Wanted: "≥ 15 % and ≥ " + theme.Bytes(leastFree),
				}
				switch {
				case share < failFree:
					r.Verdict = Fail
				case share < warnFree || s.Free < leastFree:
					r.Verdict = Warn
				}
				return r
			})
		},
	}
}

// percent is a share as "12 %", with a place after the point where it is small.
func percent(share float64) string {
	if share > 0 && share < 0.0995 {
		return strconv.FormatFloat(share*100, 'f', 1, 64) + " %"
	}
	return strconv.FormatFloat(share*100, 'f', 0, 64) + " %"
}

func fsFreeFiles() *Setting {
	return &Setting{
		ID: "fs.free_files", Group: Disks, Title: "free inodes", Roles: []Role{Broker, Controller},
		Severity: Fatal, Confidence: Folklore,
		Why: "Kafka cannot create segments, even with free space. Each file needs an inode",
		Detail: "Each segment is three files or more. ext4 fixes the number of inodes when it is made; XFS makes them as needed. The " +
			"limits are those of free space.",
		Reads:   []string{"statfs(2)"},
		Sources: []string{"kt's proposal"},
		Check: func(m *Machine, _ Rule) Reading {
			return eachDir(m, func(d Dir) Reading {
				s := d.Space
				switch {
				case s.Total <= 0:
					return Reading{Verdict: Unknown, Note: "the size is not known"}
				case s.Files <= 0:
					return Absent("the file system has no limit of files")
				}
				share := float64(s.FreeFiles) / float64(s.Files)
				r := Reading{Verdict: OK, Current: percent(share), Wanted: "≥ 15 %"}
				switch {
				case share < failFree:
					r.Verdict = Fail
				case share < warnFree:
					r.Verdict = Warn
				}
				if r.Verdict != OK {
					r.Note = fmt.Sprintf("%d free", s.FreeFiles)
				}
				return r
			})
		},
	}
}

func fsReadOnly() *Setting {
	return &Setting{
		ID: "fs.read_only", Group: Disks, Title: "log directory is writable", Roles: []Role{Broker, Controller},
		Severity: Fatal, Confidence: Documented, Want: "rw",
		Valid:   oneOf("rw"),
		Why:     "the log directory goes offline. A broker does not start on it",
		Detail:  "File systems turn read-only after a disk error: look at the kernel's log before mounting again.",
		Reads:   []string{"/proc/self/mountinfo"},
		Sources: []string{"mount(8)", "kernel documentation: ext4, errors="},
		Check: func(m *Machine, want Rule) Reading {
			known := withOptions(func(d Dir, _ string) Reading {
				current, ok := hasOption(d.Mount, "ro")
				if !ok {
					current = "rw"
				}
				r := Compare(current, want, Fail)
				if r.Verdict == Fail {
					r.Command = "dmesg | grep -i -e error -e remount"
				}
				return r
			})
			return eachDir(m, func(d Dir) Reading { return known(d, "") })
		},
	}
}

func fsErrors() *Setting {
	return &Setting{
		ID: "fs.errors", Group: Disks, Title: "errors found by ext4", Roles: []Role{Broker, Controller},
		Severity: Warning, Confidence: Documented, Want: "0",
		Valid:   wholeNumber(-1),
		Why:     "the file system may turn read-only at any time. Segments may be damaged",
		Detail:  "ext4 keeps the count in its superblock until e2fsck has repaired it, also over restarts.",
		Reads:   []string{"/sys/fs/ext4/DEVICE/errors_count"},
		Sources: []string{"kernel documentation: ext4, /sys/fs/ext4"},
		Check: func(m *Machine, want Rule) Reading {
			return eachLocal(m, func(d Dir, _ string) Reading {
				if d.Storage.Device == "" {
					return Reading{Verdict: Unknown, Note: "the device is not known"}
				}
				n, err := m.Number("sys/fs/ext4/" + d.Storage.Device + "/errors_count")
				if err != nil {
					return Denied(err)
				}
				r := Compare(strconv.FormatInt(n, 10), want, Warn)
				if r.Verdict == Warn {
					r.Note = "stop the broker before the repair"
					r.Command = "umount " + d.Mount.Point + " && e2fsck -f " + d.Mount.Source
				}
				return r
			}, "ext4")
		},
	}
}
