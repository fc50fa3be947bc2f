package host

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/shirou/gopsutil/v4/cpu"

	"github.com/kt-bench/kt/internal/must"
)

// stat is a stat file with a start time.
func stat(name string, start int) string {
	return fmt.Sprintf("1 (%s) S 1 1 1 0 -1 4194560 1 1 0 0 3 3 0 0 20 0 1 0 %d 227 11", name, start)
}

func TestAJVMHasTheOptionsThatItsCommandLineDoesNotShow(t *testing.T) {
	const own, others = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n", "9 0 0:9 / / rw - overlay overlay rw\n"
	for _, row := range []struct {
		says   string
		files  map[string]string
		want   string
		missed error
		kafka  bool
	}{
		{"its environment", map[string]string{"proc/42/environ": "A=b\x00_JAVA_OPTIONS=-Xmx2g\x00", "opt/args": "kafka.Kafka"}, "java -Xmx1g -Xmx2g kafka.Kafka c", nil, true},
		{"a file", map[string]string{"opt/args": "-Xms1g kafka.Kafka"}, "java -Xmx1g -Xms1g kafka.Kafka c", nil, true},
		{"a file in its container", map[string]string{
			"proc/self/mountinfo": own, "proc/42/mountinfo": others, "opt/args": "wrong", "proc/42/root/opt/args": "kafka.Kafka",
		}, "java -Xmx1g kafka.Kafka c", nil, true},
		{"a file that is not to be read", map[string]string{"proc/self/mountinfo": own, "proc/42/mountinfo": others, "opt/args": "wrong"}, "java -Xmx1g c", fs.ErrNotExist, false},
		{"a file that is too long", map[string]string{"opt/args": strings.Repeat(" ", 2<<20)}, "java -Xmx1g c", nil, false},
	} {
		tree := fstest.MapFS{"proc/42/cwd": {Data: []byte("/opt"), Mode: fs.ModeSymlink}}
		for name, text := range row.files {
			tree[name] = &fstest.MapFile{Data: []byte(text)}
		}
		tree["proc/42/cmdline"] = &fstest.MapFile{Data: []byte("java\x00-Xmx1g\x00@args\x00c\x00")}
		tree["proc/42/stat"] = &fstest.MapFile{Data: []byte(stat("java", 1))}
		tree["proc/42/status"] = &fstest.MapFile{Data: []byte("Uid:\t0\t0\t0\t0\n")}
		p, err := NewFS(tree).Process(42)
		if got := strings.Join(p.Args, " "); err != nil || got != row.want || row.missed != nil && !errors.Is(p.OptionsErr, row.missed) || (p.OptionsErr == nil) != row.kafka {
			t.Errorf("%s: Process(42) = %q, %v, without some: %v; want %q", row.says, got, err, p.OptionsErr, row.want)
		}
		must.Match(t, row.kafka, NewFS(tree).RunsKafka(42, p.Args), "%s: RunsKafka", row.says)
	}
}

func TestProcessesAreThoseWithACommandLine(t *testing.T) {
	tree := fstest.MapFS{"proc/42/cwd": {Data: []byte("/opt/kafka"), Mode: fs.ModeSymlink}}
	for name, text := range map[string]string{
		"proc/uptime":       "1 1",
		"proc/42/cmdline":   "java\x00-Xmx1g\x00\x00kafka.Kafka\x00",
		"proc/42/stat":      stat("java) S (", 4711),
		"proc/42/status":    "Name:\tjava\nUid:\t1\t1000\t3\t4\nNSpid:\t42\t7\n",
		"proc/42/cgroup":    "1:name=systemd:/system.slice/kafka.service\n0::/\n",
		"proc/7/cmdline":    "init",
		"proc/7/stat":       stat("init", 1),
		"proc/7/status":     "Uid:\t0\t0\t0\t0\n",
		"proc/8/cmdline":    "", // a thread of the kernel
		"proc/8/stat":       stat("kthreadd", 1),
		"proc/8/status":     "Uid:\t0\t0\t0\t0\n",
		"proc/9/cmdline":    "ended\x00",
		"proc/10/cmdline":   "odd\x00",
		"proc/10/stat":      "10 (odd",
		"proc/100/cmdline":  "no user\x00",
		"proc/100/stat":     stat("x", 1),
		"proc/100/status":   "Uid:\n",
		"proc/self/cmdline": "kt\x00",
	} {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	got, err := NewFS(tree).Processes("")
	want := []Process{
		{PID: 7, Args: []string{"init"}, Start: 1},
		{PID: 42, Args: []string{"java", "-Xmx1g", "", "kafka.Kafka"}, UID: 1000, Start: 4711, Dir: "/opt/kafka", Unit: "kafka.service"},
	}
	diff := cmp.Diff(want, got)
	must.True(t, err == nil && diff == "", "Processes() error = %v, (-want +got):\n%s", err, diff)
	for pid, want := range map[int]int{42: 7, 7: 7, 100: 100, 4711: 4711} {
		must.Match(t, want, NewFS(tree).InnerPID(pid), "InnerPID(%d)", pid)
	}
}

func TestTheUnitIsTheLastServiceThatTheMachineStarted(t *testing.T) {
	for cgroups, want := range must.Rows[map[string]string](t, "process") {
		must.Match(t, want, unitOf(cgroups), "unitOf(%q)", cgroups)
	}
}

const limitsFile = `Limit                     Soft Limit           Hard Limit           Units     
Max cpu time              unlimited            unlimited            seconds   
Max open files            1024                 524288               files     
Max stack size            8388608              unlimited            bytes     
Max nice priority         0                    0                    
Max locked memory         18446744073709551614 9223372036854775807  bytes     
`

func TestLimitsGoByTheKernelsNames(t *testing.T) {
	got, err := files(map[string]string{"proc/42/limits": limitsFile}).Limits(42)
	want := map[string]Limit{
		"Max cpu time":      {-1, -1},
		"Max open files":    {1024, 524288},
		"Max stack size":    {8388608, -1},
		"Max nice priority": {0, 0},
		"Max locked memory": {math.MaxInt64, math.MaxInt64},
	}
	diff := cmp.Diff(want, got)
	must.True(t, err == nil && diff == "", "Limits(42) error = %v, (-want +got):\n%s", err, diff)
	for _, line := range []string{"Max open files 1 2 files", "Max open files   1024", "Max open files   many   1024", "Max open files   1024  -1"} {
		got, err := files(map[string]string{"proc/42/limits": line}).Limits(42)
		must.True(t, err != nil && strings.Contains(err.Error(), line), "Limits of %q = %v, %v, want an error that shows the line", line, got, err)
	}
}

func TestMappedAreasAndOpenFilesAreCounted(t *testing.T) {
	tree := files(map[string]string{
		"proc/42/maps": strings.Repeat("7f0000000000-7f0000001000 r--s 00000000 08:01 1 /data/t-0/00000000000000000000.index\n", 5000),
		"proc/42/fd/0": "", "proc/42/fd/1": "", "proc/42/fd/17": "",
		"proc/43/maps": "",
	})
	for _, row := range []struct {
		says string
		pid  int
		ask  func(int) (int, error)
		want int
	}{
		{"mappings", 42, tree.MappedAreas, 5000},
		{"none", 43, tree.MappedAreas, 0},
		{"open files", 42, tree.OpenFiles, 3},
	} {
		must.Match(t, row.want, must.Have(row.ask(row.pid))(t), "%s of %d", row.says, row.pid)
	}
	for says, err := range map[string]error{
		"Process(1)":     second(tree.Process(1)),
		"Limits(1)":      second(tree.Limits(1)),
		"MappedAreas(1)": second(tree.MappedAreas(1)),
		"OpenFiles(1)":   second(tree.OpenFiles(1)),
		"Cgroup(1)":      second(tree.Cgroup(1)),
		"AllowedCPUs(1)": second(tree.AllowedCPUs(1)),
	} {
		must.True(t, errors.Is(err, fs.ErrNotExist), "%s of a process that does not run = %v, want ErrNotExist", says, err)
	}
}

func second[T any](_ T, err error) error { return err }

// What the kernel says of this test's own process, whose files it may all read.
func TestThisProcessIsFound(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	pid := os.Getpid()
	p, err := System().Process(pid)
	dir, _ := os.Getwd()
	must.True(t, err == nil && cmp.Equal(p.Args, os.Args) && p.UID == os.Geteuid() && p.Dir == dir && p.Start > 0,
		"Process(%d) = %+v, %v, want %q of user %d in %s", pid, p, err, os.Args, os.Geteuid(), dir)
	limits, err := System().Limits(pid)
	files := limits["Max open files"]
	must.True(t, err == nil && files.Soft >= 3 && (files.Hard < 0 || files.Soft <= files.Hard), "Limits(%d) = %v, %v", pid, limits, err)
	before := must.Have(System().OpenFiles(pid))(t)
	for range 5 {
		f := must.Have(os.Open(os.DevNull))(t)
		defer func() { _ = f.Close() }()
	}
	after, err := System().OpenFiles(pid)
	must.True(t, err == nil && after == before+5, "OpenFiles(%d) = %d, %v, want %d after opening 5", pid, after, err, before+5)
	n, err := System().MappedAreas(pid)
	must.True(t, err == nil && n >= 5, "MappedAreas(%d) = %d, %v, want some", pid, n, err)
	must.Match(t, runtime.NumCPU(), must.Have(System().AllowedCPUs(0))(t), "AllowedCPUs(0)")
	c, err := System().Cgroup(0)
	must.True(t, err == nil && c.Layout != "", "Cgroup(0) = %+v, %v, want a layout", c, err)
}

func TestCPUListsAreCounted(t *testing.T) {
	for list, want := range map[string]int{
		"0": 1, "0-3,8": 5, "0,2,4": 3, "5-5": 1, "0-2147483646": 2147483647, "": 0, "\n": 0, " 0-1\n": 2,
	} {
		_, got := must.Both(parseCPUs(list))(t)
		must.Match(t, want, got, "parseCPUs(%q)", list)
	}
	for _, list := range []string{"x", "0-", "-1", "3-1", "0,0", "0-3,2", "1,,2", "0-3:1/2", "0-2147483648", "0 1", "+1"} {
		_, got, err := parseCPUs(list)
		must.True(t, err != nil, "parseCPUs(%q) = %d, want an error", list, got)
	}
	must.Match(t, 3, must.Have(files(map[string]string{"sys/devices/system/cpu/online": "0-1,3\n"}).OnlineCPUs())(t), "OnlineCPUs()")
	must.Match(t, 8, must.Have(files(map[string]string{"proc/42/status": "Cpus_allowed:\tff\nCpus_allowed_list:\t0-7\n"}).AllowedCPUs(42))(t), "AllowedCPUs(42)")
	n, err := files(map[string]string{"sys/devices/system/cpu/online": "\n"}).OnlineCPUs()
	must.True(t, err != nil, "OnlineCPUs() of an empty file = %d, want an error", n)
}

// FuzzLimits: no text panics, and no limit is below -1.
func FuzzLimits(f *testing.F) {
	f.Add(limitsFile)
	f.Fuzz(func(t *testing.T, text string) {
		limits, _ := files(map[string]string{"proc/42/limits": text}).Limits(42)
		for l := range maps.Values(limits) {
			must.True(t, l.Soft >= -1 && l.Hard >= -1, "Limits of %q has %+v", text, l)
		}
	})
}

// FuzzCPUs: no list panics, and a count is never below 0, nor below what the commas
// in the list say.
func FuzzCPUs(f *testing.F) {
	f.Add("0-3,8")
	f.Fuzz(func(t *testing.T, list string) {
		_, n, err := parseCPUs(list)
		must.True(t, n >= 0 && (err != nil || strings.TrimSpace(list) == "" || n > strings.Count(list, ",")), "parseCPUs(%q) = %d, %v", list, n, err)
	})
}

func TestOthersAreWhatNeitherProcessUsed(t *testing.T) {
	for _, tc := range []struct {
		name  string
		grow  busyTimes
		quota float64
		want  float64
	}{
		{"nobody else", busyTimes{all: 8, busy: 5, ours: 5}, 1, 0},
		{"a quarter of the CPUs", busyTimes{all: 8, busy: 7, ours: 5}, 1, 0.25},
		{"the kernel counted less than the processes", busyTimes{all: 8, busy: 5, ours: 5.1}, 1, 0},
		{"half of a host, of which kt may use a quarter", busyTimes{all: 64, busy: 48, ours: 16}, 0.25, 0},
		{"more than a quota leaves", busyTimes{all: 64, busy: 64, ours: 12}, 0.25, 0.25},
	} {
		now := busyTimes{100, 50, 20}
		o := &Others{read: func() (busyTimes, error) { return now, nil }, before: now, quota: tc.quota}
		now = busyTimes{now.all + tc.grow.all, now.busy + tc.grow.busy, now.ours + tc.grow.ours}
		share, err := o.Share()
		must.True(t, err == nil && math.Abs(share-tc.want) <= 1e-9, "%s: %g, %v; want %g", tc.name, share, err, tc.want)
	}
	broken := errors.New("gone")
	_, err := (&Others{read: func() (busyTimes, error) { return busyTimes{}, broken }}).Share()
	must.True(t, errors.Is(err, broken), "%v, want %v", err, broken)
	_, err = (&Others{read: func() (busyTimes, error) { return busyTimes{}, nil }}).Share()
	must.True(t, err != nil, "counters that stand still are no error")
}

func TestOnlyTheCPUsThatKtMayUseAreMeasured(t *testing.T) {
	all := []cpu.TimesStat{{CPU: "cpu0"}, {CPU: "cpu1"}, {CPU: "cpu2"}, {CPU: "cpu10"}}
	for list, want := range map[string]string{"0-10": "cpu0 cpu1 cpu2 cpu10", "1-2": "cpu1 cpu2", "0,10": "cpu0 cpu10", "4": ""} {
		in, err := timesOf(all, list)
		var names []string
		for _, c := range in {
			names = append(names, c.CPU)
		}
		got := strings.Join(names, " ")
		must.True(t, err == nil && got == want, "%s: %s, %v; want %s", list, got, err, want)
	}
	_, err := timesOf(all, "x")
	must.True(t, err != nil, "a list that cannot be read is no error")
}

func TestTheCountersOfThisMachineAreRead(t *testing.T) {
	child := exec.CommandContext(t.Context(), "sleep", "60")
	must.Do(t, child.Start())
	defer func() {
		_ = child.Process.Kill() // it may have ended
		_ = child.Wait()         // it was killed
	}()
	times, err := readTimes(child.Process.Pid)
	must.True(t, err == nil && times.all > times.busy && times.busy > 0 && times.ours > 0, "%+v, %v", times, err)
}

func TestAProcessIsNearItsLimitOfMemoryMapsFromFourFifthsOn(t *testing.T) {
	for _, tc := range []struct {
		used  int
		limit string
		want  bool
	}{{799, "1000\n", false}, {800, "1000\n", true}, {1100, "1000\n", true}, {900, "", false}, {0, "1000\n", false}} {
		m := files(map[string]string{"proc/42/maps": strings.Repeat("area\n", tc.used), "proc/sys/vm/max_map_count": tc.limit}).Maps(42)
		must.True(t, m.Used == int64(tc.used) && m.Near() == tc.want, "%d of %q: %+v, near is %t", tc.used, tc.limit, m, m.Near())
	}
}

func TestWhatTheGroupsAroundAProcessAllow(t *testing.T) {
	for _, row := range must.Rows[[]struct {
		Says  string
		Files map[string]string
		Want  Cgroup
	}](t, "cgroup") {
		got, err := files(row.Files).Cgroup(42)
		diff := cmp.Diff(row.Want, got, cmpopts.EquateEmpty())
		must.True(t, err == nil && diff == "", "%s: Cgroup(42) error = %v, (-want +got):\n%s", row.Says, err, diff)
	}
}

// FuzzCgroup: no list of groups panics or leads out of the tree, the layout is one
// of the three exactly when there is a group, and the unit is a service.
func FuzzCgroup(f *testing.F) {
	f.Add("9:name=systemd:/system.slice/kafka.service\n4:memory:/process/1\n1:cpu,cpuacct:/\n0::/../..\n", "100 100000")
	f.Add("0::/user@1.service/.service/a.scope/x.service", "oom_kill 1\nnr_periods 5\nthrottled_time -1")
	f.Fuzz(func(t *testing.T, list, content string) {
		got, err := files(map[string]string{
			"proc/42/cgroup":                                     list,
			"sys/fs/cgroup/cpu.max":                              content,
			"sys/fs/cgroup/cpu.stat":                             content,
			"sys/fs/cgroup/memory.max":                           content,
			"sys/fs/cgroup/memory.events":                        content,
			"sys/fs/cgroup/io.max":                               content,
			"sys/fs/cgroup/pids/pids.max":                        content,
			"sys/fs/cgroup/cpu/cpu.stat":                         content,
			"sys/fs/cgroup/blkio/blkio.throttle.read_bps_device": content,
		}).Cgroup(42)
		unit := unitOf(list)
		must.True(t, unit == "" || strings.HasSuffix(unit, ".service"), "unitOf(%q) = %q", list, unit)
		if err != nil {
			return
		}
		must.Match(t, len(got.Paths) > 0, got.Layout != "", "Cgroup(42) of %q: layout %q, groups %v", list, got.Layout, got.Paths)
		must.True(t, got.Cores >= 0 && got.Memory >= 0 && got.Pids >= 0 && got.ThrottledUS >= 0, "Cgroup(42) of %q with %q = %+v", list, content, got)
	})
}

func TestCountersOfATree(t *testing.T) {
	got := files(must.Rows[map[string]string](t, "counters_files")).Counters()
	want := Counters{
		CPU: map[string]int64{
			"user": 1, "nice": 2, "system": 3, "idle": 4, "iowait": 5, "irq": 6, "softirq": 7, "steal": 8,
			"guest": 100, "guest_nice": 200, "total": 36,
		},
		VM:   map[string]int64{"nr_dirty": 42, "pswpout": 7, "oom_kill": 1},
		TCP:  map[string]int64{"RtoMax": 120000, "MaxConn": -1, "OutSegs": 1000, "RetransSegs": 3, "ListenOverflows": 4, "ListenDrops": 5},
		Soft: map[string]int64{"processed": 0xff + 0xffffffff, "dropped": 3, "squeezed": 10},
		NIC:  map[string]map[string]int64{"eth0": {"rx_dropped": 6}},
	}
	must.Match(t, want, got, "Counters()")
}

func TestCountersThatCannotBeReadAreNil(t *testing.T) {
	must.Match(t, Counters{}, files(nil).Counters(), "Counters() of an empty tree")
	got := files(map[string]string{"proc/net/netstat": "TcpExt: ListenDrops\nTcpExt: 5\n"}).Counters()
	must.Match(t, Counters{TCP: map[string]int64{"ListenDrops": 5}}, got, "Counters() with one of two files")
}
