package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tune"
)

// DiffOptions are the parts of the changes that are shown.
type DiffOptions struct {
	Mode    tune.ApplyOptions // a change that is not going to be made is not shown
	Manual  bool              // the manual steps, too
	Verbose bool              // every line of kt's own files
}

// DiffDoc returns the changes that kt is about to make, and the manual steps.
func DiffDoc(r *tune.Report, o DiffOptions) *doc.Document {
	d := OfTable("kt tune", cmp.Or(r.Machine.Hostname, "name unknown"), changeTable(r.Changes(), o), nil)
	d.Tags = []string{plural(len(r.Changes()), "change")}
	if !o.Manual {
		return d
	}
	for i, f := range r.Manual() {
		if i == 0 {
			d.Tags = append(d.Tags, plural(len(r.Manual()), "manual step"))
		}
		facts := new(doc.Facts)
		facts.List("now", f.Current)
		facts.List("wanted", f.Wanted)
		facts.List("why", reason(f, o.Verbose))
		d.Sections = append(d.Sections, doc.Section{ID: "manual-" + f.ID, Title: "By hand: " + f.ID, Blocks: []doc.Block{facts, doc.Code(cmp.Or(f.Command, "kt tune --explain "+f.ID))}})
	}
	return d
}

// changeTable has a row for each change of the running machine, and for each line of a file that is not of one of them.
func changeTable(all []tune.Change, o DiffOptions) *doc.Table {
	t := doc.NewTable("changes", "Changes", "check|whole", "change|sentence")
	var files []string
	for i := range all {
		c := &all[i]
		add := func(text string) { t.Add(c.Setting, text) }
		now := c.Kind != tune.KeepOnly && o.Mode.Now()
		if now {
			add(c.Describe())
		}
		if !o.Mode.Later() {
			continue
		}
		for _, k := range c.Keep {
			if !now || o.Verbose {
				add(k.File + ": " + k.Text)
			} else if !slices.Contains(files, k.File) {
				files = append(files, k.File)
			}
		}
		if c.Advice != "" {
			add("to make it last: " + c.Advice)
		}
	}
	if len(files) > 0 {
		t.Note = "kept over a reboot in " + strings.Join(files, ", ") + "; -v shows the lines"
	}
	return t
}

// OutcomeOptions are the commands that follow changes.
type OutcomeOptions struct {
	Root  string // the flag that names another root, with a space before it
	Force string // the command that also restores values that others changed since; "" when that was it
	Files bool   // kt wrote or removed files of its own
}

// outcome is what became of a change, or of what kt holds.
type outcome struct {
	state         tune.State
	setting, what string
	err           error
	files         []string // of kt, that were written or removed
}

// OutcomesDoc returns the outcomes of changes.
func OutcomesDoc(all []tune.Outcome, o OutcomeOptions) *doc.Document {
	var rows []outcome
	made := ""
	for _, c := range all {
		row := outcome{c.State, c.Change.Setting, c.Change.Describe(), c.Err, nil}
		if c.State == tune.Applied || c.State == tune.Kept {
			made = "to see the changes: kt tune --status" + o.Root + "    to undo them: sudo kt tune --rollback" + o.Root
			for _, k := range c.Change.Keep {
				row.files = append(row.files, k.File)
			}
		}
		rows = append(rows, row)
	}
	return outcomeDoc("changes", rows, o.Files, made)
}

// UndoneDoc returns the outcomes of a rollback.
func UndoneDoc(all []tune.Undone, o OutcomeOptions) *doc.Document {
	var rows []outcome
	drifted := ""
	for _, u := range all {
		row := outcome{u.State, u.Setting, u.Path, u.Err, nil}
		switch own := u.Kind == tune.OwnFile; {
		case own && u.State == tune.Restored:
			row.what, row.files = u.Path+": removed", []string{u.Path}
		case own && u.State == tune.Drifted:
			row.what += ": its lines are in force again after the next start: check the file, then remove it"
		case u.State == tune.Restored:
			row.what += ": " + u.Now + " → " + u.Old
		case !own:
			row.what += ": " + u.Now
		}
		if u.State == tune.Drifted && o.Force != "" {
			drifted = "values that others changed since stay as they are; to restore them too: " + o.Force
		}
		rows = append(rows, row)
	}
	return outcomeDoc("rollback", rows, o.Files, drifted)
}

// StatusDoc returns the changes of kt on a machine.
func StatusDoc(held []tune.Undone, o OutcomeOptions) *doc.Document {
	var rows []outcome
	undo, drifted := "", ""
	for _, u := range held {
		rows = append(rows, outcome{u.State, u.Setting, u.Path + pick(u.Kind != tune.OwnFile, ": "+u.Now+", before kt "+u.Old, ""), u.Err, nil})
		if undo = "to undo the changes: sudo kt tune --rollback" + o.Root; u.State == tune.Drifted {
			drifted = "--force also restores values that others changed since"
		}
	}
	return outcomeDoc("status", rows, false, undo, drifted)
}

// states are the states of changes in the order in which they are counted, with their words.
var states = []struct {
	state tune.State
	words string
	tone  doc.Tone
}{
	{tune.Applied, "applied", doc.Good},
	{tune.Kept, "set for the next start", doc.Good},
	{tune.Unchanged, "already right", doc.Muted},
	{tune.Skipped, "skipped", doc.Muted},
	{tune.Restored, "restored", doc.Good},
	{tune.Held, "set by kt", doc.Good},
	{tune.Already, "has the old value", doc.Muted},
	{tune.Gone, "no longer there", doc.Muted},
	{tune.Drifted, "changed by others since", doc.Warn},
	{tune.Failed, "failed", doc.Bad},
}

// outcomeDoc returns a table of outcomes, how many are in each state, what to do next, and the commands that make the system read files anew.
func outcomeDoc(subject string, all []outcome, written bool, next ...string) *doc.Document {
	t, count := doc.NewTable("changes", "Changes", "check|whole", "state|whole", "what|sentence"), make(map[tune.State]int)
	t.Empty = "kt has changed nothing on this machine"
	d := OfTable("kt tune", subject, t, nil)
	in := func(folder string) bool {
		return written && slices.ContainsFunc(all, func(o outcome) bool {
			return slices.ContainsFunc(o.files, func(file string) bool { return strings.Contains(file, folder) })
		})
	}
	for _, o := range all {
		if count[o.state]++; o.err != nil {
			o.what += "; " + o.err.Error()
		}
		for _, of := range states {
			if of.state == o.state {
				t.Add(cmp.Or(o.setting, "file of kt"), doc.Cell{Text: of.words, Tone: of.tone}, o.what)
			}
		}
	}
	for _, of := range states {
		if n := count[of.state]; n > 0 {
			d.Tags = append(d.Tags, theme.Count(int64(n))+" "+of.words)
		}
	}
	d.Remarks = slices.DeleteFunc(append(next, pick(in("/etc/systemd/system/"), "before the broker's next start: systemctl daemon-reload", ""),
		pick(in("/etc/udev/rules.d/"), "for disks that are plugged in before the next boot: udevadm control --reload", "")), func(s string) bool { return s == "" })
	return d
}
