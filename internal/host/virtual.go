package host

import "strings"

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
