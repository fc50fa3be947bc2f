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
	style, text := warn, steadiness(s)
	if s.Label == inference.Flat {
		style = plain
	}
	t.sentence("stability", style, text)
}

// steadiness says how the throughput went on.
func steadiness(s *result.Stability) string {
	varied := fmt.Sprintf("%.0f-second means vary by %s", s.MeansSeconds, theme.Percent(s.Variation))
	switch s.Label {
	case inference.Flat:
		return "flat: " + varied
	case inference.WarmUp:
		return fmt.Sprintf("warm-up until %s: use --warmup %.0fs; then %s", theme.Duration(seconds(s.WarmupSeconds)), s.WarmupSeconds, varied)
	case inference.Slowdown:
		if s.WarmupSeconds > 0 {
			return fmt.Sprintf("slowdown after %s: then %s", theme.Duration(seconds(s.WarmupSeconds)), varied)
		}
		return "slowdown: the rate fell by " + theme.Percent(-s.Trend.Share) + " until the end"
	}
	text := "never steady: " + varied
	if s.Trend.Low > 0 {
		text += ", and the rate still rose at the end: use a longer --duration"
	}
	return text
}
