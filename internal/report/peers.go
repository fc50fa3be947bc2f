package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/theme"
)

// PeersSchema is the version of a PeersDocument. It changes when a
// field changes its meaning or goes away, not when one is added.
const PeersSchema = 1

// PeersDocument are agents.
type PeersDocument struct {
	Schema int    `json:"schema"`
	Peers  []Peer `json:"peers"`
}

// Peer is one agent. What is not known of it is nil, or empty.
type Peer struct {
	Name          string   `json:"name"`
	Address       string   `json:"address"` // host:port
	Role          string   `json:"role"`    // "broker" or "client"
	Tags          []string `json:"tags"`
	Version       string   `json:"version"`  // of its kt
	State         string   `json:"state"`    // what it does, in a word
	Run           string   `json:"run"`      // that it is busy with
	Results       int      `json:"results"`  // runs that it holds
	Security      string   `json:"security"` // how it connects to Kafka: protocol and mechanism
	Problem       string   `json:"problem"`  // why it cannot be worked with, for people
	CPUCores      *float64 `json:"cpu_cores"`
	Cores         *float64 `json:"cores"`
	MemoryBytes   *int64   `json:"memory_bytes"`
	FreeBytes     *int64   `json:"available_bytes"`
	ClockOffsetUS *int64   `json:"clock_offset_us"` // its clock minus ours
	ClockBoundUS  *int64   `json:"clock_bound_us"`  // by how much that may be wrong
}

// NewPeers returns agents in the order of names.
func NewPeers(peers []Peer) *PeersDocument {
	all := slices.SortedStableFunc(slices.Values(peers), func(a, b Peer) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Address, b.Address))
	})
	for i := range all {
		all[i].Tags = append([]string{}, all[i].Tags...)
	}
	return &PeersDocument{PeersSchema, append([]Peer{}, all...)}
}

// PeersDoc returns a table of agents.
func PeersDoc(d *PeersDocument) *doc.Document {
	words := func(name string, kind doc.Kind, leave int, of func(p *Peer) string) col[Peer] {
		return col[Peer]{doc.Column{Head: name, Data: name, Kind: kind, Leave: leave}, func(p *Peer) doc.Cell { return known(of(p)) }}
	}
	security := words("security", doc.Words, 5, func(p *Peer) string { return p.Security })
	security.Head = "to Kafka"
	t := doc.Table{ID: "peers", Caption: "Agents", Data: true, Empty: "nobody is there: start kt agent on each host, and name one of them with --join"}
	return ofTable("kt peers", plural(len(d.Peers), "agent"), tableOf(t, d.Peers, func(p *Peer, row *doc.Row) {
		if row.Note, row.NoteTone = p.Problem, doc.Warn; p.Problem != "" {
			row.Tone = doc.Warn
		}
	},
		words("name", doc.Name, 0, func(p *Peer) string { return p.Name }),
		words("address", doc.Name, 0, func(p *Peer) string { return p.Address }),
		words("role", doc.Words, 2, func(p *Peer) string { return p.Role }),
		words("tags", doc.Words, 7, func(p *Peer) string { return strings.Join(p.Tags, ",") }),
		words("version", doc.Words, 8, func(p *Peer) string { return p.Version }),
		words("state", doc.Words, 0, func(p *Peer) string { return p.State }),
		words("run", doc.Words, 4, func(p *Peer) string { return p.Run }),
		security,
		col[Peer]{doc.Column{Head: "CPU in use", Data: "cpu_cores", Leave: 3}, func(p *Peer) doc.Cell {
			if p.Cores == nil || p.CPUCores == nil {
				return known("")
			}
			return doc.Cell{Text: fmt.Sprintf("%.1f of %.0f", *p.CPUCores, *p.Cores), Data: figure(*p.CPUCores)}
		}},
		col[Peer]{doc.Column{Data: "cores"}, func(p *Peer) doc.Cell {
			if p.Cores == nil || p.CPUCores == nil {
				return doc.Cell{}
			}
			return data(figure(*p.Cores))
		}},
		col[Peer]{doc.Column{Head: "clock", Data: "clock_offset_us", Leave: 1}, func(p *Peer) doc.Cell {
			if p.ClockOffsetUS == nil || p.ClockBoundUS == nil {
				return known("")
			}
			c := microsCell(*p.ClockOffsetUS)
			if c.Text += " ±" + theme.Duration(micros(*p.ClockBoundUS)); *p.ClockOffsetUS >= 0 {
				c.Text = "+" + c.Text
			}
			return c
		}},
		col[Peer]{doc.Column{Head: "results", Data: "results", Leave: 6}, func(p *Peer) doc.Cell { return countCell(int64(p.Results)) }},
		col[Peer]{doc.Column{Data: "problem"}, func(p *Peer) doc.Cell { return data(p.Problem) }},
	))
}
