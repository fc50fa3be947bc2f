package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// verdictOf is the limit of a run, what to do next, why the run is not valid, what was left out of it, and the limits that it had to keep.
func verdictOf(r *result.Result) doc.Section {
	f, limit := new(doc.Facts), r.BoundBy.Limit
	if r.NotAddedUp == "" || len(r.Loads) > 0 {
		f.Add("limit", pick(limit == verdict.None, doc.Good, pick(limit == verdict.Unknown, doc.Loud, doc.Warn)), limit.String())
		evidence := r.BoundBy.Evidence
		f.Add("suffered", doc.Bad, r.Suffered)
		for _, reason := range r.Invalid { // it stands below
			evidence = strings.TrimPrefix(strings.TrimPrefix(evidence, reason), "; ")
		}
		f.Add("", doc.Muted, evidence)
		f.Add("what next", doc.Plain, limit.Next(r.Plan.ReadsOnly(), r.Plan.Read.Share != nil))
		if share := r.CeilingShare; share != nil && r.Ceiling != nil {
			most := theme.PerSecond(r.Ceiling.RecordsPerSecond)
			low := verdict.CeilingTooLow(*share)
			f.Add("", pick(low, doc.Warn, doc.Muted), pick(low,
				fmt.Sprintf("the saved ceiling is too low: run kt calibrate --save again (this load offered %s of its %s records/s)", theme.Percent(*share), most),
				fmt.Sprintf("at %s of what this host can offer (kt calibrate: %s records/s)", theme.Percent(*share), most)))
		}
	}
	if !r.Valid {
		f.Add("NOT VALID", doc.Bad, strings.Join(invalid(r), "; "))
		next := verdict.Schedule.Next(r.Plan.ReadsOnly(), r.Plan.Read.Share != nil)
		f.If(limit.Next(r.Plan.ReadsOnly(), r.Plan.Read.Share != nil) != next, "what next", doc.Plain, next)
	}
	doubtedRun(f, r)
	notCounted(f, r)
	t := doc.NewTable("errors", "errors by kind", "error|words", "of|words", "records") // the most frequent first
	of := []result.Errors{r.Errors, cmp.Or(r.Fetch, new(result.Fetch)).Errors, cmp.Or(r.Warmup, new(result.Warmup)).Errors}
	for i, when := range []string{"producing", "fetching", "warm-up"} {
		for _, code := range of[i].Codes() {
			t.Add(code, when, theme.Count(of[i][code])).Tone = doc.Bad
		}
	}
	kept := doc.NewTable("kept", "what the run had to keep", "value", "--limit|words", "held|words")
	for i := range r.Limits {
		l := &r.Limits[i]
		row := kept.Add(cmp.Or(l.Shown(), none), l.Expression, doc.Cell{Text: pick(l.Held, "yes", "NO"), Tone: pick(l.Held, doc.Good, doc.Bad)})
		row.Note, row.NoteTone = limitNote(l), pick(l.Shown() == "", doc.Warn, doc.Plain)
	}
	return doc.Section{ID: "verdict", Title: "Verdict", Captions: true, Blocks: []doc.Block{f, t, kept}}
}

// doubtedRun adds the doubts about a run. A terminal has many in a few lines, so that the verdict stays on it.
func doubtedRun(f *doc.Facts, r *result.Result) {
	const few = 2
	if len(r.Doubts) <= few {
		doubted(f, r.Doubts, r.Accepted, 0)
		return
	}
	var short []string
	for _, d := range r.Doubts {
		short = append(short, d.Text+" ("+d.ID+")")
	}
	f.Rows = append(f.Rows, doc.Fact{Name: "doubts", Tone: doc.Warn, Text: strings.Join(short, ", "), For: doc.InText},
		doc.Fact{Tone: doc.Muted, Text: "what to do: --verbose, or kt help doubts", For: doc.InText})
	doubted(f, r.Doubts, r.Accepted, doc.InDetails|doc.InMarkdown|doc.InPage)
}

// doubted adds doubts for some outputs, and the ids of those that were left out.
func doubted(f *doc.Facts, doubts []result.Doubt, accepted []string, in doc.Output) {
	for i, d := range doubts {
		of := pick(d.Of > 0, fmt.Sprintf("%d of %s, such as: ", d.Runs, plural(d.Of, "run")), "")
		f.Rows = append(f.Rows, doc.Fact{Name: pick(i == 0, "doubts", ""), Tone: doc.Warn, Text: of + d.Text + ": " + d.Next + " (" + d.ID + ")", For: in})
	}
	f.If(len(accepted) > 0, pick(len(doubts) == 0, "doubts", ""), doc.Muted, "accepted: "+strings.Join(accepted, ", "))
}

// doubtsOf is the section of the doubts about a study or a comparison.
func doubtsOf(d *study.Doubted) doc.Section {
	f := new(doc.Facts)
	doubted(f, d.Doubts, d.Accepted, 0)
	return doc.Section{ID: "doubts", Title: "Doubts", Captions: true, Blocks: []doc.Block{f}}
}

// limitNote returns the note of a limit. That of a limit over stretches says how many of them held.
func limitNote(l *result.Limit) string {
	note := l.Note
	if l.Stretches > 0 && l.Value != nil {
		note = strings.TrimSuffix("the worst of "+theme.Plural(l.Stretches, "stretch", "stretches")+", "+theme.Count(l.StretchesHeld)+" held; "+note, "; ")
	}
	if n := l.StretchesEmpty; n > 0 {
		note += "; nothing was due in " + theme.Plural(n, "other stretch", "other stretches")
	}
	return note
}

// limitText returns the value of a limit and its note in one.
func limitText(l *result.Limit) string { return strings.Trim(l.Shown()+": "+limitNote(l), ": ") }

// firstNumber is where a reason begins to differ from those of its kind.
var firstNumber = regexp.MustCompile(`[0-9].*`)

// invalid returns the reasons why a result is not valid. Many processes with one reason are counted, and the worst is named.
func invalid(r *result.Result) (all []string) {
	if !merged(r) {
		return r.Invalid
	}
	type group struct {
		processes int
		worst     string // its reason, after its name
		late      time.Duration
	}
	groups, own, counted := make(map[string]*group), make(map[string]bool), 0
	var kinds []string
	for _, p := range r.Processes {
		if !p.Counted {
			continue
		}
		counted++
		for _, reason := range p.Invalid {
			named, kind := nameOf(&p)+": "+reason, firstNumber.ReplaceAllString(reason, "")
			own[reason], own[named] = true, true
			if groups[kind] == nil {
				groups[kind], kinds = &group{late: -1}, append(kinds, kind)
			}
			g := groups[kind]
			if g.processes++; lateBy(reason) > g.late {
				g.worst, g.late = named, lateBy(reason)
			}
		}
	}
	for _, kind := range kinds {
		g := groups[kind]
		all = append(all, pick(g.processes > 1, fmt.Sprintf("%d of %d processes, %s %s", g.processes, counted, pick(g.late > 0, "worst", "such as"), g.worst), g.worst))
	}
	return append(all, slices.DeleteFunc(slices.Clone(r.Invalid), func(reason string) bool { return own[reason] })...)
}

// nameOf returns the name of a process.
func nameOf(p *result.ProcessRow) string { return p.Host + "/" + strconv.Itoa(p.Process) }

// lateBy returns the first time in a reason: by how much records left late. It is 0 where there is none.
func lateBy(reason string) time.Duration {
	for word := range strings.FieldsSeq(reason) {
		if d, err := time.ParseDuration(word); err == nil {
			return d
		}
	}
	return 0
}

// maxLeftOut is how many processes a summary says something of.
const maxLeftOut = 10

// notCounted names the processes that are in no figure of the whole, and why, and writes the notes of others.
func notCounted(f *doc.Facts, r *result.Result) {
	out, idle := 0, make(map[string][]string) // processes in which nothing was measured, by host
	for _, p := range r.Processes {
		if !p.Counted {
			out++
		} else if p.Note == result.NothingMeasured {
			idle[p.Host] = append(idle[p.Host], strconv.Itoa(p.Process))
		}
	}
	f.If(out > 0, "left out", doc.Bad, fmt.Sprintf("%d of %s, in none of the figures below", out, theme.Plural(len(r.Processes), "process", "processes")))
	var said []string
	for i := range r.Processes {
		p := &r.Processes[i]
		switch {
		case !p.Counted:
			sent, read := p.Records.Offered, p.Records.Consumed
			said = append(said, nameOf(p)+" "+string(p.State)+": "+pick(sent > 0, theme.Count(p.Records.Acknowledged)+" of "+plural(sent, "record")+" acknowledged; ", "")+
				pick(read > 0, plural(read, "record")+" read; ", "")+cmp.Or(p.Note, stateReasons[p.State]))
		case p.Note == result.NothingMeasured && len(idle[p.Host]) > 0:
			said = append(said, p.Host+"/"+strings.Join(idle[p.Host], ",")+": "+p.Note)
			idle[p.Host] = nil
		case p.State == result.PartComplete && p.Note != "" && p.Note != result.NothingMeasured:
			said = append(said, nameOf(p)+": "+p.Note)
		}
	}
	for _, text := range said[:min(maxLeftOut, len(said))] {
		f.Add("", doc.Warn, text)
	}
	f.If(len(said) > maxLeftOut, "", doc.Muted, theme.Count(int64(len(said)-maxLeftOut))+" more: --output processes lists them")
}

// stateReasons explain states without a reason of their own.
var stateReasons = map[result.PartState]string{
	result.PartComplete: "it was not counted", result.PartStopped: "it was not counted",
	result.PartRunning: "it still runs", result.PartLost: "its run file was cut off", result.PartMissing: "it left no run file",
	result.PartLate: "it began too late to be measured with the others",
}

// verification is how many records are read, lost, or something else.
func verification(r *result.Result) doc.Section {
	s := doc.Section{ID: "verification", Title: "Verification", Captions: true}
	v := r.Verify
	if v == nil {
		return s
	}
	f := new(doc.Facts)
	sentence, tone := verified(v)
	f.Add("verification", pick(!v.CutAt.IsZero() && tone == doc.Good, doc.Warn, tone), sentence)
	if s.Blocks = []doc.Block{f}; v.OfAnotherRun {
		return s
	}
	f.Add("", doc.Plain, account(v))
	cut := !v.CutAt.IsZero() // then a sentence of its own has some of the counts
	f.If(cut, "", doc.Warn, result.LedgerEnds(v))
	also := counted(count{v.Resurrected, "reported failed but read"}, count{pick(cut, 0, v.UnknownRead), "never answered but read"},
		count{v.AbortedRead, pick(cut, "read of transactions that were open or aborted then", "aborted but read")}, count{pick(cut, 0, v.Unissued), "never sent but read"}, count{v.Redelivered, "redelivered"}, count{v.Archived, "archived without being accepted"}, count{v.TooLarge, "at offsets whose batches are too large to read"},
		count{v.Foreign, "of other runs"}, count{v.Unstamped, pick(v.Headers, "of other producers", "without a stamp")}, count{v.EpochRegressions, "of an older leader than those before"})
	f.If(also != "", "", doc.Plain, "also "+also)
	f.If(v.Inexact, "", doc.Warn, "too many changes of outcome to remember all: these counts are a minimum")
	f.If(v.ReadAgain > 0, "", doc.Warn, "a log was cut off below the last record read: kt read "+plural(v.ReadAgain, "partition")+" again, and counts the records there now")
	f.If(v.Unconfirmed > 0, "", doc.Warn, theme.Count(v.Unconfirmed)+" were read, but no broker could say whether the logs still hold them: check again with kt consume --verify LEDGER")
	if n := len(v.UncheckedIn); n > 0 && len(r.Environment.Topics) > 1 {
		in := partitionName(r, v.UncheckedIn[0])
		f.Add("", doc.Warn, "not checked in "+in+pick(n > 1, " and in "+plural(n-1, "other partition")+" at least", ""))
	}
	for _, why := range v.Blame {
		f.Add("", doc.Muted, why)
	}
	t := doc.NewTable("lost", "where records were lost", "lost in|name", "producer|1", "its numbers|2", "records", "between offsets", "due after (UTC)|words|3")
	const most = 10
	for _, gap := range v.Gaps[:min(most, len(v.Gaps))] {
		in := partitionName(r, gap.Partition)
		t.Add(in+pick(v.Readers > 1, fmt.Sprintf(" by group %d", gap.Reader), ""), gap.Producer, between(gap.First, gap.Last), theme.Count(gap.Count),
			between(gap.OffsetBefore, gap.OffsetAfter), pick(gap.DueBefore.IsZero(), none, gap.DueBefore.UTC().Format(time.TimeOnly+".000")))
	}
	if n := int64(len(v.Gaps)) + v.GapsBeyond - most; n > 0 {
		t.Note = theme.Count(n) + " more such " + either(n, "place", "places")
	}
	s.Blocks = append(s.Blocks, t)
	if v.Mirror != nil {
		s.Blocks = append(s.Blocks, mirror(r)...)
	}
	return s
}

// partitionName is Environment.PartitionName. In other partitions of a mirror, numbers are those of its source.
func partitionName(r *result.Result, number int32) string {
	if m := r.Verify.Mirror; m != nil && int(number) < len(m.Partitions) && len(r.Environment.Topics) > 1 {
		return fmt.Sprintf("%s/%d", m.Partitions[number].Topic, m.Partitions[number].Partition)
	}
	return r.Environment.PartitionName(number)
}

// mirror shows a mirror by partition, and its lag over time. Of many partitions it shows those with findings.
func mirror(r *result.Result) []doc.Block {
	m, clock := r.Verify.Mirror, func(at time.Time) string { return pick(at.IsZero(), none, at.UTC().Format(time.TimeOnly+".000")) }
	t := doc.NewTable("mirror", "the mirror by partition", "mirror|name", "read", "lost", "duplicated", "reordered", "not copied", "last one due (UTC)|words|2", "largest lag", "due from (UTC)|words|3")
	const most = 20
	for i := range m.Partitions {
		p, lag := &m.Partitions[i], []string{none, none}
		found := p.Lost+p.Duplicated+p.Reordered+p.NotCopied > 0
		if len(t.Rows) == most || len(m.Partitions) > most && !found {
			t.Note = "--output json has all " + theme.Count(int64(len(m.Partitions))) + " partitions"
			continue
		}
		if p.Lag != nil {
			lag = []string{theme.Duration(seconds(p.Lag.Seconds)), clock(p.Lag.Due)}
		}
		t.Add(partitionName(r, int32(i)), theme.Count(p.Read), theme.Count(p.Lost), theme.Count(p.Duplicated), theme.Count(p.Reordered), theme.Count(p.NotCopied), clock(p.LastDue), lag).
			Tone = pick(p.Lost > 0, doc.Bad, pick(found, doc.Warn, doc.Plain))
	}
	l := doc.NewTable("mirror-lag", "lag of the mirror, of "+plural(m.Measured, "record"), "due from (UTC)|words", "largest lag|bars")
	for i := range m.Lag {
		l.Add(clock(m.Lag[i].Due), doc.Cell{Text: theme.Duration(seconds(m.Lag[i].Seconds)), Bar: m.Lag[i].Seconds})
	}
	l.Note = "lag: from when a record was due until it was in the mirror, by the clocks of both; known of records that came while kt read, or where the brokers stamp (LogAppendTime)"
	return []doc.Block{t, l}
}

// verified returns the verdict as a sentence. Records that were not checked come before those that were found well.
func verified(v *ledger.Verdict) (string, doc.Tone) {
	allowed := counted(count{v.Duplicated, "duplicated"}, count{v.Reordered, "reordered"}, count{v.LateUndecided, "duplicated or reordered"})
	bad := counted(count{v.Lost, "lost"}, count{v.Corrupted, "corrupted"})
	unknown := result.NotChecked(v)
	unchecked := v.Unchecked+v.Undecided+v.PartsUnknown+v.TooLarge > 0
	but := pick(allowed != "", ", but "+allowed+", as the client's settings allow", "")
	switch {
	case v.OfAnotherRun:
		return "NOTHING COMPARED: the topic holds records of another run" + pick(v.OtherRun != "", " ("+v.OtherRun+")", ""), doc.Bad
	case bad != "" || allowed != "" && !v.RepeatsAllowed:
		return "FAILED: " + strings.Trim(bad+", "+allowed, ", ") + pick(unchecked, "; "+unknown, ""), doc.Bad
	case unchecked:
		if v.AcknowledgedRead > 0 {
			unknown += "; no error found in " + theme.Count(v.AcknowledgedRead) + " that were read"
		}
		return "NOT KNOWN: " + unknown + but, doc.Warn
	case allowed != "":
		return fmt.Sprintf("no record of %s is known to be lost or corrupted", theme.Count(v.Acknowledged)) + but, doc.Warn
	case v.Acknowledged == 0:
		return "no record was acknowledged, so none can be lost", doc.Warn
	}
	read := fmt.Sprintf("%s of %s acknowledged records were read once", theme.Count(v.AcknowledgedRead), theme.Count(v.Acknowledged))
	switch {
	case v.Mirror != nil:
		return read + " in the mirror" + pick(v.AnyOrder, "", ", in order") + ", with keys, values and headers as they were sent", doc.Good
	case v.Headers && v.Uncompared > 0:
		return read + " and in order by the run's own producers, but " + theme.Count(v.Uncompared) + " of others may be copies", doc.Warn
	case v.Headers:
		return read + " and in order, by the headers of intact batches", doc.Good
	case v.AnyOrder:
		return read + " and unchanged; several consumers shared a queue, where no order is defined", doc.Good
	case v.Readers > 1:
		return fmt.Sprintf("each of %d groups read all %s acknowledged records once, in order and unchanged", v.Readers, theme.Count(v.Acknowledged)), doc.Good
	}
	return read + ", in order and unchanged", doc.Good
}

// account returns the sum that every acknowledged record is in.
func account(v *ledger.Verdict) string {
	s := fmt.Sprintf("%s acknowledged%s = %s read + %s lost", theme.Count(v.Acknowledged),
		pick(v.Readers > 1, fmt.Sprintf(", each to be read by %d groups,", v.Readers), ""), theme.Count(v.AcknowledgedRead), theme.Count(v.Lost))
	if more := counted(count{v.NotCopied, "not copied yet"}, count{v.Unchecked - v.NotCopied, "unchecked"}, count{v.Undecided, "undecided"}, count{v.Aborted, "aborted"}); more != "" {
		s += " + " + strings.ReplaceAll(more, ", ", " + ")
	}
	return s
}

type count struct {
	n    int64
	what string
}

// counted lists the counts that are not 0.
func counted(of ...count) string {
	var parts []string
	for _, c := range of {
		if c.n > 0 {
			parts = append(parts, theme.Count(c.n)+" "+c.what)
		}
	}
	return strings.Join(parts, ", ")
}

// between returns a range of numbers; -1 is none.
func between(a, b int64) string {
	number := func(n int64) string { return pick(n >= 0, theme.Count(n), none) }
	return number(a) + pick(a == b, "", " … "+number(b))
}
