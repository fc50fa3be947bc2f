package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// Text writes the summary for people.
func Text(w io.Writer, r result.Result, o Options) error {
	return buffered(w, func(b *bytes.Buffer) {
		t := newText(b, o.Theme, o.Width)
		t.verbose = o.Verbose
		t.title(r, o)
		if r.NotAddedUp != "" {
			t.beside(r)
			t.runAgain(o)
			return
		}
		t.verdict(r)
		t.leftOut(r)
		t.verification(r)
		t.line("")
		t.figures(r)
		t.stages(r)
		if merged(r) {
			t.processes(r)
			t.vitals(r)
		}
		t.tables(r)
		t.timeline(r)
		if o.Verbose {
			t.details(r)
		}
		t.limits(r)
		t.runAgain(o)
	})
}

// beside writes the processes of a result that does not add them up.
func (t *text) beside(r result.Result) {
	t.notValid(r)
	t.leftOut(r)
	t.processes(r)
	t.vitals(r)
	if t.verbose {
		t.line("")
		t.tuneChecks(r.Tune)
		t.runFiles(r)
	}
}

// runAgain writes the commands that read the run again.
func (t *text) runAgain(o Options) {
	if o.RunFile != "" || o.Check != "" {
		t.line("")
	}
	if o.RunFile != "" {
		t.again("kt report " + theme.Quoted(o.RunFile))
	}
	if o.Check != "" {
		t.later("check", o.Check)
	}
}

// newText begins a summary. th may be nil, for one without colours.
func newText(b *bytes.Buffer, th *theme.Theme, width int) text {
	if th == nil {
		th = theme.New(theme.Options{})
	}
	return text{Buffer: b, th: th.Marked(), width: width}
}

// text is a summary while it is written.
type text struct {
	*bytes.Buffer
	th    *theme.Theme // marked: line tells what it paints from what is data
	width int          // of the terminal; 0: none is known

	verbose bool
}

var (
	plain  = theme.Style{}
	strong = theme.Style{FG: theme.Text, Bold: true}
	muted  = theme.Style{FG: theme.Muted}
	bad    = theme.Style{FG: theme.Bad, Bold: true}
	good   = theme.Style{FG: theme.Good}
	warn   = theme.Style{FG: theme.Warn, Bold: true}
)

func (t *text) title(r result.Result, o Options) {
	t.line("")
	tags := RunTags(&r)
	if merged(r) {
		tags = append(tags, party(r)...)
	}
	what := "kt " + string(r.Plan.Command) + " " + string(t.th.Glyphs.Arrow) + " "
	about := subject(r.Header)
	if t.width > 0 {
		about = middle(about, max(t.wrapAt()-2-utf8.RuneCountInString(what), leastName), t.th)
		for i := range tags {
			tags[i] = cut(tags[i], t.wrapAt()-margin, t.th)
		}
	}
	t.heading(what+about, tags)
	t.origin(r, o)
	for _, alert := range alerts(r) {
		t.alert(alert)
	}
	t.line("")
}

// heading writes the command of a run and its tags, which are below it where a narrow terminal has no room.
func (t *text) heading(what string, tags []string) {
	used := 2 + utf8.RuneCountInString(what) + 2
	longest := 0
	for _, tag := range tags {
		longest = max(longest, utf8.RuneCountInString(tag))
	}
	if t.width > 0 && used+longest > t.wrapAt() {
		for _, line := range wrapText(what, t.wrapAt()-2) {
			t.line("  " + t.th.Paint(strong, line))
		}
		what, used = "", margin
	}
	for i, about := range t.wrap(tags, t.wrapAt()-used) {
		if i > 0 {
			what = ""
		}
		t.line("  " + t.th.Paint(strong, pad(what, used-4)) + "  " + t.th.Paint(muted, about))
	}
}

// subject returns the topics of a run.
func subject(h result.Header) string {
	if n := len(h.Environment.Topics); n > 1 {
		return fmt.Sprintf("%s and %d more", h.Environment.Topic.Name, n-1)
	}
	return cmp.Or(h.Plan.Topic.Name, h.Environment.Topic.Name, h.Plan.Read.Include)
}

// plural is a number of things.
func plural[N int | int64](n N, thing string) string {
	return theme.Plural(n, thing, thing+"s")
}

// either is the word that goes with a number: of one, or of several.
func either[N int | int64](n N, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

func setting(of []result.Setting, name string) string {
	for _, s := range of {
		if s.Name == name {
			return s.Value
		}
	}
	return ""
}

func (t *text) figures(r result.Result) {
	writes := writes(r.Header)
	if writes {
		t.throughput(r)
	}
	t.reading(r)
	t.overlap(r)
	if writes {
		t.latencies(r)
		t.records(r)
	}
	t.readers(r)
	t.stability(r)
	if w := r.Warmup; w != nil && writes {
		t.row("warm-up", plain, plural(w.Records.Offered, "record")+" left out, p99 "+t.quantile(w.Response, w.Response.P99))
	} else if w != nil {
		t.row("warm-up", plain, plural(w.Records.Consumed, "record")+" left out")
	}
	if w := r.Warmup; w != nil {
		t.errors("warm-up", w.Errors)
	}
	if low, high, ok := extremes(r); ok && uneven(low, high) {
		t.partitions(r, low, high)
	}
}

// details writes the rows of --verbose.
func (t *text) details(r result.Result) {
	t.line("")
	if r.Fetch != nil {
		t.fetches(r)
	}
	t.client(r)
	if low, high, ok := extremes(r); ok && !uneven(low, high) {
		t.partitions(r, low, high)
	}
	t.tuneChecks(r.Tune)
	t.runFiles(r)
}

// client writes the resources that kt itself used.
func (t *text) client(r result.Result) {
	c := r.Client
	cost := ""
	if c.CPUSecondsPerMillion > 0 { // below one core it is not known
		cost = fmt.Sprintf(" (%.2f s per million records)", c.CPUSecondsPerMillion)
	}
	label := "this client"
	if merged(r) {
		label = "all clients"
	}
	cores := fmt.Sprintf("%.2f of %.4g cores", c.CPUCores, c.CoresAvailable)
	if merged(r) && c.CPUCores == 0 { // no process ran for long enough
		cores = fmt.Sprintf("too short a time to know how many of %.0f cores", c.CoresAvailable)
	}
	t.row(label, plain, fmt.Sprintf("%s%s, %s, longest GC pause %s",
		cores, cost, theme.Bytes(c.PeakResidentBytes), theme.Duration(micros(c.GCPauseMaxUS))))
}

// writes reports whether the run sent anything, as all did that did not read.
func writes(h result.Header) bool { return h.Plan.Writes() || !h.Plan.Reads() }

func (t *text) throughput(r result.Result) {
	th := r.Throughput
	if _, ok := r.Written(); !ok {
		t.row("throughput", warn, noRate)
		return
	}
	rate := fmt.Sprintf("%s records/s   %s MiB/s", theme.PerSecond(th.RecordsPerSecond), theme.Number(th.MiBPerSecond))
	if th.TargetRecordsPerSecond > 0 {
		target := theme.PerSecond(th.TargetRecordsPerSecond)
		if asked := th.AskedRecordsPerSecond; asked > 0 {
			target += " (" + theme.PerSecond(asked) + " with the lost processes)"
		}
		if len(r.Stages) > 0 || slices.ContainsFunc(r.Events, func(e result.Event) bool { return e.Kind == stats.RateChanged }) {
			target += " on average"
		}
		rate += fmt.Sprintf("   (target %s, offered %s)", target, theme.PerSecond(th.OfferedRecordsPerSecond))
	}
	t.row("throughput", strong, rate)
}

func (t *text) latencies(r result.Result) {
	switch {
	case r.Throughput.TargetRecordsPerSecond > 0:
		t.latency("response", r.Latency.Response, "due → "+r.Outcome())
		t.latency("service", r.Latency.Service, "sent → acknowledged")
		t.latency("send delay", r.Latency.SendDelay, "due → sent")
		if text := r.OwnDelay(); text != "" {
			t.row("", warn, text)
		}
	case r.Plan.Load.OneAtATime:
		t.latency("response", r.Latency.Response, "sent → acknowledged")
	default:
		t.latency("latency", r.Latency.Response, "mostly queueing: the rate is unlimited")
	}
}

// records writes the outcomes of the records that were sent.
func (t *text) records(r result.Result) {
	rec := r.Records
	t.row("records", plain, fmt.Sprintf("%s offered = %s %s + %s failed + %s unknown",
		theme.Count(rec.Offered), theme.Count(rec.Acknowledged), r.Outcome(), theme.Count(rec.Failed), theme.Count(rec.Unknown)))
	if rec.Unsent > 0 {
		t.row("", warn, theme.Count(rec.Unsent)+" more "+either(rec.Unsent, "was", "were")+" due and never sent")
	}
	if n := rec.NotInLog; n > 0 {
		t.row("", bad, plural(n, "record")+" "+either(n, "is", "are")+" not in the log")
	}
	if b := r.Batches; b.Count > 0 {
		ratio := "not compressed"
		if setting(r.Config, "compression.type") != "none" {
			ratio = fmt.Sprintf("compressed %s (rate %.3f)", theme.Ratio(b.CompressionRatio), b.CompressedShare)
		}
		t.row("batches", plain, fmt.Sprintf("%s rec/batch, %s each, %s", theme.Number(b.RecordsMean), theme.Bytes(int64(b.BytesMean)), ratio))
		if b.SpanMax > 0 {
			t.row("", muted, "records that fell due within "+theme.Duration(micros(b.SpanMax))+" at most count with the latency of the first")
		}
	}
	if n := r.Client.Transactions; n > 0 {
		t.row("transactions", plain, theme.Count(n)+" committed")
	}
	if n := r.Client.Aborted; n > 0 {
		t.row("", bad, plural(n, "transaction")+" aborted: consumers with read_committed skip "+either(n, "its", "their")+" records")
	}
}

// errors writes a row for each error code, the most frequent first.
func (t *text) errors(label string, errs result.Errors) {
	for _, code := range errs.Codes() {
		t.row(label, bad, theme.Count(errs[code])+" "+code)
		label = ""
	}
}

// verdict writes the limit of the run, why it is not valid, and the errors.
func (t *text) verdict(r result.Result) {
	style := warn
	switch r.BoundBy.Limit {
	case verdict.None:
		style = good
	case verdict.Unknown:
		style = plain
	}
	t.row("limit", style, r.BoundBy.Limit.String())
	t.sentence("", muted, r.BoundBy.Evidence)
	if text, low := ceiling(r); text != "" {
		style := muted
		if low {
			style = warn
		}
		t.sentence("", style, text)
	}
	t.notValid(r)
	t.errors("errors", r.Errors)
}

// ceiling says how near a load came to what this host can offer, and reports whether that is known to be too
// low; "": it is not known.
func ceiling(r result.Result) (text string, low bool) {
	switch share := r.CeilingShare; {
	case share == nil || r.Ceiling == nil:
		return "", false
	case verdict.CeilingTooLow(*share):
		return fmt.Sprintf("the saved ceiling is too low: run kt calibrate --save again (this load offered %s of its %s records/s)",
			theme.Percent(*share), theme.PerSecond(r.Ceiling.RecordsPerSecond)), true
	default:
		return fmt.Sprintf("at %s of what this host can offer (kt calibrate: %s records/s)", theme.Percent(*share), theme.PerSecond(r.Ceiling.RecordsPerSecond)), false
	}
}

func micros[T ~int64](us T) time.Duration { return time.Duration(us) * time.Microsecond }
