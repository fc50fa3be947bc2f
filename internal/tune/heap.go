package tune

import (
	"fmt"
	"strconv"
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

// scriptHeap is the heap that Kafka's start script gives a broker when nobody says
// otherwise, whatever the machine.
const scriptHeap = 1 * gib

// heapLimit is the largest heap of the JVM of the broker, in bytes; 0 when no option set it.
func heapLimit(m *Machine) int64 {
	f := m.Process.JVM
	if p, err := strconv.ParseFloat(f.XX["MaxRAMPercentage"], 64); f.Xmx == 0 && err == nil && p > 0 && p <= 100 {
		return int64(float64(m.Memory) * p / 100)
	}
	return f.Xmx
}

// heapStart is the heap that the JVM starts with, in bytes; 0 when no option set it.
func heapStart(m *Machine) int64 {
	f := m.Process.JVM
	if p, err := strconv.ParseFloat(f.XX["InitialRAMPercentage"], 64); err == nil && f.Xms == 0 {
		return int64(float64(m.Memory) * p / 100)
	}
	return f.Xms
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
