package merge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// result returns the merged result: the sums of whole, with a row for each process and host.
func (m *merge) result() (r result.Result, err error) {
	for _, p := range m.parts {
		p.doc = p.fold.Result()
	}
	o, t := m.overlap()
	if m.separate != "" {
		o, t = result.Overlap{SpanSeconds: o.SpanSeconds}, result.Together{}
		r = m.bare(m.whole.Result().Header)
	} else {
		r = m.sums(t)
	}
	r.Processes, r.Hosts = m.rows(&r, t.Overlap != nil)
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
		addRecords(&r.Apart.Records, &row.Records)
		r.Apart.Reasons = append(r.Apart.Reasons, fmt.Sprintf("%s/%d is %s: %s", row.Host, row.Process, row.State, row.Note))
	}
	if m.separate == "" {
		r.Overlap = &o
		if len(r.Processes) > 1 || len(r.Hosts) > 1 || len(m.watched) > 0 {
			r.BoundBy = boundAcross(r.Hosts, r.Processes, r.BoundBy)
		}
	}
	r.Notice = strings.Join(append(m.notices(&r, &o, t.NoOverlap), m.notes...), "; ")
	return r, nil
}

// sums returns the figures of all parts together.
func (m *merge) sums(t result.Together) result.Result {
	m.conclude(t)
	r := m.whole.Result()
	if len(m.counted()) > 1 {
		if r.Throughput.Seconds < verdict.Shortest.Seconds() {
			r.Throughput.RecordsPerSecond, r.Throughput.MiBPerSecond, r.Throughput.OfferedRecordsPerSecond = 0, 0, 0
		}
		longest := time.Duration(0)
		for _, p := range m.counted() {
			if gap := p.fold.Total(stats.Measured).Outage.Length; r.Outage != nil && r.Outage.LongestGapMS != nil && gap > longest {
				longest, r.Outage.LongestGapOf = gap, p.label()
			}
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

// conclude gives the fold of the whole what only its parts show. With one part, the whole ends as that part.
func (m *merge) conclude(t result.Together) {
	parts := m.counted()
	m.whole.Begin(m.start())
	if len(parts) == 1 {
		if own := parts[0].trailer; own != nil {
			end := *own
			end.Verify = m.addUnknown(own.Verify)
			m.whole.Finish(end)
		}
		return
	}
	t.Count, t.Invalid, t.Stall = len(parts), m.invalid(), m.stall()
	var verdicts []*ledger.Verdict
	for _, p := range parts {
		t.Cores += p.cores()
		verdicts = append(verdicts, p.end().Verify)
	}
	m.whole.JoinParts(t)
	verify, all := verifyTogether(verdicts)
	if verify != nil && !all {
		m.notes = append(m.notes, "not all parts looked what became of their records")
	}
	m.whole.Finish(m.trailer(m.addUnknown(verify)))
}

// cores returns the cores that the part used, 0 if less than a second was measured: its samples are too short.
func (p *mergedPart) cores() float64 {
	if from, to, _ := p.measured(); to-from < verdict.Shortest {
		return 0
	}
	return p.doc.Client.CPUCores
}

// asked returns the mean rate that was asked of all parts together, also of those that do not count or are missing, and that of
// the parts that count; 0: unlimited.
func (m *merge) asked(r *result.Result) (all, counted float64) {
	var plans []plan.Plan
	for _, p := range m.parts {
		if whole := p.header.Plan.Whole(); !p.header.Plan.Share.IsZero() {
			plans = []plan.Plan{whole}
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
	mean := func(p plan.Plan) float64 {
		return p.Schedule().Mean(time.Duration(from*float64(time.Second)), time.Duration((from+length)*float64(time.Second)))
	}
	return mean(whole), mean(r.Plan)
}

// notices returns the sentences that a reader needs before any figure.
func (m *merge) notices(r *result.Result, o *result.Overlap, noOverlap string) []string {
	say := r.Notices()
	if m.separate != "" {
		say = append([]string{"different loads, side by side and not added up: " + m.separate}, say...)
	}
	switch p := m.counted()[0]; p.state {
	case result.PartRunning:
		say = append(say, "the run still goes on: figures up to the last second of each part")
	case result.PartLost, result.PartLate:
		say = append(say, fmt.Sprintf("no part of the run has ended: figures up to the last second of each part (%s)", p.state))
	default:
	}
	if a := r.Apart; a != nil {
		const most = 3
		does := map[bool]string{true: "does", false: "do"}
		s := fmt.Sprintf("%d of %s %s not count in these figures: %s", a.Processes, theme.Plural(len(r.Processes), "process", "processes"), does[a.Processes == 1], strings.Join(a.Reasons[:min(most, len(a.Reasons))], "; "))
		if n := len(a.Reasons) - most; n > 0 {
			s += fmt.Sprintf("; and %d more", n)
		}
		say = append(say, s)
	}
	var empty []string // parts that read may have got no partition
	for _, p := range m.counted() {
		if _, _, ok := p.measured(); !ok && p.header.Plan.Writes() {
			empty = append(empty, p.label())
		}
	}
	if len(empty) > 0 && len(empty) < len(m.counted()) {
		say = append(say, fmt.Sprintf("nothing was measured in %d of %s: %s", len(empty), theme.Plural(len(r.Processes), "process", "processes"), listed(empty[:min(mostNamed, len(empty))])))
	}
	if lapsed := lapses(r.Hosts, func(h *result.HostRow) bool { // its only task was to be watched
		member, ok := m.roster[h.Host]
		there := slices.ContainsFunc(m.watched, func(s *runFile) bool { return s.part.Host == h.Host })
		return ok && member.Processes == 0 && (h.Busy != nil || !there || o.Seconds > 2*watchedEdges)
	}); lapsed != "" {
		say = append(say, lapsed)
	}
	if noOverlap == "" || len(m.counted()) < 2 {
		return say
	}
	if r.Throughput.Seconds < verdict.Shortest.Seconds() {
		return append(say, noOverlap+": too short for a rate")
	}
	return append(say, fmt.Sprintf("%s: rates are over the %.1f s from the first record to the last", noOverlap, r.Throughput.Seconds))
}

// start returns the start of the earliest part.
func (m *merge) start() result.Start {
	for _, p := range m.counted() {
		if p.late == 0 && p.start != nil {
			return *p.start
		}
	}
	return result.Start{At: m.zero}
}

// end returns the trailer, an empty one of a file without an end.
func (s *runFile) end() *result.Trailer {
	if s.trailer == nil {
		return new(result.Trailer)
	}
	return s.trailer
}

// logEnds returns the log ends before the first part and after the last one, nil if a part that writes does not know them.
func (m *merge) logEnds() (all *result.LogEnds) {
	for _, p := range m.counted() {
		ends := p.end().LogEnds
		switch {
		case !p.header.Plan.Writes():
			continue
		case ends == nil:
			return nil
		case all != nil:
			ends = &result.LogEnds{Before: min(ends.Before, all.Before), After: max(ends.After, all.After)}
		}
		all = ends
	}
	return all
}

// trailer returns the end of the whole: that of the last part that counts, and the gravest of their ways to end.
func (m *merge) trailer(verify *ledger.Verdict) result.Trailer {
	t := result.Trailer{Ended: result.Completed, Verify: verify, LogEnds: m.logEnds()}
	for _, p := range m.counted() {
		if p.trailer == nil {
			t.Ended = result.CutOff
			continue
		}
		known := slices.ContainsFunc(t.Tune, func(c result.TuneCheck) bool { return c.Host == p.part.Host })
		if checks := p.trailer.Tune; !known && len(checks) > 0 {
			check := checks[0]
			check.Host = p.part.Host
			t.Tune = append(t.Tune, check)
		}
		at := func(seconds float64) float64 { return p.shift.Seconds() + seconds }
		t.ElapsedSeconds = math.Max(t.ElapsedSeconds, at(p.trailer.ElapsedSeconds))
		t.SendingSeconds = math.Max(t.SendingSeconds, at(p.trailer.SendingSeconds))
		t.DrainTimedOut = t.DrainTimedOut || p.trailer.DrainTimedOut
		if slices.Index(endings, p.trailer.Ended) > slices.Index(endings, t.Ended) {
			t.Ended = p.trailer.Ended
		}
		t.AbortedBy = cmp.Or(t.AbortedBy, p.trailer.AbortedBy)
		if reading := p.trailer.ReadEnd; t.ReadEnd == "" || slices.Index(readEndings, reading) > slices.Index(readEndings, t.ReadEnd) {
			t.ReadEnd = reading
		}
		if err := p.trailer.ReadError; err != "" && t.ReadError == "" {
			t.ReadError = p.label() + ": " + err
		}
	}
	slices.SortFunc(t.Tune, func(a, b result.TuneCheck) int { return cmp.Compare(a.Host, b.Host) })
	return t
}

// The ways to end, and those of reading that count before the first part's, from the one that counts least.
var (
	endings     = []string{result.Completed, result.DiskFull, result.Interrupted, result.Aborted, result.CutOff}
	readEndings = []string{result.ReadIdle, result.ReadFailed}
)

// maxMergedGaps bounds the list of gaps of a merged verdict, as that of a single one is.
const maxMergedGaps = 100

// addUnknown adds the processes that left no verdict which counts to that of the others; nil: there is none.
func (m *merge) addUnknown(v *ledger.Verdict) *ledger.Verdict {
	var unknown ledger.Verdict
	for _, p := range m.parts {
		if !p.counted || p.end().Verify == nil {
			p.fold.AddUnknown(&unknown)
		}
	}
	if v == nil && unknown.PartsUnknown == 0 {
		return nil
	}
	unknown.PartsUnknown += int64(len(m.missing()))
	if v == nil {
		return &unknown
	}
	sum := *v
	unknown.Unchecked *= int64(max(1, sum.Readers))
	sum.Add(&unknown)
	return &sum
}

// verifyTogether adds up the verdicts of parts, each of which verified its own records; nil: no part did. all reports whether each did.
func verifyTogether(parts []*ledger.Verdict) (sum *ledger.Verdict, all bool) {
	verified := slices.DeleteFunc(slices.Clone(parts), func(v *ledger.Verdict) bool { return v == nil })
	all = len(verified) == len(parts)
	if len(verified) == 0 {
		return nil, all
	}
	ofOther := !slices.ContainsFunc(verified, func(v *ledger.Verdict) bool { return !v.OfAnotherRun })
	sum = &ledger.Verdict{OfAnotherRun: ofOther, RepeatsAllowed: true}
	var foreign int64
	readers := 0 // of the parts before
	for _, v := range verified {
		sum.Add(v)
		if v.OfAnotherRun && !sum.OfAnotherRun { // it compared nothing: its records are unchecked, not lost
			sum.Lost -= v.Lost
			sum.Unchecked += v.Lost
		}
		sum.Readers = max(sum.Readers, v.Readers) // groups that read each record: those of its own part
		sum.Inexact = sum.Inexact || v.Inexact
		sum.Headers = sum.Headers || v.Headers
		sum.AnyOrder = sum.AnyOrder || v.AnyOrder
		sum.RepeatsAllowed = sum.RepeatsAllowed && (v.RepeatsAllowed || v.Duplicated+v.Reordered+v.LateUndecided == 0)
		if v.OtherRun != "" && v.Foreign > foreign {
			sum.OtherRun, foreign = v.OtherRun, v.Foreign
		}
		kept := v.Gaps[:min(len(v.Gaps), maxMergedGaps-len(sum.Gaps))]
		sum.GapsBeyond += int64(len(v.Gaps) - len(kept))
		for _, g := range kept {
			g.Reader += readers
			sum.Gaps = append(sum.Gaps, g)
		}
		readers += v.Readers
		for _, why := range v.Blame {
			if !slices.Contains(sum.Blame, why) {
				sum.Blame = append(sum.Blame, why)
			}
		}
	}
	return sum, all
}
