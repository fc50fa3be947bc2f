package page

import (
	"io"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
)

// broken is a run that is not valid, with tags, and with limits of which one is not held.
func broken() result.Result {
	r := runs()["produce"]
	value := 3000.0
	r.Valid, r.Invalid, r.Tags = false, []string{"kt sent 4 % of the records late"}, []string{"nightly"}
	r.BoundBy = verdict.Verdict{Limit: verdict.Schedule, Evidence: "kt sent 4 % of the records late; kt used 1 of 2 cores"}
	r.Limits = []result.Limit{{Expression: "p99<1ms", Value: &value, Unit: "us"}, {Expression: "errors==0", Held: true}}
	return r
}

func TestTheHeadSaysWhetherTheLimitsAreHeld(t *testing.T) {
	const notHeld = `<span class="badge bad">✕ 1 of 2 limits not held</span>`
	r := broken()
	one := written(t, func(w io.Writer) error { return Run(w, r, report.Options{}) })
	several := written(t, func(w io.Writer) error { return Several(w, []result.Result{r, runs()["produce"]}, []string{"a", "b"}) })
	for name, page := range map[string]string{"one run": one, "several": several} {
		if strings.Count(page, notHeld) != 1 {
			t.Errorf("the page of %s lacks %s", name, notHeld)
		}
	}
}

func TestTheHeadSaysNothingTwice(t *testing.T) {
	text := textOf(pageOf(t, broken()))
	if strings.Count(text, "kt sent 4 % of the records late") != 1 || !strings.Contains(text, "\nkt used 1 of 2 cores\n") || strings.Count(text, "#nightly") != 1 {
		t.Error(text)
	}
}

func TestLabelsOfPartsOfACoreAreExact(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.025: "0.025", 0.05: "0.05", 0.075: "0.075", 1: "1", 2.5: "2.5"} {
		if got := Cores.tick(v); got != want {
			t.Errorf("%g is written %s", v, got)
		}
	}
}

func TestAPageCountsEventsThatAreNotListed(t *testing.T) {
	r := runs()["produce"]
	r.EventsLeftOut = result.Errors{"first_error": 300, "rebalance": 7}
	if text := textOf(pageOf(t, r)); !strings.Contains(text, "307 more: 300 first error, 7 rebalance, which are only counted") {
		t.Error(text)
	}
}
