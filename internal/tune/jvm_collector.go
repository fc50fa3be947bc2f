package tune

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/host/jvm"
)

func collectorSettings() []*Setting {
	return []*Setting{
		commandLine(&Setting{
			ID: "jvm.gc", Title: "the garbage collector", Severity: Warning, Confidence: Documented, Want: "G1|ZGC|Shenandoah",
			Why: "long stops for garbage collection. The serial and the parallel collector stop the broker for a whole heap",
			Detail: "Kafka's script chooses G1. Without a flag Java takes G1 only where it sees two CPUs and 1792 MiB of memory, else the " +
				"serial collector. A small container limit is enough for that. The OpenMessaging benchmark runs its brokers with ZGC.",
			Sources: []string{"Kafka documentation, Operations: Java", "Kafka: bin/kafka-run-class.sh", "OpenMessaging benchmark"},
			Check:   checkCollector,
		}),
		commandLine(&Setting{
			ID: "jvm.gc_pause_target", Title: "pause target of G1", Severity: Informational, Confidence: Documented, Want: "<=20",
			Why: "clients see longer pauses. G1's default target is 200 ms",
			Detail: "In milliseconds: -XX:MaxGCPauseMillis. 20 comes from LinkedIn's clusters, and Kafka's script sets it. " +
				"KAFKA_JVM_PERFORMANCE_OPTS replaces all flags of the script, also this one.",
			Sources: []string{"Kafka documentation, Operations: Java", "Kafka: bin/kafka-run-class.sh"},
			Check:   g1Flag("MaxGCPauseMillis", 200, "ms"),
		}),
		commandLine(&Setting{
			ID: "jvm.gc_start", Title: "heap use at which G1 starts a collection", Severity: Informational, Confidence: Documented, Want: "<=35",
			Why:     "a late collection may not end in time. It then stops the broker for long",
			Detail:  "In percent: -XX:InitiatingHeapOccupancyPercent. Java's default is 45, which it adapts. Kafka's script sets 35.",
			Sources: []string{"Kafka documentation, Operations: Java", "Kafka: bin/kafka-run-class.sh"},
			Check:   g1Flag("InitiatingHeapOccupancyPercent", 45, "%"),
		}),
		commandLine(&Setting{
			ID: "jvm.region_size", Title: "region size of G1", Severity: Informational, Confidence: Documented, Want: ">=16",
			Why: "large batches cost more. G1 handles objects above half a region separately",
			Detail: "In MiB: -XX:G1HeapRegionSize. Kafka's documentation sets 16M for a heap of 6 GiB; the script does not. Without it Java " +
				"aims at 2048 regions with a size that is a power of two: 4 MiB in that case. Before Java 17 they could be smaller. kt " +
				"does not judge heaps below 4 GiB, where such large regions would be too few.",
			Sources: []string{"Kafka documentation, Operations: Java"},
			Check:   checkRegionSize,
		}),
		commandLine(&Setting{
			ID: "jvm.explicit_gc", Title: "explicit collections run beside the broker", Severity: Informational, Confidence: Documented, Want: "yes",
			Why:     "explicit collections stop the broker. Java asks for them to free direct buffers",
			Detail:  `The value is "yes" or "no": -XX:+ExplicitGCInvokesConcurrent, which Kafka's script sets.`,
			Sources: []string{"Kafka documentation, Operations: Java", "Kafka: bin/kafka-run-class.sh"},
			Check:   checkExplicitGC,
		}),
	}
}

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
func g1Flag(flag string, unset int, unit string) func(*Machine, Rule) Reading {
	return func(m *Machine, want Rule) Reading {
		if name, _ := collector(m); name != "G1" {
			return Absent("only G1 has it")
		}
		value, set := m.Process.JVM.XX[flag]
		if !set {
			value = strconv.Itoa(unset)
		}
		n, err := strconv.Atoi(value)
		if err != nil {
			return Reading{Verdict: Unknown, Current: value, Note: "-XX:" + flag + " is not a number"}
		}
		r := measured(float64(n), 0, unit, want, Info)
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
