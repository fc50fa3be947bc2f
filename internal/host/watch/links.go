package watch

import (
	"path"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

// link is a network interface whose bytes leave the machine.
type link struct {
	name  string
	speed int64 // bits a second; 0: it does not tell
}

const classNet = "sys/class/net"

// findLinks finds the interfaces and their speeds. It is nil where the tree does not say.
func findLinks(tree host.FS) []link {
	var links []link
	for _, name := range tree.NICs() {
		l := link{name: name}
		// A driver without hardware makes its speed up: 10 Mb/s of a tunnel, 10 Gb/s of
		// a pair of interfaces. So does one whose link is down, as -1.
		megabits, err := tree.Number(path.Join(classNet, name, "speed"))
		if err == nil && megabits > 0 && tree.Exists(path.Join(classNet, name, "device")) {
			l.speed = megabits * 1_000_000
		}
		links = append(links, l)
	}
	return links
}

// linkCount is a line of proc/net/dev.
type linkCount struct {
	sent, received int64 // bytes
	dropped        int64 // packets, either way
}

// parseLinks reads proc/net/dev, which has after each name eight counters of what came
// in and eight of what went out: bytes, packets, errors, dropped ones, and more. Lines
// that are none of an interface, as the headings are, are left out.
func parseLinks(text string) map[string]linkCount {
	all := make(map[string]linkCount)
	for line := range strings.Lines(text) {
		name, rest, ok := strings.Cut(line, ":")
		columns := strings.Fields(rest)
		if !ok || len(columns) < 12 {
			continue
		}
		var bad bool
		counter := func(n int) int64 {
			v, err := strconv.ParseInt(columns[n], 10, 64)
			bad = bad || err != nil || v < 0 || v > mostCounted
			return v
		}
		count := linkCount{received: counter(0), sent: counter(8), dropped: counter(3) + counter(11)}
		if !bad {
			all[strings.TrimSpace(name)] = count
		}
	}
	return all
}

func (w *Watcher) readLinks(v *host.Vitals, g *growth) {
	text, err := w.tree.Text("proc/net/dev")
	if err != nil || len(w.links) == 0 {
		g.note(false)
		return
	}
	counts := parseLinks(text)
	for _, l := range w.links {
		n := host.NetworkVitals{Name: l.name, Speed: l.speed}
		if count, ok := counts[l.name]; ok {
			grown, _ := g.of("link "+l.name, count.sent, count.received, count.dropped)
			n.Sent, n.Received, n.Dropped = grown[0], grown[1], grown[2]
		} else {
			g.note(false)
		}
		v.Networks = append(v.Networks, n)
	}
}
