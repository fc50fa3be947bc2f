package page

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
)

// beside is the result of three processes that made different loads.
func beside(t *testing.T) result.Result {
	t.Helper()
	set := merge.NewSet()
	for i, topic := range []string{"orders", "orders", "payments"} {
		p := canned.Plan(100)
		if i == 1 {
			p = canned.ReadPlan(plan.Consume, 0)
		}
		h := header(p)
		h.RunID, h.Part = topic, &result.Part{Run: "nightly", Host: fmt.Sprintf("vm1%d", i), Process: 1}
		h.RunID += h.Part.Host
		h.Environment.Topic.Name = topic
		var m canned.File
		f, err := result.NewRunFile(&m, h)
		must.Do(t, err)
		f.Begin(result.Start{At: h.StartedAt})
		for _, e := range canned.Read(uint64(i), 5) {
			e.To(f)
		}
		must.Do(t, f.Close(result.Trailer{Ended: result.Completed, ElapsedSeconds: 5, SendingSeconds: 5}))
		must.Do(t, set.Add(topic, bytes.NewReader(m.Bytes()), int64(m.Len())))
	}
	r, err := set.Result(t.Context())
	must.Do(t, err)
	return r
}

func TestThePageOfDifferentLoadsHasARowEachAndNoFiguresOfTheWhole(t *testing.T) {
	r := beside(t)
	page := pageOf(t, r)
	isGolden(t, "beside", page)
	got, err := merge.Read(strings.NewReader(page), int64(len(page)))
	must.Do(t, err)
	if got.NotAddedUp != r.NotAddedUp || len(got.Processes) != 3 || pageOf(t, got) != page {
		t.Errorf("read back it is %q with %d processes", got.NotAddedUp, len(got.Processes))
	}
	var text bytes.Buffer
	if err := report.Text(&text, got, report.Options{}); err != nil || !strings.Contains(text.String(), "payments") {
		t.Errorf("as text it is %v\n%s", err, text.String())
	}
}
