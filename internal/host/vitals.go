package host

import "time"

// Vitals is how busy a whole machine was over one interval, with all its processes. A Sample
// is of one process of kt.
type Vitals struct {
	At       time.Duration `json:"at_ns"`       // end of the interval, from the start of the run
	Interval time.Duration `json:"interval_ns"` // its length

	Cores  float64 `json:"cores"`            // logical CPUs
	CPU    float64 `json:"cpu_cores"`        // in use, with Steal
	Steal  float64 `json:"steal_cores"`      // of CPU, given to others by the hypervisor
	IOWait float64 `json:"iowait_cores"`     // idle while a process waited for a disk; not part of CPU
	Agent  float64 `json:"agent_cpu_cores"`  // of CPU, used by the process that watches
	Memory int64   `json:"memory_bytes"`     // of the machine
	Free   int64   `json:"available_bytes"`  // MemAvailable
	Cache  int64   `json:"page_cache_bytes"` // Cached
	Dirty  int64   `json:"dirty_bytes"`      // Dirty and Writeback

	Disks    []DiskVitals    `json:"disks,omitempty"`
	Networks []NetworkVitals `json:"networks,omitempty"`
	Brokers  []BrokerVitals  `json:"brokers,omitempty"` // Kafka's processes on this machine

	Unread int `json:"unread,omitempty"` // sources that could not be read: their fields are 0
}

// DiskVitals is how busy a disk was: a whole device, not its partitions.
type DiskVitals struct {
	Name    string  `json:"name"`
	Busy    float64 `json:"busy_share"`    // of the interval, in which it had at least one request; 0 to 1
	Read    int64   `json:"read_bytes"`    // in the interval
	Written int64   `json:"written_bytes"` // in the interval
}

// NetworkVitals is how busy a network interface was: one whose bytes leave the machine.
type NetworkVitals struct {
	Name     string `json:"name"`
	Sent     int64  `json:"sent_bytes"`     // in the interval
	Received int64  `json:"received_bytes"` // in the interval
	Speed    int64  `json:"speed_bits"`     // bits a second, each way; 0: not known
	Dropped  int64  `json:"dropped_packets,omitempty"`
}

// BrokerVitals is how a Kafka broker's JVM was, from its hsperfdata file.
type BrokerVitals struct {
	PID         int           `json:"pid"`
	Maps        int64         `json:"memory_maps,omitempty"`       // 0: not known
	MapsLimit   int64         `json:"memory_maps_limit,omitempty"` // vm.max_map_count
	HeapUsed    int64         `json:"heap_used_bytes"`
	HeapMax     int64         `json:"heap_max_bytes"`
	Collections int64         `json:"collections"` // in the interval
	GCTime      time.Duration `json:"gc_time_ns"`  // in the interval: with the world stopped, where the collector reports it
}
