package report

import (
	"cmp"
	"fmt"
	"regexp"
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
	f := new(doc.Facts)
	why := strings.Join(invalid(r), "; ")
	if r.NotAddedUp == "" {
		tone := doc.Warn
		switch r.BoundBy.Limit {
		case verdict.None:
			tone = doc.Good
		case verdict.Unknown:
			tone = doc.Loud
		}
		f.Add("limit", tone, r.BoundBy.Limit.String())
		evidence := r.BoundBy.Evidence
		for _, reason := range r.Invalid { // it stands below
			evidence = strings.TrimPrefix(strings.TrimPrefix(evidence, reason), "; ")
		}
		f.Add("", doc.Muted, evidence)
		f.Add("what next", doc.Plain, r.BoundBy.Limit.Next())
		text, low := ceiling(r)
		f.Add("", map[bool]doc.Tone{true: doc.Warn, false: doc.Muted}[low], text)
	}
	if !r.Valid {
		f.Add("NOT VALID", doc.Bad, why)
		if next := verdict.Schedule.Next(); r.BoundBy.Limit.Next() != next {
			f.Add("what next", doc.Plain, next)
		}
	}
	notCounted(f, r)
	return doc.Section{ID: "verdict", Title: "Verdict", Captions: true, Blocks: []doc.Block{f, errorTable(r), limitTable(r)}}
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
func errorTable(r *result.Result) *doc.Table {
	t := doc.NewTable("errors", "errors by kind", "error|words", "of|words", "records")
	add := func(of string, errors result.Errors) {
		for _, code := range errors.Codes() {
			t.Add(code, of, theme.Count(errors[code])).Tone = doc.Bad
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
func limitTable(r *result.Result) *doc.Table {
	t := doc.NewTable("kept", "what the run had to keep", "value", "--limit|words", "held|words")
	for i := range r.Limits {
		l := &r.Limits[i]
		value, note, held := limitWords(l)
		row := t.Add(cmp.Or(value, none), l.Expression, doc.Cell{Text: held, Tone: map[bool]doc.Tone{true: doc.Good, false: doc.Bad}[l.Held]})
		if row.Note = note; value == "" {
			row.NoteTone = doc.Warn
		}
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

// firstNumber is where a reason begins to differ from those of its kind.
var firstNumber = regexp.MustCompile(`[0-9].*`)

// invalid returns the reasons why a result is not valid. Many processes with one reason are counted, and the
// worst is named.
func invalid(r *result.Result) (all []string) {
	if !merged(r) {
		return r.Invalid
	}
	type group struct {
		processes int
		worst     string // its reason, after its name
		late      time.Duration
	}
	groups, own, of := make(map[string]*group), make(map[string]bool), 0
	var kinds []string
	for _, p := range r.Processes {
		if !p.Counted {
			continue
		}
		of++
		for _, reason := range p.Invalid {
			named := p.Host + "/" + strconv.Itoa(p.Process) + ": " + reason
			own[reason], own[named] = true, true
			kind := firstNumber.ReplaceAllString(reason, "")
			g := groups[kind]
			if g == nil {
				g = &group{late: -1}
				groups[kind], kinds = g, append(kinds, kind)
			}
			if g.processes++; lateBy(reason) > g.late {
				g.worst, g.late = named, lateBy(reason)
			}
		}
	}
	for _, kind := range kinds {
		g := groups[kind]
		if g.processes > 1 {
			g.worst = fmt.Sprintf("%d of %d processes, %s %s", g.processes, of, map[bool]string{true: "worst", false: "such as"}[g.late > 0], g.worst)
		}
		all = append(all, g.worst)
	}
	return append(all, slices.DeleteFunc(slices.Clone(r.Invalid), func(reason string) bool { return own[reason] })...)
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
func notCounted(f *doc.Facts, r *result.Result) {
	out, idle := 0, make(map[string][]string) // processes in which nothing was measured, by host
	for _, p := range r.Processes {
		if !p.Counted {
			out++
		} else if p.Note == result.NothingMeasured {
			idle[p.Host] = append(idle[p.Host], strconv.Itoa(p.Process))
		}
	}
	if out > 0 {
		f.Add("left out", doc.Bad, fmt.Sprintf("%d of %s, in none of the figures below", out, theme.Plural(len(r.Processes), "process", "processes")))
	}
	said, left := 0, 0
	say := func(text string) {
		if said++; said > maxLeftOut {
			left++
			return
		}
		f.Add("", doc.Warn, text)
	}
	for i := range r.Processes {
		p := &r.Processes[i]
		name := p.Host + "/" + strconv.Itoa(p.Process)
		switch {
		case !p.Counted:
			say(name + " " + string(p.State) + ": " + strings.Join(fate(p), "; "))
		case p.Note == result.NothingMeasured && len(idle[p.Host]) > 0:
			say(p.Host + "/" + strings.Join(idle[p.Host], ",") + ": " + p.Note)
			idle[p.Host] = nil
		case p.State == result.PartComplete && p.Note != "" && p.Note != result.NothingMeasured:
			say(name + ": " + p.Note)
		}
	}
	if left > 0 {
		f.Add("", doc.Muted, theme.Count(int64(left))+" more: --output processes lists them")
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
