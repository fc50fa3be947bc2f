package result

import (
	"strings"
	"testing"
)

// lagging is a load at a fixed rate of which only so many records a second are
// acknowledged while it is sent: the others are in the drain.
func lagging(seconds, offered, acked int) []event {
	events := steady(0, seconds+1, offered)
	for i, e := range events {
		w := e.window
		w.Acknowledged = int64(acked)
		if i == seconds {
			w.Acknowledged = int64(seconds * (offered - acked))
			w.Offered, w.FirstDue, w.LastDue, w.LastSent = 0, 0, 0, 0
		}
	}
	return events
}

func TestATargetIsNotKeptWhereItIsNotAcknowledged(t *testing.T) {
	for _, tc := range []struct {
		name           string
		seconds, acked int // of 6000 records/s
		want           Limit
		alone, merged  string
	}{
		{"all", 20, 6000, LimitNone, "the target of 6000 records/s was kept", "the target of 12000 records/s was kept"},
		{"less than a second of it waits", 20, 5710, LimitNone, "was kept", "was kept"},
		{
			"a second of it and more", 20, 5659, LimitBrokerAcks,
			"6000 records/s were offered and 5714/s acknowledged: 6820 records, 1.1 s of the load, waited when sending ended",
			"12000 records/s were offered and 11318/s acknowledged: 13640 records, 1.1 s of the load, waited when sending ended",
		},
		{"a second, and less than a hundredth of it", 200, 5969, LimitNone, "was kept", "was kept"},
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
