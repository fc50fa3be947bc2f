package tune

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

func checkCardAllowance(m *Machine, _ Rule) Reading {
	return eachEthernet(m, func(n NIC) Reading {
		known := false
		var over []string
		for _, name := range slices.Sorted(maps.Keys(n.Ethernet.Stats)) {
			kind, ok := strings.CutSuffix(name, "_allowance_exceeded")
			if !ok {
				continue
			}
			known = true
			if v := n.Ethernet.Stats[name]; v > 0 {
				over = append(over, fmt.Sprintf("%s %d", kind, v))
			}
		}
		switch {
		case !known:
			return Absent("the driver of %s counts no allowances", n.Name)
		case len(over) == 0:
			return Reading{Verdict: OK, Current: "0", Wanted: "0"}
		}
		return Reading{
			Verdict: Warn, Current: strings.Join(over, ", "), Wanted: "0",
			Note: n.Name + ": since the driver started; see whether it grows during a test", Command: "ethtool -S " + n.Name + " | grep exceeded",
		}
	})
}

func checkCardDrops(m *Machine, want Rule) Reading {
	return eachCard(m, func(n NIC) Reading {
		return counted(m, n, want, "packets were dropped",
			"rx_missed_errors", "rx_fifo_errors", "rx_no_buffer_count", "rx_over_errors", "tx_dropped", "tx_fifo_errors")
	})
}

func checkCardErrors(m *Machine, want Rule) Reading {
	return eachCard(m, func(n NIC) Reading {
		return counted(m, n, want, "packets were damaged",
			"rx_crc_errors", "rx_frame_errors", "rx_length_errors", "tx_carrier_errors")
	})
}

// counted compares what a card's counters say together.
func counted(m *Machine, n NIC, want Rule, what string, names ...string) Reading {
	c := countOf(m.Before.NIC[n.Name], m.After.NIC[n.Name], names...)
	if !c.seen {
		return Reading{Verdict: Unknown, Note: n.Name + ": its counters could not be read"}
	}
	bad := Info
	if c.grew > 0 {
		bad = Warn
	}
	r := Compare(strconv.FormatInt(c.total, 10), want, bad)
	if r.Verdict != OK && c.total > 0 {
		r.Note, r.Command = n.Name+": "+c.say(m, what), "ethtool -S "+n.Name
	}
	return r
}
