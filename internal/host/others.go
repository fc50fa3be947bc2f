package host

import (
	"errors"
	"runtime"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/process"
)

// Others measures how much others use of the CPUs that kt may use. Others are all processes but this one and the sink.
type Others struct {
	read   func() (busyTimes, error)
	before busyTimes
	quota  float64 // the share of the time of the CPUs that the cgroup allows; 1: all of it
}

// busyTimes are counters in CPU seconds, of the CPUs that kt may run on.
type busyTimes struct {
	all  float64 // also of idle CPUs
	busy float64 // of processes, and time that a hypervisor gave to other machines
	ours float64 // of this process and the sink
}

// NewOthers begins to measure. sink is the process of the sink.
func NewOthers(sink int) (*Others, error) {
	cpus, err := allowedTimes()
	if err != nil {
		return nil, err
	}
	o := &Others{read: func() (busyTimes, error) { return readTimes(sink) }, quota: 1}
	if limit, err := System().Cgroup(0); err == nil && limit.Cores > 0 { // elsewhere no limit is known
		o.quota = min(1, limit.Cores/float64(len(cpus)))
	}
	o.before, err = o.read()
	return o, err
}

// Share returns the share of the CPU time that kt could have had since NewOthers, and that others used. With a quota kt cannot
// use all the time of the CPUs. Others then take nothing from kt while they only use the rest.
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
	allowed := all * o.quota
	return min(1, max(0, (others-(all-allowed))/allowed)), nil
}

// readTimes reads the counters. Interrupts are left out of busy: those of a load belong to no process, so they would count
// as those of others.
func readTimes(sink int) (t busyTimes, err error) {
	own, err := ProcessCPU()
	if err != nil {
		return t, err
	}
	child, err := (&process.Process{Pid: int32(sink)}).Times()
	if err != nil {
		return t, err
	}
	cpus, err := allowedTimes()
	for _, c := range cpus {
		busy := c.User + c.Nice + c.System + c.Steal
		t.busy += busy
		t.all += busy + c.Idle + c.Iowait + c.Irq + c.Softirq
	}
	t.ours = own + child.User + child.System
	return t, err
}

// allowedTimes returns the times of the CPUs that kt may run on, as cpusets and taskset leave them. Only Linux tells these.
func allowedTimes() ([]cpu.TimesStat, error) {
	cpus, err := cpu.Times(true)
	if err == nil && runtime.GOOS == "linux" {
		var list string
		if list, err = System().status(0, "Cpus_allowed_list"); err == nil {
			cpus, err = timesOf(cpus, list)
		}
	}
	if err == nil && len(cpus) == 0 {
		err = errors.New("no CPU times")
	}
	return cpus, err
}

// timesOf returns the times of the CPUs in a list such as 0-3,8.
func timesOf(cpus []cpu.TimesStat, list string) (in []cpu.TimesStat, err error) {
	ranges, err := parseCPUs(list)
	for _, r := range ranges {
		for _, c := range cpus {
			if n, err := strconv.Atoi(strings.TrimPrefix(c.CPU, "cpu")); err == nil && r.from <= n && n <= r.to {
				in = append(in, c)
			}
		}
	}
	return in, err
}
