package host

import (
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

// A timer of the kernel has no fake time: these few milliseconds pass.
func TestASleeperSleepsAtLeastAsLongAsAsked(t *testing.T) {
	s := NewSleeper()
	for _, d := range []time.Duration{-time.Second, 0, 1, 300 * time.Microsecond, time.Millisecond, 3 * time.Millisecond, time.Millisecond} {
		from := time.Now()
		s.Sleep(d)
		if took := time.Since(from); took < d {
			t.Errorf("a sleep of %v took %v", d, took)
		}
	}
	must.Do(t, s.Close())
	from := time.Now()
	if s.Sleep(time.Millisecond); time.Since(from) < time.Millisecond {
		t.Errorf("a sleep without a timer took %v", time.Since(from))
	}
}

func TestASleepAllocatesNothing(t *testing.T) {
	s := NewSleeper()
	defer s.Close()
	if n := testing.AllocsPerRun(20, func() { s.Sleep(100 * time.Microsecond) }); n > 0 {
		t.Errorf("a sleep allocates %v times", n)
	}
}

func BenchmarkSleepOfOneMillisecond(b *testing.B) {
	s := NewSleeper()
	defer s.Close()
	for b.Loop() {
		s.Sleep(time.Millisecond)
	}
}
