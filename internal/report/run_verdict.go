package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/theme"
)

// verdictOf is the limit of a run, what to do next, why the run is not valid, what was left out of it, and the limits that it had to keep.
func verdictOf(r *result.Result) doc.Section {
	var f facts
	why := strings.Join(invalid(r), "; ")
	if r.NotAddedUp == "" {
		tone := doc.Warn
		switch r.BoundBy.Limit {
		case verdict.None:
			tone = doc.Good
		case verdict.Unknown:
			tone = doc.Loud
		}
		f.add("limit", tone, r.BoundBy.Limit.String())
		evidence := r.BoundBy.Evidence
		for _, reason := range r.Invalid { // it stands below
			evidence = strings.TrimPrefix(strings.TrimPrefix(evidence, reason), "; ")
		}
		f.add("", doc.Muted, evidence)
		f.add("what next", doc.Plain, r.BoundBy.Limit.Next())
		text, low := ceiling(r)
		f.add("", map[bool]doc.Tone{true: doc.Warn, false: doc.Muted}[low], text)
	}
	if !r.Valid {
		f.add("NOT VALID", doc.Bad, why)
		if next := verdict.Schedule.Next(); r.BoundBy.Limit.Next() != next {
			f.add("what next", doc.Plain, next)
		}
	}
	notCounted(&f, r)
	return doc.Section{ID: "verdict", Title: "Verdict", Captions: true, Facts: f, Tables: []doc.Table{errorTable(r), limitTable(r)}}
}

// ceiling says how near a load came to what this host can offer, and reports whether that is known to be too low; "": it is not known.
func ceiling(r *result.Result) (text string, low bool) {
	switch share := r.CeilingShare; {
	case share == nil || r.Ceiling == nil:
		return "", false
	case verdict.CeilingTooLow(*share):
		return fmt.Sprintf("the saved ceiling is too low: run kt calibrate --save again (this load offered %s of its %s records/s)",
			theme.Percent(*share), theme.PerSecond(r.Ceiling.RecordsPerSecond)), true
	default:
		return fmt.Sprintf("at %s of what this host can offer (kt calibrate: %s records/s)", theme.Percent(*share), theme.PerSecond(r.Ceiling.RecordsPerSecond)), false
	}
}

// errorTable has a row for each code of failed records, the most frequent first.
func errorTable(r *result.Result) doc.Table {
	t := doc.Table{ID: "errors", Caption: "errors by kind", Columns: append(doc.Heads(doc.Words, "error", "of"), doc.Column{Head: "records"})}
	add := func(of string, errors result.Errors) {
		for _, code := range errors.Codes() {
			t.Rows = append(t.Rows, doc.Row{Tone: doc.Bad, Cells: doc.Of(code, of, theme.Count(errors[code]))})
		}
	}
	add("producing", r.Errors)
	if f := r.Fetch; f != nil {
		add("fetching", f.Errors)
	}
	if w := r.Warmup; w != nil {
		add("warm-up", w.Errors)
	}
	return t
}

// limitTable has a row for each --limit of the run.
func limitTable(r *result.Result) doc.Table {
	t := doc.Table{ID: "kept", Caption: "what the run had to keep", Columns: append([]doc.Column{{Head: "value"}}, doc.Heads(doc.Words, "--limit", "held")...)}
	for i := range r.Limits {
		l := &r.Limits[i]
		value, note, held := limitWords(l)
		row := doc.Row{Cells: doc.Of(cmp.Or(value, none), l.Expression, held), Note: note}
		if row.Cells[2].Tone = doc.Bad; l.Held {
			row.Cells[2].Tone = doc.Good
		}
		if value == "" {
			row.NoteTone = doc.Warn
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// limitWords returns the cells of a limit in a table: its value, a note, and yes or NO for held. A limit without a
// value has a note with the reason. The note of a limit over stretches says how many of them held.
func limitWords(l *result.Limit) (value, note, held string) {
	note, held = l.Note, "NO"
	if l.Held {
		held = "yes"
	}
	if l.Stretches > 0 && l.Value != nil {
		note = strings.TrimSuffix("the worst of "+theme.Plural(l.Stretches, "stretch", "stretches")+", "+theme.Count(l.StretchesHeld)+" held; "+note, "; ")
	}
	if n := l.StretchesEmpty; n > 0 {
		note += "; nothing was due in " + theme.Plural(n, "other stretch", "other stretches")
	}
	return l.Shown(), note, held
}

// limitText returns the value of a limit and its note in one.
func limitText(l *result.Limit) string {
	value, note, _ := limitWords(l)
	return strings.Trim(value+": "+note, ": ")
}

// invalid returns the reasons why a result is not valid. Many processes with one reason are counted, and the
// worst is named.
func invalid(r *result.Result) []string {
	if !merged(r) {
		return r.Invalid
	}
	type group struct {
		processes    int
		worst, which string
	}
	groups := make(map[string]*group)
	var order []string
	said := make(map[string]bool) // in the document, with the process
	of := 0
	var own []string // of the last process that counts
	for _, p := range r.Processes {
		if !p.Counted {
			continue
		}
		of++
		own = p.Invalid
		name := p.Host + "/" + strconv.Itoa(p.Process)
		for _, reason := range p.Invalid {
			said[name+": "+reason] = true
			kind, _, _ := strings.Cut(strings.Map(digitAsZero, reason), "0") // the text before its first figure
			g := groups[kind]
			if g == nil {
				g = new(group)
				groups[kind], order = g, append(order, kind)
			}
			if g.processes++; g.processes == 1 || lateBy(reason) > lateBy(g.worst) {
				g.worst, g.which = reason, name
			}
		}
	}
	var all []string
	for _, kind := range order {
		g := groups[kind]
		if g.processes == 1 {
			all = append(all, g.which+": "+g.worst)
			continue
		}
		which := "such as "
		if lateBy(g.worst) > 0 {
			which = "worst "
		}
		all = append(all, fmt.Sprintf("%d of %d processes, %s%s: %s", g.processes, of, which, g.which, g.worst))
	}
	for _, reason := range r.Invalid {
		// The reasons of a single process are those of the whole, without its name.
		if !said[reason] && (of > 1 || !slices.Contains(own, reason)) {
			all = append(all, reason)
		}
	}
	return all
}

func digitAsZero(r rune) rune {
	if r >= '0' && r <= '9' {
		return '0'
	}
	return r
}

// lateBy returns the first time in a reason: by how much records left late. It is 0 where there is none.
func lateBy(reason string) time.Duration {
	for word := range strings.FieldsSeq(reason) {
		if d, err := time.ParseDuration(word); err == nil {
			return d
		}
	}
	return 0
}

// maxLeftOut is how many processes a summary says something of.
const maxLeftOut = 10

// notCounted names the processes that are in no figure of the whole, and why, and writes the notes of others.
func notCounted(f *facts, r *result.Result) {
	var out, noted []result.ProcessRow
	for _, p := range r.Processes {
		switch {
		case !p.Counted:
			out = append(out, p)
		case p.State == result.PartComplete && p.Note != "", p.Note == result.NothingMeasured:
			noted = append(noted, p)
		}
	}
	if len(out) > 0 {
		f.add("left out", doc.Bad, fmt.Sprintf("%d of %s, in none of the figures below", len(out), theme.Plural(len(r.Processes), "process", "processes")))
		named(f, out, func(p *result.ProcessRow) string { return " " + string(p.State) + ": " + strings.Join(fate(p), "; ") })
	}
	processNotes(f, noted, r.Hosts)
}

// processNotes are those of processes that count: one line for several of a host without a record.
func processNotes(f *facts, rows []result.ProcessRow, hosts []result.HostRow) {
	idle := make(map[string]int) // processes of a host in which nothing was measured
	for _, p := range rows {
		if p.Note == result.NothingMeasured {
			idle[p.Host]++
		}
	}
	var others []result.ProcessRow
	for _, p := range rows {
		n := idle[p.Host]
		if p.Note != result.NothingMeasured || n == 1 {
			others = append(others, p)
			continue
		}
		if n == 0 { // it has been said
			continue
		}
		idle[p.Host] = 0
		which := fmt.Sprintf("%d processes", n)
		for _, h := range hosts {
			if h.Host == p.Host && h.Processes == n {
				which = "its " + which
			} else if h.Host == p.Host {
				which = fmt.Sprintf("%d of its %d processes", n, h.Processes)
			}
		}
		f.add("", doc.Warn, p.Host+": "+strings.TrimSuffix(p.Note, "it")+which)
	}
	named(f, others, func(p *result.ProcessRow) string { return ": " + p.Note })
}

// named is a sentence for each process, of as many as are read.
func named(f *facts, rows []result.ProcessRow, say func(*result.ProcessRow) string) {
	for i := range rows[:min(maxLeftOut, len(rows))] {
		p := &rows[i]
		f.add("", doc.Warn, p.Host+"/"+strconv.Itoa(p.Process)+say(p))
	}
	if n := len(rows) - maxLeftOut; n > 0 {
		f.add("", doc.Muted, theme.Count(int64(n))+" more: --output processes lists them")
	}
}

// stateReasons explain states without a reason of their own.
var stateReasons = map[result.PartState]string{
	result.PartComplete: "it was not counted", result.PartStopped: "it was not counted",
	result.PartRunning: "it still runs", result.PartLost: "its run file was cut off", result.PartMissing: "it left no run file",
	result.PartLate: "it began too late to be measured with the others",
}

// fate returns the records of a process that does not count, and the reason.
func fate(p *result.ProcessRow) []string {
	var parts []string
	if n := p.Records.Offered; n > 0 {
		parts = append(parts, theme.Count(p.Records.Acknowledged)+" of "+plural(n, "record")+" acknowledged")
	}
	if n := p.Records.Consumed; n > 0 {
		parts = append(parts, plural(n, "record")+" read")
	}
	return append(parts, cmp.Or(p.Note, stateReasons[p.State]))
}
