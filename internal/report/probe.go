package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kt-bench/kt/internal/probe"
	"github.com/kt-bench/kt/internal/theme"
)

// ProbeOptions are the options of a format.
type ProbeOptions struct {
	Theme   *theme.Theme
	Earlier string // the file of the earlier result that is compared with
}

// ProbeFormat writes the report of a probe.
type ProbeFormat func(w io.Writer, r probe.Report, o ProbeOptions) error

// ProbeFormats are the formats by name.
var ProbeFormats = map[string]ProbeFormat{
	"text":     ProbeText,
	"json":     func(w io.Writer, r probe.Report, _ ProbeOptions) error { return Indented(w, r) },
	"csv":      ProbeCSV,
	"markdown": ProbeMarkdown,
}

// ProbeLine returns the progress of a probe in a line of fewer columns than width; 0 is no
// limit. A line that wraps could not be written over.
func ProbeLine(p probe.Progress, width int) string {
	what := fmt.Sprintf("%d/%d %s %s", p.Step, p.Steps, theme.Clean(p.Dir), p.Test)
	if p.Preparing {
		what += " (preparing)"
	}
	what += fmt.Sprintf("  %s of %s  %s", theme.Duration(p.Elapsed), theme.Duration(p.Duration), rateText(p.MiBPerSecond)+" MiB/s")
	if p.Device >= 0 {
		what += "  on the device " + rateText(p.Device) + " MiB/s"
	}
	if width > 0 && utf8.RuneCountInString(what) >= width {
		return string([]rune(what)[:max(width-1, 0)])
	}
	return what
}

// probeHead names the columns of a table of results.
var probeHead = []string{"test", "MiB/s", "device", "p50", "p90", "p99", "p99.9", "max", ">50 ms", "even"}

// probeRow returns a result as its columns.
func probeRow(r probe.Result) []string {
	device := ""
	if r.DeviceMiBPerSecond != nil {
		device = rateText(*r.DeviceMiBPerSecond)
	}
	even := ""
	if len(r.Series) > 1 {
		even = "±" + theme.Percent(r.Spread.CV)
	}
	return []string{
		r.Test, rateText(r.MiBPerSecond), device,
		us(r.Latency.P50), us(r.Latency.P90), us(r.Latency.P99), us(r.Latency.P999), us(r.Latency.Max),
		theme.Count(r.Stalls.Over50ms), even,
	}
}

// rateText returns a rate with three digits or all before the point.
func rateText(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 1:
		return strconv.FormatFloat(v, 'f', 3, 64)
	case v < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return theme.Count(int64(v + 0.5))
}

// ProbeCSV writes a line for each test of each directory, and for each row of dd.
func ProbeCSV(w io.Writer, r probe.Report, _ ProbeOptions) error {
	rows := [][]string{{
		"directory", "test", "block_bytes", "direct", "mib_per_second", "device_mib_per_second", "sustained_mib_per_second",
		"p50_us", "p90_us", "p99_us", "p99_9_us", "max_us", "over_10_ms", "over_50_ms", "over_500_ms", "cpu_seconds", "grade", "dd_mb_per_second", "dd_command",
	}}
	f := func(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	for _, d := range r.Directories {
		for _, t := range d.Results {
			device, sustained := "", ""
			if t.DeviceMiBPerSecond != nil {
				device = f(*t.DeviceMiBPerSecond)
			}
			if t.Append != nil {
				sustained = f(t.Append.SustainedMiBPerSecond)
			}
			l := t.Latency
			rows = append(rows, []string{
				d.Path, t.Test, "", "", f(t.MiBPerSecond), device, sustained, f(l.P50), f(l.P90), f(l.P99), f(l.P999), f(l.Max),
				n(t.Stalls.Over10ms), n(t.Stalls.Over50ms), n(t.Stalls.Over500ms), f(t.CPU), string(t.Grade), "", "",
			})
		}
		for _, row := range d.DD {
			l := row.Latency
			rows = append(rows, []string{
				d.Path, "dd", n(row.Block), strconv.FormatBool(row.Direct), "", "", "", f(l.P50), f(l.P90), f(l.P99), f(l.P999), f(l.Max),
				"", "", "", "", "", f(row.MBPerSecond), row.Command,
			})
		}
	}
	return writeCSV(w, rows)
}

// ProbeMarkdown writes the tables for a wiki or a ticket.
func ProbeMarkdown(w io.Writer, r probe.Report, o ProbeOptions) error {
	return buffered(w, func(b *bytes.Buffer) {
		fmt.Fprintf(b, "# kt probe: %s\n", cell(r.Machine.Hostname))
		for _, d := range r.Directories {
			fmt.Fprintf(b, "\n## %s\n\n%s\n", cell(d.Path), cell(strings.Join(aboutDirectory(d), ", ")))
			if len(d.Results) > 0 {
				head := append(probeHead, "grade")
				fmt.Fprintf(b, "\n| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
				for _, t := range d.Results {
					t.Test = cell(t.Test)
					fmt.Fprintf(b, "| %s | %s |\n", strings.Join(probeRow(t), " | "), cell(string(t.Grade)))
				}
			}
			if len(d.DD) > 0 {
				b.WriteString("\n| block | direct | MB/s | CPU | dd |\n|---|---|---|---|---|\n")
				for _, row := range d.DD {
					fmt.Fprintf(b, "| %d | %s | %s | %.0f %% | `%s` |\n", row.Block, yesNo(row.Direct), rateText(row.MBPerSecond), row.CPUPercent, cell(row.Command))
				}
			}
			if d.Plan != "" {
				fmt.Fprintf(b, "\n**%s**\n", cell(d.Plan))
			}
		}
		if c := r.Comparison; c != nil {
			fmt.Fprintf(b, "\n## Compared with %s\n\n| directory | test | figure | before | after | change |\n|---|---|---|---|---|---|\n", cell(o.Earlier))
			for _, ch := range c.Changes {
				fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %+.0f %% %s |\n", cell(ch.Dir), cell(ch.Test), cell(strings.TrimSpace(ch.Metric+" "+ch.Unit)),
					rateText(ch.Before), rateText(ch.After), 100*ch.Change, ch.Effect)
			}
		}
	})
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// aboutDirectory returns the file system, the disks and the free space of a directory.
func aboutDirectory(d probe.Directory) []string {
	tags := []string{d.FileSystem}
	if d.Device != "" {
		tags = append(tags, d.Device)
	}
	tags = append(tags, d.Layers...)
	for _, disk := range d.Disks {
		tags = append(tags, strings.TrimSpace(disk.Name+" "+disk.Model)+", scheduler "+cmp.Or(disk.Scheduler, "unknown"))
	}
	return append(tags, "free "+theme.Bytes(d.FreeBytes)+" of "+theme.Bytes(d.TotalBytes))
}
