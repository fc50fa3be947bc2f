// Package must ends a test at the first step that cannot be made: what comes after it means nothing then.
//
//	file := must.Have(os.Open(path))(t)
//	must.Do(t, file.Close())
//	must.Match(t, want, got, "the plan of %q", path)
package must

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// Do ends the test at an error.
func Do(t testing.TB, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

// Have returns a value, or ends the test at the error that came with it.
func Have[V any](v V, err error) func(testing.TB) V {
	return func(t testing.TB) V {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
		return v
	}
}

// Both is Have of two values.
func Both[V, W any](v V, w W, err error) func(testing.TB) (V, W) {
	return func(t testing.TB) (V, W) {
		t.Helper()
		Do(t, err)
		return v, w
	}
}

// Fail returns the error of a call that must fail.
func Fail[V any](_ V, err error) error { return err }

// Match shows where two values differ, and lets the test go on.
func Match[V any](t testing.TB, want, got V, what string, args ...any) {
	if diff := cmp.Diff(want, got); diff != "" {
		t.Helper()
		t.Errorf(what+" (-want +got):\n%s", append(args, diff)...)
	}
}

// Has shows which parts a text lacks, and lets the test go on.
func Has(t testing.TB, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: %q is not in:\n%s", what, part, text)
		}
	}
}

// Err shows an error that does not have the text that is wanted, and lets the test go on. Where no text is wanted, there is to be no error.
func Err(t testing.TB, want string, err error, what string, args ...any) {
	t.Helper()
	if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %q", fmt.Sprintf(what, args...), err, want)
	}
}

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
	if row.Alias != nil {
		row = *row.Alias
	}
	d := yaml.NewDecoder(bytes.NewReader(Have(yaml.Marshal(&row))(t)))
	d.KnownFields(true)
	Do(t, d.Decode(v))
}

var update = flag.Bool("update", false, "write anew the files that tests compare with")

// Update reports whether files that tests compare with are to be written anew.
func Update() bool { return *update }

// Golden shows where a text differs from a file, which go test -update writes.
func Golden(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		Do(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	Hold(t, err == nil, "%v; go test -update writes it", err)
	Match(t, strings.Split(string(want), "\n"), strings.Split(got, "\n"), "%s; go test -update writes it anew", path)
}

// True shows that something does not hold, and lets the test go on. Only then is it a
// helper: a test calls it for each of many thousand values.
func True(t testing.TB, holds bool, what string, args ...any) {
	if !holds {
		t.Helper()
		t.Errorf(what, args...)
	}
}

// Hold is True that ends the test.
func Hold(t testing.TB, holds bool, what string, args ...any) {
	if !holds {
		t.Helper()
		t.Fatalf(what, args...)
	}
}
