package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/probe"
	"github.com/kt-bench/kt/internal/theme"
)

// ProbeText writes the tables for people.
func ProbeText(w io.Writer, r probe.Report, o ProbeOptions) error {
	return buffered(w, func(b *bytes.Buffer) {
		t := probeText{newText(b, o.Theme, 0)}
		m := r.Machine
		t.line("")
		t.line("  " + t.th.Paint(theme.Style{FG: theme.Brand, Bold: true}, "kt probe") + "  " + t.th.Paint(muted, strings.Join([]string{
			m.Hostname, "Linux " + m.Kernel, theme.Bytes(m.MemoryBytes), string(r.Mode), theme.Duration(seconds(r.Seconds)),
		}, t.sep())))
		for _, limit := range m.CgroupIO {
			t.note("the control group limits kt: " + limit)
		}
		if r.Interrupted {
			t.line("  " + t.th.Paint(warn, string(t.th.Glyphs.Alert)+" interrupted: the tests are not complete"))
		}
		for _, d := range r.Directories {
			t.directory(d)
		}
		if r.Parallel != nil {
			t.parallel(r)
		}
		if r.Comparison != nil {
			t.compared(*r.Comparison, o.Earlier, len(r.Directories) > 1)
		}
	})
}

type probeText struct{ text }

func (t *probeText) note(s string) { t.noteAt(4, s) }

// noteAt writes a note below its subject.
func (t *probeText) noteAt(indent int, s string) {
	for i, line := range wrapText(s, lineWidth-indent-4) {
		mark := string(t.th.Glyphs.Separator)
		if i > 0 {
			mark = " "
		}
		t.line(strings.Repeat(" ", indent) + t.th.Paint(muted, mark+" "+line))
	}
}

func (t *probeText) directory(d probe.Directory) {
	t.line("")
	t.line("  " + t.th.Paint(strong, d.Path))
	for _, line := range wrapText(strings.Join(aboutDirectory(d), t.sep()), lineWidth-4) {
		t.line("    " + t.th.Paint(muted, line))
	}
	if len(d.Results) > 0 {
		t.results(d.Results)
	}
	if len(d.DD) > 0 {
		t.dd(d.DD)
	}
	for _, n := range d.Notes {
		t.note(n)
	}
	if d.Plan != "" {
		t.line("")
		t.line("    " + t.th.Paint(theme.Style{FG: theme.Flow, Bold: true}, string(t.th.Glyphs.Arrow)+" "+d.Plan))
	}
}

// probeWidths are those of the columns of probeHead.
var probeWidths = []int{16, 8, 8, 8, 8, 8, 8, 8, 8, 8}

func (t *probeText) columns(cells []string) string {
	var b strings.Builder
	for i, c := range cells {
		if i == 0 {
			b.WriteString(pad(c, probeWidths[i]))
			continue
		}
		b.WriteString(padLeft(c, probeWidths[i]))
	}
	return b.String()
}

func (t *probeText) results(all []probe.Result) {
	t.line("")
	t.line("      " + t.th.Paint(muted, t.columns(probeHead)))
	for _, r := range all {
		glyph, style := t.grade(r.Grade)
		t.line("    " + t.th.Paint(style, string(glyph)) + " " + t.columns(probeRow(r)))
		t.detail(r)
	}
}

func (t *probeText) grade(g probe.Grade) (rune, theme.Style) {
	switch g {
	case probe.Good:
		return t.th.Glyphs.Pass, good
	case probe.OK:
		return t.th.Glyphs.Separator, plain
	case probe.Poor:
		return t.th.Glyphs.Alert, warn
	}
	return ' ', plain
}

// detail writes the work of a test, and its findings that are not good.
func (t *probeText) detail(r probe.Result) {
	t.line("        " + t.th.Paint(muted, r.What))
	if a := r.Append; a != nil {
		t.line("        " + t.th.Paint(plain, fmt.Sprintf("burst %s MiB/s, sustained %s MiB/s", rateText(a.BurstMiBPerSecond), rateText(a.SustainedMiBPerSecond))) +
			t.th.Paint(muted, " ("+sustainedFrom(a)+")"))
	}
	if r.Alone != nil {
		t.line("        " + t.th.Paint(muted, fmt.Sprintf("without it: p99 %s, p99.9 %s, max %s", us(r.Alone.P99), us(r.Alone.P999), us(r.Alone.Max))))
	}
	if r.Read != nil {
		t.line("        " + t.th.Paint(muted, "read at the same time: "+rateText(*r.Read)+" MiB/s"))
	}
	for _, f := range r.Findings {
		if f.Grade != probe.Good {
			t.noteAt(8, fmt.Sprintf("%s (%s)", f.Sentence, f.Source))
		}
	}
	for _, n := range r.Notes {
		t.noteAt(8, n)
	}
}

func sustainedFrom(a *probe.Append) string {
	from := "counted by the kernel on the device"
	if a.From != "device" {
		from = "counted by the writes"
	}
	if !a.Steady {
		from += "; not steady yet"
	}
	return from
}

func (t *probeText) dd(rows []probe.Row) {
	t.line("")
	t.line("      " + t.th.Paint(muted, fmt.Sprintf("%12s  %-6s %10s  %5s  %s", "block", "direct", "MB/s", "CPU", "the same with dd")))
	for _, r := range rows {
		t.line(fmt.Sprintf("      %12d  %-6s %10s  %3.0f %%  ", r.Block, yesNo(r.Direct), rateText(r.MBPerSecond), r.CPUPercent) + t.th.Paint(muted, r.Command))
		if r.PageCache {
			t.noteAt(8, "this includes the page cache, not only the disk")
		}
		if r.Cut {
			t.noteAt(8, "the time ended before all blocks were written")
		}
	}
}

func (t *probeText) parallel(r probe.Report) {
	p := r.Parallel
	t.line("")
	t.line("  " + t.th.Paint(strong, "All directories at once") + "  " +
		t.th.Paint(plain, fmt.Sprintf("%s MiB/s together, %s of the sum of the single rates", rateText(p.Sum), theme.Percent(p.Efficiency))))
	for i, d := range r.Directories {
		if i < len(p.MiBPerSecond) && i < len(p.AloneMiBPerSecond) {
			t.line("      " + pad(d.Path, 40) + padLeft(rateText(p.MiBPerSecond[i]), 9) + " MiB/s" +
				t.th.Paint(muted, "   alone "+rateText(p.AloneMiBPerSecond[i])))
		}
	}
	if len(p.Shared) > 0 {
		t.note("more than one directory is on " + strings.Join(p.Shared, ", "))
	}
	for _, f := range p.Findings {
		t.note(fmt.Sprintf("%s (%s)", f.Sentence, f.Source))
	}
}

// us returns a latency in microseconds.
func us(v float64) string { return theme.Duration(time.Duration(v * float64(time.Microsecond))) }

// compared writes the changes since an earlier probe.
func (t *probeText) compared(c probe.Comparison, earlier string, several bool) {
	t.line("")
	t.line("  " + t.th.Paint(strong, "Compared with "+earlier))
	for _, s := range c.Settings {
		t.line("    " + t.th.Paint(plain, s.Name) + t.th.Paint(muted, "  "+s.Before+" → "+s.After))
	}
	if len(c.Changes) > 0 {
		t.line("      " + t.th.Paint(muted, pad("test", 18)+pad("figure", 20)+padLeft("before", 12)+padLeft("after", 12)+padLeft("change", 10)))
	}
	dir := ""
	for _, ch := range c.Changes {
		if ch.Dir != dir && several {
			t.line("    " + t.th.Paint(strong, ch.Dir))
		}
		dir = ch.Dir
		style, glyph := muted, ' '
		switch ch.Effect {
		case probe.Better:
			style, glyph = good, t.th.Glyphs.Pass
		case probe.Worse:
			style, glyph = warn, t.th.Glyphs.Alert
		case probe.Unchanged:
		}
		t.line("    " + t.th.Paint(style, string(glyph)) + " " + pad(ch.Test, 18) + pad(strings.TrimSpace(ch.Metric+" "+ch.Unit), 20) +
			padLeft(rateText(ch.Before), 12) + padLeft(rateText(ch.After), 12) + t.th.Paint(style, padLeft(fmt.Sprintf("%+.0f %%", 100*ch.Change), 10)))
	}
	for _, n := range append(c.Missing, c.Notes...) {
		t.note(n)
	}
}
