package watch

import (
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
)

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
	if v.At != time.Second || v.Interval < 300*time.Millisecond {
		t.Errorf("At %v, Interval %v", v.At, v.Interval)
	}
	if v.Cores < 1 || v.CPU <= 0 || v.CPU > v.Cores || v.Steal < 0 || v.Steal > v.CPU || v.IOWait < 0 || v.IOWait > v.Cores-v.CPU+1e-9 {
		t.Errorf("CPU %+v", v)
	}
	if least := worked.Seconds() / 2 / v.Interval.Seconds(); v.Agent < least || v.Agent > v.Cores+0.5 { // its clock and the machine's are read apart
		t.Errorf("kt used %.2f cores, want at least %.2f", v.Agent, least)
	}
	if v.Free <= 0 || v.Memory < v.Free || v.Memory < v.Cache || v.Dirty < 0 {
		t.Errorf("memory %d, available %d, cache %d, dirty %d", v.Memory, v.Free, v.Cache, v.Dirty)
	}
	for _, d := range v.Disks {
		if d.Name == "" || d.Busy < 0 || d.Busy > 1 || d.Read < 0 || d.Written < 0 {
			t.Errorf("disk %+v", d)
		}
	}
	for _, n := range v.Networks {
		if n.Name == "" || n.Name == "lo" || n.Speed < 0 || n.Sent < 0 || n.Received < 0 || n.Dropped < 0 {
			t.Errorf("network %+v", n)
		}
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
