package host

import (
	"io/fs"
	"path"
)

const classNet = "sys/class/net"

// NICs returns the interfaces whose bytes leave the machine, each byte
// counted once. Where there is hardware, those are the interfaces with a device
// behind them: a bridge, a bond, a VLAN or a container's veth would count the
// same bytes again. A container sees no hardware, so there every interface
// counts that is not loopback. It is nil where the tree does not say.
func (f FS) NICs() []string {
	entries, err := fs.ReadDir(f.tree, classNet)
	if err != nil {
		return nil
	}
	var nics, others []string
	for _, e := range entries {
		const loopback = 772 // ARPHRD_LOOPBACK, for the name need not be lo
		name := e.Name()
		kind, _ := f.Number(path.Join(classNet, name, "type"))
		switch {
		case kind == loopback:
		case f.Exists(path.Join(classNet, name, "device")):
			nics = append(nics, name)
		case f.Exists(path.Join(classNet, name, "operstate")): // bonding_masters is a file among the folders
			others = append(others, name)
		}
	}
	if len(nics) > 0 {
		return nics
	}
	return others
}

// networkSpeed returns the sum of the speeds of those interfaces that are up, in bits
// a second. It is 0, not known, as soon as the speed of one is not known: a
// sum without it would make a network look full that is not. Wireless and
// virtual interfaces commonly do not report theirs.
func (f FS) networkSpeed(interfaces []string) int64 {
	var sum int64
	for _, name := range interfaces {
		if state, err := f.Text(path.Join(classNet, name, "operstate")); err != nil || state != "up" {
			continue
		}
		megabits, err := f.Number(path.Join(classNet, name, "speed"))
		if err != nil || megabits <= 0 { // -1: the driver does not know
			return 0
		}
		sum += megabits * 1_000_000
	}
	return sum
}
