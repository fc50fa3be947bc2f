package config

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/profiles"
)

// given is what one call of kt is given.
type given struct {
	Command       plan.Command // "": produce
	Alone         bool         // without what kt consume cannot do without
	Args          words        // or a list
	Env           map[string]string
	User, Project string            // configuration files; "": there is none
	Profiles      map[string]string // name → YAML; nil: those that kt ships
	Files         map[string]string // in the folder DIR; that of the user is DIR/kt/config.yaml
	warn          func(string)
}

// UnmarshalYAML reads words, which are in one text or in a list.
func (w *words) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.SequenceNode {
		return n.Decode((*[]string)(w))
	}
	return w.UnmarshalText([]byte(n.Value))
}

// with returns what is given in all rows of a group, and in one of them.
func (g given) with(row given) given {
	row.Command, row.Alone, row.Args = max(g.Command, row.Command), g.Alone || row.Alone, slices.Concat(g.Args, row.Args)
	row.User, row.Project = g.User+row.User, g.Project+row.Project
	for _, pair := range [][2]*map[string]string{{&g.Env, &row.Env}, {&g.Profiles, &row.Profiles}, {&g.Files, &row.Files}} {
		if all := maps.Clone(*pair[0]); all != nil {
			maps.Copy(all, *pair[1])
			*pair[1] = all
		}
	}
	return row
}

// load is given through the parser and Load.
func load(t *testing.T, in given) (Run, error) {
	t.Helper()
	command := in.Command
	if command == "" {
		command = plan.Produce
	}
	dir := t.TempDir()
	here := func(text string) string { return strings.ReplaceAll(text, "DIR", dir) }
	for name, text := range in.Files {
		write(t, filepath.Join(dir, name), here(text))
	}
	sys := System{
		Kafka: kafka, Warn: in.warn, Getenv: func(name string) string { return here(in.Env[name]) }, Profiles: profiles.Of, ConfigDir: dir,
	}
	for name, value := range in.Env {
		sys.Environ = append(sys.Environ, name+"="+here(value))
	}
	if in.Profiles != nil {
		tree := fstest.MapFS{}
		for name, text := range in.Profiles {
			tree[name+".yaml"] = &fstest.MapFile{Data: []byte(text)}
		}
		sys.Profiles = func(string) fs.FS { return tree }
	}
	if in.User != "" {
		write(t, filepath.Join(dir, "kt", "config.yaml"), here(in.User))
	}
	if in.Project != "" {
		sys.ProjectFile = write(t, filepath.Join(dir, "kt.yaml"), here(in.Project))
	}
	var args []string
	if !in.Alone {
		args = needed(command)
	}
	for _, arg := range in.Args {
		args = append(args, here(arg))
	}
	r, err := loaded(t, func(set *pflag.FlagSet) *Run { return newFlags(set, command) }, sys, must.Have(ExpandLists(args))(t)...)
	return *r, err
}

func mustLoad(t *testing.T, in given) Run {
	t.Helper()
	r, err := load(t, in)
	must.Hold(t, err == nil, "load %+v: %v", in, err)
	return r
}

// names are those that kt makes up, and the folder of a test.
var names = regexp.MustCompile(`(perf-consumer-)[0-9]+|(performance-producer-)[A-Z2-7]{26}|` + regexp.QuoteMeta(os.TempDir()) + `/Test[^ "]*?/[0-9]{3}`)

// parts returns the values of a run by the names of their fields, without what is zero: load.records, producer.acks, Interval. Of a
// property they have the source too.
func parts(t *testing.T, r Run) map[string]string {
	t.Helper()
	flat := make(map[string]string)
	var walk func(name string, v any)
	walk = func(name string, v any) {
		fields, isObject := v.(map[string]any)
		for field, one := range fields {
			walk(strings.TrimPrefix(strings.TrimPrefix(name+"."+field, "."), "Plan."), one)
		}
		items, isList := v.([]any)
		texts := make([]string, len(items))
		for i, item := range items {
			texts[i] = fmt.Sprint(item)
		}
		if text := fmt.Sprint(v); isList {
			flat[name] = strings.Join(texts, " | ")
		} else if !isObject && !slices.Contains([]string{"<nil>", "false", "0"}, text) {
			flat[name] = text
		}
	}
	var document any
	text := must.Have(json.Marshal(r))(t)
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	must.Do(t, d.Decode(&document))
	for _, field := range []string{"Flags", "Sources", "Properties", "ConsumerProperties"} {
		delete(document.(map[string]any), field)
	}
	walk("", document)
	for client, properties := range map[string]map[string]plan.Given{"producer.": r.Properties, "consumer.": r.ConsumerProperties} {
		for name, g := range properties {
			flat[client+name] = g.Value + " (" + g.Source + ")"
		}
	}
	maps.DeleteFunc(flat, func(_, text string) bool { return text == "" })
	for name, text := range flat {
		flat[name] = names.ReplaceAllString(text, "$1$2")
	}
	return flat
}

// baseOf returns the parts of the run of a group. If there is none, they are those of a run that is given nothing.
func baseOf(t *testing.T, in given) map[string]string {
	t.Helper()
	r, err := load(t, in)
	if err != nil {
		r = mustLoad(t, given{Command: in.Command})
	}
	return parts(t, r)
}

// A row of testdata/loads.yaml is what a load is given beside what all of its group are given. want is what differs in the run from one
// that only the group gives, and errs a part of each problem. A name that kt makes up has no number, and the folder of the test no name.
func TestLoads(t *testing.T) {
	type row struct {
		Name  string
		Given given `yaml:",inline"`
		Want  map[string]string
		Errs  []string
	}
	for name, group := range must.Rows[map[string]struct {
		Given given
		Rows  []row
	}](t, "loads") {
		t.Run(name, func(t *testing.T) {
			for _, row := range group.Rows {
				must.True(t, !reflect.DeepEqual(row.Given, given{Command: row.Given.Command}), "row %q gives nothing", row.Name)
				base := baseOf(t, group.Given.with(given{Command: row.Given.Command}))
				r, err := load(t, group.Given.with(row.Given))
				if problems := Flat(err); len(problems) > 0 || len(row.Errs) > 0 {
					must.True(t, len(problems) == len(row.Errs), "%s %q: %v, want %q", row.Name, row.Given.Args, err, row.Errs)
					must.Has(t, fmt.Sprint(row.Name, row.Given.Args), fmt.Sprint(err), row.Errs...)
					continue
				}
				got := parts(t, r)
				for part := range base {
					got[part] += "" // it may be gone
				}
				maps.DeleteFunc(got, func(part, text string) bool { return text == base[part] })
				for part := range row.Want { // where a flag has its value from, and its text
					if flag, ok := strings.CutPrefix(part, "from "); ok {
						got[part] = names.ReplaceAllString(r.Sources[flag], "$1$2")
					} else if flag, ok := strings.CutPrefix(part, "flag "); ok {
						got[part] = r.Flags[flag]
					}
				}
				if len(got)+len(row.Want) > 0 {
					must.Match(t, row.Want, got, "%s %q", row.Name, row.Given.Args)
				}
			}
		})
	}
}
