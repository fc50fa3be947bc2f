package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
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
