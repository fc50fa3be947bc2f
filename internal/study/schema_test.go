//go:build !race

package study

import (
	"encoding"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/kt-bench/kt/internal/must"
)

// documents are what kt study, kt find, kt compare and kt trial write as JSON.
var documents = []any{Document{}, CompareDocument{}, Forecast{}}

// The comments of the types are the descriptions, so programs and people read the same of a field.
func TestTheSchemaOfTheDocumentsIsUpToDate(t *testing.T) {
	const file = "../../docs/study.schema.json"
	schema := documentSchema(t)
	text := must.Have(json.MarshalIndent(schema, "", "  "))(t)
	text = append(text, '\n')
	if must.Update() {
		must.Do(t, os.WriteFile(file, text, 0o644))
	}
	old := must.Have(os.ReadFile(file))(t)
	must.Match(t, string(old), string(text), "%s (-there +types; accept with go test ./internal/study -update)", file)
}

func documentSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	r := &jsonschema.Reflector{Anonymous: true, Namer: schemaName, Mapper: func(goType reflect.Type) *jsonschema.Schema {
		if goType.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
			return &jsonschema.Schema{Type: "string"}
		}
		if goType == reflect.TypeFor[Share]() {
			return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "number"}, {Type: "null"}}}
		}
		return nil
	}}
	comments := make(map[string]string)
	for _, dir := range []string{"study", "result", "result/verdict"} {
		r.CommentMap = nil
		must.Do(t, r.AddGoComments(reflect.TypeFor[Document]().PkgPath(), "../"+dir, jsonschema.WithFullComment()))
		for name, text := range r.CommentMap {
			comments[name] = strings.ReplaceAll(text, "\n", " ")
		}
	}
	r.CommentMap, r.LookupComment = nil, func(goType reflect.Type, field string) string {
		name, _, _ := strings.Cut(goType.Name(), "[")
		return comments[strings.TrimSuffix(goType.PkgPath()+"."+name+"."+field, ".")]
	}
	schema := &jsonschema.Schema{Version: jsonschema.Version, Title: "What kt study, find, compare and trial write with --output json", Definitions: make(jsonschema.Definitions)}
	for _, d := range documents {
		one := r.Reflect(d)
		if whole := one.Definitions["Document"]; whole != nil { // a document has the section of its kind alone
			whole.Required = []string{"schema", "id", "study", "over"}
		}
		for name, s := range one.Definitions {
			schema.Definitions[name] = s
		}
		schema.AnyOf = append(schema.AnyOf, &jsonschema.Schema{Ref: one.Ref})
	}
	return schema
}

// schemaName is the name of a type without its package: latency_spread for Latency[study.Spread].
func schemaName(goType reflect.Type) string {
	name, of, generic := strings.Cut(strings.TrimSuffix(goType.Name(), "]"), "[")
	if !generic {
		return name
	}
	return name + "Of" + strings.ToUpper(of[strings.LastIndexByte(of, '.')+1:][:1]) + of[strings.LastIndexByte(of, '.')+2:]
}
