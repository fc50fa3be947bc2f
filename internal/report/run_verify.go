package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// maxGapRows is how many gaps a summary lists.
const maxGapRows = 10

// verification is how many records are read, lost, or something else.
func verification(r *result.Result) doc.Section {
	s := doc.Section{ID: "verification", Title: "Verification", Captions: true}
	v := r.Verify
	if v == nil {
		return s
	}
	f := new(doc.Facts)
	sentence, tone := verified(v)
	f.Add("verification", tone, sentence)
	if s.Blocks = []doc.Block{f}; v.OfAnotherRun {
		return s
	}
	f.Add("", doc.Plain, account(v))
	unknown := "without a stamp"
	if v.Headers {
		unknown = "of other producers"
	}
	also := counted(count{v.Resurrected, "reported failed but read"}, count{v.UnknownRead, "never answered but read"}, count{v.AbortedRead, "aborted but read"},
		count{v.Unissued, "never sent but read"}, count{v.Redelivered, "redelivered"}, count{v.TooLarge, "at offsets whose batches are too large to read"},
		count{v.Foreign, "of other runs"}, count{v.Unstamped, unknown}, count{v.EpochRegressions, "of an older leader than those before"})
	if also != "" {
		f.Add("", doc.Plain, "also "+also)
	}
	if v.Inexact {
		f.Add("", doc.Warn, "too many changes of outcome to remember all: these counts are a minimum")
	}
	if v.ReadAgain > 0 {
		f.Add("", doc.Warn, "a log was cut off below the last record read: kt read "+plural(v.ReadAgain, "partition")+" again, and counts the records there now")
	}
	if v.Unconfirmed > 0 {
		f.Add("", doc.Warn, theme.Count(v.Unconfirmed)+" were read, but no broker could say whether the logs still hold them: check again with kt consume --verify LEDGER")
	}
	for _, why := range v.Blame {
		f.Add("", doc.Muted, why)
	}
	s.Blocks = append(s.Blocks, gaps(v, &r.Environment))
	return s
}

// verified returns the verdict as a sentence. Records that were not checked come before those that were found well.
func verified(v *ledger.Verdict) (string, doc.Tone) {
	allowed := counted(count{v.Duplicated, "duplicated"}, count{v.Reordered, "reordered"}, count{v.LateUndecided, "duplicated or reordered"})
	bad := counted(count{v.Lost, "lost"}, count{v.Corrupted, "corrupted"})
	unknown := result.NotChecked(v)
	unchecked := v.Unchecked+v.Undecided+v.PartsUnknown+v.TooLarge > 0
	but := ""
	if allowed != "" {
		but = ", but " + allowed + ", as the client's settings allow"
	}
	switch {
	case v.OfAnotherRun && v.OtherRun != "":
		return "NOTHING COMPARED: the topic holds records of another run (" + v.OtherRun + ")", doc.Bad
	case v.OfAnotherRun:
		return "NOTHING COMPARED: the topic holds records of another run", doc.Bad
	case bad != "" || allowed != "" && !v.RepeatsAllowed:
		wrong := strings.Trim(bad+", "+allowed, ", ")
		if unchecked {
			wrong += "; " + unknown
		}
		return "FAILED: " + wrong, doc.Bad
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
	s := theme.Count(v.Acknowledged) + " acknowledged"
	if v.Readers > 1 {
		s += fmt.Sprintf(", each to be read by %d groups,", v.Readers)
	}
	s += fmt.Sprintf(" = %s read + %s lost", theme.Count(v.AcknowledgedRead), theme.Count(v.Lost))
	if more := counted(count{v.Unchecked, "unchecked"}, count{v.Undecided, "undecided"}, count{v.Aborted, "aborted"}); more != "" {
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

// gaps has a row for each place where records were lost.
func gaps(v *ledger.Verdict, env *result.Environment) *doc.Table {
	t := doc.NewTable("lost", "where records were lost", "lost in|name", "producer|1", "its numbers|2", "records", "between offsets", "due after (UTC)|words|3")
	for _, gap := range v.Gaps[:min(maxGapRows, len(v.Gaps))] {
		topic, number := env.Place(gap.Partition)
		row := result.PartitionRow{ID: number}
		if len(env.Topics) > 0 {
			row.Topic = topic.Name
		}
		where, due := place(&row), none
		if v.Readers > 1 {
			where += fmt.Sprintf(" by group %d", gap.Reader)
		}
		if !gap.DueBefore.IsZero() {
			due = gap.DueBefore.UTC().Format(time.TimeOnly + ".000")
		}
		t.Add(where, gap.Producer, between(gap.First, gap.Last), theme.Count(gap.Count), between(gap.OffsetBefore, gap.OffsetAfter), due)
	}
	if n := int64(len(v.Gaps)) + v.GapsBeyond - maxGapRows; n > 0 {
		t.Note = theme.Count(n) + " more such " + either(n, "place", "places")
	}
	return t
}

// between returns a range of numbers; -1 is none.
func between(a, b int64) string {
	texts := [2]string{none, none}
	for i, n := range [2]int64{a, b} {
		if n >= 0 {
			texts[i] = theme.Count(n)
		}
	}
	if a == b {
		return texts[0]
	}
	return texts[0] + " … " + texts[1]
}
