package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// figures are the facts that a run is quoted by.
func figures(r *result.Result) *doc.Facts {
	f := new(doc.Facts)
	writes := writes(&r.Header)
	th := &r.Throughput
	switch _, rated := r.Written(); {
	case !writes:
	case !rated:
		f.Add("throughput", doc.Warn, noRate)
	default:
		text := rateAndBytes(th.RecordsPerSecond, th.MiBPerSecond)
		if th.TargetRecordsPerSecond > 0 {
			changed := len(r.Stages) > 0 || slices.ContainsFunc(r.Events, func(e result.Event) bool { return e.Kind == stats.RateChanged })
			asked := pick(th.AskedRecordsPerSecond > 0, " ("+theme.PerSecond(th.AskedRecordsPerSecond)+" with the lost processes)", "")
			text += fmt.Sprintf("   (target %s%s%s, offered %s)", theme.PerSecond(th.TargetRecordsPerSecond), asked, pick(changed, " on average", ""), theme.PerSecond(th.OfferedRecordsPerSecond))
		}
		f.Add("throughput", doc.Loud, text)
	}
	reading(f, r)
	overlap(f, r)
	if writes {
		latencies(f, r)
	}
	if r.Note != "" {
		f.Rows = append(f.Rows, doc.Fact{Text: r.Note, Tone: doc.Muted, For: doc.InPage})
	}
	if writes {
		records(f, r)
	}
	readers(f, r)
	if s := r.Stability; s != nil {
		outage := r.Outage != nil && r.Outage.BeganWith != ""
		detail(f, s.Label == inference.Flat || s.Label == inference.None && outage, "stability", pick(s.Label == inference.Flat, doc.Plain, doc.Warn), steadiness(s))
	}
	if w := r.Warmup; w != nil {
		n := pick(writes, w.Records.Offered, w.Records.Consumed)
		f.Add("warm-up", doc.Plain, plural(n, "record")+" left out"+pick(writes, ", p99 "+latencyOf(&w.Response, w.Response.P99), ""))
	}
	if low, high := extremes(r); r.Environment.Partitions() > 1 && !r.Environment.ByTopic {
		detail(f, high.Records <= 2*low.Records, "partitions", doc.Plain, fmt.Sprintf("%d, from %s (%s) to %s (%s)", r.Environment.Partitions(),
			theme.Count(low.Records), place(&low), plural(high.Records, "record"), place(&high)))
	}
	if s := r.Skew; s != nil {
		var shares []string
		if s.BusiestKey != nil {
			shares = append(shares, "busiest key "+theme.Percent(*s.BusiestKey))
		}
		if s.BusiestPartition != nil {
			shares = append(shares, "busiest partition "+theme.Percent(*s.BusiestPartition))
		}
		f.If(len(shares) > 0, "skew", doc.Plain, strings.Join(shares, ", ")+" of the records")
	}
	f.Rows = append(f.Rows, details(r).Rows...)
	return f
}

// detail adds a fact that a terminal shows with --verbose if it says nothing new.
func detail(f *doc.Facts, is bool, name string, tone doc.Tone, text string) {
	if f.Add(name, tone, text); is {
		f.Rows[len(f.Rows)-1].For = doc.InDetails | doc.InPage
	}
}

// noRate stands for the rate of a run that is too short for one.
const noRate = "too short for a rate: less than 1s was measured"

func rateAndBytes(records, mib float64) string {
	return fmt.Sprintf("%s records/s   %s MiB/s", theme.PerSecond(records), theme.Number(mib))
}

// latency adds the percentiles of what it names.
func latency(f *doc.Facts, label string, l *result.Latency, what string) {
	if l.Ranked() == 0 {
		f.Add(label, doc.Muted, "not measured")
	} else {
		var figures []string
		for i, us := range []result.Micros{l.P50, l.P90, l.P99, l.P999, l.P9999, l.Max} {
			figures = append(figures, []string{"p50", "p90", "p99", "p99.9", "p99.99", "max"}[i]+" "+theme.Duration(us.Duration()))
		}
		fact := doc.Fact{Name: label, Remark: what, Text: strings.Join(figures, "   ")}
		for _, leave := range []int{4, 3, 1} { // p99.99 goes first, then p99.9 and p90
			figures = slices.Delete(figures, leave, leave+1)
			fact.Shorter = append(fact.Shorter, strings.Join(figures, "   "), strings.Join(figures, "  "))
		}
		f.Rows = append(f.Rows, fact)
	}
	f.If(l.OutOfRange > 0, "", doc.Warn, theme.Count(l.OutOfRange)+" took longer than an hour and "+either(l.OutOfRange, "is", "are")+" not in these figures")
}

const queueing = "mostly queueing: the rate is unlimited"

func latencies(f *doc.Facts, r *result.Result) {
	switch {
	case r.Throughput.TargetRecordsPerSecond > 0:
		latency(f, "response", &r.Latency.Response, "due → "+r.Outcome())
		latency(f, "service", &r.Latency.Service, "sent → acknowledged")
		latency(f, "send delay", &r.Latency.SendDelay, "due → sent")
		f.Add("", doc.Warn, r.OwnDelay())
	case r.Plan.Load.OneAtATime:
		latency(f, "response", &r.Latency.Response, "sent → acknowledged")
	default:
		latency(f, "latency", &r.Latency.Response, "")
		f.If(r.Latency.Response.Ranked() > 0, "", doc.Muted, queueing)
	}
}

// records are the outcomes of the records that were sent.
func records(f *doc.Facts, r *result.Result) {
	rec, b, committed, aborted := &r.Records, &r.Batches, r.Client.Transactions, r.Client.Aborted
	f.Add("records", doc.Plain, fmt.Sprintf("%s offered = %s %s + %s failed + %s unknown",
		theme.Count(rec.Offered), theme.Count(rec.Acknowledged), r.Outcome(), theme.Count(rec.Failed), theme.Count(rec.Unknown)))
	f.If(rec.Unsent > 0, "", doc.Warn, theme.Count(rec.Unsent)+" more "+either(rec.Unsent, "was", "were")+" due and never sent")
	f.If(rec.NotInLog > 0, "", doc.Bad, plural(rec.NotInLog, "record")+" "+either(rec.NotInLog, "is", "are")+" not in the log")
	if b.Count > 0 {
		ratio := pick(setting(r.Config, "compression.type") == "none", "not compressed", fmt.Sprintf("compressed %s (rate %.3f)", theme.Ratio(b.CompressionRatio), b.CompressedShare))
		f.Add("batches", doc.Plain, fmt.Sprintf("%s rec/batch, %s each, %s", theme.Number(b.RecordsMean), theme.Bytes(int64(b.BytesMean)), ratio))
		f.If(b.SpanMax > 0, "", doc.Muted, "records that fell due within "+theme.Duration(micros(b.SpanMax))+" at most count with the latency of the first")
	}
	f.If(committed > 0, "transactions", doc.Plain, theme.Count(committed)+" committed")
	f.If(aborted > 0, "", doc.Bad, plural(aborted, "transaction")+" aborted: consumers with read_committed skip "+either(aborted, "its", "their")+" records")
}

// steadiness says how the throughput went on.
func steadiness(s *result.Stability) string {
	varied := fmt.Sprintf("%.0f-second means vary by %s", s.MeansSeconds, theme.Percent(s.Variation))
	begin := theme.Duration(seconds(s.WarmupSeconds))
	switch {
	case s.Label == inference.Flat:
		return "flat: " + varied
	case s.Label == inference.WarmUp:
		return fmt.Sprintf("warm-up until %s: use --warmup %.0fs; then %s", begin, s.WarmupSeconds, varied)
	case s.Label == inference.Slowdown && s.WarmupSeconds > 0:
		return fmt.Sprintf("slowdown after %s: then %s", begin, varied)
	case s.Label == inference.Slowdown:
		return "slowdown: the rate fell by " + theme.Percent(-s.Trend.Share) + " until the end"
	}
	return "never steady: " + varied + pick(s.Trend.Low > 0, ", and the rate still rose at the end: use a longer --duration", "")
}

// extremes returns the partitions with the fewest and the most records, sent or read. One that got none has no row.
func extremes(r *result.Result) (low, high result.PartitionRow) {
	rows, named := slices.Clone(r.Partitions), make(map[string]bool, len(r.Partitions))
	for i := range rows {
		if named[place(&rows[i])] = true; !writes(&r.Header) {
			rows[i].Records = rows[i].Consumed
		}
	}
	for i := range int32(r.Environment.Partitions()) {
		topic, number := r.Environment.Place(i)
		if !named[r.Environment.PartitionName(i)] {
			rows = append(rows, result.PartitionRow{ID: number, Topic: pick(len(r.Environment.Topics) > 0, topic.Name, "")})
			break
		}
	}
	if len(rows) == 0 {
		return low, high
	}
	byRecords := func(a, b result.PartitionRow) int { return cmp.Compare(a.Records, b.Records) }
	return slices.MinFunc(rows, byRecords), slices.MaxFunc(rows, byRecords)
}

// place returns how a partition is named.
func place(p *result.PartitionRow) string {
	return pick(p.Topic != "", fmt.Sprintf("%s/%d", p.Topic, p.ID), fmt.Sprintf("p%d", p.ID))
}

// details are the facts that a terminal shows with --verbose: what the readers did, the resources that kt itself used, a line a host of
// what kt tune found, and of how many files a merged result was made.
func details(r *result.Result) *doc.Facts {
	f := new(doc.Facts)
	if r.NotAddedUp == "" || len(r.Loads) > 0 {
		fetches(f, r)
		c := &r.Client
		cores := fmt.Sprintf("%.2f of %.4g cores", c.CPUCores, c.CoresAvailable)
		if merged(r) && c.CPUCores == 0 { // no process ran for long enough
			cores = fmt.Sprintf("too short a time to know how many of %.0f cores", c.CoresAvailable)
		}
		if c.CPUSecondsPerMillion > 0 { // below one core it is not known
			cores += fmt.Sprintf(" (%.2f s per million records)", c.CPUSecondsPerMillion)
		}
		f.Add(pick(merged(r), "all clients", "this client"), doc.Plain,
			fmt.Sprintf("%s, %s, longest GC pause %s", cores, theme.Bytes(c.PeakResidentBytes), theme.Duration(micros(c.GCPauseMaxUS))))
	}
	for i := range r.Tune {
		f.Add(pick(i == 0, "kt tune", ""), doc.Muted, pick(len(r.Tune) > 1, r.Tune[i].Host+": ", "")+tuneLine(&r.Tune[i]))
	}
	processes := len(slices.DeleteFunc(slices.Clone(r.RunFiles), func(s result.MergedFile) bool { return s.Process == 0 }))
	if all := len(r.RunFiles); all > 0 {
		about := pick(processes < all, fmt.Sprintf(": %d of processes, %d of hosts that were watched", processes, all-processes), "")
		f.Add("merged from", doc.Muted, plural(all, "run file")+about)
	}
	for i := range f.Rows {
		f.Rows[i].For = doc.InDetails | doc.InPage
	}
	return f
}

// tuneLine returns what kt tune says of a host, in one line.
func tuneLine(c *result.TuneCheck) string {
	var ids, counts []string
	for _, f := range c.Findings {
		if f.Verdict != result.TuneInfo {
			ids = append(ids, f.ID)
		}
	}
	if len(ids) == 0 {
		return plural(c.Checks, "check") + " without a warning"
	}
	for _, of := range [][2]string{{result.TuneFail, "failure"}, {result.TuneWarn, "warning"}} {
		if n := c.Count(of[0]); n > 0 {
			counts = append(counts, plural(n, of[1]))
		}
	}
	return fmt.Sprintf("%s of the host: %s; more with kt tune --check", strings.Join(counts, ", "), strings.Join(ids, ", "))
}
