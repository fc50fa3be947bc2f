package result

import (
	"time"

	"github.com/kt-bench/kt/internal/result/verdict"
)

// Part is the place of a run in a bigger one. Parts with one name, and those
// that were started together, are merged into one result.
type Part struct {
	Run     string `json:"run"`             // the name that ties the parts together: --run
	Epoch   string `json:"epoch,omitempty"` // of parts that were started together, drawn at random; "": each by itself
	Host    string `json:"host"`            // the agent's name; without an agent the machine's
	Process int    `json:"process"`         // its number on that host, from 1; 0: no load, the machine was watched

	Role string   `json:"role,omitempty"` // of the host: "broker" or "client"; "": nobody said
	Tags []string `json:"tags,omitempty"` // of the host

	// Roster is who takes part, of parts that were started together: so each part
	// shows which are missing.
	Roster []Member `json:"roster,omitempty"`
}

// Member is one host of those that take part in a run.
type Member struct {
	Host      string `json:"host"`
	Role      string `json:"role,omitempty"` // "": not known
	Processes int    `json:"processes"`      // that make a load; 0: it is only watched
}

// Start is when the load of a run began.
type Start struct {
	At     time.Time `json:"at"` // by the clock of its host
	Agreed *Agreed   `json:"agreed,omitempty"`
}

// Agreed is the start that parts agreed on. Times of different hosts are compared by it
// and never by their clocks.
type Agreed struct {
	At     time.Time     `json:"at"`              // by the coordinator's clock
	Late   time.Duration `json:"late_ns"`         // by how much later this load really began; below 0: earlier
	Offset time.Duration `json:"clock_offset_ns"` // this host's clock minus the coordinator's, as estimated
	Bound  time.Duration `json:"clock_bound_ns"`  // the estimate is wrong by at most so much: half the shortest round trip
}

// PartState is what became of a part of a run.
type PartState string

// The states of a part. Only what is Complete or Stopped counts in the figures of the
// whole, unless nothing is.
const (
	PartComplete PartState = "complete"
	PartStopped  PartState = "interrupted" // somebody ended it: what was measured until then is right
	PartLost     PartState = "lost"        // its file has no end: the process or its host went away
	PartLate     PartState = "late"        // it began too late to be measured with the others
	PartMissing  PartState = "missing"     // it took part, and nothing is there of it
)

// Overlap is the time in which all parts that count were measured. All rates of a merged
// result are over it.
type Overlap struct {
	FromSeconds float64 `json:"from_seconds"` // from the start of the earliest part
	ToSeconds   float64 `json:"to_seconds"`   // not after FromSeconds: there is none
	Seconds     float64 `json:"seconds"`      // 0: it is below 1 s, and rates are over Throughput.Seconds
	// Those in which something was measured ran at one time, even if they were measured one
	// after the other; true if they are fewer than two.
	Together      bool    `json:"ran_together"`
	SpanSeconds   float64 `json:"span_seconds"` // from the start of the earliest part to the end of the last
	StartSpreadUS int64   `json:"start_spread_us"`
	Agreed        bool    `json:"agreed_start"`   // the parts were started together; else the spread is by each host's own clock
	ClockErrorUS  int64   `json:"clock_error_us"` // by how much the spread may be wrong: the two largest bounds; -1: nobody knows
}

// MergedFile is one run file that a merged result was made of.
type MergedFile struct {
	SHA256    string    `json:"sha256"`
	Bytes     int64     `json:"bytes"`
	RunID     string    `json:"run_id"`
	Host      string    `json:"host"`
	Process   int       `json:"process"` // 0: the machine was watched
	State     PartState `json:"state"`
	Counted   bool      `json:"counted"` // its records are in the figures of the whole
	KTVersion string    `json:"kt_version"`
}

// Apart is what is there of parts that do not count: it is in no other figure of the
// whole. Each has its own figures among the processes.
type Apart struct {
	Processes int      `json:"processes"`
	Records   Records  `json:"records"` // of the measured part of those that left something
	Reasons   []string `json:"reasons"` // a sentence for each process
}

// Figures are what one process or host did: counts are its own and exact, rates are over
// the Overlap. Those of a process that does not count are over the time in which it was
// measured; a host's are of its processes that count.
type Figures struct {
	Records           Records `json:"records"`
	Errors            Errors  `json:"errors" of:"writing"`
	Bytes             int64   `json:"bytes" of:"writing"`          // acknowledged
	ConsumedBytes     int64   `json:"consumed_bytes" of:"reading"` // read
	RecordsPerSecond  float64 `json:"records_per_second" of:"writing"`
	MiBPerSecond      float64 `json:"mib_per_second" of:"writing"`
	ConsumedPerSecond float64 `json:"consumed_records_per_second" of:"reading"`
	ConsumedMiB       float64 `json:"consumed_mib_per_second" of:"reading"`
	Response          Latency `json:"response_us,omitzero" of:"writing"`
	Service           Latency `json:"service_us,omitzero" of:"writing"`

	EndToEnd *Latency `json:"end_to_end_us,omitempty"`

	CPUCores          float64 `json:"cpu_cores_mean"` // of kt; 0: it is not known
	PeakResidentBytes int64   `json:"peak_resident_bytes"`
}

// NothingMeasured is the note of a process whose file is whole and has no record that
// counts.
const NothingMeasured = "nothing was measured in it"

// ProcessRow is one process of a merged result.
type ProcessRow struct {
	Host    string    `json:"host"`
	Process int       `json:"process"`
	RunID   string    `json:"run_id"` // "": nothing is there of it
	Command string    `json:"command"`
	State   PartState `json:"state"`
	Counted bool      `json:"counted"`
	Note    string    `json:"note,omitempty"` // what happened to it

	Figures
	CoresAvailable float64         `json:"cores_available"`
	Valid          bool            `json:"valid"`
	Invalid        []string        `json:"invalid_reasons"`
	BoundBy        verdict.Verdict `json:"bound_by"` // by itself
	StartLateUS    *int64          `json:"start_late_us,omitempty"`
	FromSeconds    float64         `json:"from_seconds"` // measured, from the start of the earliest part
	ToSeconds      float64         `json:"to_seconds"`
}

// HostRow is one host of a merged result: what its processes did together, and how busy
// it was.
type HostRow struct {
	Host      string   `json:"host"`
	Role      string   `json:"role,omitempty"`
	Tags      []string `json:"tags,omitempty"`
	Processes int      `json:"processes"`
	Counted   int      `json:"counted_processes"`

	Figures
	ClockOffsetUS *int64 `json:"clock_offset_us,omitempty"` // its clock minus the coordinator's; nil: nobody compared them
	ClockBoundUS  *int64 `json:"clock_bound_us,omitempty"`
	Busy          *Busy  `json:"busy,omitempty"` // nil: nobody watched it
}

// Busy is how busy a host was during the overlap, each figure of the seconds in which it
// could be read. Shares are from 0 to 1.
type Busy struct {
	Seconds       float64       `json:"seconds"`    // that were watched
	OfSeconds     float64       `json:"of_seconds"` // that there were to watch
	Cores         float64       `json:"cores"`      // 0: how busy its CPUs were could not be read
	CPUShare      float64       `json:"cpu_share"`
	StealShare    float64       `json:"steal_share"`  // of all cores
	IOWaitShare   float64       `json:"iowait_share"` // likewise
	AgentCores    float64       `json:"agent_cpu_cores"`
	MemoryBytes   int64         `json:"memory_bytes"`     // 0: it could not be read
	CacheBytes    int64         `json:"page_cache_bytes"` // mean
	DirtyBytesMax int64         `json:"dirty_bytes_max"`
	Disks         []BusyDisk    `json:"disks,omitempty"`
	Networks      []BusyNetwork `json:"networks,omitempty"`
	Brokers       []BusyBroker  `json:"brokers,omitempty"`
}

// BusyDisk is one disk.
type BusyDisk struct {
	Name         string  `json:"name"`
	BusyShare    float64 `json:"busy_share"`
	ReadMiB      float64 `json:"read_mib_per_second"`
	WrittenMiB   float64 `json:"written_mib_per_second"`
	BusyShareMax float64 `json:"busy_share_max"` // of a second
}

// BusyNetwork is one network interface. Its shares are of its speed, 0 when that is not
// known.
type BusyNetwork struct {
	Name          string  `json:"name"`
	SpeedBits     int64   `json:"speed_bits_per_second"` // 0: it does not tell
	SentMiB       float64 `json:"sent_mib_per_second"`
	ReceivedMiB   float64 `json:"received_mib_per_second"`
	SentShare     float64 `json:"sent_share"`
	ReceivedShare float64 `json:"received_share"`
	Dropped       int64   `json:"dropped_packets"`
}

// BusyBroker is one broker's JVM. All is 0 where it could not be read.
type BusyBroker struct {
	PID         int     `json:"pid"`
	HeapUsedMax int64   `json:"heap_used_bytes_max"`
	HeapMax     int64   `json:"heap_max_bytes"`
	Collections int64   `json:"collections"`
	GCShare     float64 `json:"gc_share"` // of the time
}

// Known reports whether the JVM could be read.
func (b BusyBroker) Known() bool { return b != BusyBroker{PID: b.PID} }
