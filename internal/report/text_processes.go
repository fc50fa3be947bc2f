package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/theme"
)

// maxProcesses is how many processes a summary lists: about a screen.
const maxProcesses = 30

// aspect is what a table of processes is about: what they wrote, what they read, or the
// round trip.
type aspect struct {
	title         string
	writes, reads bool
	latency       func(*result.Figures) *result.Latency // nil: none was measured
}

func response(f *result.Figures) *result.Latency { return &f.Response }

func endToEndLatency(f *result.Figures) *result.Latency { return f.EndToEnd }

// aspects returns the tables that a result needs: two where some processes only wrote and
// others only read, as one column cannot hold the latencies of both.
func aspects(r result.Result) []aspect {
	name := "response"
	if r.Throughput.TargetRecordsPerSecond == 0 && r.NotAddedUp == "" {
		name = "latency, mostly queueing"
	}
	write := aspect{title: "writing, " + name, writes: true, latency: response}
	read := aspect{title: "reading", reads: true}
	if r.Latency.EndToEnd != nil {
		read = aspect{title: "reading, end to end", reads: true, latency: endToEndLatency}
	}
	var wrote, consumed, both bool
	for _, p := range r.Processes {
		w, c := does(p.Command)
		wrote, consumed, both = wrote || w, consumed || c, both || w && c
	}
	switch {
	case both && read.latency != nil:
		return []aspect{{title: "round trip, end to end", writes: true, reads: true, latency: endToEndLatency}}
	case both:
		return []aspect{{title: "round trip, " + name, writes: true, reads: true, latency: response}}
	case wrote && consumed:
		return []aspect{write, read}
	case consumed || !writes(r.Header):
		return []aspect{read}
	}
	return []aspect{write}
}

// does reports whether a command writes, and whether it reads.
func does(command string) (writes, reads bool) {
	c := plan.Command(command)
	return c == plan.Produce || c == plan.Roundtrip, c == plan.Consume || c == plan.Roundtrip
}

// has reports whether a table is about a process too. One that nothing is there of may
// have done anything.
func (a aspect) has(p *result.ProcessRow) bool {
	w, c := does(p.Command)
	return !w && !c || a.writes && w || a.reads && c
}

// heads are those of the columns. Where too little was measured for rates there are
// counts.
func (a aspect) heads(short bool) []string {
	heads, per := []string{"process"}, "/s"
	if short {
		per = ""
	}
	if a.writes {
		heads = append(heads, "records"+per)
	}
	if a.reads {
		heads = append(heads, "read"+per)
	}
	if a.writes != a.reads && !short { // both have no room for it
		heads = append(heads, "MiB/s")
	}
	if a.latency != nil {
		heads = append(heads, "mean", "p50", "p99", "p99.9", "max")
	}
	if a.writes {
		heads = append(heads, "failed")
	}
	return append(heads, "cores", "state")
}

// pace is what rates there are of a row.
type pace int

const (
	rated   pace = iota
	unrated      // this process was measured for too short a time
	tallied      // all were: records are counted
)

// cells returns the fields of a row, between its name and its state.
func (a aspect) cells(f *result.Figures, none string, p pace) []string {
	var cells []string
	rate := func(text string) {
		if p == unrated {
			text = none
		}
		cells = append(cells, text)
	}
	records, read := theme.PerSecond(f.RecordsPerSecond), theme.PerSecond(f.ConsumedPerSecond)
	if p == tallied {
		records, read = theme.Count(f.Records.Acknowledged), theme.Count(f.Records.Consumed)
	}
	if a.writes {
		rate(records)
	}
	if a.reads {
		rate(read)
	}
	switch {
	case p == tallied:
	case a.writes && !a.reads:
		rate(theme.Number(f.MiBPerSecond))
	case a.reads && !a.writes:
		rate(theme.Number(f.ConsumedMiB))
	}
	if a.latency != nil {
		l := a.latency(f)
		if l == nil || l.Ranked() == 0 {
			cells = append(cells, none, none, none, none, none)
		} else {
			for _, us := range []result.Micros{l.Mean, l.P50, l.P99, l.P999, l.Max} {
				cells = append(cells, theme.Duration(us.Duration()))
			}
		}
	}
	if a.writes {
		cells = append(cells, theme.Count(f.Records.Failed))
	}
	if f.CPUCores == 0 {
		return append(cells, none)
	}
	return append(cells, theme.Number(f.CPUCores))
}

// processes writes a row a process under the row of its host, and the total. Processes that are not added up
// have their topics instead of hosts and a total.
func (t *text) processes(r result.Result) {
	for _, a := range aspects(r) {
		t.line("")
		t.caption(a.title)
		short, p := tooShort(r) && r.NotAddedUp == "", rated
		if short {
			p = tallied
		}
		heads := a.heads(short)
		if r.NotAddedUp != "" {
			heads = slices.Insert(heads, 1, "topic")
			r.Hosts = nil
		}
		g := &grid{
			heads: heads,
			left:  map[int]bool{len(heads) - 1: true},
			leave: []string{"mean", "p99.9", "MiB/s", "cores", "p50", "max"},
		}
		r := r
		if r.NotAddedUp == "" {
			r = adding(r)
		} else {
			g.left[1], g.names = true, map[int]bool{1: true}
		}
		more := t.processRows(g, a, r, p)
		if r.NotAddedUp == "" {
			whole, n, of := a.whole(r)
			t.addRow(g, strong, "total", a.cells(&whole, string(t.th.Glyphs.Missing), p), share(n, of))
		}
		t.draw(g)
		if more > 0 {
			t.line("    " + t.th.Paint(muted, fmt.Sprintf("%c %s more: --output processes lists all", t.th.Glyphs.Ellipsis, theme.Count(int64(more)))))
		}
	}
}

// adding returns a result of which the rates in a table are whole numbers that add up: those of
// the hosts to the total, and those of a host's processes to the host's.
func adding(r result.Result) result.Result {
	r.Hosts, r.Processes = slices.Clone(r.Hosts), slices.Clone(r.Processes)
	for _, rate := range []func(*result.Figures) *float64{
		func(f *result.Figures) *float64 { return &f.RecordsPerSecond },
		func(f *result.Figures) *float64 { return &f.ConsumedPerSecond },
	} {
		whole := wholeFigures(r)
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
	return r
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

// processRows adds the rows of the first processes, and returns the number of the others.
func (t *text) processRows(g *grid, a aspect, r result.Result, all pace) (more int) {
	hosts := make(map[string]*result.HostRow)
	several := false // processes on some host
	for i := range r.Hosts {
		h := &r.Hosts[i]
		hosts[h.Host] = h
		several = several || h.Processes > 1
	}
	none := string(t.th.Glyphs.Missing)
	host, rows := "", 0
	for i := range r.Processes {
		p := &r.Processes[i]
		switch {
		case !a.has(p):
			continue
		case rows == maxProcesses:
			more++
			continue
		}
		rows++
		h := hosts[p.Host]
		if several && (p.Host != host || rows == 1) && h != nil {
			t.addRow(g, strong, t.name(h.Host), a.cells(&h.Figures, none, all), share(h.Counted, h.Processes))
		}
		host = p.Host
		name := "  " + strconv.Itoa(p.Process)
		switch {
		case h == nil:
			name = t.name(p.Host) + "/" + strconv.Itoa(p.Process)
		case !several:
			name = t.name(p.Host)
		}
		own := all
		if all == rated && (!p.Counted || r.NotAddedUp != "") && p.ToSeconds-p.FromSeconds < verdict.Shortest.Seconds() {
			own = unrated
		}
		cells := a.cells(&p.Figures, none, own)
		if r.NotAddedUp != "" {
			cells = slices.Insert(cells, 0, t.name(p.Topic))
		}
		t.processRow(g, name, p, cells)
	}
	return more
}

func (t *text) processRow(g *grid, name string, p *result.ProcessRow, cells []string) {
	style, stateStyle, state := plain, plain, string(p.State)
	switch {
	case !p.Counted:
		style, stateStyle = muted, bad
	case p.BoundBy.Limit == verdict.ReadFailed:
		stateStyle, state = bad, "reading failed"
	case !p.Valid:
		stateStyle, state = bad, "not valid"
	case p.State != result.PartComplete:
		stateStyle = warn
	}
	if p.State == result.PartMissing {
		for i := range cells {
			cells[i] = string(t.th.Glyphs.Missing)
		}
	}
	t.addRow(g, style, name, cells, gridCell{state, stateStyle})
}

func (t *text) addRow(g *grid, s theme.Style, name string, cells []string, state gridCell) {
	g.add(s, append([]string{name}, cells...)...)
	last := len(g.rows) - 1
	g.rows[last] = append(g.rows[last], state)
}

// share says how many of some processes count, if not all do.
func share(n, of int) gridCell {
	if n == of {
		return gridCell{}
	}
	return gridCell{fmt.Sprintf("%d of %d", n, of), warn}
}

// whole returns the figures of all the processes in a table that count, and how many of them
// do.
func (a aspect) whole(r result.Result) (f result.Figures, n, of int) {
	f = wholeFigures(r)
	f.CPUCores = 0
	for i := range r.Processes {
		p := &r.Processes[i]
		if !a.has(p) {
			continue
		}
		of++
		if p.Counted {
			f.CPUCores += p.CPUCores
			n++
		}
	}
	return f, n, of
}

// wholeFigures returns the figures of all processes that count.
func wholeFigures(r result.Result) result.Figures {
	f := result.Figures{
		Records: r.Records, RecordsPerSecond: r.Throughput.RecordsPerSecond, MiBPerSecond: r.Throughput.MiBPerSecond,
		Response: r.Latency.Response, EndToEnd: r.Latency.EndToEnd, CPUCores: r.Client.CPUCores,
	}
	if r.Fetch != nil {
		f.ConsumedPerSecond, f.ConsumedMiB = r.Fetch.RecordsPerSecond, r.Fetch.MiBPerSecond
	}
	return f
}
