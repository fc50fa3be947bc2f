package tune

import (
	"errors"
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"
	"time"

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
		Config:  Config{File: "server.properties", Values: map[string]string{}},
	}
}

// finding is what a setting says of a machine, with a rule or with its own.
func finding(t *testing.T, m *Machine, id, rule string) Reading {
	t.Helper()
	all := groups(JVM, Kafka)
	i := slices.IndexFunc(all, func(s *Setting) bool { return s.ID == id })
	if i < 0 {
		t.Fatalf("there is no setting %s", id)
	}
	if rule == "" {
		rule = all[i].Want
	}
	want := must.Have(ParseRule(rule))(t)
	return all[i].Check(m, want)
}

// readingRow is a machine and what is to be found on it.
type readingRow struct {
	says    string
	id      string
	rule    string // "" for the setting's own
	machine *Machine
	verdict Verdict
	current string
}

func checkRows(t *testing.T, rows []readingRow) {
	t.Helper()
	for _, row := range rows {
		got := finding(t, row.machine, row.id, row.rule)
		if got.Verdict != row.verdict || got.Current != row.current {
			t.Errorf("%s: %s is %s, %q (%s), want %s, %q", row.says, row.id, got.Verdict, got.Current, got.Note, row.verdict, row.current)
		}
		if bad := got.Verdict == Warn || got.Verdict == Fail; bad && got.Wanted == "" {
			t.Errorf("%s: %s is %s, and nothing says what is wanted", row.says, row.id, got.Verdict)
		}
		if len(got.Changes) > 0 {
			t.Errorf("%s: %s would be changed, which only the broker's owner does: %v", row.says, row.id, got.Changes)
		}
	}
}

func xx(pairs ...string) jvm.Flags {
	f := jvm.Flags{XX: make(map[string]string)}
	for i := 0; i < len(pairs); i += 2 {
		f.XX[pairs[i]] = pairs[i+1]
	}
	return f
}

func heapFlags(start, most int64, pairs ...string) jvm.Flags {
	f := xx(pairs...)
	f.Xms, f.Xmx = start, most
	return f
}

// running is a machine whose JVM publishes its figures.
func running(p jvm.Perf) *Machine {
	m := machineWith(xx("UseG1GC", "true"))
	m.Process.Perf, m.Process.PerfErr = p, nil
	return m
}

func sized(m *Machine, cpus float64, memory int64) *Machine {
	m.CPUs, m.Memory = cpus, memory
	return m
}

func TestTheFlagsOfTheJVM(t *testing.T) {
	none := func() *Machine { return machineWith(jvm.Flags{}) }
	unsized := sized(none(), 0, 0)
	checkRows(t, []readingRow{
		{"G1 by its flag", "jvm.gc", "", machineWith(xx("UseG1GC", "true")), OK, "G1"},
		{"ZGC by its flag", "jvm.gc", "", machineWith(xx("UseZGC", "true")), OK, "ZGC"},
		{"the parallel collector stops the broker", "jvm.gc", "", machineWith(xx("UseParallelGC", "true")), Warn, "Parallel"},
		{"no flag on a large machine is G1", "jvm.gc", "", none(), OK, "G1"},
		{"no flag with one CPU is the serial collector", "jvm.gc", "", sized(none(), 1, 8*gib), Warn, "Serial"},
		{"a limit of one and a half CPUs counts as two", "jvm.gc", "", sized(none(), 1.5, 8*gib), OK, "G1"},
		{"no flag with little memory is the serial collector", "jvm.gc", "", sized(none(), 4, 1*gib), Warn, "Serial"},
		{"no flag on a machine that is not known", "jvm.gc", "", unsized, Unknown, ""},
		{"the collector of a profile of one's own", "jvm.gc", "Serial", machineWith(xx("UseSerialGC", "true")), OK, "Serial"},

		{"the target of Kafka's script", "jvm.gc_pause_target", "", machineWith(xx("UseG1GC", "true", "MaxGCPauseMillis", "20")), OK, "20 ms"},
		{"no target is Java's", "jvm.gc_pause_target", "", none(), Info, "200 ms"},
		{"a target that is no number", "jvm.gc_pause_target", "", machineWith(xx("MaxGCPauseMillis", "soon")), Unknown, "soon"},
		{"no target for ZGC", "jvm.gc_pause_target", "", machineWith(xx("UseZGC", "true")), NotApplicable, ""},
		{"collections begin at 35 %", "jvm.gc_start", "", machineWith(xx("InitiatingHeapOccupancyPercent", "35")), OK, "35 %"},
		{"collections begin when Java likes", "jvm.gc_start", "", none(), Info, "45 %"},

		{"regions as documented", "jvm.region_size", "", machineWith(heapFlags(6*gib, 6*gib, "G1HeapRegionSize", "16M")), OK, "16 MiB"},
		{"regions as Java likes", "jvm.region_size", "", machineWith(heapFlags(6*gib, 6*gib)), Info, "4 MiB"},
		{"regions of a small heap", "jvm.region_size", "", machineWith(heapFlags(1*gib, 1*gib)), NotApplicable, ""},
		{"regions of no size", "jvm.region_size", "", machineWith(heapFlags(6*gib, 6*gib, "G1HeapRegionSize", "big")), Unknown, "big"},

		{"asked collections run beside", "jvm.explicit_gc", "", machineWith(xx("ExplicitGCInvokesConcurrent", "true")), OK, "on"},
		{"asked collections stop the broker", "jvm.explicit_gc", "", none(), Info, "off"},
		{"asked collections are switched off", "jvm.explicit_gc", "", machineWith(xx("DisableExplicitGC", "true")), Info, "disabled"},
		{"memory is taken at the start", "jvm.pretouch", "yes", machineWith(xx("AlwaysPreTouch", "true")), OK, "on"},
		{"memory is not taken at the start", "jvm.pretouch", "yes", none(), Info, "off"},
		{"the broker ends without memory", "jvm.out_of_memory", "", machineWith(xx("ExitOnOutOfMemoryError", "true")), OK, "on"},
		{"the broker crashes without memory", "jvm.out_of_memory", "", machineWith(xx("CrashOnOutOfMemoryError", "true")), OK, "on"},
		{"the broker lingers without memory", "jvm.out_of_memory", "", none(), Info, "off"},
		{"a log of collections", "jvm.gclog", "", machineWith(jvm.Flags{GCLog: "gc.log"}), OK, "on"},
		{"no log of collections", "jvm.gclog", "", none(), Info, "off"},
	})
}

func TestHugePagesThatTheJVMAsksFor(t *testing.T) {
	with := func(files fstest.MapFS) *Machine {
		m := machineWith(xx("UseTransparentHugePages", "true"))
		m.FS = host.NewFS(files)
		return m
	}
	rollup := func(text string) fstest.MapFS { return fstest.MapFS{"proc/0/smaps_rollup": {Data: []byte(text)}} }
	enabled := func(text string) fstest.MapFS {
		return fstest.MapFS{"sys/kernel/mm/transparent_hugepage/enabled": {Data: []byte(text)}}
	}
	checkRows(t, []readingRow{
		{"the JVM does not ask", "jvm.huge_pages", "", machineWith(jvm.Flags{}), NotApplicable, ""},
		{"the kernel gives what is asked for", "jvm.huge_pages", "", with(enabled("always [madvise] never\n")), OK, "madvise"},
		{"the kernel gives none", "jvm.huge_pages", "", with(enabled("always madvise [never]\n")), Info, "never"},
		{"the kernel does not have them", "jvm.huge_pages", "", with(nil), NotApplicable, ""},
		{"the file says nothing", "jvm.huge_pages", "", with(enabled("a b")), Unknown, ""},
		{"huge pages are used", "jvm.huge_pages_used", "", with(rollup("Rss: 9 kB\nAnonHugePages:    524288 kB\n")), Info, "524288 kB"},
		{"a file without the line", "jvm.huge_pages_used", "", with(rollup("")), Unknown, ""},
		{"a kernel without the sum", "jvm.huge_pages_used", "", with(nil), NotApplicable, ""},
	})
}

func TestTheVersionOfJava(t *testing.T) {
	started := func(files fstest.MapFS, args ...string) *Machine {
		m := machineWith(jvm.Flags{})
		m.FS, m.Process.PID, m.Process.Args = host.NewFS(files), 7, args
		return m
	}
	release := func(at, version string) fstest.MapFS {
		return fstest.MapFS{at: {Data: []byte("IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"" + version + "\"\n")}}
	}
	linked := release("opt/jdk/release", "21.0.4")
	linked["usr/bin/java"] = &fstest.MapFile{Data: []byte("/etc/alternatives/java"), Mode: fs.ModeSymlink}
	linked["etc/alternatives/java"] = &fstest.MapFile{Data: []byte("../../opt/jdk/bin/java"), Mode: fs.ModeSymlink}
	old := "/libs/kafka-clients-3.7.0.jar:/libs/kafka_2.13-3.7.0.jar"
	checkRows(t, []readingRow{
		{"the running JVM tells", "jvm.version", "", running(jvm.Perf{Version: "17.0.15+6"}), OK, "17.0.15+6"},
		{"Java 8 has another way of counting", "jvm.version", "", running(jvm.Perf{Version: "1.8.0_392"}), Warn, "1.8.0_392"},
		{"a version that is none", "jvm.version", "", running(jvm.Perf{Version: "nightly"}), Unknown, "nightly"},
		{"the release file tells", "jvm.version", "", started(release("opt/jdk/release", "11.0.2"), "/opt/jdk/bin/java"), Warn, "11.0.2"},
		{"links lead to the release file", "jvm.version", "", started(linked, "/usr/bin/java"), OK, "21.0.4"},
		{"Kafka 3 runs on Java 11", "jvm.version", "", started(release("opt/jdk/release", "11.0.2"), "/opt/jdk/bin/java", "-cp", old), Info, "11.0.2"},
		{"no release file", "jvm.version", "", started(nil, "/opt/jdk/bin/java"), Unknown, ""},
		{"nobody knows which java it is", "jvm.version", "", started(nil, "java"), Unknown, ""},
		{"no arguments at all", "jvm.version", "", started(nil), Unknown, ""},
	})
}

// The sizes are those that -XX:+PrintFlagsFinal of Java 17 shows.
func TestTheRegionsThatJavaChooses(t *testing.T) {
	for heap, want := range map[int64]int64{512 * mib: 1, 4 * gib: 2, 5 * gib: 4, 6 * gib: 4, 8 * gib: 4, 12 * gib: 8, 200 * gib: 32} {
		if got := regionSize(heap); got != want*mib {
			t.Errorf("regionSize(%s) = %s, want %d MiB", theme.Bytes(heap), theme.Bytes(got), want)
		}
	}
}

func TestVersionsOfJava(t *testing.T) {
	for text, want := range map[string]int{"17.0.15+6": 17, "21": 21, "1.8.0_392": 8, "11.0.2": 11, "": 0, "x": 0, "1.": 0} {
		if got := javaMajor(text); got != want {
			t.Errorf("javaMajor(%q) = %d, want %d", text, got, want)
		}
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
		if got := m.kafkaVersion(); got != want {
			t.Errorf("kafkaVersion(-cp %s) = %q, want %q", path, got, want)
		}
	}
}

func TestWhatTheRunningJVMTells(t *testing.T) {
	live := jvm.Perf{
		Uptime: 1000 * time.Second, OldUsed: 2 * gib, OldMax: 4 * gib, SafepointTime: 12 * time.Second,
		Collections: []jvm.Collector{
			{Name: "G1 young collection pauses", Count: 500, Time: 9 * time.Second},
			{Name: "G1 full collection pauses"},
			{Name: "G1 concurrent cycle pauses", Count: 100, Time: time.Second},
		},
	}
	busy := live
	busy.OldUsed, busy.SafepointTime = 3900*mib, 80*time.Second
	busy.Collections = []jvm.Collector{{Name: "G1 young collection pauses", Count: 500, Time: 59 * time.Second}, {Name: "G1 full collection pauses", Count: 2, Time: 8 * time.Second}}
	fresh := live
	fresh.Uptime = 10 * time.Second
	idle := live
	idle.Collections = []jvm.Collector{{Name: "G1 young collection pauses"}}
	absent := machineWith(jvm.Flags{})
	absent.Process.PerfErr = fs.ErrNotExist
	broken := machineWith(jvm.Flags{})
	broken.Process.PerfErr = errors.New("hsperfdata: bad magic")
	checkRows(t, []readingRow{
		{"few collections", "jvm.gc_share", "<=5", running(live), OK, "1.00 %"},
		{"many collections", "jvm.gc_share", "<=5", running(busy), Warn, "6.70 %"},
		{"a JVM that has just started", "jvm.gc_share", "<=5", running(fresh), Unknown, ""},
		{"figures that only root may read", "jvm.gc_share", "<=5", machineWith(jvm.Flags{}), Unknown, ""},
		{"a JVM that publishes nothing", "jvm.gc_share", "<=5", absent, Unknown, ""},
		{"figures that are broken", "jvm.gc_share", "<=5", broken, Unknown, ""},
		{"a JVM that knows no time", "jvm.gc_share", "<=5", running(jvm.Perf{}), Unknown, ""},
		{"a JVM without collectors", "jvm.gc_share", "<=5", running(jvm.Perf{Uptime: time.Hour}), Unknown, ""},
		{"short pauses", "jvm.gc_pause", "<=20", running(live), OK, "16.7 ms"},
		{"long pauses", "jvm.gc_pause", "<=20", running(busy), Warn, "133.5 ms"},
		{"no pause yet", "jvm.gc_pause", "<=20", running(idle), NotApplicable, ""},
		{"no full collection", "jvm.full_gc", "", running(live), OK, "0"},
		{"full collections", "jvm.full_gc", "", running(busy), Warn, "2"},
		{"a JVM that does not count full collections", "jvm.full_gc", "", running(idle), Unknown, ""},
		{"half of the heap in use", "jvm.heap_live", "", running(live), OK, "50 %"},
		{"nearly all of the heap in use", "jvm.heap_live", "", running(busy), Warn, "95 %"},
		{"a heap without a size", "jvm.heap_live", "", running(jvm.Perf{Uptime: time.Hour}), Unknown, ""},
		{"a JVM that seldom stands still", "jvm.stopped", "", running(live), OK, "1.20 %"},
		{"a JVM that often stands still", "jvm.stopped", "", running(busy), Info, "8.00 %"},
	})
}

func TestWithoutABrokerNothingOfItIsJudged(t *testing.T) {
	m := &Machine{FS: host.NewFS(fstest.MapFS{}), Role: Broker}
	for _, s := range groups(JVM, Kafka) {
		want, err := ParseRule(s.Want)
		if err != nil {
			t.Fatalf("%s: %v", s.ID, err)
		}
		if got := s.Check(m, want); got.Verdict != NotApplicable || got.Note != "no broker runs here" {
			t.Errorf("%s without a broker: %+v, want it not to apply", s.ID, got)
		}
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
		if got, chosen := collector(m); got != want || chosen {
			t.Errorf("collector of %q = %q, chosen %v, want %q that no flag chose", name, got, chosen, want)
		}
	}
}
