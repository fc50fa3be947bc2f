package host

import (
	"cmp"
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
	Rotational bool   // as the kernel says: virtual disks commonly claim it
	Size       int64  // bytes

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
	Memory string   // what of it is memory and no disk: "tmpfs", "loop0 in tmpfs", "ram0"; "" for nothing
}

// StorageOf finds the disks below a mount, of which the device number is enough. Network file systems have none. btrfs shows a
// number of its own, and may be on several disks. A number that no device has is [fs.ErrNotExist].
func (f FS) StorageOf(m Mount) (Storage, error) {
	mounts, _ := f.Mounts() // without them files below loop devices and overlays are not followed
	devices, memory, err := f.under(m, mounts)
	if err != nil || len(devices) == 0 {
		return Storage{Memory: memory}, err
	}
	return f.below(devices, mounts)
}

// under returns the devices that a file system is on, that of the mount first, or the kind of memory that it is.
func (f FS) under(m Mount, mounts []Mount) (devices []string, memory string, err error) {
	for range 8 { // the layer of an overlay that is written may be in another
		upper, ok := m.Option("upperdir")
		at, known := MountOf(mounts, upper)
		if m.Type != "overlay" || !ok || !known || !f.Exists(Rel(upper)) { // the name may be that of another process's view
			break
		}
		m = at
	}
	device := path.Base(m.Source)
	switch {
	case slices.Contains([]string{"tmpfs", "ramfs", "devtmpfs", "rootfs"}, m.Type):
		return nil, m.Type, nil
	case m.Major != 0:
		device, err = f.blockDevice(fmt.Sprintf("%d:%d", m.Major, m.Minor))
		return []string{device}, "", err
	case !strings.HasPrefix(m.Source, "/dev/"):
		return nil, "", nil
	}
	devices = []string{device}
	for _, dir := range f.Glob("sys/fs/btrfs/*/devices") {
		if names, _ := f.Names(dir); slices.Contains(names, device) {
			devices = append(devices, names...)
		}
	}
	return devices, "", nil
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
		names, _ := f.Names(blockDir(disk))
		for _, part := range names { // partitions are the folders in it that begin with its name
			if n, _ := f.Text(blockDir(disk, part, "dev")); n == number && strings.HasPrefix(part, disk) {
				return part, nil
			}
		}
	}
	return "", fmt.Errorf("block device %s is not in /sys/block: %w", number, fs.ErrNotExist)
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

// below goes from the devices of one file system, the first of which is mounted, down to disks.
func (f FS) below(devices []string, mounts []Mount) (Storage, error) {
	s := Storage{Device: devices[0]}
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
		slaves, memory := f.slaves(disk, mounts)
		if len(slaves) == 0 {
			s.Disks = append(s.Disks, f.disk(disk))
		}
		s.Memory = cmp.Or(s.Memory, memory)
		devices = append(devices, slaves...)
	}
	slices.SortFunc(s.Disks, func(a, b Disk) int { return strings.Compare(a.Name, b.Name) })
	return s, nil
}

// slaves returns the devices that one lies over. A device that lies over none may be memory.
func (f FS) slaves(disk string, mounts []Mount) (devices []string, memory string) {
	if devices, _ = f.Names(blockDir(disk, "slaves")); len(devices) > 0 {
		return devices, ""
	}
	if slices.Contains([]string{"ram", "zram", "nullb"}, strings.TrimRight(disk, "0123456789")) || strings.Contains(f.model(disk), "scsi_debug") {
		return nil, disk
	}
	file, err := f.Text(blockDir(disk, "loop/backing_file"))
	if err != nil {
		return nil, ""
	}
	if device := path.Base(file); path.Dir(file) == "/dev" && f.diskOf(device) != "" {
		return []string{device}, ""
	}
	file = strings.TrimSuffix(file, " (deleted)")
	at, _ := MountOf(mounts, file)
	if !f.Exists(Rel(path.Dir(file))) { // the name is that of another process's view
		return nil, ""
	}
	devices, memory, _ = f.under(at, mounts) // of a place that is not known the loop device is the bottom
	if memory != "" {
		memory = disk + " in " + memory
	}
	return devices, memory
}

// layer returns the kind of a device that lies over others, "" for a disk.
func (f FS) layer(disk string) string {
	switch {
	case f.Exists(blockDir(disk, "md")):
		level, _ := f.Text(blockDir(disk, "md/level"))
		return cmp.Or(level, "md")
	case f.Exists(blockDir(disk, "dm")):
		uuid, _ := f.Text(blockDir(disk, "dm/uuid")) // begins with the mark of the program that made the device
		part, rest, _ := strings.Cut(uuid, "-")
		if strings.HasPrefix(part, "part") { // kpartx makes partitions of such devices: part1-mpath-3600
			part, _, _ = strings.Cut(rest, "-")
		}
		return cmp.Or(map[string]string{"LVM": "lvm", "CRYPT": "crypt", "mpath": "multipath", "DMRAID": "dmraid"}[part], "dm")
	case f.Exists(blockDir(disk, "loop")): // only while it has a file
		return "loop"
	}
	if slaves, _ := f.Names(blockDir(disk, "slaves")); len(slaves) > 0 {
		return strings.TrimRight(disk, "0123456789") // "bcache"
	}
	return ""
}

// disk reads the facts of a disk from the tree.
func (f FS) disk(name string) Disk {
	d := Disk{Name: name, Model: f.model(name)}
	rotational, _ := f.Number(d.Queue("rotational"))
	d.Rotational = rotational == 1
	if sectors, err := f.Number(blockDir(name, "size")); err == nil && sectors > 0 {
		d.Size = sectors << 9 // sectors of 512 bytes, whatever the disk's own are
	}
	// udev can compare attributes of the block device (ATTR) and of the
	// devices that it hangs on (ATTRS). It leaves out space at the end, not before.
	for _, identity := range []struct{ file, match string }{
		{"wwid", "ATTR{wwid}"},         // NVMe
		{"device/wwid", "ATTRS{wwid}"}, // SCSI
		{"serial", "ATTR{serial}"},     // virtio
		{"device/cid", "ATTRS{cid}"},   // MMC
	} {
		raw, err := f.Read(blockDir(name, identity.file))
		value := strings.TrimSpace(string(raw))
		// The serial of a virtio disk is whatever the host was told, and may be the same word for all.
		shared := identity.file == "serial" && slices.ContainsFunc(f.Glob("sys/block/*/serial"), func(file string) bool {
			other, _ := f.Text(file)
			return other == value && file != blockDir(name, "serial")
		})
		if err != nil || value == "" || shared {
			continue
		}
		if pattern, ok := udevPattern(strings.TrimRight(string(raw), " \t\n")); ok && d.Match == "" {
			d.Match, d.Stable = identity.match+"=="+pattern, true
		}
	}
	if d.Match == "" {
		pattern, _ := udevPattern(name)
		d.Match = "KERNEL==" + pattern
	}
	return d
}

// model returns the maker's name for it. Of ATA disks the file with the maker says nothing, and virtio has a number there.
func (f FS) model(name string) string {
	model, err := f.Text(blockDir(name, "device/model"))
	if err != nil {
		model, _ = f.Text(blockDir(name, "device/name")) // MMC
		return model
	}
	vendor, err := f.Text(blockDir(name, "device/vendor"))
	if err != nil || vendor == "ATA" || strings.HasPrefix(vendor, "0x") || strings.HasPrefix(model, vendor) {
		return model
	}
	return strings.TrimSpace(vendor + " " + model)
}

// udevPattern returns a value between quotation marks as a udev rule compares it, as a pattern: what may not stand for itself becomes
// "?", which is any one byte. It is not ok when nothing is left to tell values apart.
func udevPattern(value string) (pattern string, ok bool) {
	b := []byte(value)
	for i, c := range b {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
			ok = true
		case strings.IndexByte(" ._:-=/,+@", c) >= 0:
		default:
			b[i] = '?'
		}
	}
	return `"` + string(b) + `"`, ok
}
