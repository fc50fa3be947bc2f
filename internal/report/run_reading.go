package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// reading is what a run that reads is quoted by: its rate and its end-to-end latency.
func reading(facts *doc.Facts, r *result.Result) {
	f := r.Fetch
	if f == nil {
		return
	}
	took, records := theme.Duration(seconds(f.Seconds)), plural(r.Records.Consumed, "record")
	_, rated := r.Read()
	switch rate := rateAndBytes(f.RecordsPerSecond, f.MiBPerSecond); {
	case !rated && (merged(r) || r.Records.Consumed == 0):
		facts.Add("read", doc.Warn, noRate)
	case !rated && f.Seconds > 0:
		facts.Add("read", doc.Warn, fmt.Sprintf("too short for a rate: %s in %s", records, took))
	case !rated:
		facts.Add("read", doc.Warn, "too short for a rate: "+records+" in one poll")
	case writes(&r.Header) || f.Seconds == 0 || merged(r):
		facts.Add("read", doc.Loud, rate)
	case r.Throughput.TargetRecordsPerSecond > 0:
		facts.Add("read", doc.Loud, fmt.Sprintf("%s   (target %s, in %s)", rate, theme.PerSecond(r.Throughput.TargetRecordsPerSecond), took))
	default:
		facts.Add("read", doc.Loud, rate+"   (in the "+took+" from the first record to the last)")
	}
	if r.Latency.EndToEnd != nil {
		endToEndFacts(facts, r, *r.Latency.EndToEnd)
	}
}

func endToEndFacts(f *doc.Facts, r *result.Result, l result.Latency) {
	merge := merged(r) && r.Plan.Command != plan.Roundtrip
	own := writes(&r.Header) && !merge && !r.Plan.Load.OneAtATime
	queued := own && r.Throughput.TargetRecordsPerSecond == 0
	label, late := "end to end", l.OutOfRange
	if l.Count > 0 {
		l.OutOfRange = 0 // it has another reason here
		latency(f, label, &l, map[bool]string{true: "due → polled"}[own && !queued])
		if label = ""; queued {
			f.Add("", doc.Muted, "sent → polled, "+queueing)
		}
	}
	if late > 0 {
		f.Add(label, doc.Warn, theme.Count(late)+" took longer than an hour, or a negative time by these clocks, and "+either(late, "is", "are")+" not in these figures")
	}
	switch {
	case merge:
		f.Add("", doc.Muted, "due → polled, of records with kt's stamp; wrong by the difference between the writer's clock and the reader's")
	case !writes(&r.Header):
		f.Add("", doc.Muted, "due → polled, of records with kt's stamp; wrong by the error of the writer's clock, and "+clock(r.Environment.Clock))
	case r.Plan.Load.OneAtATime:
		f.Add("", doc.Muted, "sent → polled; one record is in flight at a time, so none queues")
	}
}

// clock returns the error of this machine's clock, as it adds to times that another process has stamped.
func clock(c *host.Clock) string {
	switch {
	case c == nil:
		return "the error of this machine's is unknown"
	case !c.Synchronised:
		return "this machine's is not synchronised: do not use these figures if another machine wrote the records"
	}
	return "this machine's is off by at most " + theme.Duration(c.Error())
}

// overlap says over which time rates are, and how well it is known.
func overlap(f *doc.Facts, r *result.Result) {
	o := r.Overlap
	if o == nil {
		return
	}
	n, apart, about := 0, "", "" // processes in the figures of the whole
	for i := range r.Processes {
		if r.Processes[i].Counted {
			n++
		}
	}
	if n > 1 {
		apart = "; starts " + theme.Duration(micros(o.StartSpreadUS)) + " apart"
		if !o.Agreed {
			apart += " by each host's own clock"
		} else if o.ClockErrorUS >= 0 {
			apart += " ±" + theme.Duration(micros(o.ClockErrorUS))
		}
	}
	switch {
	case o.Seconds > 0:
		f.Add("overlap", doc.Plain, theme.Duration(seconds(o.Seconds))+" of "+theme.Duration(seconds(o.SpanSeconds))+apart)
	case n < 2:
		f.Add("overlap", doc.Warn, "none: less than 1s was measured")
	case o.Together:
		f.Add("overlap", doc.Warn, "none: the processes were measured together for less than 1s"+apart)
	default:
		f.Add("overlap", doc.Warn, "none: the processes did not run together"+apart)
	}
	switch _, rated := r.Quoted(); {
	case !rated:
		about = "too short for a rate; "
	case o.Seconds == 0:
		about = "rates: over the " + theme.Duration(seconds(r.Throughput.Seconds)) + " from the first record to the last; "
	case n > 1 && r.Throughput.FirstDueSeconds == o.FromSeconds && r.Throughput.Seconds == o.Seconds:
		about = "rates: only while all processes ran; the rest: whole run; "
	}
	f.Add("", doc.Muted, fmt.Sprintf("%slatencies: the histograms of %d %s, added up", about, n, either(n, "process", "processes")))
}

// readEnds are the ways in which reading ends, as they continue a sentence.
var readEnds = map[string]string{
	result.ReadCount: ", the number asked for", result.ReadAll: ", up to the end", result.ReadDuration: ", until the time was over",
	result.ReadStopped: ", until it was stopped", result.ReadFailed: ", until reading failed",
}

// readers is how the records were read.
func readers(f *doc.Facts, r *result.Result) {
	if r.Fetch == nil {
		return
	}
	label, s, tone := "records", theme.Count(r.Records.Consumed)+" read", doc.Plain
	if writes(&r.Header) {
		label, s = "consumed", theme.Count(r.Records.Consumed)
	}
	if r.Records.Consumed > 0 {
		s += ", the first after " + theme.Duration(seconds(r.Fetch.FirstReadSeconds))
	}
	if s += readEnds[r.ReadEnd]; r.ReadEnd == result.ReadIdle {
		s, tone = s+", until none came for "+theme.Duration(r.Plan.Read.Timeout.Std()), doc.Warn
	}
	if n := r.Fetch.Withheld; n > 0 {
		s += fmt.Sprintf("; %s behind open transactions", theme.Plural(n, "record waits", "records wait"))
	}
	f.Add(label, tone, s)
	if n := r.Fetch.Deleted; n > 0 {
		f.Add("", doc.Warn, theme.Plural(n, "record was", "records were")+" deleted before they were read: "+inPartitions(r, func(p *result.PartitionRow) int64 { return p.Deleted }))
	}
	f.Add("", doc.Bad, r.ReadError)
	var group []string // the time that it took
	if r.JoinMS > 0 {
		group = append(group, "joined in "+theme.Duration(millis(&r.JoinMS)))
	}
	if n := r.Rebalances; n != nil && n.Count > 0 {
		group = append(group, fmt.Sprintf("%s of %s in all, the longest %s", plural(n.Count, "rebalance"), theme.Duration(millis(&n.TotalMS)), theme.Duration(millis(&n.LongestMS))))
	}
	f.Add("group", doc.Plain, strings.Join(group, ", "))
	consumerLag(f, r)
}

func consumerLag(f *doc.Facts, r *result.Result) {
	b := r.ConsumerLag
	if b == nil {
		return
	}
	s, tone := b.Records.Or("not known", func(n int64) string { return plural(n, "record") })+" at the end", doc.Plain
	if writes(&r.Header) {
		s += " of sending"
	}
	s += b.Max.Or("", func(n int64) string { return fmt.Sprintf(", %s at most", theme.Count(n)) })
	if slope := *cmp.Or(b.Slope, new(float64)); math.Abs(slope) >= 0.5 {
		s += fmt.Sprintf(", %s by %s/s", map[bool]string{true: "growing", false: "falling"}[slope > 0], theme.Rate(math.Abs(slope)))
	}
	if b.KeptUp != nil && *b.KeptUp {
		s += ": kept up"
	} else if b.KeptUp != nil {
		s, tone = s+": NOT kept up", doc.Warn
	}
	f.Add("consumer lag", tone, s)
	if b.Left != 0 && writes(&r.Header) {
		f.Add("", doc.Warn, "not read at the end: "+b.Left.Or("not known", theme.Count))
	}
	if worst := inPartitions(r, func(p *result.PartitionRow) int64 { return int64(p.ConsumerLag) }); worst != "" && r.Environment.Partitions() > 1 {
		f.Add("", doc.Muted, "most of it in "+worst)
	}
}

// inPartitions names the partitions with most of something, "" if none has any.
func inPartitions(r *result.Result, of func(*result.PartitionRow) int64) string {
	rows := slices.DeleteFunc(slices.Clone(r.Partitions), func(p result.PartitionRow) bool { return of(&p) <= 0 })
	slices.SortStableFunc(rows, func(a, b result.PartitionRow) int { return cmp.Compare(of(&b), of(&a)) })
	const most = 3
	var parts []string
	for _, p := range rows[:min(most, len(rows))] {
		parts = append(parts, fmt.Sprintf("%s (%s)", place(&p), theme.Count(of(&p))))
	}
	return strings.Join(parts, ", ")
}

// fetches are the fetches of the readers, and how they spent their time.
func fetches(facts *doc.Facts, r *result.Result) {
	f := r.Fetch
	if f == nil {
		return
	}
	if f.Requests > 0 {
		facts.Add("fetches", doc.Plain, fmt.Sprintf("%s, %s records and %s each, p50 %s, p99 %s",
			plural(f.Requests, "request"), theme.Number(f.RequestRecords), theme.Bytes(int64(f.RequestBytes)), latencyOf(&f.Latency, f.Latency.P50), latencyOf(&f.Latency, f.Latency.P99)))
	}
	if r.Records.Consumed > 0 {
		waited := fmt.Sprintf("waited for records %s of the time", theme.Percent(f.WaitShare))
		if f.HeldShare > 0 {
			waited += fmt.Sprintf(", were paced (--rate, --processing-time) %s", theme.Percent(f.HeldShare))
		}
		if f.Polls > 0 {
			waited += fmt.Sprintf(", got %s records a poll", theme.Number(f.PollRecords))
		}
		facts.Add("readers", doc.Plain, waited)
	}
	if f.Commits > 0 {
		facts.Add("commits", doc.Plain, fmt.Sprintf("%s, of %s on average", theme.Count(f.Commits), theme.Duration(micros(f.CommitMean))))
	}
}
