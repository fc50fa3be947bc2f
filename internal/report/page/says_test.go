package page

import (
	"io"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
)

const late = "kt sent 4 % of the records late"

// broken makes a run not valid, with tags, and with limits of which one is not held.
func broken(r *result.Result) {
	value := 3000.0
	r.Valid, r.Invalid, r.Tags = false, []string{late}, []string{"nightly"}
	r.BoundBy = verdict.Verdict{Limit: verdict.Schedule, Evidence: late + "; kt used 1 of 2 cores"}
	r.Limits = []result.Limit{{Expression: "p99<1ms", Value: &value, Unit: "us"}, {Expression: "errors==0", Held: true}}
}

// A page of one run and one of several say what a run has, and say it once.
func TestWhatAPageSaysOfARun(t *testing.T) {
	for name, tc := range map[string]struct {
		change       func(*result.Result)
		one, several map[string]int // how often each text is there
	}{
		"not valid": {
			broken, map[string]int{"✕ 1 of 2 limits not held": 1, late: 1, "\nkt used 1 of 2 cores\n": 1, "#nightly": 1}, map[string]int{"1 of 2 limits not held": 1},
		},
		"idle partitions": {
			func(r *result.Result) {
				r.Partitions = []result.PartitionRow{{ID: 0, Records: 200}, {ID: 1, Records: 100}}
			}, map[string]int{"6 partitions; skew 4.00 ": 1}, nil,
		},
		"too short for a rate": {
			func(r *result.Result) {
				r.Throughput.Seconds, r.Throughput.RecordsPerSecond, r.TargetReached = 0.9, 777, nil
				figures := result.Figures{RecordsPerSecond: 777, MiBPerSecond: 777}
				r.Hosts = []result.HostRow{{Host: "vm14", Processes: 1, Figures: figures}}
				r.Processes = []result.ProcessRow{{Host: "vm14", Process: 1, Counted: true, Figures: figures}}
			}, map[string]int{"777": 0}, map[string]int{"777": 0},
		},
		"errors": {
			func(r *result.Result) {
				r.Records.Failed, r.Records.Unknown, r.Records.Unsent, r.Verify = 3, 2, 1, &ledger.Verdict{Lost: 10}
			}, map[string]int{"errors 6 3 failed 2 unknown 1 never sent 10 lost ": 1}, map[string]int{"never sent 6\nlost 10\n": 1},
		},
		"events that are not listed": {
			func(r *result.Result) { r.EventsLeftOut = result.Errors{"first_error": 300, "rebalance": 7} },
			map[string]int{"307 more: 300 first error, 7 rebalance": 1},
			nil,
		},
	} {
		r := runs()["produce"]
		tc.change(&r)
		for text, want := range map[string]map[string]int{
			textOf(written(t, func(w io.Writer) error { return Run(w, r, report.Options{}) })):                   tc.one,
			textOf(written(t, func(w io.Writer) error { return Several(w, []result.Result{r}, []string{"a"}) })): tc.several,
		} {
			for part, n := range want {
				must.Match(t, n, strings.Count(text, part), "%s: %q is there times:\n%s", name, part, text)
			}
		}
	}
}

func TestLabelsOfPartsOfACoreAreExact(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.025: "0.025", 0.05: "0.05", 0.075: "0.075", 1: "1", 2.5: "2.5"} {
		must.Match(t, want, coresUnit.Tick(v), "%g is written", v)
	}
}

func TestALineOfACommandBreaksBetweenItsWords(t *testing.T) {
	got := words(`kt produce --limit 'p99<1s over  2s'`)
	want := `<span>kt</span> <span>produce</span> <span>--limit</span> <span>&#39;p99&lt;1s</span> <span>over</span>  <span>2s&#39;</span>`
	must.Match(t, want, string(got), "got %s", got)
}
