package host

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Disk is a block device with nothing below it: a leaf under partitions, md and dm.
type Disk struct {
	Name       string // "sda", the folder below sys/block
	Model      string // "Amazon Elastic Block Store"; "" where the driver does not tell
	WWID       string
	Rotational bool  // as the kernel says: virtual disks commonly claim it
	Size       int64 // bytes

	// How udev finds this disk again after a reboot, and the value that it must
	// have there: `ATTR{wwid}=="eui.0025"`, or KERNEL=="sdb" where it has no
	// identity. Stable tells that it has one. A rule wants ENV{DEVTYPE}=="disk"
	// beside it, for a partition's parent has the same identity.
	Match  string
	Stable bool
}

// Queue returns the name of an attribute of the disk's queue in the tree:
// "sys/block/sda/queue/scheduler".
func (d Disk) Queue(attribute string) string { return blockDir(d.Name, "queue", attribute) }

// Storage is the devices below a file system.
type Storage struct {
	Device string   // the block device that is mounted, by its name below sys: "md0", "sda1"
	Disks  []Disk   // the leaves, sorted by name; none for a network file system, tmpfs or overlay
	Layers []string // what lies between, from the top: "raid5", "lvm", "crypt", "multipath", "loop"
}

// Storage finds the disks below a device number. Major 0 is no block device: it has
// none. A number that no device has is [fs.ErrNotExist].
func (f FS) Storage(major, minor int) (Storage, error) {
	if major == 0 {
		return Storage{}, nil
	}
	device, err := f.blockDevice(fmt.Sprintf("%d:%d", major, minor))
	if err != nil {
		return Storage{}, err
	}
	return f.below(device)
}

// StorageOf finds the disks below a mount. It knows more than Storage: btrfs shows
// a device number of its own, and may be on several disks.
func (f FS) StorageOf(m Mount) (Storage, error) {
	if m.Major != 0 || !strings.HasPrefix(m.Source, "/dev/") {
		return f.Storage(m.Major, m.Minor)
	}
	device := path.Base(m.Source)
	devices := []string{device}
	for _, dir := range f.Glob("sys/fs/btrfs/*/devices") {
		if names, _ := f.Names(dir); slices.Contains(names, device) {
			devices = names
		}
	}
	return f.below(device, devices...)
}

// blockDir returns a name in the folder of a disk.
func blockDir(disk string, more ...string) string {
	return path.Join(append([]string{"sys/block", disk}, more...)...)
}

// blockDevice returns the name of the disk or partition with a number: "8:1" is "sda1".
func (f FS) blockDevice(number string) (string, error) {
	disks, err := f.Names("sys/block")
	if err != nil {
		return "", err
	}
	for _, disk := range disks {
		if n, _ := f.Text(blockDir(disk, "dev")); n == number {
			return disk, nil
		}
		parts, _ := f.partitions(disk)
		for _, part := range parts {
			if n, _ := f.Text(blockDir(disk, part, "dev")); n == number {
				return part, nil
			}
		}
	}
	return "", fmt.Errorf("block device %s is not in /sys/block: %w", number, fs.ErrNotExist)
}

// partitions of a disk are the folders in its folder that begin with its name.
func (f FS) partitions(disk string) ([]string, error) {
	names, err := f.Names(blockDir(disk))
	return slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, disk) }), err
}

// diskOf returns the disk of a partition, and a disk itself; "" for neither.
func (f FS) diskOf(device string) string {
	if f.Exists(blockDir(device)) {
		return device
	}
	disks, _ := f.Names("sys/block")
	for _, disk := range disks {
		if strings.HasPrefix(device, disk) && f.Exists(blockDir(disk, device)) {
			return disk
		}
	}
	return ""
}

// below goes from a device, or several that are one file system, down to disks.
func (f FS) below(device string, devices ...string) (Storage, error) {
	s := Storage{Device: device}
	if len(devices) == 0 {
		devices = []string{device}
	}
	seen := make(map[string]bool)
	for len(devices) > 0 {
		disk := f.diskOf(devices[0])
		if disk == "" {
			return s, fmt.Errorf("block device %s is not in /sys/block: %w", devices[0], fs.ErrNotExist)
		}
		devices = devices[1:]
		if seen[disk] {
			continue
		}
		seen[disk] = true
		if layer := f.layer(disk); layer != "" && !slices.Contains(s.Layers, layer) {
			s.Layers = append(s.Layers, layer)
		}
		slaves, _ := f.Names(blockDir(disk, "slaves"))
		if len(slaves) == 0 {
			s.Disks = append(s.Disks, f.disk(disk))
		}
		devices = append(devices, slaves...)
	}
	slices.SortFunc(s.Disks, func(a, b Disk) int { return strings.Compare(a.Name, b.Name) })
	return s, nil
}

// layer returns the kind of a device that lies over others, "" for a disk.
func (f FS) layer(disk string) string {
	switch {
	case f.Exists(blockDir(disk, "md")):
		if level, err := f.Text(blockDir(disk, "md/level")); err == nil && level != "" {
			return level
		}
		return "md"
	case f.Exists(blockDir(disk, "dm")):
		uuid, _ := f.Text(blockDir(disk, "dm/uuid"))
		return mapped(uuid)
	case f.Exists(blockDir(disk, "loop")): // only while it has a file
		return "loop"
	}
	if slaves, _ := f.Names(blockDir(disk, "slaves")); len(slaves) > 0 {
		return strings.TrimRight(disk, "0123456789") // "bcache"
	}
	return ""
}

// mapped returns which program made a device of the device mapper: each begins the
// device's UUID with its own mark.
func mapped(uuid string) string {
	if part, rest, ok := strings.Cut(uuid, "-"); ok && strings.HasPrefix(part, "part") {
		uuid = rest // kpartx makes partitions of such devices: part1-mpath-3600
	}
	switch mark, _, _ := strings.Cut(uuid, "-"); mark {
	case "LVM":
		return "lvm"
	case "CRYPT":
		return "crypt"
	case "mpath":
		return "multipath"
	case "DMRAID":
		return "dmraid"
	}
	return "dm"
}
