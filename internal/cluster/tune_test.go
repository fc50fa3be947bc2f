package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/study"
)

func TestSettingsAreChangedWhereTheAgentMayAndNowhereElse(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		var got []study.HostOrder
		refusal := errors.New("the value is too large")
		w.add("a", RoleBroker)
		w.add("b", RoleBroker, func(o *AgentOptions) {
			o.Tune = func(_ context.Context, order *study.HostOrder) error {
				if got = append(got, *order); order.Do == study.CheckHost {
					return refusal
				}
				return nil
			}
		})
		peers := w.peers("a", "b")
		order := study.HostOrder{Do: study.SetHost, Study: "s1", Set: []study.Flag{{Name: "sysctl.vm.swappiness", Value: "1"}}}
		if err := w.client().Tune(t.Context(), peers[0], order); err == nil || !strings.Contains(err.Error(), "a: ") || !strings.Contains(err.Error(), "--allow-tune") || strings.Contains(err.Error(), "--rollback") {
			t.Errorf("an agent that may not change settings says %v", err)
		}
		if err := w.client().Tune(t.Context(), peers[1], order); err != nil {
			t.Error(err)
		}
		check := study.HostOrder{Do: study.CheckHost, Study: "s1"}
		must.Err(t, refusal.Error(), w.client().Tune(t.Context(), peers[1], check), "a refusal")
		must.Match(t, []study.HostOrder{order, check}, got, "the host got")
	})
}

func TestRefusedSettingsFillNoLog(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		a := w.add("a", RoleBroker)
		var noted []string
		a.agent.note = func(_, text string) { noted = append(noted, text) }
		order := study.HostOrder{Do: study.SetHost, Study: "s1"}
		for range 30 {
			order.Set = append(order.Set, study.Flag{Name: "sysctl.vm.swappiness", Value: strings.Repeat("1", maxText)})
		}
		for range 3 {
			if err := w.client().Tune(t.Context(), w.peers("a")[0], order); err == nil {
				t.Error("the settings are changed")
			}
		}
		if len(w.logs) > 0 || len(noted) != 3 || len(noted[0]) > 2*maxText {
			t.Errorf("%d lines are logged as they come, and %d as lines about a peer", len(w.logs), len(noted))
		}
	})
}
