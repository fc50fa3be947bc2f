package result

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// header is that of a run at a rate; 0: unlimited.
func header(rate float64) (h Header) {
	text, err := os.ReadFile("testdata/header.json")
	if err == nil {
		err = json.Unmarshal(text, &h)
	}
	if err != nil {
		panic(err) // the file is a part of the tests
	}
	h.Plan = canned.Plan(rate)
	return h
}

// readHeader is header of a run that reads.
func readHeader(command plan.Command, rate float64) Header {
	h := header(rate)
	h.Plan = canned.ReadPlan(command, rate)
	h.ConsumerConfig = []Setting{{Name: "client.id", Value: "kt"}}
	if command == plan.Consume {
		h.Config = nil
	}
	return h
}

func marshal(t testing.TB, v any) string {
	t.Helper()
	return string(must.Have(json.MarshalIndent(v, "", " "))(t))
}

// runFile returns the run file of some events.
func runFile(t testing.TB, h Header, events []canned.Event, end Trailer) []byte {
	t.Helper()
	var m canned.File
	f := must.Have(NewRunFile(&m, h))(t)
	for _, e := range events {
		e.To(f)
	}
	must.Do(t, f.Close(end))
	return m.Bytes()
}

// page is the text of pages of the documents with its lines joined.
func page(t *testing.T, names ...string) string {
	t.Helper()
	var words []string
	for _, name := range names {
		text := must.Have(os.ReadFile("../../" + name))(t)
		words = append(words, strings.Fields(string(text))...)
	}
	return strings.Join(words, " ")
}

func TestThePageQuotesTheThresholdsOfTheDocument(t *testing.T) {
	text := page(t, "docs/result.md", "docs/limits.md")
	percent := func(share float64) string { return fmt.Sprintf("%.4g %%", 100*share) }
	must.Has(t, "the pages", text,
		fmt.Sprintf("If %s of the records read had been there when reading began", percent(replayed)),
		fmt.Sprintf("the slope is at most %s of the records written a second, or when no more records wait than they read in %.0f s", percent(lagGrows), lagShows.Seconds()),
		fmt.Sprintf("at least %s of the median rate of the up to %.0f s before, if the median of the %.0f s from then on", percent(recovered), normalTime.Seconds(), stayTime.Seconds()),
		fmt.Sprintf("no second from then on was below %s of the median before", percent(recovered)),
		fmt.Sprintf("none of them is below %s of that", percent(collapsed)),
		fmt.Sprintf("the first and the last ones of each kind, %d at most", stats.MostOfKind),
		fmt.Sprintf("at most %d,%03d points", maxPoints/1000, maxPoints%1000),
		fmt.Sprintf("from 1 to %s at 3 significant digits", grouped(stats.HighestTrackableValue.Microseconds())),
		fmt.Sprintf("at least %d s were measured", inference.Shortest),
		fmt.Sprintf("there was consumer lag of more than they read in %.0f s", lagShows.Seconds()),
	)
}

// grouped is a number over a million in groups of three.
func grouped(n int64) string {
	return fmt.Sprintf("%d,%03d,%03d,%03d", n/1e9, n/1e6%1e3, n/1e3%1e3, n%1e3)
}

// The pages have the codes and their meanings as `kt help exit-codes` has them.
func TestThePagesQuoteTheExitCodes(t *testing.T) {
	help := string(must.Have(os.ReadFile("../../cmd/help/exit-codes.txt"))(t))
	var want [][2]string
	code := ""
	for _, m := range regexp.MustCompile(`(?m)^([ \d]{5})  (\S.*)$`).FindAllStringSubmatch(help, -1) {
		code = cmp.Or(strings.TrimSpace(m[1]), code)
		want = append(want, [2]string{code, m[2]})
	}
	must.Hold(t, len(want) >= 5, "cmd/help/exit-codes.txt has only the codes %q", want)
	for _, name := range []string{"docs/result.md", "ARCHITECTURE.md"} {
		var got [][2]string
		_, section, _ := strings.Cut(page(t, name), "## Exit codes")
		section, _, _ = strings.Cut(section, "## ")
		for _, m := range regexp.MustCompile(`\| (\d+) \| ([^|]+) \|`).FindAllStringSubmatch(section, -1) {
			got = append(got, [2]string{m[1], m[2]})
		}
		must.Match(t, want, got, "exit codes of %s", name)
	}
}

func TestThePageNamesEveryPartOfTheDocument(t *testing.T) {
	f := NewFold(readHeader(plan.Roundtrip, 100))
	for _, e := range canned.Read(3, 12) {
		e.To(f)
	}
	f.Finish(Trailer{Ended: Completed, ReadEnd: ReadAll, Verify: &ledger.Verdict{}})
	text := page(t, "docs/result.md")
	for _, m := range regexp.MustCompile(`(?m)^ "([a-z_]+)": [\[{]`).FindAllStringSubmatch(marshal(t, f.Result()), -1) {
		if m[1] != "command_line" && !strings.Contains(text, "`"+m[1]+"`") {
			t.Errorf("docs/result.md does not tell what %s is", m[1])
		}
	}
	for _, kind := range []string{"header", "window", "sample", "trailer"} {
		must.Has(t, "docs/result.md", text, "| `"+kind+"` |")
	}
}

// The schema lists the limits and the kinds of events; the constants are read from
// where they are.
func TestThePageAndTheSchemaNameEveryLimitAndKindOfEvent(t *testing.T) {
	schema := must.Have(os.ReadFile("../../docs/result.schema.json"))(t)
	text := page(t, "docs/result.md", "docs/limits.md")
	for path, typeName := range map[string]string{"verdict/verdict.go": "Limit", "../stats/event.go": "EventKind"} {
		names := constants(t, path, typeName)
		must.Hold(t, len(names) >= 10, "%s has only the constants %q of type %s", path, names, typeName)
		for _, name := range names {
			must.Has(t, name, string(schema), "\""+name+"\"")
			must.Has(t, name, text, "`"+name+"`")
		}
	}
}

// constants are the values of a type's string constants in a file.
func constants(t *testing.T, path, typeName string) []string {
	t.Helper()
	syntax := must.Have(parser.ParseFile(token.NewFileSet(), path, nil, 0))(t)
	var values []string
	ast.Inspect(syntax, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if of, ok := spec.Type.(*ast.Ident); ok && of.Name == typeName {
			values = append(values, strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`))
		}
		return false
	})
	return values
}
