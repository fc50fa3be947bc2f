package tune

import (
	_ "embed" // for hints.yaml
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Hint is a value for a broker on this machine, which kt prints and never sets.
type Hint struct {
	Name  string `json:"name"`           // "num.io.threads"
	Value string `json:"value" yaml:"-"` // as the file or variable takes it
	Where Where  `json:"where"`
	// Formula is how the value was found, with this machine's numbers.
	Formula string `json:"formula" yaml:"-"`
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

// hintRow is a hint with the values that it has where conditions hold.
type hintRow struct {
	Hint       `yaml:",inline"`
	Controller bool       `yaml:"controller"` // also for a machine that is only a controller
	Cases      []hintCase `yaml:"cases"`
}

type hintCase struct{ If, Value, Formula string }

//go:embed hints.yaml
var hintsYAML []byte

var hintRows = sync.OnceValue(func() (rows []hintRow) {
	if err := yaml.Unmarshal(hintsYAML, &rows); err != nil {
		panic("hints.yaml: " + err.Error()) // it is part of the program, and a test reads it
	}
	return rows
})

// Hints are the values for a broker of a cluster of so many, 0 for not known, on this machine, or for a controller if that is
// its role. Those whose numbers are not known are left out. They depend on m alone, and nothing is changed.
func Hints(m *Machine, brokers int) []Hint {
	var all []Hint
	a := place{Machine: m, brokers: brokers}
	for _, row := range hintRows() {
		i := slices.IndexFunc(row.Cases, func(c hintCase) bool { return a.holds(c.If) })
		if i < 0 || row.Cases[i].Value == "" || m.Role == Controller && !row.Controller {
			continue
		}
		h := row.Hint
		h.Value = a.fillWords(row.Cases[i].Value)
		a.value = h.Value
		h.Formula = a.fillWords(row.Cases[i].Formula)
		all = append(all, h)
	}
	return all
}

// Fragment is the part of a server.properties file that sets the hints that belong there, each below its formula.
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
	heap, profile := heapFor(a.Memory, partitionsHere(a.Machine)), ""
	if a.Role == Controller && a.Memory > 0 {
		heap = min(max(a.Memory/4, 1*gib), 4*gib) / heapStep * heapStep
	}
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
		"role": string(a.Role), "profile": profile, "brokers": a.brokers, "bandwidth": a.Bandwidth, "partitions_here": partitionsHere(a.Machine),
		"hidden":     yesNo(slices.ContainsFunc(a.Dirs, func(d Dir) bool { return d.ListErr != nil })),
		"hard_disks": yesNo(hardDisks(a.Machine)), "threads": max(int(math.Ceil(a.CPUs)), 1), "encrypts": yesNo(encrypts(a.Config)), "tls_factor": map[bool]int{true: 2, false: 1}[encrypts(a.Config)],
		"heap_hint": heap, "heap_option": heapOption(heap), "heap_first": heapOption(first), "java_flags": flags,
		"starts": map[bool]string{true: "; it starts with 256 MiB in the profile minimal"}[profile == "minimal"],
	}
}

const heapStep = 256 * mib // so that the option is a round number

// heapFor is the heap of a broker in bytes for so much memory and so many partitions; 0 when the memory is not known. It is kt's own.
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

// hardDisks reports whether all log directories are on hard disks. What a virtual machine calls one commonly is none.
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
