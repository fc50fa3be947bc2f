package tune

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/host/jvm"
	"github.com/kt-bench/kt/internal/must"
)

// row is one setting on one machine, and what the check says in one line: see inLine.
type row struct {
	says    string
	id      string
	rule    string // "": the setting's own
	files   string // "PATH = CONTENT", one a line; \n in CONTENT is a new line
	denied  string // a file that may not be read
	machine func(*Machine)
	want    string
}

// silent are system calls that tell nothing but the clock.
type silent struct{ clock *host.Clock }

func (silent) Space(string) (host.Space, error)       { return host.Space{}, errors.ErrUnsupported }
func (silent) Ethernet(string) (host.Ethernet, error) { return host.Ethernet{}, errors.ErrUnsupported }
func (silent) Root() bool                             { return false }
func (s silent) Clock() *host.Clock                   { return s.clock }

// look makes the row's check.
func (r row) look(t *testing.T) Reading {
	t.Helper()
	all := Catalogue()
	i := slices.IndexFunc(all, func(s *Setting) bool { return s.ID == r.id })
	if i < 0 {
		t.Fatalf("%s: there is no setting %s", r.says, r.id)
	}
	rule := r.rule
	if rule == "" {
		rule = all[i].Want
	}
	want := must.Have(ParseRule(strings.TrimPrefix(rule, "leave")))(t)
	files := make(map[string]string)
	for line := range strings.Lines(r.files) {
		if name, content, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " = "); ok {
			files[name] = strings.ReplaceAll(content, `\n`, "\n")
		}
	}
	if r.denied != "" {
		files[r.denied] = denied
	}
	m := &Machine{
		FS: treeOfFiles(files), Calls: silent{},
		Profile: &Profile{Name: "test", rules: map[string]Rule{"limits.nofile": {AtLeast, "500000"}}},
	}
	if r.machine != nil {
		r.machine(m)
	}
	return all[i].Check(m, want)
}

// inLine is a reading as "VERDICT CURRENT (WANTED) | NOTE | $ COMMAND | PATH: OLD → NEW, KEPT": of a
// note the words with numbers or the paths, of a command its first words.
func inLine(r Reading) string {
	s := string(r.Verdict)
	if r.Current != "" {
		s += " " + r.Current
	}
	if wanted, _, _ := strings.Cut(r.Wanted, " or "); wanted != "" {
		s += " (" + wanted + ")"
	}
	if r.Note != "" {
		s += " | " + values(r.Note)
	}
	if r.Command != "" {
		s += " | $ " + strings.Join(strings.Fields(r.Command)[:min(4, len(strings.Fields(r.Command)))], " ")
	}
	for _, c := range r.Changes {
		s += fmt.Sprintf(" | %s: %s → %s", c.Path, c.Old, c.New)
		if c.Pair != "" {
			s += fmt.Sprintf(" [%s: %s]", path.Base(c.Pair), c.PairOld)
		}
		for _, l := range c.Keep {
			if f := ownForms[2].form.FindString(l.Text); l.File == UdevFile && strings.HasSuffix(f, `="`+c.New+`"`) {
				s += ", udev " + strings.Split(f, ", ")[3]
			} else if strings.HasSuffix(l.Text, c.New) && c.Kind == WriteFile {
				s += ", kept"
			} else {
				s += "; " + strings.TrimSpace(path.Base(path.Dir(l.File))+" "+l.Head) + " " + l.Text
			}
		}
		if c.Advice != "" {
			s += ", advised"
		}
	}
	return s
}

// values are the numbers, units and paths in a note, and not its words.
func values(note string) string {
	var all []string
	for _, w := range strings.Fields(note) {
		if strings.ContainsAny(w, "0123456789/=") {
			all = append(all, strings.Trim(w, ",.:;"))
		}
	}
	return cmp.Or(strings.Join(all, " "), "…")
}

func lookAt(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		if got := inLine(r.look(t)); got != r.want {
			t.Errorf("%s: %s\n got %s\nwant %s", r.id, r.says, got, r.want)
		}
	}
}

// with makes a machine of several steps.
func with(steps ...func(*Machine)) func(*Machine) {
	return func(m *Machine) {
		for _, s := range steps {
			s(m)
		}
	}
}

func memoryOf(gib int64) func(*Machine) {
	return func(m *Machine) { m.Memory, m.MemTotal = gib<<30, gib<<30 }
}

// broker runs with PID 7, for the user 1001, in kafka.service.
func broker(heapGiB int64) func(*Machine) {
	return func(m *Machine) {
		m.Process = &Process{
			Process: host.Process{PID: 7, UID: 1001, Start: 99, Unit: "kafka.service"},
			JVM:     jvm.Flags{Xmx: heapGiB << 30},
		}
	}
}

// sharing gives a broker a heap of so many percent of the memory.
func sharing(percent string) func(*Machine) {
	return func(m *Machine) { m.Process.JVM.XX = map[string]string{"MaxRAMPercentage": percent} }
}

func segmentsOf(n int) func(*Machine) {
	return func(m *Machine) { m.Dirs = []Dir{{Segments: n - n/2}, {Segments: n / 2}} }
}

// grew sets a counter of virtual memory, before and after ten seconds.
func grew(name string, before, after int64) func(*Machine) {
	return func(m *Machine) {
		m.Interval = 10 * time.Second
		if m.Before.VM == nil {
			m.Before.VM, m.After.VM = map[string]int64{}, map[string]int64{}
		}
		m.Before.VM[name], m.After.VM[name] = before, after
	}
}

func TestSwappiness(t *testing.T) {
	version1 := func(m *Machine) { m.Cgroup = host.Cgroup{Layout: "v1", Paths: map[string]string{"memory": "/kafka"}} }
	lookAt(t, []row{
		{"one", "vm.swappiness", "<=1", "proc/sys/vm/swappiness = 1", "", nil, "ok 1 (≤ 1)"},
		{"as it comes", "vm.swappiness", "<=1", "proc/sys/vm/swappiness = 60", "", nil, "warn 60 (≤ 1) | /proc/sys/vm/swappiness: 60 → 1, kept"},
		{"none at all", "vm.swappiness", "<=1", "proc/sys/vm/swappiness = 0", "", nil, "info 0 (≤ 1) | 0 1"},
		{
			"a group that swaps", "vm.swappiness", "<=1", "proc/sys/vm/swappiness = 1\nsys/fs/cgroup/memory/kafka/memory.swappiness = 60", "", version1,
			"warn 1 (≤ 1) | 60 | $ echo 1 > /sys/fs/cgroup/memory/kafka/memory.swappiness",
		},
	})
}

func TestSwappingAndKilling(t *testing.T) {
	const swap = `proc/meminfo = SwapTotal: 1048576 kB\nSwapFree: 524288 kB`
	sinceStart := func(m *Machine) { grew("pswpout", 500, 500)(m); m.Interval = 0 }
	lookAt(t, []row{
		{"idle", "memory.swap", "", swap, "", grew("pswpout", 500, 500), "ok 512 MiB used (no pages written)"},
		{"pages go out", "memory.swap", "", swap, "", grew("pswpout", 500, 700), "warn 512 MiB used (no pages written) | 200 10.0s"},
		{"some time ago", "memory.swap", "", swap, "", sinceStart, "info 512 MiB used (no pages written) | 500"},
		{"none", "memory.swap", "", `proc/meminfo = SwapTotal: 0 kB\nSwapFree: 0 kB`, "", nil, "ok no swap | …"},
		{"no counters", "memory.swap", "", swap, "", nil, "unknown 512 MiB used | /proc/vmstat"},
		{"a kernel without it", "memory.swap", "", "proc/meminfo = MemTotal: 4 kB", "", nil, "not_applicable | …"},

		{"none", "memory.oom", "", "", "", grew("oom_kill", 0, 0), "ok 0 (0)"},
		{"three", "memory.oom", "", "", "", grew("oom_kill", 3, 3), "warn 3 (0)"},
		{"in the group", "memory.oom", "", "", "", func(m *Machine) { m.Cgroup.OOMKills = 2 }, "warn 2 (0) | 2"},
		{"an old kernel", "memory.oom", "", "", "", grew("pswpout", 0, 0), "not_applicable | …"},

		{"in a pod", "memory.oom_score_adj", "", "proc/7/oom_score_adj = 871", "", broker(6), "info 871 (≤ 0) | $ OOMScoreAdjust=0 in the broker's"},
	})
}

func TestMappings(t *testing.T) {
	const file = "proc/sys/vm/max_map_count = "
	maps := "\nproc/7/maps = " + strings.Repeat(`x\n`, 59999)
	lookAt(t, []row{
		{"enough", "vm.max_map_count", "", file + "1048576", "", nil, "ok 1048576 (≥ 262144)"},
		{"as it comes", "vm.max_map_count", "", file + "65530", "", nil, "warn 65530 (≥ 262144) | /proc/sys/vm/max_map_count: 65530 → 262144, kept"},
		{"the segments need more than it is", "vm.max_map_count", "", file + "262144", "", segmentsOf(120000), "fail 262144 (≥ 425530) | 120000 240000 | /proc/sys/vm/max_map_count: 262144 → 425530, kept"},
		{"the segments are near it", "vm.max_map_count", "", file + "262144", "", segmentsOf(70000), "warn 262144 (≥ 275530) | 70000 140000 | /proc/sys/vm/max_map_count: 262144 → 275530, kept"},
		{
			"what is in use is more than the segments", "vm.max_map_count", "", file + "65530" + maps, "", with(broker(6), segmentsOf(10)),
			"fail 65530 (≥ 262144) | 60000 | /proc/sys/vm/max_map_count: 65530 → 262144, kept",
		},
		{"what is in use may not be counted", "vm.max_map_count", "", file + "262144" + maps, "proc/7/maps", with(broker(6), segmentsOf(10)), "ok 262144 (≥ 262144) | 10 20"},
		{"left alone, and far too low", "vm.max_map_count", "leave", file + "65530", "", segmentsOf(40000), "fail 65530 (left alone) | 40000 80000 | $ sysctl -w vm.max_map_count=262144"},
	})
}

func TestKernelMemorySettings(t *testing.T) {
	const head = `proc/meminfo = MemTotal: 1024000 kB\nHugepagesize: 2048 kB\n`
	const two = "\nsys/devices/system/node/node0/cpulist = 0-3\nsys/devices/system/node/node1/cpulist = 4-7"
	lookAt(t, []row{
		{"strict", "vm.overcommit_memory", "", "proc/sys/vm/overcommit_memory = 2", "", nil, "warn 2 (0) | $ sysctl -w vm.overcommit_memory=0"},
		{"generous", "vm.overcommit_memory", "", "proc/sys/vm/overcommit_memory = 1", "", nil, "info 1 (0) | $ sysctl -w vm.overcommit_memory=0"},

		{"on, with two nodes", "vm.zone_reclaim_mode", "", "proc/sys/vm/zone_reclaim_mode = 1" + two, "", nil, "warn 1 (0) | /proc/sys/vm/zone_reclaim_mode: 1 → 0, kept"},
		{"on, with one node", "vm.zone_reclaim_mode", "", "proc/sys/vm/zone_reclaim_mode = 1", "", nil, "info 1 (0) | /proc/sys/vm/zone_reclaim_mode: 1 → 0, kept"},

		{"a large machine that keeps little", "vm.min_free_kbytes", ">=1048576", "proc/sys/vm/min_free_kbytes = 90112", "", memoryOf(128), "info 90112 (≥ 1048576) | $ sysctl -w vm.min_free_kbytes=1048576"},
		{"a small machine", "vm.min_free_kbytes", ">=1048576", "proc/sys/vm/min_free_kbytes = 90112", "", memoryOf(32), "not_applicable | 64"},
		{"a machine of no known size", "vm.min_free_kbytes", ">=1048576", "proc/sys/vm/min_free_kbytes = 90112", "", nil, "unknown | …"},

		{"none", "memory.huge_pages", "", head + "HugePages_Free: 0", "", nil, "ok 0 % (≤ 5 %)"},
		{"a fifth of the memory", "memory.huge_pages", "", head + "HugePages_Free: 100", "", nil, "info 20 % (≤ 5 %) | $ sysctl -w vm.nr_hugepages=0"},
		{"a kernel without", "memory.huge_pages", "", "proc/meminfo = MemTotal: 1024000 kB", "", nil, "not_applicable | …"},
	})
}

func TestMemoryForThePageCache(t *testing.T) {
	uptime := "proc/uptime = 100.00 350.00"
	sinceStart := func(kib int64) func(*Machine) {
		return func(m *Machine) { grew("pgpgout", kib, kib)(m); m.Interval = 0 }
	}
	lookAt(t, []row{
		{"a machine sold as 32 GiB", "memory.size", "", "", "", func(m *Machine) { m.Memory = 31<<30 + 3<<28 }, "ok 31.8 GiB (≥ 32 GiB)"},
		{"a small machine", "memory.size", "", "", "", memoryOf(16), "info 16 GiB (≥ 32 GiB)"},

		{"room for minutes", "memory.page_cache", "", "", "", with(memoryOf(64), broker(6), grew("pgpgout", 0, 1<<21)), "ok 56.5 GiB (≥ 30 s of writing) | 282 205 MiB/s"},
		{"room for seconds", "memory.page_cache", "", "", "", with(memoryOf(8), broker(5), grew("pgpgout", 0, 1<<21)), "warn 1.5 GiB (≥ 30 s of writing) | 8 205 MiB/s"},
		{"since the start", "memory.page_cache", "", uptime, "", with(memoryOf(8), broker(5), sinceStart(10<<20)), "warn 1.5 GiB (≥ 30 s of writing) | 15 102 MiB/s"},
		{"nothing is written", "memory.page_cache", "", "", "", with(memoryOf(64), broker(6), grew("pgpgout", 5, 5)), "ok 56.5 GiB (≥ 30 s of writing) | …"},
		{"a heap that takes all", "memory.page_cache", "", "", "", with(memoryOf(8), broker(7)), "warn 0 B (≥ 30 s of writing) | 7 8"},
		{"no -Xmx", "memory.page_cache", "", "", "", with(memoryOf(2), broker(0)), "warn 0 B (≥ 30 s of writing) | 512 2"},
		{"no counters", "memory.page_cache", "", "", "", with(memoryOf(64), broker(6)), "unknown 56.5 GiB | …"},
		{"an uptime of garbage", "memory.page_cache", "", "proc/uptime = NaN", "", with(memoryOf(64), broker(6), sinceStart(1)), "unknown 56.5 GiB | …"},
		{"a heap that is a share of the memory", "memory.page_cache", "", "", "", with(memoryOf(8), broker(0), sharing("75")), "warn 512 MiB (≥ 30 s of writing) | 6 8"},
		{"no broker", "memory.page_cache", "", "", "", memoryOf(64), "not_applicable | …"},
	})
}

func TestTransparentHugePages(t *testing.T) {
	const folder, wanted = "/sys/kernel/mm/transparent_hugepage/", "defer+madvise|madvise|defer|never"
	for _, r := range []struct{ says, file, rule, choices, want string }{
		{"madvise", "enabled", "madvise", "always [madvise] never", "ok madvise (madvise)"},
		{"never, for throughput", "enabled", "madvise", "always madvise [never]", "info never (madvise) | …"},
		{"never, for latency", "enabled", "madvise|never", "always madvise [never]", "ok never (madvise)"},
		{"always, for throughput", "enabled", "madvise", "[always] madvise never", "info always (madvise) | FILE: always → madvise, kept"},
		{"always, for latency", "enabled", "madvise|never", "[always] madvise never", "warn always (madvise) | FILE: always → madvise, kept"},
		{"left alone", "enabled", "leave", "[always] madvise never", "info always (left alone)"},
		{"chosen at boot", "enabled", "madvise|never", "[always] madvise never\nproc/cmdline = ro transparent_hugepage=always", "warn always (madvise) | transparent_hugepage= | $ remove transparent_hugepage= from the"},
		{"nothing is chosen", "enabled", "madvise", "always madvise never", "unknown | sys/kernel/mm/transparent_hugepage/enabled"},
		{"one word alone", "enabled", "madvise", "always", "info always (madvise) | …"},
		{"the kernel's choice", "defrag", wanted, "always defer defer+madvise [madvise] never", "ok madvise (defer+madvise)"},
		{"all wait", "defrag", wanted, "[always] defer defer+madvise madvise never", "warn always (defer+madvise) | FILE: always → defer+madvise, kept"},
		{"all wait, on an old kernel", "defrag", wanted, "[always] madvise never", "warn always (defer+madvise) | FILE: always → madvise, kept"},
		{"nothing that is wanted", "defrag", "defer", "[always] never", "warn always (defer) | …"},
	} {
		lookAt(t, []row{{r.says, "thp." + r.file, r.rule, folder[1:] + r.file + " = " + r.choices, "", nil, strings.Replace(r.want, "FILE", folder+r.file, 1)}})
	}
	const old = "sys/kernel/mm/redhat_transparent_hugepage/enabled"
	lookAt(t, []row{{"on RHEL 6", "thp.enabled", "never", old + " = [always] never", "", nil, "warn always (never) | /" + old + ": always → never, kept"}})
}
