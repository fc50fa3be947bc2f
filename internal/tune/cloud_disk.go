package tune

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/theme"
)

// volume is a cloud's kind of disk.
type volume struct {
	name  string
	local bool   // in the machine itself, and empty after it was stopped
	limit string // what bounds it
}

const emptied = "it is empty after the machine was stopped: Kafka must replicate"

var (
	persistentDisk = &volume{"Persistent Disk", false, "IOPS and throughput grow with its size, and the machine type has a limit of its own"}
	localSSD       = &volume{"local SSD", true, emptied}
	managedDisk    = &volume{"managed disk", false, "its size and kind bound IOPS and throughput, and the machine type has a limit of its own"}
)

// volumes are the kinds by what the disk calls its model.
var volumes = map[string]*volume{
	"Amazon Elastic Block Store":       {"EBS", false, "gp3 gives 3000 IOPS and 125 MiB/s unless more is paid for; gp2 and st1 live on credits; the machine type has a limit of its own"},
	"Amazon EC2 NVMe Instance Storage": {"instance store", true, emptied},
	"PersistentDisk":                   persistentDisk,
	"nvme_card-pd":                     persistentDisk,
	"nvme_card":                        localSSD,
	"EphemeralDisk":                    localSSD,
	"Virtual Disk":                     managedDisk,
	"MSFT NVMe Accelerator v1.0":       managedDisk,
	"Microsoft NVMe Direct Disk":       {"local disk", true, emptied},
}

// volumeOf is the cloud's kind of a disk, nil for none that is known.
func volumeOf(d host.Disk) *volume { return volumes[strings.TrimSpace(d.Model)] }

func readVolume(m *Machine, d host.Disk, _ Rule) Reading {
	v := volumeOf(d)
	switch {
	case v == nil && m.Cloud == "aws" && strings.HasPrefix(d.Name, "xvd"):
		v = &volume{"EBS or instance store", false, "older machine types do not report which"}
	case v == nil, v == managedDisk && m.Cloud != "azure" && strings.TrimSpace(d.Model) == "Virtual Disk": // Hyper-V anywhere calls it so
		return Absent("no cloud disk was recognised by its model")
	}
	r := Reading{Verdict: Info, Current: v.name, Note: v.limit}
	if m.Bandwidth > 0 {
		r.addNote("kt probe measured %s/s", theme.Bytes(m.Bandwidth))
	}
	return r
}

func readTimeout(m *Machine, d host.Disk, _ Rule) Reading {
	if v := volumeOf(d); v == nil || v.name != "EBS" || !strings.HasPrefix(d.Name, "nvme") {
		return Absent("no EBS volume on NVMe")
	}
	return m.number("sys/module/nvme_core/parameters/io_timeout")
}

var deviceNumber = regexp.MustCompile(`\b\d+:\d+\b`)

func checkDiskLimits(m *Machine, _ Rule) Reading {
	if m.Cgroup.Layout == "" {
		return Absent("no control groups are visible from here")
	}
	names := make(map[string]string) // of the log directories' disks, and of what lies over them, by "8:16"
	for _, d := range m.Dirs {
		if d.Err == nil && d.Storage.Device != "" {
			names[fmt.Sprintf("%d:%d", d.Mount.Major, d.Mount.Minor)] = d.Storage.Device
		}
		for _, disk := range d.Storage.Disks {
			if n, err := m.Text("sys/block/" + disk.Name + "/dev"); err == nil && n != "" {
				names[n] = disk.Name
			}
		}
	}
	r := Reading{Verdict: OK, Current: "none"}
	for _, line := range m.Cgroup.IO {
		disk, ours := names[deviceNumber.FindString(line)]
		switch {
		case ours && r.Verdict == Warn:
			r.Current = disk + " limited"
			r.addNote("%s: %s", disk, line)
		case ours:
			r = Reading{Verdict: Warn, Current: disk + " limited", Wanted: "none", Note: disk + ": " + line}
		case r.Verdict == OK:
			r = Reading{Verdict: Info, Current: "of other devices", Note: line}
		}
	}
	return r
}
