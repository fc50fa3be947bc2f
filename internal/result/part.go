package result

import (
	"time"

	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// Part is the place of a run in a bigger run. Parts with the same name, or that were started together, are merged into one result.
type Part struct {
	Run     string `json:"run"`             // the name that ties the parts together: --run
	Epoch   string `json:"epoch,omitempty"` // random, and the same in all parts that were started together; "": this part was not
	Host    string `json:"host"`            // the agent's name; without an agent the machine's
	Process int    `json:"process"`         // its number on that host, from 1; 0: no load, the machine was watched
	Load    string `json:"load,omitempty"`  // its load of a workload; "": the run is no workload
	Asked   *Asked `json:"asked,omitempty"` // of a load that was captured: what the whole load was there, at the scale of this run; nil: it was not

	Role string   `json:"role,omitempty"` // of the host: "broker" or "client"; "": not known
	Tags []string `json:"tags,omitempty"` // of the host

	// Roster lists all hosts of parts that were started together, so that each part shows which are missing.
	Roster []Member `json:"roster,omitempty"`
	Limits []string `json:"limits,omitempty"` // of the whole run: no part is judged by them
}

// Member is one host of a run.
type Member struct {
	Host      string `json:"host"`
	Role      string `json:"role,omitempty"`             // "": not known
	Processes int    `json:"processes"`                  // with a load; 0: the host is only watched
	Before    int    `json:"processes_before,omitempty"` // how many processes of other loads of a workload have lower numbers
}

// Start is when the load of a run began.
type Start struct {
	At     time.Time `json:"at"` // by the clock of its host
	Agreed *Agreed   `json:"agreed,omitempty"`
}

// Agreed is the start that parts agreed on. It relates times of different hosts; their clocks do not.
type Agreed struct {
	At     time.Time     `json:"at"`              // by the coordinator's clock
	Late   time.Duration `json:"late_ns"`         // actual start of this load minus At
	Offset time.Duration `json:"clock_offset_ns"` // this host's clock minus the coordinator's, as estimated
	Bound  time.Duration `json:"clock_bound_ns"`  // largest error of Offset: half the shortest round trip
}

// PartState is what became of a part of a run.
type PartState string

// The states of a part. Only complete and stopped parts count in the figures of the whole, unless there are none.
const (
	PartComplete PartState = "complete"
	PartStopped  PartState = "interrupted" // ended by a person or a signal; the figures until then are right
	PartRunning  PartState = "running"     // a process was still writing its file when it was read
	PartLost     PartState = "lost"        // its file has no end: the process or its host went away
	PartLate     PartState = "late"        // it began too late to be measured with the others
	PartMissing  PartState = "missing"     // it is in the roster and has no run file
)

// Overlap is the time in which all parts that count were measured. If their starts, or their ends, are
// more than half a second apart, rates are over the overlap, which then has whole seconds.
type Overlap struct {
	FromSeconds float64 `json:"from_seconds"` // from the start of the earliest part
	ToSeconds   float64 `json:"to_seconds"`   // if not after FromSeconds, there is no overlap
	Seconds     float64 `json:"seconds"`      // 0: less than 1 s
	// Together reports whether all parts in which something was measured ran at one time, even if
	// they were measured one after the other. It is true for fewer than two.
	Together      bool    `json:"ran_together"`
	SpanSeconds   float64 `json:"span_seconds"` // from the start of the earliest part to the end of the last
	StartSpreadUS int64   `json:"start_spread_us"`
	Agreed        bool    `json:"agreed_start"`   // false: the spread is by each host's own clock
	ClockErrorUS  int64   `json:"clock_error_us"` // largest error of the spread: the sum of the two largest bounds; -1: not known
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

// Apart sums up the parts that do not count. They are in no other figure of the whole, and each has a row among the processes.
type Apart struct {
	Processes int      `json:"processes"`
	Records   Records  `json:"records"` // measured
	Reasons   []string `json:"reasons"` // a sentence for each process
}

// Figures are those of one process or host. Counts are its own and exact. Rates are over the same time
// as those of the whole, and for a process that does not count over the time in which it was
// measured. Figures of a host are of its processes that count.
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

	CPUCores          float64 `json:"cpu_cores_mean"` // of kt; 0: not known
	PeakResidentBytes int64   `json:"peak_resident_bytes"`
}

// NothingMeasured is the note of a process with a complete file and no measured record.
const NothingMeasured = "nothing was measured in it"

// ProcessRow is one process of a merged result.
type ProcessRow struct {
	Host    string    `json:"host"`
	Process int       `json:"process"`
	RunID   string    `json:"run_id"` // "": no run file
	Command string    `json:"command"`
	Topic   string    `json:"topic,omitempty"` // of processes that are not added up: all of its topics
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

// HostRow is one host of a merged result: the sum of its processes, and the use of its machine.
type HostRow struct {
	Host      string   `json:"host"`
	Role      string   `json:"role,omitempty"`
	Tags      []string `json:"tags,omitempty"`
	Processes int      `json:"processes"`
	Counted   int      `json:"counted_processes"`

	Figures
	Machine       string `json:"machine,omitempty"`         // maker and model; "": not known
	ClockOffsetUS *int64 `json:"clock_offset_us,omitempty"` // its clock minus the coordinator's; nil: not known
	ClockBoundUS  *int64 `json:"clock_bound_us,omitempty"`
	Busy          *Busy  `json:"busy,omitempty"` // nil: it was not watched
}

// Busy is the use of a host during the overlap, whoever used it. Each figure is of the seconds in which
// it could be read. Shares are from 0 to 1.
type Busy struct {
	Seconds       float64       `json:"seconds"`    // watched
	OfSeconds     float64       `json:"of_seconds"` // length of the overlap
	Cores         float64       `json:"cores"`      // 0: CPU counters could not be read
	CPUShare      float64       `json:"cpu_share"`
	StealShare    float64       `json:"steal_share"`  // of all cores
	IOWaitShare   float64       `json:"iowait_share"` // likewise
	AgentCores    float64       `json:"agent_cpu_cores"`
	MemoryBytes   int64         `json:"memory_bytes"`     // 0: it could not be read
	CacheBytes    int64         `json:"page_cache_bytes"` // mean
	DirtyBytesMax int64         `json:"dirty_bytes_max"`
	DirtyLimit    int64         `json:"dirty_background_bytes,omitempty"` // the lowest above which the kernel writes at once; 0: not known
	FlushSeconds  float64       `json:"flush_age_seconds,omitempty"`      // the age at which it writes dirty pages; 0: not known
	Hot           int64         `json:"thermal_throttles,omitempty"`      // times that a CPU was slowed down because it was too hot
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
	BusyShareMax float64 `json:"busy_share_max"` // of one second
}

// BusyNetwork is one network interface. Its shares are of its speed, 0 when that is not known.
type BusyNetwork struct {
	Name          string  `json:"name"`
	SpeedBits     int64   `json:"speed_bits_per_second"` // 0: not known
	SentMiB       float64 `json:"sent_mib_per_second"`
	ReceivedMiB   float64 `json:"received_mib_per_second"`
	SentShare     float64 `json:"sent_share"`
	ReceivedShare float64 `json:"received_share"`
	Dropped       int64   `json:"dropped_packets"`
}

// BusyBroker is one broker's JVM. The numbers but PID are 0 if it could not be read.
type BusyBroker struct {
	PID         int     `json:"pid"`
	Version     string  `json:"version,omitempty"`      // of Kafka, by the class path; "": not known
	FileSystems string  `json:"file_systems,omitempty"` // the kinds with its logs, "ext4 tmpfs"; "": not known
	MapsMax     int64   `json:"memory_maps_max,omitempty"`
	MapsLimit   int64   `json:"memory_maps_limit,omitempty"` // vm.max_map_count
	HeapUsedMax int64   `json:"heap_used_bytes_max"`
	HeapMax     int64   `json:"heap_max_bytes"`
	Collections int64   `json:"collections"`
	GCShare     float64 `json:"gc_share"` // of the time
}

// Known reports whether the JVM could be read.
func (b BusyBroker) Known() bool {
	return b != BusyBroker{PID: b.PID, Version: b.Version, FileSystems: b.FileSystems}
}

// Together has the findings on a merged run that the sum of its parts does not show.
type Together struct {
	verdict.Parts
	Overlap *stats.Window // counts in the overlap, if rates are over it; nil: rates are over the whole run
	Stall   stats.Gap
	Cores   float64 // used by all processes
}

func (f *Fold) throughput() Throughput {
	w := &f.total[stats.Measured]
	t := throughputOf(w)
	work := f.work(w)
	from, to := work.first, max(w.LastAck, work.last)
	if o := f.together.Overlap; o != nil {
		from, to = o.Start, o.End
		t.FirstDueSeconds, t.Seconds = from.Seconds(), o.Seconds()
		t.RecordsPerSecond, t.MiBPerSecond, t.OfferedRecordsPerSecond = o.RecordsPerSecond(), o.BytesPerSecond()/mib, float64(o.Offered)/t.Seconds
	}
	t.TargetRecordsPerSecond = f.schedule.Mean(from, to)
	return t
}

// JoinParts makes f the fold of a merged run.
func (f *Fold) JoinParts(t Together) { f.together = t }

// NewPartFold returns the fold of one part of many. It has no series, partitions or brokers, so that hundreds of folds fit into memory.
func NewPartFold(h Header) *Fold {
	f := NewFold(h)
	f.lean = true
	return f
}

// Total returns the sum of all windows of a phase so far. The caller must not change it.
func (f *Fold) Total(phase int) *stats.Window { return &f.total[phase] }
