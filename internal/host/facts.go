package host

import (
	"fmt"
	"slices"
	"strings"
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

// machine returns the maker and model in the firmware's tables, or the model in the
// device tree, which ARM boards have instead.
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
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(info) {
		if name, flags, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "flags" {
			return slices.Contains(strings.Fields(flags), "hypervisor"), nil
		}
	}
	return false, nil
}
