package tune

import (
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// class is the name of a card's file in the tree.
func (n NIC) class(name string) string { return "sys/class/net/" + n.Name + "/" + name }

// virtual tells that no hardware is behind it, as in a container.
func (n NIC) virtual(m *Machine) bool { return !m.Exists(n.class("device")) }

// answers is the error of what its driver does not report, nil for what it does.
func (n NIC) answers(reports bool) error {
	if n.Err == nil && !reports || n.Err != nil && Denied(n.Err).Verdict == NotApplicable {
		return none("the driver does not report it")
	}
	return n.Err
}

func cardSpeed(m *Machine, n NIC) (Reading, error) {
	if n.virtual(m) {
		return Reading{}, none("it is virtual, and its speed means nothing")
	}
	speed, err := m.Number(n.class("speed"))
	if err != nil || speed <= 0 || speed == math.MaxUint32 { // a read fails with EINVAL where the driver does not know
		return Reading{}, none("the driver does not report it")
	}
	f := Reading{Current: strconv.FormatInt(speed, 10)}
	if speed%1000 == 0 {
		f.shown = fmt.Sprintf("%d Gbit/s", speed/1000)
	}
	return f, nil
}

func cardDuplex(m *Machine, n NIC) (Reading, error) {
	duplex, err := m.Text(n.class("duplex"))
	if err != nil || duplex != "full" && duplex != "half" {
		return Reading{}, none("the driver does not report it")
	}
	return Reading{Current: duplex}, nil
}

func cardMTU(m *Machine, n NIC) (Reading, error) {
	mtu, err := m.Number(n.class("mtu"))
	f := Reading{Current: strconv.FormatInt(mtu, 10)}
	if mtu < 1500 {
		f.Note = "probably a tunnel or an overlay network"
	}
	for _, other := range m.NICs {
		if its, err := m.Number(other.class("mtu")); err == nil && its < mtu {
			f.Verdict, f.Note = Info, "another card has less"
		}
	}
	return f, err
}

func checkCardBond(m *Machine, want Rule) Reading {
	var bonds []NIC
	for _, name := range m.Glob("sys/class/net/*/bonding/slaves") {
		bonds = append(bonds, NIC{Name: strings.Split(name, "/")[3]})
	}
	if len(bonds) == 0 {
		return Absent("no bonded cards")
	}
	return rowOf("nic.bond").overCards(m, bonds, cardsOfBond, want)
}

func cardsOfBond(m *Machine, bond NIC) (Reading, error) {
	text, err := m.Text(bond.class("bonding/slaves"))
	if err != nil {
		return Reading{}, err
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return Reading{}, fmt.Errorf("%q are no names of cards", text)
	}
	cards := strings.Fields(text)
	var down []string
	for _, c := range cards {
		state, err := m.Text("sys/class/net/" + path.Base(c) + "/operstate")
		if err != nil {
			return Reading{}, err
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
	return f, nil
}

// lostPackets are the counters of packets that found no place in a card's ring.
var lostPackets = []string{"rx_missed_errors", "rx_fifo_errors", "rx_no_buffer_count", "rx_over_errors"}

func cardRings(m *Machine, n NIC) (Reading, error) {
	e := n.Ethernet
	if err := n.answers(e.RXRing > 0 && e.RXRingMax > 0); err != nil {
		return Reading{}, err
	}
	f := Reading{Current: fmt.Sprintf("%d of %d", e.RXRing, e.RXRingMax), Verdict: OK}
	lost := countOf(m.Before.NIC[n.Name], m.After.NIC[n.Name], lostPackets...)
	switch {
	case e.RXRing >= e.RXRingMax:
	case !lost.seen:
		f.Verdict, f.Note = Unknown, "the count of lost packets could not be read"
	case lost.total > 0:
		f.Verdict, f.Note, f.Wanted = lost.verdict(), lost.say(m, "packets without a free buffer"), strconv.Itoa(e.RXRingMax)
		f.Command = fmt.Sprintf("ethtool -G %s rx %d", n.Name, e.RXRingMax)
	}
	return f, nil
}

func cardChannels(m *Machine, n NIC) (Reading, error) {
	e := n.Ethernet
	err := n.answers(e.Channels > 0 && e.ChannelsMax > 0 && m.Logical > 0)
	return Reading{
		Current: strconv.Itoa(e.Channels), shown: fmt.Sprintf("%d of %d", e.Channels, e.ChannelsMax),
		rule: Rule{AtLeast, strconv.Itoa(min(e.ChannelsMax, m.Logical))},
	}, err
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

func cardOffloads(m *Machine, n NIC) (Reading, error) {
	var off []string
	for _, o := range offloads {
		known, on := false, false
		for _, name := range o[1:] {
			v, ok := n.Ethernet.Features[name]
			known, on = known || ok, on || v
		}
		if known && !on {
			off = append(off, o[0])
		}
	}
	f := Reading{Current: "on", bad: Info}
	if len(off) > 0 {
		f.Current, f.Command = strings.Join(off, ",")+" off", "ethtool -K "+n.Name+" "+strings.Join(off, " on ")+" on"
	}
	if slices.Contains(off, "gso") || slices.Contains(off, "gro") || m.Virtual == "" && !n.virtual(m) {
		f.bad = Warn
	}
	return f, n.answers(len(n.Ethernet.Features) > 0)
}

func cardSteering(m *Machine, n NIC) (Reading, error) {
	queues := m.Glob(n.class("queues/rx-*/rps_cpus"))
	if len(queues) == 0 {
		return Reading{}, none("its queues are not visible")
	}
	masks, err := m.texts(queues)
	steered := 0
	for i, mask := range masks {
		if strings.Trim(mask, "0123456789abcdef,") != "" {
			return Reading{}, fmt.Errorf("%s: %q is no set of CPUs", queues[i], mask)
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
	return f, err
}

func cardAllowance(_ *Machine, n NIC) (Reading, error) {
	known := false
	var over []string
	for _, name := range slices.Sorted(maps.Keys(n.Ethernet.Stats)) {
		kind, ok := strings.CutSuffix(name, "_allowance_exceeded")
		known = known || ok
		if v := n.Ethernet.Stats[name]; ok && v > 0 {
			over = append(over, fmt.Sprintf("%s %d", kind, v))
		}
	}
	f := Reading{Current: "0"}
	if len(over) > 0 {
		f.Current, f.Note = strings.Join(over, ", "), "since the driver started; see whether it grows during a test"
	}
	return f, n.answers(known)
}

// cardCounters is the fact of what some of a card's counters say together.
func cardCounters(what string, names ...string) func(*Machine, NIC) (Reading, error) {
	return func(m *Machine, n NIC) (Reading, error) {
		c := countOf(m.Before.NIC[n.Name], m.After.NIC[n.Name], names...)
		if !c.seen {
			return Reading{}, fmt.Errorf("its counters could not be read")
		}
		f := numeral(float64(c.total))
		if f.bad = c.verdict(); c.total > 0 {
			f.Note = c.say(m, what)
		}
		return f, nil
	}
}
