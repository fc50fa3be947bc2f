package tune

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

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

// settable lets kt set the attribute of a disk's queue that was read, and keep it by a rule for udev.
func (a place) settable(r Reading, attribute string) Reading {
	d := a.disk
	c := Change{Setting: a.row.ID, Kind: WriteFile, Path: "/" + d.Queue(attribute), Old: r.Current}
	if !d.Stable {
		c.Advice = d.Name + " has no identity of its own: look at the rule again when disks are added or removed, for names may change"
	}
	if a.row.Applies {
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

func readScheduler(m place) Reading {
	d := m.disk
	current, choices, err := m.choice(d.Queue("scheduler"))
	if err != nil {
		return Denied(err)
	}
	class := classOf(m.Machine, d)
	rule := suits(class, d, m.want, choices)
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
		r.Changes = []Change{m.settable(r, "scheduler").set(word)}
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

// topOf are the devices whose read-ahead the file system of a directory uses: the one that it is on, when that lies over
// others, else its disks.
func (a place) topOf() []host.Disk {
	on := a.dir.Storage
	top := host.Disk{Name: on.Device, Match: fmt.Sprintf("KERNEL==%q", on.Device)}
	if len(on.Layers) == 0 || top.Name == "" || !a.Exists(top.Queue("read_ahead_kb")) {
		return on.Disks
	}
	if name, err := a.Text("sys/block/" + top.Name + "/dm/name"); err == nil && name != "" {
		top.Match, top.Stable = fmt.Sprintf("ENV{DM_NAME}==%q", name), true
	}
	return []host.Disk{top}
}

func readAhead(m place) Reading {
	r := m.settable(m.number(m.disk.Queue("read_ahead_kb")), "read_ahead_kb")
	r.rule = m.want
	if kib, err := strconv.Atoi(m.want.Value); err == nil {
		if !slices.ContainsFunc(m.dir.Storage.Disks, func(d host.Disk) bool { return classOf(m.Machine, d) == "hard" || distant(d) }) {
			kib = min(kib, 128) // which gains nothing by large reads
		}
		r.rule.Value = strconv.Itoa((kib + 3) / 4 * 4) // the kernel cuts it to whole pages, mostly of 4 KiB
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
