package merge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/theme"
)

// result returns the merged result: the sums of whole, with a row for each process and host.
func (m *merge) result() (r result.Result, err error) {
	for _, p := range m.parts {
		p.conclude()
	}
	o, t := m.together()
	if m.separate != "" {
		o, t.NoOverlap = result.Overlap{SpanSeconds: o.SpanSeconds}, ""
		r = m.bare(t.Invalid)
	} else {
		r = m.sums(t)
	}
	r.Processes, r.Hosts = m.rows(&r)
	if err := m.busy(r.Hosts, o); err != nil {
		return r, err
	}
	r.RunFiles = m.listRunFiles()
	for _, row := range r.Processes {
		if row.Counted {
			continue
		}
		r.Apart = cmp.Or(r.Apart, new(result.Apart))
		r.Apart.Processes++
		addNumbers(&r.Apart.Records, &row.Records)
		r.Apart.Reasons = append(r.Apart.Reasons, fmt.Sprintf("%s/%d is %s: %s", row.Host, row.Process, row.State, row.Note))
	}
	if m.separate == "" {
		r.Doubt() // with what only the rows of hosts and processes show
		r.Overlap = &o
		if len(r.Processes) > 1 || len(r.Hosts) > 1 || len(m.watched) > 0 {
			r.BoundBy = boundAcross(r.Hosts, r.Processes, r.BoundBy)
		}
	}
	r.Notice = strings.Join(append(m.notices(&r, &o, t.NoOverlap), m.notes...), "; ")
	return r, nil
}

// bare returns the result of parts that make no load together, without rows.
func (m *merge) bare(invalid []string) result.Result {
	for _, p := range m.counted() {
		if p.doc.Lost() || p.doc.Damaged() {
			m.notes = append(m.notes, p.label()+" lost or damaged records: see kt report of its run file")
		}
	}
	return result.Result{
		Header: m.whole.Result().Header, Trailer: m.trailer(nil), Start: &m.first.start, NotAddedUp: m.separate, Headline: "throughput",
		Valid: len(invalid) == 0, Invalid: invalid, BoundBy: verdict.Verdict{Limit: verdict.Unknown, Evidence: "each process has a limit of its own"},
		Errors: result.Errors{}, Partitions: []result.PartitionRow{}, Brokers: []result.BrokerRow{}, Series: []result.Point{},
	}
}

// sums returns the figures of all parts together, with what only the parts show. With one part, the whole ends as that part.
func (m *merge) sums(t result.Together) result.Result {
	parts := m.counted()
	m.whole.Begin(m.first.start)
	if own := parts[0].trailer; len(parts) == 1 && own != nil {
		end := *own
		end.Verify = m.addUnknown(own.Verify)
		m.whole.Finish(end)
	}
	if len(parts) > 1 {
		var verdicts []*ledger.Verdict
		for _, p := range parts {
			verdicts = append(verdicts, p.end().Verify)
		}
		verify, all := verifyTogether(verdicts)
		if verify != nil && !all {
			m.notes = append(m.notes, "not all parts looked what became of their records")
		}
		t.Stall = m.stall()
		m.whole.JoinParts(t)
		m.whole.Finish(m.trailer(m.addUnknown(verify)))
	}
	r := m.whole.Result()
	if len(parts) > 1 {
		if r.Throughput.Seconds < verdict.Shortest.Seconds() {
			r.Throughput.RecordsPerSecond, r.Throughput.MiBPerSecond, r.Throughput.OfferedRecordsPerSecond = 0, 0, 0
		}
		longest := slices.MaxFunc(parts, func(a, b *mergedPart) int { return cmp.Compare(a.total.Outage.Length, b.total.Outage.Length) })
		if r.Outage != nil && r.Outage.LongestGapMS != nil && longest.total.Outage.Length > 0 {
			r.Outage.LongestGapOf = longest.label()
		}
	}
	if asked, of := m.asked(&r); asked > of*(1+1e-9) {
		r.Throughput.AskedRecordsPerSecond = asked
		if r.Fetch != nil && r.Plan.ReadsOnly() {
			r.Fetch.AskedRecordsPerSecond = asked
		}
	}
	return r
}

// asked returns the mean rate that was asked of all parts together, and that of the parts that count; 0: unlimited.
func (m *merge) asked(r *result.Result) (all, counted float64) {
	var plans []plan.Plan
	for _, p := range m.parts {
		if !p.header.Plan.Share.IsZero() {
			plans = []plan.Plan{p.header.Plan.Whole()}
			break
		}
		plans = append(plans, p.plan())
	}
	whole, _, ok := plan.Together(plans)
	if !ok { // parts that do not count are of another load
		whole = r.Plan
	}
	from, length := r.Throughput.FirstDueSeconds, r.Throughput.Seconds
	if r.Plan.ReadsOnly() && r.Fetch != nil {
		from, length = r.Fetch.FirstReadSeconds, r.Fetch.Seconds
	}
	mean := func(p plan.Plan) float64 { return p.Schedule().Mean(seconds(from), seconds(from+length)) }
	return mean(whole), mean(r.Plan)
}

// notices returns the sentences that a reader needs before any figure.
func (m *merge) notices(r *result.Result, o *result.Overlap, noOverlap string) []string {
	say, parts := r.Notices(), m.counted()
	if m.separate != "" {
		say = append([]string{"different loads, side by side and not added up: " + m.separate}, say...)
	}
	switch p := parts[0]; p.state {
	case result.PartRunning:
		say = append(say, "the run still goes on: figures up to the last second of each part")
	case result.PartLost, result.PartLate:
		say = append(say, fmt.Sprintf("no part of the run has ended: figures up to the last second of each part (%s)", p.state))
	default:
	}
	of := theme.Plural(len(r.Processes), "process", "processes")
	if a := r.Apart; a != nil {
		does := map[bool]string{true: "does", false: "do"}[a.Processes == 1]
		say = append(say, fmt.Sprintf("%d of %s %s not count in these figures: %s", a.Processes, of, does, few(a.Reasons, "; ")))
	}
	var empty []string // parts that read may have got no partition
	for _, p := range parts {
		if !p.measured && p.header.Plan.Writes() {
			empty = append(empty, p.label())
		}
	}
	if len(empty) > 0 && len(empty) < len(parts) {
		say = append(say, fmt.Sprintf("nothing was measured in %d of %s: %s", len(empty), of, few(empty, ", ")))
	}
	if lapsed := lapses(r.Hosts, func(h *result.HostRow) bool { // its only task was to be watched
		member, ok := m.roster[h.Host]
		there := slices.ContainsFunc(m.watched, func(p *mergedPart) bool { return p.part.Host == h.Host })
		return ok && member.Processes == 0 && (h.Busy != nil || !there || o.Seconds > 2*watchedEdges)
	}); lapsed != "" {
		say = append(say, lapsed)
	}
	switch {
	case noOverlap == "" || len(parts) < 2:
	case r.Throughput.Seconds < verdict.Shortest.Seconds():
		say = append(say, noOverlap+": too short for a rate")
	default:
		say = append(say, fmt.Sprintf("%s: rates are over the %.1f s from the first record to the last", noOverlap, r.Throughput.Seconds))
	}
	return say
}

// end returns the trailer, an empty one of a file without an end.
func (s *runFile) end() *result.Trailer { return cmp.Or(s.trailer, new(result.Trailer)) }

// trailer returns the end of the whole: that of the last part that counts, and the gravest of their ways to end.
func (m *merge) trailer(verify *ledger.Verdict) result.Trailer {
	t, known := result.Trailer{Ended: result.Completed, Verify: verify}, true // known: all parts that write know the log ends
	for _, p := range m.counted() {
		end := p.end()
		switch ends := end.LogEnds; {
		case !p.header.Plan.Writes():
		case ends == nil:
			known = false
		case t.LogEnds == nil:
			t.LogEnds = ends
		default: // before the first part and after the last one
			t.LogEnds = &result.LogEnds{Before: min(ends.Before, t.LogEnds.Before), After: max(ends.After, t.LogEnds.After)}
		}
		if p.trailer == nil {
			t.Ended = result.CutOff
			continue
		}
		checked := slices.ContainsFunc(t.Tune, func(c result.TuneCheck) bool { return c.Host == p.part.Host })
		if !checked && len(end.Tune) > 0 {
			check := end.Tune[0]
			check.Host = p.part.Host
			t.Tune = append(t.Tune, check)
		}
		t.ElapsedSeconds = math.Max(t.ElapsedSeconds, p.shift.Seconds()+end.ElapsedSeconds)
		t.SendingSeconds = math.Max(t.SendingSeconds, p.shift.Seconds()+end.SendingSeconds)
		t.DrainTimedOut = t.DrainTimedOut || end.DrainTimedOut
		if slices.Index(result.Endings, end.Ended) > slices.Index(result.Endings, t.Ended) {
			t.Ended = end.Ended
		}
		t.AbortedBy = cmp.Or(t.AbortedBy, end.AbortedBy)
		if t.ReadEnd == "" || slices.Index(readEndings, end.ReadEnd) > slices.Index(readEndings, t.ReadEnd) {
			t.ReadEnd = end.ReadEnd
		}
		if end.ReadError != "" && t.ReadError == "" {
			t.ReadError = p.label() + ": " + end.ReadError
		}
	}
	if !known {
		t.LogEnds = nil
	}
	slices.SortFunc(t.Tune, func(a, b result.TuneCheck) int { return cmp.Compare(a.Host, b.Host) })
	return t
}

// readEndings are the ways to end reading that count before the first part's, from the one that counts least.
var readEndings = []string{result.ReadIdle, result.ReadFailed}

// addUnknown adds the processes that left no verdict which counts to that of the others; nil: there is none.
func (m *merge) addUnknown(v *ledger.Verdict) *ledger.Verdict {
	var sum, unknown ledger.Verdict
	for _, p := range m.parts {
		if !p.counted || p.end().Verify == nil {
			p.fold.AddUnknown(&unknown)
		}
	}
	if v == nil && unknown.PartsUnknown == 0 {
		return nil
	}
	unknown.PartsUnknown += int64(len(m.missing()))
	if v != nil {
		sum = *v
		unknown.Unchecked *= int64(max(1, sum.Readers))
	}
	sum.Add(&unknown)
	return &sum
}

// verifyTogether adds up the verdicts of parts, each of which verified its own records; nil: no part did. all reports whether each did.
func verifyTogether(parts []*ledger.Verdict) (sum *ledger.Verdict, all bool) {
	verified := slices.DeleteFunc(slices.Clone(parts), func(v *ledger.Verdict) bool { return v == nil })
	if len(verified) == 0 {
		return nil, len(parts) == 0
	}
	sum = new(ledger.Verdict)
	ofOther := !slices.ContainsFunc(verified, func(v *ledger.Verdict) bool { return !v.OfAnotherRun })
	repeats, foreign := true, int64(0)
	readers := 0 // of the parts before
	for _, v := range verified {
		one := *v
		if v.OfAnotherRun && !ofOther { // it compared nothing: its records are unchecked, not lost
			one.Lost, one.Unchecked = 0, v.Unchecked+v.Lost
		}
		one.Gaps = slices.Clone(v.Gaps)
		for i := range one.Gaps {
			one.Gaps[i].Reader += readers
		}
		sum.Add(&one)
		readers += v.Readers
		sum.Readers = max(sum.Readers, v.Readers) // groups that read each record: those of its own part
		repeats = repeats && (v.RepeatsAllowed || v.Duplicated+v.Reordered+v.LateUndecided == 0)
		if v.OtherRun != "" && v.Foreign > foreign {
			sum.OtherRun, foreign = v.OtherRun, v.Foreign
		}
	}
	sum.OfAnotherRun, sum.RepeatsAllowed = ofOther, repeats
	return sum, len(verified) == len(parts)
}
