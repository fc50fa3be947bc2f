package page

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/theme"
)

//go:embed assets
var assets embed.FS

// templates are those of the blocks. They escape what they are given, and read the types of internal/doc.
var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"clean": theme.Clean, "words": words, "line": lineOf, "shown": shown,
	"visible": visible, "text": ofWords, "class": class, "note": noteOf, "reach": reach, "shift": shift, "draw": draw, "summary": summary, "ramp": ramp,
	"lines":    func(c doc.Code) []string { return strings.Split(strings.TrimRight(string(c), "\n"), "\n") },
	"percent":  func(share float64) int { return int(min(max(share, 0), 1)*100 + 0.5) },
	"duration": duration,
	"uplot":    func() string { name, _, _ := strings.Cut(asset("VERSION"), ","); return name },
}).ParseFS(assets, "assets/*.html"))

// words returns a command with its words marked: a line of it breaks between words, and not after the hyphens of a flag.
func words(command string) template.HTML {
	marked := strings.Split(escaped(command), " ")
	for i, word := range marked {
		if word != "" {
			marked[i] = "<span>" + word + "</span>"
		}
	}
	return template.HTML(strings.Join(marked, " ")) //nolint:gosec // it was escaped
}

// lineOf returns the command line of a document, or its load.
func lineOf(d *doc.Document) string {
	args := make([]string, len(d.Args))
	for i, arg := range d.Args {
		args[i] = theme.Quoted(arg)
	}
	return cmp.Or(strings.Join(args, " "), d.Line)
}

// shown returns the blocks that a page has.
func shown(all []doc.Block) []doc.Block { return doc.Shown(all, doc.InPage) }

// visible reports whether a page has a column.
func visible(c doc.Column) bool { return c.Head != "" && c.For.In(doc.InPage) }

// ofWords reports whether all columns of a table are of words: those are aligned left without a class.
func ofWords(t *doc.Table) bool {
	return !slices.ContainsFunc(t.Columns, func(c doc.Column) bool { return visible(c) && c.Kind == doc.Number })
}

// class returns the classes of a cell.
func class(allWords bool, c doc.Column, i int, row doc.Row) string {
	own := row.Cells[i].Tone
	if own == "" && c.Kind == doc.Words && i > 0 {
		own = row.Tone
	}
	if c.Kind != doc.Number && !allWords {
		own = "text " + own
	}
	return strings.TrimSpace(string(own))
}

// noteOf returns the sentence below a table.
func noteOf(t *doc.Table) string {
	if most := theme.Percent(reach(t)); reach(t) > 0 {
		return fmt.Sprintf("Bars go from −%s to +%s; the line in the middle is no difference.", most, most)
	}
	return t.Note
}

// reach returns how far the axis of the shifts of a table has to go; 0: it has none. A shift of many times does not hide the others.
func reach(t *doc.Table) (most float64) {
	const least, largest = 0.05, 1
	for _, row := range t.Rows {
		for i, c := range row.Cells {
			s := c.Shift
			if s == nil || !visible(t.Columns[i]) {
				continue
			}
			most = max(most, least, math.Abs(s.Value))
			if s.Interval {
				most = max(most, math.Abs(s.Low), math.Abs(s.High))
			}
		}
	}
	return min(most, largest)
}

// shift draws a difference with its interval as a bar around 0, on an axis that goes to most on both sides. Its numbers stand beside it, so
// nothing is lost to those who do not see it.
func shift(s *doc.Shift, most float64, tone doc.Tone) template.HTML {
	const width, middle, height = 120.0, 60.0, 14.0
	at := func(v float64) float64 {
		return middle + min(max(v/most, -1), 1)*(middle-3)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="shift %s" viewBox="0 0 %g %g" aria-hidden="true"><path class="zero" d="M%g 0v%g"/>`, tone, width, height, middle, height)
	if s.Interval {
		from, to := at(s.Low), at(s.High)
		fmt.Fprintf(&b, `<rect x="%.1f" y="4" width="%.1f" height="6" rx="1"/>`, from, max(to-from, 1))
	}
	fmt.Fprintf(&b, `<circle cx="%.1f" cy="7" r="3"/></svg>`, at(s.Value))
	return template.HTML(b.String()) //nolint:gosec // it is made of numbers and of a tone
}
