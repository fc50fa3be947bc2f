package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// StudyBoard is a study while it goes on.
type StudyBoard struct {
	Document *study.Document

	Turn  study.Turn // the run of now
	Turns int        // 0: not known
	Now   string     // what the run of now says of itself; "": nothing yet
	Took  time.Duration
	Made  int // runs, in the time that they took
}

// StudyBoardText returns what there is to be seen of a study that goes on, for a terminal of a size: its first table, around the run of now.
func StudyBoardText(s *StudyBoard, o Options, height int) string {
	d := StudyDoc(s.Document)
	t := doc.NewWriter(o.Options)
	t.Head(d)
	t.Line("")
	var table *doc.Table
	for _, section := range d.Sections {
		if len(section.Blocks) == 0 {
			continue
		}
		if first, ok := section.Blocks[0].(*doc.Table); ok && (table == nil || section.ID == string(s.Turn.Phase) && len(first.Rows) > 0) {
			table = first
		}
	}
	for i := range table.Rows {
		table.Rows[i].Note = "" // there is no room for it
	}
	for i := range table.Columns {
		table.Columns[i].Kind = pick(table.Columns[i].Kind == doc.Sentence, doc.Words, table.Columns[i].Kind) // on one line
	}
	at, now := s.mark(table, o.Theme.ASCII()), s.now(max(o.Width, 60)-2)
	room := max(1, min(len(table.Rows), height-bytes.Count(t.Bytes(), []byte("\n"))-3-len(now)))
	first, hidden := max(0, min(at-room/2, len(table.Rows)-room)), len(table.Rows)-room // the rows around that of now
	table.Rows = table.Rows[first:min(len(table.Rows), first+room)]
	if t.Table(table); hidden > 0 {
		t.Line("  " + t.Paint(doc.Muted, fmt.Sprintf("%d more rows", hidden)))
	}
	t.Line("")
	for _, line := range now {
		t.Line("  " + t.Paint(doc.Loud, t.Cut(line, 2)))
	}
	return strings.TrimSuffix(t.String(), "\n")
}

// now says which run goes on, how much time is left, and what the run does: on a second line if the first has no room.
func (s *StudyBoard) now(room int) []string {
	if s.Turn.Number == 0 {
		return []string{"preparing"}
	}
	left := ""
	if s.Turns > 0 && s.Made > 0 {
		left = ", about " + (s.Took / time.Duration(s.Made) * time.Duration(s.Turns-s.Turn.Number+1)).Round(time.Second).String() + " left"
	}
	which := turnText(s.Turn, s.Turns, left, " (to warm up)")
	if text := strings.TrimSpace(which + "  " + s.Now); s.Now == "" || utf8.RuneCountInString(text) <= room {
		return []string{text}
	}
	return []string{which, s.Now}
}

// mark shows in a table of cells which runs of each are made, and returns the row of the run of now. Another table grows at its end,
// but that of a search for the best settings has the best first.
func (s *StudyBoard) mark(t *doc.Table, ascii bool) int {
	if o := s.Document.Optimum; o != nil {
		if i := slices.IndexFunc(o.Tried, func(one study.Tried) bool { return slices.Equal(one.At, s.Turn.Cell.At) }); i >= 0 && t.ID == "tried-table" {
			t.Rows[i].Tone = doc.Loud
		}
		return 0
	}
	runs := slices.IndexFunc(t.Columns, func(c doc.Column) bool { return c.Head == "runs" })
	if runs < 0 {
		return len(t.Rows) - 1
	}
	made, left, now := "●", "○", 0
	if ascii {
		made, left = "#", "."
	}
	loads := len(t.Rows) / max(1, len(s.Document.Cells))
	for i := range s.Document.Cells {
		c := &s.Document.Cells[i]
		for j := range loads {
			row := &t.Rows[i*loads+j]
			row.Cells[runs].Text = strings.Repeat(made, len(c.Runs)) + strings.Repeat(left, max(0, s.Document.Study.Repeats-len(c.Runs)))
			if s.Turn.Number > 0 && !slices.ContainsFunc(s.Turn.Cell.At, func(f study.Flag) bool { return c.At[f.Name] != f.Value }) {
				now, row.Tone = i*loads, doc.Loud
			}
		}
	}
	return now
}

// StudyPlan is what a study will take, or each of its parts.
type StudyPlan struct {
	Study *study.Study
	Parts []*study.Forecast // one of a study without parts
}

// MarshalJSON writes the forecasts, or that of a study without parts.
func (p *StudyPlan) MarshalJSON() ([]byte, error) {
	if len(p.Study.Parts) == 0 {
		return json.Marshal(p.Parts[0])
	}
	return json.Marshal(p.Parts)
}

// PlanDoc returns the runs that a study would make, and what they would take.
func PlanDoc(p *StudyPlan) *doc.Document {
	if len(p.Study.Parts) == 0 {
		return forecastDoc(p.Parts[0])
	}
	all := &doc.Document{Command: "kt study", Subject: p.Study.Name, Question: p.Study.About, Tags: []string{plural(len(p.Parts), "part")}, List: p.Parts}
	for _, f := range p.Parts {
		all.Add(f.Study.Name, forecastDoc(f))
	}
	return all
}

func forecastDoc(f *study.Forecast) *doc.Document {
	s := f.Study
	all := &doc.Document{Command: "kt study", Subject: s.Name, Question: s.About, Remarks: takes(f)}
	say := func(format string, args ...any) {
		all.Answer = append(all.Answer, doc.Note{Text: fmt.Sprintf(format, args...)})
	}
	switch {
	case s.Find != nil:
		all.Command, all.Subject = "kt find", s.Heading()
		if len(s.Find.Ladder) > 0 {
			say("%s of %s each, until one does not hold", plural(len(s.Find.Ladder), pick(s.Find.Scale, "scale", "rate")), s.Find.Trial)
			break
		}
		if s.Find.Scale {
			say("the workload as it is, then scales of %s each until the highest is known to %s, a longer run that confirms it, and %d scales below it",
				s.Find.Trial, theme.Percent(s.Find.Precision), len(s.Find.Curve))
			break
		}
		say("a run that is unlimited, then rates of %s each until the peak is known to %s, a longer run that confirms it, and %d rates below it",
			s.Find.Trial, theme.Percent(s.Find.Precision), len(s.Find.Curve))
	case s.Trial != nil:
		all.Command, all.Subject, all.Line = "kt trial", s.Trial.String(), s.Loads[0].String()
		say("to warm up %s, then runs without the change and with it in turns", plural(s.Discard, "run"))
		if looks := s.Trial.Looks; len(looks) == 1 {
			say("%s a side", plural(looks[0], "run"))
		} else {
			say("kt looks after %d and %d a side whether the answer is clear, and ends after %d", looks[0], looks[1], looks[2])
		}
	case s.Optimum != nil:
		o := s.Optimum
		all.Command, all.Subject, all.Line = "kt optimize", forText(o), s.Loads[0].String()
		all.Tags = []string{plural(len(s.Factors), "setting"), "at most " + plural(f.MostRuns, "run")}
		say("to warm up %s, then %s that screen the settings, then blocks of runs with the best so far until nothing within reach is better, with the screening %d at most",
			plural(s.Discard, "run"), plural(len(f.Runs)-s.Discard, "run"), o.Most)
		say("each value that was changed is taken back alone %s, and the proof has %d a side at most", plural(o.Repeats, "time"), o.Looks[len(o.Looks)-1])
		t := doc.NewTable("factors", "The settings that are varied", "setting|words", "now|words", "Kafka's|words", "values|words", "why|sentence")
		for i, factor := range s.Factors {
			t.Add(factor.Name, o.Present[i].Value, o.Defaults[i].Value, strings.Join(factor.Values, " "), factor.About)
		}
		all.List, all.Sections = s.Factors, []doc.Section{{ID: "plan", Captions: true, Blocks: []doc.Block{t}}}
	default:
		t := doc.NewTable("runs", "Runs in their order", "run")
		for _, factor := range s.Factors {
			t.Columns = append(t.Columns, doc.Column{Head: factor.Name, Kind: doc.Words})
		}
		for _, run := range f.Runs {
			t.Add(run.Turn, placeOf(s, run.At, "")[:len(s.Factors)]).Tone = pick(run.Repeat == 0, doc.Muted, doc.Plain)
		}
		all.Tags = []string{plural(len(f.Cells), "cell"), plural(s.Repeats, "repeat"), plural(len(f.Runs), "run")}
		all.List, all.Sections = f.Runs, []doc.Section{{ID: "plan", Blocks: []doc.Block{t}}}
	}
	if err := f.Err(); err != nil {
		all.Alerts = []string{err.Error()}
	}
	return all
}

// takes returns how long a study takes, what it writes, and whether there is room.
func takes(f *study.Forecast) (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	for _, factor := range f.Study.Factors {
		if factor.Search != nil {
			say("These are the first runs of a search for %s in %s. More follow between the best value and its neighbours.", factor.Name, factor.Search)
		}
	}
	for _, l := range f.LeftOut {
		say("Left out: %s: %s", strings.Join(l.Cells, ", "), l.Reason)
	}
	switch {
	case f.Seconds > 0 && f.Most > f.Seconds:
		say("It takes from %s to %s.", theme.Duration(seconds(f.Seconds)), theme.Duration(seconds(f.Most)))
	case f.Seconds > 0:
		say("It takes at least %s.", theme.Duration(seconds(f.Seconds)))
	}
	if f.Bytes > 0 {
		say("It writes up to %s, with replicas and before compression, of which at most %s are stored at once.", theme.Bytes(int64(f.Bytes)), theme.Bytes(int64(f.AtOnce)))
	}
	for _, text := range f.NotKnown {
		say("It is not known %s.", text)
	}
	if enough, ok := map[study.Room]string{
		study.RoomForAll: ": that is enough", study.RoomInTurns: ": that is enough if brokers remove the files of a deleted topic in time (file.delete.delay.ms)", study.RoomUnknown: "",
		study.NoRoom: ": that is not enough",
	}[f.Room]; ok && f.Usable > 0 {
		directories := theme.Plural(len(f.LogDirs), "log directory", "log directories")
		say("%s of the brokers with room for %s%s.", directories, theme.Bytes(f.Usable), enough)
	}
	return all
}
