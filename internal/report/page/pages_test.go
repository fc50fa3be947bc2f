package page

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
)

func written(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, write(&b))
	return b.String()
}

func TestThePageOfSeveralRunsReadsAsTheGoldenFileShows(t *testing.T) {
	of := runs()
	page := written(t, func(w io.Writer) error {
		return Several(w, []result.Result{of["produce"], of["roundtrip"], of["consume"]}, []string{"a.ktr", "b.ktr", "c.ktr"})
	})
	isGolden(t, "of-several", page)
	isSound(t, page, `<text class="label run0"`, `<text class="label run2"`, `class="line run1" stroke-dasharray="7 3"`, `"label":"C"`)
}

func TestRunsOfOtherStepsAreShownOverTheSameTime(t *testing.T) {
	long := runs()["produce"]
	short := long
	short.Series = nil
	for i := range 4 { // four steps of half a second, and a hole of one
		start := 0.5 * float64(i)
		if i > 1 {
			start++
		}
		short.Series = append(short.Series, result.Point{StartSeconds: start, Seconds: 0.5, Acknowledged: int64(10 * (i + 1)), P99: result.Micros(1000 * (i + 1))})
	}
	times := severalPage{newRunPage(long), newRunPage(short)}.charts()[0].(*doc.Chart).X
	rates, p99 := newRunPage(short).along(times, 1)
	for i, want := range []struct{ rate, p99 float64 }{{30, 0.002}, {0, 0}, {70, 0.004}} {
		if want.rate == 0 {
			if rates[i] == rates[i] || p99[i] == p99[i] {
				t.Errorf("second %d: %v and %v, want a hole", i, rates[i], p99[i])
			}
		} else if rates[i] != want.rate || p99[i] != want.p99 {
			t.Errorf("second %d: %v and %v, want %+v", i, rates[i], p99[i], want)
		}
	}
	if len(times) < 40 || rates[30] == rates[30] {
		t.Errorf("%d steps, the last of the short run is not its end", len(times))
	}
}

func TestNothingOfSeveralRunsIsMarkup(t *testing.T) {
	const bad = `<img src=x onerror=alert(1)>`
	r := runs()["produce"]
	r.Plan.Topic.Name, r.BoundBy.Evidence, r.Args = bad, bad, []string{bad}
	of, files := slices.Repeat([]result.Result{r}, MaxRuns), slices.Repeat([]string{bad}, MaxRuns)
	if page := written(t, func(w io.Writer) error { return Several(w, of, files) }); strings.Contains(page, "<img") {
		t.Error("text became markup")
	}
}
