package tune

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
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
		must.Match(t, want, heapOption(n), "heapOption(%d)", n)
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
			must.Match(t, `KAFKA_HEAP_OPTS="-Xms`+row.want+" -Xmx"+row.want+`"`, r.Command, "%s: %s suggests", row.name, s.ID)
		}
		must.Match(t, row.from, suggested, "%s: checks suggest a heap", row.name)
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
