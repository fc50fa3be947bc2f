package tui

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// drawTopics is a row for each of the busiest topics of several over the last ticks, and one for all others.
func drawTopics(c chart.Canvas, s *scene) {
	b := s.box(panePartitions, "Topics")
	b.right = append(b.right, line{muted(fmt.Sprintf("%d topics", s.topics))})
	if s.reads && s.ConsumerLag.Known {
		text, color := s.lagValue(c.Theme())
		b.right = append(b.right, line{muted("lag "), emphasis(color, text)})
	}
	b.bottom = []line{{muted("last 10 s")}}
	inner := b.draw(c)
	w, h := inner.Size()
	total := 0.0
	for i := range s.rows {
		total += s.rateOf(&s.rows[i])
	}
	t := table[result.PartitionNow]{c: inner.Sub(1, 0, w-2, h), gap: 1, columns: s.topicColumns(missing(c).text, total, w-2)}
	by := (s.order + 1) % len(t.columns) // the busiest come first unless the user wants another order
	all := t.ordered(s.rows, by)
	count, room := max(s.topics, len(all)), max(h-1, 0)
	rest := room > 1 && count > room
	if rest {
		room--
	}
	from := max(min(s.row, len(all)-room), 0)
	rows := all[from:min(from+room, len(all))]
	t.head(by)
	for y := range rows {
		t.row(y+1, &rows[y])
	}
	if rest {
		others := result.AddUp(slices.Concat(all[:from], all[from+len(rows):]))
		others.Topic, others.ID = fmt.Sprintf("%d others", count-len(rows)), -1
		t.row(len(rows)+1, &others)
	}
}

// topicColumns returns the columns of the topics, the most important first. total is the rate of all.
func (s *scene) topicColumns(missing string, total float64, width int) []column[result.PartitionNow] {
	type topic = result.PartitionNow
	of := func(name string, is bool, by func(*topic) float64, text func(float64) string) column[topic] {
		return column[topic]{name: name, width: 10, hidden: !is, by: by, value: func(t *topic) segment { return plain(text(by(t))) }}
	}
	took := func(v float64) string {
		if v == 0 {
			return missing
		}
		return theme.Duration(time.Duration(v))
	}
	columns := shown([]column[topic]{
		{name: "topic", left: true, by: func(t *topic) float64 { return float64(t.ID) }, value: func(t *topic) segment {
			if t.ID < 0 {
				return muted(t.Topic)
			}
			return plain(t.Topic)
		}},
		of("rec/s", true, s.rateOf, theme.Rate),
		of("share", total > 0, s.rateOf, func(v float64) string { return theme.Percent(v / math.Max(total, 1)) }),
		of("lag", s.reads, func(t *topic) float64 { return float64(t.Lag) }, theme.Rate),
		of(s.unit.name(), s.writes, func(t *topic) float64 { return float64(t.Bytes) / t.Seconds }, s.unit.write),
		of("p99", s.writes, func(t *topic) float64 { return float64(t.Service.ValueAtQuantile(0.99, t.ServiceMax)) }, took),
		of("gap", s.writes, func(t *topic) float64 { return float64(t.Outage.Length) }, took),
	})
	const name, longest = 16, 40
	for width-name < 10*(len(columns)-1) && len(columns) > 2 {
		columns = columns[:len(columns)-1]
	}
	columns[0].width = max(1, min(width-10*(len(columns)-1), longest))
	return columns
}
