package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kt-bench/kt/internal/calibrate"
	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/probe"
	"github.com/kt-bench/kt/internal/result"
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
	type row struct {
		Directory string `json:"directory"`
		*probe.Result
		*probe.Row `json:"dd,omitempty"`
	}
	list := []row{}
	for i := range r.Directories {
		of := &r.Directories[i]
		for k := range of.Results {
			list = append(list, row{of.Path, &of.Results[k], nil})
		}
		if of.Plan != "" {
			d.Answer = append(d.Answer, doc.Note{Name: of.Path, Text: of.Path + ": " + of.Plan})
		}
		commands := ""
		for k := range of.DD {
			list = append(list, row{of.Path, nil, &of.DD[k]})
			commands += of.DD[k].Command + "\n"
		}
		f := new(doc.Facts)
		f.List("on", strings.Join(aboutDirectory(of), ", "))
		f.List("note", of.Notes...)
		d.Sections = append(d.Sections, doc.Section{ID: "directory-" + strconv.Itoa(i), Title: of.Path, Blocks: []doc.Block{f, probeTable(i, of), ddTable(i, of), doc.Code(commands)}})
	}
	d.List = list
	if p := r.Parallel; p != nil {
		f, t := new(doc.Facts), doc.NewTable("parallel-table", "Each directory", "directory|name", "MiB/s", "alone")
		for i := range min(len(r.Directories), len(p.MiBPerSecond), len(p.AloneMiBPerSecond)) {
			t.Add(r.Directories[i].Path, rateText(p.MiBPerSecond[i]), rateText(p.AloneMiBPerSecond[i]))
		}
		f.List("together", fmt.Sprintf("%s MiB/s, %s of the sum of the single rates", rateText(p.Sum), theme.Percent(p.Efficiency)))
		f.If(len(p.Shared) > 0, "note", doc.Plain, "more than one directory is on "+strings.Join(p.Shared, ", "))
		f.List("note", findingsOf(p.Findings)...)
		d.Sections = append(d.Sections, doc.Section{ID: "parallel", Title: "All directories at once", Blocks: []doc.Block{f, t}})
	}
	if c := r.Comparison; c != nil { // with an earlier probe
		f := new(doc.Facts)
		for _, one := range c.Settings {
			f.List(one.Name, one.Before+" → "+one.After)
		}
		f.List("note", slices.Concat(c.Missing, c.Notes)...)
		t := doc.NewTable("compared-table", "Figures", "directory|name", "test|words", "figure|words", "before", "after", "change", "effect|words")
		tones := map[probe.Effect]doc.Tone{probe.Better: doc.Good, probe.Worse: doc.Warn}
		for _, ch := range c.Changes {
			t.Add(ch.Dir, ch.Test, strings.TrimSpace(ch.Metric+" "+ch.Unit), rateText(ch.Before), rateText(ch.After), fmt.Sprintf("%+.0f %%", 100*ch.Change), ch.Effect).Tone = tones[ch.Effect]
		}
		d.Sections = append(d.Sections, doc.Section{ID: "compared", Title: "Compared with " + earlier, Blocks: []doc.Block{f, t}})
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

// probeTable has a row for each test of a directory, with its work and its findings that are not good.
func probeTable(i int, d *probe.Directory) *doc.Table {
	t := doc.NewTable("tests-"+strconv.Itoa(i), "Tests", "test|whole", "MiB/s", "device", "p50", "p90", "p99", "p99.9", "max", ">50 ms", "grade|whole", "even")
	tones := map[probe.Grade]doc.Tone{probe.Good: doc.Good, probe.Poor: doc.Warn}
	for k := range d.Results {
		r := &d.Results[k]
		device, l, says := "", &r.Latency, []string{r.What}
		if r.DeviceMiBPerSecond != nil {
			device = rateText(*r.DeviceMiBPerSecond)
		}
		if a := r.Append; a != nil {
			from := pick(a.From == "device", "counted by the kernel on the device", "counted by the writes") + pick(a.Steady, "", "; not steady yet")
			says = append(says, fmt.Sprintf("burst %s MiB/s, sustained %s MiB/s (%s)", rateText(a.BurstMiBPerSecond), rateText(a.SustainedMiBPerSecond), from))
		}
		if r.Alone != nil {
			says = append(says, fmt.Sprintf("without it: p99 %s, p99.9 %s, max %s", us(r.Alone.P99), us(r.Alone.P999), us(r.Alone.Max)))
		}
		if r.Read != nil {
			says = append(says, "read at the same time: "+rateText(*r.Read)+" MiB/s")
		}
		t.Add(r.Test, rateText(r.MiBPerSecond), device, us(l.P50), us(l.P90), us(l.P99), us(l.P999), us(l.Max), theme.Count(r.Stalls.Over50ms),
			doc.Cell{Text: string(r.Grade), Tone: tones[r.Grade]}, pick(len(r.Series) > 1, "±"+theme.Percent(r.Spread.CV), "")).Note = strings.Join(slices.Concat(says, findingsOf(r.Findings), r.Notes), "; ")
	}
	return t
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
func ddTable(i int, d *probe.Directory) *doc.Table {
	t := doc.NewTable("dd-"+strconv.Itoa(i), "As dd measures", "block", "direct|whole", "MB/s", "CPU")
	for _, r := range d.DD {
		t.Add(r.Block, pick(r.Direct, "yes", "no"), rateText(r.MBPerSecond), fmt.Sprintf("%.0f %%", r.CPUPercent)).Note = strings.TrimSuffix(
			pick(r.PageCache, "this includes the page cache, not only the disk; ", "")+pick(r.Cut, "the time ended before all blocks were written", ""), "; ")
	}
	return t
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

// us returns a latency in microseconds.
func us(v float64) string { return theme.Duration(time.Duration(v * float64(time.Microsecond))) }

// WatchDocument is how busy a host is that makes no load.
type WatchDocument struct {
	Schema  int          `json:"schema"`
	Host    string       `json:"host"`
	Now     *result.Busy `json:"last_second"`
	Overall *result.Busy `json:"overall"`
}

// WatchLine returns the last second as a line.
func WatchLine(d *WatchDocument) string {
	heap, gc := jvm(d.Now.Brokers)
	return fmt.Sprintf("%s  CPU %s  dirty %s  disk %s  network %s  heap %s  GC %s", theme.Clock(time.Duration(d.Overall.Seconds*1e9)),
		theme.Percent(d.Now.CPUShare), theme.Bytes(d.Now.DirtyBytesMax), disk(d.Now.Disks), network(d.Now.Networks), heap, gc)
}

// WatchDoc returns a table of the last second and of the whole time.
func WatchDoc(d *WatchDocument) *doc.Document {
	all := &doc.Document{Command: "kt watch", Subject: d.Host}
	if d.Overall == nil {
		return all
	}
	whole := "all " + theme.Duration(time.Duration(d.Overall.Seconds*1e9).Round(time.Second))
	t := busy(&result.Result{Hosts: []result.HostRow{{Role: "last second", Busy: d.Now}, {Role: whole, Busy: d.Overall}}})
	t.Columns[0].Head, t.Columns[1] = "", doc.Column{Head: "time", Kind: doc.Words}
	all.Sections = []doc.Section{{ID: "busy", Blocks: []doc.Block{t}}}
	if len(d.Overall.Brokers) == 0 {
		all.Answer = []doc.Note{{Text: "no Kafka broker runs here, or kt cannot see it: run kt watch as root, outside of containers", Tone: doc.Warn}}
	}
	return all
}

// CalibrationDoc returns what a host can offer.
func CalibrationDoc(d *calibrate.Document) *doc.Document {
	t := doc.NewTable("runs", "The runs: how much is offered without a limit, and how precisely rates are kept",
		"rate|whole", d.Role(2), "offered", "CPU s per million|1", "delay p50|2", "p99", "max", "kept|whole")
	type row struct {
		*calibrate.Trial
		*calibrate.Kept
	}
	var list []row
	for _, c := range d.Tried {
		list = append(list, row{Trial: &c})
		t.Add("unlimited", c.Clients, theme.PerSecond(c.RecordsPerSecond), theme.Number(c.CPUSecondsPerMillion), "", "", "", "")
	}
	for _, k := range d.Schedule { // how precisely a rate was kept
		list = append(list, row{Kept: &k})
		own, rate := k.OwnSendDelayUS, theme.PerSecond(k.Rate)
		if k.OutOfReach {
			t.Add(rate, "", "", "", "", "", "", "out of reach").Tone = doc.Muted
			continue
		}
		kept := t.Add(rate, d.Clients, theme.Percent(k.OfferedShare), "", theme.Duration(micros(own.P50)), theme.Duration(micros(own.P99)), theme.Duration(micros(own.Max)), pick(k.Kept, "yes", "no"))
		kept.Tone, kept.Note, kept.NoteTone = pick(k.Kept, doc.Good, doc.Bad), strings.Join(k.Invalid, "; "), doc.Bad
	}
	all := OfTable("kt calibrate", d.Brief, t, list)
	all.Tags = []string{d.Host.Hostname}
	if d.TooLow != "" {
		all.Alerts = []string{d.TooLow}
	}
	all.Answer = []doc.Note{{Name: "ceiling", Text: fmt.Sprintf("This host can offer %s records/s, %s MiB/s: %s CPU seconds per million records, with %d %s",
		theme.PerSecond(d.Ceiling.RecordsPerSecond), theme.Number(d.Ceiling.MiBPerSecond), theme.Number(d.Ceiling.CPUSecondsPerMillion), d.Clients, d.Role(d.Clients))}}
	return all
}
