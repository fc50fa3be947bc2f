package workload

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/stats"
)

// A load that is over holds up no second, and a late one none twice.
func TestLoadsAreShownAsOneRunWithARowEach(t *testing.T) { synctest.Test(t, testLoadsAreShown) }

func testLoadsAreShown(t *testing.T) {
	var seen []run.Second
	show := []run.Observer{observer(func(s run.Second) { seen = append(seen, s) })}
	j := new(Joined)
	header := func(name string) result.Header {
		return result.Header{Plan: canned.Plan(100), Part: &result.Part{Load: name}, Environment: result.Environment{Topic: result.Topic{Name: name, Partitions: 1}}}
	}
	all := j.Open("shop", []result.Header{header("a"), header("b")}, show)
	must.True(t, all.Plan.Topic.Name == "shop" && all.Plan.Load.Rate.PerSecond == 200, "the header is of %s at %v", all.Plan.Topic.Name, all.Plan.Load.Rate)
	second := func(n int, records int64, stage result.Stage) run.Second {
		w := stats.Window{Start: time.Duration(n) * time.Second, End: time.Duration(n+1) * time.Second, Offered: records, Acknowledged: records}
		w.Partitions, w.Events = map[int32]stats.Partition{0: {Records: records}}, []stats.Event{{Kind: stats.BrokerGone, Text: "broker 1 is gone"}}
		s := run.Second{Windows: []stats.Window{w}}
		s.Snapshot.Stage = stage
		return s
	}
	of := func(load int) run.Observer {
		return observer(func(s run.Second) { j.Of(load).Observe(s); synctest.Wait() }) // else several seconds are shown as one
	}
	a, b := of(0), of(1)
	a.Observe(second(0, 10, result.Running))
	b.Observe(second(0, 1, result.Running))
	a.Observe(second(1, 20, result.Running)) // b is late
	a.Observe(second(2, 30, result.Running))
	b.Observe(second(1, 2, result.Running))
	b.Observe(second(3, 4, result.Running))
	b.Observe(second(3, 5, result.Finished)) // what comes after the end goes with the same second of a
	a.Observe(second(3, 40, result.Finished))
	j.Close(t.Context())
	var records int64
	for i := range seen {
		for _, w := range seen[i].Windows {
			records += w.Acknowledged
		}
	}
	last := seen[len(seen)-1]
	must.Match(t, 4, len(seen), "seconds")
	must.Match(t, 112, records, "records of all seconds")
	must.Match(t, 112, last.Snapshot.All.Acknowledged, "records of the last snapshot")
	must.True(t, last.Snapshot.Stage == result.Finished, "the last stage is %v", last.Snapshot.Stage)
	must.True(t, len(last.Hosts) == 2 && last.Hosts[0].Name == "a" && last.Hosts[1].State == "done", "rows: %+v", last.Hosts)
	must.Has(t, "an event", last.Snapshot.Events[0].Text, "a: broker 1 is gone")

	j = new(Joined) // on other hosts there are states before there are figures
	j.Open("shop", []result.Header{header("a"), header("b")}, show)
	for i := range 2 {
		j.Of(i).Observe(run.Second{StartsIn: time.Second, Snapshot: result.Snapshot{Live: result.Live{Stage: result.Preparing}}})
	}
	j.Close(t.Context())
	last = seen[len(seen)-1]
	must.True(t, last.StartsIn == time.Second && last.Hosts[1].State == "preparing" && last.Snapshot.Stage == result.Preparing, "before the start: %v, %v", last.StartsIn, last.Snapshot.Stage)
}
