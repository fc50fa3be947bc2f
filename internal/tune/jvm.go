package tune

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/host/jvm"
)

// scriptFlags are what kafka-run-class.sh takes without KAFKA_JVM_PERFORMANCE_OPTS, but for MaxInlineLevel=15, Java 14's default.
const scriptFlags = "-server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35 -XX:+ExplicitGCInvokesConcurrent"

// addFlag is the line that adds a flag behind those that Kafka's scripts give java, so that it wins.
func addFlag(flag string) string { return fmt.Sprintf("KAFKA_OPTS=%q", flag) }

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

// collectors are the garbage collectors with the flags that choose them, and what the names begin with that Java 8 to 21 publish.
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

func checkJavaVersion(m place) Reading {
	version := m.Process.Perf.Version
	if version == "" {
		var err error
		if version, err = m.releaseVersion(); err != nil { // Java is there, and so is its version
			r := lacking(err, "neither the JVM nor its release file could be read")
			r.Verdict = Unknown
			return r
		}
	}
	major := javaMajor(version)
	if major == 0 {
		return Reading{Verdict: Unknown, Current: version, Note: "kt does not know this version of Java"}
	}
	r := Reading{Current: strconv.Itoa(major), shown: version}
	if !m.want.Holds(r.Current) && major >= 11 && m.beforeKafka4() {
		r.bad, r.Note = Info, fmt.Sprintf("Kafka %s supports it, Kafka 4 does not", m.kafkaVersion())
	}
	return r
}

// javaMajor is 17 of "17.0.15+6", and 8 of "1.8.0_392"; 0 for what is no version.
func javaMajor(version string) (n int) {
	_, _ = fmt.Sscanf(strings.TrimPrefix(version, "1."), "%d", &n)
	return n
}

// releaseVersion reads the release file of the Java that was started: it lies beside the bin folder.
func (m *Machine) releaseVersion() (string, error) {
	if len(m.Process.Args) == 0 {
		return "", fs.ErrNotExist
	}
	java, err := m.Link(fmt.Sprintf("proc/%d/exe", m.Process.PID))
	if err != nil {
		if java = m.Process.Args[0]; !path.IsAbs(java) {
			return "", err
		}
	}
	home := path.Dir(path.Dir(m.follow("", java))) // /usr/bin/java is a link to a link
	text, err := m.Text(m.within(m.Process.PID, path.Join(home, "release")))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "JAVA_VERSION="); ok {
			return strings.Trim(v, `"`), nil
		}
	}
	return "", fs.ErrNotExist
}

const (
	mib = 1 << 20
	gib = 1 << 30
)

// scriptHeap is the heap that Kafka's start script gives a broker when nobody says otherwise.
const scriptHeap = 1 * gib

// heapLimit is the largest heap of the JVM of the broker, in bytes; 0 when no option set it.
func heapLimit(m *Machine) int64 { return m.heapOf(m.Process.JVM.Xmx, "MaxRAMPercentage") }

// heapOf is a size of the heap as one option sets it in bytes, or else another one as a share of the memory.
func (m *Machine) heapOf(set int64, share string) int64 {
	if p, err := strconv.ParseFloat(m.Process.JVM.XX[share], 64); set == 0 && err == nil && p > 0 && p <= 100 {
		return int64(float64(m.Memory) * p / 100)
	}
	return set
}

// heapOption is a number of bytes as java's options have it: "6g", "1536m".
func heapOption(n int64) string {
	if n%gib == 0 {
		return strconv.FormatInt(n/gib, 10) + "g"
	}
	return strconv.FormatInt(n/mib, 10) + "m"
}

// heapChosen reports whether somebody chose the heap: not the JVM, nor Kafka's script.
func heapChosen(m *Machine) bool {
	limit := heapLimit(m)
	return limit > 0 && (limit != scriptHeap || m.Memory < 8*gib || !runsBroker(m))
}

// heapRange is what a broker's heap may be on the machine, and the best in between.
func heapRange(m *Machine) (low, best, high int64) {
	best = heapFor(m.Memory, partitionsHere(m))
	return best / 2, best, max(best, min(8*gib, m.Memory/2))
}

// advisedHeap is the heap that all checks of its size agree with that the profile does not leave alone; 0 if nothing is known.
func advisedHeap(m *Machine) int64 {
	advised := heapLimit(m)
	switch low, best, high := heapRange(m); {
	case !runsBroker(m):
		if !m.Profile.leaves("jvm.controller_heap") {
			advised = min(max(advised, 1*gib), 4*gib)
		}
	case best <= 0: // the memory is not known
	case !heapChosen(m):
		if advised == 0 || !m.Profile.leaves("jvm.heap_set") {
			advised = best
		}
	case (advised < low || advised > high) && !m.Profile.leaves("jvm.heap_size"):
		advised = best
	}
	if room := m.Cgroup.Memory; room > 0 && advised > room*2/3 {
		advised = heapFor(room, 0)
	}
	return advised
}
