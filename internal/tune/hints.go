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

// Hints are the values for a broker on this machine, or for a controller if that is
// its role. Those whose numbers are not known are left out. They depend on m alone,
// and nothing is changed.
func Hints(m *Machine, o HintOptions) []Hint {
	if m.Role == Controller {
		return slices.Concat(environmentHints(m), connectionHints(m))
	}
	return slices.Concat(environmentHints(m), threadHints(m), connectionHints(m), clusterHints(m, o), systemHints(m))
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

// heapFor is the heap of a broker, in bytes, for so much memory and so many
// partitions; 0 when the memory is not known. It is kt's own, within what the
// sources say: about 6 GiB on large machines, no more than half on small ones.
func heapFor(memory int64, partitions int) int64 {
	n, _ := heapFormula(memory, partitions)
	return n
}

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
	const step = 256 * mib // so that the option is a round number
	if n > step {
		n = n / step * step
	}
	return n, formula + " = " + theme.Bytes(n)
}

// controllerHeap is the heap of a machine that is only a controller, in bytes.
func controllerHeap(memory int64) (n int64, formula string) {
	if memory <= 0 {
		return 0, ""
	}
	const step = 256 * mib
	n = min(max(memory/4, 1*gib), 4*gib) / step * step
	return n, fmt.Sprintf("clamp(a quarter of %s, 1 GiB, 4 GiB) = %s", theme.Bytes(memory), theme.Bytes(n))
}

func environmentHints(m *Machine) []Hint {
	var all []Hint
	n, formula := heapFormula(m.Memory, partitionsHere(m))
	if m.Role == Controller {
		n, formula = controllerHeap(m.Memory)
	}
	if n > 0 {
		start := n
		if m.Profile != nil && m.Profile.Name == "minimal" {
			start = min(n, 256*mib)
			formula += "; it starts with 256 MiB in the profile minimal"
		}
		all = append(all, Hint{
			Name: "KAFKA_HEAP_OPTS", Value: fmt.Sprintf("-Xms%s -Xmx%s", heapOption(start), heapOption(n)),
			Where: Environment, Formula: formula,
			Source: "Kafka documentation, Operations: Java; Confluent Platform: production deployment; kt's proposal",
		})
	}
	return append(all, Hint{
		Name: "KAFKA_JVM_PERFORMANCE_OPTS", Value: collectorFlags(m), Where: Environment,
		Formula: "the flags that Kafka documents; they replace those of its script",
		Source:  "Kafka documentation, Operations: Java",
	})
}

// collectorFlags are the flags of Kafka's documentation. Regions of 16 MiB are left
// out for a small heap, which would have too few of them.
func collectorFlags(m *Machine) string {
	flags := scriptFlags + " -XX:MetaspaceSize=96m -XX:MinMetaspaceFreeRatio=50 -XX:MaxMetaspaceFreeRatio=80"
	if m.Role != Controller && heapFor(m.Memory, partitionsHere(m)) >= 4*gib {
		flags += " -XX:G1HeapRegionSize=16M"
	}
	if m.Profile != nil && m.Profile.Name == "latency" {
		flags += " -XX:+AlwaysPreTouch"
	}
	return flags
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

// ioThreads is num.io.threads.
func ioThreads(cpus float64, dirs int, hard bool) int {
	if hard {
		return clamp(2*dirs, 8, 32)
	}
	return clamp(max(dirs, whole(cpus)), 8, 32)
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

// replicaFetchers is num.replica.fetchers of a cluster of more than two brokers.
func replicaFetchers(partitions int) int { return clamp((partitions+999)/1000, 2, 4) }

// recoveryThreads is num.recovery.threads.per.data.dir; 0 when not known.
func recoveryThreads(cpus float64, dirs int) int {
	if cpus <= 0 || dirs <= 0 {
		return 0
	}
	return (whole(cpus) + dirs - 1) / dirs
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

// encrypts reports whether a listener of the broker uses TLS.
func encrypts(c Config) bool {
	return strings.Contains(strings.ToUpper(c.Get("listeners", "")+c.Get("listener.security.protocol.map", "")), "SSL")
}

// hardDisks reports whether all log directories are on hard disks. What a virtual
// machine calls a hard disk commonly is none.
func hardDisks(m *Machine) bool {
	n := 0
	for _, d := range m.Dirs {
		for _, disk := range d.Storage.Disks {
			if !disk.Rotational || m.Virtual != "" {
				return false
			}
			n++
		}
	}
	return n > 0
}

func threadHints(m *Machine) []Hint {
	if m.CPUs <= 0 {
		return nil
	}
	dirs, cpus := len(m.Dirs), plural(m.CPUs, "CPU")
	folders := plural(float64(dirs), "log directory")
	var all []Hint
	set := func(name string, n int, source, formula string, args ...any) {
		all = append(all, Hint{name, strconv.Itoa(n), Properties, fmt.Sprintf(formula, args...) + " = " + strconv.Itoa(n), source})
	}
	n := ioThreads(m.CPUs, dirs, hardDisks(m))
	const io = "Kafka documentation, Broker configs; Strimzi: broker tuning; kt's proposal"
	if hardDisks(m) {
		set("num.io.threads", n, io, "clamp(2 × %s on hard disks, 8, 32)", folders)
	} else {
		set("num.io.threads", n, io, "clamp(max(%s, %s), 8, 32)", folders, cpus)
	}
	n = networkThreads(m.CPUs, encrypts(m.Config))
	const net = "Kafka documentation, Broker configs; Intel: Kafka tuning guide; kt's proposal"
	if encrypts(m.Config) {
		set("num.network.threads", n, net, "clamp(%s / 2, 3, 16), twice that for TLS, at most %s", cpus, cpus)
	} else {
		set("num.network.threads", n, net, "clamp(%s / 2, 3, 16)", cpus)
	}
	if dirs > 0 {
		set("num.recovery.threads.per.data.dir", recoveryThreads(m.CPUs, dirs), "Strimzi: broker tuning", "%s shared by %s", cpus, folders)
	}
	return all
}

func connectionHints(m *Machine) []Hint {
	const buffers = "the kernel sizes them by itself, up to tcp_rmem and tcp_wmem; across a wide network set bandwidth × round trip"
	all := []Hint{
		{"socket.send.buffer.bytes", "-1", Properties, buffers, "Kafka documentation, Broker configs; Strimzi: broker tuning"},
		{"socket.receive.buffer.bytes", "-1", Properties, buffers, "Kafka documentation, Broker configs; Strimzi: broker tuning"},
	}
	backlog, formula := 1024, "1024, for many clients that connect at once"
	if n, err := m.Number("proc/sys/net/core/somaxconn"); err == nil && n > 0 {
		backlog = int(min(1024, n))
		formula = fmt.Sprintf("min(1024, net.core.somaxconn %d) = %d", n, backlog)
	}
	return append(all, Hint{"socket.listen.backlog.size", strconv.Itoa(backlog), Properties, formula, "Kafka source: SocketServerConfigs; kt's proposal"})
}

func clusterHints(m *Machine, o HintOptions) []Hint {
	var all []Hint
	partitions, dirs := partitionsHere(m), len(m.Dirs)
	if n := 1; o.Brokers > 0 {
		formula := fmt.Sprintf("1 for %s", plural(float64(o.Brokers), "broker"))
		if o.Brokers > 2 {
			n = replicaFetchers(partitions)
			formula = fmt.Sprintf("clamp(%s / 1000, 2, 4) = %d", plural(float64(partitions), "partition"), n)
		}
		all = append(all, Hint{"num.replica.fetchers", strconv.Itoa(n), Properties, formula, "Amazon MSK: default configuration; kt's proposal"})
	}
	if dirs > 0 {
		n, formula := dirs, plural(float64(dirs), "log directory")+" on each broker; multiply by the number of brokers"
		name := "partitions of a topic, per broker"
		if o.Brokers > 0 {
			n, name = dirs*o.Brokers, "partitions of a topic"
			formula = fmt.Sprintf("%s × %s = %d", plural(float64(o.Brokers), "broker"), plural(float64(dirs), "log directory"), n)
		}
		all = append(all, Hint{name, strconv.Itoa(n), Cluster, formula, "kt's proposal: every disk gets a leader"})
	}
	if m.CPUs > 0 {
		n := partitionLimit(m.CPUs)
		all = append(all, Hint{
			"partitions of a broker, at most", strconv.Itoa(n), Cluster,
			fmt.Sprintf("%s: %d; there are %d", plural(m.CPUs, "CPU"), n, partitions), "Amazon MSK: best practices",
		})
	}
	return all
}

// connectionsMeant is for how many connections a broker's file limit is worked out.
const connectionsMeant = 10000

func systemHints(m *Machine) []Hint {
	segments := 0
	for _, d := range m.Dirs {
		if d.ListErr != nil {
			return cacheHint(m) // a number of segments that is too low would be bad advice
		}
		segments += d.Segments
	}
	files := max(100000, segments*9/2+2*connectionsMeant+10000)
	areas := max(262144, 3*segments+65530)
	return append([]Hint{
		{
			"nofile", strconv.Itoa(files), System,
			fmt.Sprintf("max(100000, 3 × %d segments × 1.5 + 2 × %d connections + 10000) = %d", segments, connectionsMeant, files),
			"Kafka documentation, Operations: OS; kt's proposal",
		},
		{
			"vm.max_map_count", strconv.Itoa(areas), System,
			fmt.Sprintf("max(262144, 2 × %d segments × 1.5 + 65530) = %d", segments, areas),
			"Kafka documentation, Operations: OS; Confluent Platform: production deployment",
		},
	}, cacheHint(m)...)
}

// cacheHint is how much is left for the page cache, and at which rate of writing
// that holds the last 30 seconds.
func cacheHint(m *Machine) []Hint {
	heap := heapFor(m.Memory, partitionsHere(m)) // the one that is hinted at, whatever runs now
	cache := m.Memory - heap - 3*gib/2
	if m.Memory <= 0 || cache <= 0 {
		return nil
	}
	formula := fmt.Sprintf("%s − %s heap − 1.5 GiB; it holds 30 s of %d MiB/s", theme.Bytes(m.Memory), theme.Bytes(heap), cache/30/mib)
	if m.Bandwidth > 0 {
		formula = fmt.Sprintf("%s − %s heap − 1.5 GiB; it holds %d s of the %d MiB/s that the slowest disk writes",
			theme.Bytes(m.Memory), theme.Bytes(heap), cache/m.Bandwidth, m.Bandwidth/mib)
	}
	return []Hint{{"page cache", theme.Bytes(cache), System, formula, "Kafka documentation, Operations: Hardware and OS"}}
}
