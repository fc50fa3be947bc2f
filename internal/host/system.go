package host

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	gohost "github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"
	"github.com/shirou/gopsutil/v4/net"
	"github.com/shirou/gopsutil/v4/process"
)

// ReadFacts returns the facts of this machine. It takes some milliseconds.
func ReadFacts() Facts {
	f := Facts{
		OS:          runtime.GOOS,
		Arch:        runtime.GOARCH,
		LogicalCPUs: int(logicalCPUs()),
		GOMAXPROCS:  runtime.GOMAXPROCS(0),
		GoVersion:   runtime.Version(),
	}
	f.ask("hostname", func() (err error) { f.Hostname, err = os.Hostname(); return })
	f.ask("kernel_version", func() (err error) { f.Kernel, err = gohost.KernelVersion(); return })
	f.ask("memory_bytes", func() error {
		m, err := mem.VirtualMemory()
		if err == nil {
			f.MemoryBytes = int64(m.Total)
		}
		return err
	})
	f.ask("cpu_model", func() error {
		infos, err := cpu.Info()
		if err == nil && len(infos) > 0 {
			f.CPUModel = infos[0].ModelName
		}
		return err
	})
	if f.OS == "linux" {
		f.readLinux(System())
	}
	return f
}

// NewSampler begins to measure. Sample's offsets are from start.
//
// The interfaces and their speeds are looked up here and not again: they rarely
// change during a run, and the lookup is most of what a Sample would cost.
func NewSampler(start time.Time) *Sampler {
	tree := System()
	nics := tree.NICs()
	s := newSampler(func() time.Duration { return time.Since(start) }, systemMeters(nics))
	s.cores = logicalCPUs()
	s.speed = tree.networkSpeed(nics)
	return s
}

// systemMeters returns the meters of the machine that kt runs on.
func systemMeters(interfaces []string) meters {
	tree := System()
	self := &process.Process{Pid: int32(os.Getpid())}
	return meters{
		processCPU: ProcessCPU,
		hostCPU:    hostCPU,
		gcCPU:      gcCPU(),
		sent:       sentBytes(interfaces),
		cgroup:     func() (Cgroup, error) { return tree.Cgroup(0) }, // fails where there are none
		resident: func() (int64, error) {
			m, err := self.MemoryInfo()
			if err != nil {
				return 0, err
			}
			return int64(m.RSS), nil
		},
	}
}

// ProcessCPU returns the user and system time of this process since it began, in seconds. It
// asks the kernel itself, not gopsutil: getrusage counts microseconds on Linux and
// macOS, where gopsutil reads ticks of 10 ms from /proc, which is 4 % of an interval of
// 250 ms.
func ProcessCPU() (float64, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, os.NewSyscallError("getrusage", err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9, nil
}

// hostCPU returns the time in which the machine's CPUs did something. Time that a
// hypervisor stole counts: kt could not have had it. Waiting for a disk does
// not, nor guest time, which user time holds already.
func hostCPU() (float64, error) {
	all, err := cpu.Times(false)
	if err != nil {
		return 0, err
	}
	if len(all) == 0 {
		return 0, errors.New("no CPU times")
	}
	t := all[0]
	return t.User + t.Nice + t.System + t.Irq + t.Softirq + t.Steal, nil
}

// sentBytes counts what the named interfaces sent; where there is no list, those
// that are not loopback.
func sentBytes(interfaces []string) func() (float64, error) {
	if interfaces == nil {
		interfaces = notLoopback()
	}
	return func() (float64, error) {
		all, err := net.IOCounters(true)
		if err != nil {
			return 0, err
		}
		var sum uint64
		for _, c := range all {
			if slices.Contains(interfaces, c.Name) {
				sum += c.BytesSent
			}
		}
		return float64(sum), nil
	}
}

func notLoopback() []string {
	all, err := net.Interfaces()
	if err != nil {
		return nil
	}
	var names []string
	for _, i := range all {
		if !slices.Contains(i.Flags, "loopback") {
			names = append(names, i.Name)
		}
	}
	return names
}

// logicalCPUs are those of the machine. The runtime's number leaves out those
// that this process is not allowed to use; it is better than none.
func logicalCPUs() float64 {
	if n, err := cpu.Counts(true); err == nil && n > 0 {
		return float64(n)
	}
	return float64(runtime.NumCPU())
}
