package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

func TestAnOffsetIsWithinItsBoundWhateverTheWayThereAndBackTakes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	zero := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for range 10_000 {
		off := time.Duration(r.Int64N(int64(20*time.Second))) - 10*time.Second
		there, work, home := time.Duration(r.Int64N(int64(time.Second))), time.Duration(r.Int64N(int64(time.Second))), time.Duration(r.Int64N(int64(time.Second)))
		received := zero.Add(there)
		c := compare(zero, received.Add(off), received.Add(work+off), received.Add(work+home))
		if c.rtt != there+home {
			t.Fatalf("the round trip is %v, want %v", c.rtt, there+home)
		}
		if wrong := (c.offset - off).Abs(); wrong > c.bound() {
			t.Fatalf("the offset is wrong by %v, and the bound is %v", wrong, c.bound())
		}
	}
}

func TestTheBestPingIsTheOneWithTheShortestRoundTrip(t *testing.T) {
	now := time.Now()
	slow, fast := clock{offset: 1, rtt: 5, taken: now}, clock{offset: 2, rtt: 3, taken: now}
	for name, got := range map[string]clock{
		"the second": better(slow, fast), "the first": better(fast, slow), "none yet": better(clock{}, fast), "no other": better(fast, clock{}),
	} {
		if got != fast {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestADriftIsToldOnlyWhenItIsCertain(t *testing.T) {
	now := time.Now()
	for _, tc := range []struct {
		name          string
		before, after clock
		want          time.Duration
	}{
		{"never compared", clock{}, clock{}, 0},
		{"the same", clock{offset: 5, rtt: 2, taken: now}, clock{offset: 5, rtt: 2, taken: now}, 0},
		{"within the bounds", clock{offset: 5, rtt: 4, taken: now}, clock{offset: 9, rtt: 4, taken: now}, 0},
		{"beyond the bounds", clock{offset: 5, rtt: 4, taken: now}, clock{offset: 10, rtt: 4, taken: now}, 5},
		{"backwards", clock{offset: 5, rtt: 4, taken: now}, clock{offset: 0, rtt: 4, taken: now}, -5},
	} {
		c := clocks{agreed: tc.before}
		must.Match(t, tc.want, c.moved(tc.after), "%s", tc.name)
	}
}

func TestTheOffersAddUpToThePlan(t *testing.T) {
	w := &world{t: t, hosts: map[string]*testHost{}}
	for hosts := 1; hosts <= 5; hosts++ {
		for processes := 1; processes <= 4; processes++ {
			o := w.order(nil)
			o.Processes, o.Plan.Producers = processes, 23
			o.Plan.Load.Records, o.Plan.Load.Duration = 100_003, 0
			for h := hosts; h > 0; h-- {
				o.Load = append(o.Load, Peer{Info: Info{Name: fmt.Sprintf("h%d", h)}})
			}
			o.Watch = []Peer{{Info: Info{Name: "broker"}}}
			remotes := must.Have(o.remotes(nil))(t)
			producers, records, makers := 0, int64(0), 0
			var names []string
			for _, l := range remotes {
				names = append(names, l.offer.Part.Host)
				if err := (&Limits{}).allow(&l.offer); err != nil {
					t.Errorf("%d × %d: %s would refuse: %v", hosts, processes, l.peer.Name, err)
				}
				for i, j := range l.offer.jobs() {
					producers += j.Plan.Producers
					for p := range j.Plan.Producers {
						pacer := j.Plan.Pacer(p)
						for _, ok := pacer.Next(); ok; _, ok = pacer.Next() {
							records++
						}
					}
					if j.CreateTopic {
						makers++
					}
					if j.Part.Process != i+1 || j.Part.Host != l.peer.Name || len(j.Part.Roster) != hosts+1 {
						t.Errorf("%d × %d: part %+v", hosts, processes, j.Part)
					}
				}
			}
			if producers != 23 || records != 100_003 || makers != 1 {
				t.Errorf("%d × %d: %d producers, %d records, %d make the topic", hosts, processes, producers, records, makers)
			}
			if !slices.IsSorted(names[:hosts]) || names[hosts] != "broker" {
				t.Errorf("the hosts are %q", names)
			}
		}
	}
}
