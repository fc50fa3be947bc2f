package watch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
)

// machine is a machine made of files that a test changes, with a clock that it sets.
type machine struct {
	files   fstest.MapFS
	now     time.Duration
	own     float64 // seconds that kt used
	ownErr  error
	archive *txtar.Archive
}

func fixture(t testing.TB) *machine {
	t.Helper()
	archive := must.Have(txtar.ParseFile(filepath.Join("testdata", "broker.txtar")))(t)
	m := &machine{files: fstest.MapFS{}, archive: archive}
	for _, f := range archive.Files {
		if f.Name != "values" {
			continue
		}
		for line := range strings.Lines(string(f.Data)) {
			name, content, _ := strings.Cut(strings.TrimSpace(line), " = ")
			m.put(name, content+"\n")
		}
	}
	m.set("before/")
	m.put(perfName, perf(t, 17, 30*time.Millisecond))
	return m
}

const perfName = "proc/4711/root/tmp/hsperfdata_kafka/4711"

func (m *machine) put(name, content string) {
	m.files[name] = &fstest.MapFile{Data: []byte(content)}
}

// set puts the files of one moment in place.
func (m *machine) set(moment string) {
	for _, f := range m.archive.Files {
		if name, ok := strings.CutPrefix(f.Name, moment); ok {
			content := string(f.Data)
			if strings.HasSuffix(name, "cmdline") {
				content = strings.ReplaceAll(strings.TrimSpace(content), `\0`, "\x00")
			}
			m.put(name, content)
		}
	}
}

func (m *machine) watch() *Watcher {
	return newWatcher(host.NewFS(m.files),
		func() time.Duration { return m.now },
		func() (float64, error) { return m.own, m.ownErr })
}

// perf is what a JVM publishes, with so many young collections that took so long.
func perf(t testing.TB, collections int64, took time.Duration) string {
	t.Helper()
	b := must.Have(os.ReadFile(filepath.Join("..", "jvm", "testdata", "g1.hsperfdata")))(t)
	for name, value := range map[string]int64{
		"sun.gc.collector.0.invocations": collections,
		"sun.gc.collector.0.time":        took.Nanoseconds(), // its clock ticks in nanoseconds
	} {
		entry := b[bytes.Index(b, []byte(name+"\x00"))-20:]
		binary.LittleEndian.PutUint64(entry[binary.LittleEndian.Uint32(entry[16:]):], uint64(value))
	}
	return string(b)
}

func compare(t *testing.T, says string, want, got host.Vitals) {
	t.Helper()
	diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9))
	must.True(t, diff == "", "%s (-want +got):\n%s", says, diff)
}

// unchanged is what the broker shows when ten seconds pass in which nothing happens but
// that its CPUs are idle.
func unchanged() host.Vitals {
	return host.Vitals{
		At: 10 * time.Second, Interval: 10 * time.Second, Cores: 4,
		Memory: 16384000 << 10, Free: 12288000 << 10, Cache: 10240000 << 10, Dirty: 104 << 10,
		Disks:    []host.DiskVitals{{Name: "cciss!c0d0"}, {Name: "nvme0n1"}, {Name: "sda"}, {Name: "sdb"}},
		Networks: []host.NetworkVitals{{Name: "eth0", Speed: 10e9}, {Name: "eth1"}},
		Brokers:  []host.BrokerVitals{{PID: 4711, HeapUsed: 5257464, HeapMax: 64 << 20}},
	}
}

func TestASampleTellsHowBusyABrokerWas(t *testing.T) {
	m := fixture(t)
	w := m.watch()
	m.set("after/")
	m.put(perfName, perf(t, 29, 530*time.Millisecond))
	m.now, m.own = 10*time.Second, 0.05
	compare(t, "Sample", host.Vitals{
		At: 25 * time.Second, Interval: 10 * time.Second,
		// Of 4020 jiffies 2420 were busy, 400 of them stolen, and 400 were waits.
		Cores: 4, CPU: 4 * 2420. / 4020, Steal: 4 * 400. / 4020, IOWait: 4 * 400. / 4020, Agent: 0.005,
		Memory: 16384000 << 10, Free: 11264000 << 10, Cache: 10752000 << 10, Dirty: 402000 << 10,
		Disks: []host.DiskVitals{
			{Name: "cciss!c0d0", Written: 100 * 512},
			{Name: "nvme0n1", Busy: 1, Read: 80 * 512, Written: 40_000_000 * 512}, // 10.01 s in 10 s
			{Name: "sda", Busy: 0.15, Read: 200 * 512, Written: 4000 * 512},
			{Name: "sdb"},
		},
		Networks: []host.NetworkVitals{
			{Name: "eth0", Speed: 10e9, Sent: 12e9, Received: 5e9, Dropped: 5},
			{Name: "eth1"},
		},
		Brokers: []host.BrokerVitals{{PID: 4711, HeapUsed: 5257464, HeapMax: 64 << 20, Collections: 12, GCTime: 500 * time.Millisecond}},
	}, w.Sample(25*time.Second))
}

func TestWhatCannotBeReadIsCountedAndNeverTooHigh(t *testing.T) {
	for _, row := range []struct {
		says   string
		change func(*machine) // after the first look, ten seconds before the Sample
		want   func(*host.Vitals)
	}{
		{"nothing changes, not even the CPUs' idle time", func(*machine) {}, func(v *host.Vitals) { v.Unread = 1 }},
		{
			"iowait falls: it alone is unread",
			func(m *machine) { m.put("proc/stat", "cpu  1000 100 500 94010 390 10 20 30 5 5\n") },
			func(v *host.Vitals) { v.Unread = 1 },
		},
		{
			"the CPUs' time falls, as in a machine that was restored",
			func(m *machine) { m.put("proc/stat", "cpu  900 100 500 99000 400 10 20 30 5 5\n") },
			func(v *host.Vitals) { v.Unread = 1 },
		},
		{"no CPU times", func(m *machine) { delete(m.files, "proc/stat") }, func(v *host.Vitals) { v.Unread = 1 }},
		{"kt's own time is not told", func(m *machine) { m.ownErr = errors.New("no") }, func(v *host.Vitals) { v.Unread = 2 }},
		{
			"no memory",
			func(m *machine) { delete(m.files, "proc/meminfo") },
			func(v *host.Vitals) { v.Memory, v.Free, v.Cache, v.Dirty, v.Unread = 0, 0, 0, 0, 2 },
		},
		{
			"no counters of disks",
			func(m *machine) { delete(m.files, "proc/diskstats") },
			func(v *host.Vitals) { v.Disks, v.Unread = nil, 2 },
		},
		{
			"a disk is gone, another's bytes fell, a third's line is broken",
			func(m *machine) {
				m.put("proc/diskstats", "8 0 sda 100 0 7999 10 100 0 90000 10 0 9000 20\n8 16 sdb 100 0 -1 10 100 0 90000 10 0 9000 20\n104 0 cciss/c0d0 1 0 8 10 1 0 80 10 0 5 20\n")
			},
			func(v *host.Vitals) { v.Unread = 4 },
		},
		{
			"no counters of the network",
			func(m *machine) { delete(m.files, "proc/net/dev") },
			func(v *host.Vitals) { v.Networks, v.Unread = nil, 2 },
		},
		{
			"an interface is gone and the other was taken up anew",
			func(m *machine) { m.put("proc/net/dev", "eth0: 5 1 0 0 0 0 0 0 9000000 1 0 0 0 0 0 0\n") },
			func(v *host.Vitals) { v.Unread = 3 },
		},
		{
			"the broker ended",
			func(m *machine) { delete(m.files, perfName) },
			func(v *host.Vitals) { v.Brokers, v.Unread = []host.BrokerVitals{{PID: 4711}}, 2 },
		},
		{
			"its JVM's file is another's",
			func(m *machine) { m.put(perfName, "not a JVM's") },
			func(v *host.Vitals) { v.Brokers, v.Unread = []host.BrokerVitals{{PID: 4711}}, 2 },
		},
	} {
		m := fixture(t)
		w := m.watch()
		w.found = time.Hour // it does not look again
		row.change(m)
		m.now = 10 * time.Second
		want := unchanged()
		row.want(&want)
		compare(t, row.says, want, w.Sample(m.now))
	}
}

func TestAMachineThatTellsNothingIsUnreadAndNotIdle(t *testing.T) {
	m := &machine{files: fstest.MapFS{}}
	w := m.watch()
	m.now = time.Second
	// cores, CPU times, memory, disks, network
	compare(t, "Sample of an empty tree", host.Vitals{At: time.Second, Interval: time.Second, Unread: 5}, w.Sample(time.Second))
}

func TestGrowthIsSpreadOverTheTimeSinceTheLastGoodReading(t *testing.T) {
	m := fixture(t)
	w := m.watch()
	lost := m.files["proc/net/dev"]
	delete(m.files, "proc/net/dev")
	m.now = time.Second
	w.Sample(m.now)
	m.files["proc/net/dev"] = lost
	m.set("after/")
	m.now = 4 * time.Second
	v := w.Sample(m.now)
	got := v.Networks[0]
	must.True(t, got.Sent == 9e9 && got.Received == 3.75e9, "three of four seconds in which 12e9 bytes were sent and 5e9 received: %+v", got)
}

func TestWhatComesAndGoesIsSeenAtTheNextLook(t *testing.T) {
	m := fixture(t)
	w := m.watch()
	m.put("sys/block/sdc/size", "1000")
	m.put("proc/diskstats", string(m.files["proc/diskstats"].Data)+"   8      32 sdc 100 0 8000 10 100 0 80000 10 0 1000 20\n")
	m.put("sys/class/net/eth1/speed", "25000")
	m.put("proc/4712/cmdline", string(m.files["proc/4711/cmdline"].Data))
	m.put("proc/4712/stat", strings.Replace(string(m.files["proc/4711/stat"].Data), "8700", "9900", 1))
	m.put("proc/4712/status", "Uid:\t0\t998\t0\t0\nNSpid:\t4712\t7\n") // in a container it has the number 7
	m.put("proc/4712/root/tmp/hsperfdata_kafka/7", perf(t, 1, time.Millisecond))
	m.put("tmp/hsperfdata_kafka/7", "another's")
	for name := range m.files {
		if strings.HasPrefix(name, "proc/4711/") {
			delete(m.files, name)
		}
	}
	m.put("proc/4712/maps", "area\narea\n")
	m.put("proc/sys/vm/max_map_count", "65530\n")
	m.now = findEvery - 1
	if v := w.Sample(m.now); len(v.Disks) != 4 || v.Networks[1].Speed != 0 || v.Brokers[0].PID != 4711 {
		t.Errorf("Sample before the next look = %+v", v)
	}
	m.now = findEvery
	v := w.Sample(m.now)
	must.True(t, len(v.Disks) == 5 && v.Disks[4] == (host.DiskVitals{Name: "sdc"}) && v.Networks[1].Speed == 25e9, "Sample after it = %+v", v)
	if len(v.Brokers) != 1 || v.Brokers[0] != (host.BrokerVitals{PID: 4712, Maps: 2, MapsLimit: 65530, HeapUsed: 5257464, HeapMax: 64 << 20}) {
		t.Errorf("brokers after it = %+v, want no collections of one that was not there before", v.Brokers)
	}
	must.Match(t, 3, v.Unread, "sources are unread") // the CPUs, whose time stands still, the disk and the broker have nothing to compare with
}

func TestDisksAreThoseWithNothingBelowThem(t *testing.T) {
	for _, row := range must.Rows[[]struct {
		Says  string
		Files map[string]string
		Want  []string
	}](t, "watch") {
		m := &machine{files: fstest.MapFS{}}
		for name, content := range row.Files {
			m.put(name, content+"\n")
		}
		must.Match(t, row.Want, wholeDisks(host.NewFS(m.files)), "%s: wholeDisks", row.Says)
	}
}

func TestABrokerIsAJVMWithKafkasOwnClass(t *testing.T) {
	for _, row := range []struct {
		says string
		line string
		exe  string
		want bool
	}{
		{"Kafka", "java\x00-Xmx1g\x00kafka.Kafka\x00server.properties\x00", "", true},
		{"Confluent's", "/usr/bin/java\x00io.confluent.support.metrics.SupportedKafka\x00x\x00", "", true},
		{"a tool of Kafka's", "java\x00kafka.admin.TopicCommand\x00kafka.Kafka\x00", "", false},
		{"another program with its words", "vi\x00kafka.Kafka\x00", "", false},
		{"another program that says that it is java", "java\x00kafka.Kafka\x00", "/usr/bin/vi", false},
		{"a thread of the kernel", "", "", false},
	} {
		m := &machine{files: fstest.MapFS{}}
		m.put("proc/7/cmdline", row.line)
		m.put("proc/7/stat", "7 (java) S 1 1 1 0 -1 0 1 0 0 0 5 5 0 0 20 0 90 0 8700 1 1 1\n")
		m.put("proc/7/status", "Uid:\t1\t1\t1\t1\n")
		if row.exe != "" {
			m.files["proc/7/exe"] = &fstest.MapFile{Data: []byte(row.exe), Mode: fs.ModeSymlink}
		}
		must.Match(t, row.want, IsBroker(host.NewFS(m.files)), "%s: IsBroker", row.says)
	}
}

func TestASpeedCountsOnlyWithHardwareBehindIt(t *testing.T) {
	m := &machine{files: fstest.MapFS{}}
	m.put("sys/class/net/veth1/operstate", "up\n")
	m.put("sys/class/net/veth1/speed", "10000\n")
	got := findLinks(host.NewFS(m.files))
	must.True(t, len(got) == 1 && got[0] == (link{name: "veth1"}), "the links of a container are %+v, want veth1 without a speed", got)
}

// A process that has the number of one that ended is another one: what its JVM has
// counted so far is not of the last interval.
func TestABrokerThatStartedAgainBeginsAnew(t *testing.T) {
	m := fixture(t)
	w := m.watch()
	stat := string(m.files["proc/4711/stat"].Data)
	m.put("proc/4711/stat", strings.Replace(stat, "8700", "99000", 1))
	m.put(perfName, perf(t, 900, time.Minute))
	m.now = findEvery
	b := w.Sample(m.now).Brokers
	must.True(t, len(b) == 1 && b[0].Collections == 0 && b[0].GCTime == 0, "brokers after a restart = %+v, want no collections", b)
	m.now += time.Second
	m.put(perfName, perf(t, 901, time.Minute+time.Second))
	if b := w.Sample(m.now).Brokers; b[0].Collections != 1 || b[0].GCTime != time.Second {
		t.Errorf("brokers a second later = %+v, want one collection of 1 s", b)
	}
}

func TestAJVMsFileIsItsOwn(t *testing.T) {
	const shared, private = "tmp/hsperfdata_kafka/4711", perfName
	for _, row := range []struct {
		says  string
		files []string // that hold figures
		uid   int      // of the process; the files are of the user who runs this test
		inner string
		want  string
	}{
		{"in the /tmp that the process sees", []string{shared, private}, os.Getuid(), "4711", private},
		{"in the /tmp of all, where nobody may look at the process's own", []string{shared}, os.Getuid(), "4711", shared},
		{"another user's", []string{shared, private}, os.Getuid() + 1, "4711", ""},
		{"that of the number in another container", []string{shared, "tmp/hsperfdata_kafka/7"}, os.Getuid(), "4711\t7", ""},
		{"in a container by the number there", []string{"proc/4711/root/tmp/hsperfdata_kafka/7"}, os.Getuid(), "4711\t7", "proc/4711/root/tmp/hsperfdata_kafka/7"},
		{"none", nil, os.Getuid(), "4711", ""},
	} {
		dir := t.TempDir()
		put := func(name, content string) {
			name = filepath.Join(dir, name)
			must.Do(t, os.MkdirAll(filepath.Dir(name), 0o700))
			must.Do(t, os.WriteFile(name, []byte(content), 0o600))
		}
		put("proc/4711/status", "NSpid:\t"+row.inner+"\n")
		got, counts := "", make(map[int64]string) // each file by its count of collections
		for i, name := range row.files {
			put(name, perf(t, int64(1+i), time.Millisecond))
			counts[int64(1+i)] = name
		}
		if p, err := host.Rooted(dir).Perf(host.Process{PID: 4711, UID: row.uid}); err == nil {
			got = counts[p.Collections[0].Count]
		}
		must.Match(t, row.want, got, "%s: Perf reads", row.says)
	}
}

// What this machine shows cannot be known, but what it cannot be is.
func TestThisMachineIsWatched(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	w := New(host.System())
	// Work that shows: a file that is written, and the CPU that it takes for a while.
	const worked = 100 * time.Millisecond
	for begun, used := time.Now(), ownCPU(t); time.Since(begun) < 300*time.Millisecond || ownCPU(t)-used < worked; {
		must.Do(t, os.WriteFile(t.TempDir()+"/x", make([]byte, 1<<20), 0o600))
	}
	v := w.Sample(time.Second)
	must.True(t, v.At == time.Second && v.Interval >= 300*time.Millisecond, "At %v, Interval %v", v.At, v.Interval)
	must.True(t, v.Cores >= 1 && v.CPU > 0 && v.CPU <= v.Cores && v.Steal >= 0 && v.Steal <= v.CPU && v.IOWait >= 0 && v.IOWait <= v.Cores-v.CPU+1e-9,
		"CPU %+v", v)
	least := worked.Seconds() / 2 / v.Interval.Seconds()
	must.True(t, v.Agent >= least && v.Agent <= v.Cores+0.5, "kt used %.2f cores, want at least %.2f", v.Agent, least) // its clock and the machine's are read apart
	must.True(t, v.Free > 0 && v.Memory >= v.Free && v.Memory >= v.Cache && v.Dirty >= 0,
		"memory %d, available %d, cache %d, dirty %d", v.Memory, v.Free, v.Cache, v.Dirty)
	for _, d := range v.Disks {
		must.True(t, d.Name != "" && d.Busy >= 0 && d.Busy <= 1 && d.Read >= 0 && d.Written >= 0, "disk %+v", d)
	}
	for _, n := range v.Networks {
		must.True(t, n.Name != "" && n.Name != "lo" && n.Speed >= 0 && n.Sent >= 0 && n.Received >= 0 && n.Dropped >= 0, "network %+v", n)
	}
}

// ownCPU is the CPU time that this process has used.
func ownCPU(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	must.Do(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A Sample a second must take less than 1 % of a core: 10 ms.
func BenchmarkSample(b *testing.B) {
	w := New(host.System())
	for b.Loop() {
		w.Sample(0)
	}
}

// A look is taken every 10 s.
func BenchmarkLook(b *testing.B) {
	w := New(host.System())
	for b.Loop() {
		w.find(0)
	}
}

func TestASampleTellsWhatIsDoubtedOfALoad(t *testing.T) {
	m := fixture(t)
	heat := "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count"
	for name, content := range map[string]string{
		heat: "5\n", "proc/sys/vm/dirty_expire_centisecs": "3000\n", "proc/vmstat": "nr_dirty 7\nnr_dirty_background_threshold 1000\n",
		"opt/kafka/libs/kafka_2.13-4.3.1.jar": "", "proc/4711/mountinfo": "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:5 / /data rw - tmpfs none rw\n",
		"proc/4711/maps": "7f12-7f13 rw-s 0 08:01 1     /logs/a-0/0.index\n7f13-7f14 rw-s 0 00:05 1 /data/b-0/0.index\n7f15-7f16 r-xp 0 09:00 1 /nfs/lib.so\n7f16-7f17 rw-p 0\n",
	} {
		m.put(name, content)
	}
	w := m.watch()
	m.put(heat, "9\n")
	m.now = 10 * time.Second
	v := w.Sample(m.now)
	must.True(t, v.Hot == 4 && v.FlushAge == 30*time.Second && v.DirtyLimit == 1000*int64(os.Getpagesize()), "%+v", v)
	b := v.Brokers[0]
	must.True(t, b.Version == "4.3.1" && b.FileSystems == "ext4 tmpfs" && b.Maps == 4 && b.HeapMax > 0, "%+v", b)
	w.Light = true
	light := w.Sample(20 * time.Second).Brokers[0]
	must.True(t, light.HeapMax == 0 && light.FileSystems == b.FileSystems, "light: %+v", light)
}
