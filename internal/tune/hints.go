package tune

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
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

// The sources of several hints.
const (
	fromKafka = "Kafka documentation, "
	fromJava  = fromKafka + "Operations: Java"
	fromPages = fromKafka + "Broker configs"
	strimzi   = "Strimzi: broker tuning"
	confluent = "Confluent Platform: production deployment"
	ownIdea   = "kt's proposal"
)

// hintCase is a value where a condition holds, in the expressions of [Case]; in its formula {value} is that value.
type hintCase struct{ when, value, formula string }

const (
	heapValue   = "-Xms{heap_first} -Xmx{heap_option}"
	kernelSizes = "the kernel sizes them by itself, up to tcp_rmem and tcp_wmem; across a wide network set bandwidth × round trip"
	cache       = "memory - heap_hint - 1610612736"
	heapIs      = " in steps of 256 MiB = {heap_hint|bytes}{starts}"
	clampHeap   = "clamp(a quarter of {memory|bytes}, 4 GiB, 6 GiB)"
)

// hintRows are all hints in the order in which they are shown. The first case counts that holds; without one there is no hint.
var hintRows = []struct {
	name       string
	where      Where
	controller bool // also for a machine that is only a controller
	source     string
	cases      []hintCase
}{
	{"KAFKA_HEAP_OPTS", Environment, true, fromJava + "; " + confluent + "; " + ownIdea, []hintCase{
		{"heap_hint <= 0", "", ""},
		{"role = 'controller'", heapValue, "clamp(a quarter of {memory|bytes}, 1 GiB, 4 GiB)" + heapIs},
		{"memory < 4294967296", heapValue, "min(1 GiB, half of {memory|bytes})" + heapIs},
		{"memory < 17179869184", heapValue, "min(4 GiB, half of {memory|bytes})" + heapIs},
		{
			"memory >= 34359738368 and partitions_here >= 5000", heapValue,
			"min(" + clampHeap + " + 1 GiB for each 1000 of the {partitions_here} partitions beyond 4000, 12 GiB)" + heapIs,
		},
		{"", heapValue, clampHeap + heapIs},
	}},
	{"KAFKA_JVM_PERFORMANCE_OPTS", Environment, true, fromJava, []hintCase{
		{"", "{java_flags}", "the flags that Kafka documents; they replace those of its script"},
	}},
	{"num.io.threads", Properties, false, fromPages + "; " + strimzi + "; " + ownIdea, []hintCase{
		{"cpus <= 0", "", ""},
		{"hard_disks = 'yes'", "{dirs * 2 max 8 min 32}", "clamp(2 × {dirs|log directory} on hard disks, 8, 32) = {value}"},
		{"", "{dirs max threads max 8 min 32}", "clamp(max({dirs|log directory}, {cpus|CPU}), 8, 32) = {value}"},
	}},
	{"num.network.threads", Properties, false, fromPages + "; Intel: Kafka tuning guide; " + ownIdea, []hintCase{
		{"cpus <= 0", "", ""},
		{"encrypts = 'yes'", "{network_threads}", "clamp({cpus|CPU} / 2, 3, 16), twice that for TLS, at most {cpus|CPU} = {value}"},
		{"", "{network_threads}", "clamp({cpus|CPU} / 2, 3, 16) = {value}"},
	}},
	{"num.recovery.threads.per.data.dir", Properties, false, strimzi, []hintCase{
		{"recovery_threads > 0", "{recovery_threads}", "{cpus|CPU} shared by {dirs|log directory} = {value}"},
	}},
	{"socket.send.buffer.bytes", Properties, true, fromPages + "; " + strimzi, []hintCase{{"", "-1", kernelSizes}}},
	{"socket.receive.buffer.bytes", Properties, true, fromPages + "; " + strimzi, []hintCase{{"", "-1", kernelSizes}}},
	{"socket.listen.backlog.size", Properties, true, "Kafka source: SocketServerConfigs; " + ownIdea, []hintCase{
		{"sysctl:net.core.somaxconn > 0", "{sysctl:net.core.somaxconn min 1024}", "min(1024, net.core.somaxconn {sysctl:net.core.somaxconn}) = {value}"},
		{"", "1024", "1024, for many clients that connect at once"},
	}},
	{"num.replica.fetchers", Properties, false, "Amazon MSK: default configuration; " + ownIdea, []hintCase{
		{"brokers > 2", "{partitions_here + 999 // 1000 max 2 min 4}", "clamp({partitions_here|partition} / 1000, 2, 4) = {value}"},
		{"brokers > 0", "1", "1 for {brokers|broker}"},
	}},
	{"partitions of a topic", Cluster, false, ownIdea + ": every disk gets a leader", []hintCase{
		{"brokers > 0 and dirs > 0", "{dirs * brokers}", "{brokers|broker} × {dirs|log directory} = {value}"},
	}},
	{"partitions of a topic, per broker", Cluster, false, ownIdea + ": every disk gets a leader", []hintCase{
		{"brokers <= 0 and dirs > 0", "{dirs}", "{dirs|log directory} on each broker; multiply by the number of brokers"},
	}},
	{"partitions of a broker, at most", Cluster, false, "Amazon MSK: best practices", []hintCase{
		{"cpus > 0", "{partitions_most}", "{cpus|CPU}: {value}; there are {partitions_here}"},
	}},
	{"nofile", System, false, fromKafka + "Operations: OS; " + ownIdea, []hintCase{ // a number that is too low would be bad advice
		{"hidden = 'no'", "{segments * 9 // 2 + 30000 max 100000}", "max(100000, 3 × {segments} segments × 1.5 + 2 × 10000 connections + 10000) = {value}"},
	}},
	{"vm.max_map_count", System, false, fromKafka + "Operations: OS; " + confluent, []hintCase{
		{"hidden = 'no'", "{segments * 3 + 65530 max 262144}", "max(262144, 2 × {segments} segments × 1.5 + 65530) = {value}"},
	}},
	{"page cache", System, false, fromKafka + "Operations: Hardware and OS", []hintCase{
		{"memory <= 0", "", ""},
		{cache + " <= 0", "", ""},
		{
			"bandwidth > 0", "{" + cache + "|bytes}", "{memory|bytes} − {heap_hint|bytes} heap − 1.5 GiB; " +
				"it holds {" + cache + " // bandwidth} s of the {bandwidth // 1048576} MiB/s that the slowest disk writes",
		},
		{"", "{" + cache + "|bytes}", "{memory|bytes} − {heap_hint|bytes} heap − 1.5 GiB; it holds 30 s of {" + cache + " // 30 // 1048576} MiB/s"},
	}},
}

// Hints are the values for a broker on this machine, or for a controller if that is
// its role. Those whose numbers are not known are left out. They depend on m alone,
// and nothing is changed.
func Hints(m *Machine, o HintOptions) []Hint {
	var all []Hint
	for _, row := range hintRows {
		if m.Role == Controller && !row.controller {
			continue
		}
		a := place{Machine: m, brokers: o.Brokers}
		if i := slices.IndexFunc(row.cases, func(c hintCase) bool { return a.holds(c.when) }); i >= 0 && row.cases[i].value != "" {
			a.value = a.fillWords(row.cases[i].value)
			all = append(all, Hint{row.name, a.value, row.where, a.fillWords(row.cases[i].formula), row.source})
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

// ofHints are facts of hints alone.
func (a place) ofHints() map[string]any {
	heap, profile := a.heapHint(), ""
	if a.Profile != nil {
		profile = a.Profile.Name
	}
	first := heap
	if profile == "minimal" {
		first = min(heap, 256*mib)
	}
	flags := scriptFlags + " -XX:MetaspaceSize=96m -XX:MinMetaspaceFreeRatio=50 -XX:MaxMetaspaceFreeRatio=80"
	if a.Role != Controller && heap >= 4*gib { // a small heap would have too few regions of that size
		flags += " -XX:G1HeapRegionSize=16M"
	}
	if profile == "latency" {
		flags += " -XX:+AlwaysPreTouch"
	}
	return map[string]any{
		"role": string(a.Role), "brokers": a.brokers, "bandwidth": a.Bandwidth, "partitions_here": partitionsHere(a.Machine),
		"hidden":     yesNo(slices.ContainsFunc(a.Dirs, func(d Dir) bool { return d.ListErr != nil })),
		"hard_disks": yesNo(hardDisks(a.Machine)), "threads": whole(a.CPUs), "encrypts": yesNo(encrypts(a.Config)),
		"heap_hint": heap, "heap_option": heapOption(heap), "heap_first": heapOption(first), "java_flags": flags,
		"starts": map[bool]string{true: "; it starts with 256 MiB in the profile minimal"}[profile == "minimal"],
	}
}

const heapStep = 256 * mib // so that the option is a round number

// heapHint is the heap that is hinted at, whatever runs now.
func (m *Machine) heapHint() int64 {
	if m.Role == Controller && m.Memory > 0 {
		return min(max(m.Memory/4, 1*gib), 4*gib) / heapStep * heapStep
	}
	return heapFor(m.Memory, partitionsHere(m))
}

// heapFor is the heap of a broker, in bytes, for so much memory and so many
// partitions; 0 when the memory is not known. It is kt's own, within what the
// sources say: about 6 GiB on large machines, no more than half on small ones.
func heapFor(memory int64, partitions int) int64 {
	n := min(max(memory/4, 4*gib), 6*gib)
	switch {
	case memory < 4*gib:
		n = min(1*gib, max(memory, 0)/2)
	case memory < 16*gib:
		n = min(4*gib, memory/2)
	case memory >= 32*gib:
		n = min(n+max(0, int64(partitions-4000)/1000)*gib, 12*gib)
	}
	if n > heapStep {
		n = n / heapStep * heapStep
	}
	return n
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

// recoveryThreads is num.recovery.threads.per.data.dir; 0 when not known.
func recoveryThreads(cpus float64, dirs int) int {
	if cpus <= 0 || dirs <= 0 {
		return 0
	}
	return (whole(cpus) + dirs - 1) / dirs
}

// replicaFetchers is num.replica.fetchers of a cluster of more than two brokers.
func replicaFetchers(partitions int) int { return clamp((partitions+999)/1000, 2, 4) }

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
