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
	return (&document{Document: d, Foot: strings.TrimSpace("Made by " + made + ". " + d.Foot)}).write(w)
}

// document is a document on its way to a page.
type document struct {
	*doc.Document
	Foot     string    // a sentence at the end
	Timeline *Timeline // of its charts over time; nil: there are none
	run      string    // the run in it, from Result.Embed; "": none
}

// chartData is what the script needs of the charts.
type chartData struct {
	Timeline *Timeline `json:"timeline"`
	Charts   []*Chart  `json:"charts"`
	Heats    []*Heat   `json:"heats"`
}

// write writes the page.
func (d *document) write(w io.Writer) error {
	var body bytes.Buffer // what is seen without a script
	if err := templates.ExecuteTemplate(&body, "body", d); err != nil {
		return err
	}
	charts, err := json.Marshal(d.charts()) // it escapes < and >
	if err != nil {
		return err
	}
	var b bytes.Buffer
	style, loader, code := styleSheet(), compact(asset("loader.js")), scripts()
	b.WriteString(result.PageStart)
	b.WriteString("<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	fmt.Fprintf(&b, "<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">\n", policy(style, loader, code))
	b.WriteString("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
	b.WriteString("<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n")
	fmt.Fprintf(&b, "<title>%s</title>\n<style>%s</style>\n</head>\n<body>\n", escaped(d.Command+" ▸ "+d.Subject), style)
	b.Write(body.Bytes())
	fmt.Fprintf(&b, "<script type=\"application/json\" id=\"charts\">%s</script>\n", secret.ScrubJSON(string(charts)))
	if d.run != "" {
		b.WriteString(result.EmbedStart + d.run + result.EmbedEnd + "\n")
	}
	fmt.Fprintf(&b, "<!--\n%s-->\n<script type=\"text/plain\" id=\"code\">%s</script>\n", asset("uPlot.LICENSE"), packedScripts())
	fmt.Fprintf(&b, "<script>%s</script>\n</body>\n</html>\n", loader)
	_, err = w.Write(b.Bytes())
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

// Parts returns the sections that a page has, with the answer before them.
func (d *document) Parts() []*doc.Section {
	answer := &doc.Section{ID: "answer", Title: "Answer"}
	for _, n := range d.Answer {
		answer.Facts = append(answer.Facts, doc.Fact{Name: n.Name, Text: n.Text})
	}
	parts := []*doc.Section{answer}
	for i := range d.Sections {
		if s := &d.Sections[i]; s.For.In(doc.InPage) {
			parts = append(parts, s)
		}
	}
	return slices.DeleteFunc(parts, func(s *doc.Section) bool { return len(shown(s.All())) == 0 })
}

// charts collects the charts of all sections.
func (d *document) charts() chartData {
	data := chartData{Timeline: d.Timeline, Charts: []*Chart{}, Heats: []*Heat{}}
	for _, s := range d.Parts() {
		for _, b := range s.Blocks {
			switch b := b.(type) {
			case *Chart:
				data.Charts = append(data.Charts, b)
			case *Heat:
				data.Heats = append(data.Heats, b)
			}
		}
	}
	return data
}

// styleSheet returns the style of every page: the colours of the screen, uPlot's style and kt's own.
var styleSheet = sync.OnceValue(func() string {
	light, dark := colors(false), colors(true)
	lines := ""
	for _, c := range palette {
		lines += "." + c.name + "{--c:var(--" + c.name + ")}"
	}
	for i := range runColors {
		lines += fmt.Sprintf(".run%d{--c:var(--run%d)}", i, i)
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

// colors returns the custom properties of a scheme.
func colors(dark bool) string {
	var b strings.Builder
	for _, s := range surfaces {
		value := s.light
		if dark {
			value = s.dark
		}
		fmt.Fprintf(&b, "--%s:%s;", s.name, value)
	}
	for i, c := range runColors {
		value := c.light
		if dark {
			value = c.dark
		}
		fmt.Fprintf(&b, "--run%d:%s;", i, value)
	}
	for _, c := range palette {
		fmt.Fprintf(&b, "--%s:%s;", c.name, theme.Hex(c.color, dark))
	}
	for i := range theme.HeatSteps {
		fmt.Fprintf(&b, "--heat%d:%s;", i, theme.Hex(theme.Heat((float64(i)+0.5)/(theme.HeatSteps-1)), dark))
	}
	return b.String()
}
