package cmd

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/profiles"
)

// named makes a study that kt has in its shortest form, and makes its document again from its
// files: named NAME FLAGS…
func named(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: named NAME flags…")
	}
	short := []string{"study", "run", args[0], "--run-time", "300ms", "--repeats", "1", "--rest", "0", "--output", "json", "--quiet"}
	ts.Check(ts.Exec("kt", append(short, args[1:]...)...))
	text := ts.ReadFile("stdout")
	var doc study.Document
	ts.Check(json.Unmarshal([]byte(text), &doc))
	if doc.Runs == 0 || doc.Runs != doc.Wanted {
		ts.Fatalf("%d of %d runs", doc.Runs, doc.Wanted)
	}
	ts.Check(ts.Exec("kt", "study", "report", "--output", "json"))
	if diff := cmp.Diff(text, ts.ReadFile("stdout")); diff != "" {
		ts.Fatalf("its files say something else (-live +files):\n%s", diff)
	}
}

func TestEveryNamedStudyIsRun(t *testing.T) {
	script, err := os.ReadFile("testdata/script/study_named.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range config.ProfileNames(profiles.Of("study")) {
		if !regexp.MustCompile(`(?m)^named ` + regexp.QuoteMeta(name) + `( |$)`).Match(script) {
			t.Errorf("testdata/script/study_named.txtar does not run %s", name)
		}
	}
}
