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
		must.Err(t, "", schema.Validate(decoded(t, written(t, JSON, r, Options{}))), "%s", name)
	}
}

func TestTheSchemaRefusesWhatIsNoResult(t *testing.T) {
	schema := compiled(t)
	for _, tc := range must.Rows[[]struct{ Name, Old, Change string }](t, "schema_validate") {
		text := written(t, JSON, results()["fixed"], Options{})
		changed := strings.Replace(text, tc.Old, tc.Change, 1)
		if changed == text {
			t.Fatalf("%s: %s is not in the document", tc.Name, tc.Old)
		}
		if err := schema.Validate(decoded(t, changed)); err == nil {
			t.Errorf("%s fits the schema", tc.Name)
		}
	}
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	return must.Have(c.Compile(schemaFile))(t)
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	return must.Have(jsonschema.UnmarshalJSON(strings.NewReader(text)))(t)
}
