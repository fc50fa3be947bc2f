package merge

import (
	"context"
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

// result concludes: the fold of the whole has the sums, and each process and host gets a row.
func (m *merge) result(ctx context.Context, whole *result.Fold) (result.Result, error) {
	for _, p := range m.parts {
		p.doc = p.fold.Result()
	}
	o, f := m.overlap()
	if err := m.conclude(ctx, whole, f); err != nil {
		return result.Result{}, err
	}
	parts := m.counted()
	r := whole.Result()
	if len(parts) > 1 && r.Throughput.Seconds < verdict.Shortest.Seconds() {
		r.Throughput.RecordsPerSecond, r.Throughput.MiBPerSecond, r.Throughput.OfferedRecordsPerSecond = 0, 0, 0
	}
	processes, hosts := m.rows(&r, f)
	if err := m.busy(hosts, o); err != nil {
		return result.Result{}, err
	}
	if asked := m.asked(); asked > r.Throughput.TargetRecordsPerSecond*(1+1e-9) {
		r.Throughput.AskedRecordsPerSecond = asked
		if r.Fetch != nil && r.Plan.ReadsOnly() {
			r.Fetch.AskedRecordsPerSecond = asked
		}
	}
	r.Overlap, r.Hosts, r.Processes, r.RunFiles, r.Apart = &o, hosts, processes, m.listRunFiles(), apartOf(processes)
	if len(parts) > 1 {
		m.nameGap(r.Outage)
	}
	if len(processes) > 1 || len(hosts) > 1 || len(m.watched) > 0 {
		r.BoundBy = boundAcross(hosts, processes, r.BoundBy)
	}
	r.Notice = strings.Join(append(m.notices(&r, f.noOverlap), m.notes...), "; ")
	return r, nil
}

// conclude gives the fold of the whole what only its parts have. One part alone is its own
// whole.
func (m *merge) conclude(ctx context.Context, whole *result.Fold, f frame) error {
	parts := m.counted()
	whole.Begin(m.start())
	if len(parts) == 1 {
		if t := parts[0].trailer; t != nil {
			whole.Finish(*t)
		}
		return ctx.Err()
	}
	t := result.Together{Parts: verdict.Parts{NoOverlap: f.noOverlap, Short: f.noOverlap == saysShort, Count: len(parts)}, Stall: m.stall()}
	var verdicts []*ledger.Verdict
	for _, p := range parts {
		for _, reason := range p.doc.Invalid {
			t.Invalid = append(t.Invalid, p.label()+": "+reason)
		}
		t.Cores += p.cores()
		verdicts = append(verdicts, p.verdict())
	}
	if f.part() {
		var err error
		if t.Overlap, err = m.readOverlap(ctx, f); err != nil {
			return err
		}
	}
	whole.JoinParts(t)
	verify, all := verifyTogether(verdicts)
	if verify != nil && !all {
		m.notes = append(m.notes, "not all parts looked what became of their records")
	}
	whole.Finish(m.trailer(verify))
	return ctx.Err()
}

// cores returns the cores that the part used. They are not known of a part that was measured
// for less than a second: its samples are of moments.
func (p *mergedPart) cores() float64 {
	if from, to, _ := p.measured(); to-from < verdict.Shortest {
		return 0
	}
	return p.doc.Client.CPUCores
}

// apartOf sums up the processes that do not count, nil when all do.
func apartOf(processes []result.ProcessRow) *result.Apart {
	apart := result.Apart{Reasons: []string{}}
	for i := range processes {
		if row := &processes[i]; !row.Counted {
			apart.Processes++
			apart.Records = plus(apart.Records, row.Records)
			apart.Reasons = append(apart.Reasons, fmt.Sprintf("%s/%d is %s: %s", row.Host, row.Process, row.State, row.Note))
		}
	}
	if apart.Processes == 0 {
		return nil
	}
	return &apart
}

// nameGap says which process waited longest.
func (m *merge) nameGap(o *result.Outage) {
	if o == nil || o.LongestGapMS == nil {
		return
	}
	longest := time.Duration(0)
	for _, p := range m.counted() {
		if gap := p.fold.Total(stats.Measured).Outage.Length; gap > longest {
			longest, o.LongestGapOf = gap, p.label()
		}
	}
}

// asked returns the rate of the load that all parts were to make together, also those that do
// not count; 0: unlimited.
func (m *merge) asked() float64 {
	var plans []plan.Plan
	for _, p := range m.parts {
		if whole := p.header.Plan.Whole(); !p.header.Plan.Share.IsZero() { // also of those that are missing
			return whole.RecordsPerSecond()
		}
		plans = append(plans, p.header.Plan)
	}
	all, _ := plan.Together(plans)
	return all.RecordsPerSecond()
}

// notices says what a reader must know before any figure. why tells why there is no overlap.
func (m *merge) notices(r *result.Result, why string) []string {
	var say []string
	if r.Embedded {
		say = append(say, result.EmbeddedNotice)
	}
	if p := m.counted()[0]; p.state == result.PartLost || p.state == result.PartLate {
		say = append(say, fmt.Sprintf("no part of the run is whole: these figures are of parts that are %s", p.state))
	}
	if a := r.Apart; a != nil {
		const most = 3
		s := fmt.Sprintf("%d of %s %s not count in these figures: %s", a.Processes, theme.Plural(len(r.Processes), "process", "processes"), does(a.Processes), strings.Join(a.Reasons[:min(most, len(a.Reasons))], "; "))
		if n := len(a.Reasons) - most; n > 0 {
			s += fmt.Sprintf("; and %d more", n)
		}
		say = append(say, s)
	}
	if empty := m.empty(); len(empty) > 0 && len(empty) < len(m.counted()) {
		say = append(say, fmt.Sprintf("nothing was measured in %d of %s: %s", len(empty), theme.Plural(len(r.Processes), "process", "processes"), listed(empty[:min(mostNamed, len(empty))])))
	}
	if blind := m.blindSpots(r.Hosts, r.Overlap); blind != "" {
		say = append(say, blind)
	}
	if why == "" || len(m.counted()) < 2 {
		return say
	}
	if r.Throughput.Seconds < verdict.Shortest.Seconds() {
		return append(say, why+": too little for a rate")
	}
	return append(say, fmt.Sprintf("%s: rates are over all of the %.1f s from the first record to the last", why, r.Throughput.Seconds))
}

// empty returns the parts that count, were to write, and never came to their first record. One
// that reads may have got no partition.
func (m *merge) empty() []string {
	var names []string
	for _, p := range m.counted() {
		if _, _, ok := p.measured(); !ok && p.header.Plan.Writes() {
			names = append(names, p.label())
		}
	}
	return names
}

// blindSpots tells which hosts that were only to be watched were not, or not to the end:
// what they ran short of is not known.
func (m *merge) blindSpots(hosts []result.HostRow, o *result.Overlap) string {
	var lost []string
	for _, h := range hosts {
		if member, ok := m.roster[h.Host]; !ok || member.Processes > 0 {
			continue
		}
		there := slices.ContainsFunc(m.watched, func(s *runFile) bool { return s.host() == h.Host })
		switch s := fragment(h); {
		case s != "":
			lost = append(lost, s)
		case !there:
			lost = append(lost, h.Host+" was not watched: nothing is there of it")
		case h.Busy == nil && o.Seconds > 2*watchedEdges:
			lost = append(lost, fmt.Sprintf("%s was watched for 0 of %.0f s", h.Host, o.Seconds))
		}
	}
	if n := len(lost) - mostNamed; n > 0 {
		lost = append(lost[:mostNamed], fmt.Sprintf("%d more likewise", n))
	}
	return strings.Join(lost, ", ")
}

// start is that of the earliest part.
func (m *merge) start() result.Start {
	for _, p := range m.counted() {
		if p.late == 0 && p.start != nil {
			return *p.start
		}
	}
	return result.Start{At: m.zero}
}

func (p *mergedPart) verdict() *ledger.Verdict {
	if p.trailer == nil {
		return nil
	}
	return p.trailer.Verify
}

// trailer returns the end of the whole: it was interrupted, or cut off, if any part was that
// counts, and ended with the last of them.
func (m *merge) trailer(verify *ledger.Verdict) result.Trailer {
	t := result.Trailer{Ended: result.Completed, Verify: verify}
	for _, p := range m.counted() {
		if p.trailer == nil {
			t.Ended = result.CutOff
			continue
		}
		at := func(seconds float64) float64 { return p.shift.Seconds() + seconds }
		t.ElapsedSeconds = math.Max(t.ElapsedSeconds, at(p.trailer.ElapsedSeconds))
		t.SendingSeconds = math.Max(t.SendingSeconds, at(p.trailer.SendingSeconds))
		t.DrainTimedOut = t.DrainTimedOut || p.trailer.DrainTimedOut
		if p.trailer.Ended == result.Interrupted && t.Ended == result.Completed {
			t.Ended = result.Interrupted
		}
		switch reading := p.trailer.ReadEnd; {
		case t.ReadEnd == "":
			t.ReadEnd = reading
		case reading == result.ReadFailed || reading == result.ReadIdle && t.ReadEnd != result.ReadFailed:
			t.ReadEnd = reading
		}
		if err := p.trailer.ReadError; err != "" && t.ReadError == "" {
			t.ReadError = p.label() + ": " + err
		}
	}
	return t
}

// does is "do" for several, and "does" for one.
func does(n int) string {
	if n == 1 {
		return "does"
	}
	return "do"
}
