package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

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
	t := doc.Table{ID: "peers", Caption: "Agents", Data: true, Empty: "nobody is there: start kt agent on each host, and name one of them with --join", Columns: []doc.Column{
		{Head: "name", Data: "name", Kind: doc.Name},
		{Head: "address", Data: "address", Kind: doc.Name},
		{Head: "role", Data: "role", Kind: doc.Words, Leave: 2},
		{Head: "tags", Data: "tags", Kind: doc.Words, Leave: 7},
		{Head: "version", Data: "version", Kind: doc.Words, Leave: 8},
		{Head: "state", Data: "state", Kind: doc.Words},
		{Head: "run", Data: "run", Kind: doc.Words, Leave: 4},
		{Head: "to Kafka", Data: "security", Kind: doc.Words, Leave: 5},
		{Head: "CPU in use", Data: "cpu_cores", Leave: 3},
		{Data: "cores"},
		{Head: "clock", Data: "clock_offset_us", Leave: 1},
		{Head: "results", Data: "results", Leave: 6},
		{Data: "problem"},
	}}
	for i := range d.Peers {
		p := &d.Peers[i]
		row := doc.Row{Note: p.Problem, NoteTone: doc.Warn}
		if p.Problem != "" {
			row.Tone = doc.Warn
		}
		cpu, cores, clock := known(""), "", known("")
		if p.Cores != nil && p.CPUCores != nil {
			cpu, cores = doc.Cell{Text: fmt.Sprintf("%.1f of %.0f", *p.CPUCores, *p.Cores), Data: figure(*p.CPUCores)}, figure(*p.Cores)
		}
		if p.ClockOffsetUS != nil && p.ClockBoundUS != nil {
			clock = doc.Cell{Text: offset(micros(*p.ClockOffsetUS)) + " ±" + theme.Duration(micros(*p.ClockBoundUS)), Data: strconv.FormatInt(*p.ClockOffsetUS, 10)}
		}
		row.Cells = []doc.Cell{
			known(p.Name), known(p.Address), known(p.Role), known(strings.Join(p.Tags, ",")), known(p.Version), known(p.State), known(p.Run), known(p.Security),
			cpu,
			{Data: cores},
			clock, countCell(int64(p.Results)),
			{Data: p.Problem},
		}
		t.Rows = append(t.Rows, row)
	}
	return &doc.Document{Command: "kt peers", Subject: plural(len(d.Peers), "agent"), Sections: []doc.Section{{ID: "peers", Tables: []doc.Table{t}}}}
}

// known is a cell of words; "": a dash for people, and nothing for programs.
func known(text string) doc.Cell {
	if text == "" {
		return doc.Cell{Text: doc.Unknown}
	}
	return doc.Cell{Text: text, Data: text}
}

// offset returns a difference between clocks, with its sign.
func offset(d time.Duration) string {
	if d < 0 {
		return theme.Duration(d)
	}
	return "+" + theme.Duration(d)
}
