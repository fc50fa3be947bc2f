package report

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
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

// conditions are what a run must do for the fields of a result to say something, by their
// paths, such as "records.offered" and "series[].failed".
var conditions = sync.OnceValue(func() map[string]string {
	of := make(map[string]string)
	addConditions(of, "", reflect.TypeFor[result.Result]())
	addConditions(of, "interval", reflect.TypeFor[result.Point]())
	return of
})

func addConditions(of map[string]string, path string, t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		if t.Kind() == reflect.Slice {
			path += "[]"
		}
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "" {
			continue
		}
		at := under(path, name)
		if does := f.Tag.Get("of"); does != "" {
			of[at] = does
		}
		addConditions(of, at, f.Type)
	}
}

func under(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

// applying writes documents without the fields that do not apply to a run.
type applying struct {
	run       doing
	processes []doing // of each in the document

	from *json.Decoder
	to   bytes.Buffer
}

// applyingTo is for the document of a result. Each process has the fields of its own
// command.
func applyingTo(r *result.Result) *applying {
	a := &applying{run: doingOf(&r.Plan, r.Config)}
	a.run["transactions"] = a.run["transactions"] || r.Client.Transactions+r.Client.Aborted > 0
	rate, transactions := r.Plan.RecordsPerSecond() > 0, a.run["transactions"]
	for _, p := range r.Processes {
		w, c := does(p.Command)
		a.run["writing"], a.run["reading"] = a.run["writing"] || w, a.run["reading"] || c
		a.processes = append(a.processes, doing{"writing": w || !c, "reading": c || !w, "rate": w && rate, "transactions": w && transactions})
	}
	return a
}

// document is v in JSON, on one line. path is where v is in a result.
func (a *applying) document(path string, v any) (json.RawMessage, error) {
	var whole bytes.Buffer
	e := json.NewEncoder(&whole)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	a.from = json.NewDecoder(&whole)
	a.from.UseNumber() // each as it is written
	if err := a.value(path, a.run); err != nil {
		return nil, err
	}
	return a.to.Bytes(), nil
}

// value copies the next value.
func (a *applying) value(path string, does doing) error {
	token, err := a.from.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		return a.object(path, does)
	case json.Delim('['):
		return a.list(path, does)
	}
	return a.scalar(token)
}

func (a *applying) object(path string, does doing) error {
	separator := byte('{')
	for a.from.More() {
		name, err := a.from.Token()
		if err != nil {
			return err
		}
		at := under(path, name.(string))
		if what := conditions()[at]; what != "" && !does[what] {
			var left json.RawMessage
			if err := a.from.Decode(&left); err != nil {
				return err
			}
			continue
		}
		a.to.WriteByte(separator)
		separator = ','
		if err := a.scalar(name); err != nil {
			return err
		}
		a.to.WriteByte(':')
		if err := a.value(at, does); err != nil {
			return err
		}
	}
	return a.end(separator == '{', "{}")
}

func (a *applying) list(path string, does doing) error {
	separator := byte('[')
	for i := 0; a.from.More(); i++ {
		a.to.WriteByte(separator)
		separator = ','
		if path == "processes" {
			does = a.processes[i]
		}
		if err := a.value(path+"[]", does); err != nil {
			return err
		}
	}
	return a.end(separator == '[', "[]")
}

// end closes an object or a list.
func (a *applying) end(empty bool, brackets string) error {
	if empty {
		a.to.WriteByte(brackets[0])
	}
	a.to.WriteByte(brackets[1])
	_, err := a.from.Token()
	return err
}

func (a *applying) scalar(token json.Token) error {
	e := json.NewEncoder(&a.to)
	e.SetEscapeHTML(false)
	if err := e.Encode(token); err != nil {
		return err
	}
	a.to.Truncate(a.to.Len() - 1) // its newline
	return nil
}
