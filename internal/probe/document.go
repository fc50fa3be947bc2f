package probe

import "time"

// Schema is the version of the document that Report is. It grows with any change
// that a reader of the older one would misread.
const Schema = 1

// Report is what a probe found. Every figure has its unit in its name: MiB are
// 1,048,576 bytes, MB are 1,000,000, latencies are microseconds.
type Report struct {
	Schema      int         `json:"schema"`
	Started     time.Time   `json:"started"`
	Seconds     float64     `json:"seconds"`
	Mode        Mode        `json:"mode"`
	Tests       []string    `json:"tests"`
	Machine     Machine     `json:"machine"`
	Directories []Directory `json:"directories"`
	Parallel    *Parallel   `json:"parallel,omitempty"`
	Comparison  *Comparison `json:"comparison,omitempty"` // with an earlier report; Run leaves it to its caller
	Grade       Grade       `json:"grade,omitempty"`      // the worst of all
	Interrupted bool        `json:"interrupted,omitempty"`
}

// Machine is what the tests ran on, as far as it bears on them.
type Machine struct {
	Hostname        string            `json:"hostname"`
	Kernel          string            `json:"kernel"`
	Machine         string            `json:"machine,omitempty"` // maker and model
	MemoryBytes     int64             `json:"memory_bytes"`
	LogicalCPUs     int               `json:"logical_cpus"`
	Container       string            `json:"container,omitempty"`
	Writeback       map[string]string `json:"writeback"`                   // the settings vm.dirty_*, by key
	DirtyLimitBytes int64             `json:"dirty_limit_bytes,omitempty"` // that may wait in memory before writers are held up
	CgroupIO        []string          `json:"cgroup_io,omitempty"`         // limits on kt's reads and writes of the probed devices, as io.max has them

	PressureBefore string   `json:"pressure_before,omitempty"` // /proc/pressure/io
	PressureAfter  string   `json:"pressure_after,omitempty"`
	Unavailable    []string `json:"unavailable,omitempty"` // what could not be read, and why
}

// Directory is one directory with all that was found there.
type Directory struct {
	Path       string   `json:"path"`
	FileSystem string   `json:"file_system"` // "xfs"
	MountPoint string   `json:"mount_point,omitempty"`
	Options    []string `json:"mount_options,omitempty"`
	Device     string   `json:"device,omitempty"` // "nvme0n1p1"
	Layers     []string `json:"layers,omitempty"` // between the file system and the disks: "raid0", "dm-crypt"
	Disks      []Disk   `json:"disks,omitempty"`
	Memory     string   `json:"memory,omitempty"` // what of it is memory and no disk: "loop0 in tmpfs". Nothing is graded then
	TotalBytes int64    `json:"total_bytes"`
	FreeBytes  int64    `json:"free_bytes"` // before the first test
	SizeBytes  int64    `json:"size_bytes"` // what the tests may fill

	Results []Result `json:"results,omitempty"`
	DD      []Row    `json:"dd,omitempty"`
	Notes   []string `json:"notes,omitempty"`
	Grade   Grade    `json:"grade,omitempty"` // the worst of its results

	// PlanMiBPerSecond is the rate to plan with: what append sustained. kt tune works
	// out other values from it. 0: append did not run to its end or not at full rate,
	// or found no rate of the device. Where the device never held the writers back
	// (Append.Limited) it is a lower bound, and Plan says so.
	PlanMiBPerSecond float64 `json:"plan_mib_per_second,omitempty"`
	Plan             string  `json:"plan,omitempty"` // in words: "plan with 941 MiB/s", "plan with at least 941 MiB/s"
}

// Disk is one of the disks that a directory is on.
type Disk struct {
	Name        string `json:"name"`
	Model       string `json:"model,omitempty"`
	Rotational  bool   `json:"rotational"` // as the kernel says: virtual disks commonly claim it
	SizeBytes   int64  `json:"size_bytes,omitempty"`
	Scheduler   string `json:"scheduler,omitempty"`
	ReadAheadKB int64  `json:"read_ahead_kb,omitempty"`
	Requests    int64  `json:"nr_requests,omitempty"`
	WriteCache  string `json:"write_cache,omitempty"`
}

// Result is one test in one directory, without its warm-up.
type Result struct {
	Test         string  `json:"test"`
	What         string  `json:"what"` // in words: "direct writes of 1 MiB, 4 at a time"
	Seconds      float64 `json:"seconds"`
	Bytes        int64   `json:"bytes"`          // of the operations that were timed: those that began after the warm-up
	Operations   int64   `json:"operations"`     // that were timed
	MiBPerSecond float64 `json:"mib_per_second"` // by all calls that returned in these seconds

	// DeviceMiBPerSecond is what the kernel counted on the device meanwhile, other
	// programs' included; nil: it does not count there.
	DeviceMiBPerSecond *float64 `json:"device_mib_per_second,omitempty"`

	Latency Latency  `json:"latency_us"`
	Alone   *Latency `json:"latency_alone_us,omitempty"` // commit, mixed: without what disturbs it
	Stalls  Stalls   `json:"stalls"`

	// LatencyUngraded tells that the latencies are not, or not only, what the disk
	// does, and are held against no threshold; a note says why.
	LatencyUngraded bool `json:"latency_ungraded,omitempty"`

	Append   *Append   `json:"append,omitempty"`
	Read     *float64  `json:"read_mib_per_second,omitempty"` // mixed
	Series   []Second  `json:"series,omitempty"`
	Spread   Spread    `json:"spread"`
	CPU      float64   `json:"cpu_seconds"` // that kt used
	Findings []Finding `json:"findings,omitempty"`
	Grade    Grade     `json:"grade,omitempty"` // the worst of its findings
	Notes    []string  `json:"notes,omitempty"`
}

// Append is what only the test append finds.
type Append struct {
	BurstMiBPerSecond     float64 `json:"burst_mib_per_second"`     // until the device held it back
	SustainedMiBPerSecond float64 `json:"sustained_mib_per_second"` // what reached the device from then on; 0: that was not found
	ThrottledAfterSeconds float64 `json:"throttled_after_seconds,omitempty"`
	Limited               bool    `json:"limited"`       // the device held the writers back in the end
	Steady                bool    `json:"steady"`        // its rate was even before the time was up
	From                  string  `json:"from"`          // "device": counted by the kernel there; "writes": by the calls, that synced each file when it was full
	Cut                   bool    `json:"cut,omitempty"` // it was ended before its time

	// WaitedSeconds is how long the writers waited, between appends, until a file was
	// on the device, so as not to fill more than the size. Where they did not wait,
	// the kernel's own dirty limit was met first.
	WaitedSeconds float64 `json:"waited_seconds"`
}

// Latency is one distribution in microseconds.
type Latency struct {
	Count int64   `json:"count"`
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p99_9"`
	Max   float64 `json:"max"`
}

// Stalls counts the operations that took longer than a limit.
type Stalls struct {
	Over10ms  int64 `json:"over_10_ms"`
	Over50ms  int64 `json:"over_50_ms"`
	Over500ms int64 `json:"over_500_ms"`
}

// Second is one second of a test. The last one may be shorter; rates are over
// what it was.
type Second struct {
	At     float64  `json:"at"` // its end, in seconds from the start of the test
	Rate   float64  `json:"mib_per_second"`
	Device *float64 `json:"device_mib_per_second,omitempty"`
}

// Spread is how even the seconds of a test were.
type Spread struct {
	Seconds    int     `json:"seconds,omitempty"` // that it is over; those of append begin when it was held back
	CV         float64 `json:"cv"`                // standard deviation over mean; 0 of fewer than two seconds
	FirstThird float64 `json:"first_third"`       // MiB/s
	LastThird  float64 `json:"last_third"`        // MiB/s
}

// Row is one row of the dd table.
type Row struct {
	Block       int64   `json:"block_bytes"`
	Count       int64   `json:"count"` // blocks written
	Direct      bool    `json:"direct"`
	PageCache   bool    `json:"page_cache"` // the rate is that of memory, at least in part
	Seconds     float64 `json:"seconds"`
	MBPerSecond float64 `json:"mb_per_second"` // as dd prints it: 1,000,000 bytes, without a sync
	CPUPercent  float64 `json:"cpu_percent"`   // of one core
	Cut         bool    `json:"cut,omitempty"` // the time was up before all blocks were written
	Command     string  `json:"command"`       // of dd, that does the same
	Latency     Latency `json:"latency_us"`
}

// Parallel is write in all directories at once.
type Parallel struct {
	MiBPerSecond      []float64 `json:"mib_per_second"`       // in the order of the directories
	AloneMiBPerSecond []float64 `json:"alone_mib_per_second"` // the same one at a time
	Sum               float64   `json:"sum_mib_per_second"`
	Efficiency        float64   `json:"efficiency"`       // the sum over the sum of those alone
	Shared            []string  `json:"shared,omitempty"` // disks that more than one directory is on
	Findings          []Finding `json:"findings"`
	Grade             Grade     `json:"grade"`
}

// Progress is how a probe goes, told about four times a second.
type Progress struct {
	Dir          string
	Test         string
	Step, Steps  int // this test, of all in all directories
	Elapsed      time.Duration
	Duration     time.Duration // of this test at most
	MiBPerSecond float64       // by the calls, over the last quarter of a second
	Device       float64       // the same on the device; below 0: not known
	Preparing    bool          // files are laid out, or it warms up
}
