package report

import (
	"bytes"
	"io"

	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tune"
)

// DiffOptions are what of the changes is to be shown.
type DiffOptions struct {
	Theme *theme.Theme
	Mode  tune.ApplyOptions // what is not going to be done is not shown
	Left  bool              // what is left to a person, too
	Width int               // as of TuneOptions
}

// TuneDiff writes what kt is about to change.
func TuneDiff(w io.Writer, r *tune.Report, o DiffOptions) error {
	return buffered(w, func(b *bytes.Buffer) {
		t := newText(b, o.Theme, 0)
		width := columns(o.Width)
		if left := r.Commands(); o.Left && len(left) > 0 {
			t.left(left, width)
		}
		last := ""
		for _, c := range r.Changes() {
			if c.Setting != last {
				t.line("")
				t.line("  " + t.th.Paint(strong, c.Setting))
				last = c.Setting
			}
			if c.Kind != tune.KeepOnly && o.Mode.Now() {
				t.line("    " + t.th.Paint(warn, "~ ") + c.Describe())
			}
			if !o.Mode.Later() {
				continue
			}
			for _, k := range c.Keep {
				t.line("    " + t.th.Paint(good, "+ ") + t.th.Paint(muted, k.File+": ") + k.Text)
			}
			if c.Advice != "" {
				t.advice("to make it last: "+c.Advice, width)
			}
		}
	})
}

// left writes what kt does not do by itself.
func (t *text) left(all []tune.Finding, width int) {
	t.line("")
	t.line("  " + t.th.Paint(strong, "Left to you") + "  " + t.th.Paint(muted, "kt does not do these by itself"))
	for _, f := range all {
		t.line("")
		t.line("    " + t.th.Paint(plain, f.ID) + "  " + t.th.Paint(muted, f.Current))
		t.advice(reason(f, false), width)
		for line := range splitLines(f.Command) {
			t.line("      " + line)
		}
	}
}

func (t *text) advice(s string, width int) {
	for _, line := range wrapText(s, width-8) {
		t.line("      " + t.th.Paint(muted, line))
	}
}
