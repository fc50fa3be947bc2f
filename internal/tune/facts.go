package tune

// facts are what rows of checks.yaml judge, by their IDs.
func facts() map[string]func(*Machine) (fact, error) {
	return map[string]func(*Machine) (fact, error){
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
		"kafka.socket_buffers":         socketBuffers,
		"kafka.listen_backlog":         listenBacklog,
		"net.ipv4.tcp_mem":             tcpMemory,
		"net.ipv4.tcp_keepalive_time":  keepalive,
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

// cardFacts are those of each network card.
func cardFacts() map[string]func(*Machine, NIC) (fact, error) {
	return map[string]func(*Machine, NIC) (fact, error){
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
