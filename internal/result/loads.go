package result

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/theme"
)

// OfWorkload begins the texts of events that are of the whole workload, and that one of its loads has noted.
const OfWorkload = "workload: "

// LoadResult is the result of one load of a workload, as of a load by itself. Its use of CPU and memory is that of the process,
// which makes all loads.
type LoadResult struct {
	Name string `json:"load"`
	Result
}

// Parts returns the rows of all processes: of a workload those of each load.
func (r *Result) Parts() []ProcessRow {
	rows := slices.Clip(r.Processes)
	for i := range r.Loads {
		rows = append(rows, r.Loads[i].Processes...)
	}
	return rows
}

// LimitOf cuts the name of a load off an expression of --limit: orders.p99<20ms. load is empty for an expression that names none
// of the loads.
func LimitOf(expression string, loads []string) (load, rest string) {
	before, after, found := strings.Cut(strings.TrimSpace(expression), ".")
	if found && slices.Contains(loads, before) {
		return before, after
	}
	return "", expression
}

// LimitsOf returns the limits of each load: those that name it, without its name, and those without a name that are for loads of its
// kind. A limit of no load is an error.
func LimitsOf(limits, names []string, plans []*plan.Plan) ([][]string, error) {
	of := make([][]string, len(names))
	for _, text := range limits {
		load, rest := LimitOf(text, names)
		if _, err := metric.Parse(rest); err != nil && load == "" && strings.Contains(rest, ".") {
			return nil, fmt.Errorf("--limit %q: what stands before its first point is no load, or it is no metric; the loads are %s", text, strings.Join(names, ", "))
		}
		var wrong error
		judged := false
		for i, name := range names {
			if load != "" && load != name {
				continue
			}
			err := metric.CheckAll([]string{rest}, nil, plans[i], false)
			if wrong = cmp.Or(wrong, err); err == nil {
				of[i], judged = append(of[i], rest), true
			}
		}
		if !judged {
			return nil, fmt.Errorf("%w; the loads are %s", wrong, strings.Join(names, ", "))
		}
	}
	return of, nil
}

// JoinLoads makes r, which has the sums of the loads, the result of a workload, with the verdict of the load that suffered most.
func (r *Result) JoinLoads(loads []LoadResult) {
	r.Loads, r.Headline, r.Invalid, r.Errors, r.Ended = loads, "throughput", []string{}, Errors{}, Completed
	r.Partitions, r.Brokers, r.Series, r.Client, r.Start = []PartitionRow{}, []BrokerRow{}, []Point{}, loads[0].Client, loads[0].Start
	for i := range loads {
		l := &loads[i]
		for _, reason := range l.Invalid {
			r.Invalid = append(r.Invalid, l.Name+": "+reason)
		}
		for _, limit := range l.Limits {
			limit.Expression = l.Name + "." + limit.Expression
			r.Limits = append(r.Limits, limit)
		}
		for code, n := range l.Errors {
			r.Errors[code] += n
		}
		if i > 0 && len(l.Processes) > 0 { // on many hosts each load has processes of its own
			r.Client.CPUCores += l.Client.CPUCores
		}
		for _, e := range l.Events {
			if text, of := strings.CutPrefix(e.Text, OfWorkload); of {
				e.Text = text
				r.Events = append(r.Events, e)
			}
		}
		if l.AbortedBy != "" {
			r.AbortedBy = cmp.Or(r.AbortedBy, l.Name+": "+l.AbortedBy)
		}
		if slices.Index(Endings, l.Ended) > slices.Index(Endings, r.Ended) {
			r.Ended = l.Ended
		}
		r.ElapsedSeconds, r.SendingSeconds = max(r.ElapsedSeconds, l.ElapsedSeconds), max(r.SendingSeconds, l.SendingSeconds)
		r.DrainTimedOut, r.Tune = r.DrainTimedOut || l.DrainTimedOut, append(r.Tune, l.Tune...)
	}
	r.Valid = len(r.Invalid) == 0
	r.Suffered, r.BoundBy = suffered(loads)
	r.Doubt()
}

// Endings are the ways to end, from the one that counts least.
var Endings = []string{Completed, DiskFull, Interrupted, Aborted, CutOff}

// Broken returns the first limit that is not held; nil: there is none.
func (r *Result) Broken() *Limit {
	if i := slices.IndexFunc(r.Limits, func(l Limit) bool { return !l.Held }); i >= 0 {
		return &r.Limits[i]
	}
	return nil
}

// suffered returns the load that fared worst, and the verdict of the workload: that of this load.
func suffered(loads []LoadResult) (string, verdict.Verdict) {
	rank := func(l LoadResult) int { n, _ := l.harm(); return n }
	worst := slices.MinFunc(loads, func(a, b LoadResult) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.share(), b.share())) // of equals the first
	})
	v := worst.BoundBy
	switch _, what := worst.harm(); {
	case what != "":
		v.Evidence = what + v.Evidence
		return worst.Name, v
	case worst.share() > 1:
		v.Evidence = "no load has a target rate"
	default:
		v.Evidence = fmt.Sprintf("every load was carried as it was asked for; the slowest against its target is %s, with %s of it", worst.Name, theme.Percent(worst.share()))
	}
	v.Limit = verdict.None
	return "", v
}

// harm returns how a load fared, from 0 for the worst, and what to say of it before its evidence; "": it was carried as it was asked for.
func (l *LoadResult) harm() (rank int, what string) {
	limit, lag := l.Broken(), cmp.Or(l.ConsumerLag, new(ConsumerLag))
	end := " was ended by " + l.AbortedBy
	if limit != nil {
		end = " did not keep " + limit.Expression
	}
	rows := []struct {
		is   bool
		what string
	}{
		{l.Lost() || l.Damaged(), "records of " + l.Name + " are lost or damaged; "},
		{l.Valid && l.TargetReached != nil, l.Name + " reached " + theme.Percent(l.share()) + " of its target; "}, // what is not valid says less
		{!l.Valid, l.Name + ": "},
		{limit != nil || l.AbortedBy != "", l.Name + end + "; "},
		{l.Records.Failed+l.Records.Unknown > 0 || l.ReadEnd == ReadFailed, l.Name + ": "}, // unsent ones are of a load that was stopped
		{lag.KeptUp != nil && !*lag.KeptUp, l.Name + ": "},
	}
	for i, row := range rows {
		if row.is {
			return i, row.what
		}
	}
	return len(rows), ""
}

// share returns the rate as a share of the target; 2 without a target.
func (l *LoadResult) share() float64 {
	rate, target := l.Throughput.RecordsPerSecond, l.Throughput.TargetRecordsPerSecond
	if l.Plan.ReadsOnly() && l.Fetch != nil {
		rate = l.Fetch.RecordsPerSecond
	}
	switch {
	case l.TargetReached != nil:
		return *l.TargetReached
	case target == 0:
		return 2
	}
	return min(rate/target, 1)
}
