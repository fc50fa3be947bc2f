package host

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kt-bench/kt/internal/must"
)

// fixture is one of the machines in testdata/hosts.
func fixture(name string) FS { return NewFS(os.DirFS(filepath.Join("testdata", "hosts", name))) }

func TestFactsComeFromTheFileTree(t *testing.T) {
	for name, want := range must.Rows[map[string]Facts](t, "facts") {
		var got Facts
		got.readLinux(fixture(name))
		must.Match(t, want, got, "readLinux(%s)", name)
	}
}

func TestAnEmptyTreeLeavesFactsEmptyAndNamesTheSources(t *testing.T) {
	var got Facts
	got.readLinux(NewFS(fstest.MapFS{}))
	var names []string
	for _, u := range got.Unavailable {
		name, _, _ := strings.Cut(u, ":")
		names = append(names, name)
	}
	must.Match(t, []string{"machine", "clock_source", "hypervisor", "cgroup"}, names, "unavailable")
	got.Unavailable = nil
	must.Match(t, Facts{}, got, "the other fields")
}

func TestAMalformedFileIsNoLimitAndNoPanic(t *testing.T) {
	for _, content := range []string{"", "max", "x y", "1", "1 0", "-1 100000", "9223372036854775807", "1\x00"} {
		tree := fstest.MapFS{}
		for _, name := range []string{
			"sys/fs/cgroup/cpu.max", "sys/fs/cgroup/memory.max",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "sys/fs/cgroup/cpu/cpu.cfs_period_us",
			"sys/class/net/eth0/type", "sys/class/net/eth0/speed", "proc/cpuinfo",
		} {
			tree[name] = &fstest.MapFile{Data: []byte(content)}
		}
		tree["proc/self/cgroup"] = &fstest.MapFile{Data: []byte("1:cpu:/../..\n0::/../x\n")}
		var got Facts
		got.readLinux(NewFS(tree))
		must.True(t, got.NetworkSpeed == 0 && !got.Hypervisor && (content == "1" || got.MemoryLimitBytes == 0),
			"readLinux with %q in every file = %+v, want nothing", content, got)
	}
}

func TestAMalformedCgroupListIsNamed(t *testing.T) {
	_, err := NewFS(fstest.MapFS{"proc/self/cgroup": {Data: []byte("nonsense\n")}}).Cgroup(0)
	must.Err(t, "nonsense", err, "Cgroup(0) error")
}

func TestFactsOfThisMachine(t *testing.T) {
	f := ReadFacts()
	must.True(t, f.LogicalCPUs >= 1 && f.MemoryBytes >= 1<<20 && f.Kernel != "" && f.Hostname != "",
		"ReadFacts() = %+v, want CPUs, memory, kernel and name", f)
	must.Match(t, []string{runtime.GOOS, runtime.Version()}, []string{f.OS, f.GoVersion}, "ReadFacts() = %s, %s", f.OS, f.GoVersion)
}

func TestThisProcessShowsItsWork(t *testing.T) {
	s := NewSampler(time.Now())
	x := 1.0
	for range 50_000_000 {
		x = math.Sqrt(x + 1)
	}
	got := s.Sample(time.Second)
	must.True(t, got.Unread <= 0, "%d sources did not answer: %+v", got.Unread, got)
	must.True(t, got.ProcessCPU > 0 && got.RSS > 0 && got.HostCores >= 1, "after %g, Sample = %+v, want CPU time, memory and cores", x, got)
}

// A run takes a sample a second or more often: it must cost next to nothing.
func BenchmarkSample(b *testing.B) {
	s := NewSampler(time.Now())
	b.ReportAllocs()
	for b.Loop() {
		s.Sample(0)
	}
}

func BenchmarkReadFacts(b *testing.B) {
	for b.Loop() {
		ReadFacts()
	}
}

// fakeMachine is a machine whose counters a test moves by hand.
type fakeMachine struct {
	cgroup                        Cgroup
	now                           time.Duration
	processCPU, hostCPU, gc, sent float64
	broken                        error
}

func (m *fakeMachine) sampler() *Sampler {
	from := func(v *float64) func() (float64, error) {
		return func() (float64, error) { return *v, m.broken }
	}
	s := newSampler(func() time.Duration { return m.now }, meters{
		processCPU: from(&m.processCPU),
		hostCPU:    from(&m.hostCPU),
		gcCPU:      from(&m.gc),
		sent:       from(&m.sent),
		resident:   func() (int64, error) { return 64 << 20, m.broken },
		cgroup:     func() (Cgroup, error) { return m.cgroup, nil },
	})
	s.cores, s.speed = 8, 1e10
	return s
}

// run lets time pass with so many cores busy.
func (m *fakeMachine) run(d time.Duration, process, host, gc float64) {
	m.now += d
	m.processCPU += process * d.Seconds()
	m.hostCPU += host * d.Seconds()
	m.gc += gc * d.Seconds()
}

func (m *fakeMachine) compare(t *testing.T, got, want Sample) {
	t.Helper()
	want.Cores, want.HostCores, want.NetSpeed = float64(runtime.GOMAXPROCS(0)), 8, 1e10
	opts := []cmp.Option{cmpopts.IgnoreFields(Sample{}, "GCPauseMax"), cmpopts.EquateApprox(0, 1e-9)}
	diff := cmp.Diff(want, got, opts...)
	must.True(t, diff == "", "Sample (-want +got):\n%s", diff)
}

func TestSampleHoldsTheRatesOfItsInterval(t *testing.T) {
	m := &fakeMachine{processCPU: 100, hostCPU: 9000, gc: 7, sent: 1e9}
	s := m.sampler()
	m.run(500*time.Millisecond, 1.5, 3, 0.1)
	m.sent += 4096
	m.compare(t, s.Sample(m.now), Sample{
		At: 500 * time.Millisecond, Interval: 500 * time.Millisecond,
		ProcessCPU: 1.5, HostCPU: 3, GCCPU: 0.1, NetSent: 4096, RSS: 64 << 20,
	})
	m.run(time.Second, 0, 0.25, 0)
	m.compare(t, s.Sample(m.now), Sample{
		At: 1500 * time.Millisecond, Interval: time.Second, HostCPU: 0.25, RSS: 64 << 20,
	})
}

func TestAFailingSourceIsCountedAndItsTimeIsNotLost(t *testing.T) {
	m := &fakeMachine{}
	s := m.sampler()
	m.broken = errors.New("unplugged")
	m.run(time.Second, 4, 4, 1)
	m.sent += 100
	m.compare(t, s.Sample(m.now), Sample{At: m.now, Interval: time.Second, Unread: 5})
	m.broken = nil
	m.run(time.Second, 0, 0, 0)
	m.compare(t, s.Sample(m.now), Sample{
		At: m.now, Interval: time.Second,
		ProcessCPU: 2, HostCPU: 2, GCCPU: 0.5, RSS: 64 << 20, NetSent: 100, // half of four cores for two seconds
	})
}

func TestASourceThatWasBrokenFromTheStartBeginsWhenItAnswers(t *testing.T) {
	m := &fakeMachine{processCPU: 100, hostCPU: 100, broken: errors.New("unplugged")}
	s := m.sampler()
	m.broken = nil
	m.run(time.Second, 1, 1, 0)
	m.compare(t, s.Sample(m.now), Sample{At: m.now, Interval: time.Second, Unread: 4, RSS: 64 << 20})
	m.run(time.Second, 1, 1, 0)
	m.compare(t, s.Sample(m.now), Sample{At: m.now, Interval: time.Second, ProcessCPU: 1, HostCPU: 1, RSS: 64 << 20})
}

func TestACounterThatFallsBeginsAnew(t *testing.T) {
	m := &fakeMachine{sent: 1000}
	s := m.sampler()
	m.run(time.Second, 0, 0, 0)
	m.sent = 10
	m.compare(t, s.Sample(m.now), Sample{At: m.now, Interval: time.Second, Unread: 1, RSS: 64 << 20})
	m.run(time.Second, 0, 0, 0)
	m.sent = 15
	m.compare(t, s.Sample(m.now), Sample{At: m.now, Interval: time.Second, NetSent: 5, RSS: 64 << 20})
}

func TestTheLongestPauseIsTheHighestBucketThatGrew(t *testing.T) {
	bounds := []float64{math.Inf(-1), 0.001, 0.002, 0.004, math.Inf(1)}
	for _, row := range []struct {
		says     string
		was, now []uint64
		want     time.Duration
	}{
		{"nothing was stopped", []uint64{5, 1, 1, 0}, []uint64{5, 1, 1, 0}, 0},
		{"a short pause after a long one earlier", []uint64{5, 1, 1, 0}, []uint64{6, 1, 1, 0}, time.Millisecond},
		{"two pauses", []uint64{5, 1, 1, 0}, []uint64{6, 2, 1, 0}, 2 * time.Millisecond},
		{"one above every bound", []uint64{0, 0, 0, 0}, []uint64{1, 0, 0, 1}, 4 * time.Millisecond},
		{"the first look", nil, []uint64{1, 0, 1, 0}, 4 * time.Millisecond},
		{"the first look with nothing", nil, []uint64{0, 0, 0, 0}, 0},
	} {
		h := &metrics.Float64Histogram{Counts: row.now, Buckets: bounds}
		must.Match(t, row.want, longestSince(row.was, h), "%s: longestSince(%v, %v)", row.says, row.was, row.now)
	}
}

func TestACollectionShowsAsAPause(t *testing.T) {
	p := newPauses()
	runtime.GC()
	got := p.longest()
	must.True(t, got > 0 && got <= time.Minute, "longest pause after a collection = %v, want some", got)
}

func TestTheSampleOfTwoIntervalsHasTheirMeanRates(t *testing.T) {
	m := &fakeMachine{}
	s := m.sampler()
	m.run(time.Second, 1.5, 3, 0.1)
	m.sent += 10
	got := s.Sample(m.now)
	m.run(3*time.Second, 0.5, 2, 0.3)
	m.sent += 5
	got.Add(s.Sample(m.now))
	m.compare(t, got, Sample{
		At: 4 * time.Second, Interval: 4 * time.Second, ProcessCPU: 0.75, HostCPU: 2.25, GCCPU: 0.25, RSS: 64 << 20, NetSent: 15,
	})
}

func TestTheCPULimitOfTheCgroupBoundsTheCores(t *testing.T) {
	m := &fakeMachine{cgroup: Cgroup{Cores: 0.3, Periods: 100, Throttled: 50}}
	s := m.sampler()
	m.run(time.Second, 0.3, 1, 0)
	m.cgroup.Periods, m.cgroup.Throttled = 110, 58
	got := s.Sample(time.Second)
	must.True(t, got.Cores == 0.3 && got.Stopped == 0.8, "%v cores, stopped in %v of the periods; want 0.3 and 0.8", got.Cores, got.Stopped)
	m.run(time.Second, 0.3, 1, 0)
	must.Match(t, 0, s.Sample(2*time.Second).Stopped, "the share of periods in which it was stopped, though none passed")
}

func TestTheClockOfThisMachine(t *testing.T) {
	c := ReadClock()
	switch {
	case c == nil && runtime.GOOS == "linux":
		t.Skip("the kernel does not tell, as in some containers")
	case c != nil && runtime.GOOS != "linux":
		t.Errorf("ReadClock() = %+v on %s, which it does not ask", *c, runtime.GOOS)
	case c != nil && (c.ErrorUS < 0 || c.Error() != time.Duration(c.ErrorUS)*time.Microsecond):
		t.Errorf("ReadClock() = %+v, an error of %v", *c, c.Error())
	}
}
