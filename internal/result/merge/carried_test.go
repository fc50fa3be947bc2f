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
	for _, tc := range []struct {
		name           string
		seconds, acked int // of 6000 records/s
		want           verdict.Limit
		alone, merged  string
	}{
		{"all", 20, 6000, verdict.None, "the target of 6,000 records/s was kept", "the target of 12,000 records/s was kept"},
		{"less than a second of it waits", 20, 5710, verdict.None, "was kept", "was kept"},
		{
			"a second of it and more", 20, 5659, verdict.BrokerAcks,
			"6,820 records, 1.1 s of the load",
			"13,640 records, 1.1 s of the load",
		},
		{"a second, and less than a hundredth of it", 200, 5969, verdict.None, "was kept", "was kept"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			part := func(host string) []byte {
				return partFile{
					run: "r", epoch: "e", host: host, process: 1, plan: header(6000).Plan,
					events: lagging(tc.seconds, 6000, tc.acked), trailer: trailerOf(float64(tc.seconds) + 1),
				}.bytes(t)
			}
			one, r := replayed1(t, part("a")), merged(t, part("a"), part("b"))
			if one.BoundBy.Limit != tc.want || !strings.Contains(one.BoundBy.Evidence, tc.alone) {
				t.Errorf("alone bound by %+v, want %s, %q", one.BoundBy, tc.want, tc.alone)
			}
			if r.BoundBy.Limit != tc.want && !strings.HasPrefix(string(r.BoundBy.Limit), string(tc.want)) || !strings.Contains(r.BoundBy.Evidence, tc.merged) {
				t.Errorf("merged bound by %+v, want %s, %q", r.BoundBy, tc.want, tc.merged)
			}
		})
	}
}
