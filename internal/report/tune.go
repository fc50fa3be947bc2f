package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tune"
)

// TuneOptions are the checks of a machine that are shown, and the commands that follow.
type TuneOptions struct {
	Verbose bool // whole reasons
	All     bool // every check, also one that passes or does not apply
	Quiet   bool // only failures and warnings
	Strict  bool // warnings count

	// Again are the flags that look at the same machine in the same way, with a space
	// before each; "" for none.
	Again string
	Root  string // the flag that names another root, in the same way
}

// mostNotes is how many notes are shown without All: with all warnings they fit one screen.
const mostNotes = 8

// groupTitles are the headings of the groups.
var groupTitles = map[tune.Group]string{
	tune.Memory: "Memory", tune.Limits: "Limits", tune.CPU: "CPU", tune.Clock: "Clock",
	tune.Disks: "Disks and file systems", tune.Network: "Network", tune.JVM: "JVM", tune.Kafka: "Kafka", tune.Context: "Context",
}

// TuneDoc returns what the checks of a machine found: what needs action by its cost, or every check by its group.
func TuneDoc(r *tune.Report, o TuneOptions) *doc.Document {
	m := r.Machine
	about := append(aboutMachine(m), fmt.Sprintf("role %s (%s)", m.Role, m.RoleFrom), "profile "+m.Profile.Name)
	if p := m.Process; p != nil && p.Unit != "" {
		about = append(about, p.Unit)
	} else if p != nil && !strings.HasPrefix(m.RoleFrom, "process") {
		about = append(about, "process "+strconv.Itoa(p.PID))
	}
	d := &doc.Document{Command: "kt tune", Subject: about[0], Tags: about[1:], List: r.Document(false).Checks}
	counts := tally(r.Findings, tune.Fail, tune.Warn, tune.Info)
	if o.All && !o.Quiet {
		counts = tally(r.Findings, tune.Verdicts...)
		for _, g := range tune.Groups {
			found := slices.DeleteFunc(slices.Clone(r.Findings), func(f tune.Finding) bool { return f.Group != g })
			d.Sections = append(d.Sections, doc.Section{
				ID: string(g), Title: groupTitles[g] + ": " + tally(found, tune.Verdicts...), Blocks: []doc.Block{findingTable(string(g), found, o.Verbose)},
			})
		}
	} else {
		notes := 0
		t := findingTable("findings", slices.DeleteFunc(r.ByCost(), func(f tune.Finding) bool {
			if f.Verdict == tune.Info && !o.Quiet {
				notes++
				return notes > mostNotes
			}
			return f.Verdict != tune.Fail && f.Verdict != tune.Warn
		}), o.Verbose)
		t.Note = pick(notes > mostNotes, plural(notes-mostNotes, "more note")+": --all", "")
		d.Sections = []doc.Section{{ID: "findings", Blocks: []doc.Block{t}}}
		if rest := tally(r.Findings, tune.OK, tune.Unknown, tune.NotApplicable); rest != "" && !o.Quiet {
			d.Remarks = []string{rest + " (--all)"}
		}
	}
	fit := r.Fit(o.Strict)
	d.Answer = []doc.Note{{Name: "verdict", Text: pick(fit, "fit for Kafka", "not fit for Kafka (exit code 3)") + pick(counts != "", ": "+counts, ""), Tone: pick(fit, doc.Good, doc.Bad)}}
	d.Sections = append(d.Sections, doc.Section{ID: "next", Title: "What to do", Blocks: []doc.Block{nextSteps(r, o)}})
	return d
}

// findingTable has a row for each finding.
func findingTable(id string, found []tune.Finding, verbose bool) *doc.Table {
	t := doc.NewTable(id+"-table", "Checks", "check|whole", "verdict|words", "current|words", "wanted|words", "why|sentence")
	for _, f := range found {
		wanted := strings.ReplaceAll(f.Wanted, "- - ", "… ") // any of the first two will do
		tone := verdictTones[f.Verdict]
		row := t.Add(f.ID, doc.Cell{Text: verdictWord(f.Verdict), Tone: tone}, cmp.Or(f.Current, none), wanted, doc.Cell{Text: reason(f, verbose), Tone: doc.Muted})
		row.Tone = pick(tone == doc.Muted, doc.Muted, doc.Plain)
	}
	return t
}

var verdictTones = map[tune.Verdict]doc.Tone{tune.OK: doc.Good, tune.Fail: doc.Bad, tune.Warn: doc.Warn, tune.Unknown: doc.Muted, tune.NotApplicable: doc.Muted}

func verdictWord(v tune.Verdict) string { return strings.ReplaceAll(string(v), "_", " ") }

// aboutMachine returns the name, the system, the size and the kind of a machine, of which any may be unknown.
func aboutMachine(m *tune.Machine) []string {
	return slices.DeleteFunc([]string{
		cmp.Or(m.Hostname, "name unknown"), "Linux " + cmp.Or(m.Kernel, "(version unknown)"),
		pick(m.CPUs > 0, strconv.FormatFloat(m.CPUs, 'g', 3, 64)+either(int64(math.Ceil(m.CPUs)), " core", " cores"), "cores unknown"),
		pick(m.Memory > 0, theme.Bytes(m.Memory), "memory unknown"), m.Container, m.Virtual, m.Cloud,
	}, func(s string) bool { return s == "" })
}

// tally returns how many findings have each of some verdicts: "1 failure, 4 warnings".
func tally(found []tune.Finding, verdicts ...tune.Verdict) string {
	count := make(map[tune.Verdict]int)
	for _, f := range found {
		count[f.Verdict]++
	}
	var counts []string
	for _, v := range verdicts {
		if n := count[v]; n > 0 {
			counts = append(counts, verdictCount(n, v))
		}
	}
	return strings.Join(counts, ", ")
}

func verdictCount(n int, v tune.Verdict) string {
	words, ok := map[tune.Verdict][2]string{
		tune.Fail: {"failure", "failures"}, tune.Warn: {"warning", "warnings"}, tune.Info: {"note", "notes"}, tune.OK: {"check passes", "checks pass"},
	}[v]
	if !ok {
		return fmt.Sprintf("%d %s", n, verdictWord(v))
	}
	return theme.Plural(n, words[0], words[1])
}

// reason returns what is special about a finding on this machine, and the effect of a wrong value: all of it, or its first sentence before.
func reason(f tune.Finding, whole bool) string {
	var parts []string
	if f.Note != "" {
		parts = append(parts, f.Note)
	}
	if f.Persisted != "" && f.Persisted != f.Current && f.Verdict != tune.OK && !f.Drifts { // of drift a note says it
		parts = append(parts, f.Persisted+" after the next boot ("+f.PersistedIn+")")
	}
	acts := f.Verdict == tune.Fail || f.Verdict == tune.Warn
	switch {
	case whole && f.Verdict == tune.OK:
		parts = append(parts, "otherwise "+f.Why)
	case whole && f.Verdict != tune.NotApplicable && f.Verdict != tune.Unknown:
		parts = append(parts, f.Why)
	case !whole && (acts && !f.Drifts || f.Verdict == tune.Info && f.Wanted != "" && len(parts) == 0):
		effect, _, _ := strings.Cut(f.Why, ". ")
		parts = slices.Insert(parts, 0, effect)
	}
	return strings.Join(parts, "; ")
}

// nextSteps returns the commands to run now.
func nextSteps(r *tune.Report, o TuneOptions) *doc.Facts {
	f := new(doc.Facts)
	if n := len(r.Changes()); n > 0 {
		var parts []string // how much of each verdict the changes mend: "0 of 1 failure, 3 of 6 warnings"
		for _, v := range []tune.Verdict{tune.Fail, tune.Warn, tune.Info} {
			mended := slices.DeleteFunc(slices.Clone(r.Findings), func(f tune.Finding) bool { return f.Verdict != v || !f.Mended() })
			if all := r.Count(v); all > 0 {
				parts = append(parts, fmt.Sprintf("%d of %s", len(mended), verdictCount(all, v)))
			}
		}
		f.List("apply", "sudo kt tune --apply"+o.Again)
		f.Add("", doc.Muted, plural(n, "change")+either(n, " fixes ", " fix ")+strings.Join(parts, ", ")+"; undo: sudo kt tune --rollback"+o.Root)
		f.List("or", "kt tune --script"+o.Again+" (a shell script), --ansible (a playbook)")
	}
	if manual := r.Manual(); len(manual) > 0 { // the costliest come first
		var ids []string
		for _, f := range manual[:min(len(manual), 4)] {
			ids = append(ids, f.ID)
		}
		f.List("by hand", "kt tune --dry-run"+o.Again)
		f.Add("", doc.Muted, "Manual steps for "+strings.Join(ids, ", ")+pick(len(manual) > 4, fmt.Sprintf(", %d more", len(manual)-4), ""))
	}
	if all := r.ByCost(); len(all) > 0 && slices.Contains([]tune.Verdict{tune.Fail, tune.Warn, tune.Info}, all[0].Verdict) {
		f.List("explain", "kt tune --explain "+all[0].ID)
	}
	if r.Machine.Role == tune.Client && r.Machine.RoleFrom != "--role" {
		f.List("role", "kt tune --role broker --dirs /data/kafka")
		f.Add("", doc.Muted, "for a future broker's machine: no broker runs here now")
	}
	return f
}

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
	facts := new(doc.Facts)
	facts.List("wanted", wanted...)
	facts.List("why", s.Why, s.Detail)
	facts.List("severity", fmt.Sprintf("%s; the value is %s", s.Severity, confidences[s.Confidence]))
	facts.List("roles", rolesOf(s))
	facts.List("reads", strings.Join(s.Reads, ", "))
	facts.List("sources", s.Sources...)
	facts.List("change", pick(s.Applies, "kt tune --apply sets it", "kt only checks it")+pick(s.Risk != "", "; risk: "+s.Risk, ""))
	d.Sections = append(d.Sections, doc.Section{ID: "setting", Blocks: []doc.Block{facts}})
	return d
}

// confidences are how well a value is founded, in words.
var confidences = map[tune.Confidence]string{
	tune.Documented: "documented by Kafka or a vendor",
	tune.Measured:   "backed by a published measurement",
	tune.Folklore:   "a common or an own proposal, not measured",
}

func rolesOf(s *tune.Setting) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(s.Roles), " ", ", "), "[]")
}

func wantedBy(p *tune.Profile, s *tune.Setting) string {
	if r := p.Rule(s); !r.Leave() {
		return r.String()
	}
	return pick(p.Names(s), "left alone", "see below")
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
