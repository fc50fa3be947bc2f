package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/theme"
)

const (
	maxProcesses = 30 // processes and hosts of a table: about a screen
	maxWatched   = 30
)

// party returns the run, the processes and the hosts of a merged result.
func party(r *result.Result) []string {
	var tags []string
	if r.Part != nil && r.Part.Run != "" {
		tags = append(tags, "run "+r.Part.Run)
	}
	hosts := make(map[string]bool)
	for _, p := range r.Processes {
		hosts[p.Host] = true
	}
	return append(tags, fmt.Sprintf("%s on %s", theme.Plural(len(r.Processes), "process", "processes"), plural(len(hosts), "host")))
}

// processSection has the processes of a merged result, and how busy their hosts were.
func processSection(r *result.Result) doc.Section {
	s := doc.Section{ID: "processes", Title: "Processes and hosts", Captions: true}
	if merged(r) {
		for _, a := range aspects(r) {
			s.Tables = append(s.Tables, a.table(r))
		}
		s.Tables = append(s.Tables, busy(r))
	}
	if r.NotAddedUp != "" {
		s.Facts = details(r)
	}
	return s
}

// aspect is what a table of processes is about: what they wrote, what they read, or the
// round trip.
type aspect struct {
	id, title     string
	writes, reads bool
	latency       func(*result.Figures) *result.Latency // nil: none was measured
}

// aspects returns the tables that a result needs: two where some processes only wrote and
// others only read, as one column cannot hold the latencies of both.
func aspects(r *result.Result) []aspect {
	name := "response"
	if r.Throughput.TargetRecordsPerSecond == 0 && r.NotAddedUp == "" {
		name = "latency, mostly queueing"
	}
	response := func(f *result.Figures) *result.Latency { return &f.Response }
	write := aspect{id: "process-table", title: "writing, " + name, writes: true, latency: response}
	read := aspect{id: "reader-table", title: "reading", reads: true}
	if r.Latency.EndToEnd != nil {
		read.title, read.latency = "reading, end to end", func(f *result.Figures) *result.Latency { return f.EndToEnd }
	}
	var wrote, consumed, both bool
	for _, p := range r.Processes {
		w, c := does(p.Command)
		wrote, consumed, both = wrote || w, consumed || c, both || w && c
	}
	switch {
	case both && read.latency != nil:
		return []aspect{{id: write.id, title: "round trip, end to end", writes: true, reads: true, latency: read.latency}}
	case both:
		return []aspect{{id: write.id, title: "round trip, " + name, writes: true, reads: true, latency: response}}
	case wrote && consumed:
		return []aspect{write, read}
	case consumed || !writes(&r.Header):
		return []aspect{read}
	}
	return []aspect{write}
}

// has reports whether a table is about a process too. One that nothing is there of may
// have done anything.
func (a aspect) has(p *result.ProcessRow) bool {
	w, c := does(p.Command)
	return !w && !c || a.writes && w || a.reads && c
}

// figureColumn is a column of figures of a process.
type figureColumn struct {
	head  string
	leave int
	rate  bool // one that is too short has none
	cell  func(f *result.Figures) string
}

// columns are those of the figures. Where too little was measured for rates there are counts.
func (a aspect) columns(counts bool) (all []figureColumn) {
	add := func(is bool, c figureColumn) {
		if is {
			all = append(all, c)
		}
	}
	add(a.writes && counts, figureColumn{head: "records", cell: func(f *result.Figures) string { return theme.Count(f.Records.Acknowledged) }})
	add(a.writes && !counts, figureColumn{head: "records/s", rate: true, cell: func(f *result.Figures) string { return theme.PerSecond(f.RecordsPerSecond) }})
	add(a.reads && counts, figureColumn{head: "read", cell: func(f *result.Figures) string { return theme.Count(f.Records.Consumed) }})
	add(a.reads && !counts, figureColumn{head: "read/s", rate: true, cell: func(f *result.Figures) string { return theme.PerSecond(f.ConsumedPerSecond) }})
	add(a.writes && !a.reads && !counts, figureColumn{"MiB/s", 5, true, func(f *result.Figures) string { return theme.Number(f.MiBPerSecond) }}) // both have no room for it
	add(a.reads && !a.writes && !counts, figureColumn{"MiB/s", 5, true, func(f *result.Figures) string { return theme.Number(f.ConsumedMiB) }})
	for _, q := range []struct {
		name  string
		leave int
		of    func(l *result.Latency) result.Micros
	}{
		{"mean", 7, func(l *result.Latency) result.Micros { return l.Mean }},
		{"p50", 3, func(l *result.Latency) result.Micros { return l.P50 }},
		{"p99", 0, func(l *result.Latency) result.Micros { return l.P99 }},
		{"p99.9", 6, func(l *result.Latency) result.Micros { return l.P999 }},
		{"max", 2, func(l *result.Latency) result.Micros { return l.Max }},
	} {
		add(a.latency != nil, figureColumn{head: q.name, leave: q.leave, cell: func(f *result.Figures) string {
			if l := a.latency(f); l != nil {
				return latencyOf(l, q.of(l))
			}
			return none
		}})
	}
	add(a.writes, figureColumn{head: "failed", cell: func(f *result.Figures) string { return theme.Count(f.Records.Failed) }})
	add(true, figureColumn{head: "cores", leave: 4, cell: func(f *result.Figures) string {
		if f.CPUCores == 0 {
			return none
		}
		return theme.Number(f.CPUCores)
	}})
	return all
}

// adder gives a table the columns, and returns the function that adds a row of figures.
func adder(t *doc.Table, columns []figureColumn) func(tone doc.Tone, f *result.Figures, rated bool, state doc.Cell, limit verdict.Limit, names ...string) {
	for _, c := range columns {
		t.Columns = append(t.Columns, doc.Column{Head: c.head, Leave: c.leave})
	}
	t.Columns = append(t.Columns, doc.Column{Head: "state", Kind: doc.Words}, doc.Column{Head: "bound by", Kind: doc.Words, For: doc.InPage})
	return func(tone doc.Tone, f *result.Figures, rated bool, state doc.Cell, limit verdict.Limit, names ...string) {
		cells := doc.Of(names...)
		for _, c := range columns {
			text := c.cell(f)
			if c.rate && !rated {
				text = none
			}
			cells = append(cells, doc.Cell{Text: text})
		}
		t.Rows = append(t.Rows, doc.Row{Tone: tone, Cells: append(cells, state, doc.Cell{Text: string(limit)})})
	}
}

// table has a row for each process below the row of its host, and the total. Processes that are not added up have their topics instead of
// hosts and a total.
func (a aspect) table(r *result.Result) doc.Table {
	t := doc.Table{ID: a.id, Caption: a.title, Columns: []doc.Column{{Head: "process", Kind: doc.Name}}}
	separate := r.NotAddedUp != ""
	_, rated := r.Quoted()
	columns := a.columns(!rated && !separate)
	if separate {
		t.Columns = append(t.Columns, doc.Column{Head: "topic", Kind: doc.Name})
	} else {
		r = adding(r)
	}
	add := adder(&t, columns)
	hosts, several := make(map[string]*result.HostRow), false // processes on some host
	for i := range r.Hosts {
		h := &r.Hosts[i]
		hosts[h.Host] = h
		several = several || h.Processes > 1
	}
	last, shown, more := "", 0, 0
	whole := wholeFigures(r)
	whole.CPUCores = 0
	counted, all := 0, 0
	for i := range r.Processes {
		p := &r.Processes[i]
		if !a.has(p) {
			continue
		}
		if all++; p.Counted {
			whole.CPUCores += p.CPUCores
			counted++
		}
		if shown++; shown > maxProcesses {
			more++
			continue
		}
		h := hosts[p.Host]
		if !separate && several && h != nil && (p.Host != last || shown == 1) {
			add(doc.Loud, &h.Figures, true, share(h.Counted, h.Processes), "", h.Host)
		}
		last = p.Host
		names := []string{p.Host}
		if several || separate || h == nil {
			names[0] += "/" + strconv.Itoa(p.Process)
		}
		if separate {
			names = append(names, p.Topic)
		}
		tone, state := stateOf(p)
		long := p.ToSeconds-p.FromSeconds >= verdict.Shortest.Seconds() || p.Counted && !separate
		add(tone, &p.Figures, long, state, p.BoundBy.Limit, names...)
		if row := &t.Rows[len(t.Rows)-1]; p.State == result.PartMissing {
			for i := range row.Cells[len(names) : len(row.Cells)-2] {
				row.Cells[len(names)+i].Text = none
			}
		}
	}
	if !separate {
		add(doc.Loud, &whole, true, share(counted, all), "", "total")
	}
	if more > 0 {
		t.Note = theme.Count(int64(more)) + " more: --output processes lists all"
	}
	return t
}

// stateOf returns the tone of the row of a process, and its state.
func stateOf(p *result.ProcessRow) (doc.Tone, doc.Cell) {
	switch {
	case !p.Counted:
		return doc.Muted, doc.Cell{Text: string(p.State), Tone: doc.Bad}
	case p.BoundBy.Limit == verdict.ReadFailed:
		return doc.Plain, doc.Cell{Text: "reading failed", Tone: doc.Bad}
	case !p.Valid:
		return doc.Plain, doc.Cell{Text: "not valid", Tone: doc.Bad}
	case p.State != result.PartComplete:
		return doc.Plain, doc.Cell{Text: string(p.State), Tone: doc.Warn}
	}
	return doc.Plain, doc.Cell{Text: string(p.State)}
}

// share says how many of some processes count, if not all do.
func share(n, of int) doc.Cell {
	if n == of {
		return doc.Cell{}
	}
	return doc.Cell{Text: fmt.Sprintf("%d of %d", n, of), Tone: doc.Warn}
}

// adding returns a result of which the rates in a table are whole numbers that add up: those of
// the hosts to the total, and those of a host's processes to the host's.
func adding(of *result.Result) *result.Result {
	r := *of
	r.Hosts, r.Processes = slices.Clone(r.Hosts), slices.Clone(r.Processes)
	for _, rate := range []func(*result.Figures) *float64{
		func(f *result.Figures) *float64 { return &f.RecordsPerSecond },
		func(f *result.Figures) *float64 { return &f.ConsumedPerSecond },
	} {
		whole := wholeFigures(&r)
		var hosts []*float64
		for i := range r.Hosts {
			hosts = append(hosts, rate(&r.Hosts[i].Figures))
		}
		roundTo(math.Round(*rate(&whole)), hosts)
		for i := range r.Hosts {
			var parts []*float64
			for k := range r.Processes {
				if p := &r.Processes[k]; p.Host == r.Hosts[i].Host && p.Counted {
					parts = append(parts, rate(&p.Figures))
				}
			}
			roundTo(*rate(&r.Hosts[i].Figures), parts)
		}
	}
	return &r
}

// roundTo rounds numbers to whole ones that add up to sum, if they themselves nearly do: those
// with the greatest fractions are rounded up.
func roundTo(sum float64, parts []*float64) {
	exact, down := 0.0, 0.0
	for _, p := range parts {
		exact += *p
		down += math.Floor(*p)
	}
	if math.Abs(exact-sum) > 1 {
		return // the sum is not of these
	}
	order := slices.Clone(parts)
	slices.SortStableFunc(order, func(a, b *float64) int {
		return cmp.Compare(*b-math.Floor(*b), *a-math.Floor(*a))
	})
	for i, p := range order {
		if *p = math.Floor(*p); float64(i) < sum-down {
			*p++
		}
	}
}

// wholeFigures returns the figures of all processes that count.
func wholeFigures(r *result.Result) result.Figures {
	f := result.Figures{
		Records: r.Records, RecordsPerSecond: r.Throughput.RecordsPerSecond, MiBPerSecond: r.Throughput.MiBPerSecond,
		Response: r.Latency.Response, EndToEnd: r.Latency.EndToEnd, CPUCores: r.Client.CPUCores,
	}
	if r.Fetch != nil {
		f.ConsumedPerSecond, f.ConsumedMiB = r.Fetch.RecordsPerSecond, r.Fetch.MiBPerSecond
	}
	return f
}
