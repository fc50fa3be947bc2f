package tune

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/theme"
)

// volumeOf is the cloud's kind of a disk by what it calls its model, "" for none that is known.
func volumeOf(d host.Disk) string { return rowOf("disk.cloud").Read.Shown[strings.TrimSpace(d.Model)] }

// distant reports whether a disk is a cloud's and not in the machine itself.
func distant(d host.Disk) bool {
	return slices.Contains([]string{"EBS", "Persistent Disk", "managed disk"}, volumeOf(d))
}

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
