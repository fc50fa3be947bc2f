package page

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/secret"
	"github.com/kt-bench/kt/internal/theme"
)

// Doc writes the page of a document.
func Doc(w io.Writer, d *doc.Document) error {
	made := d.Command
	if d.Again != "" {
		made = d.Again + " --output html"
	}
	return write(w, d, strings.TrimSpace("Made by "+made+". "+d.Foot), "")
}

// body is what a reader of a page sees without a script.
type body struct {
	*doc.Document
	Foot  string         // a sentence at the end
	Parts []*doc.Section // those that a page has, with the answer before them

	Time   *doc.Timeline // of the charts over time; nil: there are none
	Charts []*doc.Chart  // that the script draws
}

// write writes the page of a document, with a run in it from Result.Embed; "": there is none.
func write(w io.Writer, d *doc.Document, foot, run string) error {
	says := new(doc.Facts)
	for _, n := range d.Answer {
		says.Add(n.Name, doc.Plain, n.Text)
	}
	answer := &doc.Section{ID: "answer", Title: "Answer", Blocks: []doc.Block{says}}
	p := &body{Document: d, Foot: foot, Parts: []*doc.Section{answer}, Charts: []*doc.Chart{}}
	for i := range d.Sections {
		p.Parts = append(p.Parts, &d.Sections[i])
	}
	p.Parts = slices.DeleteFunc(p.Parts, func(s *doc.Section) bool { return !s.For.In(doc.InPage) || len(shown(s.Blocks)) == 0 })
	for _, s := range p.Parts {
		for _, b := range shown(s.Blocks) {
			if c, ok := b.(*doc.Chart); ok && c.Live() {
				p.Charts = append(p.Charts, c)
				if c.Time != nil {
					p.Time = c.Time
				}
			}
		}
	}
	var html bytes.Buffer
	if err := templates.ExecuteTemplate(&html, "body", p); err != nil {
		return err
	}
	charts, err := json.Marshal(map[string]any{"timeline": p.Time, "charts": p.Charts}) // it escapes < and >
	if err != nil {
		return err
	}
	if run != "" {
		run = result.EmbedStart + run + result.EmbedEnd + "\n"
	}
	style, loader, code := styleSheet(), compact(asset("loader.js")), scripts()
	_, err = fmt.Fprintf(w, result.PageStart+`<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>%s</title>
<style>%s</style>
</head>
<body>
%s<script type="application/json" id="charts">%s</script>
%s<!--
%s-->
<script type="text/plain" id="code">%s</script>
<script>%s</script>
</body>
</html>
`, policy(style, loader, code), escaped(d.Command+" ▸ "+d.Subject), style, html.Bytes(), secret.ScrubJSON(string(charts)), run, asset("uPlot.LICENSE"), packedScripts(), loader)
	return err
}

// policy allows the style, the loader and the code that this unpacks, and nothing else.
func policy(style, loader, code string) string {
	return "default-src 'none'; style-src " + hash(style) + "; script-src " + hash(loader) + " " + hash(code) +
		"; img-src data:; base-uri 'none'; form-action 'none'"
}

func hash(block string) string {
	sum := sha256.Sum256([]byte(block))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// styleSheet returns the style of every page: the colours of the screen, uPlot's style and kt's own.
var styleSheet = sync.OnceValue(func() string {
	lines, light, dark := "", "", ""
	color := func(name, inLight, inDark string) {
		light += "--" + name + ":" + inLight + ";"
		dark += "--" + name + ":" + inDark + ";"
	}
	line := func(name, inLight, inDark string) {
		color(name, inLight, inDark)
		lines += "." + name + "{--c:var(--" + name + ")}"
	}
	for _, s := range surfaces {
		color(s.name, s.light, s.dark)
	}
	for _, c := range palette {
		line(c.name, theme.Hex(c.color, false), theme.Hex(c.color, true))
	}
	for i, c := range looks {
		line(fmt.Sprintf("run%d", i), c.light, c.dark)
	}
	for i, c := range heatSteps(false) {
		color(fmt.Sprintf("heat%d", i), c, heatSteps(true)[i])
	}
	return lines + ":root{" + light + "}@media screen{:root[data-scheme=dark]{" + dark + "}}\n" +
		"@media screen and (prefers-color-scheme:dark){:root:not([data-scheme=light]){" + dark + "}}\n" +
		asset("uPlot.min.css") + spaces.Replace(compact(asset("page.css")+asset("pages.css")))
})

// spaces takes those out of a style sheet that only people need.
var spaces = strings.NewReplacer(" {", "{", "{ ", "{", " }", "}", "; ", ";", ": ", ":")

// scripts returns uPlot and kt's own script. A page has them packed, which makes it a third smaller.
var scripts = sync.OnceValue(func() string { return asset("uPlot.iife.min.js") + "\n" + compact(asset("page.js")) })

var packedScripts = sync.OnceValue(func() string {
	packed, err := result.Pack([]byte(scripts()))
	if err != nil {
		panic(err) // it is written into memory
	}
	return packed
})

func asset(name string) string {
	b, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(b)
}

// compact returns a text without indentation and without lines that are comments of a script or a style.
func compact(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "/*") {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// surfaces are the colours of a page that a terminal has of its own.
var surfaces = []struct{ name, light, dark string }{
	{"bg", "#ffffff", "#0d1117"}, {"card", "#f6f8fa", "#151b23"}, {"line", "#d1d9e0", "#343a42"},
}

// palette has the colours that a page and the screen have in common. A line has one of them as its class.
var palette = []struct {
	name  string
	color theme.Color
}{
	{"text", theme.Text},
	{"muted", theme.Muted},
	{"grid", theme.Grid},
	{"flow", theme.Flow},
	{"read", theme.Good},
	{"p50", theme.P50},
	{"p90", theme.P90},
	{"p99", theme.P99},
	{"p999", theme.P999},
	{"target", theme.Brand},
	{"info", theme.Info},
	{"bad", theme.Bad},
	{"warn", theme.Warn},
	{"good", theme.Good},
	{"max", theme.Muted},
}

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
