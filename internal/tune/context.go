package tune

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

func mitigations(m place) Reading {
	files := m.Glob("sys/devices/system/cpu/vulnerabilities/*")
	texts, err := m.texts(files)
	if err != nil {
		return m.unreadable(err)
	}
	if len(files) == 0 {
		return m.unreadable(fs.ErrNotExist)
	}
	worked := 0
	var open []string
	for i, text := range texts {
		if strings.HasPrefix(text, "Mitigation") {
			worked++
		} else if strings.HasPrefix(text, "Vulnerable") {
			open = append(open, path.Base(files[i]))
		}
	}
	r := Reading{Verdict: Info, Current: fmt.Sprintf("%d worked around", worked)}
	if len(open) > 0 {
		r.Note = "open: " + strings.Join(open, ", ")
	}
	return r
}

func wakeUpTime(m place) Reading {
	states := m.Glob("sys/devices/system/cpu/cpu0/cpuidle/state*/latency")
	if len(states) == 0 {
		return m.unreadable(fs.ErrNotExist)
	}
	longest, deepest := int64(0), ""
	for _, s := range states {
		latency, err := m.Number(s)
		if err != nil {
			return m.unreadable(err)
		}
		disabled, _ := m.Number(path.Join(path.Dir(s), "disable")) // older kernels do not have it
		if disabled == 0 && latency >= longest {
			longest = latency
			deepest, _ = m.Text(path.Join(path.Dir(s), "name")) // only for the note
		}
	}
	return Reading{Current: strconv.FormatInt(longest, 10), Note: deepest}
}

// nodes are the NUMA nodes that have memory or CPUs: one with neither is only a place for some.
func (m *Machine) nodes() (all []string) {
	for _, dir := range m.Glob("sys/devices/system/node/node[0-9]*") {
		cpus, err := m.Text(path.Join(dir, "cpulist"))
		memory, _ := m.Text(path.Join(dir, "meminfo")) // "Node 1 MemTotal:  0 kB"
		_, total, _ := strings.Cut(memory, "MemTotal:")
		if n := strings.Fields(total); err != nil || cpus != "" || len(n) > 0 && n[0] != "0" {
			all = append(all, strings.TrimPrefix(path.Base(dir), "node"))
		}
	}
	return all
}

func numaNodes(m place) Reading {
	n := len(m.nodes())
	if n == 0 {
		return Absent("no NUMA nodes")
	}
	text, err := m.Text(m.names("proc/PID/status"))
	_, after, _ := strings.Cut(text, "\nMems_allowed_list:")
	allowed, _, _ := strings.Cut(strings.TrimSpace(after), "\n")
	switch {
	case n > 1 && m.Process != nil && err != nil:
		return m.unreadable(err)
	case n == 1, m.Process == nil, allowed == "", strings.ContainsAny(allowed, ",-"):
		return Reading{Current: strconv.Itoa(n)}
	}
	return Reading{Current: "1", Note: "the broker may use the memory of node " + allowed + " only"}
}

// clockError is by how many µs the clock may be wrong: where nobody sets it, those at which the kernel gives up. Its flag is 1 or 0.
func (m *Machine) clockError(what string) (int64, error) {
	if m.Calls == nil || m.Calls.Clock() == nil {
		return 0, errors.New("the kernel does not report it")
	}
	c := m.Calls.Clock()
	switch {
	case what == "flag":
		return map[bool]int64{true: 1}[c.Synchronised], nil
	case c.ErrorUS < 0:
		return 16e6, nil
	}
	return c.Error().Microseconds(), nil
}

// load is the mean of the last minute, as it is written: "0.50".
func (m *Machine) load() (string, error) {
	text, err := m.Text("proc/loadavg")
	first, _, _ := strings.Cut(text, " ")
	if load, wrong := strconv.ParseFloat(first, 64); err == nil && (wrong != nil || !(load >= 0 && load < 1e9) || m.Logical <= 0) {
		return "", errors.New("the load, or the number of CPUs, is not known")
	}
	return first, err
}

func writableSysctls(m place) Reading {
	mounts, err := m.Mounts()
	if err != nil {
		return m.unreadable(err)
	}
	at, ok := host.MountOf(mounts, "/proc/sys/vm")
	switch {
	case !ok || at.Type != "proc":
		return Absent("no /proc here")
	case slices.Contains(at.Options, "ro"):
		return Reading{Current: "read-only", Note: at.Point + " is mounted read-only"}
	}
	return Reading{Current: "yes"}
}

func checkKernelVersion(m place) Reading {
	have, ok := parseVersion(m.Kernel)
	if !ok {
		return Reading{Verdict: Unknown, Current: m.Kernel, Note: "the kernel's version is not known"}
	}
	r := Reading{Verdict: Info, Current: m.Kernel, Wanted: m.want.String()}
	wanted, ok := parseVersion(m.want.Value)
	order := slices.Compare(have, wanted)
	if ok && (order == 0 || m.want.Op == AtLeast && order > 0 || m.want.Op == AtMost && order < 0) {
		r.Verdict = OK
	}
	return r
}

// parseVersion reads the first two numbers of "6.1-rc1" or "5.14.0-427.el9.x86_64".
func parseVersion(text string) ([]int, bool) {
	var major, minor int
	_, err := fmt.Sscanf(text, "%d.%d", &major, &minor)
	return []int{major, minor}, err == nil
}

func battery(m place) Reading {
	var has, discharging, plugged bool
	for _, f := range m.Glob("sys/class/power_supply/*/type") {
		kind, err := m.Text(f)
		if err != nil {
			return m.unreadable(err)
		}
		says := func(name string) string { text, _ := m.Text(path.Join(path.Dir(f), name)); return text } // none has all of them
		switch {
		case says("scope") == "Device":
		case kind == "Battery":
			has, discharging = true, discharging || says("status") == "Discharging"
		case says("online") == "1":
			plugged = true
		}
	}
	if !has {
		return Absent("no battery")
	}
	return Reading{Current: yesNo(discharging && !plugged)}
}

func tuners(m place) Reading {
	running, err := m.running("tuned", "power-profiles-daemon", "auto-cpufreq", "bpftune", "tuned-ppd")
	found := m.tunersOf(running)
	switch {
	case len(found) > 0:
	case !m.Exists("proc"):
		return Absent("no /proc here")
	case err == nil && m.processesHidden():
		return Unreadable("other users' processes are not visible: needs root")
	case err != nil:
		return m.unreadable(err)
	default:
		return Reading{Current: "none"}
	}
	f := Reading{Current: strings.Join(found, ", ")}
	if slices.Contains(running, "tuned") {
		f.Note = "TuneD sets governor, huge pages and read-ahead again when its profile changes"
		f.Command = "tuned-adm off, or a profile of TuneD's own with kt's values"
	}
	return f
}

// saptuneSets is a line by which saptune has something to apply at boot.
var saptuneSets = regexp.MustCompile(`(?m)^\s*TUNE_FOR_[^=\n]*=.*[^"'\s]`)

// tunersOf are the programs that tune the machine: those that run, and those that only set values at boot.
func (m *Machine) tunersOf(running []string) []string {
	found := slices.Clone(running)
	if i := slices.Index(found, "tuned"); i >= 0 {
		// tuned-adm leaves the file behind when the daemon is stopped.
		if profile, _ := m.Text("etc/tuned/active_profile"); profile != "" {
			found[i] = "tuned (" + profile + ")"
		}
	}
	if text, _ := m.Text("etc/sysconfig/saptune"); saptuneSets.MatchString(text) {
		found = append(found, "saptune")
	}
	if m.Exists("run/tlp") {
		found = append(found, "tlp")
	}
	slices.Sort(found)
	return found
}

// running are those of some programs that run, each once. A script stands behind its interpreter: python3 -Es /usr/sbin/tuned.
func (m *Machine) running(names ...string) (found []string, err error) {
	all, err := m.Processes("")
	if err == nil && len(all) == 0 {
		err = errors.New("the running programs are not visible")
	}
	for _, p := range all {
		words := p.Args[:min(3, len(p.Args))]
		if len(words) == 3 && !strings.HasPrefix(words[1], "-") {
			words = words[:2]
		}
		for _, word := range words {
			if name := path.Base(word); slices.Contains(names, name) {
				found = addNew(found, name)
			}
		}
	}
	return found, err
}

// runs reports whether a program runs, as a folder of its own below /run tells too.
func (m *Machine) runs(name string) (string, error) {
	if files, err := m.Names("run/" + name); err == nil && len(files) > 0 {
		return "yes", nil
	}
	found, err := m.running(name)
	if len(found) > 0 {
		return "yes", nil
	}
	if err != nil {
		return "", err
	}
	return "no", nil
}

// pressure is for how many percent of the last minute threads waited: for "cpu", "io" or "memory".
func (m *Machine) pressure(what string) (float64, error) {
	text, err := m.Text("proc/pressure/" + what)
	if err != nil {
		return 0, err
	}
	percent, err := host.ParsePressure(text, "some", "avg60")
	if err != nil {
		err = fmt.Errorf("/proc/pressure/%s: %w", what, err)
	}
	return percent, err
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

func sysctlOrder(m place) Reading {
	if len(m.Sysctls) == 0 {
		return Absent("no files with kernel settings are known")
	}
	disputes := make(map[bool][]string) // true: of what kt set
	for _, key := range catalogueSysctls() {
		all := m.Sysctls[key]
		last := append([]host.Sysctl{{File: SysctlFile}}, all...)[len(all)]
		for _, s := range slices.Backward(all) {
			if ours := s.File == SysctlFile; last.File != SysctlFile && s.File != last.File && normal(s.Value) != normal(last.Value) {
				disputes[ours] = append(disputes[ours], fmt.Sprintf("%s is %s in %s and %s in %s", key, s.Value, s.File, last.Value, last.File))
				break
			}
		}
	}
	switch lost, disputed := disputes[true], disputes[false]; {
	case len(lost) > 0:
		return Reading{Current: fmt.Sprintf("%d of kt's lost", len(lost)), Note: strings.Join(lost, "; ")}
	case len(disputed) > 0:
		return Reading{Current: fmt.Sprintf("%d disputed", len(disputed)), bad: Info, Note: strings.Join(disputed, "; ")}
	}
	return Reading{Current: "none"}
}

// catalogueSysctls are the kernel settings that kt looks at, by their own names.
func catalogueSysctls() []string {
	keys := []string{"vm.dirty_background_ratio", "vm.dirty_background_bytes", "vm.dirty_ratio", "vm.dirty_bytes"}
	for _, s := range Catalogue() {
		if family, _, _ := strings.Cut(s.ID, "."); slices.Contains([]string{"vm", "fs", "kernel", "net"}, family) {
			keys = append(keys, s.ID)
		}
	}
	return keys
}
