package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
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
	text := rateAndBytes(f.RecordsPerSecond, f.MiBPerSecond)
	switch {
	case !rated && (merged(r) || r.Records.Consumed == 0):
		text = noRate
	case !rated:
		text = "too short for a rate: " + records + pick(f.Seconds > 0, " in "+took, " in one poll")
	case writes(&r.Header) || f.Seconds == 0 || merged(r):
	case r.Throughput.TargetRecordsPerSecond > 0:
		text += fmt.Sprintf("   (target %s, in %s)", theme.PerSecond(r.Throughput.TargetRecordsPerSecond), took)
	default:
		text += "   (in the " + took + " from the first record to the last)"
	}
	if facts.Add("read", pick(rated, doc.Loud, doc.Warn), text); r.Latency.EndToEnd != nil {
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
		latency(f, label, &l, pick(own && !queued, "due → polled", ""))
		f.If(queued, "", doc.Muted, "sent → polled, "+queueing)
		label = ""
	}
	f.If(late > 0, label, doc.Warn, theme.Count(late)+" took longer than an hour, or a negative time by these clocks, and "+either(late, "is", "are")+" not in these figures")
	switch {
	case merge:
		f.Add("", doc.Muted, "due → polled, of records with kt's stamp; wrong by the difference between the writer's clock and the reader's")
	case !writes(&r.Header):
		own := "the error of this machine's is unknown"
		if c := r.Environment.Clock; c != nil {
			own = pick(c.Synchronised, "this machine's is off by at most "+theme.Duration(c.Error()),
				"this machine's is not synchronised: do not use these figures if another machine wrote the records")
		}
		f.Add("", doc.Muted, "due → polled, of records with kt's stamp; wrong by the error of the writer's clock, and "+own)
	case r.Plan.Load.OneAtATime:
		f.Add("", doc.Muted, "sent → polled; one record is in flight at a time, so none queues")
	}
}

// overlap says over which time rates are, and how well it is known.
func overlap(f *doc.Facts, r *result.Result) {
	o := r.Overlap
	if o == nil {
		return
	}
	n := len(slices.DeleteFunc(slices.Clone(r.Processes), func(p result.ProcessRow) bool { return !p.Counted }))
	apart := "; starts " + theme.Duration(micros(o.StartSpreadUS)) + " apart"
	switch {
	case n < 2:
		apart = ""
	case !o.Agreed:
		apart += " by each host's own clock"
	case o.ClockErrorUS >= 0:
		apart += " ±" + theme.Duration(micros(o.ClockErrorUS))
	}
	tone, text := doc.Warn, "none: the processes did not run together"+apart
	switch {
	case o.Seconds > 0:
		tone, text = doc.Plain, theme.Duration(seconds(o.Seconds))+" of "+theme.Duration(seconds(o.SpanSeconds))+apart
	case n < 2:
		text = "none: less than 1s was measured"
	case o.Together:
		text = "none: the processes were measured together for less than 1s" + apart
	}
	f.Add("overlap", tone, text)
	about := ""
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
	label, s, tone := "consumed", theme.Count(r.Records.Consumed), doc.Plain
	if !writes(&r.Header) {
		label, s = "records", s+" read"
	}
	if r.Records.Consumed > 0 {
		s += ", the first after " + theme.Duration(seconds(r.Fetch.FirstReadSeconds))
	}
	if s += readEnds[r.ReadEnd]; r.ReadEnd == result.ReadIdle {
		s, tone = s+", until none came for "+theme.Duration(r.Plan.Read.Timeout.Std()), doc.Warn
	}
	withheld, deleted := r.Fetch.Withheld, r.Fetch.Deleted
	f.Add(label, tone, s+pick(withheld > 0, "; "+theme.Plural(withheld, "record waits", "records wait")+" behind open transactions", ""))
	f.If(deleted > 0, "", doc.Warn, theme.Plural(deleted, "record was", "records were")+" deleted before they were read: "+
		inPartitions(r, func(p *result.RowFigures) int64 { return p.Deleted }))
	f.Add("", doc.Bad, r.ReadError)
	var group []string // the time that it took
	if r.JoinMS > 0 {
		group = append(group, "joined in "+theme.Duration(millis(&r.JoinMS)))
	}
	if n := r.Rebalances; n != nil && n.Count > 0 {
		group = append(group, fmt.Sprintf("%s of %s in all, the longest %s", plural(n.Count, "rebalance"), theme.Duration(millis(&n.TotalMS)), theme.Duration(millis(&n.LongestMS))))
	}
	f.Add("group", doc.Plain, strings.Join(group, ", "))
	shareGroup(f, r.Fetch.Share, r.Environment.Share)
	consumerLag(f, r)
}

func consumerLag(f *doc.Facts, r *result.Result) {
	b := r.ConsumerLag
	if b == nil {
		return
	}
	writes := writes(&r.Header)
	s, tone := b.Records.Or("not known", func(n int64) string { return plural(n, "record") })+" at the end"+pick(writes, " of sending", ""), doc.Plain
	s += b.Max.Or("", func(n int64) string { return fmt.Sprintf(", %s at most", theme.Count(n)) })
	if slope := *cmp.Or(b.Slope, new(float64)); math.Abs(slope) >= 0.5 {
		s += fmt.Sprintf(", %s by %s/s", pick(slope > 0, "growing", "falling"), theme.Rate(math.Abs(slope)))
	}
	if b.KeptUp != nil {
		s, tone = s+pick(*b.KeptUp, ": kept up", ": NOT kept up"), pick(*b.KeptUp, doc.Plain, doc.Warn)
	}
	f.Add("consumer lag", tone, s)
	f.If(b.Left != 0 && writes, "", doc.Warn, "not read at the end: "+b.Left.Or("not known", theme.Count))
	worst := inPartitions(r, func(p *result.RowFigures) int64 { return int64(p.ConsumerLag) })
	f.If(worst != "" && r.Environment.Partitions() > 1, "", doc.Muted, "most of it in "+worst)
}

// inPartitions names the partitions, or topics, with most of something, "" if none has any.
func inPartitions(r *result.Result, of func(*result.RowFigures) int64) string {
	rows := slices.DeleteFunc(rowsOf(r), func(p named) bool { return of(p.RowFigures) <= 0 })
	slices.SortStableFunc(rows, func(a, b named) int { return cmp.Compare(of(b.RowFigures), of(a.RowFigures)) })
	const most = 3
	var parts []string
	for _, p := range rows[:min(most, len(rows))] {
		parts = append(parts, fmt.Sprintf("%s (%s)", p.name, theme.Count(of(p.RowFigures))))
	}
	return strings.Join(parts, ", ")
}

// fetches are the fetches of the readers, and how they spent their time.
func fetches(facts *doc.Facts, r *result.Result) {
	f := r.Fetch
	if f == nil {
		return
	}
	facts.If(f.Requests > 0, "fetches", doc.Plain, fmt.Sprintf("%s, %s records and %s each, p50 %s, p99 %s", plural(f.Requests, "request"),
		theme.Number(f.RequestRecords), theme.Bytes(int64(f.RequestBytes)), latencyOf(&f.Latency, f.Latency.P50), latencyOf(&f.Latency, f.Latency.P99)))
	facts.If(r.Records.Consumed > 0, "readers", doc.Plain, fmt.Sprintf("waited for records %s of the time", theme.Percent(f.WaitShare))+
		pick(f.HeldShare > 0, fmt.Sprintf(", were paced (--rate, --processing-time) %s", theme.Percent(f.HeldShare)), "")+
		pick(f.Polls > 0, fmt.Sprintf(", got %s records a poll", theme.Number(f.PollRecords)), ""))
	facts.If(f.BusyShare > 0, "work", doc.Plain, fmt.Sprintf("consumers were busy %s of the time, with %s a record%s", theme.Percent(f.BusyShare), r.Plan.Read.Processing,
		pick(f.Overtaken > 0, fmt.Sprintf("; %s done before an earlier one of the same key", theme.Plural(f.Overtaken, "record was", "records were")), "")))
	facts.If(f.Commits > 0, "commits", doc.Plain, fmt.Sprintf("%s, of %s on average", theme.Count(f.Commits), theme.Duration(micros(f.CommitMean))))
}

// shareGroup is what became of the records that the members of a share group got.
func shareGroup(facts *doc.Facts, s *result.ShareGroup, limits *result.ShareLimits) {
	if s == nil {
		return
	}
	facts.Add("share group", pick(s.Failed > 0, doc.Warn, doc.Plain), strings.TrimSuffix(theme.Count(s.Acquired)+" acquired: "+counted(count{s.Accepted, "accepted"}, count{s.Released, "released"},
		count{s.Rejected, "rejected"}, count{s.Unconfirmed, "not confirmed"}), ": ")+pick(s.Archived > 0, "; archived: "+theme.Count(s.Archived), "")+
		pick(s.Unfinished > 0, "; of those released, "+theme.Count(s.Unfinished)+" in work at the end", "")+
		pick(s.Untouched > 0, "; and "+theme.Count(s.Untouched)+" given back untouched at the end", ""))
	var times []string
	for _, n := range slices.Sorted(maps.Keys(s.Deliveries)) {
		times = append(times, n+". "+theme.Count(s.Deliveries[n]))
	}
	facts.If(s.Redelivered > 0, "deliveries", doc.Plain, strings.Join(times, "   "))
	facts.If(limits != nil && s.MostLocks > 0, "record locks", doc.Plain, fmt.Sprintf("at most %s of %s a partition; one member held up to %s",
		theme.Count(s.MostLocks), theme.Count(cmp.Or(limits, new(result.ShareLimits)).Locks), theme.Plural(s.MostHeld, "record", "records")))
	facts.If(s.AckTime.Count > 0, "acknowledged", doc.Plain, fmt.Sprintf("p50 %s, p99 %s, max %s   (polled → confirmed)",
		latencyOf(&s.AckTime, s.AckTime.P50), latencyOf(&s.AckTime, s.AckTime.P99), latencyOf(&s.AckTime, s.AckTime.Max)))
}
