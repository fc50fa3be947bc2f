package tune

import (
	"fmt"
	"strconv"

	"github.com/kt-bench/kt/internal/theme"
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

// scriptHeap is the heap that Kafka's start script gives a broker when nobody says
// otherwise, whatever the machine.
const scriptHeap = 1 * gib

// oopsLimit is the heap from which HotSpot needs eight bytes for each reference
// instead of four: one of 32 GiB holds less than one of 31.
const oopsLimit = 32 * gib

// heapLimit is the largest heap of the JVM of the broker, in bytes; 0 when no option set it.
func heapLimit(m *Machine) int64 {
	f := m.Process.JVM
	if p, err := strconv.ParseFloat(f.XX["MaxRAMPercentage"], 64); f.Xmx == 0 && err == nil && p > 0 && p <= 100 {
		return int64(float64(m.Memory) * p / 100)
	}
	return f.Xmx
}

// heapOption is a number of bytes as java's options have it: "6g", "1536m".
func heapOption(n int64) string {
	if n%gib == 0 {
		return strconv.FormatInt(n/gib, 10) + "g"
	}
	return strconv.FormatInt(n/mib, 10) + "m"
}

// heapOptions is the line that sets a heap for Kafka's scripts.
func heapOptions(n int64) string {
	o := heapOption(n)
	return fmt.Sprintf(`KAFKA_HEAP_OPTS="-Xms%s -Xmx%s"`, o, o)
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

// mostHeap is the largest heap that leaves a container room for the rest.
func mostHeap(room int64) int64 { return room * 2 / 3 }

// advisedHeap is the heap that every check suggests: the one that was chosen, if all checks of
// its size agree with it. A check that the profile leaves alone has no say. It is 0 if nothing
// is known.
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
	if room := m.Cgroup.Memory; room > 0 && advised > mostHeap(room) {
		advised = heapFor(room, 0)
	}
	return advised
}

func checkHeapSet(m *Machine, _ Rule) Reading {
	limit := heapLimit(m)
	r := answer(heapChosen(m), "not set")
	if limit > 0 {
		r.shown = theme.Bytes(limit)
	}
	if heapChosen(m) {
		return r
	}
	r.Note = "not set: the JVM takes a quarter of the memory"
	if limit > 0 {
		r.Note = fmt.Sprintf("1 GiB is the default of Kafka's script; this machine has %s", theme.Bytes(m.Memory))
	}
	if n := advisedHeap(m); n > 0 && runsBroker(m) {
		r.Command = heapOptions(n)
	}
	return r
}

func checkHeapEqual(m *Machine, _ Rule) Reading {
	limit := heapLimit(m)
	if limit == 0 {
		return Absent("no maximum heap is set, see jvm.heap_set")
	}
	start := m.Process.JVM.Xms
	if p, err := strconv.ParseFloat(m.Process.JVM.XX["InitialRAMPercentage"], 64); err == nil && start == 0 && m.Memory > 0 {
		start = int64(float64(m.Memory) * p / 100)
	}
	if start == limit {
		return answer(true, theme.Bytes(limit))
	}
	r := answer(false, theme.Bytes(start)+", "+theme.Bytes(limit))
	if start == 0 {
		r.shown = "-Xms not set"
	}
	r.Command = heapOptions(advisedHeap(m))
	return r
}

func checkHeapSize(m *Machine, want Rule) Reading {
	limit := heapLimit(m)
	switch {
	case !runsBroker(m):
		return Absent("only a controller runs here, see jvm.controller_heap")
	case !heapChosen(m):
		return Absent("the heap is a default, see jvm.heap_set")
	case m.Memory <= 0:
		return Reading{Verdict: Unknown, Current: theme.Bytes(limit), Note: "the machine's memory is not known"}
	}
	low, _, high := heapRange(m)
	name, _ := collector(m)
	r := answer(limit >= low && limit <= high, fmt.Sprintf("%s (%.0f %%)", theme.Bytes(limit), 100*float64(limit)/float64(m.Memory)))
	if want.Leave() {
		return r
	}
	r.Wanted, r.Command = fmt.Sprintf("%s to %s", theme.Bytes(low), theme.Bytes(high)), heapOptions(advisedHeap(m))
	switch {
	case limit >= oopsLimit && name != "ZGC":
		r.Note = "from 32 GiB on references take twice the space: 31 GiB hold more"
	case limit > m.Memory/2:
		r.Note = "more than half of the memory: too little is left for the page cache"
	case limit > high && limit <= 12*gib:
		r.Verdict, r.Note = Info, "more than brokers commonly need; the page cache would use it better"
	case limit > high:
		r.Note = "more than brokers need; the page cache would use it better"
	case limit < low:
		r.Note = "small for this machine"
	}
	return r
}

func checkControllerHeap(m *Machine, _ Rule) Reading {
	limit := heapLimit(m)
	switch {
	case runsBroker(m):
		return Absent("a broker runs here, see jvm.heap_size")
	case limit == 0:
		return Absent("no maximum heap is set, see jvm.heap_set")
	}
	r := answer(limit >= 1*gib && limit <= 4*gib, theme.Bytes(limit))
	r.Command = heapOptions(advisedHeap(m))
	return r
}

func checkContainerHeap(m *Machine, _ Rule) Reading {
	room, limit := m.Cgroup.Memory, heapLimit(m)
	switch {
	case room <= 0:
		return Absent("the broker has no memory limit")
	case limit == 0:
		return Absent("no maximum heap is set: the JVM takes a quarter of the limit of %s", theme.Bytes(room))
	}
	most := mostHeap(room)
	r := Reading{
		Verdict: OK, Current: fmt.Sprintf("%s of %s", theme.Bytes(limit), theme.Bytes(room)), Wanted: "≤ " + theme.Bytes(most),
	}
	switch {
	case limit >= room:
		r.Verdict, r.Note = Fail, "the heap alone does not fit: the kernel will kill the broker"
	case limit > most:
		r.Verdict, r.Note = Warn, "little is left for direct buffers, threads and the page cache"
	}
	if r.Verdict != OK {
		r.Command = heapOptions(advisedHeap(m))
	}
	return r
}
