package report

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// doing is what a run does, by the names that the tag "of" of a result's fields uses.
type doing map[string]bool

// doingOf returns the activities of a plan. The settings are those of its producers.
func doingOf(p *plan.Plan, settings []result.Setting) doing {
	w := p.Writes() || !p.Reads()
	return doing{
		"writing": w, "reading": p.Reads(), "rate": w && p.RecordsPerSecond() > 0,
		"transactions": w && setting(settings, "transactional.id") != "",
	}
}

// applying writes documents without the fields that do not apply to a run: those with a tag "of" that names what it does not.
type applying struct {
	run       doing
	processes []doing     // of each in the document
	loads     []*applying // likewise
}

// applyingTo is for the document of a result. Each process has the fields of its own command.
func applyingTo(r *result.Result) *applying {
	a := &applying{run: doingOf(&r.Plan, r.Config)}
	a.run["transactions"] = a.run["transactions"] || r.Client.Transactions+r.Client.Aborted > 0
	rate, transactions := r.Plan.RecordsPerSecond() > 0, a.run["transactions"]
	for _, p := range r.Processes {
		w, c := does(p.Command)
		a.run["writing"], a.run["reading"] = a.run["writing"] || w, a.run["reading"] || c
		a.processes = append(a.processes, doing{"writing": w || !c, "reading": c || !w, "rate": w && rate, "transactions": w && transactions})
	}
	for i := range r.Loads {
		a.loads = append(a.loads, applyingTo(&r.Loads[i].Result))
	}
	return a
}

// document is v in JSON, on one line.
func (a *applying) document(v any) ([]byte, error) {
	var whole bytes.Buffer
	e := json.NewEncoder(&whole)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return a.pruned(reflect.TypeOf(v), bytes.TrimSpace(whole.Bytes()), a.run), nil
}

// write writes v as document has it.
func (a *applying) write(w io.Writer, v any, indent string) error {
	line, err := a.document(v)
	if err != nil {
		return err
	}
	return theme.JSON(w, json.RawMessage(line), indent)
}

// pruned returns a value of a type without the fields that do not apply.
func (a *applying) pruned(t reflect.Type, value []byte, does doing) []byte {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	object := t.Kind() == reflect.Struct && value[0] == '{'
	if !object && (t.Kind() != reflect.Slice || value[0] != '[') {
		return value
	}
	var parts [][]byte
	for name, part := range each(value) {
		if !object {
			of := a
			switch t.Elem() {
			case reflect.TypeFor[result.ProcessRow]():
				does = a.processes[len(parts)]
			case reflect.TypeFor[result.LoadResult]():
				of = a.loads[len(parts)]
				does = of.run
			}
			parts = append(parts, of.pruned(t.Elem(), part, does))
			continue
		}
		f, known := fieldsOf(t)[name]
		if what := f.Tag.Get("of"); what != "" && !does[what] {
			continue
		}
		if known {
			part = a.pruned(f.Type, part, does)
		}
		key, _ := json.Marshal(name) // a text has a form
		parts = append(parts, append(append(key, ':'), part...))
	}
	return slices.Concat(value[:1], bytes.Join(parts, []byte{','}), value[len(value)-1:])
}

var structs sync.Map // from types to their fields

// fieldsOf returns the fields of a struct by their names in JSON.
func fieldsOf(t reflect.Type) map[string]reflect.StructField {
	if known, ok := structs.Load(t); ok {
		return known.(map[string]reflect.StructField)
	}
	fields := make(map[string]reflect.StructField)
	for _, f := range reflect.VisibleFields(t) {
		if outer := t.Field(f.Index[0]); outer.Anonymous {
			f.Tag += " " + outer.Tag // of all fields in it
		}
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); !f.Anonymous && name != "" {
			fields[name] = f
		}
	}
	structs.Store(t, fields)
	return fields
}

// each yields the values of an object with their names, or those of a list.
func each(value json.RawMessage) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		d := json.NewDecoder(bytes.NewReader(value))
		_, _ = d.Token() // the value was made by the encoder, so there are no errors in it
		for d.More() {
			name := ""
			if value[0] == '{' {
				token, _ := d.Token()
				name, _ = token.(string)
			}
			var part json.RawMessage
			if d.Decode(&part) != nil || !yield(name, part) {
				return
			}
		}
	}
}

// YAML writes the document of a run in YAML.
func YAML(w io.Writer, r result.Result, o Options) error {
	return asYAML(w, func(w io.Writer) error { return JSON(w, r, o) })
}

// asYAML writes in YAML what a function writes in JSON, so that both have the same names in the same order.
func asYAML(w io.Writer, write func(io.Writer) error) error {
	var text, out bytes.Buffer
	var n yaml.Node
	if err := write(&text); err != nil {
		return err
	}
	if err := yaml.Unmarshal(text.Bytes(), &n); err != nil { // JSON is YAML
		return err
	}
	inBlocks(&n)
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(&n); err != nil {
		return err
	}
	_, err := io.WriteString(w, strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return theme.CleanRune(r)
	}, out.String()))
	return err
}

// otherInYAML11 matches strings that readers of YAML 1.1 take for something else unless they are quoted. The encoder quotes those of YAML 1.2.
var otherInYAML11 = regexp.MustCompile(`(?i)^(y|yes|n|no|on|off|=|<<|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*)$`)

// inBlocks lets a node be written with a line for each value.
func inBlocks(n *yaml.Node) {
	n.Style = 0
	if n.Tag == "!!str" && otherInYAML11.MatchString(n.Value) {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, of := range n.Content {
		inBlocks(of)
	}
}
