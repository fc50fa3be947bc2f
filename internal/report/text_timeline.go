package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// maxTimeline is how many events a summary lists. It is more than kinds of events are in any run.
const maxTimeline = 20

// fewEvents returns at most maxTimeline events: of each kind as many as there is room for. It counts all others.
func fewEvents(r *result.Result) (few []result.Event, others result.Errors) {
	for most := maxTimeline; ; most-- {
		left := maps.Clone(map[string]int64(r.EventsLeftOut))
		few = stats.Few(slices.Clone(r.Events), most, func(e *result.Event) stats.EventKind { return e.Kind }, &left)
		if len(few) <= maxTimeline || most == 1 {
			return few, left
		}
	}
}

// longGap is how long a gap must be to be worth a row where nothing else happened.
const longGap = time.Second

// timeline writes the events, and their effect on the load.
func (t *text) timeline(r result.Result) {
	o := r.Outage
	gap := o != nil && o.LongestGapMS != nil && (o.BeganWith != "" || millis(o.LongestGapMS) >= longGap)
	if len(r.Events) == 0 && !gap {
		return
	}
	t.line("")
	label := "timeline"
	few, others := fewEvents(&r)
	for _, e := range few {
		when := fmt.Sprintf("%-8s", theme.Duration(seconds(e.AtSeconds)))
		t.row(label, plain, t.th.Paint(muted, when)+" "+t.cut(t.measured(strings.Join(strings.Fields(e.Text), " ")), labelled+9))
		label = ""
	}
	if more := others.List(); more != "" {
		t.sentence("", muted, fmt.Sprintf("%s; --output json lists %d of them", more, len(r.Events)-len(few)))
	}
	if o != nil && o.BeganWith != "" {
		t.outage(*o)
	}
	if gap {
		t.sentence("longest gap", plain, longestGap(r))
	}
}

// longestGap says how long nothing was acknowledged. There must have been a gap.
func longestGap(r result.Result) string {
	o := r.Outage
	whose := "nothing was acknowledged"
	if merged(r) { // others may have gone on
		whose = cmp.Or(o.LongestGapOf, "one process") + " had no acknowledgement"
	}
	s := fmt.Sprintf("%s for %s, from %s on", whose, theme.Duration(millis(o.LongestGapMS)), at(o.LongestGapFromSeconds))
	if p := worstGap(r); p.LongestGap != nil && p.LongestGap.LengthMS >= *o.LongestGapMS {
		s += fmt.Sprintf("; in %s for %s", place(p), theme.Duration(micros(1000*p.LongestGap.LengthMS)))
	}
	return s
}

// millis returns a time that did happen.
func millis(ms *int64) time.Duration { return time.Duration(*ms) * time.Millisecond }

// at returns a moment of the run.
func at(s *float64) string { return theme.Duration(seconds(*s)) }

// worstGap returns the partition that was waited for longest.
func worstGap(r result.Result) result.PartitionRow {
	var worst result.PartitionRow
	for _, p := range r.Partitions {
		if p.LongestGap != nil && (worst.LongestGap == nil || p.LongestGap.LengthMS > worst.LongestGap.LengthMS) {
			worst = p
		}
	}
	return worst
}

// outage writes how long it took after a fault until all was as before.
func (t *text) outage(o result.Outage) {
	t.sentence("outage", plain, afterFault(o))
	if n := *o.RecordsFailed; n > 0 {
		t.row("", bad, unanswered(n))
	}
}

// unanswered says how many records a fault has cost.
func unanswered(n int64) string {
	return plural(n, "record") + " failed or " + either(n, "was", "were") + " never answered"
}

// afterFault says when what was as before, after a fault.
func afterFault(o result.Outage) string {
	parts := []string{fmt.Sprintf("from %s on (%s)", at(o.BeganSeconds), strings.ReplaceAll(string(o.BeganWith), "_", " "))}
	after := func(what string, ms *int64) {
		if ms != nil {
			parts = append(parts, what+" after "+theme.Duration(millis(ms)))
		}
	}
	after("records failed", o.FirstErrorMS)
	after("acknowledged again", o.FirstSuccessMS)
	after("new leaders", o.NewLeaderMS)
	after("the rate was back", o.RecoveredMS)
	after("all replicas in sync", o.InSyncMS)
	if o.RecoveredMS == nil {
		parts = append(parts, "the rate was not back when the run ended")
	}
	return strings.Join(parts, ", ")
}
