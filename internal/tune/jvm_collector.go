package tune

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/host/jvm"
)

// collector is the garbage collector of the JVM: "G1", "ZGC", "Shenandoah",
// "Parallel", "Serial", "CMS", or "" when it is not known. chosen tells that a flag
// names it.
func collector(m *Machine) (name string, chosen bool) {
	for _, c := range []struct{ flag, name string }{
		{"UseZGC", "ZGC"},
		{"UseShenandoahGC", "Shenandoah"},
		{"UseG1GC", "G1"},
		{"UseConcMarkSweepGC", "CMS"},
		{"UseParallelGC", "Parallel"},
		{"UseSerialGC", "Serial"},
	} {
		if m.Process.JVM.XX[c.flag] == "true" {
			return c.name, true
		}
	}
	for _, c := range m.Process.Perf.Collections { // the names of Java 8 to 21
		for _, known := range []struct{ mark, name string }{
			{"G1", "G1"},
			{"Z", "ZGC"},
			{"Shenandoah", "Shenandoah"},
			{"Parallel", "Parallel"},
			{"PS", "Parallel"},
			{"Serial", "Serial"},
			{"Copy", "Serial"},
			{"MSC", "Serial"},
			{"CMS", "CMS"},
		} {
			if strings.HasPrefix(c.Name, known.mark) {
				return known.name, false
			}
		}
	}
	switch {
	case m.CPUs <= 0 || m.Memory <= 0:
		return "", false
	case math.Ceil(m.CPUs) >= 2 && m.Memory >= 1792*mib:
		return "G1", false
	}
	return "Serial", false
}

func checkCollector(m *Machine, want Rule) Reading {
	name, chosen := collector(m)
	if name == "" {
		return Reading{Verdict: Unknown, Note: "no flag chooses one, and the machine's size is not known"}
	}
	r := Compare(name, want, Warn)
	if !chosen {
		r.Note = "no flag chooses one: Java chose it by the machine's size"
	}
	if r.Verdict == Warn {
		// java starts with one collector only, so this flag cannot be added to another.
		r.Command = fmt.Sprintf("KAFKA_JVM_PERFORMANCE_OPTS=%q", scriptFlags)
	}
	return r
}

// g1Flag is the check of one of G1's numbers; unset is what G1 takes without it.
func g1Flag(read Read) check {
	flag := read.G1
	return func(m *Machine, want Rule) Reading {
		if name, _ := collector(m); name != "G1" {
			return Absent("only G1 has it")
		}
		value, set := m.Process.JVM.XX[flag]
		if !set {
			value = read.Unset
		}
		n, err := strconv.Atoi(value)
		if err != nil {
			return Reading{Verdict: Unknown, Current: value, Note: "-XX:" + flag + " is not a number"}
		}
		r := measured(float64(n), 0, read.Unit, want, Info)
		if !set {
			r.Note = "not set (Java's default)"
		}
		if r.Verdict == Info && !want.Leave() {
			r.Command = addFlag(fmt.Sprintf("-XX:%s=%s", flag, want.Value))
		}
		return r
	}
}

// regionSize is the size of G1's regions as Java 17 chooses it for a heap, in bytes.
func regionSize(heap int64) int64 {
	size := int64(1 * mib)
	for size < heap/2048 && size < 32*mib {
		size *= 2
	}
	return size
}

func checkRegionSize(m *Machine, want Rule) Reading {
	if name, _ := collector(m); name != "G1" {
		return Absent("only G1 has it")
	}
	heap := heapLimit(m)
	if heap < 4*gib {
		return Absent("judged only for heaps from 4 GiB on")
	}
	text, set := m.Process.JVM.XX["G1HeapRegionSize"]
	size := regionSize(heap)
	if set {
		size, _ = jvm.Size(text)
	}
	if size == 0 {
		return Reading{Verdict: Unknown, Current: text, Note: "-XX:G1HeapRegionSize is not a size"}
	}
	r := measured(float64(size)/mib, 0, "MiB", want, Info)
	if !set {
		r.Note = "not set (Java's default)"
	}
	if r.Verdict == Info && !want.Leave() {
		r.Command = addFlag("-XX:G1HeapRegionSize=" + want.Value + "M")
	}
	return r
}

func checkExplicitGC(m *Machine, want Rule) Reading {
	if name, _ := collector(m); name != "G1" {
		return Absent("only G1 has it")
	}
	xx := m.Process.JVM.XX
	if xx["DisableExplicitGC"] == "true" {
		return Reading{Verdict: Info, Current: "disabled", Wanted: "on", Note: "-XX:+DisableExplicitGC delays the release of direct buffers"}
	}
	return flagReading(xx["ExplicitGCInvokesConcurrent"] == "true", "-XX:+ExplicitGCInvokesConcurrent", want)
}
