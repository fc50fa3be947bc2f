package tune

import (
	"slices"
	"strings"
)

const (
	thpFolder    = "sys/kernel/mm/transparent_hugepage/"
	thpOldFolder = "sys/kernel/mm/redhat_transparent_hugepage/" // of RHEL 6
)

func thpEnabled() *Setting {
	return &Setting{
		ID: "thp.enabled", Group: Memory, Title: "transparent huge pages",
		Roles: []Role{Broker, Controller}, Severity: Warning, Confidence: Folklore, Applies: true,
		Valid: oneOf("always", "madvise", "never"),
		Why:   "the broker's threads sometimes wait. With “always” the kernel compacts memory for every process",
		Detail: "Sources disagree. Redpanda sets always, for its own memory allocation; TuneD's network-latency sets never. Advice for " +
			"databases has moved from never to madvise. With madvise each program chooses: a JVM with -XX:+UseTransparentHugePages " +
			"gets huge pages, others do not. There is no measurement for Kafka. “always” is a note for throughput, a warning for " +
			"latency. kt changes only always. It does not change a choice on the kernel's command line (transparent_hugepage=).",
		Reads:   []string{"/sys/kernel/mm/transparent_hugepage/enabled", "/proc/cmdline"},
		Sources: []string{"TuneD network-latency (never)", "Oracle: huge pages for databases (madvise)", "Redpanda: rpk redpanda tune (always)", "kernel documentation: transhuge"},
		Risk:    "programs that had huge pages without asking for them use a little more CPU",
		Check: func(m *Machine, want Rule) Reading {
			bad := Warn
			if !slices.Contains(strings.Split(want.Value, "|"), "never") { // never is only wanted for latency
				bad = Info
			}
			return thpCheck(m, "thp.enabled", "enabled", want, bad)
		},
	}
}

func thpDefrag() *Setting {
	return &Setting{
		ID: "thp.defrag", Group: Memory, Title: "compaction of memory for huge pages",
		Roles: []Role{Broker, Controller}, Severity: Warning, Confidence: Folklore, Applies: true,
		Valid: oneOf("always", "defer", "defer+madvise", "madvise", "never"),
		Why:   "threads stop at new memory until the kernel has compacted enough for a huge page",
		Detail: "Only “always” stops threads that never asked for huge pages; the kernel's default is madvise. Intel's scripts for Kafka " +
			"set never, and TuneD does not set it. kt sets defer+madvise, which compacts in the background for all others. Kernels " +
			"before 4.11 lack it and get the next supported word.",
		Reads:   []string{"/sys/kernel/mm/transparent_hugepage/defrag", "/proc/cmdline"},
		Sources: []string{"Intel: Kafka optimisation guide (never)", "kernel documentation: transhuge (madvise)", "kt's proposal (defer+madvise)"},
		Risk:    "fewer huge pages for programs that did not ask for them",
		Check: func(m *Machine, want Rule) Reading {
			return thpCheck(m, "thp.defrag", "defrag", want, Warn)
		},
	}
}

func thpCheck(m *Machine, id, file string, want Rule, bad Verdict) Reading {
	name := thpFolder + file
	if !m.Exists(name) && m.Exists(thpOldFolder+file) {
		name = thpOldFolder + file
	}
	current, err := m.Chosen(name)
	if err != nil {
		return Denied(err)
	}
	r := Compare(current, want, bad)
	if r.Verdict == OK || want.Leave() {
		return r
	}
	text, err := m.Text(name)
	if err != nil {
		return Denied(err)
	}
	if !strings.Contains(text, "[") {
		return Reading{Verdict: Unknown, Current: current, Note: "/" + name + " does not list the choices"}
	}
	if current != "always" {
		r.Verdict, r.Note = Info, current+" was chosen here: kt changes only always"
		return r
	}
	target := offered(want, strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(text)))
	boot, _ := m.Text("proc/cmdline") // a container may hide it
	switch {
	case target == "":
		r.Note = "this kernel offers only " + text
	case strings.Contains(boot, "transparent_hugepage="):
		r.Note = "set with transparent_hugepage= on the kernel's command line"
		r.Command = "remove transparent_hugepage= from the kernel's command line"
	default:
		r.Changes = []Change{sysfsChange(id, name, current, target)}
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
