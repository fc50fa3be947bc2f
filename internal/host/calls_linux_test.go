package host

import (
	"errors"
	"io/fs"
	"regexp"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kt-bench/kt/internal/must"
)

// Whatever NICs the machine has: what their drivers tell makes sense.
func TestTheCardsOfThisMachine(t *testing.T) {
	word := regexp.MustCompile(`^[[:graph:]]([[:print:]]*[[:graph:]])?$`)
	nics, err := System().Names(classNet)
	if err != nil {
		t.Skip("the NICs may not be listed here: ", err)
	}
	for _, nic := range nics {
		got, err := SystemCalls("/").Ethernet(nic)
		if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrNotExist) {
			continue // bonding_masters is no NIC
		}
		must.True(t, err == nil && got.RXRing <= got.RXRingMax && got.Channels <= got.ChannelsMax, "Ethernet(%s) = %+v, %v", nic, got, err)
		for name := range got.Stats {
			must.True(t, word.MatchString(name), "Ethernet(%s) has a count with the name %q", nic, name)
		}
		for name := range got.Features {
			must.True(t, word.MatchString(name), "Ethernet(%s) has a feature with the name %q", nic, name)
		}
	}
}

func TestAFolderIsInTheMountThatTheKernelSays(t *testing.T) {
	mounts := must.Have(System().Mounts())(t)
	for _, dir := range []string{"/", "/proc/self", t.TempDir()} {
		var s unix.Stat_t
		must.Do(t, unix.Stat(dir, &s))
		major, minor := int(unix.Major(uint64(s.Dev))), int(unix.Minor(uint64(s.Dev)))
		m, ok := MountOf(mounts, dir)
		if m.Type == "btrfs" {
			continue // its folders have numbers of their own
		}
		must.True(t, ok && m.Major == major && m.Minor == minor, "MountOf(%s) = %+v, %t, but the kernel says device %d:%d", dir, m, ok, major, minor)
	}
}

// A timer of the kernel has no fake time: these few milliseconds pass.
func TestASleeperSleepsAtLeastAsLongAsAsked(t *testing.T) {
	s := NewSleeper()
	for _, d := range []time.Duration{-time.Second, 0, 1, 300 * time.Microsecond, time.Millisecond, 3 * time.Millisecond, time.Millisecond} {
		from := time.Now()
		s.Sleep(d)
		took := time.Since(from)
		must.True(t, took >= d, "a sleep of %v took %v", d, took)
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
	n := testing.AllocsPerRun(20, func() { s.Sleep(100 * time.Microsecond) })
	must.True(t, n <= 0, "a sleep allocates %v times", n)
}

func BenchmarkSleepOfOneMillisecond(b *testing.B) {
	s := NewSleeper()
	defer s.Close()
	for b.Loop() {
		s.Sleep(time.Millisecond)
	}
}
