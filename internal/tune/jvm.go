package tune

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/host/jvm"
)

// scriptFlags are what kafka-run-class.sh takes when KAFKA_JVM_PERFORMANCE_OPTS is
// not set, without the MaxInlineLevel=15 that Java has had by itself since 14.
const scriptFlags = "-server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35 -XX:+ExplicitGCInvokesConcurrent"

// addFlag is the line that adds a flag to those that Kafka's scripts give java. Its
// place is behind them, so it wins.
func addFlag(flag string) string { return fmt.Sprintf("KAFKA_OPTS=%q", flag) }

// onFlag reads flags of the JVM of which each has the same effect.
func (a place) onFlag() Reading {
	on := slices.ContainsFunc(a.row.Read.Flags, func(name string) bool { return a.Process.JVM.XX[name] == "true" })
	return Reading{Current: yesNo(on)}
}

// numberFlag reads a flag of the JVM that is a number.
func (a place) numberFlag() Reading {
	name := a.row.Read.G1
	value, set := a.Process.JVM.XX[name]
	r := Reading{Current: value}
	if !set {
		r = Reading{Current: a.row.Read.Unset, Note: "not set (Java's default)"}
	}
	if !whole64(r.Current) {
		return Reading{Verdict: Unknown, Current: value, Note: "-XX:" + name + " is not a number"}
	}
	return r
}

// collectors are the garbage collectors with the flags that choose them, and what the names begin with that Java 8 to 21
// publish.
var collectors = []struct {
	name, flag string
	published  []string
}{
	{"ZGC", "UseZGC", []string{"Z"}},
	{"Shenandoah", "UseShenandoahGC", []string{"Shenandoah"}},
	{"G1", "UseG1GC", []string{"G1"}},
	{"CMS", "UseConcMarkSweepGC", []string{"CMS"}},
	{"Parallel", "UseParallelGC", []string{"Parallel", "PS"}},
	{"Serial", "UseSerialGC", []string{"Serial", "Copy", "MSC"}},
}

// collector is the garbage collector of the JVM, or "" when it is not known. chosen tells that a flag names it.
func collector(m *Machine) (name string, chosen bool) {
	for _, c := range collectors {
		if m.Process.JVM.XX[c.flag] == "true" {
			return c.name, true
		}
	}
	for _, seen := range m.Process.Perf.Collections {
		for _, c := range collectors {
			if slices.ContainsFunc(c.published, func(mark string) bool { return strings.HasPrefix(seen.Name, mark) }) {
				return c.name, false
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

// region is the size of G1's regions, in bytes: as it is set, or as Java 17 chooses it for the heap.
func (m *Machine) region() (string, error) {
	text, set := m.Process.JVM.XX["G1HeapRegionSize"]
	size, _ := jvm.Size(text)
	switch {
	case !set:
		size = regionSize(heapLimit(m))
	case size == 0:
		return text, errors.New("-XX:G1HeapRegionSize is not a size")
	}
	return strconv.FormatInt(size, 10), nil
}

func regionSize(heap int64) int64 {
	size := int64(1 * mib)
	for size < heap/2048 && size < 32*mib {
		size *= 2
	}
	return size
}

// collections are the collections since the JVM started.
func collections(p jvm.Perf) (n int64, stopped time.Duration) {
	for _, c := range p.Collections {
		n, stopped = n+c.Count, stopped+c.Time
	}
	return n, stopped
}

func checkFullCollections(m place) Reading {
	if name, _ := collector(m.Machine); name != "G1" {
		return Absent("only G1 is meant to run without them")
	}
	for _, c := range m.Process.Perf.Collections {
		if !strings.Contains(strings.ToLower(c.Name), "full") {
			continue
		}
		r := Reading{Current: strconv.FormatInt(c.Count, 10)}
		if c.Count > 0 {
			r.Note = fmt.Sprintf("%s each on average", (c.Time / time.Duration(c.Count)).Round(time.Millisecond))
		}
		return r
	}
	return Unreadable("this version of Java does not count them separately")
}

// oldGeneration is how much of the old generation is used, of how much; of the whole heap where the collector has none.
func oldGeneration(p jvm.Perf) [2]int64 {
	if p.OldMax <= 0 {
		return [2]int64{p.HeapUsed, p.HeapMax}
	}
	return [2]int64{p.OldUsed, p.OldMax}
}
