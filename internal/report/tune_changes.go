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
	d := &doc.Document{Command: "kt tune", Subject: cmp.Or(r.Machine.Hostname, "name unknown"), Tags: []string{plural(len(r.Changes()), "change")}}
	d.Sections = []doc.Section{{ID: "changes", Tables: []doc.Table{changeTable(r.Changes(), o)}}}
	if !o.Manual {
		return d
	}
	for i, f := range r.Manual() {
		s := doc.Section{ID: "manual-" + f.ID, Title: "By hand: " + f.ID, Facts: listed("now", f.Current)}
		if i == 0 {
			d.Tags = append(d.Tags, plural(len(r.Manual()), "manual step"))
		}
		why := short(f)
		if o.Verbose {
			why = reason(f)
		}
		s.Facts = slices.Concat(s.Facts, listed("wanted", f.Wanted), listed("why", why))
		s.Blocks = []doc.Block{doc.Code(cmp.Or(f.Command, "kt tune --explain "+f.ID))}
		d.Sections = append(d.Sections, s)
	}
	return d
}

// changeTable has a row for each change of the running machine, and for each line of a file that is not of one of them.
func changeTable(all []tune.Change, o DiffOptions) doc.Table {
	t := doc.Table{ID: "change-table", Caption: "Changes", Data: true, Columns: []doc.Column{
		{Head: "check", Data: "id", Kind: doc.Whole}, {Head: "change", Data: "change", Kind: doc.Sentence},
	}}
	add := func(c *tune.Change, text string) { t.Rows = append(t.Rows, doc.Row{Cells: doc.Of(c.Setting, text)}) }
	var files []string
	for i := range all {
		c := &all[i]
		now := c.Kind != tune.KeepOnly && o.Mode.Now()
		if now {
			add(c, c.Describe())
		}
		if !o.Mode.Later() {
			continue
		}
		for _, k := range c.Keep {
			if !now || o.Verbose {
				add(c, k.File+": "+k.Text)
			} else if !slices.Contains(files, k.File) {
				files = append(files, k.File)
			}
		}
		if c.Advice != "" {
			add(c, "to make it last: "+c.Advice)
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

// OutcomesDoc returns the outcomes of changes.
func OutcomesDoc(all []tune.Outcome, o OutcomeOptions) *doc.Document {
	d := newOutcomes("changes")
	for _, c := range all {
		d.add(c.State, c.Change.Setting, c.Change.Describe(), c.Err)
		if c.State == tune.Applied || c.State == tune.Kept {
			for _, k := range c.Change.Keep {
				d.files = append(d.files, k.File)
			}
		}
	}
	if d.count[tune.Applied]+d.count[tune.Kept] > 0 {
		d.Remarks = append(d.Remarks, "to see the changes: kt tune --status"+o.Root+"    to undo them: sudo kt tune --rollback"+o.Root)
	}
	return d.end(o.Files)
}

// UndoneDoc returns the outcomes of a rollback.
func UndoneDoc(all []tune.Undone, o OutcomeOptions) *doc.Document {
	d := newOutcomes("rollback")
	for _, u := range all {
		why := u.Err
		what := u.Path
		switch {
		case u.Kind == tune.OwnFile && u.State == tune.Restored:
			what += ": removed"
			d.files = append(d.files, u.Path)
		case u.Kind == tune.OwnFile && u.State == tune.Drifted:
			what += ": its lines are in force again after the next start: check the file, then remove it"
		case u.State == tune.Restored:
			what += ": " + u.Now + " → " + u.Old
		case u.Kind != tune.OwnFile:
			what += ": " + u.Now
		}
		d.add(u.State, u.Setting, what, why)
	}
	if d.count[tune.Drifted] > 0 && o.Force != "" {
		d.Remarks = append(d.Remarks, "values that others changed since stay as they are; to restore them too: "+o.Force)
	}
	return d.end(o.Files)
}

// StatusDoc returns the changes of kt on a machine.
func StatusDoc(held []tune.Undone, o OutcomeOptions) *doc.Document {
	d := newOutcomes("status")
	for _, u := range held {
		what := u.Path
		if u.Kind != tune.OwnFile {
			what += ": " + u.Now + ", before kt " + u.Old
		}
		d.add(u.State, u.Setting, what, u.Err)
	}
	if len(held) > 0 {
		d.Remarks = append(d.Remarks, "to undo the changes: sudo kt tune --rollback"+o.Root)
	}
	if d.count[tune.Drifted] > 0 {
		d.Remarks = append(d.Remarks, "--force also restores values that others changed since")
	}
	return d.end(false)
}

// outcomes is a document of changes while it is made.
type outcomes struct {
	doc.Document

	table doc.Table
	count map[tune.State]int
	files []string // of kt, that were written or removed
}

func newOutcomes(subject string) *outcomes {
	return &outcomes{
		Document: doc.Document{Command: "kt tune", Subject: subject}, count: make(map[tune.State]int),
		table: doc.Table{ID: "outcome-table", Caption: "Changes", Data: true, Empty: "kt has changed nothing on this machine", Columns: []doc.Column{
			{Head: "check", Data: "id", Kind: doc.Whole}, {Head: "state", Data: "state", Kind: doc.Whole}, {Data: "change", Kind: doc.Words}, {Data: "why", Kind: doc.Words}, {Head: "what", Kind: doc.Sentence},
		}},
	}
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

// add adds the outcome of one change.
func (d *outcomes) add(s tune.State, setting, what string, err error) {
	d.count[s]++
	why, shown := "", what
	if err != nil {
		why = err.Error()
		shown += "; " + why
	}
	for _, of := range states {
		if of.state == s {
			d.table.Rows = append(d.table.Rows, doc.Row{Cells: []doc.Cell{
				{Text: cmp.Or(setting, "file of kt")}, {Text: of.words, Data: string(s), Tone: of.tone}, {Text: what}, {Text: why}, {Text: shown},
			}})
		}
	}
}

// end returns the document, with how many changes are in each state, and the commands that make the system read files that were written or removed.
func (d *outcomes) end(written bool) *doc.Document {
	for _, of := range states {
		if n := d.count[of.state]; n > 0 {
			d.Tags = append(d.Tags, theme.Count(int64(n))+" "+of.words)
		}
	}
	for _, a := range []struct{ folder, run string }{
		{"/etc/systemd/system/", "before the broker's next start: systemctl daemon-reload"},
		{"/etc/udev/rules.d/", "for disks that are plugged in before the next boot: udevadm control --reload"},
	} {
		if written && slices.ContainsFunc(d.files, func(f string) bool { return strings.HasPrefix(f, a.folder) }) {
			d.Remarks = append(d.Remarks, a.run)
		}
	}
	d.Sections = []doc.Section{{ID: "changes", Tables: []doc.Table{d.table}}}
	return &d.Document
}
