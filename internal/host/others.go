package host

import (
	"errors"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/process"
)

// Others measures how much of this machine's CPUs others use: neither this process nor one more.
type Others struct {
	read   func() (busyTimes, error)
	before busyTimes
}

// busyTimes are counters in CPU seconds.
type busyTimes struct {
	all  float64 // of all CPUs, also of idle ones
	busy float64 // of processes, and time that a hypervisor gave to other machines
	ours float64 // of this process and the one more
}

// NewOthers begins to measure. pid is the process that is not counted, beside this one.
func NewOthers(pid int) (*Others, error) {
	o := &Others{read: func() (busyTimes, error) { return readTimes(pid) }}
	var err error
	o.before, err = o.read()
	return o, err
}

// Share returns the share of the time of all CPUs that others used since NewOthers.
func (o *Others) Share() (float64, error) {
	now, err := o.read()
	if err != nil {
		return 0, err
	}
	all := now.all - o.before.all
	if all <= 0 {
		return 0, errors.New("the counters of the CPUs stand still")
	}
	others := (now.busy - o.before.busy) - (now.ours - o.before.ours)
	return min(1, max(0, others/all)), nil
}

// readTimes reads the counters. Interrupts are left out of busy: those of a load belong to no process, so they would count
// as those of others.
func readTimes(pid int) (t busyTimes, err error) {
	own, err := ProcessCPU()
	if err != nil {
		return t, err
	}
	child, err := (&process.Process{Pid: int32(pid)}).Times()
	if err != nil {
		return t, err
	}
	machine, err := cpu.Times(false)
	if err == nil && len(machine) == 0 {
		err = errors.New("no CPU times")
	}
	if err != nil {
		return t, err
	}
	m := machine[0]
	t.busy = m.User + m.Nice + m.System + m.Steal
	t.all = t.busy + m.Idle + m.Iowait + m.Irq + m.Softirq
	t.ours = own + child.User + child.System
	return t, nil
}
