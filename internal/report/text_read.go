package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// reading writes what a run that reads is quoted by: its rate and its end-to-end
// latency.
func (t *text) reading(r result.Result) {
	f := r.Fetch
	if f == nil {
		return
	}
	rate := fmt.Sprintf("%s records/s   %s MiB/s", theme.PerSecond(f.RecordsPerSecond), theme.Number(f.MiBPerSecond))
	if !writes(r.Header) && f.Seconds > 0 && !merged(r) {
		about := "in the " + theme.Duration(seconds(f.Seconds)) + " from the first record to the last"
		if n := r.Throughput.TargetRecordsPerSecond; n > 0 {
			about = fmt.Sprintf("target %s, in %s", theme.PerSecond(n), theme.Duration(seconds(f.Seconds)))
		}
		rate += "   (" + about + ")"
	}
	style := strong
	_, ok := r.Read()
	switch {
	case ok:
	case merged(r) || r.Records.Consumed == 0:
		rate, style = noRate, warn
	default:
		rate, style = "too short for a rate: "+plural(r.Records.Consumed, "record")+" in one poll", warn
		if f.Seconds > 0 {
			rate = fmt.Sprintf("too short for a rate: %s in %s", plural(r.Records.Consumed, "record"), theme.Duration(seconds(f.Seconds)))
		}
	}
	t.row("read", style, rate)
	if r.Latency.EndToEnd != nil {
		t.endToEnd(r, *r.Latency.EndToEnd)
	}
}

func (t *text) endToEnd(r result.Result, l result.Latency) {
	label := "end to end"
	merge := merged(r) && r.Plan.Command != plan.Roundtrip
	queued := r.Throughput.TargetRecordsPerSecond == 0 && !r.Plan.Load.OneAtATime
	switch own := writes(r.Header) && !merge && l.Count > 0; {
	case own && queued:
		t.distribution(label, l, "sent → polled, mostly queueing: the rate is unlimited")
	case own && !r.Plan.Load.OneAtATime:
		t.distribution(label, l, "due → polled")
	case l.Count > 0:
		t.row(label, plain, t.percentiles(l))
	}
	if l.Count > 0 {
		label = ""
	}
	if l.OutOfRange > 0 {
		t.sentence(label, warn, theme.Count(l.OutOfRange)+" took longer than an hour, or a negative time by these clocks, and "+either(l.OutOfRange, "is", "are")+" not in these figures")
	}
	switch {
	case merge:
		t.sentence("", muted, "due → polled, of records with kt's stamp; wrong by the difference between the writer's clock and the reader's")
	case !writes(r.Header):
		t.sentence("", muted, "due → polled, of records with kt's stamp; wrong by the error of the writer's clock, and "+clock(r.Environment.Clock))
	case r.Plan.Load.OneAtATime:
		t.sentence("", muted, "sent → polled; one record is in flight at a time, so none queues")
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

// readers writes how the records were read.
func (t *text) readers(r result.Result) {
	f := r.Fetch
	if f == nil {
		return
	}
	t.readEnd(r)
	t.errors("fetch errors", f.Errors)
	if r.JoinMS > 0 || r.Rebalances != nil && r.Rebalances.Count > 0 {
		t.row("group", plain, group(r))
	}
	t.consumerLag(r)
}

// fetches writes the fetches of the readers, and how they spent their time.
func (t *text) fetches(r result.Result) {
	f := r.Fetch
	if f.Requests > 0 {
		t.row("fetches", plain, fmt.Sprintf("%s, %s records and %s each, p50 %s, p99 %s",
			plural(f.Requests, "request"), theme.Number(f.RequestRecords), theme.Bytes(int64(f.RequestBytes)),
			t.quantile(f.Latency, f.Latency.P50), t.quantile(f.Latency, f.Latency.P99)))
	}
	t.waits(r)
	if f.Commits > 0 {
		t.row("commits", plain, fmt.Sprintf("%s, of %s on average", theme.Count(f.Commits), theme.Duration(micros(f.CommitMean))))
	}
}

// waits writes how the readers spent their time, if they read something.
func (t *text) waits(r result.Result) {
	f := r.Fetch
	if r.Records.Consumed == 0 {
		return
	}
	waited := fmt.Sprintf("waited for records %s of the time", theme.Percent(f.WaitShare))
	if f.HeldShare > 0 {
		waited += fmt.Sprintf(", were paced (--rate, --processing-time) %s", theme.Percent(f.HeldShare))
	}
	if f.Polls > 0 {
		waited += fmt.Sprintf(", got %s records a poll", theme.Number(f.PollRecords))
	}
	t.row("readers", plain, waited)
}

// readEnds are the ways in which reading ends, as they continue a sentence.
var readEnds = map[string]string{
	result.ReadCount: "the number asked for", result.ReadAll: "up to the end", result.ReadDuration: "until the time was over",
	result.ReadStopped: "until it was stopped", result.ReadFailed: "until reading failed",
}

func (t *text) readEnd(r result.Result) {
	label, s := "records", theme.Count(r.Records.Consumed)+" read"
	if writes(r.Header) {
		label, s = "consumed", theme.Count(r.Records.Consumed)
	}
	if r.Records.Consumed > 0 {
		s += ", the first after " + theme.Duration(seconds(r.Fetch.FirstReadSeconds))
	}
	style := plain
	if end := readEnds[r.ReadEnd]; end != "" {
		s += ", " + end
	}
	if r.ReadEnd == result.ReadIdle {
		s, style = s+", until none came for "+theme.Duration(r.Plan.Read.Timeout.Std()), warn
	}
	if n := r.Fetch.Withheld; n > 0 {
		s += fmt.Sprintf("; %s behind open transactions", theme.Plural(n, "record waits", "records wait"))
	}
	t.row(label, style, s)
	if n := r.Fetch.Deleted; n > 0 {
		t.row("", warn, theme.Plural(n, "record was", "records were")+" deleted before they were read: "+inPartitions(r, func(p result.PartitionRow) int64 { return p.Deleted }))
	}
	if r.ReadError != "" {
		t.sentence("", bad, r.ReadError)
	}
}

// group returns the time that the group took: to join it, and in rebalances.
func group(r result.Result) string {
	var parts []string
	if r.JoinMS > 0 {
		parts = append(parts, "joined in "+theme.Duration(micros(1000*r.JoinMS)))
	}
	if n := r.Rebalances; n != nil && n.Count > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s in all, the longest %s", plural(n.Count, "rebalance"),
			theme.Duration(micros(1000*n.TotalMS)), theme.Duration(micros(1000*n.LongestMS))))
	}
	return strings.Join(parts, ", ")
}

func (t *text) consumerLag(r result.Result) {
	b := r.ConsumerLag
	if b == nil {
		return
	}
	s := b.Records.Or("not known", func(n int64) string { return plural(n, "record") }) + " at the end"
	if writes(r.Header) {
		s += " of sending"
	}
	s += b.Max.Or("", func(n int64) string { return fmt.Sprintf(", %s at most", theme.Count(n)) })
	slope := *cmp.Or(b.Slope, new(float64))
	switch by := math.Abs(slope); {
	case by < 0.5:
	case slope > 0:
		s += fmt.Sprintf(", growing by %s/s", theme.Rate(by))
	default:
		s += fmt.Sprintf(", falling by %s/s", theme.Rate(by))
	}
	switch {
	case b.KeptUp == nil:
		t.row("consumer lag", plain, s)
	case *b.KeptUp:
		t.row("consumer lag", plain, s+": kept up")
	default:
		t.row("consumer lag", warn, s+": NOT kept up")
	}
	if b.Left != 0 && writes(r.Header) {
		t.row("", warn, "not read at the end: "+b.Left.Or("not known", theme.Count))
	}
	if worst := inPartitions(r, func(p result.PartitionRow) int64 { return int64(p.ConsumerLag) }); worst != "" && r.Environment.Partitions() > 1 {
		t.sentence("", muted, "most of it in "+worst)
	}
}

// inPartitions names the partitions with most of something, "" if none has any.
func inPartitions(r result.Result, of func(result.PartitionRow) int64) string {
	rows := slices.DeleteFunc(slices.Clone(r.Partitions), func(p result.PartitionRow) bool { return of(p) <= 0 })
	slices.SortStableFunc(rows, func(a, b result.PartitionRow) int { return cmp.Compare(of(b), of(a)) })
	const most = 3
	var parts []string
	for _, p := range rows[:min(most, len(rows))] {
		parts = append(parts, fmt.Sprintf("%s (%s)", place(p), theme.Count(of(p))))
	}
	return strings.Join(parts, ", ")
}

// place returns how a partition is named.
func place(p result.PartitionRow) string {
	if p.Topic != "" {
		return fmt.Sprintf("%s/%d", p.Topic, p.ID)
	}
	return fmt.Sprintf("p%d", p.ID)
}
