package merge

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// row returns the row of a process. If it counts, its rates are over the same time as those of the whole: overlaps tells
// whether that is a part of the run only.
func (p *mergedPart) row(whole *result.Result, overlaps bool) result.ProcessRow {
	r := &p.doc
	row := result.ProcessRow{
		Host: p.part.Host, Process: p.number, RunID: p.header.RunID, Command: string(p.header.Plan.Command),
		State: p.state, Counted: p.counted, CoresAvailable: r.Client.CoresAvailable,
		Valid: r.Valid, Invalid: r.Invalid, BoundBy: r.BoundBy,
		Figures: result.Figures{
			Records: r.Records, Errors: r.Errors, Bytes: r.Throughput.Bytes,
			Response: r.Latency.Response, Service: r.Latency.Service, EndToEnd: r.Latency.EndToEnd,
			CPUCores: p.cores(), PeakResidentBytes: r.Client.PeakResidentBytes,
		},
	}
	row.ConsumedBytes = p.fold.Total(stats.Measured).ConsumedBytes
	if a := p.agreed(); a != nil {
		late := a.Late.Microseconds()
		row.StartLateUS = &late
	}
	from, to, ok := p.measured()
	if ok {
		row.FromSeconds, row.ToSeconds = (from + p.shift).Seconds(), (to + p.shift).Seconds()
	}
	did, sending, reading := p.fold.Total(stats.Measured), whole.Throughput.Seconds, 0.0
	if whole.Fetch != nil {
		reading = whole.Fetch.Seconds
	}
	switch {
	case !p.counted || whole.NotAddedUp != "":
		sending, reading = (to - from).Seconds(), (to - from).Seconds()
	case overlaps:
		did = &p.did
	}
	if whole.NotAddedUp != "" {
		row.Topic = p.topicNames()
	}
	if fig := &row.Figures; sending >= verdict.Shortest.Seconds() { // over less, one record more or less would change the rate
		fig.RecordsPerSecond, fig.MiBPerSecond = float64(did.Acknowledged)/sending, float64(did.Bytes)/mib/sending
	}
	if fig := &row.Figures; reading >= verdict.Shortest.Seconds() {
		fig.ConsumedPerSecond, fig.ConsumedMiB = float64(did.Consumed)/reading, float64(did.ConsumedBytes)/mib/reading
	}
	row.Note = p.note(r, ok)
	return row
}

// note returns what happened to the part, "" if all went well. measured reports whether anything was measured in it.
func (p *mergedPart) note(r *result.Result, measured bool) string {
	switch {
	case p.corrupt != nil:
		return fmt.Sprintf("its run file is corrupt: %v; it is good up to %.1f s", p.corrupt, p.over().Seconds())
	case p.state == result.PartRunning:
		return fmt.Sprintf("its figures are up to %.1f s", p.over().Seconds())
	case p.state == result.PartLost:
		return fmt.Sprintf("its run file stops at %.1f s", p.over().Seconds())
	case p.state == result.PartLate:
		late := p.agreed().Late.Round(time.Millisecond)
		return fmt.Sprintf("it began %s %s the agreed start", late.Abs(), map[bool]string{true: "before", false: "after"}[late < 0])
	case p.ranOn > 0:
		before := map[bool]string{false: ", before its first record"}[measured]
		return fmt.Sprintf("somebody ended it at %.1f s%s: most others ran on to %.1f s", p.trailer.SendingSeconds, before, p.ranOn.Seconds())
	case r.ReadEnd == result.ReadFailed:
		return "reading could not go on: " + r.ReadError
	case !measured:
		return result.NothingMeasured
	case p.state == result.PartStopped:
		return "somebody ended it"
	}
	return ""
}

// addFigures adds the figures of a process to those of its host, except latencies: these come from merged histograms.
func addFigures(f, o *result.Figures) {
	addRecords(&f.Records, &o.Records)
	for code, n := range o.Errors {
		f.Errors[code] += n
	}
	f.Bytes += o.Bytes
	f.ConsumedBytes += o.ConsumedBytes
	f.RecordsPerSecond += o.RecordsPerSecond
	f.MiBPerSecond += o.MiBPerSecond
	f.ConsumedPerSecond += o.ConsumedPerSecond
	f.ConsumedMiB += o.ConsumedMiB
	f.CPUCores += o.CPUCores
	f.PeakResidentBytes += o.PeakResidentBytes
}

func addRecords(r, o *result.Records) {
	r.Offered, r.Acknowledged, r.Failed = r.Offered+o.Offered, r.Acknowledged+o.Acknowledged, r.Failed+o.Failed
	r.Unknown, r.Unsent, r.Consumed = r.Unknown+o.Unknown, r.Unsent+o.Unsent, r.Consumed+o.Consumed
}

// missing returns a row for each process of the roster without a run file.
func (m *merge) missing() []result.ProcessRow {
	there := make(map[string]bool) // by label
	for _, p := range m.parts {
		there[p.label()] = true
	}
	var rows []result.ProcessRow
	for _, name := range slices.Sorted(maps.Keys(m.roster)) {
		for n := 1; n <= m.roster[name].Processes; n++ {
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
func (m *merge) rows(whole *result.Result, overlaps bool) ([]result.ProcessRow, []result.HostRow) {
	processes := m.missing()
	hosts := make(map[string]*result.HostRow)
	host := func(name string) *result.HostRow {
		if hosts[name] == nil {
			hosts[name] = &result.HostRow{Host: name, Figures: result.Figures{Errors: result.Errors{}}}
		}
		return hosts[name]
	}
	for name, member := range m.roster {
		host(name).Role = member.Role
	}
	sums := make(map[string]*stats.Window)
	for _, p := range m.parts {
		row := p.row(whole, overlaps)
		processes = append(processes, row)
		h := host(row.Host)
		learn(h, p.runFile)
		if !p.counted {
			continue
		}
		h.Counted++
		if m.separate != "" {
			continue
		}
		addFigures(&h.Figures, &row.Figures)
		t := p.fold.Total(stats.Measured)
		entry(&sums, row.Host).Add(&stats.Window{Response: t.Response, Service: t.Service, Read: stats.Read{EndToEnd: t.EndToEnd}})
	}
	for _, s := range m.watched {
		learn(host(s.part.Host), s)
	}
	for i := range processes {
		host(processes[i].Host).Processes++
	}
	slices.SortStableFunc(processes, func(a, b result.ProcessRow) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Process, b.Process))
	})
	var list []result.HostRow
	for _, name := range slices.Sorted(maps.Keys(hosts)) {
		h := hosts[name]
		if sum := sums[name]; sum != nil {
			h.Response, h.Service, h.EndToEnd = result.LatencyOf(&sum.Response), result.LatencyOf(&sum.Service), result.EndToEndOf(&sum.EndToEnd)
		}
		list = append(list, *h)
	}
	return processes, list
}

// learn fills in role, tags and clock of a host from one of its run files, unless they are known.
func learn(h *result.HostRow, s *runFile) {
	h.Role = cmp.Or(h.Role, s.part.Role)
	if len(h.Tags) == 0 {
		h.Tags = s.part.Tags
	}
	if a := s.agreed(); a != nil && h.ClockOffsetUS == nil {
		offset, bound := a.Offset.Microseconds(), a.Bound.Microseconds()
		h.ClockOffsetUS, h.ClockBoundUS = &offset, &bound
	}
}

// busy sets the use of each watched host: in the overlap, or without one in the whole run.
func (m *merge) busy(hosts []result.HostRow, o result.Overlap) error {
	from, to := o.FromSeconds, o.ToSeconds
	if o.Seconds == 0 {
		from, to = 0, o.SpanSeconds
	}
	sums := make(map[string]*BusySum)
	for _, s := range m.watched {
		shift := s.began().Sub(m.zero)
		seconds := func(at float64) time.Duration { return time.Duration(at*float64(time.Second)) - shift }
		err := entry(&sums, s.part.Host).read(s, seconds(from), seconds(to))
		var bad *result.BadLine
		if errors.As(err, &bad) {
			err = s.cutAt(bad)
		}
		if err != nil {
			return err
		}
	}
	for i := range hosts {
		if sum := sums[hosts[i].Host]; sum != nil {
			if hosts[i].Busy = sum.Result(); hosts[i].Busy != nil {
				hosts[i].Busy.OfSeconds = to - from
			}
		}
	}
	return nil
}
