package report

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kt-bench/kt/internal/must"
)

func TestEveryDocumentFitsTheSchema(t *testing.T) {
	schema := compiled(t)
	for name, r := range results() {
		if err := schema.Validate(decoded(t, written(t, JSON, r, Options{}))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheSchemaRefusesWhatIsNoResult(t *testing.T) {
	schema := compiled(t)
	for _, tc := range []struct{ name, old, change string }{
		{"another version", `"schema": 2`, `"schema": 3`},
		{"a field that is not there", `"schema": 2`, `"schema": 2, "extra": 1`},
		{"one inside another", `"offered": 3000`, `"offered": 3000, "lost": 0`},
		{"a field that is missing", `"valid": true,`, ``},
		{"a limit that kt does not know", `"limit": "none"`, `"limit": "the moon"`},
		{"text for a number", `"offered": 3000`, `"offered": "3000"`},
		{"fewer records than none", `"failed": 0`, `"failed": -1`},
	} {
		text := written(t, JSON, results()["fixed"], Options{})
		changed := strings.Replace(text, tc.old, tc.change, 1)
		if changed == text {
			t.Fatalf("%s: %s is not in the document", tc.name, tc.old)
		}
		if err := schema.Validate(decoded(t, changed)); err == nil {
			t.Errorf("%s fits the schema", tc.name)
		}
	}
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	schema := must.Have(c.Compile(schemaFile))(t)
	return schema
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	v := must.Have(jsonschema.UnmarshalJSON(strings.NewReader(text)))(t)
	return v
}
