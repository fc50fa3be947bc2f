package report

import (
	"fmt"

	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// stability writes how the throughput went on. That it was flat is a detail, and so is that a run with
// an outage was not steady.
func (t *text) stability(r result.Result) {
	s := r.Stability
	outage := r.Outage != nil && r.Outage.BeganWith != ""
	if s == nil || !t.verbose && (s.Label == inference.Flat || s.Label == inference.None && outage) {
		return
	}
	varied := fmt.Sprintf("%.0f-second means vary by %s", s.MeansSeconds, theme.Percent(s.Variation))
	style, text := warn, ""
	switch s.Label {
	case inference.Flat:
		style, text = plain, "flat: "+varied
	case inference.WarmUp:
		text = fmt.Sprintf("warm-up until %s: use --warmup %.0fs; then %s", theme.Duration(seconds(s.WarmupSeconds)), s.WarmupSeconds, varied)
	case inference.Slowdown:
		text = "slowdown: the rate fell by " + theme.Percent(-s.Trend.Share) + " until the end"
		if s.WarmupSeconds > 0 {
			text = fmt.Sprintf("slowdown after %s: then %s", theme.Duration(seconds(s.WarmupSeconds)), varied)
		}
	default:
		text = "never steady: " + varied
		if s.Trend.Low > 0 {
			text += ", and the rate still rose at the end: use a longer --duration"
		}
	}
	t.sentence("stability", style, text)
}
