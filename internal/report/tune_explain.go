package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/tune"
)

// ExplainDoc returns all that kt knows of a setting, and what it found on this machine; f may be nil.
func ExplainDoc(s *tune.Setting, profiles []*tune.Profile, f *tune.Finding) *doc.Document {
	d := &doc.Document{Command: "kt tune", Subject: s.ID, Tags: []string{s.Title}}
	if f != nil {
		here := doc.Section{ID: "here", Facts: []doc.Fact{{Name: "here", Text: strings.TrimLeft(f.Current+"   ", " ") + verdictWord(f.Verdict), Tone: verdictTones[f.Verdict]}}}
		if f.Persisted != "" {
			here.Facts = append(here.Facts, doc.Fact{Name: "after boot", Text: f.Persisted + "   (" + f.PersistedIn + ")"})
		}
		here.Facts = append(here.Facts, listed("note", f.Note)...)
		for _, c := range f.Changes {
			here.Facts = append(here.Facts, doc.Fact{Name: "kt sets", Text: c.Describe()})
		}
		if f.Command != "" {
			here.Blocks = []doc.Block{doc.Code(f.Command)}
		}
		d.Sections = append(d.Sections, here)
	}
	var wanted []string
	for _, p := range profiles {
		wanted = append(wanted, p.Name+": "+wantedBy(p, s))
	}
	facts := append(listed("wanted", wanted...), listed("why", s.Why, s.Detail)...)
	facts = append(facts, doc.Fact{Name: "severity", Text: fmt.Sprintf("%s; the value is %s", s.Severity, confidences[s.Confidence])})
	change := "kt only checks it"
	if s.Applies {
		change = "kt tune --apply sets it"
	}
	if s.Risk != "" {
		change += "; risk: " + s.Risk
	}
	facts = slices.Concat(facts, listed("roles", joined(s.Roles)), listed("reads", strings.Join(s.Reads, ", ")), listed("sources", s.Sources...), listed("change", change))
	d.Sections = append(d.Sections, doc.Section{ID: "setting", Facts: facts})
	return d
}

// confidences are how well a value is founded, in words.
var confidences = map[tune.Confidence]string{
	tune.Documented: "documented by Kafka or a vendor",
	tune.Measured:   "backed by a published measurement",
	tune.Folklore:   "a common or an own proposal, not measured",
}

func wantedBy(p *tune.Profile, s *tune.Setting) string {
	if r := p.Rule(s); !r.Leave() {
		return r.String()
	}
	if p.Names(s) {
		return "left alone"
	}
	return "see below"
}

// SettingsDoc returns the catalogue.
func SettingsDoc(settings []*tune.Setting) *doc.Document {
	t := doc.Table{ID: "settings", Caption: "What kt tune checks", Data: true, Columns: []doc.Column{
		{Head: "check", Data: "id", Kind: doc.Whole}, {Head: "group", Data: "group", Kind: doc.Words}, {Head: "what it is", Data: "title", Kind: doc.Sentence},
	}}
	for _, s := range settings {
		t.Rows = append(t.Rows, doc.Row{Cells: doc.Of(s.ID, string(s.Group), s.Title)})
	}
	d := ofTable("kt tune", "what it checks", t)
	d.Tags = []string{plural(len(settings), "check")}
	return d
}

// HintsDoc returns the settings that fit a machine, and the part of a server.properties file that sets them.
func HintsDoc(m *tune.Machine, hints []tune.Hint) *doc.Document {
	about := aboutMachine(m)
	d := &doc.Document{Command: "kt tune --hints", Subject: about[0], Tags: about[1:]}
	for _, h := range hints {
		if n := len(d.Sections); n == 0 || d.Sections[n-1].ID != string(h.Where) {
			d.Sections = append(d.Sections, doc.Section{ID: string(h.Where), Title: hintPlaces[h.Where], Tables: []doc.Table{{ID: string(h.Where) + "-hints", Caption: hintPlaces[h.Where], Data: true, Columns: []doc.Column{
				{Head: "setting", Data: "name", Kind: doc.Whole},
				{Head: "value", Data: "value", Kind: doc.Sentence},
				{Data: "where", Kind: doc.Words},
				{Data: "formula", Kind: doc.Words},
				{Data: "source", Kind: doc.Words},
			}}}})
		}
		t := &d.Sections[len(d.Sections)-1].Tables[0]
		t.Rows = append(t.Rows, doc.Row{Note: h.Formula + "; source: " + h.Source, Cells: doc.Of(h.Name, h.Value, string(h.Where), h.Formula, h.Source)})
	}
	d.Sections = append(d.Sections, doc.Section{ID: "fragment", Title: "As a part of server.properties", Blocks: []doc.Block{doc.Code(tune.Fragment(hints))}})
	return d
}

var hintPlaces = map[tune.Where]string{
	tune.Environment: "Environment of the broker's process", tune.Properties: "server.properties of each broker",
	tune.Cluster: "The cluster", tune.System: "The machine",
}
