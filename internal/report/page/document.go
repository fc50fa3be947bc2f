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

// write writes the page of a document, with a run in it from Result.Embed; "": there is none.
func write(w io.Writer, d *doc.Document, foot, run string) error {
	says := new(doc.Facts)
	for _, n := range d.Answer {
		says.Add(n.Name, doc.Plain, n.Text)
	}
	all := *d
	all.Foot, all.Sections = foot, slices.Insert(slices.Clone(d.Sections), 0, doc.Section{ID: "answer", Title: "Answer", Blocks: []doc.Block{says}})
	p := struct {
		*doc.Document
		Parts []doc.Section
		Time  *doc.Timeline // of the charts over time; nil: there are none
	}{&all, all.Parts(doc.InPage), nil}
	charts := []*doc.Chart{} // that the script draws
	for _, s := range p.Parts {
		for _, b := range s.Blocks {
			if c, ok := b.(*doc.Chart); ok && c.Live() {
				charts, p.Time = append(charts, c), cmp.Or(c.Time, p.Time)
			}
		}
	}
	var html bytes.Buffer
	if err := templates.ExecuteTemplate(&html, "body", p); err != nil {
		return err
	}
	data, err := json.Marshal(map[string]any{"timeline": p.Time, "charts": charts}) // it escapes < and >
	if err != nil {
		return err
	}
	if run != "" {
		run = result.EmbedStart + run + result.EmbedEnd + "\n"
	}
	style, loader := styleSheet(), compact(asset("loader.js"))
	policy := fmt.Sprintf("default-src 'none'; style-src %s; script-src %s %s; img-src data:; base-uri 'none'; form-action 'none'", hash(style), hash(loader), hash(scripts()))
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
`, policy, template.HTMLEscapeString(theme.Clean(d.Command+" ▸ "+d.Subject)), style, html.Bytes(), secret.ScrubJSON(string(data)), run, asset("uPlot.LICENSE"), packedScripts(), loader)
	return err
}

// hash allows the style, the loader or the code that this unpacks: a page runs nothing else.
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
	{"text", theme.Text}, {"muted", theme.Muted}, {"grid", theme.Grid},
	{"p50", theme.P50}, {"p90", theme.P90}, {"p99", theme.P99}, {"p999", theme.P999}, {"max", theme.Muted},
	{"flow", theme.Flow}, {"read", theme.Good}, {"target", theme.Brand},
	{"info", theme.Info}, {"bad", theme.Bad}, {"warn", theme.Warn}, {"good", theme.Good},
}

//go:embed assets
var assets embed.FS

// templates are those of the blocks. They escape what they are given, and read the types of internal/doc.
var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"clean": theme.Clean, "visible": visible, "text": ofWords, "class": class, "note": noteOf, "reach": reach, "shift": shift, "picture": newPicture, "duration": duration,
	"url":     func(data string) template.URL { return template.URL(data) }, //nolint:gosec // it is made of the bytes of a picture
	"words":   func(command string) []string { return strings.Split(theme.Clean(command), " ") },
	"line":    lineOf,
	"lines":   func(c doc.Code) []string { return strings.Split(strings.TrimRight(string(c), "\n"), "\n") },
	"percent": func(share float64) int { return int(min(max(share, 0), 1)*100 + 0.5) },
	"heat":    func() []string { return heatSteps(false) },
	"uplot":   func() string { name, _, _ := strings.Cut(asset("VERSION"), ","); return name },
}).ParseFS(assets, "assets/*.html"))

// lineOf returns the command line of a document, or its load.
func lineOf(d *doc.Document) string { return cmp.Or(d.CommandLine(), d.Line) }

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
			if s := c.Shift; s != nil && visible(t.Columns[i]) {
				most = max(most, least, math.Abs(s.Value))
				if s.Interval {
					most = max(most, math.Abs(s.Low), math.Abs(s.High))
				}
			}
		}
	}
	return min(most, largest)
}

// bar is a difference with its interval as places of a bar around 0; High is the width of the interval. Its numbers stand beside it, so
// nothing is lost to those who do not see it.
type bar struct {
	doc.Shift
	Tone doc.Tone
}

// shift returns the bar on an axis that goes to most on both sides.
func shift(s *doc.Shift, most float64, tone doc.Tone) bar {
	const middle = 60
	at := func(v float64) float64 { return tenths(middle + min(max(v/most, -1), 1)*(middle-3)) }
	return bar{doc.Shift{Value: at(s.Value), Low: at(s.Low), High: tenths(max(at(s.High)-at(s.Low), 1)), Interval: s.Interval}, tone}
}
