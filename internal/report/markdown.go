package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// Markdown writes what a run was bound by, its limits and its figures, for a pull request or a step summary.
func Markdown(w io.Writer, r result.Result, _ Options) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## kt %s: %s\n\n", cell(string(r.Plan.Command)), cell(subject(r.Header)))
	for _, warning := range markdownWarnings(&r) {
		fmt.Fprintf(&b, "**%s**\n\n", cell(warning))
	}
	fmt.Fprintf(&b, "Bound by: %s (%s)\n", cell(r.BoundBy.Limit.String()), cell(r.BoundBy.Evidence))
	if len(r.Limits) > 0 {
		b.WriteString("\n| value | --limit | held |\n| --- | --- | --- |\n")
	}
	for i := range r.Limits {
		l := &r.Limits[i]
		_, _, held := LimitWords(l)
		if !l.Held {
			held = "**" + held + "**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", cell(limitText(l)), cell(l.Expression), held)
	}
	b.WriteString("\n| figure | |\n| --- | --- |\n")
	for _, row := range markdownFigures(&r) {
		fmt.Fprintf(&b, "| %s | %s |\n", row[0], cell(row[1]))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// markdownWarnings returns what a reader has to know before any figure.
func markdownWarnings(r *result.Result) (say []string) {
	if r.Notice != "" {
		say = append(say, r.Notice)
	}
	if text := endedEarly(r); text != "" {
		say = append(say, text)
	}
	if !r.Valid {
		say = append(say, "NOT VALID: "+strings.Join(invalid(*r), "; "))
	}
	return say
}

// markdownFigures returns the figures that a run is quoted by, with their names.
func markdownFigures(r *result.Result) (rows [][2]string) {
	add := func(name, format string, args ...any) {
		rows = append(rows, [2]string{name, fmt.Sprintf(format, args...)})
	}
	rate := func(rate result.Rate, ok bool) string {
		if !ok {
			return noRate
		}
		return fmt.Sprintf("%s records/s, %s MiB/s", theme.PerSecond(rate.Records), theme.Number(rate.Bytes/mibBytes))
	}
	latency := func(name string, l *result.Latency) {
		if l != nil && l.Ranked() > 0 {
			add(name, "p50 %s, p99 %s, p99.9 %s, max %s", theme.Duration(micros(l.P50)), theme.Duration(micros(l.P99)), theme.Duration(micros(l.P999)), theme.Duration(micros(l.Max)))
		}
	}
	if writes(r.Header) {
		add("throughput", "%s", rate(r.Written()))
	}
	if r.Fetch != nil {
		add("read", "%s", rate(r.Read()))
	}
	if writes(r.Header) {
		latency("response", &r.Latency.Response)
	}
	latency("end to end", r.Latency.EndToEnd)
	if writes(r.Header) {
		rec := &r.Records
		add("records", "%s %s, %s failed, %s unknown", theme.Count(rec.Acknowledged), r.Outcome(), theme.Count(rec.Failed), theme.Count(rec.Unknown))
	} else {
		add("records", "%s read", theme.Count(r.Records.Consumed))
	}
	if l := r.ConsumerLag; l != nil {
		add("consumer lag", "%s at most, %s in the end", l.Max.Or("not known", theme.Count), l.Left.Or("not known", theme.Count))
	}
	if o := r.Outage; o != nil && o.LongestGapMS != nil {
		add("longest time without an acknowledgement", "%s", theme.Duration(millis(o.LongestGapMS)))
	}
	if v := r.Verify; v != nil {
		sentence, _ := verdictOf(v)
		add("verification", "%s", sentence)
	}
	return rows
}
