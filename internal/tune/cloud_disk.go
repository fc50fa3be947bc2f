package tune

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/theme"
)

// volume is a cloud's kind of disk.
type volume struct {
	cloud, model string
	name         string
	local        bool   // in the machine itself, and empty after it was stopped
	limit        string // what bounds it
}

// volumes are known by what the disk calls its model.
var volumes = []volume{
	{"aws", "Amazon Elastic Block Store", "EBS", false, "gp3 gives 3000 IOPS and 125 MiB/s unless more is paid for; gp2 and st1 live on credits; the machine type has a limit of its own"},
	{"aws", "Amazon EC2 NVMe Instance Storage", "instance store", true, "it is empty after the machine was stopped: Kafka must replicate"},
	{"gcp", "PersistentDisk", "Persistent Disk", false, "IOPS and throughput grow with its size, and the machine type has a limit of its own"},
	{"gcp", "nvme_card-pd", "Persistent Disk", false, "IOPS and throughput grow with its size, and the machine type has a limit of its own"},
	{"gcp", "nvme_card", "local SSD", true, "it is empty after the machine was stopped: Kafka must replicate"},
	{"gcp", "EphemeralDisk", "local SSD", true, "it is empty after the machine was stopped: Kafka must replicate"},
	{"azure", "Virtual Disk", "managed disk", false, "its size and kind bound IOPS and throughput, and the machine type has a limit of its own"},
	{"azure", "MSFT NVMe Accelerator v1.0", "managed disk", false, "its size and kind bound IOPS and throughput, and the machine type has a limit of its own"},
	{"azure", "Microsoft NVMe Direct Disk", "local disk", true, "it is empty after the machine was stopped: Kafka must replicate"},
}

// volumeOf is the cloud's kind of a disk, nil for none that is known.
func volumeOf(d host.Disk) *volume {
	model := strings.TrimSpace(d.Model)
	for i, v := range volumes {
		if model == v.model {
			return &volumes[i]
		}
	}
	return nil
}

func checkDiskCloud(m *Machine, _ Rule) Reading {
	r := eachDisk(m, func(d host.Disk) Reading {
		v := volumeOf(d)
		switch {
		case v == nil && m.Cloud == "aws" && strings.HasPrefix(d.Name, "xvd"):
			return Reading{Verdict: Info, Current: "EBS or instance store", Note: "older machine types do not report which"}
		case v == nil, v.model == "Virtual Disk" && m.Cloud != "azure": // Hyper-V anywhere calls it so
			return Absent("no cloud disk was recognised by its model")
		}
		return Reading{Verdict: Info, Current: v.name, Note: v.limit}
	})
	if r.Verdict == Info && m.Bandwidth > 0 {
		r.Note += fmt.Sprintf("; kt probe measured %s/s", theme.Bytes(m.Bandwidth))
	}
	return r
}

func checkDiskTimeout(m *Machine, want Rule) Reading {
	return eachDisk(m, func(d host.Disk) Reading {
		if v := volumeOf(d); v == nil || v.name != "EBS" || !strings.HasPrefix(d.Name, "nvme") {
			return Absent("no EBS volume on NVMe")
		}
		n, err := m.Number("sys/module/nvme_core/parameters/io_timeout")
		if err != nil {
			return Denied(err)
		}
		r := Compare(strconv.FormatInt(n, 10), want, Info)
		if r.Verdict == Info && !want.Leave() {
			r.Command = "nvme_core.io_timeout=4294967295 in the kernel's command line"
		}
		return r
	})
}

func checkDiskLimits(m *Machine, _ Rule) Reading {
	if m.Cgroup.Layout == "" {
		return Absent("no control groups are visible from here")
	}
	numbers := deviceNumbers(m)
	r := Reading{Verdict: OK, Current: "none"}
	for _, line := range m.Cgroup.IO {
		disk, ours := numbers[deviceNumber.FindString(line)]
		switch {
		case ours:
			r.Verdict, r.Current, r.Wanted = Warn, disk+" limited", "none"
			r.Note = joined(r.Note, disk+": "+line)
		case r.Verdict == OK:
			r.Verdict, r.Current, r.Note = Info, "of other devices", line
		}
	}
	return r
}

var deviceNumber = regexp.MustCompile(`\b\d+:\d+\b`)

// deviceNumbers are the log directories' disks, and what lies over them, by "8:16".
func deviceNumbers(m *Machine) map[string]string {
	numbers := make(map[string]string)
	for _, d := range m.Dirs {
		if d.Err != nil {
			continue
		}
		if d.Storage.Device != "" {
			numbers[fmt.Sprintf("%d:%d", d.Mount.Major, d.Mount.Minor)] = d.Storage.Device
		}
		for _, disk := range d.Storage.Disks {
			if n, err := m.Text("sys/block/" + disk.Name + "/dev"); err == nil && n != "" {
				numbers[n] = disk.Name
			}
		}
	}
	return numbers
}

// joined is two notes in one line.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}
