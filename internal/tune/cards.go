package tune

import (
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
	"unicode"
)

// eachCard is one reading of all network cards that are up.
func eachCard(m *Machine, ask func(n NIC) Reading) Reading {
	if len(m.NICs) == 0 {
		return Absent("no active network card is visible from here")
	}
	parts := make([]part, len(m.NICs))
	for i, n := range m.NICs {
		parts[i] = part{n.Name, ask(n)}
	}
	return together(parts)
}

// eachEthernet is one reading of those cards whose driver answers.
func eachEthernet(m *Machine, ask func(n NIC) Reading) Reading {
	return eachCard(m, func(n NIC) Reading {
		if n.Err != nil {
			r := Denied(n.Err)
			if r.Verdict == NotApplicable {
				return Absent("the driver of %s does not report it", n.Name)
			}
			r.Note = n.Name + ": " + r.Note
			return r
		}
		return ask(n)
	})
}

// class is the name of a card's file in the tree.
func (n NIC) class(name string) string { return "sys/class/net/" + n.Name + "/" + name }

// virtual tells that no hardware is behind it, as in a container.
func (n NIC) virtual(m *Machine) bool { return !m.Exists(n.class("device")) }

func checkCardSpeed(m *Machine, want Rule) Reading {
	return eachCard(m, func(n NIC) Reading {
		if n.virtual(m) {
			return Absent("%s is virtual: its speed means nothing", n.Name)
		}
		speed, err := m.Number(n.class("speed"))
		if err != nil || speed <= 0 || speed == math.MaxUint32 { // a read fails with EINVAL where the driver does not know
			return Absent("the driver of %s does not report its speed", n.Name)
		}
		r := Compare(strconv.FormatInt(speed, 10), want, Warn)
		r.Current = fmt.Sprintf("%d Mbit/s", speed)
		if !want.Leave() {
			r.Wanted += " Mbit/s"
		}
		if speed%1000 == 0 {
			r.Current = fmt.Sprintf("%d Gbit/s", speed/1000)
		}
		if r.Verdict == Warn {
			r.Command = "ethtool " + n.Name
		}
		return r
	})
}

func checkCardDuplex(m *Machine, want Rule) Reading {
	return eachCard(m, func(n NIC) Reading {
		duplex, err := m.Text(n.class("duplex"))
		if err != nil || duplex != "full" && duplex != "half" {
			return Absent("the driver of %s does not report it", n.Name)
		}
		return Compare(duplex, want, Warn)
	})
}

func checkCardMTU(m *Machine, _ Rule) Reading {
	seen := make(map[int64]bool)
	r := eachCard(m, func(n NIC) Reading {
		mtu, err := m.Number(n.class("mtu"))
		if err != nil {
			return Denied(err)
		}
		seen[mtu] = true
		r := Reading{Verdict: OK, Current: strconv.FormatInt(mtu, 10)}
		if mtu < 1500 {
			r.Verdict, r.Note = Info, n.Name+": probably a tunnel or an overlay network"
		}
		return r
	})
	if len(seen) > 1 && r.Verdict == OK {
		r.Verdict, r.Note = Info, "different on the cards of this machine"
	}
	return r
}

func checkCardBond(m *Machine, _ Rule) Reading {
	var parts []part
	for _, name := range m.Glob("sys/class/net/*/bonding/slaves") {
		bond := strings.Split(name, "/")[3]
		parts = append(parts, part{bond, readBond(m, bond, name)})
	}
	if len(parts) == 0 {
		return Absent("no bonded cards")
	}
	return together(parts)
}

func readBond(m *Machine, bond, file string) Reading {
	text, err := m.Text(file)
	if err != nil {
		return Denied(err)
	}
	cards := strings.Fields(text)
	var down []string
	if !printable(text) {
		return Reading{Verdict: Unknown, Note: fmt.Sprintf("%s: %q are no names", file, text)}
	}
	for _, c := range cards {
		switch state, err := m.Text("sys/class/net/" + path.Base(c) + "/operstate"); {
		case err != nil:
			return Denied(err)
		case state != "up":
			down = append(down, c)
		}
	}
	r := Reading{Verdict: OK, Current: fmt.Sprintf("%d of %d up", len(cards)-len(down), len(cards)), Wanted: "all up"}
	if len(down) > 0 || len(cards) == 0 {
		r.Verdict, r.Note = Warn, bond+" is without "+strings.Join(down, " and ")
		if len(cards) == 0 {
			r.Note = bond + " has no cards"
		}
		r.Command = "cat /proc/net/bonding/" + bond
	}
	return r
}

// printable tells that a text is one line without anything that a terminal would obey.
func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// missed are the counters of packets that found no place in a card's ring.
func missed(m *Machine, n NIC) count {
	return countOf(m.Before.NIC[n.Name], m.After.NIC[n.Name], "rx_missed_errors", "rx_fifo_errors", "rx_no_buffer_count", "rx_over_errors")
}

func checkCardRings(m *Machine, _ Rule) Reading {
	return eachEthernet(m, func(n NIC) Reading {
		e := n.Ethernet
		if e.RXRing <= 0 || e.RXRingMax <= 0 {
			return Absent("the driver of %s does not report rings", n.Name)
		}
		r := Reading{Verdict: OK, Current: fmt.Sprintf("%d of %d", e.RXRing, e.RXRingMax)}
		lost := missed(m, n)
		switch {
		case e.RXRing >= e.RXRingMax:
			return r
		case !lost.seen:
			r.Verdict, r.Note = Unknown, n.Name+": the count of lost packets could not be read"
			return r
		case lost.total == 0:
			return r
		case lost.grew > 0:
			r.Verdict = Warn
		default:
			r.Verdict = Info
		}
		r.Wanted = strconv.Itoa(e.RXRingMax)
		r.Note = n.Name + ": " + lost.say(m, "packets without a free buffer")
		r.Command = fmt.Sprintf("ethtool -G %s rx %d", n.Name, e.RXRingMax)
		return r
	})
}

func checkCardChannels(m *Machine, _ Rule) Reading {
	return eachEthernet(m, func(n NIC) Reading {
		e := n.Ethernet
		if e.Channels <= 0 || e.ChannelsMax <= 0 || m.Logical <= 0 {
			return Absent("the driver of %s does not report queues", n.Name)
		}
		most := min(e.ChannelsMax, m.Logical)
		r := Reading{Verdict: OK, Current: fmt.Sprintf("%d of %d", e.Channels, e.ChannelsMax), Wanted: "≥ " + strconv.Itoa(most)}
		if e.Channels < most {
			r.Verdict = Info
			r.Command = fmt.Sprintf("ethtool -L %s combined %d", n.Name, most)
		}
		return r
	})
}

// offloads are what a card or the kernel does for many packets at once, by the names
// that ethtool shows and those that the kernel has. What the kernel does itself is
// there on every machine, and off only when somebody turned it off.
var offloads = []struct {
	short    string
	names    []string
	software bool
}{
	{"tso", []string{"tcp-segmentation-offload", "tx-tcp-segmentation"}, false},
	{"gso", []string{"generic-segmentation-offload", "tx-generic-segmentation"}, true},
	{"gro", []string{"generic-receive-offload", "rx-gro"}, true},
	{"rx", []string{"rx-checksumming", "rx-checksum"}, false},
	{"tx", []string{"tx-checksumming", "tx-checksum-ip-generic", "tx-checksum-ipv4"}, false},
	{"sg", []string{"scatter-gather", "tx-scatter-gather"}, false},
}

func checkCardOffloads(m *Machine, _ Rule) Reading {
	return eachEthernet(m, func(n NIC) Reading { return readOffloads(m, n) })
}

func readOffloads(m *Machine, n NIC) Reading {
	if len(n.Ethernet.Features) == 0 {
		return Absent("the driver of %s does not report offloads", n.Name)
	}
	var off []string
	bad := Info
	for _, o := range offloads {
		known, on := false, false
		for _, name := range o.names {
			if v, ok := n.Ethernet.Features[name]; ok {
				known, on = true, on || v
			}
		}
		if known && !on {
			off = append(off, o.short)
			if o.software || m.Virtual == "" && !n.virtual(m) {
				bad = Warn
			}
		}
	}
	if len(off) == 0 {
		return Reading{Verdict: OK, Current: "on"}
	}
	return Reading{
		Verdict: bad, Current: strings.Join(off, ",") + " off", Wanted: "on",
		Command: "ethtool -K " + n.Name + " " + strings.Join(off, " on ") + " on",
	}
}
