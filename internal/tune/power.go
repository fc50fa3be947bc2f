package tune

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

const policies = "sys/devices/system/cpu/cpufreq/policy*/"

// noFrequency is the reading of a machine that lets the kernel choose no frequency.
func (m *Machine) noFrequency() Reading {
	if m.Virtual != "" {
		return Absent("a virtual machine: its host chooses the frequency")
	}
	return Absent("the kernel does not choose this machine's frequency")
}

// policyCheck is the check of a file that each frequency policy has: commonly one
// for each CPU. words is the file beside it that lists what may be chosen.
func policyCheck(id, file, words string, bad Verdict) check {
	return func(m *Machine, want Rule) Reading {
		files := m.Glob(policies + file)
		if len(files) == 0 {
			return m.noFrequency()
		}
		values, err := m.texts(files)
		if err != nil {
			return Denied(err)
		}
		r := Compare("", want, bad)
		r.Verdict = OK
		if want.Leave() {
			r.Verdict = Info
		}
		for i, name := range files {
			if want.Holds(values[i]) {
				continue
			}
			r.Verdict = bad
			list, _ := m.Text(path.Join(path.Dir(name), words)) // without it there is nothing to choose from
			if target := offered(want, strings.Fields(list)); target != "" {
				r.Changes = append(r.Changes, sysfsChange(id, name, values[i], target))
			} else {
				r.Note = "the driver does not offer " + want.String()
			}
		}
		r.Current = tally(values)
		return r
	}
}

// texts are the contents of files, all of them or none.
func (m *Machine) texts(files []string) ([]string, error) {
	texts := make([]string, len(files))
	for i, f := range files {
		text, err := m.Text(f)
		if err != nil {
			return nil, err
		}
		if texts[i] = strings.Join(strings.Fields(text), " "); text == "" {
			return nil, fmt.Errorf("/%s is empty", f)
		}
	}
	return texts, nil
}

// tally says which values there are: "powersave", or "6 performance, 2 powersave".
func tally(values []string) string {
	count := make(map[string]int)
	var distinct []string
	for _, v := range values {
		if count[v]++; count[v] == 1 {
			distinct = append(distinct, v)
		}
	}
	if len(distinct) == 1 {
		return distinct[0]
	}
	slices.SortStableFunc(distinct, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
	for i, v := range distinct {
		distinct[i] = fmt.Sprintf("%d %s", count[v], v)
	}
	return strings.Join(distinct, ", ")
}

// writtenCheck is the check of one file of the tree that a person has to write: command
// says how, with %s for what to write, and absent why some machines do not have it.
func writtenCheck(file, command, absent string) check {
	return func(m *Machine, want Rule) Reading {
		text, err := m.Text(file)
		if err != nil {
			return lacking(err, absent)
		}
		r := Compare(text, want, Info)
		if r.Verdict == Info && !want.Leave() {
			r.Command = fmt.Sprintf(command, want.Target(text))
		}
		return r
	}
}

func checkEnergyBias(m *Machine, want Rule) Reading {
	files := m.Glob("sys/devices/system/cpu/cpu*/power/energy_perf_bias")
	if len(files) == 0 {
		return Absent("this CPU does not have it")
	}
	values, err := m.texts(files)
	if err != nil {
		return Denied(err)
	}
	r := Reading{Verdict: OK, Current: tally(values), Wanted: want.String()}
	if want.Leave() {
		r.Verdict = Info
		return r
	}
	if slices.ContainsFunc(values, func(v string) bool { return !want.Holds(v) }) {
		r.Verdict = Info
		r.Command = "for f in /sys/devices/system/cpu/cpu*/power/energy_perf_bias; do echo " + want.Target("") + " > $f; done"
	}
	return r
}

func checkBoost(m *Machine, want Rule) Reading {
	on := int64(1)
	n, err := m.Number("sys/devices/system/cpu/cpufreq/boost")
	if err != nil {
		on = 0
		n, err = m.Number("sys/devices/system/cpu/intel_pstate/no_turbo")
	}
	switch {
	case err != nil && m.Virtual != "":
		return m.noFrequency()
	case err != nil:
		return lacking(err, "the CPU's driver has no such switch")
	case n == on:
		return Compare("on", want, Info)
	}
	return Compare("off", want, Info)
}

func checkIdleStates(m *Machine, want Rule) Reading {
	states := m.Glob("sys/devices/system/cpu/cpu0/cpuidle/state*/latency")
	if len(states) == 0 {
		if m.Virtual != "" {
			return Absent("a virtual machine: its host puts the CPUs to sleep")
		}
		return Absent("the kernel does not manage idle states here")
	}
	var longest int64
	var deepest string
	for _, s := range states {
		dir := path.Dir(s)
		latency, err := m.Number(s)
		if err != nil {
			return Denied(err)
		}
		disabled, err := m.Number(path.Join(dir, "disable"))
		if err == nil && disabled != 0 || latency < longest {
			continue
		}
		longest = latency
		deepest, _ = m.Text(path.Join(dir, "name")) // only for the note
	}
	r := judge(float64(longest), " µs", want, Warn)
	r.Note = deepest
	if r.Verdict == Warn {
		r.Command = "tuned-adm profile latency-performance, or keep /dev/cpu_dma_latency open with a lower bound while the broker runs"
	}
	return r
}
