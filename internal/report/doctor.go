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
	t := doc.NewTable("checks", "Checks", "state|whole", "check|whole", "found|sentence")
	for _, c := range d.Checks {
		counts[c.State]++
		found := slices.DeleteFunc([]string{c.About, c.Text, c.Advice}, func(part string) bool { return part == "" })
		t.Add(doc.Cell{Text: c.State, Tone: tones[c.State]}, c.Name, strings.Join(found, ": "))
	}
	all := OfTable("kt doctor", "the cluster, seen from this host", t, d.Checks)
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
