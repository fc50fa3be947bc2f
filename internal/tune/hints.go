package tune

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/theme"
)

// Hint is a value for a broker on this machine, which kt prints and never sets.
type Hint struct {
	Name  string `json:"name"`  // "num.io.threads"
	Value string `json:"value"` // as the file or variable takes it
	Where Where  `json:"where"`
	// Formula is how the value was found, with this machine's numbers.
	Formula string `json:"formula"`
	Source  string `json:"source"`
}

// Where is where a hint's value is set.
type Where string

// The places.
const (
	Environment Where = "environment"       // of the process: systemd's Environment=, or the shell
	Properties  Where = "server.properties" // of each broker
	Cluster     Where = "cluster"           // when topics are made, or for planning
	System      Where = "system"            // of the machine: limits and kernel settings
)

// HintOptions are what a machine cannot know of its cluster.
type HintOptions struct {
	Brokers int // in the cluster; 0: not known
}

// hintRow is a hint before a machine is known.
type hintRow struct {
	name       string
	where      Where
	controller bool // also for a machine that is only a controller
	source     string
	value      func(f facts) (value, formula string) // no value: a number that it needs is not known
}

// The sources of several hints.
const (
	fromKafka = "Kafka documentation, "
	fromJava  = fromKafka + "Operations: Java"
	fromPages = fromKafka + "Broker configs"
	strimzi   = "Strimzi: broker tuning"
	confluent = "Confluent Platform: production deployment"
	ownIdea   = "kt's proposal"
)

const kernelSizes = "the kernel sizes them by itself, up to tcp_rmem and tcp_wmem; across a wide network set bandwidth × round trip"

// hintRows are all hints in the order in which they are shown.
var hintRows = []hintRow{
	{"KAFKA_HEAP_OPTS", Environment, true, fromJava + "; " + confluent + "; " + ownIdea, facts.heapOptions},
	{"KAFKA_JVM_PERFORMANCE_OPTS", Environment, true, fromJava, facts.flags},
	{"num.io.threads", Properties, false, fromPages + "; " + strimzi + "; " + ownIdea, facts.ioThreads},
	{"num.network.threads", Properties, false, fromPages + "; Intel: Kafka tuning guide; " + ownIdea, facts.networkThreads},
	{"num.recovery.threads.per.data.dir", Properties, false, strimzi, func(f facts) (string, string) {
		return number(recoveryThreads(f.CPUs, f.dirs), "%s shared by %s", f.perCPU, f.perDir)
	}},
	{"socket.send.buffer.bytes", Properties, true, fromPages + "; " + strimzi, func(facts) (string, string) { return "-1", kernelSizes }},
	{"socket.receive.buffer.bytes", Properties, true, fromPages + "; " + strimzi, func(facts) (string, string) { return "-1", kernelSizes }},
	{"socket.listen.backlog.size", Properties, true, "Kafka source: SocketServerConfigs; " + ownIdea, facts.backlog},
	{"num.replica.fetchers", Properties, false, "Amazon MSK: default configuration; " + ownIdea, facts.fetchers},
	{"partitions of a topic", Cluster, false, ownIdea + ": every disk gets a leader", func(f facts) (string, string) {
		return number(f.dirs*f.brokers, "%s × %s", plural(float64(f.brokers), "broker"), f.perDir)
	}},
	{"partitions of a topic, per broker", Cluster, false, ownIdea + ": every disk gets a leader", func(f facts) (string, string) {
		if f.brokers > 0 || f.dirs == 0 {
			return "", ""
		}
		return strconv.Itoa(f.dirs), f.perDir + " on each broker; multiply by the number of brokers"
	}},
	{"partitions of a broker, at most", Cluster, false, "Amazon MSK: best practices", facts.mostPartitions},
	{"nofile", System, false, fromKafka + "Operations: OS; " + ownIdea, func(f facts) (string, string) {
		return number(f.counted(max(100000, f.segments*9/2+2*connectionsMeant+10000)),
			"max(100000, 3 × %d segments × 1.5 + 2 × %d connections + 10000)", f.segments, connectionsMeant)
	}},
	{"vm.max_map_count", System, false, fromKafka + "Operations: OS; " + confluent, func(f facts) (string, string) {
		return number(f.counted(max(262144, 3*f.segments+65530)), "max(262144, 2 × %d segments × 1.5 + 65530)", f.segments)
	}},
	{"page cache", System, false, fromKafka + "Operations: Hardware and OS", facts.pageCache},
}

// Hints are the values for a broker on this machine, or for a controller if that is
// its role. Those whose numbers are not known are left out. They depend on m alone,
// and nothing is changed.
func Hints(m *Machine, o HintOptions) []Hint {
	f := facts{
		Machine: m, brokers: o.Brokers, partitions: partitionsHere(m), dirs: len(m.Dirs),
		perCPU: plural(m.CPUs, "CPU"), perDir: plural(float64(len(m.Dirs)), "log directory"),
	}
	for _, d := range m.Dirs {
		f.segments += d.Segments
		f.hidden = f.hidden || d.ListErr != nil
	}
	var all []Hint
	for _, row := range hintRows {
		if m.Role == Controller && !row.controller {
			continue
		}
		if value, formula := row.value(f); value != "" {
			all = append(all, Hint{row.name, value, row.where, formula, row.source})
		}
	}
	return all
}

// Fragment is the part of a server.properties file that sets the hints that belong
// there, each below its formula.
func Fragment(hints []Hint) string {
	var b strings.Builder
	for _, h := range hints {
		if h.Where == Properties {
			fmt.Fprintf(&b, "# %s\n%s=%s\n", h.Formula, h.Name, h.Value)
		}
	}
	return b.String()
}

// facts are what hints are worked out from.
type facts struct {
	*Machine
	brokers, partitions, dirs, segments int
	hidden                              bool   // some segments could not be counted
	perCPU, perDir                      string // "16 CPUs", "7 log directories"
}

// number is a value with its formula; none below 1.
func number(n int, formula string, args ...any) (string, string) {
	if n <= 0 {
		return "", ""
	}
	text := strconv.Itoa(n)
	return text, fmt.Sprintf(formula, args...) + " = " + text
}

// heapFor is the heap of a broker, in bytes, for so much memory and so many
// partitions; 0 when the memory is not known. It is kt's own, within what the
// sources say: about 6 GiB on large machines, no more than half on small ones.
func heapFor(memory int64, partitions int) int64 {
	n, _ := heapFormula(memory, partitions)
	return n
}

const heapStep = 256 * mib // so that the option is a round number

func heapFormula(memory int64, partitions int) (n int64, formula string) {
	switch size := theme.Bytes(memory); {
	case memory <= 0:
		return 0, ""
	case memory < 4*gib:
		n, formula = min(1*gib, memory/2), fmt.Sprintf("min(1 GiB, half of %s)", size)
	case memory < 16*gib:
		n, formula = min(4*gib, memory/2), fmt.Sprintf("min(4 GiB, half of %s)", size)
	default:
		n, formula = min(max(memory/4, 4*gib), 6*gib), fmt.Sprintf("clamp(a quarter of %s, 4 GiB, 6 GiB)", size)
	}
	if more := int64(partitions-4000) / 1000; more > 0 && memory >= 32*gib {
		n = min(n+more*gib, 12*gib)
		formula = fmt.Sprintf("min(%s + 1 GiB for each 1000 of the %d partitions beyond 4000, 12 GiB)", formula, partitions)
	}
	if n > heapStep {
		n = n / heapStep * heapStep
	}
	return n, formula + " = " + theme.Bytes(n)
}

func (f facts) heapOptions() (value, formula string) {
	n, formula := heapFormula(f.Memory, f.partitions)
	if f.Role == Controller && f.Memory > 0 {
		n = min(max(f.Memory/4, 1*gib), 4*gib) / heapStep * heapStep
		formula = fmt.Sprintf("clamp(a quarter of %s, 1 GiB, 4 GiB) = %s", theme.Bytes(f.Memory), theme.Bytes(n))
	}
	if n <= 0 {
		return "", ""
	}
	start := n
	if f.Profile != nil && f.Profile.Name == "minimal" {
		start = min(n, 256*mib)
		formula += "; it starts with 256 MiB in the profile minimal"
	}
	return fmt.Sprintf("-Xms%s -Xmx%s", heapOption(start), heapOption(n)), formula
}

// flags are those of Kafka's documentation. Regions of 16 MiB are left out for a small heap, which would have too few
// of them.
func (f facts) flags() (value, formula string) {
	flags := scriptFlags + " -XX:MetaspaceSize=96m -XX:MinMetaspaceFreeRatio=50 -XX:MaxMetaspaceFreeRatio=80"
	if f.Role != Controller && heapFor(f.Memory, f.partitions) >= 4*gib {
		flags += " -XX:G1HeapRegionSize=16M"
	}
	if f.Profile != nil && f.Profile.Name == "latency" {
		flags += " -XX:+AlwaysPreTouch"
	}
	return flags, "the flags that Kafka documents; they replace those of its script"
}

func clamp(n, low, high int) int { return min(max(n, low), high) }

// plural is "1 CPU", "2 CPUs". A CPU limit may be no whole number.
func plural(n float64, thing string) string {
	text := strconv.FormatFloat(n, 'f', -1, 64)
	if n == 1 {
		return text + " " + thing
	}
	if before, ok := strings.CutSuffix(thing, "y"); ok {
		return text + " " + before + "ies"
	}
	return text + " " + thing + "s"
}

// whole is how many threads can run at a time on so many CPUs.
func whole(cpus float64) int { return max(int(math.Ceil(cpus)), 1) }

// hardDisks reports whether all log directories are on hard disks. What a virtual
// machine calls a hard disk commonly is none.
func hardDisks(m *Machine) bool {
	var disks []bool
	for _, d := range m.Dirs {
		for _, disk := range d.Storage.Disks {
			disks = append(disks, disk.Rotational && m.Virtual == "")
		}
	}
	return len(disks) > 0 && !slices.Contains(disks, false)
}

// ioThreads is num.io.threads.
func ioThreads(cpus float64, dirs int, hard bool) int {
	if hard {
		return clamp(2*dirs, 8, 32)
	}
	return clamp(max(dirs, whole(cpus)), 8, 32)
}

func (f facts) ioThreads() (value, formula string) {
	n := ioThreads(f.CPUs, f.dirs, hardDisks(f.Machine))
	switch {
	case f.CPUs <= 0:
		return "", ""
	case hardDisks(f.Machine):
		return number(n, "clamp(2 × %s on hard disks, 8, 32)", f.perDir)
	}
	return number(n, "clamp(max(%s, %s), 8, 32)", f.perDir, f.perCPU)
}

// encrypts reports whether a listener of the broker uses TLS.
func encrypts(c Config) bool {
	return strings.Contains(strings.ToUpper(c.Get("listeners", "")+c.Get("listener.security.protocol.map", "")), "SSL")
}

// networkThreads is num.network.threads; 0 when the number of CPUs is not known.
func networkThreads(cpus float64, encrypted bool) int {
	if cpus <= 0 {
		return 0
	}
	n := clamp(whole(cpus)/2, 3, 16)
	if encrypted {
		n = max(n, min(2*n, whole(cpus)))
	}
	return n
}

func (f facts) networkThreads() (value, formula string) {
	n, twice := networkThreads(f.CPUs, encrypts(f.Config)), ""
	if encrypts(f.Config) {
		twice = ", twice that for TLS, at most " + f.perCPU
	}
	return number(n, "clamp(%s / 2, 3, 16)%s", f.perCPU, twice)
}

// recoveryThreads is num.recovery.threads.per.data.dir; 0 when not known.
func recoveryThreads(cpus float64, dirs int) int {
	if cpus <= 0 || dirs <= 0 {
		return 0
	}
	return (whole(cpus) + dirs - 1) / dirs
}

func (f facts) backlog() (value, formula string) {
	if n, err := f.Number("proc/sys/net/core/somaxconn"); err == nil && n > 0 {
		return number(int(min(1024, n)), "min(1024, net.core.somaxconn %d)", n)
	}
	return "1024", "1024, for many clients that connect at once"
}

// replicaFetchers is num.replica.fetchers of a cluster of more than two brokers.
func replicaFetchers(partitions int) int { return clamp((partitions+999)/1000, 2, 4) }

func (f facts) fetchers() (value, formula string) {
	switch {
	case f.brokers <= 0:
		return "", ""
	case f.brokers > 2:
		return number(replicaFetchers(f.partitions), "clamp(%s / 1000, 2, 4)", plural(float64(f.partitions), "partition"))
	}
	return "1", "1 for " + plural(float64(f.brokers), "broker")
}

// partitionLimit is how many partitions Amazon advises for a broker of so many CPUs.
func partitionLimit(cpus float64) int {
	switch {
	case cpus >= 16:
		return 4000
	case cpus >= 8:
		return 2000
	}
	return 1000
}

func (f facts) mostPartitions() (value, formula string) {
	if f.CPUs <= 0 {
		return "", ""
	}
	n := partitionLimit(f.CPUs)
	return strconv.Itoa(n), fmt.Sprintf("%s: %d; there are %d", f.perCPU, n, f.partitions)
}

// counted is a number that depends on the segments; 0 if some could not be counted, for one that is too low would be bad
// advice.
func (f facts) counted(n int) int {
	if f.hidden {
		return 0
	}
	return n
}

// connectionsMeant is for how many connections a broker's file limit is worked out.
const connectionsMeant = 10000

// pageCache is how much is left for the page cache, and at which rate of writing
// that holds the last 30 seconds.
func (f facts) pageCache() (value, formula string) {
	heap := heapFor(f.Memory, f.partitions) // the one that is hinted at, whatever runs now
	cache := f.Memory - heap - 3*gib/2
	if f.Memory <= 0 || cache <= 0 {
		return "", ""
	}
	holds := fmt.Sprintf("30 s of %d MiB/s", cache/30/mib)
	if f.Bandwidth > 0 {
		holds = fmt.Sprintf("%d s of the %d MiB/s that the slowest disk writes", cache/f.Bandwidth, f.Bandwidth/mib)
	}
	return theme.Bytes(cache), fmt.Sprintf("%s − %s heap − 1.5 GiB; it holds %s", theme.Bytes(f.Memory), theme.Bytes(heap), holds)
}
