package merge

import (
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/result"
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
	if sending := said[6]; !strings.Contains(sending, "1.2 s of the load, wait now") {
		t.Errorf("after 7 of 20 seconds: %q", sending)
	}
	if ended := said[20]; !strings.Contains(ended, then) {
		t.Errorf("when sending has ended: %q, want %q", ended, then)
	}
}
