package report

import (
	"encoding/xml"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// limited is a run of ten seconds that kept some of its limits. A condition ended it.
func limited() result.Result {
	h := header(1000)
	h.Limits = []string{"p99<60ms", "rate>=50k", "errors==0", "p99<20ms over 2s for 95%", "throughput>0.1MiB/s", "lost==0", "p99<1s over 1m"}
	f := folded(h, 10, 0.4, func(w *stats.Window) {
		if w.Start == 0 {
			w.FirstDue = 0
		}
	})
	f.Finish(result.Trailer{Ended: result.Aborted, ElapsedSeconds: 10, SendingSeconds: 10, AbortedBy: "p99>50ms over 5s: 52.3ms at 10.0s"})
	return f.Result()
}

func TestJUnitCountsItsCases(t *testing.T) {
	r := limited()
	r.Limits[0].Expression = "a\x1b]<&\"' of a run file of another kt"
	text := written(t, JUnit, r, Options{})
	var got junitSuites
	if err := xml.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	failures := 0
	for _, c := range got.Suite.Cases {
		if c.Failure != nil {
			failures++
		}
	}
	if len(got.Suite.Cases) != 2+len(r.Limits) || got.Tests != len(got.Suite.Cases) || got.Failures != failures || got.Suite.Failures != failures {
		t.Errorf("%d tests and %d failures are said, and there are %d and %d", got.Tests, got.Failures, len(got.Suite.Cases), failures)
	}
}

func TestMarkdownIsOneTableRowALimit(t *testing.T) {
	r := limited()
	r.Limits[0].Expression = "a|b\n|c"
	must.Has(t, "an expression breaks the table", written(t, Markdown, r, Options{}), `| a\|b \|c |`)
}
