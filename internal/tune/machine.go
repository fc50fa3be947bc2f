package tune

import (
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/host/jvm"
)

// Machine is everything that checks look at. What is costly to find, or needed by
// several, is found once, by [Look]; the rest a check reads from the tree itself.
type Machine struct {
	host.FS
	Calls host.Calls

	Role     Role
	RoleFrom string // how it was found: "--role", "process 4711"
	Profile  *Profile

	Hostname string
	Kernel   string      // "6.8.0-45-generic"
	CPUs     float64     // that the broker, or kt, may use: of the machine, its cpuset and its CPU limit
	Logical  int         // CPUs of the machine
	Memory   int64       // bytes: of the machine, or the cgroup's limit if it is lower
	MemTotal int64       // bytes of the machine
	Cgroup   host.Cgroup // of the broker, or of kt

	Container string // "docker", "podman", "kubernetes"; "" for none
	Virtual   string // "kvm", "xen", "vmware", "hyperv", "virtual"; "" on bare metal
	Cloud     string // "aws", "gcp", "azure"; "" for none that is known

	Brokers int      // how many brokers and controllers run here, of those that were asked for
	Process *Process // the first of them: the broker or controller that runs here; nil for none
	Config  Config   // the broker's settings, of the file that it was started with
	Dirs    []Dir    // its log directories, or those of --dirs

	NICs    []NIC
	Sysctls map[string][]host.Sysctl // what files set at boot, see [host.FS.Sysctls]

	// What the kernel counted before and after an interval of some seconds, or
	// twice the same with an interval of 0.
	Before, After host.Counters
	Interval      time.Duration

	// Bandwidth is what the slowest log directory can write for long, in bytes a
	// second, as kt probe measured it; 0: not measured.
	Bandwidth int64

	// Unit is the systemd unit of the broker, also of one that does not run: "" where
	// none is known.
	Unit string

	// OtherNetwork says why the network that kt sees is not the one that matters; "":
	// it is.
	OtherNetwork string

	own    []host.Mount // the mounts that kt sees
	ownErr error

	pick   string   // the flag with which a suggested kt tune looks at the same broker, with a space before it
	unkept []Change // of values that kt set for now only
}

// Process is a broker or controller that runs here.
type Process struct {
	host.Process
	JVM     jvm.Flags
	Perf    jvm.Perf
	PerfErr error // nil: Perf was read
}

// Dir is a log directory.
type Dir struct {
	Path    string
	File    string // where kt finds it, without links on the way: of a broker in a container below /proc/PID/root
	Mount   host.Mount
	Storage host.Storage
	Space   host.Space
	Err     error // why the rest is not known

	// What is in it. Partitions and Segments are 0 when it may not be read, and
	// ListErr says why.
	Partitions, Segments int
	ListErr              error
}

// NIC is a network card, or in a container an interface, that is up.
type NIC struct {
	Name     string
	Ethernet host.Ethernet
	Err      error // why Ethernet is not known
}

// Config is a broker's settings.
type Config struct {
	File    string            // "/etc/kafka/server.properties"; "" for none
	Values  map[string]string // what the file and --override set
	WorkDir string            // of the process: paths in the file may be relative to it
	Err     error             // why the file could not be read: then nothing is known of what it sets
}

// Get is a setting, or Kafka's default when it is not set.
func (c Config) Get(name, unset string) string {
	if v, ok := c.Values[name]; ok {
		return v
	}
	return unset
}

// Delta is by how much one of the kernel's counters grew over the interval. seen
// tells that it could be read.
func Delta(before, after map[string]int64, name string) (n int64, seen bool) {
	b, ok := before[name]
	a, ok2 := after[name]
	return a - b, ok && ok2
}
