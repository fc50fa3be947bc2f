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
		{says: "fast", id: "nic.speed", files: class("speed", "25000"), set: one, want: "ok 25 Gbit/s (≥ 1000 Mbit/s)"},
		{says: "slow", id: "nic.speed", files: class("speed", "100"), set: one, want: "warn 100 Mbit/s (≥ 1000 Mbit/s) | $ ethtool eth0"},
		{says: "virtio does not report it", id: "nic.speed", files: class("speed", "-1"), set: one, want: "not_applicable | eth0"},
		{says: "a container's interface", id: "nic.speed", files: map[string]string{"sys/class/net/eth0/speed": "10000"}, set: one, want: "not_applicable | eth0"},

		{says: "one direction", id: "nic.duplex", files: class("duplex", "half"), set: one, want: "warn half (full)"},

		{says: "a tunnel", id: "nic.mtu", files: class("mtu", "1450"), set: one, want: "info 1450 (≥ 1500) | eth0"},
		{says: "cards that differ", id: "nic.mtu", set: two, files: map[string]string{"sys/class/net/eth0/mtu": "1500", "sys/class/net/eth1/mtu": "9000"}, want: "info eth1: 9000 | eth1"},

		{
			says: "a bond that lost a card", id: "nic.bond", files: map[string]string{"sys/class/net/bond0/bonding/slaves": "eth0 eth1", "sys/class/net/eth0/operstate": "up", "sys/class/net/eth1/operstate": "down"},
			want: "warn 1 of 2 up (all up) | bond0 eth1 | $ cat /proc/net/bonding/bond0",
		},
		{says: "a bond of nothing", id: "nic.bond", files: map[string]string{"sys/class/net/bond0/bonding/slaves": ""}, want: "warn 0 of 0 up (all up) | bond0 | $ cat /proc/net/bonding/bond0"},
	})
}

func TestRingsAndChannels(t *testing.T) {
	rings := func(now, most int) func(*Machine) { return eth(host.Ethernet{RXRing: now, RXRingMax: most}) }
	silent := withCards(NIC{Name: "eth0", Err: errors.ErrUnsupported})
	tryAll(t, []trial{
		{says: "nothing was lost", id: "nic.rings", set: growing(rings(256, 4096), "rx_missed_errors", 0, 0), want: "ok 256 of 4096"},
		{says: "packets are lost", id: "nic.rings", set: growing(rings(256, 4096), "rx_missed_errors", 5, 9), want: "warn 256 of 4096 (4096) | eth0 4 5s | $ ethtool -G eth0 rx"},
		{says: "packets were lost", id: "nic.rings", set: growing(rings(256, 4096), "rx_fifo_errors", 5, 5), want: "info 256 of 4096 (4096) | eth0 5 | $ ethtool -G eth0 rx"},
		{says: "losses are not counted", id: "nic.rings", set: rings(256, 4096), want: "unknown 256 of 4096 | eth0"},
		{says: "a driver that does not answer", id: "nic.rings", set: silent, want: "not_applicable | eth0"},

		{says: "a queue for each CPU", id: "nic.channels", set: eth(host.Ethernet{Channels: 8, ChannelsMax: 32}), want: "ok 8 of 32 (≥ 8)"},
		{says: "few queues", id: "nic.channels", set: eth(host.Ethernet{Channels: 2, ChannelsMax: 32}), want: "info 2 of 32 (≥ 8) | $ ethtool -L eth0 combined"},
		{says: "all that the card has", id: "nic.channels", set: eth(host.Ethernet{Channels: 4, ChannelsMax: 4}), want: "ok 4 of 4 (≥ 4)"},
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
		{says: "all on", id: id, files: class(), set: eth(features("tcp-segmentation-offload", true, "generic-receive-offload", true)), want: "ok on (on)"},
		{says: "by the kernel's names", id: id, files: class(), set: eth(features("tx-tcp-segmentation", true, "rx-gro", false)), want: "warn gro off (on) | $ ethtool -K eth0 gro"},
		{says: "the card's own are off", id: id, files: class(), set: eth(features("tcp-segmentation-offload", false, "rx-checksumming", false)), want: "warn tso,rx off (on) | $ ethtool -K eth0 tso"},
		{says: "and in a virtual machine", id: id, files: class(), set: virtual(eth(features("tcp-segmentation-offload", false))), want: "info tso off (on) | $ ethtool -K eth0 tso"},
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
		{says: "few queues and no steering", id: rps, files: class("queues/rx-0/rps_cpus", "00"), set: one, want: "info 1 queue, 0 shared | eth0 1 8"},
		{says: "few queues and steering", id: rps, files: class("queues/rx-0/rps_cpus", "ff"), set: one, want: "ok 1 queue, 1 shared"},
		{says: "no queues", id: rps, files: class(), set: one, want: "not_applicable | eth0"},

		{says: "it runs", id: balance, files: irqbalance, set: one, want: "ok running (running)"},
		{says: "its folder is there", id: balance, files: map[string]string{"run/irqbalance/irqbalance9.sock": ""}, set: one, want: "ok running (running)"},
		{says: "it does not run", id: balance, files: other, set: one, want: "info not running (running) | $ systemctl enable --now irqbalance"},
		{says: "a container", id: balance, set: func(m *Machine) { one(m); m.Container = "docker" }, want: "not_applicable | …"},
		{says: "a single CPU", id: balance, set: func(m *Machine) { one(m); m.Logical = 1 }, want: "not_applicable | …"},
	})
}

func TestPacketsLost(t *testing.T) {
	one := eth(host.Ethernet{})
	ena := func(stats map[string]int64) func(*Machine) { return eth(host.Ethernet{Driver: "ena", Stats: stats}) }
	tryAll(t, []trial{
		{says: "within the allowance", id: "nic.cloud_allowance", set: ena(map[string]int64{"bw_in_allowance_exceeded": 0, "rx_bytes": 9}), want: "ok 0 (0)"},
		{
			says: "above the allowance", id: "nic.cloud_allowance", set: ena(map[string]int64{"bw_out_allowance_exceeded": 7, "pps_allowance_exceeded": 2}),
			want: "warn bw_out 7, pps 2 (0) | eth0 | $ ethtool -S eth0 |",
		},

		{says: "dropped while kt looked", id: "nic.drops", set: growing(one, "tx_dropped", 3, 5), want: "warn 5 (0) | eth0 2 5s | $ ethtool -S eth0"},
		{says: "dropped before", id: "nic.drops", set: growing(one, "tx_dropped", 5, 5), want: "info 5 (0) | eth0 5 | $ ethtool -S eth0"},
		{says: "drops not counted", id: "nic.drops", set: one, want: "unknown | eth0"},

		{says: "a bad cable", id: "nic.errors", set: growing(one, "rx_crc_errors", 3, 5), want: "warn 5 (0) | eth0 2 5s | $ ethtool -S eth0"},
	})
}
