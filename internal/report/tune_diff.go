package report

import (
	"bytes"
	"io"

	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tune"
)

// TuneDiff writes what kt is about to change, and what is left to a person.
func TuneDiff(w io.Writer, r *tune.Report, th *theme.Theme) error {
	return buffered(w, func(b *bytes.Buffer) {
		t := text{Buffer: b, th: th}
		last := ""
		for _, c := range r.Changes() {
			if c.Setting != last {
				t.line("")
				t.line("  " + th.Paint(strong, c.Setting))
				last = c.Setting
			}
			if c.Kind != tune.KeepOnly {
				t.line("    " + th.Paint(warn, "~ ") + printable(c.Describe()))
			}
			for _, k := range c.Keep {
				t.line("    " + th.Paint(good, "+ ") + th.Paint(muted, k.File+": ") + printable(k.Text))
			}
			if c.Advice != "" {
				t.advice("to make it last: " + c.Advice)
			}
		}
		left := r.Commands()
		if len(left) == 0 {
			return
		}
		t.line("")
		t.line("  " + th.Paint(strong, "Left to you") + "  " + th.Paint(muted, "kt does not do these by itself"))
		for _, f := range left {
			t.line("")
			t.line("    " + th.Paint(plain, f.ID) + "  " + th.Paint(muted, printable(f.Current)))
			for _, line := range wrapText(reason(f, false), lineWidth-8) {
				t.line("      " + th.Paint(muted, line))
			}
			for line := range splitLines(f.Command) {
				t.line("      " + printable(line))
			}
		}
	})
}

func (t *text) advice(s string) {
	for _, line := range wrapText(s, lineWidth-8) {
		t.line("      " + t.th.Paint(muted, printable(line)))
	}
}
