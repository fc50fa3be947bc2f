package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/theme"
)

// maxProcesses is how many processes a table has, and hosts: about a screen.
const maxProcesses = 30

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
	if r.NotAddedUp != "" {
		s.Blocks = append(s.Blocks, details(r))
	}
	if merged(r) {
		s.Blocks = append(s.Blocks, processTable(r), busy(r))
	}
	return s
}

// processes is the table of processes while it is made.
type processes struct {
	*doc.Table
	separate      bool // not added up
	counts        bool // in place of rates: too little was measured
	writes, reads bool // some process does
	hosts, parts  adding
}

// adding rounds rates of writing and reading so that the rounded ones add up.
type adding struct{ exact, rounded [2]float64 }

func (a *adding) round(f *result.Figures) {
	for i, rate := range []*float64{&f.RecordsPerSecond, &f.ConsumedPerSecond} {
		a.exact[i] += *rate
		*rate = math.Round(a.exact[i]) - a.rounded[i]
		a.rounded[i] += *rate
	}
}

// processTable has a row for each process below the row of its host, and the total. Processes that are not added up have their topics
// instead of hosts and a total.
func processTable(r *result.Result) *doc.Table {
	t := newProcesses(r)
	hosts, several := make(map[string]*result.HostRow), false // processes on some host
	for i := range r.Hosts {
		hosts[r.Hosts[i].Host] = &r.Hosts[i]
		several = several || r.Hosts[i].Processes > 1
	}
	counted, last, cores := 0, "", 0.0
	for i := range r.Processes {
		p, h := r.Processes[i], hosts[r.Processes[i].Host]
		if p.Counted {
			counted++
			cores += p.CPUCores
		}
		if i >= maxProcesses {
			continue
		}
		if !t.separate && several && h != nil && (p.Host != last || i == 0) {
			f := h.Figures
			t.hosts.round(&f)
			t.row(doc.Loud, &f, "", true, share(h.Counted, h.Processes), "", h.Host, "")
		}
		if last = p.Host; !t.separate && p.Counted {
			t.parts.round(&p.Figures)
		}
		tone, state := stateOf(&p)
		long := p.ToSeconds-p.FromSeconds >= verdict.Shortest.Seconds() || p.Counted && !t.separate
		name := pick(several || t.separate || h == nil, nameOf(&p), p.Host)
		t.row(tone, &p.Figures, p.Command, long && p.State != result.PartMissing, state, p.BoundBy.Limit, name, p.Topic)
		if cells := t.Rows[len(t.Rows)-1].Cells; p.State == result.PartMissing {
			for i := range cells[2 : len(cells)-2] {
				cells[2+i].Text = none
			}
		}
	}
	if !t.separate {
		whole := wholeFigures(r)
		whole.CPUCores = cores
		t.row(doc.Loud, &whole, "", true, share(counted, len(r.Processes)), "", "total", "")
	}
	if more := len(r.Processes) - maxProcesses; more > 0 {
		t.Note = theme.Count(int64(more)) + " more: --output processes lists all"
	}
	return t.Table
}

// newProcesses finds what the processes do, and returns the table without rows.
func newProcesses(r *result.Result) *processes {
	t := &processes{separate: r.NotAddedUp != ""}
	_, rated := r.Quoted()
	t.counts = !rated && !t.separate
	both := false
	for _, p := range r.Processes {
		w, c := does(p.Command)
		t.writes, t.reads, both = t.writes || w, t.reads || c, both || w && c
	}
	if !t.writes && !t.reads {
		t.writes = writes(&r.Header)
		t.reads = !t.writes
	}
	response := pick(r.Throughput.TargetRecordsPerSecond == 0 && !t.separate, "latency, mostly queueing", "response")
	read := pick(r.Latency.EndToEnd != nil, ", end to end", "")
	caption := "writing, " + response
	switch {
	case both:
		caption = "round trip" + cmp.Or(read, ", "+response)
	case t.writes && t.reads:
		caption += "; reading" + read
	case t.reads:
		caption = "reading" + read
	}
	t.Table = doc.NewTable("process-table", caption, "process|name", pick(t.separate, "topic|name", ""),
		pick(t.writes, pick(t.counts, "records", "records/s"), ""), pick(t.reads, pick(t.counts, "read", "read/s"), ""), pick(t.writes != t.reads && !t.counts, "MiB/s|5", ""),
		"mean|7", "p50|3", "p99", "p99.9|6", "max|2", pick(t.writes, "failed", ""), "cores|4", "state|words", "bound by|words|page")
	return t
}

// row adds the figures of a process of a command, or of several.
func (t *processes) row(tone doc.Tone, f *result.Figures, command string, rated bool, state doc.Cell, limit verdict.Limit, name, topic string) {
	w, c := does(command)
	if !w && !c { // it may have done anything
		w, c = t.writes, t.reads
	}
	l := new(result.Latency) // of a process that reads end to end; nothing for several that differ
	switch {
	case c && f.EndToEnd != nil && (command != "" || !t.writes || f.Response.Count == 0 || t.Caption == "round trip, end to end"):
		l = f.EndToEnd
	case w && (command != "" || !t.reads || f.EndToEnd == nil):
		l = &f.Response
	}
	rate := func(does bool, records int64, perSecond float64) string {
		return pick(!does || !t.counts && !rated, none, pick(t.counts, theme.Count(records), theme.PerSecond(perSecond)))
	}
	t.Add(name, topic, rate(w, f.Records.Acknowledged, f.RecordsPerSecond), rate(c, f.Records.Consumed, f.ConsumedPerSecond),
		pick(rated, theme.Number(f.MiBPerSecond+f.ConsumedMiB), none), latencyOf(l, l.Mean), latencyOf(l, l.P50), latencyOf(l, l.P99), latencyOf(l, l.P999), latencyOf(l, l.Max),
		pick(w, theme.Count(f.Records.Failed), none), pick(f.CPUCores > 0, theme.Number(f.CPUCores), none), state, limit.String()).Tone = tone
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
	}
	return doc.Plain, doc.Cell{Text: string(p.State), Tone: pick(p.State != result.PartComplete, doc.Warn, doc.Plain)}
}

// share says how many of some processes count, if not all do.
func share(n, of int) doc.Cell {
	return pick(n == of, doc.Cell{}, doc.Cell{Text: fmt.Sprintf("%d of %d", n, of), Tone: doc.Warn})
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

// busy is how busy the hosts were that somebody watched.
func busy(r *result.Result) *doc.Table {
	t := doc.NewTable("busy", "how busy the hosts were; dirty pages at most, the busiest disk and network",
		"host|name", "role|words|1", "CPU", "steal|4", "cache|6", "dirty|5", "disk|words", "network out / in|words", "heap|3", "GC|2")
	var blind, notes []string
	watched := 0
	for i := range r.Hosts {
		h := &r.Hosts[i]
		b := h.Busy
		if b == nil {
			blind = append(blind, h.Host)
			continue
		}
		if watched++; watched > maxProcesses {
			continue
		}
		heap, gc := jvm(b.Brokers)
		cores, memory := b.Cores > 0, b.MemoryBytes > 0
		row := t.Add(h.Host, cmp.Or(h.Role, none), doc.Cell{Text: pick(cores, theme.Percent(b.CPUShare)+fmt.Sprintf(" of %.0f", b.Cores), none), Bar: b.CPUShare},
			pick(cores, theme.Percent(b.StealShare), none), pick(memory, theme.Bytes(b.CacheBytes), none), pick(memory, theme.Bytes(b.DirtyBytesMax), none),
			disk(b.Disks), network(b.Networks), heap, gc)
		row.NoteTone = doc.Warn
		for _, b := range b.Brokers {
			if m := (host.Maps{PID: b.PID, Used: b.MapsMax, Limit: b.MapsLimit}); m.Near() {
				row.Note = m.String()
			}
		}
	}
	if watched > maxProcesses {
		notes = append(notes, fmt.Sprintf("%d more: --output json lists all", watched-maxProcesses))
	}
	if n := len(blind) - maxLeftOut; n > 0 {
		blind = append(blind[:maxLeftOut], fmt.Sprintf("%d more", n))
	}
	if len(blind) > 0 && watched > 0 {
		notes = append(notes, "not watched: "+strings.Join(blind, ", "))
	}
	t.Note = strings.Join(notes, "; ")
	return t
}

// disk returns the busiest one.
func disk(disks []result.BusyDisk) string {
	if len(disks) == 0 {
		return none
	}
	d := slices.MaxFunc(disks, func(a, b result.BusyDisk) int { return cmp.Compare(a.BusyShare, b.BusyShare) })
	return d.Name + " " + theme.Percent(d.BusyShare)
}

// network returns the interface that was used most for its speed; among those that do not tell it, most of all.
func network(nics []result.BusyNetwork) string {
	if len(nics) == 0 {
		return none
	}
	n := slices.MaxFunc(nics, func(a, b result.BusyNetwork) int {
		return cmp.Or(cmp.Compare(max(a.SentShare, a.ReceivedShare), max(b.SentShare, b.ReceivedShare)),
			cmp.Compare(a.SentMiB+a.ReceivedMiB, b.SentMiB+b.ReceivedMiB))
	})
	return n.Name + " " + pick(n.SpeedBits == 0, theme.Number(n.SentMiB)+" / "+theme.Number(n.ReceivedMiB)+" MiB/s", theme.Percent(n.SentShare)+" / "+theme.Percent(n.ReceivedShare))
}

// jvm returns the fullest heap of the brokers on a host, and the largest share of time that garbage collection took.
func jvm(brokers []result.BusyBroker) (heap, gc string) {
	if !slices.ContainsFunc(brokers, result.BusyBroker.Known) {
		return none, none
	}
	var used, share float64
	var bytes int64
	for _, b := range brokers {
		if b.HeapMax > 0 {
			used = max(used, float64(b.HeapUsedMax)/float64(b.HeapMax))
		}
		bytes, share = max(bytes, b.HeapUsedMax), max(share, b.GCShare)
	}
	return pick(used == 0, theme.Bytes(bytes), theme.Percent(used)), theme.Percent(share)
}
