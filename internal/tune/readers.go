package tune

import (
	"fmt"
	"strconv"
)

// readers read what rows of checks.yaml judge, by their IDs.
func readers() map[string]func(*Machine) (Reading, error) {
	return map[string]func(*Machine) (Reading, error){
		"limits.nofile.client":         clientFiles,
		"limits.open_files":            openFiles,
		"limits.nproc":                 userThreads,
		"limits.tasks":                 groupThreads,
		"limits.memlock":               lockedMemory,
		"cpu.boost":                    boost,
		"cpu.idle_states":              wakeUpTime,
		"cpu.count":                    cpuCount,
		"cpu.steal":                    stolenTime,
		"cpu.throttling":               throttledPeriods,
		"cpu.mitigations":              mitigations,
		"cpu.load":                     loadAverage,
		"numa.nodes":                   numaNodes,
		"clock.synchronised":           clockSynchronised,
		"clock.error":                  clockError,
		"net.ipv4.tcp_mem":             tcpMemory,
		"net.ipv4.tcp_keepalive_time":  keepalive,
		"net.ipv4.tcp_notsent_lowat":   unsentData,
		"net.ipv4.tcp_mtu_probing":     mtuProbing,
		"net.ipv4.ip_local_port_range": outgoingPorts,
		"net.time_wait":                restingPorts,
		"net.listener_ports":           takenPorts,
		"net.conntrack":                tracked,
		"tcp.retransmits":              retransmits,
		"nic.irqbalance":               irqbalance,
		"context.container":            container,
		"context.cgroup":               cgroupLayout,
		"context.virtual":              virtualMachine,
		"context.proc_sys":             writableSysctls,
		"context.entropy":              entropy,
		"context.tuners":               tuners,
		"context.sysctl_order":         sysctlOrder,
		"context.battery":              battery,
	}
}

// cardReaders read it of each network card.
func cardReaders() map[string]func(*Machine, NIC) (Reading, error) {
	return map[string]func(*Machine, NIC) (Reading, error){
		"nic.speed":           cardSpeed,
		"nic.duplex":          cardDuplex,
		"nic.mtu":             cardMTU,
		"nic.rings":           cardRings,
		"nic.channels":        cardChannels,
		"nic.offloads":        cardOffloads,
		"nic.rps":             cardSteering,
		"nic.cloud_allowance": cardAllowance,
		"nic.drops":           cardCounters("packets were dropped", append([]string{"tx_dropped", "tx_fifo_errors"}, lostPackets...)...),
		"nic.errors":          cardCounters("packets were damaged", "rx_crc_errors", "rx_frame_errors", "rx_length_errors", "tx_carrier_errors"),
	}
}

// ofReader is the check of a row that judges what is read.
func (s *Setting) ofReader(read func(*Machine) (Reading, error)) check {
	return func(m *Machine, _ Rule) Reading {
		r, err := read(m)
		if err != nil {
			return s.lacks(m, err)
		}
		return r
	}
}

// ofCards is the check of a row that judges what is read of each network card that is up.
func (s *Setting) ofCards(read func(*Machine, NIC) (Reading, error)) check {
	return func(m *Machine, want Rule) Reading { return s.overCards(m, m.NICs, read, want) }
}

// overCards is one reading of some cards.
func (s *Setting) overCards(m *Machine, cards []NIC, read func(*Machine, NIC) (Reading, error), want Rule) Reading {
	if len(cards) == 0 {
		return Absent("no active network card is visible from here")
	}
	parts := make([]part, len(cards))
	for i, n := range cards {
		r, err := read(m, n)
		if err != nil {
			r = s.lacks(m, err)
		}
		if r.Note != "" {
			r.Note = n.Name + ": " + r.Note
		}
		parts[i] = part{n.Name, s.told(r, want, "CARD", n.Name)}
	}
	return together(parts)
}

// numeral is the reading of a number that kt has worked out.
func numeral(n float64) Reading {
	return Reading{Current: strconv.FormatFloat(n, 'f', -1, 64), rounds: true}
}

// partOf is the reading of a part in percent, shown as "70 of 100".
func partOf(part, whole int64) Reading {
	r := numeral(100 * float64(part) / float64(max(1, whole)))
	r.shown = fmt.Sprintf("%d of %d", part, whole)
	return r
}
