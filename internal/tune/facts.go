package tune

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

// facts are what expressions of rows may name. A function of a text reads NAME:TEXT. Sizes are bytes, and times seconds.
func (a place) facts() map[string]any {
	if a.Process == nil { // rows that need the broker say so in needs; without it its facts are empty
		m := *a.Machine
		m.Process = &Process{}
		a.Machine = &m
	}
	all := make(map[string]any, 160)
	for _, some := range []map[string]any{a.ofMachine(), a.ofOne(), a.ofBroker(), a.ofHints()} {
		maps.Copy(all, some)
	}
	return all
}

func (a place) ofMachine() map[string]any {
	return map[string]any{
		"value": a.value, "fits": yesNo(a.value == "" || a.want.Holds(a.value)), "wanted": a.want.Value, "rule": func() string { return a.ruleShown(a.want) }, "name": a.name,

		"container": a.Container,
		"virtual":   a.Virtual,
		"cloud":     a.Cloud,
		"kernel":    a.kernelNumber, // 5019 is 5.19
		"cpus":      a.CPUs,
		"logical":   a.Logical,
		"load":      a.load,
		"memory":    a.Memory,
		"mem_total": a.MemTotal,
		"meminfo":   a.meminfo,
		"sold":      math.Ceil(float64(a.Memory) / (1 << 30) * 1.04), // GiB: the firmware and the kernel keep some
		"running":   a.runs,
		"pressure":  a.pressure,
		"nodes":     func() int { return len(a.nodes()) },
		"clock":     a.clockError, // µs, or its flag
		"file":      func(name string) (string, error) { return a.Text(a.names(name)) },
		"exists":    func(name string) string { return yesNo(a.Exists(a.names(name))) },
		"chosen":    func(name string) (string, error) { return a.Chosen(a.names(name)) },
		"sysctl":    func(key string) (string, error) { return numbersOf(a.Machine, key, 1) },

		"cgroup":         a.Cgroup.Layout,
		"group_cpus":     a.Cgroup.Cores,
		"group_memory":   a.Cgroup.Memory,
		"group_threads":  a.Cgroup.Pids,
		"group_kills":    a.Cgroup.OOMKills,
		"kills":          a.kills,
		"periods":        a.Cgroup.Periods,
		"throttled":      a.Cgroup.Throttled,
		"throttled_time": float64(a.Cgroup.ThrottledUS) / 1e6,

		// Counters: KIND.NAME+NAME together, or KIND.NAME|NAME for the larger one; without a name those of the row.
		"total": func(names string) (int64, error) { c, err := a.counted(names); return c.total, err },
		"grew":  func(names string) (int64, error) { c, err := a.counted(names); return c.grew, err },
		"count": func(names string) (int64, error) {
			c, err := a.counted(names)
			return cmp.Or(max(0, c.grew), c.total), err
		},
		"when":   func(names string) string { c, _ := a.counted(names); return a.since(c.grew > 0) },
		"recent": func(names string) (int64, error) { c, err := a.counted(names); return c.in(a.looked()), err },
		"since":  a.since(a.looked()), "interval": a.Interval.Seconds(),

		"sockstat":   a.sockstat,
		"tcp_mem":    func() (int64, error) { n, err := intsOf(a.Machine, "net.ipv4.tcp_mem", 3); return n[1], err },
		"first_port": func() (int64, error) { first, _, _, err := localPorts(a.Machine); return first, err },
		"last_port":  func() (int64, error) { _, last, _, err := localPorts(a.Machine); return last, err },
		"ports":      func() (int64, error) { _, _, all, err := localPorts(a.Machine); return all, err },
	}
}

// ofOne are facts of a card, a disk or a log directory.
func (a place) ofOne() map[string]any {
	return map[string]any{
		"card":      a.cardFile,
		"least_mtu": a.leastMTU,
		"ethernet":  a.ethernet,

		"segments":   a.segments(),
		"dirs":       len(a.Dirs),
		"free":       a.dir.Space.Free,
		"size":       a.dir.Space.Total,
		"free_files": a.dir.Space.FreeFiles,
		"files":      a.dir.Space.Files,

		"scheduler": func() (string, error) { return a.Chosen(a.disk.Queue("scheduler")) },
		"class":     func() string { return classOf(a.Machine, a.disk) },
		"volume":    func() string { return volumeOf(a.disk) },
		"layers":    strings.Join(a.dir.Storage.Layers, " on "),
		"disks":     len(a.dir.Storage.Disks),
		"beside":    a.beside,
		"fs":        fsOf(a.dir),
		"distant":   yesNo(overNetwork(fsOf(a.dir))),
		"passing":   yesNo(slices.Contains(passing, fsOf(a.dir))),
		"in_memory": a.dir.Storage.Memory,
		"option":    func(name string) string { return optionOf(a.dir.Mount, name) },
		"discards":  func() string { return yesNo(slices.ContainsFunc(a.dir.Storage.Disks, a.discards)) },
		"trim":      a.trim,
	}
}

// ofBroker are facts of the broker's process, its JVM and its settings.
func (a place) ofBroker() map[string]any {
	return map[string]any{
		"user": func() int { return a.Process.UID },
		"limit": func(name string) (int64, error) {
			l, err := a.processLimit(a.Process.PID, spaced(name))
			return l.Soft, err
		},
		"own_limit":    func(name string) (int64, error) { l, err := a.processLimit(0, spaced(name)); return l.Hard, err },
		"open_files":   func() (int, error) { return a.OpenFiles(a.Process.PID) },
		"files_wanted": a.filesWanted,
		"flag":         func(name string) string { return a.Process.JVM.XX[name] },
		"collector":    func() string { name, _ := collector(a.Machine); return name },
		"chosen_gc":    func() string { _, chosen := collector(a.Machine); return yesNo(chosen) },
		"log_folder":   func() string { return a.Process.JVM.D["kafka.logs.dir"] },
		"gc_log":       func() string { return a.Process.JVM.GCLog },
		"collectors":   func() int { return len(a.Process.Perf.Collections) },
		"collections":  func() int64 { n, _ := collections(a.Process.Perf); return n },
		"collecting":   func() float64 { _, stopped := collections(a.Process.Perf); return stopped.Seconds() },
		"stopped":      func() float64 { return a.Process.Perf.SafepointTime.Seconds() },
		"uptime":       func() float64 { return a.Process.Perf.Uptime.Seconds() },
		"region":       a.region,
		"old_used":     func() int64 { return oldGeneration(a.Process.Perf)[0] },
		"old_most":     func() int64 { return oldGeneration(a.Process.Perf)[1] },
		"heap":         func() int64 { return heapLimit(a.Machine) },
		"heap_start":   func() int64 { return a.heapOf(a.Process.JVM.Xms, "InitialRAMPercentage") },
		"heap_chosen":  func() string { return yesNo(heapChosen(a.Machine)) },
		"heap_least":   func() int64 { low, _, _ := heapRange(a.Machine); return low },
		"heap_most":    func() int64 { _, _, high := heapRange(a.Machine); return high },
		"heap_advised": func() int64 { return advisedHeap(a.Machine) },
		"heap_options": func() string {
			return strings.ReplaceAll(`KAFKA_HEAP_OPTS="-XmsN -XmxN"`, "N", heapOption(advisedHeap(a.Machine)))
		},

		"kafka":        a.kafkaVersion,
		"runs_broker":  func() string { return yesNo(runsBroker(a.Machine)) },
		"roles":        strings.Join(processRoles(a.Machine), ","),
		"property":     func(name string) string { return strings.TrimSpace(a.Config.Get(name, "")) },
		"number":       a.propertyNumber,
		"config":       a.Config.File,
		"buffer_fault": a.bufferFault,
		"partitions":   a.partitions,
	}
}

// fact is what a word of an expression stands for. A word in quotes, and a number, is itself.
func fact(known func() map[string]any, word string) (text string, err error) {
	if _, noNumber := strconv.ParseFloat(word, 64); noNumber == nil || word[0] == '\'' {
		return strings.Trim(word, "'"), nil
	}
	name, arg, _ := strings.Cut(word, ":")
	f := reflect.ValueOf(known()[name])
	switch f.Kind() {
	case reflect.Invalid:
		return strings.Trim(word, "'"), nil
	case reflect.Func:
		out := f.Call([]reflect.Value{reflect.ValueOf(arg)}[:f.Type().NumIn()])
		if f = out[0]; len(out) > 1 {
			err, _ = out[1].Interface().(error)
		}
	default:
	}
	switch {
	case err != nil && f.Kind() != reflect.String:
		return "", err
	case f.CanFloat():
		return strconv.FormatFloat(f.Float(), 'f', -1, 64), nil
	}
	return fmt.Sprint(f), err
}

// spaced is a name with spaces, which a word of an expression cannot have.
func spaced(name string) string { return strings.ReplaceAll(name, "_", " ") }

func yesNo(is bool) string { return map[bool]string{true: "yes", false: "no"}[is] }

// count is what the kernel counted: over the interval, and since the machine started.
type count struct {
	grew, total int64
	seen        bool
}

// countOf adds up those of some counters that are there.
func countOf(before, after map[string]int64, names ...string) count {
	var c count
	for _, name := range names {
		if total, ok := after[name]; ok {
			c.seen = true
			c.total += total
		}
		if total, ok := before[name]; ok {
			c.grew += after[name] - total
		}
	}
	return c
}

// in is what was counted over the interval, or else since the machine started.
func (c count) in(interval bool) int64 {
	if interval {
		return c.grew
	}
	return c.total
}

// looked reports whether the counters tell of an interval, in which the CPUs counted time if they do at all.
func (m *Machine) looked() bool {
	return m.Interval > 0 && (m.After.CPU == nil || countOf(m.Before.CPU, m.After.CPU, "total").grew > 0)
}

// since is "in 5s", or since the machine started when the interval has seen nothing.
func (m *Machine) since(interval bool) string {
	if interval {
		return fmt.Sprintf("in %s", m.Interval)
	}
	return "since boot"
}

// counted are some counters together.
func (a place) counted(names string) (c count, err error) {
	kind, list, _ := strings.Cut(cmp.Or(names, a.row.Read.Counters), ".")
	of := func(all host.Counters) map[string]int64 {
		return map[string]map[string]int64{"cpu": all.CPU, "vm": all.VM, "tcp": all.TCP, "soft": all.Soft, "card": all.NIC[a.name]}[kind]
	}
	for names := range strings.SplitSeq(list, "|") {
		if one := countOf(of(a.Before), of(a.After), strings.Split(names, "+")...); !c.seen || one.total > c.total {
			c = one
		}
	}
	switch file := map[string]string{"cpu": "stat", "vm": "vmstat", "tcp": "net/netstat", "soft": "net/softnet_stat"}[kind]; {
	case of(a.After) != nil && c.seen:
		return c, nil
	case of(a.After) != nil && a.row.Read.Missing != "":
		return c, fs.ErrNotExist
	case file == "":
		return c, errors.New("its counters could not be read")
	default:
		return c, fmt.Errorf("/proc/%s does not report %s", file, list)
	}
}

// kills are processes that were killed for lack of memory, on the machine since Linux 4.13 or in the broker's control group.
func (m *Machine) kills() (int64, error) {
	n, known := m.After.VM["oom_kill"]
	switch group := m.Cgroup.OOMKills; {
	case group > 0:
		return max(n, group), nil
	case m.After.VM == nil:
		return 0, errors.New("/proc/vmstat could not be read")
	case !known:
		return 0, fs.ErrNotExist
	}
	return n, nil
}

func (m *Machine) meminfo(name string) (int64, error) {
	memory, err := m.FS.Memory()
	n, known := memory[name]
	if err == nil && !known {
		err = fs.ErrNotExist
	}
	return n, err
}

// kernelNumber is 5014 of "5.14.0-427.el9.x86_64".
func (m *Machine) kernelNumber() (int, error) {
	v, ok := parseVersion(m.Kernel)
	if !ok {
		return 0, errors.New("the kernel's version is not known")
	}
	return 1000*v[0] + v[1], nil
}

// sockstat is a figure of all TCP connections in /proc/net/sockstat: "mem".
func (m *Machine) sockstat(name string) (string, error) {
	text, err := m.Text("proc/net/sockstat")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		f := strings.Fields(line) // "TCP: inuse 1 orphan 0 tw 0 alloc 1 mem 46"
		if i := slices.Index(f, name); i > 0 && i+1 < len(f) && f[0] == "TCP:" && whole64(f[i+1]) {
			return f[i+1], nil
		}
	}
	return "", fmt.Errorf("/proc/net/sockstat does not report %s of TCP", name)
}

// propertyNumber is a whole number of server.properties: NAME=VALUE, with Kafka's default.
func (a place) propertyNumber(name string) (string, error) {
	name, unset, _ := strings.Cut(name, "=")
	value := strings.TrimSpace(a.Config.Get(name, unset))
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return value, fmt.Errorf("%s is not a number in %s", name, a.Config.File)
	}
	return strconv.FormatInt(n, 10), nil
}
