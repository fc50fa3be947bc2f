package page

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/theme"
)

// maxRows bounds the rows of a table of parts. The document in the page has all.
const maxRows = 100

// happened is the list of events, what a fault did, and the errors.
func (p *runPage) happened() []Block {
	var notes Notes
	add := func(name, text, class string) {
		if text != "" {
			notes = append(notes, Note{name, text, class})
		}
	}
	add("outage", p.say.Outage, "")
	add("", p.say.Unanswered, "bad")
	add("longest gap", p.say.Gap, "")
	events := marksOf(p.r.Events)
	const open = 40 // events that nobody has to scroll past
	if len(events) <= open {
		return []Block{p.errors(), notes, Events{events, p.r.EventsLeftOut.List()}}
	}
	more := Details{Summary: theme.Plural(len(events)-open, "more event", "more events"), Blocks: []Block{Events{events[open:], ""}}}
	return []Block{p.errors(), notes, Events{events[:open], p.r.EventsLeftOut.List()}, more}
}

// errors is a row for each code of failed records.
func (p *runPage) errors() Table {
	t := Table{ID: "errors", Caption: "Errors by kind", Heads: slices.Concat(texts("code", "of"), numbers("records"))}
	add := func(of string, errors result.Errors) {
		for _, code := range errors.Codes() {
			t.Rows = append(t.Rows, cells(code, of, theme.Count(errors[code])))
		}
	}
	add("producing", p.r.Errors)
	if f := p.r.Fetch; f != nil {
		add("fetching", f.Errors)
	}
	if w := p.r.Warmup; w != nil {
		add("warm-up", w.Errors)
	}
	return t
}

func (p *runPage) parts() []Block {
	var written []result.BrokerRow
	if p.writes {
		written = p.r.Brokers
	}
	return []Block{
		p.hosts(), p.busy(), p.processes(),
		brokers("brokers", "Brokers: what they acknowledged, and the time of a request", written),
		brokers("fetches", "Fetches: what was read from each broker, and the time of a request", report.Fetched(p.r.Brokers)),
		p.partitions(),
	}
}

func (p *runPage) hosts() Table {
	t := Table{
		ID: "hosts", Caption: "Hosts",
		Heads: slices.Concat(texts("host", "role"), numbers("processes", "records/s", "MiB/s", "p50", "p99", "failed", "kt's cores")),
	}
	var rates, p99 []float64
	for _, h := range p.r.Hosts {
		rate, mib, l := p.figures(&h.Figures)
		t.Rows = append(t.Rows, cells(h.Host, h.Role, strconv.Itoa(h.Processes), p.rated(theme.Rate(rate)), p.rated(theme.Number(mib)),
			quantile(l, l.P50), quantile(l, l.P99), theme.Count(h.Records.Failed), theme.Number(h.CPUCores)))
		rates, p99 = append(rates, rate), append(p99, float64(l.P99))
	}
	bars(t.Rows, 3, rates)
	bars(t.Rows, 6, p99)
	return t
}

// figures returns the rates and the latency of a part.
func (p *runPage) figures(f *result.Figures) (rate, mib float64, l result.Latency) {
	rate, mib, l = f.RecordsPerSecond, f.MiBPerSecond, f.Response
	if !p.writes {
		rate, mib = f.ConsumedPerSecond, f.ConsumedMiB
	}
	if p.reads && f.EndToEnd != nil {
		l = *f.EndToEnd
	}
	return rate, mib, l
}

// rated returns the rate of a part, or a sign that the run is too short for one.
func (p *runPage) rated(rate string) string {
	if _, ok := p.r.Quoted(); !ok {
		return "–"
	}
	return rate
}

func quantile(l result.Latency, us result.Micros) string {
	if l.Ranked() == 0 {
		return "–"
	}
	return theme.Duration(us.Duration())
}

// busy is how busy the machines were that somebody watched.
func (p *runPage) busy() Table {
	t := Table{
		ID: "busy", Caption: "How busy the hosts were: means, dirty pages at most, the busiest disk and network",
		Heads: slices.Concat(texts("host"), numbers("CPU", "of cores", "steal", "page cache", "dirty"), texts("disk", "network out / in")),
	}
	var cpu []float64
	for _, h := range p.r.Hosts {
		b := h.Busy
		if b == nil {
			continue
		}
		disk, network := "–", "–"
		if len(b.Disks) > 0 {
			d := slices.MaxFunc(b.Disks, func(x, y result.BusyDisk) int { return cmp.Compare(x.BusyShare, y.BusyShare) })
			disk = d.Name + " " + theme.Percent(d.BusyShare)
		}
		if len(b.Networks) > 0 {
			n := slices.MaxFunc(b.Networks, func(x, y result.BusyNetwork) int {
				return cmp.Compare(x.SentMiB+x.ReceivedMiB, y.SentMiB+y.ReceivedMiB)
			})
			network = fmt.Sprintf("%s %s / %s MiB/s", n.Name, theme.Number(n.SentMiB), theme.Number(n.ReceivedMiB))
		}
		t.Rows = append(t.Rows, cells(h.Host, theme.Percent(b.CPUShare), theme.Number(b.Cores), theme.Percent(b.StealShare),
			theme.Bytes(b.CacheBytes), theme.Bytes(b.DirtyBytesMax), disk, network))
		cpu = append(cpu, b.CPUShare)
	}
	bars(t.Rows, 1, cpu)
	return t
}

func (p *runPage) processes() Block {
	return Details{Summary: theme.Plural(len(p.r.Processes), "process", "processes"), Blocks: []Block{p.processTable()}}
}

// processTable has a row for each process. Those that are not added up have their topics, and rates of their own
// kind.
func (p *runPage) processTable() Table {
	t := Table{ID: "processes", Caption: "Processes"}
	names := texts("process", "state")
	beside := p.r.NotAddedUp != ""
	if beside {
		t.Caption, names = "Different loads, side by side and not added up", texts("process", "load", "topic", "state")
	}
	t.Heads = slices.Concat(names, numbers("records/s", "p50", "p99"), texts("bound by", "note"))
	for _, r := range p.r.Processes[:min(maxRows, len(p.r.Processes))] {
		of := *p
		if beside {
			c := plan.Command(r.Command)
			of.writes, of.reads = c != plan.Consume, c != plan.Produce
		}
		rate, _, l := of.figures(&r.Figures)
		rated := p.rated(theme.Rate(rate))
		if beside && r.ToSeconds-r.FromSeconds >= verdict.Shortest.Seconds() {
			rated = theme.Rate(rate)
		}
		row := cells(fmt.Sprintf("%s/%d", r.Host, r.Process), string(r.State), rated,
			quantile(l, l.P50), quantile(l, l.P99), r.BoundBy.Limit.String(), r.Note)
		if !r.Counted {
			row[1].Class = "bad"
		}
		if beside {
			row = slices.Insert(row, 1, cells(r.Command, r.Topic)...)
		}
		t.Rows = append(t.Rows, row)
	}
	t.Note = moreThan(len(p.r.Processes))
	return t
}

// moreThan says that a table leaves rows out; "": it has all.
func moreThan(rows int) string {
	if rows <= maxRows {
		return ""
	}
	return theme.Plural(rows-maxRows, "more row is", "more rows are") + " in the run that this page holds: kt report FILE --output json."
}

// brokers has a row for each broker, of its requests of one kind.
func brokers(id, caption string, rows []result.BrokerRow) Table {
	t := Table{
		ID: id, Caption: caption,
		Heads: slices.Concat(numbers("id"), texts("address"), numbers("records", "MiB", "p50", "p99", "max", "throttled", "unanswered")),
	}
	var records, p99 []float64
	for _, b := range rows {
		l := b.Latency
		carried, mib := "–", "–"
		if report.Counted(b) {
			carried, mib = theme.Rate(float64(b.Records)), theme.Number(b.MiB)
		}
		row := cells(strconv.Itoa(int(b.ID)), b.Addr, carried, mib, quantile(l, l.P50), quantile(l, l.P99), quantile(l, l.Max),
			theme.Duration(millis(b.ThrottleMS)), theme.Count(b.Failed))
		if b.Failed > 0 {
			row[8].Class = "warn"
		}
		t.Rows = append(t.Rows, row)
		records, p99 = append(records, float64(b.Records)), append(p99, float64(l.P99))
	}
	bars(t.Rows, 2, records)
	bars(t.Rows, 5, p99)
	return t
}

func (p *runPage) partitions() Block {
	t := Table{ID: "partitions", Heads: slices.Concat(texts("partition"), numbers("leader", "records", "MiB")), Note: moreThan(len(p.r.Partitions))}
	if p.writes {
		t.Heads = append(t.Heads, numbers("mean", "p99", "max", "longest gap")...)
	}
	if p.reads {
		t.Heads = append(t.Heads, numbers("read", "lag")...)
	}
	var records, p99 []float64
	total, top := int64(0), int64(0)
	for i := range p.r.Partitions {
		x := &p.r.Partitions[i]
		n := x.Records
		if !p.writes {
			n = x.Consumed
		}
		total, top = total+n, max(top, n)
		if i < maxRows {
			t.Rows = append(t.Rows, p.partition(x, n))
			records, p99 = append(records, float64(n)), append(p99, float64(x.ServiceP99US))
		}
	}
	bars(t.Rows, 2, records)
	if p.writes {
		bars(t.Rows, 5, p99)
	}
	count := max(p.r.Environment.Partitions(), len(p.r.Partitions)) // one that got nothing has no row
	t.Caption = theme.Plural(count, "partition", "partitions")
	if total > 0 {
		t.Caption += fmt.Sprintf("; skew %s (the fullest, in means)", theme.Number(float64(top)*float64(count)/float64(total)))
	}
	const open = 12 // rows that nobody has to scroll past
	if len(t.Rows) > open {
		return Details{Summary: t.Caption, Blocks: []Block{t}}
	}
	return t
}

// partition returns the row of a partition with n records.
func (p *runPage) partition(x *result.PartitionRow, n int64) []Cell {
	name, mib := strconv.Itoa(int(x.ID)), x.MiB
	if x.Topic != "" {
		name = x.Topic + "/" + name
	}
	if !p.writes {
		mib = x.ConsumedMiB
	}
	row := cells(name, strconv.Itoa(int(x.Leader)), theme.Count(n), theme.Number(mib))
	if p.writes {
		gap := "–"
		if g := x.LongestGap; g != nil {
			gap = theme.Duration(millis(g.LengthMS))
		}
		row = append(row, cells(latencyOrNone(x.ServiceMeanUS), latencyOrNone(x.ServiceP99US), latencyOrNone(x.ServiceMaxUS), gap)...)
	}
	if p.reads {
		row = append(row, cells(theme.Count(x.Consumed), x.ConsumerLag.Or("–", theme.Count))...)
	}
	return row
}

func latencyOrNone(us int64) string {
	if us == 0 {
		return "–"
	}
	return theme.Duration(micros(us))
}

// conclusions are the stages, what verification found, and how steady the run was.
func (p *runPage) conclusions() []Block {
	var notes Notes
	if s := p.say.Verification; s != "" {
		class := ""
		if p.say.Bad {
			class = "bad"
		}
		notes = append(notes, Note{"verification", s, class})
		for _, account := range p.say.Account {
			notes = append(notes, Note{"", account, ""})
		}
	}
	if p.say.Stability != "" {
		notes = append(notes, Note{"stability", p.say.Stability, ""})
	}
	if w := p.r.Warmup; w != nil {
		n := max(w.Records.Offered, w.Records.Consumed)
		notes = append(notes, Note{"warm-up", theme.Plural(n, "record", "records") + " left out of all figures", ""})
	}
	if l := p.r.ConsumerLag; l != nil {
		of := func(n int64) string { return theme.Plural(n, "record", "records") }
		text := fmt.Sprintf("%s at the end of the load, %s at most", l.Records.Or("not known", of), l.Max.Or("not known", theme.Count))
		if l.KeptUp != nil && *l.KeptUp {
			text += ": kept up"
		} else if l.KeptUp != nil {
			text += ": not kept up"
		}
		notes = append(notes, Note{"consumer lag", text, ""})
	}
	return []Block{p.stages(), notes}
}

func (p *runPage) stages() Table {
	t := Table{
		ID: "stages", Caption: "Stages of the target",
		Heads: slices.Concat(numbers("stage", "from", "to", "target/s", "rate/s", "p50", "p99", "p99.9", "max"), texts("valid")),
	}
	for i, s := range p.r.Stages {
		target := theme.Rate(s.TargetFrom)
		if s.TargetTo != s.TargetFrom {
			target += " … " + theme.Rate(s.TargetTo)
		}
		rate, l := s.RecordsPerSecond, s.Response
		if !p.writes {
			rate = s.ReadRecordsPerSecond
		}
		if s.EndToEnd != nil {
			l = *s.EndToEnd
		}
		valid := Cell{Text: "yes", Class: "good"}
		switch {
		case s.MeasuredSeconds == 0:
			valid = Cell{Text: "not measured", Class: "muted"}
		case !s.Valid:
			valid = Cell{Text: "not valid: " + s.Invalid[0], Class: "bad"}
		case s.TargetReached != nil:
			valid = Cell{Text: theme.Percent(*s.TargetReached) + " of the target", Class: "warn"}
		}
		t.Rows = append(t.Rows, append(cells(strconv.Itoa(i+1), theme.Duration(seconds(s.FromSeconds)), theme.Duration(seconds(s.ToSeconds)), target,
			theme.Rate(rate), quantile(l, l.P50), quantile(l, l.P99), quantile(l, l.P999), quantile(l, l.Max)), valid))
	}
	return t
}
