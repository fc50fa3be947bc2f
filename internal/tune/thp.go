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
		Why:   "with always the kernel compacts memory for every process, and a broker's threads wait for it now and then",
		Detail: "Sources disagree. Redpanda writes always, for its own way of taking memory; TuneD's network-latency never; " +
			"advice for databases has moved from never to madvise. madvise leaves the choice to each program: a JVM that runs with " +
			"-XX:+UseTransparentHugePages gets them, and no other. There is no measurement for Kafka. For throughput always is " +
			"only mentioned, for latency it is a warning. Only always is changed: what somebody has switched off stays off. Where transparent_hugepage= is on the kernel's command line somebody " +
			"has chosen, and kt does not change it.",
		Reads:   []string{"/sys/kernel/mm/transparent_hugepage/enabled", "/proc/cmdline"},
		Sources: []string{"TuneD network-latency (never)", "Oracle: huge pages for databases (madvise)", "Redpanda: rpk redpanda tune (always)", "kernel documentation: transhuge"},
		Risk:    "programs that profited from huge pages without asking for them use a little more CPU",
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
		ID: "thp.defrag", Group: Memory, Title: "waiting for a huge page",
		Roles: []Role{Broker, Controller}, Severity: Warning, Confidence: Folklore, Applies: true,
		Valid: oneOf("always", "defer", "defer+madvise", "madvise", "never"),
		Why:   "with always a thread that touches new memory stops until the kernel has compacted enough for a huge page",
		Detail: "Only always makes threads wait that never asked for huge pages; the kernel's own choice is madvise. Intel's scripts " +
			"for Kafka set never, and TuneD leaves it. kt sets defer+madvise, which compacts in the background for all others; " +
			"kernels before 4.11 do not have it and get the next word that they have.",
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
		return Reading{Verdict: Unknown, Current: current, Note: "/" + name + " does not list what may be chosen"}
	}
	if current != "always" {
		r.Verdict, r.Note = Info, "somebody has chosen "+current+": kt changes only always"
		return r
	}
	target := offered(want, strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(text)))
	boot, _ := m.Text("proc/cmdline") // a container may hide it
	switch {
	case target == "":
		r.Note = "this kernel offers only " + text
	case strings.Contains(boot, "transparent_hugepage="):
		r.Note = "chosen with transparent_hugepage= on the kernel's command line"
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
