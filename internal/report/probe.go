package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/probe"
	"github.com/kt-bench/kt/internal/theme"
)

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

// ProbeDoc returns what a probe found. earlier is the file of the result that it is compared with.
func ProbeDoc(r *probe.Report, earlier string) *doc.Document {
	m := &r.Machine
	d := &doc.Document{
		Command: "kt probe", Subject: m.Hostname,
		Tags: []string{"Linux " + m.Kernel, theme.Bytes(m.MemoryBytes), string(r.Mode), theme.Duration(seconds(r.Seconds))},
	}
	if r.Interrupted {
		d.Alerts = append(d.Alerts, "interrupted: the tests are not complete")
	}
	for _, limit := range m.CgroupIO {
		d.Alerts = append(d.Alerts, "the control group limits kt: "+limit)
	}
	for i := range r.Directories {
		of := &r.Directories[i]
		if of.Plan != "" {
			d.Answer = append(d.Answer, doc.Note{Name: of.Path, Text: of.Path + ": " + of.Plan})
		}
		commands := ""
		for _, row := range of.DD {
			commands += row.Command + "\n"
		}
		d.Sections = append(d.Sections, doc.Section{
			ID: "directory-" + strconv.Itoa(i), Title: of.Path, Facts: append(listed("on", strings.Join(aboutDirectory(of), ", ")), listed("note", of.Notes...)...),
			Tables: []doc.Table{probeTable(i, of), ddTable(i, of)}, Blocks: []doc.Block{doc.Code(commands)},
		})
	}
	if r.Parallel != nil {
		d.Sections = append(d.Sections, parallelSection(r))
	}
	if r.Comparison != nil {
		d.Sections = append(d.Sections, comparedSection(r.Comparison, earlier))
	}
	return d
}

// aboutDirectory returns the file system, the disks and the free space of a directory.
func aboutDirectory(d *probe.Directory) []string {
	tags := []string{d.FileSystem}
	if d.Device != "" && !slices.ContainsFunc(d.Disks, func(disk probe.Disk) bool { return disk.Name == d.Device }) {
		tags = append(tags, d.Device)
	}
	tags = append(tags, d.Layers...)
	for _, disk := range d.Disks {
		tags = append(tags, strings.TrimSpace(disk.Name+" "+disk.Model)+", scheduler "+cmp.Or(disk.Scheduler, "unknown"))
	}
	return append(tags, "free "+theme.Bytes(d.FreeBytes)+" of "+theme.Bytes(d.TotalBytes))
}

// probeData are what programs read of a test, and of a row as of dd.
var probeData = []string{
	"directory", "test", "block_bytes", "direct", "mib_per_second", "device_mib_per_second", "sustained_mib_per_second",
	"p50_us", "p90_us", "p99_us", "p99_9_us", "max_us", "over_10_ms", "over_50_ms", "over_500_ms", "cpu_seconds", "grade", "dd_mb_per_second", "dd_command",
}

// probeColumns returns columns with the data of probes, and heads for those that people see.
func probeColumns(heads map[string]string) (columns []doc.Column) {
	for _, data := range probeData {
		c := doc.Column{Head: heads[data], Data: data}
		if data == "test" || data == "direct" || data == "grade" {
			c.Kind = doc.Whole
		}
		columns = append(columns, c)
	}
	return columns
}

var gradeTones = map[probe.Grade]doc.Tone{probe.Good: doc.Good, probe.Poor: doc.Warn}

// probeTable has a row for each test of a directory.
func probeTable(i int, d *probe.Directory) doc.Table {
	t := doc.Table{ID: "tests-" + strconv.Itoa(i), Caption: "Tests", Data: len(d.Results) > 0, Columns: append(probeColumns(map[string]string{
		"test": "test", "mib_per_second": "MiB/s", "device_mib_per_second": "device", "p50_us": "p50", "p90_us": "p90", "p99_us": "p99", "p99_9_us": "p99.9",
		"max_us": "max", "over_50_ms": ">50 ms", "grade": "grade",
	}), doc.Column{Head: "even"})}
	for k := range d.Results {
		r := &d.Results[k]
		device, sustained, even := doc.Cell{}, "", ""
		if r.DeviceMiBPerSecond != nil {
			device = doc.Cell{Text: rateText(*r.DeviceMiBPerSecond), Data: threeDigits(*r.DeviceMiBPerSecond)}
		}
		if r.Append != nil {
			sustained = threeDigits(r.Append.SustainedMiBPerSecond)
		}
		if len(r.Series) > 1 {
			even = "±" + theme.Percent(r.Spread.CV)
		}
		cells := append([]doc.Cell{{Data: d.Path}, {Text: r.Test}, {}, {}, {Text: rateText(r.MiBPerSecond), Data: threeDigits(r.MiBPerSecond)}, device, {Data: sustained}}, probeLatency(&r.Latency)...)
		t.Rows = append(t.Rows, doc.Row{Note: probeNote(r), Cells: append(cells,
			countCell(r.Stalls.Over10ms), countCell(r.Stalls.Over50ms), countCell(r.Stalls.Over500ms), doc.Cell{Data: threeDigits(r.CPU)},
			doc.Cell{Text: string(r.Grade), Tone: gradeTones[r.Grade]}, doc.Cell{}, doc.Cell{}, doc.Cell{Text: even})})
	}
	return t
}

func probeLatency(l *probe.Latency) (cells []doc.Cell) {
	for _, v := range []float64{l.P50, l.P90, l.P99, l.P999, l.Max} {
		cells = append(cells, doc.Cell{Text: us(v), Data: threeDigits(v)})
	}
	return cells
}

// probeNote returns the work of a test, and its findings that are not good.
func probeNote(r *probe.Result) string {
	says := []string{r.What}
	if a := r.Append; a != nil {
		from := "counted by the kernel on the device"
		if a.From != "device" {
			from = "counted by the writes"
		}
		if !a.Steady {
			from += "; not steady yet"
		}
		says = append(says, fmt.Sprintf("burst %s MiB/s, sustained %s MiB/s (%s)", rateText(a.BurstMiBPerSecond), rateText(a.SustainedMiBPerSecond), from))
	}
	if r.Alone != nil {
		says = append(says, fmt.Sprintf("without it: p99 %s, p99.9 %s, max %s", us(r.Alone.P99), us(r.Alone.P999), us(r.Alone.Max)))
	}
	if r.Read != nil {
		says = append(says, "read at the same time: "+rateText(*r.Read)+" MiB/s")
	}
	return strings.Join(slices.Concat(says, findingsOf(r.Findings), r.Notes), "; ")
}

// findingsOf returns the findings that are not good.
func findingsOf(all []probe.Finding) (says []string) {
	for _, f := range all {
		if f.Grade != probe.Good {
			says = append(says, fmt.Sprintf("%s (%s)", f.Sentence, f.Source))
		}
	}
	return says
}

// ddTable has a row for each size of blocks, as dd measures it.
func ddTable(i int, d *probe.Directory) doc.Table {
	t := doc.Table{ID: "dd-" + strconv.Itoa(i), Caption: "As dd measures", Data: len(d.DD) > 0, Columns: append(probeColumns(map[string]string{
		"block_bytes": "block", "direct": "direct", "dd_mb_per_second": "MB/s",
	}), doc.Column{Head: "CPU"})}
	for k := range d.DD {
		r := &d.DD[k]
		var notes []string
		if r.PageCache {
			notes = append(notes, "this includes the page cache, not only the disk")
		}
		if r.Cut {
			notes = append(notes, "the time ended before all blocks were written")
		}
		direct := map[bool]string{true: "yes", false: "no"}[r.Direct]
		block := strconv.FormatInt(r.Block, 10)
		cells := append([]doc.Cell{{Data: d.Path}, {Text: "dd"}, {Text: block, Data: block}, {Text: direct, Data: strconv.FormatBool(r.Direct)}, {}, {}, {}}, probeLatency(&r.Latency)...)
		t.Rows = append(t.Rows, doc.Row{Note: strings.Join(notes, "; "), Cells: append(cells, doc.Cell{}, doc.Cell{}, doc.Cell{}, doc.Cell{}, doc.Cell{},
			doc.Cell{Text: rateText(r.MBPerSecond), Data: threeDigits(r.MBPerSecond)}, doc.Cell{Data: r.Command}, doc.Cell{Text: fmt.Sprintf("%.0f %%", r.CPUPercent)})})
	}
	return t
}

func parallelSection(r *probe.Report) doc.Section {
	p := r.Parallel
	t := doc.Table{ID: "parallel-table", Caption: "Each directory", Columns: []doc.Column{{Head: "directory", Kind: doc.Name}, {Head: "MiB/s"}, {Head: "alone"}}}
	for i := range min(len(r.Directories), len(p.MiBPerSecond), len(p.AloneMiBPerSecond)) {
		t.Rows = append(t.Rows, doc.Row{Cells: doc.Of(r.Directories[i].Path, rateText(p.MiBPerSecond[i]), rateText(p.AloneMiBPerSecond[i]))})
	}
	facts := listed("together", fmt.Sprintf("%s MiB/s, %s of the sum of the single rates", rateText(p.Sum), theme.Percent(p.Efficiency)))
	if len(p.Shared) > 0 {
		facts = append(facts, doc.Fact{Name: "note", Text: "more than one directory is on " + strings.Join(p.Shared, ", ")})
	}
	return doc.Section{ID: "parallel", Title: "All directories at once", Facts: append(facts, listed("note", findingsOf(p.Findings)...)...), Tables: []doc.Table{t}}
}

// comparedSection has the changes since an earlier probe.
func comparedSection(c *probe.Comparison, earlier string) doc.Section {
	s := doc.Section{ID: "compared", Title: "Compared with " + earlier}
	for _, one := range c.Settings {
		s.Facts = append(s.Facts, doc.Fact{Name: one.Name, Text: one.Before + " → " + one.After})
	}
	s.Facts = append(s.Facts, listed("note", slices.Concat(c.Missing, c.Notes)...)...)
	t := doc.Table{ID: "compared-table", Caption: "Figures", Columns: slices.Concat(doc.Heads(doc.Name, "directory"), doc.Heads(doc.Words, "test", "figure"), doc.Heads(doc.Number, "before", "after", "change"), doc.Heads(doc.Words, "effect"))}
	tones := map[probe.Effect]doc.Tone{probe.Better: doc.Good, probe.Worse: doc.Warn}
	for _, ch := range c.Changes {
		t.Rows = append(t.Rows, doc.Row{Tone: tones[ch.Effect], Cells: doc.Of(ch.Dir, ch.Test, strings.TrimSpace(ch.Metric+" "+ch.Unit),
			rateText(ch.Before), rateText(ch.After), fmt.Sprintf("%+.0f %%", 100*ch.Change), string(ch.Effect))})
	}
	s.Tables = []doc.Table{t}
	return s
}

// rateText returns a rate with three digits or all before the point.
func rateText(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 1:
		return threeDigits(v)
	case v < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return theme.Count(int64(v + 0.5))
}

// us returns a latency in microseconds.
func us(v float64) string { return theme.Duration(time.Duration(v * float64(time.Microsecond))) }
