package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/theme"
)

// PeersSchema is the version of the document that PeersJSON writes. It changes when a
// field changes its meaning or goes away, not when one is added.
const PeersSchema = 1

// PeerRow is one agent, as kt peers shows it.
type PeerRow struct {
	Name     string
	Address  string // host:port
	Role     string // "broker" or "client"
	Tags     []string
	Version  string // of its kt
	State    string // what it does, in a word
	Run      string // that it is busy with; "": none
	Results  int    // runs that it holds
	Security string // how it connects to Kafka: protocol and mechanism; "": not known
	Problem  string // why it cannot be worked with, for people; "": nothing is known against it

	CPU, Cores   float64 // cores in use, and all of them; 0 cores: not known
	Memory, Free int64   // of the machine in bytes, and what of it is available; 0: not known

	ClockKnown    bool
	Offset, Bound time.Duration // its clock minus ours; by how much that may be wrong
}

// Peers writes a table of agents for people, in the order of names.
func Peers(w io.Writer, peers []PeerRow, o Options) error {
	return buffered(w, func(b *bytes.Buffer) {
		t := newText(b, o.Theme, o.Width)
		t.line("")
		if len(peers) == 0 {
			for _, line := range wrapText("nobody is there: start kt agent on each host, and name one of them with --join", t.wrapAt()-margin) {
				t.line("    " + line)
			}
			return
		}
		t.draw(t.peers(byName(peers)))
		for _, p := range byName(peers) {
			if p.Problem != "" {
				t.problem(p)
			}
		}
	})
}

func (t *text) peers(peers []PeerRow) *grid {
	g := &grid{
		heads: []string{"name", "address", "role", "tags", "version", "state", "run", "to Kafka", "CPU in use", "clock", "results"},
		left:  map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true},
		names: map[int]bool{1: true},
		leave: []string{"version", "tags", "results", "to Kafka", "run", "CPU in use", "role", "clock"},
	}
	none := string(t.th.Glyphs.Missing)
	for _, p := range peers {
		cpu, clock := none, none
		if p.Cores > 0 {
			cpu = fmt.Sprintf("%.1f of %.0f", p.CPU, p.Cores)
		}
		if p.ClockKnown {
			clock = offset(p.Offset) + " ±" + theme.Duration(p.Bound)
		}
		style := plain
		if p.Problem != "" {
			style = warn
		}
		g.add(style, t.name(p.Name), p.Address, cmp.Or(p.Role, none), t.short(cmp.Or(strings.Join(p.Tags, ","), none)),
			t.short(cmp.Or(p.Version, none)), p.State, t.short(cmp.Or(p.Run, none)), cmp.Or(p.Security, none), cpu, clock, theme.Count(int64(p.Results)))
	}
	return g
}

// short returns a text of a peer's that may be cut at its end.
func (t *text) short(s string) string { return cut(s, maxName, t.th) }

// problem writes the trouble of a peer under the table.
func (t *text) problem(p PeerRow) {
	for i, line := range wrapText(t.name(p.Name)+": "+p.Problem, t.wrapAt()-6) {
		mark := "  "
		if i == 0 {
			mark = string(t.th.Glyphs.Alert) + " "
		}
		t.line("    " + t.th.Paint(warn, mark+line))
	}
}

// offset returns a difference between clocks, with its sign.
func offset(d time.Duration) string {
	if d < 0 {
		return theme.Duration(d)
	}
	return "+" + theme.Duration(d)
}

func byName(peers []PeerRow) []PeerRow {
	return slices.SortedStableFunc(slices.Values(peers), func(a, b PeerRow) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Address, b.Address))
	})
}

// peersDocument is the document of PeersJSON.
type peersDocument struct {
	Schema int            `json:"schema"`
	Peers  []peerDocument `json:"peers"`
}

// peerDocument is a PeerRow. Unknown values are null and not 0.
type peerDocument struct {
	Name          string   `json:"name"`
	Address       string   `json:"address"`
	Role          string   `json:"role"`
	Tags          []string `json:"tags"`
	Version       string   `json:"version"`
	State         string   `json:"state"`
	Run           string   `json:"run"`
	Results       int      `json:"results"`
	Security      string   `json:"security"`
	Problem       string   `json:"problem"`
	CPUCores      *float64 `json:"cpu_cores"`
	Cores         *float64 `json:"cores"`
	MemoryBytes   *int64   `json:"memory_bytes"`
	FreeBytes     *int64   `json:"available_bytes"`
	ClockOffsetUS *int64   `json:"clock_offset_us"`
	ClockBoundUS  *int64   `json:"clock_bound_us"`
}

// PeersJSON writes the agents for programs, in the order of names.
func PeersJSON(w io.Writer, peers []PeerRow) error {
	doc := peersDocument{Schema: PeersSchema, Peers: []peerDocument{}}
	for _, p := range byName(peers) {
		d := peerDocument{
			Name: p.Name, Address: p.Address, Role: p.Role, Tags: append([]string{}, p.Tags...), Version: p.Version,
			State: p.State, Run: p.Run, Results: p.Results, Security: p.Security, Problem: p.Problem,
		}
		if p.Cores > 0 {
			d.CPUCores, d.Cores = &p.CPU, &p.Cores
		}
		if p.Memory > 0 {
			d.MemoryBytes, d.FreeBytes = &p.Memory, &p.Free
		}
		if p.ClockKnown {
			off, bound := p.Offset.Microseconds(), p.Bound.Microseconds()
			d.ClockOffsetUS, d.ClockBoundUS = &off, &bound
		}
		doc.Peers = append(doc.Peers, d)
	}
	return Indented(w, doc)
}
