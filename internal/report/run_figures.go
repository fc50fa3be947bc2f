package report

import (
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
func figures(r *result.Result) []doc.Fact {
	var f facts
	writes := writes(&r.Header)
	if writes {
		throughput(&f, r)
	}
	reading(&f, r)
	overlap(&f, r)
	if writes {
		latencies(&f, r)
	}
	if r.Note != "" {
		f = append(f, doc.Fact{Text: r.Note, Tone: doc.Muted, For: doc.InPage})
	}
	if writes {
		records(&f, r)
	}
	readers(&f, r)
	stability(&f, r)
	if w := r.Warmup; w != nil && writes {
		f.add("warm-up", doc.Plain, plural(w.Records.Offered, "record")+" left out, p99 "+latencyOf(&w.Response, w.Response.P99))
	} else if w != nil {
		f.add("warm-up", doc.Plain, plural(w.Records.Consumed, "record")+" left out")
	}
	partitionRange(&f, r)
	return append(f, details(r)...)
}

// noRate stands for the rate of a run that is too short for one.
const noRate = "too short for a rate: less than 1s was measured"

func rateAndBytes(records, mib float64) string {
	return fmt.Sprintf("%s records/s   %s MiB/s", theme.PerSecond(records), theme.Number(mib))
}

func throughput(f *facts, r *result.Result) {
	th := &r.Throughput
	if _, ok := r.Written(); !ok {
		f.add("throughput", doc.Warn, noRate)
		return
	}
	fact := doc.Fact{Name: "throughput", Text: rateAndBytes(th.RecordsPerSecond, th.MiBPerSecond), Tone: doc.Loud}
	if th.TargetRecordsPerSecond > 0 {
		target := theme.PerSecond(th.TargetRecordsPerSecond)
		if asked := th.AskedRecordsPerSecond; asked > 0 {
			target += " (" + theme.PerSecond(asked) + " with the lost processes)"
		}
		if len(r.Stages) > 0 || slices.ContainsFunc(r.Events, func(e result.Event) bool { return e.Kind == stats.RateChanged }) {
			target += " on average"
		}
		fact.Text += fmt.Sprintf("   (target %s, offered %s)", target, theme.PerSecond(th.OfferedRecordsPerSecond))
	}
	*f = append(*f, fact)
}

// latency adds the percentiles of what it names.
func (f *facts) latency(label string, l *result.Latency, what string) {
	if l.Ranked() == 0 {
		f.add(label, doc.Muted, "not measured")
	} else {
		fact := doc.Fact{Name: label, Remark: what}
		var figures []string
		for _, p := range []struct {
			name string
			us   result.Micros
		}{{"p50", l.P50}, {"p90", l.P90}, {"p99", l.P99}, {"p99.9", l.P999}, {"p99.99", l.P9999}, {"max", l.Max}} {
			figures = append(figures, p.name+" "+theme.Duration(p.us.Duration()))
		}
		fact.Text = strings.Join(figures, "   ")
		for _, leave := range []int{4, 3, 1} { // p99.99 goes first, then p99.9 and p90
			figures = slices.Delete(figures, leave, leave+1)
			fact.Shorter = append(fact.Shorter, strings.Join(figures, "   "), strings.Join(figures, "  "))
		}
		*f = append(*f, fact)
	}
	if l.OutOfRange > 0 {
		f.add("", doc.Warn, theme.Count(l.OutOfRange)+" took longer than an hour and "+either(l.OutOfRange, "is", "are")+" not in these figures")
	}
}

const queueing = "mostly queueing: the rate is unlimited"

func latencies(f *facts, r *result.Result) {
	switch {
	case r.Throughput.TargetRecordsPerSecond > 0:
		f.latency("response", &r.Latency.Response, "due → "+r.Outcome())
		f.latency("service", &r.Latency.Service, "sent → acknowledged")
		f.latency("send delay", &r.Latency.SendDelay, "due → sent")
		f.add("", doc.Warn, r.OwnDelay())
	case r.Plan.Load.OneAtATime:
		f.latency("response", &r.Latency.Response, "sent → acknowledged")
	default:
		f.latency("latency", &r.Latency.Response, "")
		if r.Latency.Response.Ranked() > 0 {
			f.add("", doc.Muted, queueing)
		}
	}
}

// records are the outcomes of the records that were sent.
func records(f *facts, r *result.Result) {
	rec := &r.Records
	f.add("records", doc.Plain, fmt.Sprintf("%s offered = %s %s + %s failed + %s unknown",
		theme.Count(rec.Offered), theme.Count(rec.Acknowledged), r.Outcome(), theme.Count(rec.Failed), theme.Count(rec.Unknown)))
	if rec.Unsent > 0 {
		f.add("", doc.Warn, theme.Count(rec.Unsent)+" more "+either(rec.Unsent, "was", "were")+" due and never sent")
	}
	if n := rec.NotInLog; n > 0 {
		f.add("", doc.Bad, plural(n, "record")+" "+either(n, "is", "are")+" not in the log")
	}
	if b := r.Batches; b.Count > 0 {
		ratio := "not compressed"
		if setting(r.Config, "compression.type") != "none" {
			ratio = fmt.Sprintf("compressed %s (rate %.3f)", theme.Ratio(b.CompressionRatio), b.CompressedShare)
		}
		f.add("batches", doc.Plain, fmt.Sprintf("%s rec/batch, %s each, %s", theme.Number(b.RecordsMean), theme.Bytes(int64(b.BytesMean)), ratio))
		if b.SpanMax > 0 {
			f.add("", doc.Muted, "records that fell due within "+theme.Duration(micros(b.SpanMax))+" at most count with the latency of the first")
		}
	}
	if n := r.Client.Transactions; n > 0 {
		f.add("transactions", doc.Plain, theme.Count(n)+" committed")
	}
	if n := r.Client.Aborted; n > 0 {
		f.add("", doc.Bad, plural(n, "transaction")+" aborted: consumers with read_committed skip "+either(n, "its", "their")+" records")
	}
}

// stability is how the throughput went on. That it was flat is a detail, and so is that a run with an outage was not steady.
func stability(f *facts, r *result.Result) {
	s := r.Stability
	if s == nil {
		return
	}
	fact := doc.Fact{Name: "stability", Text: steadiness(s), Tone: doc.Warn}
	outage := r.Outage != nil && r.Outage.BeganWith != ""
	if s.Label == inference.Flat {
		fact.Tone = doc.Plain
	}
	if s.Label == inference.Flat || s.Label == inference.None && outage {
		fact.For = doc.InDetails | doc.InPage
	}
	*f = append(*f, fact)
}

// steadiness says how the throughput went on.
func steadiness(s *result.Stability) string {
	varied := fmt.Sprintf("%.0f-second means vary by %s", s.MeansSeconds, theme.Percent(s.Variation))
	switch s.Label {
	case inference.Flat:
		return "flat: " + varied
	case inference.WarmUp:
		return fmt.Sprintf("warm-up until %s: use --warmup %.0fs; then %s", theme.Duration(seconds(s.WarmupSeconds)), s.WarmupSeconds, varied)
	case inference.Slowdown:
		if s.WarmupSeconds > 0 {
			return fmt.Sprintf("slowdown after %s: then %s", theme.Duration(seconds(s.WarmupSeconds)), varied)
		}
		return "slowdown: the rate fell by " + theme.Percent(-s.Trend.Share) + " until the end"
	}
	text := "never steady: " + varied
	if s.Trend.Low > 0 {
		text += ", and the rate still rose at the end: use a longer --duration"
	}
	return text
}

// partitionRange names the partitions with the fewest and the most records. Where one got not more than twice the records of another, that
// is a detail.
func partitionRange(f *facts, r *result.Result) {
	low, high, ok := extremes(r)
	if !ok {
		return
	}
	fact := doc.Fact{Name: "partitions", Text: fmt.Sprintf("%d, from %s (%s) to %s (%s)", r.Environment.Partitions(),
		theme.Count(low.Records), place(&low), plural(high.Records, "record"), place(&high))}
	if high.Records <= 2*low.Records {
		fact.For = doc.InDetails | doc.InPage
	}
	*f = append(*f, fact)
}

// extremes returns the partitions with the fewest and the most records, of several: of
// those sent, or read by a run that only reads. One that got none has no row.
func extremes(r *result.Result) (low, high result.PartitionRow, ok bool) {
	type at struct {
		topic string
		id    int32
	}
	seen := make(map[at]bool, len(r.Partitions))
	for i, p := range r.Partitions {
		if !writes(&r.Header) {
			p.Records = p.Consumed
		}
		seen[at{p.Topic, p.ID}] = true
		if i == 0 || p.Records < low.Records {
			low = p
		}
		if i == 0 || p.Records > high.Records {
			high = p
		}
	}
	for i := range int32(r.Environment.Partitions()) {
		topic, number := r.Environment.Place(i)
		p := result.PartitionRow{ID: number}
		if len(r.Environment.Topics) > 0 {
			p.Topic = topic.Name
		}
		if !seen[at{p.Topic, p.ID}] {
			low = p
			break
		}
	}
	return low, high, r.Environment.Partitions() > 1
}

// place returns how a partition is named.
func place(p *result.PartitionRow) string {
	if p.Topic != "" {
		return fmt.Sprintf("%s/%d", p.Topic, p.ID)
	}
	return fmt.Sprintf("p%d", p.ID)
}

// details are the facts that a terminal shows with --verbose.
func details(r *result.Result) []doc.Fact {
	var f facts
	if r.NotAddedUp == "" {
		clientUse(&f, r)
	}
	tuneLines(&f, r.Tune)
	runFiles(&f, r)
	for i := range f {
		f[i].For = doc.InDetails | doc.InPage
	}
	return f
}

// clientUse is what the readers did, and the resources that kt itself used.
func clientUse(f *facts, r *result.Result) {
	if r.Fetch != nil {
		fetches(f, r)
	}
	c := &r.Client
	label, cores := "this client", fmt.Sprintf("%.2f of %.4g cores", c.CPUCores, c.CoresAvailable)
	if merged(r) {
		label = "all clients"
		if c.CPUCores == 0 { // no process ran for long enough
			cores = fmt.Sprintf("too short a time to know how many of %.0f cores", c.CoresAvailable)
		}
	}
	if c.CPUSecondsPerMillion > 0 { // below one core it is not known
		cores += fmt.Sprintf(" (%.2f s per million records)", c.CPUSecondsPerMillion)
	}
	f.add(label, doc.Plain, fmt.Sprintf("%s, %s, longest GC pause %s", cores, theme.Bytes(c.PeakResidentBytes), theme.Duration(micros(c.GCPauseMaxUS))))
}

// tuneLines is a line a host with the failures and warnings of kt tune.
func tuneLines(f *facts, checks []result.TuneCheck) {
	label := "kt tune"
	for i := range checks {
		of := ""
		if len(checks) > 1 {
			of = checks[i].Host + ": "
		}
		f.add(label, doc.Muted, of+tuneLine(&checks[i]))
		label = ""
	}
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
		return fmt.Sprintf("%s without a warning", plural(c.Checks, "check"))
	}
	if n := c.Count(result.TuneFail); n > 0 {
		counts = append(counts, plural(n, "failure"))
	}
	if n := c.Count(result.TuneWarn); n > 0 {
		counts = append(counts, plural(n, "warning"))
	}
	return fmt.Sprintf("%s of the host: %s; more with kt tune --check", strings.Join(counts, ", "), strings.Join(ids, ", "))
}

// runFiles is of how many files a merged result was made.
func runFiles(f *facts, r *result.Result) {
	if len(r.RunFiles) == 0 {
		return
	}
	watched := 0
	for _, s := range r.RunFiles {
		if s.Process == 0 {
			watched++
		}
	}
	about := plural(len(r.RunFiles), "run file")
	if watched > 0 {
		about += fmt.Sprintf(": %d of processes, %d of hosts that were watched", len(r.RunFiles)-watched, watched)
	}
	f.add("merged from", doc.Muted, about)
}
