package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// StudyPlan writes the runs that a study would make, and what they would take.
func StudyPlan(w io.Writer, f *study.Forecast, o Options) error {
	return buffered(w, func(b *bytes.Buffer) {
		t, s := newText(b, o.Theme, o.Width), f.Study
		t.line("")
		t.heading("kt study "+string(t.th.Glyphs.Arrow)+" "+s.Name, []string{
			theme.Plural(len(f.Cells), "cell", "cells"), theme.Plural(s.Repeats, "repeat", "repeats"), theme.Plural(len(f.Runs), "run", "runs"),
		})
		t.paragraph(s.About)
		for _, factor := range s.Factors {
			if factor.Search != nil {
				t.paragraph(fmt.Sprintf("These are the first runs of a search for %s in %s. More follow between the best value and its neighbours.", factor.Name, factor.Search))
			}
		}
		t.line("")
		g := &grid{heads: []string{"run"}}
		for _, factor := range s.Factors {
			g.heads = append(g.heads, factor.Name)
		}
		for _, run := range f.Runs {
			row := []string{fmt.Sprint(run.Turn)}
			style := plain
			if run.Repeat == 0 {
				style = muted
			}
			for _, factor := range s.Factors {
				row = append(row, run.At[factor.Name])
			}
			g.add(style, row...)
		}
		t.draw(g)
		t.line("")
		t.takes(f)
		t.line("")
	})
}

// takes writes how long a study takes, what it writes, and whether there is room.
func (t *text) takes(f *study.Forecast) {
	for _, l := range f.LeftOut {
		t.paragraph("Left out: " + strings.Join(l.Cells, ", ") + ": " + l.Reason)
	}
	lasts := func(seconds float64) string { return theme.Duration(time.Duration(seconds * float64(time.Second))) }
	switch {
	case f.Seconds > 0 && f.Most > f.Seconds:
		t.paragraph("It takes from " + lasts(f.Seconds) + " to " + lasts(f.Most) + ".")
	case f.Seconds > 0:
		t.paragraph("It takes at least " + lasts(f.Seconds) + ".")
	}
	if f.Bytes > 0 {
		t.paragraph(fmt.Sprintf("It writes up to %s, with replicas and before compression, of which at most %s are stored at once.", theme.Bytes(int64(f.Bytes)), theme.Bytes(int64(f.AtOnce))))
	}
	for _, text := range f.NotKnown {
		t.paragraph("It is not known " + text + ".")
	}
	room := theme.Plural(len(f.LogDirs), "log directory", "log directories") + " of the brokers with room for " + theme.Bytes(f.Usable)
	switch f.Room {
	case study.RoomForAll:
		t.paragraph(room + ": that is enough.")
	case study.RoomInTurns:
		t.paragraph(room + ": that is enough if brokers remove the files of a deleted topic in time (file.delete.delay.ms).")
	case study.NoRoom:
		for _, line := range wrapText(f.Err().Error(), t.wrapAt()-2) {
			t.line("  " + t.th.Paint(warn, line))
		}
	case study.RoomUnknown:
		if f.Usable > 0 {
			t.paragraph(room + ".")
		}
	}
}
