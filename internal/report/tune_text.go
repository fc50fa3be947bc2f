package report

import (
	"bytes"
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

// TuneText writes the findings for people.
func TuneText(w io.Writer, r *tune.Report, o TuneOptions) error {
	return buffered(w, func(b *bytes.Buffer) {
		t := tuneText{newText(b, o.Theme, 0), o}
		t.o.Width = columns(o.Width)
		t.heading(r.Machine)
		for _, g := range tune.Groups {
			t.group(r, g)
		}
		t.ending(r)
	})
}

// columns returns how wide lines may get: a terminal's width, but no more than can be read
// well, and no less than the columns of a table need.
func columns(terminal int) int {
	if terminal == 0 {
		return lineWidth
	}
	return min(max(terminal, 60), lineWidth)
}

type tuneText struct {
	text
	o TuneOptions
}

func (t *tuneText) heading(m *tune.Machine) {
	about := strings.Join(append([]string{m.Hostname}, aboutMachine(m)...), t.sep())
	role := strings.Join(aboutRole(m), t.sep())
	t.line("")
	for i, line := range append(wrapText(about, t.o.Width-11), wrapText(role, t.o.Width-11)...) {
		head := pad("", 9)
		if i == 0 {
			head = t.th.Paint(theme.Style{FG: theme.Brand, Bold: true}, "kt tune") + "  "
		}
		t.line("  " + head + t.th.Paint(muted, line))
	}
}

// aboutMachine returns what the machine is.
func aboutMachine(m *tune.Machine) []string {
	tags := []string{"Linux " + m.Kernel, cores(m.CPUs), theme.Bytes(m.Memory)}
	for _, s := range []string{m.Container, m.Virtual, m.Cloud} {
		if s != "" {
			tags = append(tags, s)
		}
	}
	return tags
}

// aboutRole returns what was checked for.
func aboutRole(m *tune.Machine) []string {
	tags := []string{fmt.Sprintf("role %s (%s)", m.Role, m.RoleFrom), "profile " + m.Profile.Name}
	if p := m.Process; p != nil {
		about := "Kafka is process " + strconv.Itoa(p.PID)
		if p.Unit != "" {
			about += " of " + p.Unit
		}
		tags = append(tags, about)
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
	var found []tune.Finding
	for _, f := range r.Findings {
		shown := o.Verbose || f.Verdict != tune.NotApplicable
		if o.Quiet {
			shown = f.Verdict == tune.Fail || f.Verdict == tune.Warn
		}
		if f.Group == g && shown {
			found = append(found, f)
		}
	}
	return found
}

// How wide the columns of a finding are. What does not fit moves the rest of its
// line to the right.
const (
	idWidth      = 30
	currentWidth = 18
	wantedWidth  = 18
)

func (t *tuneText) group(r *tune.Report, g tune.Group) {
	shown := inGroup(r, g, t.o)
	var counts []string
	count := make(map[tune.Verdict]int)
	for _, f := range r.Findings {
		if f.Group == g {
			count[f.Verdict]++
		}
	}
	for _, v := range tune.Verdicts {
		if n := count[v]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, verdictNames[v]))
		}
	}
	if len(counts) == 0 || t.o.Quiet && len(shown) == 0 {
		return
	}
	t.line("")
	t.line("  " + t.th.Paint(strong, groupTitles[g]) + "  " + t.th.Paint(muted, strings.Join(counts, ", ")))
	for _, f := range shown {
		t.finding(f)
	}
}

// verdictNames are the verdicts as they are counted.
var verdictNames = map[tune.Verdict]string{
	tune.OK: "ok", tune.Fail: "failed", tune.Warn: "to look at", tune.Info: "to know",
	tune.Unknown: "unknown", tune.NotApplicable: "not applicable",
}

func (t *tuneText) finding(f tune.Finding) {
	glyph, style := t.look(f.Verdict)
	current, wanted := f.Current, strings.ReplaceAll(f.Wanted, "- - ", "… ") // any of the first two will do
	current = cut(current, t.o.Width-4-idWidth-1-6-min(utf8.RuneCountInString(wanted), wantedWidth), t.th)
	wanted = cut(wanted, t.o.Width-4-idWidth-1-max(utf8.RuneCountInString(current), currentWidth)-3, t.th)
	becomes := "→"
	if current == "" {
		current = string(t.th.Glyphs.Missing)
	}
	if wanted == "" {
		becomes = " "
	}
	row := fmt.Sprintf("%s %s %s ", pad(f.ID, idWidth), padLeft(current, currentWidth), becomes)
	why := reason(f, t.o.Verbose)
	width := utf8.RuneCountInString(row) + 4
	first := t.th.Paint(style, string(glyph)) + " " + t.th.Paint(rowStyle(f.Verdict), row)
	if why != "" && width+max(utf8.RuneCountInString(wanted), wantedWidth)+2+utf8.RuneCountInString(why) <= t.o.Width {
		t.line("  " + first + t.th.Paint(plain, pad(wanted, wantedWidth)) + "  " + t.th.Paint(muted, why))
		return
	}
	t.line("  " + first + t.th.Paint(plain, wanted))
	for _, line := range wrapText(why, t.o.Width-8) {
		t.line("        " + t.th.Paint(muted, line))
	}
}

func rowStyle(v tune.Verdict) theme.Style {
	if v == tune.Unknown || v == tune.NotApplicable {
		return muted
	}
	return plain
}

func (t *tuneText) look(v tune.Verdict) (rune, theme.Style) {
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

// reason is why a finding is shown: what is special here, and of what is not as
// wanted what happens otherwise.
func reason(f tune.Finding, verbose bool) string {
	parts := []string{f.Note}
	if f.Persisted != "" && f.Persisted != f.Current && f.Verdict != tune.OK {
		parts = append(parts, f.Persisted+" after the next boot ("+f.PersistedIn+")")
	}
	if f.Verdict == tune.Fail || f.Verdict == tune.Warn || verbose && f.Verdict != tune.NotApplicable && f.Verdict != tune.Unknown {
		parts = append(parts, f.Why)
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}

func (t *tuneText) ending(r *tune.Report) {
	t.line("")
	fit := r.Fit(t.o.Strict)
	style := good
	if !fit {
		style = bad
	}
	for i, line := range wrapText(verdictLine(r, t.o.Strict), t.o.Width-4) {
		t.line("  " + strings.Repeat("  ", min(i, 1)) + t.th.Paint(style, line))
	}
	for _, s := range t.nextSteps(r) {
		t.line("  " + t.th.Paint(muted, pad(s.what, 10)) + t.th.Paint(plain, s.command))
		if s.about != "" {
			t.line("            " + t.th.Paint(muted, s.about))
		}
	}
}

// verdictLine returns the whole verdict in a line.
func verdictLine(r *tune.Report, strict bool) string {
	var counts []string
	for _, v := range tune.Verdicts {
		if n := r.Count(v); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, verdictNames[v]))
		}
	}
	what := "fit for Kafka"
	if !r.Fit(strict) {
		what = "not fit for Kafka (exit code 3)"
	}
	return what + ": " + strings.Join(counts, ", ")
}

// step is a command to run now, and what it does.
type step struct{ what, command, about string }

func (t *tuneText) nextSteps(r *tune.Report) (steps []step) {
	if n := len(r.Changes()); n > 0 {
		steps = append(steps,
			step{"apply", "sudo kt tune --apply" + t.o.Again, "shows " + plural(n, "change") + " and asks; the way back: sudo kt tune --rollback" + t.o.Root},
			step{"or", "kt tune --script" + t.o.Again, "the same as a shell script; --ansible as a playbook"})
	}
	if example := worst(r); example != "" {
		steps = append(steps, step{"explain", "kt tune --explain " + example, ""})
	}
	if r.Machine.Role == tune.Client && r.Machine.RoleFrom != "--role" {
		steps = append(steps, step{"role", "kt tune --role broker --dirs /data/kafka", "for a machine that is to have a broker: none runs here now"})
	}
	return steps
}

// worst returns the first of the findings with the worst verdict, "" if all is well.
func worst(r *tune.Report) string {
	for _, v := range []tune.Verdict{tune.Fail, tune.Warn, tune.Info} {
		for _, f := range r.Findings {
			if f.Verdict == v {
				return f.ID
			}
		}
	}
	return ""
}
