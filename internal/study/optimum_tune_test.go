package study

import (
	"slices"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result/metric"
)

// hostSearch is a search over what kt tune proposes on a made-up host: four settings of memory, two of the network and one of disks.
// gain is how much faster a run is with some of them, more are further ones. It returns the document of the end, and the runs of each phase.
func hostSearch(t *testing.T, gain func(has map[string]bool) float64, more ...string) (*Document, map[Phase]int) {
	t.Helper()
	found := []HostFinding{{ID: "a.fine", Group: "cpu", State: Fine}, {ID: "b.boot", Group: "cpu", State: ByHand}, {ID: "c.boot", Group: "cpu", State: ByHand}}
	for _, id := range append([]string{"memory.1", "memory.2", "memory.3", "memory.4", "net.1", "net.2", "disk.1"}, more...) {
		found = append(found, HostFinding{ID: id, Group: id[:3], About: id, State: Proposed})
	}
	o := Optimum{By: metric.Rate, Delta: 0.03}
	factors := must.Have(o.OverTune(found, nil, func(string) string { return "" }))(t)
	s := must.Have(NewOptimum(Load{Command: "produce"}, factors, o))(t)
	d := &Document{Study: s, state: &state{done: make(map[int]bool), leftOut: make(map[int]string)}, folder: &Folder{Study: s, read: make(map[int][]LoadFigures)}}
	phases := make(map[Phase]int)
	for {
		more := must.Have(s.policy().next(d))(t)
		if len(more) == 0 {
			d.Over = true
			must.Do(t, s.policy().conclude(d))
			_, most := s.Optimum.runs(s)
			must.True(t, len(d.turns) <= most, "%d runs are made, at most %d were said", len(d.turns), most)
			return d, phases
		}
		for _, turn := range more {
			has := make(map[string]bool)
			for _, f := range turn.Cell.At {
				has[f.Name[len(tunePrefix):]] = f.Value != Default
			}
			turn.Number = len(d.turns) + 1
			if phases[turn.Phase]++; turn.Phase == Screen || turn.Phase == Seek {
				must.True(t, has["memory.1"] == has["memory.4"] && has["net.1"] == has["net.2"], "a group is torn apart: %v", has)
			}
			noise := 1 + 0.004*float64(turn.Number*7%11-5)/5
			d.turns = append(d.turns, turn)
			d.state.done[turn.Number] = true
			d.folder.read[turn.Number] = []LoadFigures{{Valid: true, Measures: Measures[float64]{metric.Rate: 1000 * noise * gain(has), metric.P99: 9}}}
		}
	}
}

// Groups are tried together, and of one that brings something each setting is taken back alone.
func TestSettingsOfHostsAreTriedInGroupsAndToldApart(t *testing.T) {
	third := func(has map[string]bool) float64 { return map[bool]float64{true: 1.2, false: 1}[has["memory.3"]] }
	d, phases := hostSearch(t, third)
	got := d.Optimum.Tune
	must.Match(t, []string{"memory.3"}, got.Did, "did something")
	nothing := slices.Sorted(slices.Values(got.Nothing))
	must.Match(t, []string{"disk.1", "memory.1", "memory.2", "memory.4", "net.1", "net.2"}, nothing, "did nothing: %+v", got)
	must.Match(t, map[HostState]int{Fine: 1, ByHand: 2}, got.NotTried, "were not tried")
	must.Match(t, []Flag{{"tune.memory.3", "proposed"}}, d.Optimum.Best.Changes, "the best")
	must.Match(t, 6*5, phases[Apart], "runs with one of memory taken back, and with none")
	must.True(t, d.Optimum.Best.Better, "it is not proven")
	must.Match(t, "of the 10 settings that kt tune knows for these hosts, 7 were tried: memory.3 did something for this load, and memory.1, memory.2, memory.4, net.1, net.2 and disk.1 showed nothing; "+
		"sudo kt tune --apply --only memory.3 makes it last; 1 is fine; 2 are to be changed by hand or at the next boot", got.Sentence, "it says")

	d, phases = hostSearch(t, third, strings.Fields("swap.1 swap.2 swap.3 swap.4 swap.5 swap.6 swap.7 swap.8")...)
	must.Match(t, []string{"memory.3"}, d.Optimum.Tune.Did, "of many settings it takes more runs to show that one did something")
	must.Match(t, 7*5, phases[Apart], "so many")

	d, phases = hostSearch(t, func(map[string]bool) float64 { return 1 })
	must.True(t, len(d.Optimum.Tune.Did) == 0 && phases[Apart] == 0, "where nothing does anything: %+v, %v", d.Optimum.Tune, phases)
}

func TestAHostOnWhichNothingCanBeTriedIsRefused(t *testing.T) {
	_, err := new(Optimum).OverTune([]HostFinding{{ID: "a.fine", State: Fine}}, nil, func(string) string { return "" })
	must.Err(t, "proposes nothing here that takes effect at once", err, "nothing is proposed")
}
