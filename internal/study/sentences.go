package study

import (
	_ "embed"
	"reflect"
	"strings"
	"text/template"

	"github.com/kt-bench/kt/internal/theme"
)

//go:embed sentences.tmpl
var sentencesText string

var sentences = template.Must(template.New("").Funcs(template.FuncMap{
	"listed": theme.Listed, "join": strings.Join, "contains": strings.Contains, "signed": theme.Signed[Share], "perSecond": theme.PerSecond,
	"plus":     func(a, b int) int { return a + b },
	"flags":    func(all []Flag) string { return Cell{At: all}.String() },
	"negative": func(s Share) Share { return -s },
	"percent":  func(share any) string { return theme.Percent(reflect.ValueOf(share).Float()) },
	"count":    func(n float64) string { return theme.Count(int64(n)) },
	"rate":     func(r float64) string { return theme.Plural(r, "record/s", "records/s") },
	"records":  func(n int64) string { return theme.Plural(n, "record", "records") },
	"runs":     func(n int) string { return theme.Plural(n, "run", "runs") },
}).Parse(sentencesText))

// say returns a sentence of sentences.tmpl about something.
func say(name string, about any) string {
	var text strings.Builder
	if err := sentences.ExecuteTemplate(&text, name, about); err != nil {
		panic(err) // the template does not fit the type
	}
	return text.String()
}

// lines returns the lines of a text of sentences.tmpl about something.
func lines(name string, about any) []string {
	all := strings.Split(say(name, about), "\n")
	return all[:len(all)-1] // each has an end
}
