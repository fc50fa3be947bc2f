package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// maxTimeline is how many events a summary lists.
const maxTimeline = 20

// longGap is how long a gap must be to be worth a row where nothing else happened.
const longGap = time.Second

// timeline writes what happened, and what it did to the load.
func (t *text) timeline(r result.Result) {
	gap := r.LongestGap != nil && (r.Outage != nil || micros(1000*r.LongestGap.LengthMS) >= longGap)
	if len(r.Events) == 0 && !gap {
		return
	}
	t.line("")
	label := "timeline"
	for _, e := range r.Events[:min(maxTimeline, len(r.Events))] {
		at := fmt.Sprintf("%-8s", theme.Duration(secondsOf(e.AtSeconds)))
		t.row(label, plain, t.th.Paint(muted, at)+" "+t.cut(e.Text, textWidth-9))
		label = ""
	}
	if n := int64(len(r.Events)) + r.EventsLeftOut - maxTimeline; n > 0 {
		t.row("", muted, theme.Count(n)+" more: --output json lists them")
	}
	t.outage(r)
	if !gap {
		return
	}
	s := fmt.Sprintf("nothing was acknowledged for %s, from %s on",
		theme.Duration(micros(1000*r.LongestGap.LengthMS)), theme.Duration(secondsOf(r.LongestGap.FromSeconds)))
	if p := worstGap(r); p.LongestGap != nil {
		s += fmt.Sprintf("; in %s for %s", place(p), theme.Duration(micros(1000*p.LongestGap.LengthMS)))
	}
	t.sentence("longest gap", plain, s)
}

// worstGap is the partition that was waited for longest.
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
func (t *text) outage(r result.Result) {
	o := r.Outage
	if o == nil {
		return
	}
	parts := []string{fmt.Sprintf("from %s on (%s)", theme.Duration(secondsOf(o.BeganSeconds)), strings.ReplaceAll(string(o.BeganWith), "_", " "))}
	after := func(what string, ms *int64) {
		if ms != nil {
			parts = append(parts, what+" after "+theme.Duration(micros(1000**ms)))
		}
	}
	after("records failed", o.FirstErrorMS)
	after("acknowledged again", o.FirstSuccessMS)
	after("new leaders", o.NewLeaderMS)
	after("the rate back", o.RecoveredMS)
	after("all replicas in sync", o.InSyncMS)
	if o.RecoveredMS == nil {
		parts = append(parts, "the rate never back")
	}
	t.sentence("outage", plain, strings.Join(parts, ", "))
	if o.RecordsFailed > 0 {
		t.row("", bad, theme.Count(o.RecordsFailed)+" records failed or were never answered")
	}
}

// cut shortens a text to so many characters.
func (t *text) cut(s string, width int) string {
	runes := []rune(strings.Join(strings.Fields(s), " "))
	if len(runes) <= width {
		return string(runes)
	}
	return string(runes[:width-1]) + string(t.th.Glyphs.Ellipsis)
}
