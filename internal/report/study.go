package report

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// StudyFormats are the formats of a study by name.
var StudyFormats = map[string]DocumentFormat[study.Document]{
	"text":     StudyText,
	"json":     asJSON[study.Document],
	"csv":      StudyCSV,
	"markdown": StudyMarkdown,
}

// StudyCSV writes a row for each load of each run.
func StudyCSV(w io.Writer, d *study.Document, _ Options) error {
	head := []string{"turn", "repeat", "load"}
	for _, f := range d.Study.Factors {
		head = append(head, f.Name)
	}
	for _, m := range study.Metrics {
		head = append(head, unitOf[m])
	}
	rows := [][]string{append(head, "valid", "limit", "failed_records", "lost_records", "longest_gap_ms", "rate_recovered_ms", "in_sync_ms", "file")}
	for i := range d.Cells {
		c := &d.Cells[i]
		for _, r := range c.Runs {
			for j := range r.Loads {
				rows = append(rows, studyRow(d, c, &r, &r.Loads[j]))
			}
		}
	}
	return writeCSV(w, rows)
}

// unitOf has the column of each metric.
var unitOf = map[study.Metric]string{
	study.Throughput: "records_per_second", study.Bytes: "mib_per_second", study.Mean: "latency_mean_us", study.P50: "latency_p50_us",
	study.P90: "latency_p90_us", study.P99: "latency_p99_us", study.P999: "latency_p999_us", study.Roughness: "roughness", study.CPU: "client_cpu_cores",
}

func studyRow(d *study.Document, c *study.CellDoc, r *study.RunDoc, l *study.LoadFigures) []string {
	row := []string{strconv.Itoa(r.Turn), strconv.Itoa(r.Repeat), l.Load}
	for _, f := range d.Study.Factors {
		row = append(row, c.At[f.Name])
	}
	for _, m := range study.Metrics {
		text := strconv.FormatFloat(*l.Of(m), 'f', -1, 64)
		if !l.Has(m) {
			text = ""
		}
		row = append(row, text)
	}
	o := cmp.Or(l.Outage, new(result.Outage))
	row = append(row, strconv.FormatBool(l.Valid), string(l.Limit))
	for _, n := range []*int64{&l.Failed, l.Lost, o.LongestGapMS, o.RecoveredMS, o.InSyncMS} {
		text := ""
		if n != nil {
			text = strconv.FormatInt(*n, 10)
		}
		row = append(row, text)
	}
	return append(row, l.File)
}

// StudyMarkdown writes the answers and a table, for a wiki or a ticket.
func StudyMarkdown(w io.Writer, d *study.Document, _ Options) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s\n\n", cell(d.Study.Name), cell(d.Study.About))
	if d.Embedded() {
		fmt.Fprintf(&b, "**%s**\n\n", result.EmbeddedNotice)
	}
	for _, a := range d.Answers {
		fmt.Fprintf(&b, "- %s\n", cell(a.Sentence))
	}
	if len(d.Answers) > 0 {
		b.WriteString("\n")
	}
	heads := append(studyHeads(d), "records/s", "low", "high", "p99 ms", "runs", "limit")
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(heads, " | "), strings.Repeat(" --- |", len(heads)))
	for i := range d.Cells {
		c := &d.Cells[i]
		row := studyAt(d, c)
		if t := c.Throughput; t.N > 0 {
			row = append(row, Rounded(t.Median), Rounded(t.Low), Rounded(t.High),
				strconv.FormatFloat(c.Latency.P99.Median/1000, 'f', 1, 64), strconv.Itoa(t.N), LimitsOf(&c.CellFigures))
		} else {
			row = append(row, "", "", "", "", "0", c.LeftOut)
		}
		for i := range row {
			row[i] = cell(row[i])
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func studyHeads(d *study.Document) (heads []string) {
	for _, f := range d.Study.Factors {
		heads = append(heads, f.Name)
	}
	return heads
}

func studyAt(d *study.Document, c *study.CellDoc) (at []string) {
	for _, f := range d.Study.Factors {
		at = append(at, c.At[f.Name])
	}
	return at
}

// LimitsOf writes what limited the runs of a cell.
func LimitsOf(c *study.CellFigures) string {
	var names []string
	for _, l := range c.Limits {
		names = append(names, l.String())
	}
	text := strings.Join(names, ", ")
	if c.ClientBound {
		text += " (more was not offered)"
	}
	if c.Invalid > 0 {
		text += fmt.Sprintf("; %d not valid", c.Invalid)
	}
	return text
}

// StudyProgress returns a line about a study that goes on.
func StudyProgress(p study.Progress) string {
	switch p.Kind {
	case study.Preparing:
		return "preparing " + p.Name
	case study.Skipped:
		return fmt.Sprintf("%s is left out: %s", p.Turn.Cell, p.Reason)
	case study.Begun:
		text := fmt.Sprintf("run %d", p.Turn.Number)
		if p.Turns > 0 {
			text += fmt.Sprintf(" of %d", p.Turns)
		}
		if at := p.Turn.Cell.String(); at != "" {
			text += ": " + at
		}
		if p.Turn.Repeat == 0 {
			text += ", to warm up: it does not count"
		}
		return text
	}
	var parts []string
	for i := range p.Results {
		r := &p.Results[i]
		text := Rounded(r.Throughput) + " records/s"
		if r.Load != "" {
			text = r.Load + " " + text
		}
		if r.Latency.P99 > 0 {
			text += ", p99 " + theme.Duration(micros(int64(r.Latency.P99)))
		}
		if !r.Valid {
			text += ", not valid"
		}
		parts = append(parts, text+", limit "+r.Limit.String())
	}
	return "  " + strings.Join(parts, "; ")
}
