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

func checkFsFreeSpace(m *Machine, _ Rule) Reading {
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
}

// percent is a share as "12 %", with a place after the point where it is small.
func percent(share float64) string {
	if share > 0 && share < 0.0995 {
		return strconv.FormatFloat(share*100, 'f', 1, 64) + " %"
	}
	return strconv.FormatFloat(share*100, 'f', 0, 64) + " %"
}

func checkFsFreeFiles(m *Machine, _ Rule) Reading {
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
}

func checkFsReadOnly(m *Machine, want Rule) Reading {
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
}

func checkFsErrors(m *Machine, want Rule) Reading {
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
}
