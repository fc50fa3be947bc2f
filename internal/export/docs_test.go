package export

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/plan"
)

var update = flag.Bool("update", false, "write the list of metrics into docs/metrics.md")

func TestTheDocumentListsTheMetrics(t *testing.T) {
	const page, begin, end = "../../docs/metrics.md", "<!-- metrics: written by go test ./internal/export -update -->\n", "<!-- /metrics -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), begin)
	got, after, found := strings.Cut(rest, end)
	if !found {
		t.Fatalf("%s has no place for the list", page)
	}
	want := "\n" + table() + "\n"
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got; accept with -update):\n%s", page, diff)
	}
}

// table returns the list of all metrics.
func table() string {
	var b strings.Builder
	b.WriteString("| metric | kind | labels | of runs that | what it is |\n|---|---|---|---|---|\n")
	for _, m := range metrics() {
		var labels []string
		for _, l := range m.labels {
			labels = append(labels, "`"+l+"`")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", m.name, m.kind, strings.Join(labels, ", "), runsOf(&m), m.help)
	}
	return b.String()
}

// runsOf says which runs have a metric.
func runsOf(m *family) string {
	if m.of == nil {
		return ""
	}
	for _, one := range []struct {
		name string
		p    plan.Plan
	}{
		{"write", plan.Plan{Producers: 1, Load: plan.Load{Rate: plan.Unlimited}}},
		{"write at a rate", plan.Plan{Producers: 1, Load: plan.Load{Rate: plan.Rate{PerSecond: 1}}}},
		{"read", plan.Plan{Read: plan.Read{Consumers: 1}}},
		{"write in transactions", plan.Plan{Load: plan.Load{Transaction: 1}}},
	} {
		if m.of(&one.p) {
			return one.name
		}
	}
	return "?"
}
