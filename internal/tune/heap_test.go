package tune

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/host/jvm"
)

// limited is a machine in a container that may have 4 GiB.
func limited(m *Machine) *Machine {
	m.Cgroup, m.Memory = host.Cgroup{Memory: 4 * gib}, 4*gib
	return m
}

func controller(m *Machine) *Machine {
	m.Role = Controller
	m.Config.Values["process.roles"] = "controller"
	return m
}

func TestTheHeapOfTheJVM(t *testing.T) {
	heap := func(start, most int64) *Machine { return machineWith(heapFlags(start, most)) }
	none := func() *Machine { return machineWith(jvm.Flags{}) }
	many := heap(6*gib, 10*gib)
	many.Dirs = []Dir{{Partitions: 9000}}
	checkRows(t, []readingRow{
		{"a heap that was chosen", "jvm.heap_set", "yes", heap(6*gib, 6*gib), OK, "6 GiB"},
		{"no heap is set", "jvm.heap_set", "yes", none(), Warn, "not set"},
		{"the heap of Kafka's script", "jvm.heap_set", "yes", heap(1*gib, 1*gib), Warn, "1 GiB"},
		{"the heap of Kafka's script on a small machine", "jvm.heap_set", "yes", sized(heap(1*gib, 1*gib), 2, 4*gib), OK, "1 GiB"},
		{"the heap of Kafka's script for a controller", "jvm.heap_set", "yes", controller(heap(1*gib, 1*gib)), OK, "1 GiB"},
		{"a heap that is a share of the memory", "jvm.heap_set", "yes", machineWith(xx("MaxRAMPercentage", "10")), OK, "6.4 GiB"},
		{"a heap by its other flag", "jvm.heap_set", "yes", machineWith(jvm.ParseFlags([]string{"java", "-XX:MaxHeapSize=5g"})), OK, "5 GiB"},

		{"both sizes alike", "jvm.heap_equal", "", heap(6*gib, 6*gib), OK, "6 GiB"},
		{"a heap that grows", "jvm.heap_equal", "", heap(1*gib, 6*gib), Info, "1 GiB, 6 GiB"},
		{"a heap without a start", "jvm.heap_equal", "", heap(0, 6*gib), Info, "-Xms not set"},
		{"both shares alike", "jvm.heap_equal", "", machineWith(xx("MaxRAMPercentage", "25", "InitialRAMPercentage", "25")), OK, "16 GiB"},
		{"no heap to compare", "jvm.heap_equal", "", none(), NotApplicable, ""},

		{"a heap as documented", "jvm.heap_size", "yes", heap(6*gib, 6*gib), OK, "6 GiB (9 %)"},
		{"a heap too small for the machine", "jvm.heap_size", "yes", heap(2*gib, 2*gib), Warn, "2 GiB (3 %)"},
		{"a heap somewhat large", "jvm.heap_size", "yes", heap(10*gib, 10*gib), Info, "10 GiB (16 %)"},
		{"a large heap for many partitions", "jvm.heap_size", "yes", many, OK, "10 GiB (16 %)"},
		{"a heap too large for the machine", "jvm.heap_size", "yes", heap(16*gib, 16*gib), Warn, "16 GiB (25 %)"},
		{"a heap beyond short references", "jvm.heap_size", "yes", sized(heap(32*gib, 32*gib), 16, 256*gib), Warn, "32 GiB (12 %)"},
		{"more than half of a small machine", "jvm.heap_size", "yes", sized(heap(3*gib, 3*gib), 2, 4*gib), Warn, "3 GiB (75 %)"},
		{"a machine of which the size is not known", "jvm.heap_size", "yes", sized(heap(6*gib, 6*gib), 0, 0), Unknown, "6 GiB"},
		{"nobody chose the heap", "jvm.heap_size", "yes", heap(1*gib, 1*gib), NotApplicable, ""},
		{"a controller's heap is another matter", "jvm.heap_size", "yes", controller(heap(6*gib, 6*gib)), NotApplicable, ""},

		{"a controller with 2 GiB", "jvm.controller_heap", "", controller(heap(2*gib, 2*gib)), OK, "2 GiB"},
		{"a controller with too little", "jvm.controller_heap", "", controller(heap(512*mib, 512*mib)), Info, "512 MiB"},
		{"a controller with the heap of a broker", "jvm.controller_heap", "", controller(heap(8*gib, 8*gib)), Info, "8 GiB"},
		{"a controller without a heap", "jvm.controller_heap", "", controller(none()), NotApplicable, ""},
		{"a broker is no controller", "jvm.controller_heap", "", heap(8*gib, 8*gib), NotApplicable, ""},

		{"no limit of memory", "jvm.container", "", heap(6*gib, 6*gib), NotApplicable, ""},
		{"a heap that leaves room", "jvm.container", "", limited(heap(2*gib, 2*gib)), OK, "2 GiB of 4 GiB"},
		{"a heap that leaves little room", "jvm.container", "", limited(heap(3*gib, 3*gib)), Warn, "3 GiB of 4 GiB"},
		{"a heap as large as the limit", "jvm.container", "", limited(heap(4*gib, 4*gib)), Fail, "4 GiB of 4 GiB"},
		{"a limit, and no heap", "jvm.container", "", limited(none()), NotApplicable, ""},
	})
}

func TestAProfileThatLeavesTheHeapAloneJudgesNothing(t *testing.T) {
	m := machineWith(heapFlags(1*gib, 40*gib))
	for _, s := range groups(JVM)[:5] {
		if s.ID == "jvm.container" { // the kernel kills it whatever a profile wants
			continue
		}
		if got := s.Check(m, Rule{}); got.Verdict != Info && got.Verdict != NotApplicable || got.Command != "" {
			t.Errorf("%s with no rule: %+v, want no more than information", s.ID, got)
		}
	}
}

func TestAHeapIsSuggestedAsJavaWritesIt(t *testing.T) {
	for n, want := range map[int64]string{6 * gib: "6g", 1536 * mib: "1536m", 256 * mib: "256m"} {
		if got := heapOption(n); got != want {
			t.Errorf("heapOption(%d) = %q, want %q", n, got, want)
		}
	}
}

// All checks that suggest a heap suggest the same one, whichever of them finds something wrong.
func TestOneHeapIsSuggested(t *testing.T) {
	crowded := limited(machineWith(heapFlags(1*gib, 4*gib)))
	crowded.Dirs = []Dir{{Partitions: 9000}}
	keptSmall := machineWith(heapFlags(256*mib, 512*mib))
	keptSmall.Profile = &Profile{rules: map[string]Rule{"jvm.heap_size": {}}}
	for _, row := range []struct {
		name string
		m    *Machine
		want string
		from int // how many checks suggest it
	}{
		{"too small, and not equal", machineWith(heapFlags(256*mib, 512*mib)), "6g", 2},
		{"Kafka's own, and not equal", machineWith(heapFlags(512*mib, 1*gib)), "6g", 2},
		{"only not equal", machineWith(heapFlags(1*gib, 6*gib)), "6g", 1},
		{"too large for the container, with many partitions", crowded, "2g", 3},
		{"a controller's too small, and not equal", controller(machineWith(heapFlags(256*mib, 512*mib))), "1g", 2},
		{"a size that the profile leaves alone", keptSmall, "512m", 1},
	} {
		suggested := 0
		for _, s := range groups(JVM)[:5] {
			rule := Rule{Op: Equal, Value: "yes"}
			if row.m.Profile.leaves(s.ID) {
				rule = Rule{}
			}
			r := s.Check(row.m, rule)
			if r.Command == "" {
				continue
			}
			suggested++
			if want := `KAFKA_HEAP_OPTS="-Xms` + row.want + " -Xmx" + row.want + `"`; r.Command != want {
				t.Errorf("%s: %s suggests %s, want %s", row.name, s.ID, r.Command, want)
			}
		}
		if suggested != row.from {
			t.Errorf("%s: %d checks suggest a heap, want %d", row.name, suggested, row.from)
		}
	}
}

// What nobody could read is not known: it may set another value.
func TestACommandLineAloneDoesNotTellWhatAJVMRunsWith(t *testing.T) {
	m := machineWith(heapFlags(6*gib, 6*gib))
	m.Process.OptionsErr = fs.ErrPermission
	for _, id := range []string{"jvm.heap_set", "jvm.heap_size", "jvm.heap_equal", "jvm.gc", "jvm.pretouch"} {
		if got := finding(t, m, id, ""); got.Verdict != Unknown || !strings.Contains(got.Note, needsRoot) {
			t.Errorf("%s without the environment is %s (%s), want it unknown", id, got.Verdict, got.Note)
		}
	}
	m.Process.PerfErr = nil // the JVM publishes its options
	if got := finding(t, m, "jvm.heap_equal", ""); got.Verdict != OK {
		t.Errorf("jvm.heap_equal of what the JVM publishes is %s (%s), want it good", got.Verdict, got.Note)
	}
}
