package host

import (
	"errors"
	"math"
	"os/exec"
	"strings"
	"testing"

	"github.com/shirou/gopsutil/v4/cpu"

	"github.com/kt-bench/kt/internal/must"
)

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
		if share, err := o.Share(); err != nil || math.Abs(share-tc.want) > 1e-9 {
			t.Errorf("%s: %g, %v; want %g", tc.name, share, err, tc.want)
		}
	}
	broken := errors.New("gone")
	if _, err := (&Others{read: func() (busyTimes, error) { return busyTimes{}, broken }}).Share(); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
	if _, err := (&Others{read: func() (busyTimes, error) { return busyTimes{}, nil }}).Share(); err == nil {
		t.Error("counters that stand still are no error")
	}
}

func TestOnlyTheCPUsThatKtMayUseAreMeasured(t *testing.T) {
	all := []cpu.TimesStat{{CPU: "cpu0"}, {CPU: "cpu1"}, {CPU: "cpu2"}, {CPU: "cpu10"}}
	for list, want := range map[string]string{"0-10": "cpu0 cpu1 cpu2 cpu10", "1-2": "cpu1 cpu2", "0,10": "cpu0 cpu10", "4": ""} {
		in, err := timesOf(all, list)
		var names []string
		for _, c := range in {
			names = append(names, c.CPU)
		}
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", list, got, err, want)
		}
	}
	if _, err := timesOf(all, "x"); err == nil {
		t.Error("a list that cannot be read is no error")
	}
}

func TestTheCountersOfThisMachineAreRead(t *testing.T) {
	child := exec.CommandContext(t.Context(), "sleep", "60")
	must.Do(t, child.Start())
	defer func() {
		_ = child.Process.Kill() // it may have ended
		_ = child.Wait()         // it was killed
	}()
	times, err := readTimes(child.Process.Pid)
	if err != nil || times.all <= times.busy || times.busy <= 0 || times.ours <= 0 {
		t.Errorf("%+v, %v", times, err)
	}
}
