package tune

import (
	"slices"
	"strings"
)

const (
	thpFolder    = "sys/kernel/mm/transparent_hugepage/"
	thpOldFolder = "sys/kernel/mm/redhat_transparent_hugepage/" // of RHEL 6
)

func checkThpEnabled(m *Machine, want Rule) Reading {
	bad := Warn
	if !slices.Contains(strings.Split(want.Value, "|"), "never") { // never is only wanted for latency
		bad = Info
	}
	return thpCheck(m, "thp.enabled", "enabled", want, bad)
}

func checkThpDefrag(m *Machine, want Rule) Reading {
	return thpCheck(m, "thp.defrag", "defrag", want, Warn)
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
