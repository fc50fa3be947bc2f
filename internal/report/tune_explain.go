package report

import (
	"fmt"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/tune"
)

// ExplainDoc returns all that kt knows of a setting, and what it found on this machine; f may be nil.
func ExplainDoc(s *tune.Setting, profiles []*tune.Profile, f *tune.Finding) *doc.Document {
	d := &doc.Document{Command: "kt tune", Subject: s.ID, Tags: []string{s.Title}}
	if f != nil {
		here := new(doc.Facts)
		here.Add("here", verdictTones[f.Verdict], strings.TrimLeft(f.Current+"   ", " ")+verdictWord(f.Verdict))
		if f.Persisted != "" {
			here.Add("after boot", doc.Plain, f.Persisted+"   ("+f.PersistedIn+")")
		}
		here.List("note", f.Note)
		for _, c := range f.Changes {
			here.List("kt sets", c.Describe())
		}
		d.Sections = append(d.Sections, doc.Section{ID: "here", Blocks: []doc.Block{here, doc.Code(f.Command)}})
	}
	var wanted []string
	for _, p := range profiles {
		wanted = append(wanted, p.Name+": "+wantedBy(p, s))
	}
	change := "kt only checks it"
	if s.Applies {
		change = "kt tune --apply sets it"
	}
	if s.Risk != "" {
		change += "; risk: " + s.Risk
	}
	facts := new(doc.Facts)
	facts.List("wanted", wanted...)
	facts.List("why", s.Why, s.Detail)
	facts.List("severity", fmt.Sprintf("%s; the value is %s", s.Severity, confidences[s.Confidence]))
	facts.List("roles", joined(s.Roles))
	facts.List("reads", strings.Join(s.Reads, ", "))
	facts.List("sources", s.Sources...)
	facts.List("change", change)
	d.Sections = append(d.Sections, doc.Section{ID: "setting", Blocks: []doc.Block{facts}})
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
	t := doc.NewTable("settings", "What kt tune checks", "check|whole", "group|words", "what it is|sentence")
	for _, s := range settings {
		t.Add(s.ID, s.Group, s.Title)
	}
	d := OfTable("kt tune", "what it checks", t, nil)
	d.Tags = []string{plural(len(settings), "check")}
	return d
}

// HintsDoc returns the settings that fit a machine, and the part of a server.properties file that sets them.
func HintsDoc(m *tune.Machine, hints []tune.Hint) *doc.Document {
	about := aboutMachine(m)
	d := &doc.Document{Command: "kt tune --hints", Subject: about[0], Tags: about[1:]}
	var t *doc.Table
	for _, h := range hints {
		if t == nil || t.Caption != hintPlaces[h.Where] {
			t = doc.NewTable(string(h.Where)+"-hints", hintPlaces[h.Where], "setting|whole", "value|sentence")
			d.Sections = append(d.Sections, doc.Section{ID: string(h.Where), Title: t.Caption, Blocks: []doc.Block{t}})
		}
		t.Add(h.Name, h.Value).Note = h.Formula + "; source: " + h.Source
	}
	d.Sections = append(d.Sections, doc.Section{ID: "fragment", Title: "As a part of server.properties", Blocks: []doc.Block{doc.Code(tune.Fragment(hints))}})
	return d
}

var hintPlaces = map[tune.Where]string{
	tune.Environment: "Environment of the broker's process", tune.Properties: "server.properties of each broker",
	tune.Cluster: "The cluster", tune.System: "The machine",
}
