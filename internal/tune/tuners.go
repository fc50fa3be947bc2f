package tune

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

func checkTuners(m *Machine, _ Rule) Reading {
	running, err := m.running("tuned", "power-profiles-daemon", "auto-cpufreq", "bpftune", "tuned-ppd")
	found := slices.Clone(running)
	if i := slices.Index(found, "tuned"); i >= 0 {
		// tuned-adm leaves the file behind when the daemon is stopped.
		if profile, _ := m.Text("etc/tuned/active_profile"); profile != "" {
			found[i] = "tuned (" + profile + ")"
		}
	}
	if m.saptune() {
		found = append(found, "saptune")
	}
	if m.Exists("run/tlp") {
		found = append(found, "tlp")
	}
	switch {
	case len(found) == 0 && err != nil:
		return Denied(err)
	case len(found) == 0 && !m.Exists("proc"):
		return Absent("no /proc here")
	case len(found) == 0 && m.processesHidden():
		return Reading{Verdict: Unknown, Note: "other users' processes are not visible: needs root"}
	case len(found) == 0:
		return Reading{Verdict: OK, Current: "none"}
	}
	slices.Sort(found)
	r := Reading{Verdict: Info, Current: strings.Join(found, ", "), Wanted: "none"}
	if slices.Contains(running, "tuned") {
		r.Note = "TuneD sets governor, huge pages and read-ahead again when its profile changes"
		r.Command = "tuned-adm off, or a profile of TuneD's own with kt's values"
	}
	return r
}

// running are those of some programs that run, each once. A script is known by its
// own name, not its interpreter's: the first two words are looked at.
func (m *Machine) running(names ...string) ([]string, error) {
	all, err := m.Processes()
	if err != nil {
		return nil, err
	}
	var found []string
	for _, p := range all {
		for _, word := range p.Args[:min(2, len(p.Args))] {
			name := path.Base(word)
			if slices.Contains(names, name) && !slices.Contains(found, name) {
				found = append(found, name)
			}
		}
		// python3 -Es /usr/sbin/tuned: options of the interpreter come before.
		if len(p.Args) > 2 && strings.HasPrefix(p.Args[1], "-") {
			if name := path.Base(p.Args[2]); slices.Contains(names, name) && !slices.Contains(found, name) {
				found = append(found, name)
			}
		}
	}
	return found, nil
}

// processesHidden reports whether /proc shows users only their own processes.
func (m *Machine) processesHidden() bool {
	if m.Calls != nil && m.Calls.Root() {
		return false
	}
	mounts, _ := m.Mounts() // nothing is known to be hidden then
	at, _ := host.MountOf(mounts, "/proc/1")
	hidden, _ := at.Option("hidepid")
	return hidden != "" && hidden != "0" && hidden != "off"
}

// saptune reports whether saptune has something to apply at boot.
func (m *Machine) saptune() bool {
	text, _ := m.Text("etc/sysconfig/saptune") // not installed
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if strings.HasPrefix(key, "TUNE_FOR_") && strings.Trim(value, `"' `) != "" {
			return true
		}
	}
	return false
}

func checkSysctlOrder(m *Machine, _ Rule) Reading {
	if len(m.Sysctls) == 0 {
		return Absent("no files with kernel settings are known")
	}
	var lost, disputed []string
	for _, key := range catalogueSysctls() {
		all := m.Sysctls[key]
		if len(all) == 0 || all[len(all)-1].File == SysctlFile {
			continue
		}
		last := all[len(all)-1]
		for _, s := range slices.Backward(all[:len(all)-1]) {
			if s.File == last.File || sameValue(s.Value, last.Value) {
				continue
			}
			text := fmt.Sprintf("%s is %s in %s and %s in %s", key, s.Value, s.File, last.Value, last.File)
			if s.File == SysctlFile {
				lost = append(lost, text)
			} else {
				disputed = append(disputed, text)
			}
			break
		}
	}
	switch {
	case len(lost) > 0:
		return Reading{
			Verdict: Warn, Current: fmt.Sprintf("%d of kt's lost", len(lost)), Wanted: "one file each",
			Note: strings.Join(lost, "; "), Command: "remove the lines that win, or keep their values and skip the settings",
		}
	case len(disputed) > 0:
		return Reading{
			Verdict: Info, Current: fmt.Sprintf("%d disputed", len(disputed)), Wanted: "one file each", Note: strings.Join(disputed, "; "),
		}
	}
	return Reading{Verdict: OK, Current: "none"}
}

func sameValue(a, b string) bool { return slices.Equal(strings.Fields(a), strings.Fields(b)) }

// catalogueSysctls are the kernel settings that kt looks at, by their own names.
func catalogueSysctls() []string {
	keys := []string{"vm.dirty_background_ratio", "vm.dirty_background_bytes", "vm.dirty_ratio", "vm.dirty_bytes"}
	for _, s := range Catalogue() {
		for _, prefix := range []string{"vm.", "fs.", "kernel.", "net."} {
			if strings.HasPrefix(s.ID, prefix) {
				keys = append(keys, s.ID)
			}
		}
	}
	return keys
}
