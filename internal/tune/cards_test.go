package tune

import (
	"errors"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
)

// withCards gives a machine network cards.
func withCards(cards ...NIC) func(*Machine) {
	return func(m *Machine) { m.NICs, m.Logical = cards, 8 }
}

func eth(e host.Ethernet) func(*Machine) { return withCards(NIC{Name: "eth0", Ethernet: e}) }

// class are the files of eth0, which is hardware.
func class(pairs ...string) map[string]string {
	files := map[string]string{"sys/class/net/eth0/device/vendor": "0x8086"}
	for i := 0; i < len(pairs); i += 2 {
		files["sys/class/net/eth0/"+pairs[i]] = pairs[i+1]
	}
	return files
}

// growing gives eth0 a counter over 5 s.
func growing(set func(*Machine), name string, before, after int64) func(*Machine) {
	return func(m *Machine) {
		set(m)
		m.Interval = 5 * time.Second
		m.Before.NIC = map[string]map[string]int64{"eth0": {name: before}}
		m.After.NIC = map[string]map[string]int64{"eth0": {name: after}}
	}
}

func TestLinks(t *testing.T) {
	one, two := eth(host.Ethernet{}), withCards(NIC{Name: "eth0"}, NIC{Name: "eth1"})
	tryAll(t, []trial{
		{says: "fast", id: "nic.speed", files: class("speed", "25000"), set: one, verdict: OK, current: "25 Gbit/s"},
		{says: "slow", id: "nic.speed", files: class("speed", "100"), set: one, verdict: Warn, current: "100 Mbit/s", command: "ethtool eth0"},
		{says: "slow on a laptop", id: "nic.speed", profile: "minimal", files: class("speed", "100"), set: one, verdict: Info, current: "100 Mbit/s"},
		{says: "virtio does not report it", id: "nic.speed", files: class("speed", "-1"), set: one, verdict: NotApplicable, note: "does not report"},
		{says: "a container's interface", id: "nic.speed", files: map[string]string{"sys/class/net/eth0/speed": "10000"}, set: one, verdict: NotApplicable, note: "virtual"},
		{says: "no card", id: "nic.speed", verdict: NotApplicable},

		{says: "both directions", id: "nic.duplex", files: class("duplex", "full"), set: one, verdict: OK, current: "full"},
		{says: "one direction", id: "nic.duplex", files: class("duplex", "half"), set: one, verdict: Warn, current: "half"},
		{says: "directions not known", id: "nic.duplex", files: class("duplex", "unknown"), set: one, verdict: NotApplicable},

		{says: "usual packets", id: "nic.mtu", files: class("mtu", "1500"), set: one, verdict: OK, current: "1500"},
		{says: "a tunnel", id: "nic.mtu", files: class("mtu", "1450"), set: one, verdict: Info, current: "1450", note: "tunnel"},
		{
			says: "cards that differ", id: "nic.mtu", set: two, verdict: Info, current: "eth0: 1500; eth1: 9000", note: "differ",
			files: map[string]string{"sys/class/net/eth0/mtu": "1500", "sys/class/net/eth1/mtu": "9000"},
		},
		{says: "garbage", id: "nic.mtu", files: class("mtu", "large"), set: one, verdict: Unknown},

		{says: "no bond", id: "nic.bond", verdict: NotApplicable},
		{
			says: "a whole bond", id: "nic.bond", verdict: OK, current: "2 of 2 up",
			files: map[string]string{"sys/class/net/bond0/bonding/slaves": "eth0 eth1", "sys/class/net/eth0/operstate": "up", "sys/class/net/eth1/operstate": "up"},
		},
		{
			says: "a bond that lost a card", id: "nic.bond", verdict: Warn, current: "1 of 2 up", note: "bond0 is without eth1", command: "cat /proc/net/bonding/bond0",
			files: map[string]string{"sys/class/net/bond0/bonding/slaves": "eth0 eth1", "sys/class/net/eth0/operstate": "up", "sys/class/net/eth1/operstate": "down"},
		},
		{says: "a bond of nothing", id: "nic.bond", verdict: Warn, current: "0 of 0 up", command: "bond0", files: map[string]string{"sys/class/net/bond0/bonding/slaves": ""}},
		{says: "a bond that may not be read", id: "nic.bond", verdict: Unknown, note: "needs root", files: map[string]string{"sys/class/net/bond0/bonding/slaves": denied}},
	})
}

func TestRingsAndChannels(t *testing.T) {
	rings := func(now, most int) func(*Machine) { return eth(host.Ethernet{RXRing: now, RXRingMax: most}) }
	silent := withCards(NIC{Name: "eth0", Err: errors.ErrUnsupported})
	tryAll(t, []trial{
		{says: "nothing was lost", id: "nic.rings", set: growing(rings(256, 4096), "rx_missed_errors", 0, 0), verdict: OK, current: "256 of 4096"},
		{says: "packets are lost", id: "nic.rings", set: growing(rings(256, 4096), "rx_missed_errors", 5, 9), verdict: Warn, current: "256 of 4096", note: "4 packets without a free buffer in 5s", command: "ethtool -G eth0 rx 4096"},
		{says: "packets were lost", id: "nic.rings", set: growing(rings(256, 4096), "rx_fifo_errors", 5, 5), verdict: Info, current: "256 of 4096", note: "since boot", command: "ethtool -G eth0 rx 4096"},
		{says: "the ring is full size", id: "nic.rings", set: growing(rings(4096, 4096), "rx_missed_errors", 5, 9), verdict: OK, current: "4096 of 4096"},
		{says: "losses are not counted", id: "nic.rings", set: rings(256, 4096), verdict: Unknown, current: "256 of 4096"},
		{says: "no rings", id: "nic.rings", set: rings(0, 0), verdict: NotApplicable},
		{says: "a driver that does not answer", id: "nic.rings", set: silent, verdict: NotApplicable},

		{says: "a queue for each CPU", id: "nic.channels", set: eth(host.Ethernet{Channels: 8, ChannelsMax: 32}), verdict: OK, current: "8 of 32"},
		{says: "few queues", id: "nic.channels", set: eth(host.Ethernet{Channels: 2, ChannelsMax: 32}), verdict: Info, current: "2 of 32", command: "ethtool -L eth0 combined 8"},
		{says: "all that the card has", id: "nic.channels", set: eth(host.Ethernet{Channels: 4, ChannelsMax: 4}), verdict: OK, current: "4 of 4"},
		{says: "no queues", id: "nic.channels", set: eth(host.Ethernet{}), verdict: NotApplicable},
		{says: "queues of a driver that does not answer", id: "nic.channels", set: withCards(NIC{Name: "eth0", Err: errors.New("odd")}), verdict: Unknown, note: "odd"},
	})
}

func TestOffloads(t *testing.T) {
	const id = "nic.offloads"
	features := func(pairs ...any) host.Ethernet {
		e := host.Ethernet{Features: make(map[string]bool)}
		for i := 0; i < len(pairs); i += 2 {
			e.Features[pairs[i].(string)] = pairs[i+1].(bool)
		}
		return e
	}
	virtual := func(set func(*Machine)) func(*Machine) { return func(m *Machine) { set(m); m.Virtual = "kvm" } }
	tryAll(t, []trial{
		{says: "all on", id: id, files: class(), set: eth(features("tcp-segmentation-offload", true, "generic-receive-offload", true)), verdict: OK, current: "on"},
		{says: "by the kernel's names", id: id, files: class(), set: eth(features("tx-tcp-segmentation", true, "rx-gro", false)), verdict: Warn, current: "gro off", command: "ethtool -K eth0 gro on"},
		{says: "the card's own are off", id: id, files: class(), set: eth(features("tcp-segmentation-offload", false, "rx-checksumming", false)), verdict: Warn, current: "tso,rx off", command: "ethtool -K eth0 tso on rx on"},
		{says: "and in a virtual machine", id: id, files: class(), set: virtual(eth(features("tcp-segmentation-offload", false))), verdict: Info, current: "tso off", command: "tso on"},
		{says: "the kernel's own are off there", id: id, files: class(), set: virtual(eth(features("generic-receive-offload", false))), verdict: Warn, current: "gro off", command: "gro on"},
		{says: "nothing told", id: id, files: class(), set: eth(host.Ethernet{}), verdict: NotApplicable},
	})
}

func TestInterrupts(t *testing.T) {
	const rps, balance = "nic.rps", "nic.irqbalance"
	one := eth(host.Ethernet{})
	irqbalance := map[string]string{
		"proc/9/cmdline": "/usr/sbin/irqbalance\x00--foreground\x00", "proc/9/status": "Name:\tirqbalance\nUid:\t0\t0\t0\t0",
		"proc/9/stat": "9 (irqbalance) S 1 9 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0",
	}
	other := map[string]string{"proc/9/cmdline": "/bin/sh\x00", "proc/9/status": irqbalance["proc/9/status"], "proc/9/stat": irqbalance["proc/9/stat"]}
	tryAll(t, []trial{
		{says: "few queues and no steering", id: rps, files: class("queues/rx-0/rps_cpus", "00"), set: one, verdict: Info, current: "1 queue, 0 shared"},
		{says: "few queues and steering", id: rps, files: class("queues/rx-0/rps_cpus", "ff"), set: one, verdict: OK, current: "1 queue, 1 shared"},
		{says: "queues enough", id: rps, files: class("queues/rx-0/rps_cpus", "00,00000000", "queues/rx-1/rps_cpus", "0"), set: one, verdict: OK, current: "2 queues, 0 shared"},
		{says: "no queues", id: rps, files: class(), set: one, verdict: NotApplicable},
		{says: "not readable", id: rps, files: class("queues/rx-0/rps_cpus", denied), set: one, verdict: Unknown, note: "needs root"},

		{says: "it runs", id: balance, files: irqbalance, set: one, verdict: OK, current: "running"},
		{says: "its folder is there", id: balance, files: map[string]string{"run/irqbalance/irqbalance9.sock": ""}, set: one, verdict: OK, current: "running"},
		{says: "it does not run", id: balance, files: other, set: one, verdict: Info, current: "not running", command: "systemctl enable --now irqbalance"},
		{says: "it does not run on a laptop", id: balance, profile: "minimal", files: other, set: one, verdict: Info, current: "not running"},
		{says: "programs cannot be seen", id: balance, set: one, verdict: Unknown},
		{says: "a container", id: balance, set: func(m *Machine) { one(m); m.Container = "docker" }, verdict: NotApplicable},
		{says: "a single CPU", id: balance, set: func(m *Machine) { one(m); m.Logical = 1 }, verdict: NotApplicable},
	})
}

func TestPacketsLost(t *testing.T) {
	one := eth(host.Ethernet{})
	ena := func(stats map[string]int64) func(*Machine) { return eth(host.Ethernet{Driver: "ena", Stats: stats}) }
	tryAll(t, []trial{
		{says: "within the allowance", id: "nic.cloud_allowance", set: ena(map[string]int64{"bw_in_allowance_exceeded": 0, "rx_bytes": 9}), verdict: OK, current: "0"},
		{says: "above the allowance", id: "nic.cloud_allowance", set: ena(map[string]int64{"bw_out_allowance_exceeded": 7, "pps_allowance_exceeded": 2}), verdict: Warn, current: "bw_out 7, pps 2", command: "ethtool -S eth0"},
		{says: "no cloud", id: "nic.cloud_allowance", set: ena(nil), verdict: NotApplicable},

		{says: "nothing dropped", id: "nic.drops", set: growing(one, "rx_missed_errors", 0, 0), verdict: OK, current: "0"},
		{says: "dropped while kt looked", id: "nic.drops", set: growing(one, "tx_dropped", 3, 5), verdict: Warn, current: "5", note: "2 packets were dropped in 5s", command: "ethtool -S eth0"},
		{says: "dropped before", id: "nic.drops", set: growing(one, "tx_dropped", 5, 5), verdict: Info, current: "5", note: "5 packets were dropped since", command: "ethtool -S eth0"},
		{says: "drops not counted", id: "nic.drops", set: one, verdict: Unknown},
		{says: "packets of unknown protocols", id: "nic.drops", set: growing(one, "rx_dropped", 5, 9), verdict: Unknown},

		{says: "a bad cable", id: "nic.errors", set: growing(one, "rx_crc_errors", 3, 5), verdict: Warn, current: "5", note: "damaged", command: "ethtool -S eth0"},
		{says: "a good cable", id: "nic.errors", set: growing(one, "rx_crc_errors", 0, 0), verdict: OK, current: "0"},
		{says: "errors not counted", id: "nic.errors", set: one, verdict: Unknown},
	})
}
