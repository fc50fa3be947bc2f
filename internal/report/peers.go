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
	t := doc.NewTable("peers", "Agents", "name|name", "address|name", "role|words|2", "tags|words|7", "version|words|8", "state|words", "run|words|4",
		"to Kafka|words|5", "CPU in use|3", "clock|1", "results|6")
	t.Empty = "nobody is there: start kt agent on each host, and name one of them with --join"
	for _, p := range d.Peers {
		cores, clock := "", ""
		if p.Cores != nil && p.CPUCores != nil {
			cores = fmt.Sprintf("%.1f of %.0f", *p.CPUCores, *p.Cores)
		}
		if p.ClockOffsetUS != nil && p.ClockBoundUS != nil {
			if clock = theme.Duration(micros(*p.ClockOffsetUS)) + " ±" + theme.Duration(micros(*p.ClockBoundUS)); *p.ClockOffsetUS >= 0 {
				clock = "+" + clock
			}
		}
		texts := []string{p.Name, p.Address, p.Role, strings.Join(p.Tags, ","), p.Version, p.State, p.Run, p.Security, cores, clock}
		for i, text := range texts {
			texts[i] = cmp.Or(text, none)
		}
		row := t.Add(texts, theme.Count(int64(p.Results)))
		if row.Note, row.NoteTone = p.Problem, doc.Warn; p.Problem != "" {
			row.Tone = doc.Warn
		}
	}
	return OfTable("kt peers", plural(len(d.Peers), "agent"), t, d.Peers)
}
