package tune

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/must"
)

// fits validates rows against checks.schema.json, which editors use.
func fits(t *testing.T, rows string) error {
	t.Helper()
	var v any
	must.Do(t, yaml.Unmarshal([]byte(rows), &v))
	doc := must.Have(jsonschema.UnmarshalJSON(strings.NewReader(string(must.Have(json.Marshal(v))(t)))))(t)
	return must.Have(jsonschema.NewCompiler().Compile("checks.schema.json"))(t).Validate(doc)
}

// fieldsOf are the names that a type has in YAML.
func fieldsOf(v any) (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
		if name, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestTheSchemaOfChecksKnowsEveryFieldAndWord(t *testing.T) {
	if err := fits(t, string(checksYAML)); err != nil {
		t.Error(err)
	}
	type object struct {
		Properties map[string]struct {
			Properties map[string]any
			Enum       []string
			Items      struct{ Properties map[string]any }
		}
	}
	var schema struct {
		Defs map[string]object `json:"$defs"`
	}
	must.Do(t, json.Unmarshal(must.Have(os.ReadFile("checks.schema.json"))(t), &schema))
	row := schema.Defs["check"].Properties
	for name, pair := range map[string][2][]string{
		"a row":      {fieldsOf(Setting{}), slices.Sorted(maps.Keys(row))},
		"read":       {fieldsOf(Read{}), slices.Sorted(maps.Keys(row["read"].Properties))},
		"takes":      {fieldsOf(Takes{}), slices.Sorted(maps.Keys(row["takes"].Properties))},
		"sets":       {fieldsOf(target{}), slices.Sorted(maps.Keys(row["sets"].Items.Properties))},
		"what needs": {slices.Sorted(maps.Keys(requirements))[1:], slices.Sorted(slices.Values(row["needs"].Enum))},
	} {
		must.Match(t, pair[0], pair[1], "%s: kt and checks.schema.json know other fields", name)
	}
}

func TestAWrongRowIsRefusedWithItsPlace(t *testing.T) {
	const good = "- group: memory\n  checks:\n    - id: a.b\n      title: x\n      roles: [broker]\n      severity: info\n      confidence: doc\n" +
		"      why: x\n      sources: [x]\n      read: {file: sys/x}\n"
	if _, err := readRows([]byte(good)); err != nil || fits(t, good) != nil {
		t.Fatalf("the row that others are made of: %v, %v", err, fits(t, good))
	}
	second := good[strings.Index(good, "    - id"):]
	for _, row := range []struct {
		name, old, new, want string
		schema               bool // refuses it too
	}{
		{"a field that there is not", "title", "tilte", "line 4: field tilte not found", true},
		{"a severity that there is not", "info", "bad", "line 3, column 7: a.b: there is no severity", true},
		{"no title", "title: x", "title: ''", "line 3, column 7: a.b: it lacks a title", true},
		{"a need that there is not", "why:", "needs: luck\n      why:", `line 3, column 7: a.b: needs: there is no "luck"`, true},
		{"a range that is none", "why:", "takes: {number: 1..2}\n      why:", "line 3, column 7: a.b: takes: number:", true},
		{"a rule that is none", "why:", "want: '>= x'\n      why:", "line 3, column 7: a.b: a rule of it: ", false},
		{"a range of the kernel's that is none", "why:", "sets: [{path: /sys/x, holds: 9..1}]\n      why:", "not a range of whole numbers", false},
		{"a file without sane values", "why:", "sets: [{path: /sys/x, holds: 0..9}]\n      why:", "line 3, column 7: a.b: sets: /sys/x: ", false},
		{"a file that may hold anything", "why:", "sets: [{path: /sys/x, sane: 0..9}]\n      why:", "line 3, column 7: a.b: sets: /sys/x: ", false},
		{"a group that there is not", "memory", "luck", `line 3, column 7: a.b: there is no group "luck"`, true},
		{"no way to read", "read: {file: sys/x}", "detail: x", "line 3, column 7: a.b: it has neither a function nor a way to read", false},
		{"a fact that there is not", "{file: sys/x}", "{value: luck * 2}", `line 3, column 7: a.b: there is no fact "luck"`, false},
		{"a fact that there is not, in words", "{file: sys/x}", "{file: sys/x, note: '{luck|bytes}'}", `line 3, column 7: a.b: there is no fact "luck"`, false},
		{"a case whose condition is none", "{file: sys/x}", "{file: sys/x, cases: [{if: value, note: x}]}", `line 3, column 7: a.b: cases: "value" is no condition`, false},
		{"two values without an operator", "{file: sys/x}", "{value: total:cpu.steal load nodes}", `"load" is no operator`, false},
		{"an operator without a value", "{file: sys/x}", "{value: cpus *}", `"cpus *" lacks a value or an operator`, false},
		{"an operator for a value", "{file: sys/x}", "{value: cpus * max}", `there is no fact "max"`, false},
		{"words of no expression", "{file: sys/x}", "{file: sys/x, note: '{ }'}", `" " lacks a value or an operator`, false},
		{"a pattern that is none", "{file: sys/x}", "{file: sys/x, cases: [{if: \"value like '['\", note: x}]}", "missing closing ]", false},
		{"a function and a way to read", "a.b", "vm.swappiness", "line 3, column 7: vm.swappiness: it has a function, and a way to read", false},
		{"the same row twice", "\n", "\n", "", false},
	} {
		text := strings.Replace(good, row.old, row.new, 1)
		if row.want == "" {
			text, row.want = good+second, "line 11, column 7: a.b: it stands there twice"
		}
		if _, err := readRows([]byte(text)); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", row.name, err, row.want)
		}
		if row.schema && fits(t, text) == nil {
			t.Errorf("%s fits checks.schema.json", row.name)
		}
	}
	for id := range functions() {
		if !slices.Contains(IDs(), id) {
			t.Errorf("%s is a function without a row", id)
		}
	}
}
