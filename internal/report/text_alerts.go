package report

import (
	"fmt"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// alerts returns what a reader has to know before any figure.
func alerts(r result.Result) (all []string) {
	if r.Notice != "" {
		all = append(all, r.Notice)
	}
	if share := r.TargetReached; share != nil {
		all = append(all, missedTarget(r, *share))
	}
	if first, last, warmup, still := r.Rising(); still {
		all = append(all, fmt.Sprintf("still rising: from %s to %s records/s: the maximum is higher; use --warmup %.0fs and a longer --duration",
			theme.PerSecond(first), theme.PerSecond(last), warmup))
	}
	if text := missedStages(r); text != "" {
		all = append(all, text)
	}
	if text := endedEarly(&r); text != "" {
		all = append(all, text)
	}
	return all
}

// alert writes a warning under the title.
func (t *text) alert(s string) {
	mark := string(t.th.Glyphs.Alert) + " "
	for _, line := range wrapText(s, t.wrapAt()-4) {
		t.line("  " + t.th.Paint(warn, mark+line))
		mark = "  "
	}
}

// missedTarget returns how much of its target a run has reached.
func missedTarget(r result.Result, share float64) string {
	rate, target := r.Throughput.RecordsPerSecond, r.Throughput.TargetRecordsPerSecond
	if !writes(r.Header) && r.Fetch != nil {
		rate = r.Fetch.RecordsPerSecond
	}
	return fmt.Sprintf("%s of the target: %s of %s records/s", theme.Percent(share), theme.PerSecond(rate), theme.PerSecond(target))
}

// endedEarly returns how a run ended before its time, "" if it did not.
func endedEarly(r *result.Result) string {
	if r.Ended == result.Completed {
		return ""
	}
	text := r.Ended + " after " + theme.Duration(seconds(r.ElapsedSeconds))
	if r.AbortedBy != "" {
		text += " by --abort-on " + r.AbortedBy
	}
	return text
}
