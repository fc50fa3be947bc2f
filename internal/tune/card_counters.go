package tune

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

func cardAllowance() *Setting {
	return &Setting{
		ID: "nic.cloud_allowance", Group: Network, Title: "packets above the limit of the cloud", Roles: []Role{Broker, Client},
		Severity: Warning, Confidence: Documented,
		Why: "the cloud delays or drops these packets. No other counter shows it",
		Detail: "Counted by Amazon's ena driver since it was loaded: bandwidth in and out, packets, tracked connections, and Amazon's " +
			"local services. Small instance types use credits: a test is fast for some minutes, then slow. Other clouds do not " +
			"report this.",
		Reads:   []string{"ethtool -S CARD"},
		Sources: []string{"AWS documentation: Monitor network performance for ENA settings"},
		Check: func(m *Machine, _ Rule) Reading {
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
		},
	}
}

func cardDrops() *Setting {
	return &Setting{
		ID: "nic.drops", Group: Network, Title: "dropped packets", Roles: []Role{Broker, Client},
		Severity: Warning, Confidence: Folklore, Want: "0",
		Valid: figure,
		Why:   "each dropped packet is sent again, later",
		Detail: "Packets without space in the card's queue, and packets that could not be sent. Drops during the check are a warning, " +
			"earlier drops a note. rx_dropped also counts harmless packets of unknown protocols, so kt ignores it.",
		Reads:   []string{"/sys/class/net/CARD/statistics"},
		Sources: []string{"kernel documentation: Interface statistics", "kt's proposal"},
		Check: func(m *Machine, want Rule) Reading {
			return eachCard(m, func(n NIC) Reading {
				return counted(m, n, want, "packets were dropped",
					"rx_missed_errors", "rx_fifo_errors", "rx_no_buffer_count", "rx_over_errors", "tx_dropped", "tx_fifo_errors")
			})
		},
	}
}

func cardErrors() *Setting {
	return &Setting{
		ID: "nic.errors", Group: Network, Title: "damaged packets", Roles: []Role{Broker, Client},
		Severity: Warning, Confidence: Folklore, Want: "0",
		Valid:   figure,
		Why:     "each damaged packet is sent again. A cable, a plug or an optic is faulty",
		Detail:  "Wrong checksums, frames and lengths, and a lost carrier. Errors during the check are a warning, earlier errors a note.",
		Reads:   []string{"/sys/class/net/CARD/statistics"},
		Sources: []string{"kernel documentation: Interface statistics", "kt's proposal"},
		Check: func(m *Machine, want Rule) Reading {
			return eachCard(m, func(n NIC) Reading {
				return counted(m, n, want, "packets were damaged",
					"rx_crc_errors", "rx_frame_errors", "rx_length_errors", "tx_carrier_errors")
			})
		},
	}
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
