package host

import "errors"

// Disk is a block device with nothing below it: a leaf under partitions, md and dm.
type Disk struct {
	Name       string // "sda", the folder below sys/block
	Model      string // "Amazon Elastic Block Store"; "" where the driver does not tell
	Serial     string
	WWID       string
	Rotational bool  // as the kernel says: virtual disks commonly claim it
	Size       int64 // bytes

	// How udev finds this disk again after a reboot, and the value that it must
	// have there: `ATTR{wwid}=="eui.0025"`, or KERNEL=="sdb" where it has no
	// identity. Stable tells that it has one.
	Match  string
	Stable bool
}

// Queue is the name of an attribute of the disk's queue in the tree:
// "sys/block/sda/queue/scheduler".
func (d Disk) Queue(attribute string) string { return "sys/block/" + d.Name + "/queue/" + attribute }

// Storage is what a file system is on.
type Storage struct {
	Device string   // the block device that is mounted, by its name below sys: "md0", "sda1"
	Disks  []Disk   // the leaves, sorted by name; none for a network file system, tmpfs or overlay
	Layers []string // what lies between, from the top: "raid5", "dm-linear", "crypt"
}

// Storage finds the disks below a device number.
func (f FS) Storage(major, minor int) (Storage, error) { return Storage{}, errors.ErrUnsupported }
