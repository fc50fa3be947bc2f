package tune

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

// diskClass is what a disk is, as far as that decides what suits it.
type diskClass string

// The classes.
const (
	hardDisk    diskClass = "hard disk"
	solidDisk   diskClass = "SSD"
	nvmeDisk    diskClass = "NVMe"
	virtualDisk diskClass = "virtual disk" // only its host knows what it is made of
	otherDisk   diskClass = "other"        // loop devices, memory, disks over the network by a driver of their own
)

// classOf goes by the driver's name. What the kernel says of rotation is believed
// of SATA and SAS disks of a real machine only: virtio says 1 of flash.
func classOf(m *Machine, d host.Disk) diskClass {
	switch {
	case volumeOf(d) != nil, strings.HasPrefix(d.Name, "vd"), strings.HasPrefix(d.Name, "xvd"):
		return virtualDisk
	case strings.HasPrefix(d.Name, "nvme"):
		return nvmeDisk
	case !strings.HasPrefix(d.Name, "sd"):
		return otherDisk
	case m.Virtual != "":
		return virtualDisk
	case d.Rotational:
		return hardDisk
	}
	return solidDisk
}

// unlessLeft is a check whose warnings are only noted where the profile leaves the
// matter alone: on a laptop, say.
func unlessLeft(f func(m *Machine) Reading) check {
	return func(m *Machine, want Rule) Reading {
		r := f(m)
		if want.Leave() && r.Verdict == Warn {
			r.Verdict = Info
		}
		return r
	}
}

// queueChange sets an attribute of a disk's queue, and keeps it by a rule for udev.
func queueChange(id string, d host.Disk, attribute, old, wanted string) Change {
	c := Change{
		Setting: id, Kind: WriteFile, Path: "/" + d.Queue(attribute), Old: old, New: wanted,
		Keep: []Line{{File: UdevFile, Text: fmt.Sprintf(
			`ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", %s, ATTR{queue/%s}="%s"`, d.Match, attribute, wanted)}},
	}
	if !d.Stable {
		c.Advice = d.Name + " has no identity of its own: look at the rule again when disks are added or removed, for names may change"
	}
	return c
}

// queueNumber compares a number of a disk's queue with a rule; change tells that kt
// makes it so where it does not hold.
func queueNumber(m *Machine, d host.Disk, id, attribute string, want Rule, bad Verdict, change bool) Reading {
	n, err := m.Number(d.Queue(attribute))
	if err != nil {
		return Denied(err)
	}
	current := strconv.FormatInt(n, 10)
	r := Compare(current, want, bad)
	if change && !want.Leave() && r.Verdict == bad {
		r.Changes = []Change{queueChange(id, d, attribute, current, want.Target(current))}
	}
	return r
}

func checkDiskScheduler(m *Machine, want Rule) Reading {
	return eachDisk(m, func(d host.Disk) Reading { return readScheduler(m, d, want) })
}

// formerScheduler are the names of kernels before 5.0.
var formerScheduler = map[string]string{"none": "noop", "mq-deadline": "deadline"}

func readScheduler(m *Machine, d host.Disk, want Rule) Reading {
	text, err := m.Text(d.Queue("scheduler"))
	if err != nil {
		return Denied(err)
	}
	current, err := m.Chosen(d.Queue("scheduler"))
	if err != nil {
		return Denied(err)
	}
	choices := strings.Fields(strings.NewReplacer("[", " ", "]", " ").Replace(text))
	if !slices.Contains(choices, current) || !kernelName.MatchString(strings.Join(choices, "")) {
		return Reading{Verdict: Unknown, Note: fmt.Sprintf("%s: %q has no choice in brackets", d.Queue("scheduler"), text)}
	}
	class := classOf(m, d)
	switch zoned, _ := m.Text(d.Queue("zoned")); { // without the file it has no zones
	case len(choices) < 2:
		return Reading{Verdict: NotApplicable, Current: current, Note: d.Name + ": the driver offers no choice"}
	case strings.HasPrefix(zoned, "host-"):
		return Reading{Verdict: NotApplicable, Current: current, Note: d.Name + " has zones: its scheduler is left alone"}
	case class == otherDisk:
		return Reading{Verdict: NotApplicable, Current: current, Note: d.Name + ": no scheduler is known to suit such a device"}
	}
	rule := suits(class, d, want, choices)
	r := Compare(current, rule, Warn)
	if r.Verdict != Warn {
		return r
	}
	if class == virtualDisk && (current == "mq-deadline" || current == "deadline") {
		r.Verdict = Info
	}
	for word := range strings.SplitSeq(rule.Value, "|") {
		if slices.Contains(choices, word) {
			r.Changes = []Change{queueChange("disk.scheduler", d, "scheduler", current, word)}
			return r
		}
	}
	r.Note = d.Name + ": this kernel offers only " + strings.Join(choices, ", ")
	return r
}

// suits narrows a profile's words to those that suit a disk, if any of them does,
// by the names that this kernel has for them.
func suits(class diskClass, d host.Disk, want Rule, choices []string) Rule {
	if want.Leave() {
		return want
	}
	best := []string{"none"}
	switch {
	case class == hardDisk:
		best = []string{"mq-deadline"}
	case strings.HasPrefix(d.Name, "sd"):
		best = []string{"none", "mq-deadline"}
	}
	asked := strings.Split(want.Value, "|")
	best = slices.DeleteFunc(best, func(w string) bool { return !slices.Contains(asked, w) })
	if len(best) == 0 {
		best = asked // a profile of somebody's own: kyber, say
	}
	for i, w := range best {
		if former := formerScheduler[w]; former != "" && !slices.Contains(choices, w) && slices.Contains(choices, former) {
			best[i] = former
		}
	}
	return Rule{Equal, strings.Join(best, "|")}
}

func checkDiskNomerges(m *Machine, want Rule) Reading {
	return eachDisk(m, func(d host.Disk) Reading {
		bad := Warn
		if n, err := m.Number(d.Queue("nomerges")); err == nil && n == 1 {
			bad = Info // most merges still happen
		}
		return queueNumber(m, d, "disk.nomerges", "nomerges", want, bad, true)
	})
}

func checkDiskReadAhead(m *Machine, want Rule) Reading {
	slow := make(map[string]bool) // devices over a disk that gains by large reads
	of := func(d Dir) []host.Disk { return topOf(m, d.Storage, slow) }
	return overDisks(m, of, func(d host.Disk) Reading {
		return queueNumber(m, d, "disk.read_ahead_kb", "read_ahead_kb", readAheadOf(want, slow[d.Name]), Info, true)
	})
}

// readAheadOf is the read-ahead that is wanted of a disk, slow or not, in KiB. The kernel
// cuts it to whole pages, mostly of 4 KiB, so that anything else would never hold.
func readAheadOf(want Rule, slow bool) Rule {
	kib, err := strconv.Atoi(want.Value)
	if err != nil || want.Op != AtLeast {
		return want
	}
	if !slow {
		kib = min(kib, 128)
	}
	want.Value = strconv.Itoa((kib + 3) / 4 * 4)
	return want
}

// topOf are the devices whose read-ahead a file system uses: the one that it is on,
// when that lies over others, else the disk. slow takes the names of those that gain
// by large reads.
func topOf(m *Machine, s host.Storage, slow map[string]bool) []host.Disk {
	top := s.Disks
	if d := (host.Disk{Name: s.Device, Match: fmt.Sprintf("KERNEL==%q", s.Device)}); len(s.Layers) > 0 && s.Device != "" && m.Exists(d.Queue("read_ahead_kb")) {
		if name, err := m.Text("sys/block/" + d.Name + "/dm/name"); err == nil && name != "" {
			d.Match, d.Stable = fmt.Sprintf("ENV{DM_NAME}==%q", name), true
		}
		top = []host.Disk{d}
	}
	for _, d := range s.Disks {
		if v := volumeOf(d); classOf(m, d) == hardDisk || v != nil && !v.local {
			for _, t := range top {
				slow[t.Name] = true
			}
		}
	}
	return top
}

func checkDiskNrRequests(m *Machine, want Rule) Reading {
	return eachDisk(m, func(d host.Disk) Reading {
		if s, err := m.Chosen(d.Queue("scheduler")); err == nil && (s == "none" || s == "noop") {
			return Absent("without a scheduler the device's queue decides")
		}
		return queueNumber(m, d, "disk.nr_requests", "nr_requests", want, Info, false)
	})
}

func checkDiskThrottle(m *Machine, _ Rule) Reading {
	return eachDisk(m, func(d host.Disk) Reading {
		n, err := m.Number(d.Queue("wbt_lat_usec"))
		switch {
		case err != nil:
			return Denied(err)
		case n <= 0:
			return Reading{Verdict: OK, Current: "off"}
		}
		return Reading{Verdict: Info, Current: fmt.Sprintf("%d µs", n)}
	})
}

func checkDiskWriteCache(m *Machine, _ Rule) Reading {
	return eachDisk(m, func(d host.Disk) Reading {
		text, err := m.Text(d.Queue("write_cache"))
		switch {
		case err != nil:
			return Denied(err)
		case text == "write through":
			return Reading{Verdict: OK, Current: text}
		case text == "write back":
			return Reading{Verdict: Info, Current: text}
		}
		return Reading{Verdict: Unknown, Note: fmt.Sprintf("%s: %q is not a kind of cache", d.Queue("write_cache"), text)}
	})
}

func checkDiskRotational(m *Machine, _ Rule) Reading {
	return eachDisk(m, func(d host.Disk) Reading {
		n, err := m.Number(d.Queue("rotational"))
		switch class := classOf(m, d); {
		case err != nil:
			return Denied(err)
		case class == virtualDisk && n == 1:
			return Reading{Verdict: Info, Current: "reported as a hard disk", Note: "virtual disks report flash in the same way: kt probe measures it"}
		case n == 1:
			return Reading{Verdict: Info, Current: "rotates"}
		}
		return Reading{Verdict: OK, Current: "does not rotate"}
	})
}

func checkDiskErrors(m *Machine, want Rule) Reading {
	return eachDisk(m, func(d host.Disk) Reading {
		name := "sys/block/" + d.Name + "/device/ioerr_cnt"
		text, err := m.Text(name)
		if err != nil {
			return Denied(err)
		}
		n, err := strconv.ParseUint(text, 0, 63) // "0x1f"
		if err != nil {
			return Reading{Verdict: Unknown, Note: fmt.Sprintf("%s: %q is not a number", name, text)}
		}
		r := Compare(strconv.FormatUint(n, 10), want, Info)
		if r.Verdict == Info {
			r.Command = "smartctl -x /dev/" + d.Name
		}
		return r
	})
}
