package payload

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

// filled returns the values of a template, in a file of that name.
func filled(t testing.TB, text string, seed int64) (*plan.Plan, *Values, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "orders.tmpl")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	p := &plan.Plan{Seed: seed, Payload: plan.Payload{Kind: plan.Template, File: path, Keys: plan.NoKeys}}
	v, err := MakeValues(p)
	return p, v, err
}

func TestATemplateMakesTenThousandDistinctValues(t *testing.T) {
	for text, want := range map[string]string{
		"{{uuid}}":                              `[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`,
		`{"n":{{seq}},"at":"{{now}}"}` + "\r\n": `\{"n":\d+,"at":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"\}`,
		`{{seq}} {{now "unix"}} {{now "unixmilli"}} {{now "2006-01-02"}}`: `\d+ \d{10} \d{13} \d{4}-\d\d-\d\d`,
		`{{seq}} {{now "unix"}} {{now "unixmilli"}}`:                      `\d+ \d{10} \d{13}`,
		"{{int -9223372036854775808 9223372036854775807}}":                `-?\d{1,19}`,
		"{{int 5 5}} {{int 0 12000}}":                                     `5 \d{1,5}`,
		`{{printf "%.6f" (float 1 2)}}`:                                   `[12]\.\d{6}`,
		`{{word}} {{pick "a" "b" 3}} {{float -1e308 1e308}}`:              `[a-z]+ [ab3] -?\d.*`,
		`{{range 3}}{{if eq . 1}}{{continue}}{{end}}{{seq}},{{end}}`:      `(\d+),(\d+),`,
		"\xef\xbb\xbf{{define \"a\"}}{{seq}}{{end}}{{template \"a\"}}":    `\d+`,
	} {
		p, v, err := filled(t, text, 7)
		must.Do(t, err)
		pattern, distinct, size, longest := regexp.MustCompile("^"+want+"$"), make(map[string]bool), 0, 0
		for _, line := range v.lines {
			if distinct[string(line)] = true; !pattern.Match(line) {
				t.Fatalf("%s makes %q", text, line)
			}
			size, longest = size+len(line), max(longest, len(line))
		}
		must.Match(t, templateValues, len(distinct), "values of %s", text)
		if p.Payload.FileMax != longest || fmt.Sprintf("%.3f", p.Payload.FileMean) != fmt.Sprintf("%.3f", float64(size)/templateValues) {
			t.Errorf("%s: the plan has %+v, want %d and %d in all", text, p.Payload, longest, size)
		}
		if strings.Contains(text, "now") {
			continue
		}
		_, again, _ := filled(t, text, 7)
		_, other, _ := filled(t, text, 8)
		must.Match(t, v.lines, again.lines, "values of %s with the same seed", text)
		if random := !strings.Contains(text, "seq"); random && string(v.lines[0]) == string(other.lines[0]) && string(v.lines[1]) == string(other.lines[1]) {
			t.Errorf("%s: another seed makes the same values", text)
		}
	}
}

func TestATemplateThatMakesNoValuesSaysWhereAndWhy(t *testing.T) {
	const long = "{{range 100000}}12345678901{{end}}"
	for text, want := range map[string]string{
		"":                                       ": it makes an empty value",
		"\n":                                     ": it makes an empty value",
		"{{if eq seq 3}}{{else}}a{{seq}}{{end}}": ": it makes an empty value",
		"a\n{{uuid":                              ":2: unclosed action",
		"a\n\n{{uid}}":                           `:3: function "uid" not defined`,
		"a\n{{int 2 1}}":                         ":2:2: <int 2 1>: error calling int: 2 is above 1",
		"{{float 2 1}}":                          ":1:2: <float 2 1>: error calling float: 2 is above 1, or one is no number",
		"{{pick}}":                               ":1:2: <pick>: error calling pick: it needs values to pick one from",
		"{{.Name}}":                              `:1:2: <.Name>: can't evaluate field Name in type struct {}`,
		`{{pick "a" "b"}}`:                       ": 40000 values of it have 2 distinct ones, and 10000 are needed: {{seq}} or {{uuid}} makes each another",
		long:                                     ": " + "it makes a value of more than 1 MiB",
		`{{define "a"}}{{template "a"}}{{end}}{{template "a"}}`:      ":1:25: executing \"a\" at <{{template \"a\"}}>: exceeded maximum template depth (100000)",
		"{{seq}}{{range 3000}}123456789012345678901234567890{{end}}": ": its values take more than 256 MiB",
		strings.Repeat("a", maxTemplate+1):                           ": it is over 1 MiB long, which is more than a file of its kind has",
	} {
		p, _, err := filled(t, text, 1)
		if want = "--payload-template " + p.Payload.File + want; err == nil || err.Error() != want {
			t.Errorf("%.60q: %v\nwant %s", text, err, want)
		}
	}
}

// BenchmarkFill shows that values of a template cost as much as those of a file.
func BenchmarkFill(b *testing.B) {
	path := filepath.Join(b.TempDir(), "payloads")
	template, v, err := filled(b, `{"id":"{{uuid}}","customer":{{int 1 100000}},"word":"{{word}}"}`, 1)
	must.Do(b, err)
	must.Do(b, os.WriteFile(path, bytes.Join(v.lines, []byte("\n")), 0o600))
	for name, p := range map[string]*plan.Plan{
		"template":  template,
		"file":      {Seed: 1, Payload: plan.Payload{Kind: plan.File, File: path, Keys: plan.NoKeys}},
		"zipf keys": {Seed: 1, Payload: plan.Payload{Kind: plan.File, File: path, Keys: "zipf:1.1", KeyRange: 1_000_000}},
	} {
		b.Run(name, func(b *testing.B) {
			g := must.Have(MakeValues(p))(b).Generator(*p, 0, 1)
			var m Memory
			var i int64
			b.ReportAllocs()
			for b.Loop() {
				key, _ := g.Fill(&m, i)
				g.Busiest(key)
				i++
			}
		})
	}
}
