package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// Text writes the summary of a run for people.
func Text(w io.Writer, r result.Result, o Options) error { return RunDoc(&r, o).Text(w, o.Options) }

// Markdown writes it for a pull request or a step summary.
func Markdown(w io.Writer, r result.Result, _ Options) error {
	return RunDoc(&r, Options{}).Markdown(w)
}

// Document returns the JSON document of a result, on one line.
func Document(r result.Result) (json.RawMessage, error) { return applyingTo(&r).document(r) }

// RunDoc returns what a run says. A page adds its charts after the section "figures".
func RunDoc(r *result.Result, o Options) *doc.Document {
	d := &doc.Document{
		Command: "kt " + string(r.Plan.Command), Subject: r.Subject(), Tags: Tags(r.Header), Badges: badges(r), Alerts: alerts(r),
		Check: o.Check,
	}
	if merged(r) {
		d.Tags = append(d.Tags, party(r)...)
	}
	if !r.StartedAt.IsZero() {
		d.About = []string{r.StartedAt.UTC().Format("2006-01-02 15:04:05 MST"), theme.Duration(seconds(r.ElapsedSeconds))}
		if h := r.Environment.Host.Hostname; h != "" && !merged(r) {
			d.About = append(d.About, "on "+h)
		}
		version, _, _ := strings.Cut(r.KTVersion, " ")
		d.About, d.Args = append(d.About, "kt "+pick(o.Full, r.KTVersion, version)), r.Args
	}
	if o.RunFile != "" {
		d.Again = "kt report " + theme.Quoted(o.RunFile)
	}
	if len(r.Loads) > 0 {
		return workloadDoc(r, d)
	}
	if r.NotAddedUp != "" {
		d.Tags = append(marked(r.Tags), party(r)...) // the load is of several kinds
		d.Sections = []doc.Section{verdictOf(r), processSection(r), settingsSection(r), environment(r), findings(r)}
		return d
	}
	d.Sections = append(sectionsOf(r, tiles(r), figures(r)), environment(r), findings(r))
	return d
}

// sectionsOf returns the sections of a run that are of its load.
func sectionsOf(r *result.Result, figures ...doc.Block) []doc.Section {
	return []doc.Section{
		verdictOf(r), verification(r),
		{ID: "figures", Title: "Figures", Captions: true, Blocks: append(figures, likeness(r)...)},
		happened(r),
		{ID: "stages", Title: "Stages", Captions: true, Blocks: []doc.Block{stages(r)}},
		processSection(r), parts(r), settingsSection(r),
	}
}

// badges are the verdicts of a run. What went wrong is louder than that the figures are valid.
func badges(r *result.Result) []doc.Note {
	all := []doc.Note{{Text: pick(r.Valid, "valid", "not valid"), Tone: pick(r.Valid, doc.Muted, doc.Bad)}}
	if o := r.Outage; o != nil && o.LongestGapMS != nil && millis(o.LongestGapMS) >= longGap {
		all = append(all, doc.Note{Text: "no acknowledgement for " + theme.Duration(millis(o.LongestGapMS)), Tone: doc.Bad})
	}
	if lost, _ := Lost(r); lost > 0 {
		all = append(all, doc.Note{Text: plural(lost, "record") + " lost", Tone: doc.Bad})
	}
	if limits := plural(len(r.Limits), "limit"); len(r.Limits) > 0 {
		broken := len(slices.DeleteFunc(slices.Clone(r.Limits), func(l result.Limit) bool { return l.Held }))
		all = append(all, doc.Note{Text: pick(broken > 0, fmt.Sprintf("%d of %s not held", broken, limits), limits+" held"), Tone: pick(broken > 0, doc.Bad, doc.Good)})
	}
	return all
}

// alerts returns what a reader has to know before any figure.
func alerts(r *result.Result) []string {
	all := []string{r.Notice}
	if share := r.TargetReached; share != nil {
		rate := r.Throughput.RecordsPerSecond
		if !writes(&r.Header) && r.Fetch != nil {
			rate = r.Fetch.RecordsPerSecond
		}
		all = append(all, fmt.Sprintf("%s of the target: %s of %s records/s", theme.Percent(*share), theme.PerSecond(rate), theme.PerSecond(r.Throughput.TargetRecordsPerSecond)))
	}
	if first, last, warmup, still := r.Rising(); still {
		all = append(all, fmt.Sprintf("still rising: from %s to %s records/s: the maximum is higher; use --warmup %.0fs and a longer --duration",
			theme.PerSecond(first), theme.PerSecond(last), warmup))
	}
	return slices.DeleteFunc(append(all, missedStages(r), endedEarly(r)), func(text string) bool { return text == "" })
}

// endedEarly returns how a run ended before its time, "" if it did not.
func endedEarly(r *result.Result) string {
	if r.Ended == result.Completed {
		return ""
	}
	return r.Ended + " after " + theme.Duration(seconds(r.ElapsedSeconds)) + pick(r.AbortedBy != "", " by --abort-on "+r.AbortedBy, "")
}

// writes reports whether a run sent anything, as all did that did not read.
func writes(h *result.Header) bool { return h.Plan.Writes() || !h.Plan.Reads() }

// merged reports whether a result is of several processes.
func merged(r *result.Result) bool { return len(r.Processes) > 0 }

// does reports whether a command writes, and whether it reads.
func does(command string) (writes, reads bool) {
	c := plan.Command(command)
	return c == plan.Produce || c == plan.Roundtrip, c == plan.Consume || c == plan.Roundtrip
}

func setting(of []result.Setting, name string) string {
	if i := slices.IndexFunc(of, func(s result.Setting) bool { return s.Name == name }); i >= 0 {
		return of[i].Value
	}
	return ""
}

// latencyOf is a percentile of a latency, if anything was measured.
func latencyOf(l *result.Latency, us result.Micros) string {
	if l.Ranked() == 0 {
		return none
	}
	return theme.Duration(us.Duration())
}

// tiles are the figures to quote, in a page.
func tiles(r *result.Result) doc.Tiles {
	name, l := Headline(r)
	value := func(us result.Micros) string { return latencyOf(&l, us) }
	rate, bandwidth, target := doc.Tile{Name: "throughput", Value: none}, doc.Tile{Name: "bandwidth", Value: none}, r.Throughput.TargetRecordsPerSecond
	errors, of := doc.Tile{Name: "errors", Value: theme.Rate(float64(r.Records.Errors()))}, r.Records.Offered
	if !writes(&r.Header) {
		of = r.Records.Consumed
		if r.Fetch != nil {
			rate.Name, target = "read", r.Fetch.TargetRecordsPerSecond
		}
	}
	if quoted, rated := r.Quoted(); !rated {
		rate.Notes = []string{"too short for a rate"}
	} else {
		rate.Value, rate.Unit, bandwidth.Value, bandwidth.Unit = theme.Rate(quoted.Records), "rec/s", theme.Number(quoted.Bytes/mibBytes), "MiB/s"
		if target > 0 {
			rate.Notes = []string{"target " + theme.Rate(target)}
		}
	}
	lost, _ := Lost(r)
	for _, part := range []count{{r.Records.Failed, "failed"}, {r.Records.Unknown, "unknown"}, {r.Records.Unsent, "never sent"}, {lost, "lost"}, {r.Records.NotInLog, "not in the log"}} {
		if part.n > 0 {
			errors.Tone, errors.Notes = doc.Bad, append(errors.Notes, theme.Count(part.n)+" "+part.what)
		}
	}
	errors.Notes = append(errors.Notes, "of "+theme.Count(of))
	return doc.Tiles{
		rate, bandwidth,
		{Name: "p50", Value: value(l.P50), Notes: []string{name}},
		{Name: "p99", Value: value(l.P99), Notes: []string{"p90 " + value(l.P90)}},
		{Name: "p99.9", Value: value(l.P999), Notes: []string{"max " + value(l.Max)}},
		errors,
	}
}

// Headline is the latency to quote, and its name: that of fetches if no record has one.
func Headline(r *result.Result) (name string, l result.Latency) {
	name, l = r.HeadlineLatency()
	if f := r.Fetch; l.Ranked() == 0 && f != nil && !writes(&r.Header) {
		return "fetch", f.Latency
	}
	return name, l
}

// Lost is how many acknowledged records are not in the log; false: that is not known, because not all were checked.
func Lost(r *result.Result) (int64, bool) {
	if v := r.Verify; v != nil && !v.OfAnotherRun && (v.Lost > 0 || v.Complete()) {
		return v.Lost, true
	}
	return 0, false
}

// Tags returns a few words about the kind of load, and the tags of the run with a # before each.
func Tags(h result.Header) []string {
	tags, read, writes, reads := []string{}, h.Plan.Read, writes(&h), h.Plan.Reads()
	add := func(is bool, tag string) {
		if is {
			tags = append(tags, tag)
		}
	}
	add(writes, "acks="+setting(h.Config, "acks"))
	if reads {
		add(read.Groups > 1, plural(read.Groups, "group"))
		add(!writes && read.Groups <= 1, pick(read.Group != "", "group "+read.Group, "no group"))
	}
	n, factor, codec := h.Environment.Partitions(), h.Environment.Topic.ReplicationFactor, setting(h.Config, "compression.type")
	add(len(h.Environment.Topics) > 1, plural(len(h.Environment.Topics), "topic"))
	add(n > 0, plural(n, "partition")) // before a load on other hosts begins, the topic is unknown here
	add(factor > 0, fmt.Sprintf("RF %d", factor))
	add(writes, h.Plan.Payload.String())
	add(writes && codec != "none" && codec != "", codec)
	add(h.Plan.Producers > 1, plural(h.Plan.Producers, "producer"))
	add(reads && read.Consumers > 1, plural(read.Consumers, "consumer"))
	add(reads && setting(h.ConsumerConfig, "isolation.level") == "read_committed", "read_committed")
	add(reads && !read.Processing.IsZero(), read.Processing.String()+" a record")
	add(reads && read.Share != nil, "share group")
	add(reads && read.Share.String() != "", read.Share.String())
	add(reads && read.Threads > 1, plural(read.Threads, "thread")+pick(read.Mode == plan.WorkContinuous, ", continuous", ""))
	add(reads && h.Plan.Load.OneAtATime, "one at a time")
	return append(tags, marked(h.Tags)...)
}

func marked(names []string) (tags []string) {
	for _, tag := range names {
		tags = append(tags, "#"+tag)
	}
	return tags
}
