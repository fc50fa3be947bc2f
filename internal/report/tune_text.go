package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tune"
)

// groupTitles are the headings of the groups.
var groupTitles = map[tune.Group]string{
	tune.Memory: "Memory", tune.Limits: "Limits", tune.CPU: "CPU", tune.Clock: "Clock",
	tune.Disks: "Disks and file systems", tune.Network: "Network", tune.JVM: "JVM", tune.Kafka: "Kafka", tune.Context: "Context",
}

// TuneText writes the findings for people: those that need action by cost, or all by group.
func TuneText(w io.Writer, r *tune.Report, o TuneOptions) error {
	return buffered(w, func(b *bytes.Buffer) {
		t := tuneText{text: newText(b, o.Theme, o.Width), o: o}
		t.heading(r.Machine)
		if o.All && !o.Quiet {
			for _, g := range tune.Groups {
				found := inGroup(r, g, o)
				t.section(groupTitles[g], tally(found, tune.Verdicts...), found)
			}
		} else {
			t.byCost(r)
		}
		t.ending(r)
	})
}

// columns returns how wide sentences may get: a terminal's width, but no more than can be read
// well, and no less than the columns of a table need.
func columns(terminal int) int {
	if terminal == 0 {
		return lineWidth
	}
	return min(max(terminal, 60), lineWidth)
}

type tuneText struct {
	text
	o                   TuneOptions
	id, current, wanted int // widths of the columns
}

func (t *tuneText) heading(m *tune.Machine) {
	about := strings.Join(aboutMachine(m), t.sep())
	role := strings.Join(aboutRole(m), t.sep())
	t.line("")
	for i, line := range append(wrapText(about, t.wrapAt()-11), wrapText(role, t.wrapAt()-11)...) {
		head := pad("", 9)
		if i == 0 {
			head = t.th.Paint(theme.Style{FG: theme.Brand, Bold: true}, "kt tune") + "  "
		}
		t.line("  " + head + t.th.Paint(muted, line))
	}
}

// aboutMachine returns the name, the system, the size and the kind of a machine. A folder with a
// part of a machine's files may lack any of them.
func aboutMachine(m *tune.Machine) []string {
	tags := []string{cmp.Or(m.Hostname, "name unknown"), "Linux " + cmp.Or(m.Kernel, "(version unknown)"), "cores unknown", "memory unknown"}
	if m.CPUs > 0 {
		tags[2] = cores(m.CPUs)
	}
	if m.Memory > 0 {
		tags[3] = theme.Bytes(m.Memory)
	}
	for _, s := range []string{m.Container, m.Virtual, m.Cloud} {
		if s != "" {
			tags = append(tags, s)
		}
	}
	return tags
}

// aboutRole returns the role, the profile and the broker's process of the checks.
func aboutRole(m *tune.Machine) []string {
	tags := []string{fmt.Sprintf("role %s (%s)", m.Role, m.RoleFrom), "profile " + m.Profile.Name}
	if p := m.Process; p != nil && p.Unit != "" {
		tags = append(tags, p.Unit)
	} else if p != nil && !strings.HasPrefix(m.RoleFrom, "process") {
		tags = append(tags, "process "+strconv.Itoa(p.PID))
	}
	return tags
}

func cores(n float64) string {
	if n == 1 {
		return "1 core"
	}
	return strconv.FormatFloat(n, 'g', 3, 64) + " cores"
}

// inGroup returns the findings of a group that are shown.
func inGroup(r *tune.Report, g tune.Group, o TuneOptions) []tune.Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f tune.Finding) bool {
		quiet := o.Quiet && f.Verdict != tune.Fail && f.Verdict != tune.Warn
		return f.Group != g || quiet || !o.All && f.Verdict == tune.NotApplicable
	})
}

// byCost writes failures, warnings and notes, and counts the other checks.
func (t *tuneText) byCost(r *tune.Report) {
	shown := []tune.Verdict{tune.Fail, tune.Warn, tune.Info}
	if t.o.Quiet {
		shown = shown[:2]
	}
	for _, v := range shown {
		found := slices.DeleteFunc(r.ByCost(), func(f tune.Finding) bool { return f.Verdict != v })
		if n := len(found); v == tune.Info && n > mostNotes {
			t.section(plural(n, "note"), fmt.Sprintf("the first %d of them; all: --all", mostNotes), found[:mostNotes])
			continue
		}
		t.section(tally(found, v), "", found)
	}
	var rest []string
	if n := r.Count(tune.OK); n > 0 {
		rest = append(rest, plural(n, "check")+either(n, " passes", " pass"))
	}
	if s := tally(r.Findings, tune.Unknown, tune.NotApplicable); s != "" {
		rest = append(rest, s)
	}
	if len(rest) > 0 && !t.o.Quiet {
		t.line("")
		t.line("  " + t.th.Paint(muted, strings.Join(rest, ", ")+" (--all)"))
	}
}

// Limits of a list of findings. A value wider than its column moves the rest of its line to the right.
const (
	idWidth    = 30
	valueWidth = 12
	leastWhy   = 24 // with less room, the effect has a line of its own
	mostNotes  = 8  // notes without --all: with all warnings they fit one screen
)

// section writes findings below a title.
func (t *tuneText) section(title, about string, found []tune.Finding) {
	if len(found) == 0 {
		return
	}
	t.id, t.current, t.wanted = 0, 0, 0
	for _, f := range found {
		t.id = max(t.id, min(utf8.RuneCountInString(f.ID), idWidth))
		t.current = max(t.current, min(utf8.RuneCountInString(f.Current), valueWidth))
		t.wanted = max(t.wanted, min(utf8.RuneCountInString(f.Wanted), valueWidth))
	}
	t.line("")
	t.line(strings.TrimRight("  "+t.th.Paint(strong, title)+"  "+t.th.Paint(muted, about), " "))
	for _, f := range found {
		t.finding(f)
	}
}

// tally returns how many findings have each of some verdicts: "1 failure, 4 warnings".
func tally(found []tune.Finding, verdicts ...tune.Verdict) string {
	var counts []string
	for _, v := range verdicts {
		n := 0
		for _, f := range found {
			if f.Verdict == v {
				n++
			}
		}
		if n > 0 {
			counts = append(counts, verdictCount(n, v))
		}
	}
	return strings.Join(counts, ", ")
}

func verdictCount(n int, v tune.Verdict) string {
	switch v {
	case tune.Fail:
		return plural(n, "failure")
	case tune.Warn:
		return plural(n, "warning")
	case tune.Info:
		return plural(n, "note")
	}
	return fmt.Sprintf("%d %s", n, strings.ReplaceAll(string(v), "_", " "))
}

// finding writes a check in one line, and its whole reason below it where that was asked for.
func (t *tuneText) finding(f tune.Finding) {
	glyph, style := t.look(f.Verdict)
	current, wanted := f.Current, strings.ReplaceAll(f.Wanted, "- - ", "… ") // any of the first two will do
	current = t.cut(current, 4+t.id+1+6+min(utf8.RuneCountInString(wanted), t.wanted))
	wanted = t.cut(wanted, 4+t.id+1+max(utf8.RuneCountInString(current), t.current)+3)
	becomes := "→"
	if current == "" {
		current = string(t.th.Glyphs.Missing)
	}
	if wanted == "" {
		becomes = " "
	}
	row := fmt.Sprintf("%s %s %s ", pad(f.ID, t.id), padLeft(current, t.current), becomes)
	column := 4 + utf8.RuneCountInString(row) + max(utf8.RuneCountInString(wanted), t.wanted) + 2
	why, room := short(f), t.limit()-column
	if t.o.Verbose {
		why, room = reason(f, true), t.wrapAt()-column
	}
	first := t.th.Paint(style, string(glyph)) + " " + t.th.Paint(rowStyle(f.Verdict), row)
	if why != "" && (utf8.RuneCountInString(why) <= room || !t.o.Verbose && (t.width == 0 || room >= leastWhy)) {
		t.line("  " + first + t.th.Paint(plain, pad(wanted, t.wanted)) + "  " + t.th.Paint(muted, t.cut(why, column)))
		return
	}
	t.line("  " + first + t.th.Paint(plain, wanted))
	if !t.o.Verbose {
		why = t.cut(why, 8)
		if f.Verdict == tune.Info {
			return
		}
	}
	for _, line := range wrapText(why, t.wrapAt()-8) {
		t.line("        " + t.th.Paint(muted, line))
	}
}

func rowStyle(v tune.Verdict) theme.Style {
	if v == tune.Unknown || v == tune.NotApplicable {
		return muted
	}
	return plain
}

func (t *text) look(v tune.Verdict) (rune, theme.Style) {
	switch g := t.th.Glyphs; v {
	case tune.OK:
		return g.Pass, good
	case tune.Fail:
		return g.Cross, bad
	case tune.Warn:
		return g.Alert, warn
	case tune.Info:
		return g.Separator, theme.Style{FG: theme.Info}
	default:
		return g.Hollow, muted
	}
}

// reason returns the note of a finding, and the effect of a value that is not as wanted.
func reason(f tune.Finding, verbose bool) string {
	parts := notes(f)
	if f.Verdict == tune.Fail || f.Verdict == tune.Warn || verbose && f.Verdict != tune.NotApplicable && f.Verdict != tune.Unknown {
		parts = append(parts, f.Why)
	}
	return strings.Join(parts, "; ")
}

// short returns a reason for a line with little room: the first sentence of the effect, then the note.
func short(f tune.Finding) string {
	parts := notes(f)
	acts := f.Verdict == tune.Fail || f.Verdict == tune.Warn
	if acts && !f.Drifts || f.Verdict == tune.Info && f.Wanted != "" && len(parts) == 0 {
		effect, _, _ := strings.Cut(f.Why, ". ")
		parts = slices.Insert(parts, 0, effect)
	}
	return strings.Join(parts, "; ")
}

// notes returns what is special about a finding on this machine.
func notes(f tune.Finding) (parts []string) {
	if f.Note != "" {
		parts = append(parts, f.Note)
	}
	if f.Persisted != "" && f.Persisted != f.Current && f.Verdict != tune.OK && !f.Drifts { // of drift a note says it
		parts = append(parts, f.Persisted+" after the next boot ("+f.PersistedIn+")")
	}
	return parts
}

func (t *tuneText) ending(r *tune.Report) {
	t.line("")
	fit := r.Fit(t.o.Strict)
	style := good
	if !fit {
		style = bad
	}
	counted := tune.Verdicts
	if !t.o.All {
		counted = []tune.Verdict{tune.Fail, tune.Warn, tune.Info}
	}
	for i, line := range wrapText(verdictLine(r, t.o.Strict, counted), t.wrapAt()-4) {
		t.line("  " + strings.Repeat("  ", min(i, 1)) + t.th.Paint(style, line))
	}
	for _, s := range t.nextSteps(r) {
		t.line("  " + t.th.Paint(muted, pad(s.what, 10)) + t.th.Paint(plain, s.command))
		for _, line := range wrapText(s.about, t.wrapAt()-12) {
			t.line("            " + t.th.Paint(muted, line))
		}
	}
}

// verdictLine returns the whole verdict in a line.
func verdictLine(r *tune.Report, strict bool, counted []tune.Verdict) string {
	what := "fit for Kafka"
	if !r.Fit(strict) {
		what = "not fit for Kafka (exit code 3)"
	}
	if counts := tally(r.Findings, counted...); counts != "" {
		what += ": " + counts
	}
	return what
}

// step is a command to run now, and what it does.
type step struct{ what, command, about string }

func (t *tuneText) nextSteps(r *tune.Report) (steps []step) {
	if n := len(r.Changes()); n > 0 {
		steps = append(steps,
			step{"apply", "sudo kt tune --apply" + t.o.Again, plural(n, "change") + either(n, " fixes ", " fix ") + mended(r) + "; undo: sudo kt tune --rollback" + t.o.Root},
			step{"or", "kt tune --script" + t.o.Again + " (a shell script), --ansible (a playbook)", ""})
	}
	if ids := manualIDs(r); ids != "" {
		steps = append(steps, step{"by hand", "kt tune --dry-run" + t.o.Again, "Manual steps for " + ids})
	}
	if all := r.ByCost(); len(all) > 0 && slices.Contains([]tune.Verdict{tune.Fail, tune.Warn, tune.Info}, all[0].Verdict) {
		steps = append(steps, step{"explain", "kt tune --explain " + all[0].ID, ""})
	}
	if r.Machine.Role == tune.Client && r.Machine.RoleFrom != "--role" {
		steps = append(steps, step{"role", "kt tune --role broker --dirs /data/kafka", "for a future broker's machine: no broker runs here now"})
	}
	return steps
}

// mended returns how much of each verdict the changes mend: "0 of 1 failure, 3 of 6 warnings".
func mended(r *tune.Report) string {
	var parts []string
	for _, v := range []tune.Verdict{tune.Fail, tune.Warn, tune.Info} {
		n := 0
		for _, f := range r.Findings {
			if f.Verdict == v && f.Mended() {
				n++
			}
		}
		if all := r.Count(v); all > 0 {
			parts = append(parts, fmt.Sprintf("%d of %s", n, verdictCount(all, v)))
		}
	}
	return strings.Join(parts, ", ")
}

// manualIDs returns the checks of the manual steps: four at most, the costliest first.
func manualIDs(r *tune.Report) string {
	var ids []string
	for _, f := range r.Manual() {
		ids = append(ids, f.ID)
	}
	if n := len(ids) - 4; n > 0 {
		ids = append(ids[:4], fmt.Sprintf("%d more", n))
	}
	return strings.Join(ids, ", ")
}
