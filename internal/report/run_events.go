package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

const (
	maxTimeline = 20          // events of a summary: more than kinds of events are in any run
	openEvents  = 40          // events of a page that nobody has to scroll past
	longGap     = time.Second // how long a gap must be to be worth a row where nothing else happened
)

// happened is the events, and their effect on the load.
func happened(r *result.Result) doc.Section {
	s := doc.Section{ID: "happened", Title: "What happened", Captions: true}
	f, o := new(doc.Facts), r.Outage
	var few []result.Event // of each kind as many as there is room for
	var others result.Errors
	for most := maxTimeline; most == maxTimeline || len(few) > maxTimeline && most > 0; most-- {
		left := maps.Clone(map[string]int64(r.EventsLeftOut))
		few, others = stats.Few(slices.Clone(r.Events), most, func(e *result.Event) stats.EventKind { return e.Kind }, &left), left
	}
	for i, e := range few {
		f.Add(pick(i == 0, "timeline", ""), doc.Plain, fmt.Sprintf("%-8s %s", theme.Duration(seconds(e.AtSeconds)), strings.Join(strings.Fields(e.Text), " ")))
	}
	f.If(others.List() != "", "", doc.Muted, fmt.Sprintf("%s; --output json lists %d of them", others.List(), len(r.Events)-len(few)))
	for i := range f.Rows { // a page has all of them
		f.Rows[i].For = doc.InText | doc.InMarkdown
	}
	if o != nil && o.BeganWith != "" {
		f.Add("outage", doc.Plain, afterFault(o))
		n := *o.RecordsFailed
		f.If(n > 0, "", doc.Bad, plural(n, "record")+" failed or "+either(n, "was", "were")+" never answered")
	}
	if o != nil && o.LongestGapMS != nil && (o.BeganWith != "" || millis(o.LongestGapMS) >= longGap) {
		whose := "nothing was acknowledged"
		if merged(r) { // others may have gone on
			whose = cmp.Or(o.LongestGapOf, "one process") + " had no acknowledgement"
		}
		longest, in := *o.LongestGapMS-1, ""
		for _, p := range rowsOf(r) {
			if p.LongestGap != nil && p.LongestGap.LengthMS > longest {
				longest, in = p.LongestGap.LengthMS, fmt.Sprintf("; in %s for %s", p.name, theme.Duration(millis(&p.LongestGap.LengthMS)))
			}
		}
		from := theme.Duration(seconds(*o.LongestGapFromSeconds))
		f.Add("longest gap", doc.Plain, fmt.Sprintf("%s for %s, from %s on%s", whose, theme.Duration(millis(o.LongestGapMS)), from, in))
	}
	events := make([]doc.Event, len(r.Events))
	for i, e := range r.Events {
		events[i] = doc.Event{Number: i + 1, At: e.AtSeconds, Text: e.Text, Class: e.Kind.Gravity().String()}
	}
	open := min(openEvents, len(events))
	s.Blocks = []doc.Block{f, doc.Events{Rows: events[:open], LeftOut: r.EventsLeftOut.List()}}
	if more := events[open:]; len(more) > 0 {
		s.Blocks = append(s.Blocks, doc.Details{Summary: plural(len(more), "more event"), Blocks: []doc.Block{doc.Events{Rows: more}}})
	}
	return s
}

// afterFault says when what was as before, after a fault.
func afterFault(o *result.Outage) string {
	text := fmt.Sprintf("from %s on (%s)", theme.Duration(seconds(*o.BeganSeconds)), strings.ReplaceAll(string(o.BeganWith), "_", " "))
	for _, of := range []struct {
		what  string
		after *int64
	}{
		{"records failed", o.FirstErrorMS},
		{"acknowledged again", o.FirstSuccessMS},
		{"new leaders", o.NewLeaderMS},
		{"the rate was back", o.RecoveredMS},
		{"all replicas in sync", o.InSyncMS},
	} {
		if of.after != nil {
			text += ", " + of.what + " after " + theme.Duration(millis(of.after))
		}
	}
	return text + pick(o.RecoveredMS == nil, ", the rate was not back when the run ended", "")
}

// stages has a row for each stage of the target, with the latency that is the headline of such a run.
func stages(r *result.Result) *doc.Table {
	writes := writes(&r.Header)
	t := doc.NewTable("stage-table", "stages of the target", "stage", "from|3", "to", "target/s", pick(writes, "offered/s", ""), pick(writes, "acked/s", "read/s"),
		"p50|2", "p99", "p99.9|4", "max|1", "valid|words")
	for i := range r.Stages {
		s := &r.Stages[i]
		l, valid, note, tone := cmp.Or(s.EndToEnd, &s.Response), doc.Cell{Text: "yes", Tone: doc.Good}, "", doc.Plain
		switch {
		case s.MeasuredSeconds == 0 && s.TargetFrom+s.TargetTo > 0:
			valid, note = doc.Cell{Text: none, Tone: doc.Muted}, "not measured: a warm-up, or the load ended before"
		case !s.Valid:
			valid = doc.Cell{Text: "NO", Tone: doc.Bad}
			if !slices.Contains(r.Invalid, s.Invalid[0]) { // it is said once
				note, tone = s.Invalid[0], doc.Bad
			}
		case s.TargetReached != nil:
			valid = doc.Cell{Text: theme.Percent(*s.TargetReached) + " of the target", Tone: doc.Warn}
		}
		row := t.Add(i+1, theme.Duration(seconds(s.FromSeconds)), theme.Duration(seconds(s.ToSeconds)),
			theme.PerSecond(s.TargetFrom)+pick(s.TargetTo != s.TargetFrom, ".."+theme.PerSecond(s.TargetTo), ""),
			theme.PerSecond(s.OfferedRecordsPerSecond), theme.PerSecond(pick(writes, s.RecordsPerSecond, s.ReadRecordsPerSecond)),
			latencyOf(l, l.P50), latencyOf(l, l.P99), latencyOf(l, l.P999), latencyOf(l, l.Max), valid)
		row.Note, row.NoteTone = note, tone
	}
	return t
}

// missedStages returns a warning of the stages that missed their targets, with the worst of them; "": none did.
func missedStages(r *result.Result) string {
	worst, missed := 0, 0
	for i, s := range r.Stages {
		if s.TargetReached == nil {
			continue
		}
		if missed++; missed == 1 || *s.TargetReached < *r.Stages[worst].TargetReached {
			worst = i
		}
	}
	if missed == 0 {
		return ""
	}
	s, writes := &r.Stages[worst], writes(&r.Header)
	return fmt.Sprintf("%s of the target in stage %d: %s of %s records/s %s", theme.Percent(*s.TargetReached), worst+1,
		theme.PerSecond(pick(writes, s.OfferedRecordsPerSecond, s.ReadRecordsPerSecond)), theme.PerSecond(s.TargetRecordsPerSecond), pick(writes, "offered", "read")) +
		pick(missed > 1, fmt.Sprintf("; %d of %d stages missed theirs", missed, len(r.Stages)), "")
}
