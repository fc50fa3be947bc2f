package host

import (
	"slices"
	"strings"
)

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
		if err != nil || value == "" || identity.file == "serial" && f.shared(name, value) {
			continue
		}
		if d.WWID == "" && strings.HasSuffix(identity.file, "wwid") {
			d.WWID = value
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

// shared reports whether another virtio disk has the same serial number: it is whatever
// the host was told, and may be the same word for all.
func (f FS) shared(name, serial string) bool {
	return slices.ContainsFunc(f.Glob("sys/block/*/serial"), func(file string) bool {
		other, _ := f.Text(file)
		return other == serial && file != blockDir(name, "serial")
	})
}

// model returns the maker's name for it. SCSI has the maker in a file of its own, which
// says nothing for ATA disks; virtio has a number there.
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

// udevPattern returns a value between quotation marks as a udev rule compares it. A
// value is a pattern there, and a quotation mark ends it: whatever is not known to
// stand for itself becomes "?", which stands for any one byte. It is not ok when
// nothing is left to tell values apart.
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
