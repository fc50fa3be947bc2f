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

// LoadResult is the result of one load of a workload, as of a load by itself. Its use of CPU and memory is that of the process,
// which makes all loads.
type LoadResult struct {
	Name string `json:"load"`
	Result
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

// JoinLoads makes r, which has a header, the result of a workload: the sums of what can be added, and the verdict of the load that
// suffered most.
func (r *Result) JoinLoads(loads []LoadResult) {
	r.Loads, r.Valid, r.Headline, r.Invalid, r.Errors = loads, true, "throughput", []string{}, Errors{}
	r.Partitions, r.Brokers, r.Series, r.Ended = []PartitionRow{}, []BrokerRow{}, []Point{}, Completed
	targets := true
	for i := range loads {
		l := &loads[i]
		named := func(text string) string { return l.Name + ": " + text }
		r.Valid = r.Valid && l.Valid
		for _, reason := range l.Invalid {
			r.Invalid = append(r.Invalid, named(reason))
		}
		for _, limit := range l.Limits {
			limit.Expression = l.Name + "." + limit.Expression
			r.Limits = append(r.Limits, limit)
		}
		for code, n := range l.Errors {
			r.Errors[code] += n
		}
		r.Records.add(&l.Records)
		if l.AbortedBy != "" {
			r.AbortedBy = cmp.Or(r.AbortedBy, named(l.AbortedBy))
		}
		if slices.Index(Endings, l.Ended) > slices.Index(Endings, r.Ended) {
			r.Ended = l.Ended
		}
		r.ElapsedSeconds, r.SendingSeconds = max(r.ElapsedSeconds, l.ElapsedSeconds), max(r.SendingSeconds, l.SendingSeconds)
		r.DrainTimedOut, r.Tune = r.DrainTimedOut || l.DrainTimedOut, append(r.Tune, l.Tune...)
		if l.Plan.Writes() {
			t, of := &r.Throughput, &l.Throughput
			targets = targets && of.TargetRecordsPerSecond > 0
			t.RecordsPerSecond, t.MiBPerSecond, t.Bytes = t.RecordsPerSecond+of.RecordsPerSecond, t.MiBPerSecond+of.MiBPerSecond, t.Bytes+of.Bytes
			t.OfferedRecordsPerSecond, t.TargetRecordsPerSecond = t.OfferedRecordsPerSecond+of.OfferedRecordsPerSecond, t.TargetRecordsPerSecond+of.TargetRecordsPerSecond
			t.Seconds = max(t.Seconds, of.Seconds)
		}
		if f := l.Fetch; f != nil {
			r.Fetch = cmp.Or(r.Fetch, &Fetch{Errors: Errors{}})
			r.Fetch.RecordsPerSecond, r.Fetch.MiBPerSecond = r.Fetch.RecordsPerSecond+f.RecordsPerSecond, r.Fetch.MiBPerSecond+f.MiBPerSecond
			r.Fetch.Bytes, r.Fetch.Seconds = r.Fetch.Bytes+f.Bytes, max(r.Fetch.Seconds, f.Seconds)
		}
	}
	if !targets { // of some loads alone it would say nothing
		r.Throughput.TargetRecordsPerSecond = 0
	}
	r.Client = loads[0].Client
	r.Suffered, r.BoundBy = suffered(loads)
}

func (r *Records) add(o *Records) {
	r.Offered, r.Acknowledged, r.Failed = r.Offered+o.Offered, r.Acknowledged+o.Acknowledged, r.Failed+o.Failed
	r.Unknown, r.Unsent, r.Consumed, r.NotInLog = r.Unknown+o.Unknown, r.Unsent+o.Unsent, r.Consumed+o.Consumed, r.NotInLog+o.NotInLog
}

// Endings are the ways to end, from the one that counts least.
var Endings = []string{Completed, DiskFull, Interrupted, Aborted, CutOff}

// suffered returns the load that fared worst, and the verdict of the workload: that of this load.
func suffered(loads []LoadResult) (string, verdict.Verdict) {
	worst := slices.MinFunc(loads, func(a, b LoadResult) int {
		return cmp.Or(cmp.Compare(a.harm(), b.harm()), cmp.Compare(a.share(), b.share())) // of equals the first
	})
	v := worst.BoundBy
	switch worst.harm() {
	case kept:
		if v.Limit = verdict.None; worst.share() > 1 {
			v.Evidence = "no load has a target rate"
			return "", v
		}
		v.Evidence = fmt.Sprintf("every load was carried as it was asked for; the slowest against its target is %s, with %s of it", worst.Name, theme.Percent(worst.share()))
		return "", v
	case broken:
		limit := worst.Limits[slices.IndexFunc(worst.Limits, func(l Limit) bool { return !l.Held })]
		v.Evidence = fmt.Sprintf("%s did not keep %s; %s", worst.Name, limit.Expression, v.Evidence)
	case missed:
		v.Evidence = fmt.Sprintf("%s reached %s of its target; %s", worst.Name, theme.Percent(worst.share()), v.Evidence)
	default:
		v.Evidence = worst.Name + ": " + v.Evidence
	}
	return worst.Name, v
}

// How a load fared, from the worst.
const (
	notValid = iota
	missed   // its target
	broken   // a limit
	failed   // records
	behind   // with reading
	kept
)

func (l *LoadResult) harm() int {
	lag := l.ConsumerLag
	switch {
	case !l.Valid:
		return notValid
	case l.TargetReached != nil:
		return missed
	case slices.ContainsFunc(l.Limits, func(l Limit) bool { return !l.Held }):
		return broken
	case l.Records.Errors() > 0, l.ReadEnd == ReadFailed:
		return failed
	case lag != nil && lag.KeptUp != nil && !*lag.KeptUp:
		return behind
	}
	return kept
}

// share returns the rate as a share of the target; 2 without a target.
func (l *LoadResult) share() float64 {
	rate, target := l.Throughput.RecordsPerSecond, l.Throughput.TargetRecordsPerSecond
	if l.Plan.ReadsOnly() && l.Fetch != nil {
		rate, target = l.Fetch.RecordsPerSecond, l.Fetch.TargetRecordsPerSecond
	}
	if l.TargetReached != nil {
		return *l.TargetReached
	}
	if target == 0 {
		return 2
	}
	return min(rate/target, 1)
}

// LoadsHeader returns the header of a workload from those of its loads. id is that of the run.
func LoadsHeader(loads []LoadResult, id string) Header {
	first := &loads[0].Header
	h := Header{
		Schema: Schema, RunID: id, KTVersion: first.KTVersion, StartedAt: first.StartedAt, Args: first.Args, Embedded: first.Embedded, Tags: first.Tags,
		Plan:        plan.Plan{Command: plan.Workload, Engine: plan.Client, Bootstrap: first.Plan.Bootstrap, URL: first.Plan.URL},
		Environment: Environment{Host: first.Environment.Host, Clock: first.Environment.Clock, Cluster: first.Environment.Cluster},
		Part:        &Part{Run: first.Part.Run, Epoch: first.Part.Epoch},
	}
	var topics []Topic
	for i := range loads {
		of := &loads[i].Header
		if of.StartedAt.Before(h.StartedAt) {
			h.StartedAt = of.StartedAt
		}
		h.Plan.Producers, h.Plan.Read.Consumers = h.Plan.Producers+of.Plan.Producers, h.Plan.Read.Consumers+of.Plan.Read.Clients()
		if of.Plan.Engine == plan.Wire {
			h.Plan.Engine = plan.Wire
		}
		for _, t := range of.Environment.AllTopics() {
			known := slices.IndexFunc(topics, func(o Topic) bool { return o.Name == t.Name })
			if known < 0 {
				topics = append(topics, t)
			} else {
				topics[known].Created = topics[known].Created || t.Created
			}
		}
	}
	h.Environment.SetTopics(topics)
	return h
}
