package tune

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"github.com/kt-bench/kt/internal/theme"
)

func memorySettings() []*Setting {
	return []*Setting{
		swapTendency(), swapActivity(), maxMapCount(), overcommit(), zoneReclaim(), minFree(), hugePages(),
		thpEnabled(), thpDefrag(), memorySize(), pageCache(), oomKills(), oomScore(),
	}
}

// lacking is [Denied], with a reason of its own for a file that is not there.
func lacking(err error, reason string) Reading {
	r := Denied(err)
	if r.Verdict == NotApplicable {
		r.Note = reason
	}
	return r
}

// judge compares a figure that kt has worked out, and shows it with its unit.
func judge(value float64, unit string, want Rule, bad Verdict) Reading {
	shown := strconv.FormatFloat(math.Round(value*100)/100, 'f', -1, 64)
	r := Compare(shown, want, bad)
	r.Current += unit
	if !want.Leave() {
		r.Wanted += unit
	}
	return r
}

func maxMapCount() *Setting {
	return &Setting{
		ID: "vm.max_map_count", Group: Memory, Title: "maximum of memory mappings for a process",
		Roles: []Role{Broker, Controller}, Severity: Fatal, Confidence: Documented, Applies: true,
		Want:  ">= 262144",
		Valid: raiseOnly(1),
		Why:   "the broker ends with “Map failed”. The indexes of each log segment take two mappings",
		Detail: "The wanted value is the larger of the rule and 1.5 × 2 × segments + 65530. kt counts segments in the log directories. " +
			"Kafka's documentation gives two mappings for a segment, and 100000 for 50000 partitions. Confluent and the " +
			"OpenMessaging Benchmark set 262144, and some clusters needed 393216. It is a failure only if the mappings in use, or " +
			"two for every segment, exceed 80 % of the limit. Below the rule it is a warning. Some distributions ship 1048576, so kt " +
			"only raises it.",
		Reads: []string{"/proc/sys/vm/max_map_count", "/proc/PID/maps", "the log directories"},
		Sources: []string{
			"Kafka documentation, Operations: Hardware and OS", "Confluent Platform: production deployment", "OpenMessaging Benchmark: driver-kafka",
		},
		Risk:  "none: it is only a limit",
		Check: checkMaxMapCount,
	}
}

func checkMaxMapCount(m *Machine, want Rule) Reading {
	limit, err := m.Number("proc/sys/vm/max_map_count")
	if err != nil {
		return Denied(err)
	}
	segments := m.segments()
	if segments > 0 {
		want = want.Floor(3*segments + 65530)
	}
	r := numberCheck("vm.max_map_count", Warn, true)(m, want)
	need, how := 2*segments, fmt.Sprintf("%d segments need %d", segments, 2*segments)
	if m.Process != nil {
		if n, err := m.MappedAreas(m.Process.PID); err == nil && int64(n) >= need {
			need, how = int64(n), fmt.Sprintf("%d are in use", n)
		}
	}
	if need > 0 {
		r.addNote("%s", how)
	}
	if float64(need) > 0.8*float64(limit) {
		r.Verdict = Fail
		if len(r.Changes) == 0 { // the rule leaves the value alone, or is too low
			r.Command = fmt.Sprintf("sysctl -w vm.max_map_count=%d", max(262144, 3*need/2+65530))
		}
	}
	return r
}

// segments are the log segments in all log directories that could be listed.
func (m *Machine) segments() int64 {
	var n int64
	for _, d := range m.Dirs {
		n += int64(d.Segments)
	}
	return n
}

func overcommit() *Setting {
	return &Setting{
		ID: "vm.overcommit_memory", Group: Memory, Title: "overcommit of memory",
		Roles: []Role{Broker, Controller}, Severity: Warning, Confidence: Documented, Want: "0",
		Valid: wholeNumber(2),
		Why:   "the broker may not start with 2: the kernel refuses memory that a JVM reserves and never touches",
		Detail: "The second edition of the Definitive Guide advises 0, the kernel's default. 1 allows everything: it does not harm the " +
			"broker, and other software may need it, so it is only a note.",
		Reads:   []string{"/proc/sys/vm/overcommit_memory"},
		Sources: []string{"Kafka: The Definitive Guide, 2nd edition, chapter 2", "kernel documentation: overcommit accounting"},
		Risk:    "with 0 the kernel may kill a process, where 2 would have refused the memory",
		Check: func(m *Machine, want Rule) Reading {
			r := numberCheck("vm.overcommit_memory", Warn, false)(m, want)
			if r.Verdict == Warn && r.Current == "1" {
				r.Verdict = Info
			}
			return r
		},
	}
}

func zoneReclaim() *Setting {
	return &Setting{
		ID: "vm.zone_reclaim_mode", Group: Memory, Title: "page cache reclaim before using another NUMA node's memory",
		Roles: []Role{Broker, Controller}, Severity: Warning, Confidence: Documented, Applies: true, Want: "0",
		Valid:   wholeNumber(7),
		Why:     "the kernel drops page cache that consumers need. Another node's memory is free meanwhile",
		Detail:  "0 is the kernel's default since Linux 3.16. On a machine with one NUMA node the value has no effect, and is only a note.",
		Reads:   []string{"/proc/sys/vm/zone_reclaim_mode", "/sys/devices/system/node"},
		Sources: []string{"Intel: Kafka optimisation guide", "kernel documentation: sysctl/vm"},
		Risk:    "more memory accesses cross the link between the nodes",
		Check: func(m *Machine, want Rule) Reading {
			bad := Warn
			if len(m.nodes()) < 2 {
				bad = Info
			}
			return numberCheck("vm.zone_reclaim_mode", bad, true)(m, want)
		},
	}
}

func minFree() *Setting {
	return &Setting{
		ID: "vm.min_free_kbytes", Group: Memory, Title: "memory that the kernel keeps free",
		Roles: []Role{Broker}, Severity: Informational, Confidence: Folklore,
		Valid: wholeNumber(-1),
		Why:   "a burst from the network waits for free pages. The kernel has to clear some first",
		Detail: "1 GiB is kt's proposal for machines of 64 GiB and more. No source gives a value for Kafka. Storage products with " +
			"similar use of the page cache set 512 MiB to 1.8 GiB. kt does not judge smaller machines: with too high a value the " +
			"kernel kills processes.",
		Reads:   []string{"/proc/sys/vm/min_free_kbytes", "/proc/meminfo"},
		Sources: []string{"kt's proposal", "by analogy: NetApp StorageGRID: node kernel settings"},
		Risk:    "less page cache by this amount; far too high a value makes the machine unusable",
		Check: func(m *Machine, want Rule) Reading {
			switch {
			case m.MemTotal == 0:
				return Reading{Verdict: Unknown, Note: "the size of the machine's memory is not known"}
			case m.MemTotal < 64<<30:
				return Absent("the machine has less than 64 GiB of memory")
			}
			return numberCheck("vm.min_free_kbytes", Info, false)(m, want)
		},
	}
}

func hugePages() *Setting {
	return &Setting{
		ID: "memory.huge_pages", Group: Memory, Title: "unused memory in reserved huge pages",
		Roles: []Role{Broker}, Severity: Informational, Confidence: Folklore, Want: "<= 5",
		Valid: figure,
		Why:   "the page cache is smaller. It cannot use reserved huge pages",
		Detail: "The share of memory in free huge pages of vm.nr_hugepages. Kafka uses none unless its JVM runs with -XX:+UseLargePages. " +
			"The limit of 5 % is kt's proposal.",
		Reads:   []string{"/proc/meminfo"},
		Sources: []string{"kernel documentation: hugetlbpage", "kt's proposal"},
		Check: func(m *Machine, want Rule) Reading {
			memory, err := m.FS.Memory()
			if err != nil {
				return Denied(err)
			}
			free, known := memory["HugePages_Free"]
			if !known || memory["MemTotal"] == 0 {
				return Absent("the kernel has no huge pages")
			}
			idle := float64(free) * float64(memory["Hugepagesize"])
			r := judge(100*idle/float64(memory["MemTotal"]), " %", want, Info)
			if r.Verdict == Info && free > 0 && !want.Leave() {
				r.Command = "sysctl -w vm.nr_hugepages=0"
			}
			return r
		},
	}
}

func memorySize() *Setting {
	return &Setting{
		ID: "memory.size", Group: Memory, Title: "memory of the machine or container",
		Roles: []Role{Broker}, Severity: Informational, Confidence: Documented, Want: ">= 32",
		Valid: figure,
		Why:   "consumers slightly behind read from disk. The page cache is too small for them",
		Detail: "Confluent advises 64 GiB for a broker. It calls less than 32 GiB counterproductive, because that leads to many small " +
			"machines. A small cluster runs well with much less; it reads from its disks sooner.",
		Reads:   []string{"/proc/meminfo", "the control group's limit"},
		Sources: []string{"Confluent Platform: production deployment"},
		Check: func(m *Machine, want Rule) Reading {
			if m.Memory <= 0 {
				return Reading{Verdict: Unknown, Note: "the size of the memory is not known"}
			}
			// A machine sold as 32 GiB shows less: the firmware and the kernel keep some.
			r := judge(math.Ceil(float64(m.Memory)/(1<<30)*1.04), "", want, Info)
			r.Current = theme.Bytes(m.Memory)
			if !want.Leave() {
				r.Wanted += " GiB"
			}
			return r
		},
	}
}

func pageCache() *Setting {
	return &Setting{
		ID: "memory.page_cache", Group: Memory, Title: "memory left for the page cache",
		Roles: []Role{Broker}, Severity: Warning, Confidence: Documented, Want: ">= 30",
		Valid: figure,
		Why:   "consumers and followers seconds behind read from disk. The disk then writes less",
		Detail: "The memory without the heap and 1.5 GiB for the rest of the JVM and the system, in seconds of writing. Kafka's " +
			"documentation calculates in this way: enough for 30 s of the write rate. The rate is that of this machine's disks " +
			"during the check, or the mean since boot; on an idle machine the value says little. By kt's proposal less than 1 GiB is " +
			"always a warning.",
		Reads:   []string{"/proc/meminfo", "/proc/vmstat", "the control group's limit", "the broker's command line"},
		Sources: []string{"Kafka documentation, Operations: Hardware and OS (write_throughput × 30)", "kt's proposal (1.5 GiB, 1 GiB)"},
		Check:   checkPageCache,
	}
}

func checkPageCache(m *Machine, want Rule) Reading {
	switch {
	case m.Process == nil:
		return Absent("no broker runs here")
	case m.Memory <= 0:
		return Reading{Verdict: Unknown, Note: "the size of the memory is not known"}
	}
	heap := heapLimit(m)
	heap = cmp.Or(heap, m.Memory/4) // what a JVM takes that was told nothing
	room := m.Memory - heap - 3<<29
	r := Reading{Verdict: OK, Current: theme.Bytes(max(0, room))}
	if !want.Leave() {
		r.Wanted = want.String() + " s of writing"
	}
	if room < 1<<30 {
		r.Verdict = Warn
		r.Note = fmt.Sprintf("the heap may grow to %s of %s", theme.Bytes(heap), theme.Bytes(m.Memory))
		return r
	}
	rate, ok := m.writeRate()
	switch {
	case !ok:
		r.Verdict, r.Note = Unknown, "the write rate is not known"
	case rate < 1:
		r.Note = "nothing is being written"
	default:
		seconds := float64(room) / rate
		r.Note = fmt.Sprintf("%.0f s at %s/s", seconds, theme.Bytes(int64(rate)))
		r.Verdict = Compare(strconv.FormatFloat(seconds, 'f', 0, 64), want, Warn).Verdict
	}
	return r
}

// writeRate is what is written to all disks, in bytes a second: over the interval,
// or since the machine started.
func (m *Machine) writeRate() (float64, bool) {
	written, seen := Delta(m.Before.VM, m.After.VM, "pgpgout") // KiB
	over := m.Interval.Seconds()
	if over <= 0 {
		written = m.After.VM["pgpgout"]
		text, err := m.Text("proc/uptime") // "seconds seconds-idle"
		if err != nil {
			return 0, false
		}
		if _, err := fmt.Sscan(text, &over); err != nil {
			return 0, false
		}
	}
	if !seen || written < 0 || !(over > 0) || math.IsInf(over, 0) {
		return 0, false
	}
	return float64(written) * 1024 / over, true
}

func oomKills() *Setting {
	return &Setting{
		ID: "memory.oom", Group: Memory, Title: "processes killed for lack of memory",
		Roles: Roles, Severity: Warning, Confidence: Documented, Want: "0",
		Valid: figure,
		Why:   "the broker may be killed next. It is the largest process",
		Detail: "Counted since boot for the machine, and since its creation for the broker's control group. A killed broker has to " +
			"recover its log, which can take long.",
		Reads:   []string{"/proc/vmstat", "the control group's memory.events"},
		Sources: []string{"kernel documentation: cgroup-v2, memory.events", "kernel documentation: proc, vmstat"},
		Check: func(m *Machine, want Rule) Reading {
			kills, known := m.After.VM["oom_kill"] // since Linux 4.13
			if !known && m.Cgroup.OOMKills == 0 {
				if m.After.VM == nil {
					return Reading{Verdict: Unknown, Note: "/proc/vmstat could not be read"}
				}
				return Absent("this kernel does not count them")
			}
			r := judge(float64(max(kills, m.Cgroup.OOMKills)), "", want, Warn)
			if n := m.Cgroup.OOMKills; n > 0 {
				r.Note = fmt.Sprintf("%d of them in the control group: its memory limit is too low", n)
			}
			return r
		},
	}
}

func oomScore() *Setting {
	return &Setting{
		ID: "memory.oom_score_adj", Group: Memory, Title: "priority for killing the broker when memory runs out",
		Roles: []Role{Broker, Controller}, Severity: Informational, Confidence: Folklore, Want: "<= 0",
		Valid: figure,
		Why:   "the kernel kills the broker before smaller processes. It does so with a score above 0",
		Detail: "Kubernetes gives 2 to 999 to containers with a request below their limit, and 1000 to those without a request. To avoid " +
			"that, set the request to the limit. The value 0 is kt's proposal.",
		Reads:   []string{"/proc/PID/oom_score_adj"},
		Sources: []string{"Kubernetes documentation: node-pressure eviction, node out of memory behaviour", "kt's proposal"},
		Check: func(m *Machine, want Rule) Reading {
			if m.Process == nil {
				return Absent("no broker runs here")
			}
			n, err := m.Number(fmt.Sprintf("proc/%d/oom_score_adj", m.Process.PID))
			if err != nil {
				return Denied(err)
			}
			r := judge(float64(n), "", want, Info)
			if r.Verdict == Info && n > 0 && !want.Leave() {
				r.Command = "OOMScoreAdjust=0 in the broker's systemd unit, or a memory request equal to the limit in Kubernetes"
			}
			return r
		},
	}
}
