package host

import (
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

func TestFactsOfThisMachine(t *testing.T) {
	f := ReadFacts()
	if f.LogicalCPUs < 1 || f.MemoryBytes < 1<<20 || f.Kernel == "" || f.Hostname == "" {
		t.Errorf("ReadFacts() = %+v, want CPUs, memory, kernel and name", f)
	}
	must.Match(t, []string{runtime.GOOS, runtime.Version()}, []string{f.OS, f.GoVersion}, "ReadFacts() = %s, %s", f.OS, f.GoVersion)
}

func TestThisProcessShowsItsWork(t *testing.T) {
	s := NewSampler(time.Now())
	x := 1.0
	for range 50_000_000 {
		x = math.Sqrt(x + 1)
	}
	got := s.Sample(time.Second)
	if got.Unread > 0 {
		t.Errorf("%d sources did not answer: %+v", got.Unread, got)
	}
	if got.ProcessCPU <= 0 || got.RSS <= 0 || got.HostCores < 1 {
		t.Errorf("after %g, Sample = %+v, want CPU time, memory and cores", x, got)
	}
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
