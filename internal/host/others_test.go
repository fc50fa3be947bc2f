package host

import (
	"errors"
	"math"
	"os"
	"testing"
)

func TestOthersAreWhatNeitherProcessUsed(t *testing.T) {
	for _, tc := range []struct {
		name string
		grow busyTimes
		want float64
	}{
		{"nobody else", busyTimes{all: 8, busy: 5, ours: 5}, 0},
		{"a quarter of the CPUs", busyTimes{all: 8, busy: 7, ours: 5}, 0.25},
		{"the kernel counted less than the processes", busyTimes{all: 8, busy: 5, ours: 5.1}, 0},
	} {
		now := busyTimes{100, 50, 20}
		o := &Others{read: func() (busyTimes, error) { return now, nil }, before: now}
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

func TestTheCountersOfThisMachineAreRead(t *testing.T) {
	times, err := readTimes(os.Getppid())
	if err != nil || times.all <= times.busy || times.busy <= 0 || times.ours <= 0 {
		t.Errorf("%+v, %v", times, err)
	}
}
