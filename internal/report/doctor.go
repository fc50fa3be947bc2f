package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/result"
)

// DoctorSchema is the version of a DoctorDocument. It changes when a
// field changes its meaning or goes away, not when one is added.
const DoctorSchema = 1

// DoctorRow is one check of a cluster.
type DoctorRow struct {
	Name    string           `json:"name"`
	About   string           `json:"about"`
	State   string           `json:"state"` // pass, warning, failure or unknown
	Text    string           `json:"text"`
	Advice  string           `json:"advice"`
	Figures map[string]int64 `json:"figures,omitempty"`
}

// DoctorDocument is what was found.
type DoctorDocument struct {
	Schema  int            `json:"schema"`
	Healthy bool           `json:"healthy"` // no check failed, and none was interrupted
	Exit    int            `json:"-"`       // the exit code
	Cluster result.Cluster `json:"cluster"`
	Checks  []DoctorRow    `json:"checks"`
}

// DoctorDoc returns the checks of a cluster.
func DoctorDoc(d *DoctorDocument) *doc.Document {
	tones := map[string]doc.Tone{"pass": doc.Good, "warning": doc.Warn, "failure": doc.Bad, "unknown": doc.Muted}
	counts := make(map[string]int)
	all := ofTable("kt doctor", "the cluster, seen from this host", tableOf(doc.Table{ID: "checks", Caption: "Checks", Data: true}, d.Checks, nil,
		col[DoctorRow]{doc.Column{Head: "state", Data: "state", Kind: doc.Whole}, func(c *DoctorRow) doc.Cell {
			counts[c.State]++
			return doc.Cell{Text: c.State, Tone: tones[c.State]}
		}},
		col[DoctorRow]{doc.Column{Head: "check", Data: "name", Kind: doc.Whole}, func(c *DoctorRow) doc.Cell { return text(c.Name) }},
		col[DoctorRow]{doc.Column{Data: "about", Kind: doc.Words}, func(c *DoctorRow) doc.Cell { return text(c.About) }},
		col[DoctorRow]{doc.Column{Data: "text", Kind: doc.Words}, func(c *DoctorRow) doc.Cell { return text(c.Text) }},
		col[DoctorRow]{doc.Column{Data: "advice", Kind: doc.Words}, func(c *DoctorRow) doc.Cell { return text(c.Advice) }},
		col[DoctorRow]{doc.Column{Head: "found", Kind: doc.Sentence}, func(c *DoctorRow) doc.Cell {
			return text(strings.Join(slices.DeleteFunc([]string{c.About, c.Text, c.Advice}, func(part string) bool { return part == "" }), ": "))
		}}))
	answer := doc.Note{Name: "verdict", Text: plural(counts["failure"], "failure") + ", " + plural(counts["warning"], "warning"), Tone: doc.Good}
	if n := counts["unknown"]; n > 0 {
		answer.Text += fmt.Sprintf(", %d unknown", n)
	}
	if !d.Healthy {
		answer.Tone, answer.Text = doc.Bad, fmt.Sprintf("%s (exit code %d)", answer.Text, d.Exit)
	}
	all.Answer = []doc.Note{answer}
	return all
}
