package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	gohost "github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"
	gonet "github.com/shirou/gopsutil/v4/net"
	"github.com/shirou/gopsutil/v4/process"
)

// Facts is the properties of this machine that bear on a measurement.
type Facts struct {
	Hostname    string `json:"hostname"`
	OS          string `json:"os"` // "linux", "darwin"
	Kernel      string `json:"kernel_version"`
	Arch        string `json:"arch"`              // "amd64", "arm64"
	BootID      string `json:"boot_id,omitempty"` // drawn by the kernel at its start: hosts that have one are of one machine
	Machine     string `json:"machine,omitempty"` // maker and model, as the firmware has them: "Amazon EC2 c7g.4xlarge"
	CPUModel    string `json:"cpu_model"`
	LogicalCPUs int    `json:"logical_cpus"`
	GOMAXPROCS  int    `json:"gomaxprocs"` // what kt may use of them
	MemoryBytes int64  `json:"memory_bytes"`

	// The cgroup's limits. 0: none, or none that can be seen from here.
	CPULimitCores    float64 `json:"cpu_limit_cores,omitempty"`
	MemoryLimitBytes int64   `json:"memory_limit_bytes,omitempty"`

	NetworkSpeed int64  `json:"network_speed_bits_per_second,omitempty"` // as in Sample
	ClockSource  string `json:"clock_source,omitempty"`                  // of the kernel: reading any but tsc, kvm-clock or arch_sys_counter is slow
	Hypervisor   bool   `json:"hypervisor,omitempty"`                    // runs in a virtual machine; only x86 tells
	Container    string `json:"container,omitempty"`                     // "docker", "podman", "kubernetes": a hint, from the marks that they leave

	GoVersion string `json:"go_version"`

	// Unavailable names each source that could not be read, and why.
	Unavailable []string `json:"unavailable,omitempty"`
}

// readLinux fills in the facts of /proc and /sys.
func (f *Facts) readLinux(tree FS) {
	f.BootID, _ = tree.Text("proc/sys/kernel/random/boot_id") // without it each host is a machine
	f.ask("machine", func() (err error) { f.Machine, err = tree.machine(); return })
	f.ask("clock_source", func() (err error) {
		f.ClockSource, err = tree.Text("sys/devices/system/clocksource/clocksource0/current_clocksource")
		return
	})
	f.ask("hypervisor", func() (err error) { f.Hypervisor, err = tree.hypervisor(); return })
	f.ask("cgroup", func() error {
		c, err := tree.Cgroup(0)
		f.CPULimitCores, f.MemoryLimitBytes = c.Cores, c.Memory
		return err
	})
	f.NetworkSpeed = tree.networkSpeed(tree.NICs())
	f.Container = tree.Container()
}

// ask reads one source, and notes when it did not answer.
func (f *Facts) ask(name string, read func() error) {
	if err := read(); err != nil {
		f.Unavailable = append(f.Unavailable, fmt.Sprintf("%s: %v", name, err))
	}
}

// machine returns the maker and model in the firmware's tables, or the model in the device tree of ARM boards.
func (f FS) machine() (string, error) {
	product, err := f.Text("sys/class/dmi/id/product_name")
	if err != nil {
		if model, treeErr := f.Text("proc/device-tree/model"); treeErr == nil {
			return strings.TrimRight(model, "\x00"), nil
		}
		return "", err
	}
	vendor, _ := f.Text("sys/class/dmi/id/sys_vendor") // a model says enough by itself
	return strings.TrimSpace(vendor + " " + product), nil
}

// hypervisor is CPUID's bit that says so, as the kernel lists it.
func (f FS) hypervisor() (bool, error) {
	info, err := f.Text("proc/cpuinfo")
	for words := range rows(info) {
		if words[0] == "flags" {
			return slices.Contains(words, "hypervisor"), nil
		}
	}
	return false, err
}

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

// IsHere reports whether a name or an address is this machine's.
func IsHere(ctx context.Context, name string) bool {
	ips, err := net.DefaultResolver.LookupHost(ctx, name)
	own, ownErr := net.InterfaceAddrs()
	return err == nil && ownErr == nil && slices.ContainsFunc(ips, func(ip string) bool {
		return net.ParseIP(ip).IsLoopback() || slices.ContainsFunc(own, func(a net.Addr) bool { return strings.HasPrefix(a.String(), ip+"/") })
	})
}

// NewSampler begins to measure. Sample's offsets are from start.
//
// The interfaces and their speeds are looked up here and not again: they rarely
// change during a run, and the lookup is most of what a Sample would cost.
func NewSampler(start time.Time) *Sampler {
	tree := System()
	nics := tree.NICs()
	self := &process.Process{Pid: int32(os.Getpid())}
	s := newSampler(func() time.Duration { return time.Since(start) }, meters{
		processCPU: ProcessCPU,
		hostCPU:    hostCPU,
		gcCPU:      gcCPU(),
		sent:       sentBytes(nics),
		cgroup:     func() (Cgroup, error) { return tree.Cgroup(0) }, // fails where there are none
		resident: func() (int64, error) {
			m, err := self.MemoryInfo()
			if err != nil {
				return 0, err
			}
			return int64(m.RSS), nil
		},
	})
	s.cores, s.speed = logicalCPUs(), tree.networkSpeed(nics)
	return s
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

// hostCPU returns the time in which the machine's CPUs did something, with that which a hypervisor stole, and without a guest's, which
// user time holds already.
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

// sentBytes counts what the named interfaces sent; where there is no list, those that are not loopback.
func sentBytes(interfaces []string) func() (float64, error) {
	if interfaces == nil {
		all, _ := gonet.Interfaces() // none
		for _, i := range all {
			if !slices.Contains(i.Flags, "loopback") {
				interfaces = append(interfaces, i.Name)
			}
		}
	}
	return func() (float64, error) {
		all, err := gonet.IOCounters(true)
		sum := 0.0
		for _, c := range all {
			if slices.Contains(interfaces, c.Name) {
				sum += float64(c.BytesSent)
			}
		}
		return sum, err
	}
}

// logicalCPUs are those of the machine; the runtime's number, without those that this process may not use, is better than none.
func logicalCPUs() float64 {
	if n, err := cpu.Counts(true); err == nil && n > 0 {
		return float64(n)
	}
	return float64(runtime.NumCPU())
}

// Container returns which container runtime left its mark in the tree: "kubernetes",
// "podman", "docker", or "" for none. A small virtual machine that was made from an
// image has the mark too, but it also sees the kernel's own threads, and the mounts of
// the machine's first process; a container that is shown the machine's processes has
// mounts of its own.
func (f FS) Container() string {
	thread, _ := f.Text("proc/2/comm") // not to be seen in a container
	first, firstErr := f.Text("proc/1/mountinfo")
	own, err := f.Text("proc/self/mountinfo")
	if thread == "kthreadd" && firstErr == nil && err == nil && first == own {
		return ""
	}
	for _, mark := range []struct{ name, runtime string }{
		// Kubernetes first: its pods may carry the mark of the runtime below too.
		{"var/run/secrets/kubernetes.io", "kubernetes"},
		{"run/.containerenv", "podman"},
		{".dockerenv", "docker"},
	} {
		if f.Exists(mark.name) {
			return mark.runtime
		}
	}
	return ""
}

// Virtual returns the kind of virtual machine that this is, as its firmware or its CPU
// says: "kvm", "xen", "vmware", "hyperv", "virtual" for another, "" for none that
// tells.
func (f FS) Virtual() string {
	if t, err := f.Text("sys/hypervisor/type"); err == nil && t != "" {
		return t
	}
	machine, _ := f.machine() // without it the CPU is asked
	for _, known := range []struct{ mark, kind string }{
		{"KVM", "kvm"},
		{"QEMU", "kvm"},
		{"Amazon EC2", "kvm"},
		{"Google Compute Engine", "kvm"},
		{"VMware", "vmware"},
		{"Xen", "xen"},
		{"Virtual Machine", "hyperv"},
		{"VirtualBox", "virtual"},
	} {
		// Amazon's bare-metal machines carry its name too, and say so.
		if strings.Contains(machine, known.mark) && !strings.Contains(machine, ".metal") {
			return known.kind
		}
	}
	if ok, _ := f.hypervisor(); ok { // an unreadable CPU says nothing either way
		return "virtual"
	}
	return ""
}

// Cloud is whose machine this is, by its firmware: "aws", "gcp", "azure", or "".
func (f FS) Cloud() string {
	machine, _ := f.machine() // no firmware's table, no cloud
	// The vendor of a Hyper-V machine is Microsoft everywhere; the tag is Azure's own.
	tag, _ := f.Text("sys/class/dmi/id/chassis_asset_tag")
	switch {
	case strings.Contains(machine, "Amazon EC2"):
		return "aws"
	case strings.Contains(machine, "Google"):
		return "gcp"
	case tag == "7783-7084-3265-9085-8269-3286-77":
		return "azure"
	}
	return ""
}
