package tune

import (
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"unicode"
)

func cardsOfBond(m place) Reading {
	text, err := m.Text(m.names("sys/class/net/NAME/bonding/slaves"))
	if err != nil {
		return Denied(err)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return Unreadable("%q are no names of cards", text)
	}
	cards := strings.Fields(text)
	var down []string
	for _, c := range cards {
		state, err := m.Text("sys/class/net/" + path.Base(c) + "/operstate")
		if err != nil {
			return Denied(err)
		}
		if state != "up" {
			down = append(down, c)
		}
	}
	f := Reading{Current: "all up", shown: fmt.Sprintf("%d of %d up", len(cards)-len(down), len(cards))}
	switch {
	case len(cards) == 0:
		f.Current, f.Note = "", "it has no cards"
	case len(down) > 0:
		f.Current, f.Note = "", "it is without "+strings.Join(down, " and ")
	}
	return f
}

// offloads are what a card or the kernel does for many packets at once: by the name that ethtool takes, those that
// it shows and that the kernel has. What the kernel does itself, gso and gro, is off only when somebody turned it off.
var offloads = [][]string{
	{"tso", "tcp-segmentation-offload", "tx-tcp-segmentation"},
	{"gso", "generic-segmentation-offload", "tx-generic-segmentation"},
	{"gro", "generic-receive-offload", "rx-gro"},
	{"rx", "rx-checksumming", "rx-checksum"},
	{"tx", "tx-checksumming", "tx-checksum-ip-generic", "tx-checksum-ipv4"},
	{"sg", "scatter-gather", "tx-scatter-gather"},
}

func cardOffloads(m place) Reading {
	var off []string
	for _, o := range offloads {
		known, on := false, false
		for _, name := range o[1:] {
			v, ok := m.card.Ethernet.Features[name]
			known, on = known || ok, on || v
		}
		if known && !on {
			off = append(off, o[0])
		}
	}
	f := Reading{Current: "on", bad: Info}
	if len(off) > 0 {
		f.Current, f.Command = strings.Join(off, ",")+" off", "ethtool -K "+m.name+" "+strings.Join(off, " on ")+" on"
	}
	if slices.Contains(off, "gso") || slices.Contains(off, "gro") || m.Virtual == "" && m.Exists(m.names("sys/class/net/CARD/device")) {
		f.bad = Warn
	}
	return m.ofDriver(len(m.card.Ethernet.Features) > 0, f)
}

func cardSteering(m place) Reading {
	queues := m.Glob(m.names("sys/class/net/CARD/queues/rx-*/rps_cpus"))
	if len(queues) == 0 {
		return Absent("its queues are not visible")
	}
	masks, err := m.texts(queues)
	if err != nil {
		return Denied(err)
	}
	steered := 0
	for i, mask := range masks {
		if strings.Trim(mask, "0123456789abcdef,") != "" {
			return Unreadable("%s: %q is no set of CPUs", queues[i], mask)
		}
		if strings.Trim(mask, "0,") != "" {
			steered++
		}
	}
	number := plural(float64(len(queues)), "queue")
	f := Reading{Current: fmt.Sprintf("%s, %d shared", number, steered), Verdict: OK}
	if steered == 0 && 4*len(queues) < m.Logical {
		f.Verdict, f.Note = Info, fmt.Sprintf("%s for %d CPUs", number, m.Logical)
	}
	return f
}

func cardAllowance(m place) Reading {
	known := false
	var over []string
	for _, name := range slices.Sorted(maps.Keys(m.card.Ethernet.Stats)) {
		kind, ok := strings.CutSuffix(name, "_allowance_exceeded")
		known = known || ok
		if v := m.card.Ethernet.Stats[name]; ok && v > 0 {
			over = append(over, fmt.Sprintf("%s %d", kind, v))
		}
	}
	f := Reading{Current: "0"}
	if len(over) > 0 {
		f.Current, f.Note = strings.Join(over, ", "), "since the driver started; see whether it grows during a test"
	}
	return m.ofDriver(known, f)
}

// ofDriver is a reading of what a card's driver reports.
func (a place) ofDriver(reports bool, r Reading) Reading {
	err := a.card.Err
	if err == nil && !reports || err != nil && Denied(err).Verdict == NotApplicable {
		return Absent("the driver does not report it")
	}
	if err != nil {
		return Denied(err)
	}
	return r
}

// cardFile is what a file of the card's says, if the driver reports it: some fail with EINVAL.
func (a place) cardFile(name string) (string, error) {
	text, err := a.Text(a.names("sys/class/net/CARD/" + name))
	if err != nil {
		err = none("the driver does not report it")
	}
	return text, err
}

// ethernet is a number that the card's driver reports, by the name that ethtool has for it.
func (a place) ethernet(name string) (int, error) {
	e := a.card.Ethernet
	n := map[string]int{"rx": e.RXRing, "rx_max": e.RXRingMax, "combined": e.Channels, "combined_max": e.ChannelsMax}[name]
	switch r := a.ofDriver(n > 0, Reading{}); r.Verdict {
	case NotApplicable:
		return n, none(r.Note)
	case Unknown:
		return n, a.card.Err
	default:
		return n, nil
	}
}

// leastMTU is that of the card with the smallest.
func (m *Machine) leastMTU() int64 {
	least := int64(math.MaxInt64)
	for _, n := range m.NICs {
		if mtu, err := m.Number("sys/class/net/" + n.Name + "/mtu"); err == nil {
			least = min(least, mtu)
		}
	}
	return least
}
