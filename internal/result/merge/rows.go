package merge

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// row returns the row of a process. If it counts, its rates are over the same time as those of the whole.
func (p *mergedPart) row(whole *result.Result) result.ProcessRow {
	r := &p.doc
	row := result.ProcessRow{
		Host: p.part.Host, Process: p.number, RunID: p.header.RunID, Command: string(p.header.Plan.Command),
		State: p.state, Counted: p.counted, Note: p.note(), CoresAvailable: r.Client.CoresAvailable,
		Valid: r.Valid, Invalid: r.Invalid, BoundBy: r.BoundBy,
		Figures: result.Figures{
			Records: r.Records, Errors: r.Errors, Bytes: r.Throughput.Bytes, ConsumedBytes: p.total.ConsumedBytes,
			Response: r.Latency.Response, Service: r.Latency.Service, EndToEnd: r.Latency.EndToEnd,
			CPUCores: p.cores, PeakResidentBytes: r.Client.PeakResidentBytes,
		},
	}
	if a := p.start.Agreed; a != nil {
		row.StartLateUS = new(a.Late.Microseconds())
	}
	if p.measured {
		row.FromSeconds, row.ToSeconds = (p.from + p.shift).Seconds(), (p.to + p.shift).Seconds()
	}
	if whole.NotAddedUp != "" {
		row.Topic = few(p.topicNames(), ", ")
	}
	did, sending, reading := cmp.Or(p.did, p.total), whole.Throughput.Seconds, 0.0
	if whole.Fetch != nil {
		reading = whole.Fetch.Seconds
	}
	if !p.counted || whole.NotAddedUp != "" {
		did, sending, reading = p.total, (p.to - p.from).Seconds(), (p.to - p.from).Seconds()
	}
	if sending >= verdict.Shortest.Seconds() { // over less, one record more or less would change the rate
		row.RecordsPerSecond, row.MiBPerSecond = float64(did.Acknowledged)/sending, float64(did.Bytes)/mib/sending
	}
	if reading >= verdict.Shortest.Seconds() {
		row.ConsumedPerSecond, row.ConsumedMiB = float64(did.Consumed)/reading, float64(did.ConsumedBytes)/mib/reading
	}
	return row
}

// note returns what happened to the part, "" if all went well.
func (p *mergedPart) note() string {
	switch over := p.ended().Seconds(); {
	case p.corrupt != nil:
		return fmt.Sprintf("its run file is corrupt: %v; it is good up to %.1f s", p.corrupt, over)
	case p.state == result.PartRunning:
		return fmt.Sprintf("its figures are up to %.1f s", over)
	case p.state == result.PartLost:
		return fmt.Sprintf("its run file stops at %.1f s", over)
	case p.state == result.PartLate:
		late := p.start.Agreed.Late.Round(time.Millisecond)
		return fmt.Sprintf("it began %s %s the agreed start", late.Abs(), map[bool]string{true: "before", false: "after"}[late < 0])
	case p.ranOn > 0:
		before := map[bool]string{false: ", before its first record"}[p.measured]
		return fmt.Sprintf("somebody ended it at %.1f s%s: most others ran on to %.1f s", p.trailer.SendingSeconds, before, p.ranOn.Seconds())
	case p.doc.ReadEnd == result.ReadFailed:
		return "reading could not go on: " + p.doc.ReadError
	case !p.measured:
		return result.NothingMeasured
	case p.state == result.PartStopped:
		return "somebody ended it"
	}
	return ""
}

// addNumbers adds the numbers of a struct, of those in it, and of its maps of errors. Latencies stay: they come from merged histograms.
func addNumbers[T any](to, from *T) {
	addValues(reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem())
}

func addValues(to, from reflect.Value) {
	switch codes, isMap := from.Interface().(result.Errors); {
	case isMap:
		for code, n := range codes {
			to.Interface().(result.Errors)[code] += n
		}
	case to.Kind() == reflect.Int64:
		to.SetInt(to.Int() + from.Int())
	case to.Kind() == reflect.Float64:
		to.SetFloat(to.Float() + from.Float())
	case to.Kind() == reflect.Struct && to.Type() != reflect.TypeFor[result.Latency]():
		for i := range to.NumField() {
			addValues(to.Field(i), from.Field(i))
		}
	}
}

// missing returns a row for each process of the roster without a run file.
func (m *merge) missing() []result.ProcessRow {
	there := make(map[string]bool) // by label
	for _, p := range m.parts {
		there[p.label()] = true
	}
	var rows []result.ProcessRow
	for _, name := range slices.Sorted(maps.Keys(m.roster)) {
		member := m.roster[name]
		for n := member.Before + 1; n <= member.Before+member.Processes; n++ {
			if there[label(name, n)] {
				continue
			}
			rows = append(rows, result.ProcessRow{
				Host: name, Process: n, State: result.PartMissing, Note: "it left no run file",
				Figures: result.Figures{Errors: result.Errors{}}, Invalid: []string{}, BoundBy: verdict.Verdict{Limit: verdict.Unknown, Evidence: "nothing was measured"},
			})
		}
	}
	return rows
}

// rows returns the processes and hosts of the merged result.
func (m *merge) rows(whole *result.Result) (processes []result.ProcessRow, list []result.HostRow) {
	hosts, sums := make(map[string]*result.HostRow), make(map[string]*stats.Window)
	for name, member := range m.roster {
		entry(&hosts, name).Role = member.Role
	}
	processes = m.missing()
	for _, p := range slices.Concat(m.parts, m.watched) { // the first file that knows it decides
		h := entry(&hosts, p.part.Host)
		h.Role, h.Machine = cmp.Or(h.Role, p.part.Role), cmp.Or(h.Machine, p.header.Environment.Host.Machine)
		if len(h.Tags) == 0 {
			h.Tags = p.part.Tags
		}
		if a := p.start.Agreed; a != nil && h.ClockOffsetUS == nil {
			h.ClockOffsetUS, h.ClockBoundUS = new(a.Offset.Microseconds()), new(a.Bound.Microseconds())
		}
	}
	for _, p := range m.parts {
		row, h := p.row(whole), entry(&hosts, p.part.Host)
		processes = append(processes, row)
		if !p.counted {
			continue
		}
		h.Counted++
		if m.separate != "" {
			continue
		}
		if h.Errors == nil {
			h.Errors = result.Errors{}
		}
		addNumbers(&h.Figures, &row.Figures)
		entry(&sums, row.Host).Add(&stats.Window{Response: p.total.Response, Service: p.total.Service, Read: stats.Read{EndToEnd: p.total.EndToEnd}})
	}
	for i := range processes {
		entry(&hosts, processes[i].Host).Processes++
	}
	slices.SortStableFunc(processes, func(a, b result.ProcessRow) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Process, b.Process))
	})
	for _, name := range slices.Sorted(maps.Keys(hosts)) {
		h := hosts[name]
		h.Host = name
		if sum := sums[name]; sum != nil {
			h.Response, h.Service, h.EndToEnd = result.LatencyOf(&sum.Response), result.LatencyOf(&sum.Service), result.EndToEndOf(&sum.EndToEnd)
		} else {
			h.Errors = result.Errors{}
		}
		list = append(list, *h)
	}
	return processes, list
}

// busy sets the use of each watched host: in the overlap, or without one in the whole run.
func (m *merge) busy(hosts []result.HostRow, o result.Overlap) error {
	from, to := o.FromSeconds, o.ToSeconds
	if o.Seconds == 0 {
		from, to = 0, o.SpanSeconds
	}
	sums := make(map[string]*BusySum)
	for _, p := range m.watched {
		shift := p.began().Sub(m.first.began())
		err := entry(&sums, p.part.Host).read(p.runFile, seconds(from)-shift, seconds(to)-shift)
		if errors.As(err, &p.bad) {
			err = p.cutAt(p.bad)
		}
		if err != nil {
			return err
		}
	}
	for i := range hosts {
		h := &hosts[i]
		if sum := sums[h.Host]; sum != nil && sum.Seconds > 0 {
			h.Busy = &sum.Busy
			h.Busy.OfSeconds = to - from
		}
	}
	return nil
}
