package tune

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/host/jvm"
	"github.com/kt-bench/kt/internal/theme"
)

// scriptFlags are what kafka-run-class.sh takes when KAFKA_JVM_PERFORMANCE_OPTS is
// not set, without the MaxInlineLevel=15 that Java has had by itself since 14.
const scriptFlags = "-server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35 -XX:+ExplicitGCInvokesConcurrent"

// addFlag is the line that adds a flag to those that Kafka's scripts give java. Its
// place is behind them, so it wins.
func addFlag(flag string) string { return fmt.Sprintf("KAFKA_OPTS=%q", flag) }

// flag reads flags of the JVM of which each has the same effect.
func (r Read) flag(m *Machine) Reading {
	on := slices.ContainsFunc(r.Flags, func(name string) bool { return m.Process.JVM.XX[name] == "true" })
	got := answer(on, "")
	if !on {
		got.Command = addFlag("-XX:+" + r.Flags[0])
	}
	return got
}

// numberFlag reads a flag of the JVM that is a number.
func (r Read) numberFlag(m *Machine) Reading {
	got := Reading{Note: "not set (Java's default)"}
	value, set := m.Process.JVM.XX[r.G1]
	if !set {
		value = r.Unset
	} else {
		got.Note = ""
	}
	if _, err := strconv.Atoi(value); err != nil {
		return Reading{Verdict: Unknown, Current: value, Note: "-XX:" + r.G1 + " is not a number"}
	}
	got.Current = value
	return got
}

func checkGclog(m *Machine, _ Rule) Reading {
	r := answer(m.Process.JVM.GCLog != "", "")
	if m.Process.JVM.GCLog == "" {
		r.Command = addFlag("-Xlog:gc*:file=kafkaServer-gc.log:time,tags:filecount=10,filesize=100M")
	}
	return r
}

func checkHugePages(m *Machine, _ Rule) Reading {
	if m.Process.JVM.XX["UseTransparentHugePages"] != "true" {
		return Absent("-XX:+UseTransparentHugePages is not set")
	}
	word, err := m.Chosen("sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil {
		return Denied(err)
	}
	return Reading{Current: word}
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

func checkCollector(m *Machine, _ Rule) Reading {
	name, chosen := collector(m)
	switch {
	case name == "":
		return Reading{Verdict: Unknown, Note: "no flag chooses one, and the machine's size is not known"}
	case chosen:
		return Reading{Current: name}
	}
	return Reading{Current: name, Note: "no flag chooses one: Java chose it by the machine's size"}
}

// regionSize is the size of G1's regions as Java 17 chooses it for a heap, in bytes.
func regionSize(heap int64) int64 {
	size := int64(1 * mib)
	for size < heap/2048 && size < 32*mib {
		size *= 2
	}
	return size
}

func checkRegionSize(m *Machine, _ Rule) Reading {
	heap := heapLimit(m)
	if heap < 4*gib {
		return Absent("judged only for heaps from 4 GiB on")
	}
	text, set := m.Process.JVM.XX["G1HeapRegionSize"]
	if !set {
		return Reading{Current: strconv.FormatInt(regionSize(heap)/mib, 10), Note: "not set (Java's default)"}
	}
	size, _ := jvm.Size(text)
	if size == 0 {
		return Reading{Verdict: Unknown, Current: text, Note: "-XX:G1HeapRegionSize is not a size"}
	}
	return Reading{Current: strconv.FormatFloat(float64(size)/mib, 'f', 0, 64)}
}

func checkExplicitGC(m *Machine, _ Rule) Reading {
	if m.Process.JVM.XX["DisableExplicitGC"] == "true" {
		return Reading{Verdict: Info, Current: "disabled", Wanted: "on", Note: "-XX:+DisableExplicitGC delays the release of direct buffers"}
	}
	return Read{Flags: []string{"ExplicitGCInvokesConcurrent"}}.flag(m)
}

// collections are the collections since the JVM started.
func collections(p jvm.Perf) (n int64, stopped time.Duration) {
	for _, c := range p.Collections {
		n, stopped = n+c.Count, stopped+c.Time
	}
	return n, stopped
}

// figure is the reading of a measured value.
func figure(value float64, decimals int, note string) Reading {
	return Reading{Current: strconv.FormatFloat(value, 'f', decimals, 64), Note: note}
}

func checkCollectionShare(m *Machine, _ Rule) Reading {
	p := m.Process.Perf
	if len(p.Collections) == 0 {
		return Reading{Verdict: Unknown, Note: "the JVM names no collector"}
	}
	n, stopped := collections(p)
	return figure(100*stopped.Seconds()/p.Uptime.Seconds(), 2, fmt.Sprintf("%d collections in %s", n, p.Uptime.Round(time.Second)))
}

func checkCollectionPause(m *Machine, _ Rule) Reading {
	n, stopped := collections(m.Process.Perf)
	if n <= 0 {
		return Absent("there was no collection yet")
	}
	return figure(float64(stopped)/float64(n)/float64(time.Millisecond), 1, "")
}

func checkFullCollections(m *Machine, _ Rule) Reading {
	if name, _ := collector(m); name != "G1" {
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
	return Reading{Verdict: Unknown, Note: "this version of Java does not count them separately"}
}

func checkLiveHeap(m *Machine, _ Rule) Reading {
	p := m.Process.Perf
	used, most := p.OldUsed, p.OldMax
	if most <= 0 {
		used, most = p.HeapUsed, p.HeapMax
	}
	if most <= 0 {
		return Reading{Verdict: Unknown, Note: "the JVM does not report its maximum heap"}
	}
	return figure(100*float64(used)/float64(most), 0, fmt.Sprintf("%s of %s", theme.Bytes(used), theme.Bytes(most)))
}

func checkStopped(m *Machine, _ Rule) Reading {
	p := m.Process.Perf
	return figure(100*p.SafepointTime.Seconds()/p.Uptime.Seconds(), 2, "")
}
