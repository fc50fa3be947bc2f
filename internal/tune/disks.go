package tune

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

// diskChecks are the checks of each disk that rows cannot tell by themselves, by their IDs.
func diskChecks() map[string]func(m *Machine, d host.Disk, want Rule) Reading {
	return map[string]func(m *Machine, d host.Disk, want Rule) Reading{
		"disk.scheduler":    readScheduler,
		"disk.nr_requests":  readNrRequests,
		"disk.rotational":   readRotational,
		"disk.cloud":        readVolume,
		"disk.nvme_timeout": readTimeout,
	}
}

// classOf goes by a disk's name for what it is, as far as that decides what suits it: "hard", "fast" (an SSD, or NVMe), "virtual",
// of which only its host knows what it is made of, or "" for loop devices, memory, and disks over the network by a driver of
// their own. What the kernel says of rotation is believed of SATA and SAS disks of a real machine only: virtio says 1 of flash.
func classOf(m *Machine, d host.Disk) string {
	scsi := strings.HasPrefix(d.Name, "sd")
	switch {
	case volumeOf(d) != "", strings.HasPrefix(d.Name, "vd"), strings.HasPrefix(d.Name, "xvd"), scsi && m.Virtual != "":
		return "virtual"
	case scsi && d.Rotational:
		return "hard"
	case scsi, strings.HasPrefix(d.Name, "nvme"):
		return "fast"
	}
	return ""
}

// ofDisk reads the file of a row for a disk.
func (s *Setting) ofDisk(m *Machine, d host.Disk, _ Rule) Reading {
	name := strings.ReplaceAll(s.Read.File, "DISK", d.Name)
	return s.settable(s.Read.file(m, name), d, path.Base(name))
}

// settable lets kt set the attribute of a disk's queue that was read, and keep it by a rule for udev.
func (s *Setting) settable(r Reading, d host.Disk, attribute string) Reading {
	c := Change{Setting: s.ID, Kind: WriteFile, Path: "/" + d.Queue(attribute), Old: r.Current}
	if !d.Stable {
		c.Advice = d.Name + " has no identity of its own: look at the rule again when disks are added or removed, for names may change"
	}
	if s.Applies {
		r.set = func(value string) Change {
			c.New = value
			c.Keep = []Line{{File: UdevFile, Text: fmt.Sprintf(
				`ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", %s, ATTR{queue/%s}="%s"`, d.Match, attribute, value)}}
			return c
		}
	}
	return r
}

// choice reads a file as "none [mq-deadline] bfq": what is chosen and what may be.
func (m *Machine) choice(name string) (current string, offered []string, err error) {
	text, err := m.Text(name)
	if err != nil {
		return "", nil, err
	}
	current, err = m.Chosen(name)
	offered = strings.Fields(strings.NewReplacer("[", " ", "]", " ").Replace(text))
	if err == nil && (!slices.Contains(offered, current) || !wordForm.MatchString(strings.Join(offered, ""))) {
		err = fmt.Errorf("%s: %q has no choice in brackets", name, text)
	}
	return current, offered, err
}

func readScheduler(m *Machine, d host.Disk, want Rule) Reading {
	current, choices, err := m.choice(d.Queue("scheduler"))
	if err != nil {
		return Denied(err)
	}
	class := classOf(m, d)
	rule := suits(class, d, want, choices)
	r := Compare(current, rule, Warn)
	word := offered(rule, choices)
	switch zoned, _ := m.Text(d.Queue("zoned")); { // without the file it has no zones
	case len(choices) < 2:
		return Reading{Verdict: NotApplicable, Current: current, Note: d.Name + ": the driver offers no choice"}
	case strings.HasPrefix(zoned, "host-"):
		return Reading{Verdict: NotApplicable, Current: current, Note: d.Name + " has zones: its scheduler is left alone"}
	case class == "":
		return Reading{Verdict: NotApplicable, Current: current, Note: d.Name + ": no scheduler is known to suit such a device"}
	case r.Verdict != Warn:
	case word == "":
		r.Note = d.Name + ": this kernel offers only " + strings.Join(choices, ", ")
	default:
		r.Changes = []Change{rowOf("disk.scheduler").settable(r, d, "scheduler").set(word)}
	}
	if r.Verdict == Warn && class == "virtual" && strings.HasSuffix(current, "deadline") {
		r.Verdict = Info
	}
	return r
}

// suits narrows a profile's words to those that suit a disk, if any of them does,
// by the names that this kernel has for them.
func suits(class string, d host.Disk, want Rule, choices []string) Rule {
	asked, best := strings.Split(want.Value, "|"), []string{"none"}
	switch {
	case want.Leave():
		return want
	case class == "hard":
		best = []string{"mq-deadline"}
	case strings.HasPrefix(d.Name, "sd"):
		best = []string{"none", "mq-deadline"}
	}
	best = slices.DeleteFunc(best, func(w string) bool { return !slices.Contains(asked, w) })
	if len(best) == 0 {
		best = asked // a profile of somebody's own: kyber, say
	}
	words := strings.Join(best, "|")
	if slices.Contains(choices, "noop") { // a kernel before 5.0
		words = strings.NewReplacer("mq-deadline", "deadline", "none", "noop").Replace(words)
	}
	return Rule{Equal, words}
}

// checkDiskReadAhead asks the devices whose read-ahead a file system uses: the one that it
// is on, when that lies over others, else its disks.
func checkDiskReadAhead(m *Machine, want Rule) Reading {
	row := rowOf("disk.read_ahead_kb")
	return overDirs(m, func(d Dir) (parts []part) {
		top := d.Storage.Disks
		if t := (host.Disk{Name: d.Storage.Device, Match: fmt.Sprintf("KERNEL==%q", d.Storage.Device)}); len(d.Storage.Layers) > 0 && t.Name != "" && m.Exists(t.Queue("read_ahead_kb")) {
			if name, err := m.Text("sys/block/" + t.Name + "/dm/name"); err == nil && name != "" {
				t.Match, t.Stable = fmt.Sprintf("ENV{DM_NAME}==%q", name), true
			}
			top = []host.Disk{t}
		}
		rule := want
		if kib, err := strconv.Atoi(want.Value); err == nil {
			if !slices.ContainsFunc(d.Storage.Disks, func(disk host.Disk) bool { return classOf(m, disk) == "hard" || distant(disk) }) {
				kib = min(kib, 128) // which gains nothing by large reads
			}
			rule.Value = strconv.Itoa((kib + 3) / 4 * 4) // the kernel cuts it to whole pages, mostly of 4 KiB
		}
		for _, t := range top {
			r := row.settable(m.number(t.Queue("read_ahead_kb")), t, "read_ahead_kb")
			parts = append(parts, part{t.Name, row.told(r, rule)})
		}
		return parts
	})
}

func readNrRequests(m *Machine, d host.Disk, _ Rule) Reading {
	if s, err := m.Chosen(d.Queue("scheduler")); err == nil && (s == "none" || s == "noop") {
		return Absent("without a scheduler the device's queue decides")
	}
	return m.number(d.Queue("nr_requests"))
}

func readRotational(m *Machine, d host.Disk, _ Rule) Reading {
	r := m.number(d.Queue("rotational"))
	if r.Current == "1" && classOf(m, d) == "virtual" {
		return Reading{Verdict: Info, Current: "reported as a hard disk", Note: "virtual disks report flash in the same way: kt probe measures it"}
	}
	return r
}

// offered is the first word that a rule accepts of those that may be chosen; "" for
// none.
func offered(want Rule, words []string) string {
	for w := range strings.SplitSeq(want.Value, "|") {
		if slices.Contains(words, w) {
			return w
		}
	}
	return ""
}

// sysfsChange is a value written to a file of the tree below sys, and written again
// at each boot.
func sysfsChange(id, name, old, wanted string) Change {
	return Change{
		Setting: id, Kind: WriteFile, Path: "/" + name, Old: old, New: wanted,
		Keep: []Line{{File: TmpfilesFile, Text: "w /" + name + " - - - - " + wanted}},
	}
}
