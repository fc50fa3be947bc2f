package report

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tune"
)

// OutcomeOptions are how the outcomes of changes are written.
type OutcomeOptions struct {
	Theme *theme.Theme
	Width int    // as of TuneOptions
	Root  string // the flag that names another root, with a space before it
	Force string // the command that also restores values that others changed since; "" when that was it
	Files bool   // kt wrote or removed files of its own
}

// TuneOutcomes writes the outcomes of changes, and returns how many failed.
func TuneOutcomes(w io.Writer, all []tune.Outcome, o OutcomeOptions) (failed int, err error) {
	count := make(map[tune.State]int)
	err = buffered(w, func(b *bytes.Buffer) {
		t := newText(b, o.Theme, o.Width)
		t.line("")
		for _, c := range all {
			count[c.State]++
			t.became(c.State, c.Change.Setting, c.Change.Describe(), c.Err)
		}
		t.line("")
		t.line("  " + countStates(count, tune.Applied, tune.Kept, tune.Unchanged, tune.Skipped, tune.Failed))
		if count[tune.Applied]+count[tune.Kept] > 0 {
			t.line("  " + t.th.Paint(muted, "to see the changes: kt tune --status"+o.Root+"    to undo them: sudo kt tune --rollback"+o.Root))
		}
		if o.Files {
			t.afterWriting(ownFiles(all))
		}
	})
	return count[tune.Failed], err
}

// ownFiles returns kt's own files that have lines of the changes.
func ownFiles(all []tune.Outcome) (files []string) {
	for _, o := range all {
		if o.State == tune.Applied || o.State == tune.Kept {
			for _, k := range o.Change.Keep {
				files = append(files, k.File)
			}
		}
	}
	return files
}

// afterWriting names the commands that make the system read files that were written or removed.
func (t *text) afterWriting(files []string) {
	for _, a := range []struct{ folder, run string }{
		{"/etc/systemd/system/", "before the broker's next start: systemctl daemon-reload"},
		{"/etc/udev/rules.d/", "for disks that are plugged in before the next boot: udevadm control --reload"},
	} {
		if slices.ContainsFunc(files, func(f string) bool { return strings.HasPrefix(f, a.folder) }) {
			t.line("  " + t.th.Paint(muted, a.run))
		}
	}
}

// TuneUndone writes the outcomes of a rollback, and returns how many changes are still there.
func TuneUndone(w io.Writer, all []tune.Undone, o OutcomeOptions) (failed int, err error) {
	count := make(map[tune.State]int)
	err = buffered(w, func(b *bytes.Buffer) {
		t := newText(b, o.Theme, o.Width)
		t.line("")
		if len(all) == 0 {
			t.line("  kt has changed nothing on this machine: nothing to restore")
			return
		}
		var files []string
		for _, u := range all {
			count[u.State]++
			t.became(u.State, u.Setting, undone(u), u.Err)
			if u.Kind == tune.OwnFile && u.State == tune.Restored {
				files = append(files, u.Path)
			}
			if u.Kind == tune.OwnFile && u.State == tune.Drifted {
				t.advice("its lines are in force again after the next start: check the file, then remove it")
			}
		}
		t.line("")
		t.afterWriting(files)
		t.line("  " + countStates(count, tune.Restored, tune.Already, tune.Gone, tune.Drifted, tune.Failed))
		if count[tune.Drifted] > 0 && o.Force != "" {
			t.line("  " + t.th.Paint(muted, "values that others changed since stay as they are; to restore them too: "+o.Force))
		}
	})
	return count[tune.Failed] + count[tune.Drifted], err
}

// TuneStatus writes the changes of kt on a machine.
func TuneStatus(w io.Writer, held []tune.Undone, o OutcomeOptions) error {
	return buffered(w, func(b *bytes.Buffer) {
		t := newText(b, o.Theme, o.Width)
		t.line("")
		if len(held) == 0 {
			t.line("  kt has changed nothing on this machine")
			return
		}
		count := make(map[tune.State]int)
		for _, u := range held {
			count[u.State]++
			what := u.Path
			if u.Kind != tune.OwnFile {
				what += ": " + u.Now + ", before kt " + u.Old
			}
			t.became(u.State, u.Setting, what, u.Err)
		}
		t.line("")
		t.line("  " + countStates(count, tune.Held, tune.Already, tune.Gone, tune.Drifted, tune.Failed))
		back := "to undo the changes: sudo kt tune --rollback" + o.Root
		if count[tune.Drifted] > 0 {
			back += "; --force also restores values that others changed since"
		}
		t.line("  " + t.th.Paint(muted, back))
	})
}

func undone(u tune.Undone) string {
	switch {
	case u.Kind == tune.OwnFile && u.State == tune.Restored:
		return u.Path + ": removed"
	case u.Kind == tune.OwnFile:
		return u.Path
	case u.State == tune.Restored:
		return u.Path + ": " + u.Now + " → " + u.Old
	}
	return u.Path + ": " + u.Now
}

// stateNames are the states as they are counted.
var stateNames = map[tune.State]string{
	tune.Applied: "applied", tune.Kept: "set for the next start", tune.Unchanged: "already right",
	tune.Skipped: "skipped", tune.Failed: "failed", tune.Restored: "restored", tune.Already: "has the old value",
	tune.Drifted: "changed by others since", tune.Gone: "no longer there", tune.Held: "set by kt",
}

// became writes the outcome of one change, in one or two lines.
func (t *text) became(s tune.State, setting, what string, why error) {
	glyph, style := t.th.Glyphs.Pass, good
	switch s {
	case tune.Failed:
		glyph, style = t.th.Glyphs.Cross, bad
	case tune.Drifted:
		glyph, style = t.th.Glyphs.Alert, warn
	case tune.Unchanged, tune.Skipped, tune.Already, tune.Gone:
		glyph, style = t.th.Glyphs.Separator, muted
	case tune.Applied, tune.Kept, tune.Restored, tune.Held:
	}
	if setting == "" {
		setting = "file of kt"
	}
	line := "  " + t.th.Paint(style, string(glyph)) + " " + t.th.Paint(plain, pad(setting, idWidth))
	if 4+idWidth+1+utf8.RuneCountInString(what+stateNames[s])+2 <= t.wrapAt() {
		t.line(line + " " + what + "  " + t.th.Paint(muted, stateNames[s]))
	} else {
		t.line(line + " " + t.th.Paint(muted, stateNames[s]))
		t.line("      " + what)
	}
	if why != nil {
		t.advice(why.Error())
	}
}

// countStates returns how many changes are in each of some states.
func countStates(count map[tune.State]int, states ...tune.State) string {
	var parts []string
	for _, s := range states {
		if n := count[s]; n > 0 {
			parts = append(parts, theme.Count(int64(n))+" "+stateNames[s])
		}
	}
	return strings.Join(parts, ", ")
}

// TuneHints writes the settings that fit a machine, and the part of a
// server.properties file that sets them.
func TuneHints(w io.Writer, m *tune.Machine, hints []tune.Hint, th *theme.Theme) error {
	return buffered(w, func(b *bytes.Buffer) {
		t := newText(b, th, 0)
		t.line("")
		t.line("  " + t.th.Paint(theme.Style{FG: theme.Brand, Bold: true}, "kt tune --hints") + "  " +
			t.th.Paint(muted, strings.Join(aboutMachine(m), t.sep())))
		last := tune.Where("")
		for _, h := range hints {
			if h.Where != last {
				t.line("")
				t.line("  " + t.th.Paint(strong, capital(hintPlaces[h.Where])))
				last = h.Where
			}
			t.line("    " + t.th.Paint(plain, pad(h.Name, 38)) + " " + h.Value)
			t.advice(h.Formula)
			t.advice("source: " + h.Source)
		}
		t.line("")
		t.line("  " + t.th.Paint(strong, "As a part of server.properties"))
		t.line("")
		for line := range splitLines(tune.Fragment(hints)) {
			t.line(line)
		}
	})
}

var hintPlaces = map[tune.Where]string{
	tune.Environment: "environment of the broker's process", tune.Properties: "server.properties of each broker",
	tune.Cluster: "the cluster", tune.System: "the machine",
}
