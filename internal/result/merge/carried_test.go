package merge

import (
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
)

// lagging is a load at a fixed rate of which only so many records a second are
// acknowledged while it is sent: the others are in the drain.
func lagging(seconds, offered, acked int) []canned.Event {
	events := steady(0, seconds+1, offered)
	for i, e := range events {
		w := e.Window
		w.Acknowledged = int64(acked)
		if i == seconds {
			w.Acknowledged = int64(seconds * (offered - acked))
			w.Offered, w.FirstDue, w.LastDue, w.LastSent = 0, 0, 0, 0
		}
	}
	return events
}

func TestWhatWaitsWhileSendingGoesOnIsSaidOfNow(t *testing.T) {
	f := result.NewFold(header(6000))
	var said []string
	for _, e := range lagging(20, 6000, 5000) {
		if e.Window.Offered == 0 {
			e.Window.ShardTime = 0
		}
		f.AddWindow(*e.Window)
		said = append(said, f.Verdict().Evidence)
	}
	const then = "s of the load, waited when sending ended"
	must.Has(t, "after 7 of 20 seconds", said[6], "1.2 s of the load, wait now")
	must.Has(t, "when sending has ended", said[20], then)
}

func TestATargetIsNotKeptWhereItIsNotAcknowledged(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name           string
		Seconds, Acked int // of 6000 records/s
		Want           verdict.Limit
		Alone, Merged  string
	}](t, "carried") {
		t.Run(tc.Name, func(t *testing.T) {
			part := func(host string) []byte {
				return partFile{
					run: "r", epoch: "e", host: host, process: 1, plan: header(6000).Plan,
					events: lagging(tc.Seconds, 6000, tc.Acked), trailer: trailerOf(float64(tc.Seconds) + 1),
				}.bytes(t)
			}
			one, r := replayed1(t, part("a")), merged(t, part("a"), part("b"))
			if one.BoundBy.Limit != tc.Want || !strings.Contains(one.BoundBy.Evidence, tc.Alone) {
				t.Errorf("alone bound by %+v, want %s, %q", one.BoundBy, tc.Want, tc.Alone)
			}
			if r.BoundBy.Limit != tc.Want && !strings.HasPrefix(string(r.BoundBy.Limit), string(tc.Want)) || !strings.Contains(r.BoundBy.Evidence, tc.Merged) {
				t.Errorf("merged bound by %+v, want %s, %q", r.BoundBy, tc.Want, tc.Merged)
			}
		})
	}
}
