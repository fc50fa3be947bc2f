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

func diskCloud() *Setting {
	return &Setting{
		ID: "disk.cloud", Group: Disks, Title: "limits of cloud disks", Roles: []Role{Broker},
		Severity: Informational, Confidence: Documented,
		Why: "the disk is as fast as its plan allows, and some only for a while",
		Detail: "The disk reports its make, not its type or its plan: look them up in the cloud's console. Credits make the first " +
			"minutes of a test faster than the rest, so probe for longer than they last (kt probe --mode soak). The limit of the " +
			"instance type for all disks together is often lower.",
		Reads:   []string{"/sys/block/DISK/device/model"},
		Sources: []string{"AWS documentation: Amazon EBS volume types", "Google Cloud documentation: Persistent Disk performance", "Azure documentation: managed disk types"},
		Check: func(m *Machine, _ Rule) Reading {
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
		},
	}
}

func diskTimeout() *Setting {
	return &Setting{
		ID: "disk.nvme_timeout", Group: Disks, Title: "timeout of NVMe volumes", Roles: []Role{Broker, Controller},
		Severity: Informational, Confidence: Documented, Want: ">=255",
		Why: "the log directory goes offline. The file system turns read-only after a longer stall",
		Detail: "In seconds, for EBS volumes only. The kernel's default of 30 is meant for local disks. AWS advises the kernel's " +
			"maximum: 4294967295, or 255 in old kernels, which kt accepts. Amazon's own images are set up so.",
		Reads:   []string{"/sys/module/nvme_core/parameters/io_timeout"},
		Sources: []string{"AWS documentation: NVMe I/O operation timeout", "TuneD aws"},
		Risk:    "a lost volume is noticed late",
		Check: func(m *Machine, want Rule) Reading {
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
		},
	}
}

func diskLimits() *Setting {
	return &Setting{
		ID: "disk.cgroup_limits", Group: Disks, Title: "I/O limits of control groups", Roles: []Role{Broker, Controller},
		Severity: Warning, Confidence: Documented,
		Why: "the broker gets less than its disks can do. No counter of the disk shows it",
		Detail: "The limits come from IOReadBandwidthMax= and similar lines of a systemd unit, or from options of a container. Version 1 " +
			"of control groups limits only I/O that bypasses the page cache.",
		Reads:   []string{"/sys/fs/cgroup/…/io.max", "/sys/fs/cgroup/blkio/…/blkio.throttle.*"},
		Sources: []string{"kernel documentation: Control Group v2, IO"},
		Check: func(m *Machine, _ Rule) Reading {
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
		},
	}
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
