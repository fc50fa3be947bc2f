package must

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Rows returns the rows of a test: what stands under its name in testdata/FILE.yaml. Each field there is one of V.
func Rows[V any](t testing.TB, file string) (rows V) {
	t.Helper()
	var all map[string]yaml.Node
	Do(t, yaml.Unmarshal(Have(os.ReadFile(filepath.Join("testdata", file+".yaml")))(t), &all))
	name, _, _ := strings.Cut(t.Name(), "/")
	if Set(t, all[name], &rows); reflect.ValueOf(rows).Len() == 0 {
		t.Fatalf("testdata/%s.yaml has no rows of %s", file, name)
	}
	return rows
}

// Set changes what a row says of a value.
func Set(t testing.TB, row yaml.Node, v any) {
	t.Helper()
	if row.IsZero() {
		return
	}
	d := yaml.NewDecoder(bytes.NewReader(Have(yaml.Marshal(&row))(t)))
	d.KnownFields(true)
	Do(t, d.Decode(v))
}
