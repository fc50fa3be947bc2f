package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// stages writes a row a stage of the target, with the latency that is the headline of such a run.
func (t *text) stages(r result.Result) {
	if len(r.Stages) == 0 {
		return
	}
	t.line("")
	rates := []string{"offered/s", "acked/s"}
	if !writes(r.Header) {
		rates = []string{"read/s"}
	}
	g := &grid{heads: append(append([]string{"stage", "from", "to", "target/s"}, rates...), "p50", "p99", "p99.9", "max"), leave: []string{"p99.9", "from", "p50", "max"}}
	count := theme.PerSecond
	for i, s := range r.Stages {
		target := count(s.TargetFrom)
		if s.TargetTo != s.TargetFrom {
			target += ".." + count(s.TargetTo)
		}
		row := []string{strconv.Itoa(i + 1), theme.Duration(seconds(s.FromSeconds)), theme.Duration(seconds(s.ToSeconds)), target}
		if !writes(r.Header) {
			row = append(row, count(s.ReadRecordsPerSecond))
		} else {
			row = append(row, count(s.OfferedRecordsPerSecond), count(s.RecordsPerSecond))
		}
		l := s.Response
		if e := s.EndToEnd; e != nil {
			l = *e
		}
		g.add(plain, append(row, t.quantile(l, l.P50), t.quantile(l, l.P99), t.quantile(l, l.P999), t.quantile(l, l.Max))...)
		switch {
		case s.MeasuredSeconds == 0 && s.TargetFrom+s.TargetTo > 0:
			g.note(muted, "not measured: a warm-up, or the load ended before")
		case !s.Valid:
			reason, _, _ := strings.Cut(s.Invalid[0], ", although")
			g.note(bad, t.cut("NOT VALID: "+reason, margin+5))
		}
	}
	t.draw(g)
}

// missedStages returns a warning of the stages that missed their targets, with the worst of them; "": none did.
func missedStages(r result.Result) string {
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
	s, did := r.Stages[worst], "offered"
	rate := s.OfferedRecordsPerSecond
	if !writes(r.Header) {
		rate, did = s.ReadRecordsPerSecond, "read"
	}
	text := fmt.Sprintf("%s of the target in stage %d: %s of %s records/s %s", theme.Percent(*s.TargetReached), worst+1,
		theme.PerSecond(rate), theme.PerSecond(s.TargetRecordsPerSecond), did)
	if missed > 1 {
		text += fmt.Sprintf("; %d of %d stages missed theirs", missed, len(r.Stages))
	}
	return text
}
