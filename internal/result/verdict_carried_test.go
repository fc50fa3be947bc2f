package result

import (
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

func TestWithoutAcksAQueueIsTheConnections(t *testing.T) {
	h := header(100)
	h.Config = []Setting{{Name: "acks", Value: "0"}}
	f := NewFold(h)
	f.AddWindow(stats.Window{
		End: 10 * time.Second, Offered: 1000, Acknowledged: 800, LastDue: 10 * time.Second, LastSent: 10 * time.Second, LastAck: 10 * time.Second, ShardTime: 10 * time.Second,
	})
	if v := f.Verdict(); v.Limit != LimitSockets || !strings.Contains(v.Evidence, "80/s taken by the connections: 200 records, 2.0 s of the load, wait now") {
		t.Errorf("bound by %+v", v)
	}
}

func TestAQueueOfRecordsThatCameAtOnceHasALength(t *testing.T) {
	h := header(1)
	h.Plan.Load.Arrivals = plan.Poisson // of so few records any rate may be chance
	f := NewFold(h)
	f.AddWindow(stats.Window{End: 2 * time.Second, Offered: 3, Acknowledged: 1, LastAck: time.Second, ShardTime: 2 * time.Second})
	if v := f.Verdict(); v.Limit != LimitBrokerAcks || !strings.Contains(v.Evidence, "2 records, 2.0 s of the load") {
		t.Errorf("bound by %+v", v)
	}
}
