package report

import (
	"bytes"
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tune"
)

// DiffOptions are the parts of the changes that are shown.
type DiffOptions struct {
	Theme   *theme.Theme
	Mode    tune.ApplyOptions // a change that is not going to be made is not shown
	Manual  bool              // the manual steps, too
	Verbose bool              // every line of kt's own files
	Width   int               // as of TuneOptions
}

// TuneDiff writes the changes that kt is about to make, and the manual steps.
func TuneDiff(w io.Writer, r *tune.Report, o DiffOptions) error {
	return buffered(w, func(b *bytes.Buffer) {
		t := newText(b, o.Theme, o.Width)
		if changes := r.Changes(); len(changes) > 0 {
			t.changes(changes, o)
		}
		if manual := r.Manual(); o.Manual && len(manual) > 0 {
			t.manual(manual, o.Verbose)
		}
	})
}

// changes writes a line for each change, and the files that keep them.
func (t *text) changes(all []tune.Change, o DiffOptions) {
	widest := 0
	for _, c := range all {
		widest = max(widest, len(c.Setting))
	}
	t.line("")
	t.line("  " + t.th.Paint(strong, plural(len(all), "change")))
	var files []string
	for _, c := range all {
		now := c.Kind != tune.KeepOnly && o.Mode.Now()
		if now {
			t.line("    " + t.th.Paint(warn, "~ ") + pad(c.Setting, widest) + "  " + c.Describe())
		}
		if !o.Mode.Later() {
			continue
		}
		for _, k := range c.Keep {
			if !now || o.Verbose {
				t.line("    " + t.th.Paint(good, "+ ") + pad(c.Setting, widest) + "  " + t.th.Paint(muted, k.File+": ") + k.Text)
			} else if !slices.Contains(files, k.File) {
				files = append(files, k.File)
			}
		}
		if c.Advice != "" {
			t.advice("to make it last: " + c.Advice)
		}
	}
	if len(files) > 0 {
		t.advice("kept over a reboot in " + strings.Join(files, ", ") + "; -v shows the lines")
	}
}

// manual writes the findings that a person has to act on, and the commands for that.
func (t *text) manual(all []tune.Finding, verbose bool) {
	t.line("")
	t.line("  " + t.th.Paint(strong, "Manual steps"))
	for _, f := range all {
		becomes := ""
		if f.Wanted != "" {
			becomes = " → " + f.Wanted
		}
		t.line("")
		t.line("    " + t.th.Paint(plain, f.ID) + "  " + t.th.Paint(muted, f.Current+becomes))
		if verbose {
			t.advice(reason(f, false))
		} else {
			t.advice(short(f))
		}
		for line := range splitLines(cmp.Or(f.Command, "kt tune --explain "+f.ID)) {
			t.line("      " + line)
		}
	}
}

func (t *text) advice(s string) {
	for _, line := range wrapText(s, t.wrapAt()-8) {
		t.line("      " + t.th.Paint(muted, line))
	}
}
