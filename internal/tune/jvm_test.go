package tune

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/host/jvm"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/theme"
)

// machineWith is a machine of 64 GiB and 16 CPUs on which a broker runs that was
// started with these flags.
func machineWith(flags jvm.Flags) *Machine {
	return &Machine{
		FS: host.NewFS(fstest.MapFS{}), Role: Broker, CPUs: 16, Logical: 16, Memory: 64 * gib, MemTotal: 64 * gib,
		Process: &Process{JVM: flags, PerfErr: fs.ErrPermission},
		Config:  Config{File: "server.properties", Values: map[string]string{}}, Profile: new(Profile),
	}
}

// finding is what a setting says of a machine, with a rule or with its own.
func finding(t *testing.T, m *Machine, id, rule string) Reading {
	t.Helper()
	all := groups(JVM, Kafka)
	i := slices.IndexFunc(all, func(s *Setting) bool { return s.ID == id })
	must.Hold(t, i >= 0, "there is no setting %s", id)
	if rule == "" {
		rule = all[i].Want
	}
	want := must.Have(ParseRule(rule))(t)
	return all[i].Check(m, want)
}

func heapFlags(start, most int64) jvm.Flags { return jvm.Flags{Xms: start, Xmx: most} }

func sized(m *Machine, cpus float64, memory int64) *Machine {
	m.CPUs, m.Memory = cpus, memory
	return m
}

// The sizes are those that -XX:+PrintFlagsFinal of Java 17 shows.
func TestTheRegionsThatJavaChooses(t *testing.T) {
	for heap, want := range map[int64]int64{512 * mib: 1, 4 * gib: 2, 5 * gib: 4, 6 * gib: 4, 8 * gib: 4, 12 * gib: 8, 200 * gib: 32} {
		got := regionSize(heap)
		must.True(t, got == want*mib, "regionSize(%s) = %s, want %d MiB", theme.Bytes(heap), theme.Bytes(got), want)
	}
}

func TestVersionsOfJava(t *testing.T) {
	for text, want := range map[string]int{"17.0.15+6": 17, "21": 21, "1.8.0_392": 8, "11.0.2": 11, "": 0, "x": 0, "1.": 0} {
		must.Match(t, want, javaMajor(text), "javaMajor(%q)", text)
	}
	m := machineWith(jvm.Flags{})
	m.Process.PID, m.Process.Args = 7, []string{"/usr/bin/java"}
	m.FS = host.NewFS(fstest.MapFS{
		"opt/jdk/release":       {Data: []byte("IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"21.0.4\"\n")},
		"usr/bin/java":          {Data: []byte("/etc/alternatives/java"), Mode: fs.ModeSymlink},
		"etc/alternatives/java": {Data: []byte("../../opt/jdk/bin/java"), Mode: fs.ModeSymlink},
	})
	if r := finding(t, m, "jvm.version", ""); r.Verdict != OK || r.Current != "21.0.4" {
		t.Errorf("jvm.version behind links is %s %s, want the release file that they lead to", r.Verdict, r.Current)
	}
}

func TestVersionsOfKafkaInTheClassPath(t *testing.T) {
	files := fstest.MapFS{"share/kafka/kafka_2.13-4.3.1.jar": {}, "share/kafka/kafka-clients-4.3.1.jar": {}}
	for path, want := range map[string]string{
		"/opt/kafka/libs/kafka-clients-4.1.0.jar:/opt/kafka/libs/kafka_2.13-4.1.0.jar": "4.1.0",
		"/usr/share/java/kafka/kafka_2.13-7.6.1-ccs.jar":                               "7.6.1-ccs",
		"/share/log4j.jar:/share/kafka/*":                                              "4.3.1",
		"/opt/kafka/libs/*":                                                            "",
		"":                                                                             "",
	} {
		m := &Machine{FS: host.NewFS(files), Process: &Process{Process: host.Process{Args: []string{"java", "-cp", path}}}}
		must.Match(t, want, m.kafkaVersion(), "kafkaVersion(-cp %s)", path)
	}
}

func TestWithoutABrokerNothingOfItIsJudged(t *testing.T) {
	m := &Machine{FS: host.NewFS(fstest.MapFS{}), Role: Broker}
	for _, s := range groups(JVM, Kafka) {
		want, err := ParseRule(s.Want)
		must.Hold(t, err == nil, "%s: %v", s.ID, err)
		got := s.Check(m, want)
		must.True(t, got.Verdict == NotApplicable && got.Note == "no broker runs here", "%s without a broker: %+v, want it not to apply", s.ID, got)
	}
}

// The names are those that Java 8, 17 and 21 publish.
func TestTheCollectorByWhatTheJVMPublishes(t *testing.T) {
	for name, want := range map[string]string{
		"G1 young collection pauses":       "G1",
		"G1 incremental collections":       "G1",
		"Z concurrent cycle pauses":        "ZGC",
		"ZGC minor collection pauses":      "ZGC",
		"Shenandoah partial":               "Shenandoah",
		"Parallel young collection pauses": "Parallel",
		"PSScavenge":                       "Parallel",
		"Serial young collection pauses":   "Serial",
		"Copy":                             "Serial",
		"something new":                    "G1", // by the machine's size
	} {
		m := machineWith(jvm.Flags{})
		m.Process.Perf.Collections = []jvm.Collector{{Name: name}}
		got, chosen := collector(m)
		must.True(t, got == want && !chosen, "collector of %q = %q, chosen %v, want %q that no flag chose", name, got, chosen, want)
	}
}

// set is a machine on which a broker runs that has these settings: names and values
// in turn.
func set(pairs ...string) *Machine {
	m := machineWith(jvm.Flags{})
	for i := 0; i < len(pairs); i += 2 {
		m.Config.Values[pairs[i]] = pairs[i+1]
	}
	return m
}

func withDirs(m *Machine, dirs ...Dir) *Machine {
	m.Dirs = dirs
	return m
}

func TestSettingsThatCannotBeReadAreNotJudged(t *testing.T) {
	for _, row := range []struct {
		says   string
		config Config
		note   string
	}{
		{"only root may read the file", Config{File: "/etc/kafka/x", Err: fs.ErrPermission}, "needs root"},
		{"the file is gone", Config{File: "/etc/kafka/x", Err: fmt.Errorf("open: %w", fs.ErrNotExist)}, "settings file not found: /etc/kafka/x"},
		{"the file is broken", Config{File: "/etc/kafka/x", Err: errors.New("x: line 3")}, "x: line 3"},
		{"no file is named", Config{}, "its command line names no settings file"},
	} {
		m := machineWith(jvm.Flags{})
		m.Config = row.config
		for _, s := range groups(Kafka) {
			if s.ID == "kafka.version" { // reads the command line
				continue
			}
			want, err := ParseRule(s.Want)
			must.Hold(t, err == nil, "%s: %v", s.ID, err)
			if got := s.Check(m, want); got.Verdict != Unknown || got.Note != row.note {
				t.Errorf("%s: %s is %s (%s), want unknown (%s)", row.says, s.ID, got.Verdict, got.Note, row.note)
			}
		}
	}
}

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
	got := finding(t, m, "jvm.heap_equal", "")
	must.True(t, got.Verdict == OK, "jvm.heap_equal of what the JVM publishes is %s (%s), want it good", got.Verdict, got.Note)
}
