package host

import "fmt"

// Maps is how many memory mappings a Kafka process has. It ends when it needs more than the limit,
// vm.max_map_count: the indexes of each log segment take two.
type Maps struct {
	PID         int
	Used, Limit int64 // 0: not known
}

// mapsShow is the share of the limit from which on it is time to raise it.
const mapsShow = 0.80

// Near reports whether a process is near the limit.
func (m Maps) Near() bool { return m.Limit > 0 && float64(m.Used) >= mapsShow*float64(m.Limit) }

func (m Maps) String() string {
	return fmt.Sprintf("broker process %d has %d of %d memory mappings, and ends when it needs more: raise vm.max_map_count (kt tune)", m.PID, m.Used, m.Limit)
}

// Maps counts the memory mappings of a process.
func (f FS) Maps(pid int) Maps {
	limit, _ := f.Number("proc/sys/vm/max_map_count") // 0: not known
	used, _ := f.MappedAreas(pid)
	return Maps{PID: pid, Used: int64(used), Limit: limit}
}
