package run_test

import (
	"context"
	"testing"

	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
)

func TestWhatKtTuneSaysIsInTheResultUnlessTheRunIsOverBefore(t *testing.T) {
	broker := must.Have(kafka.StartEmbedded(false))(t)
	defer broker.Close()
	said := result.TuneCheck{Host: "h", Checks: 2, Findings: []result.TuneFinding{{ID: "vm.swappiness", Verdict: result.TuneWarn}}}
	ended := false
	for _, r := range []struct {
		name     string
		embedded bool
		tune     func(context.Context) *result.TuneCheck
		want     []result.TuneCheck
	}{
		{"it is there in time", false, func(context.Context) *result.TuneCheck { return &said }, []result.TuneCheck{said}},
		{"it takes longer than the run", false, func(ctx context.Context) *result.TuneCheck { <-ctx.Done(); ended = true; return nil }, nil},
		{"nobody checks", false, nil, nil},
		{"the broker is inside kt", true, func(context.Context) *result.TuneCheck { t.Error("it was asked"); return &said }, nil},
	} {
		t.Run(r.name, func(t *testing.T) {
			p := producing("tuned", 50)
			if !r.embedded {
				p.Bootstrap = broker.Addrs()
			}
			asked := request(t, p)
			asked.Tune = r.tune
			seen := new(seconds)
			res := must.Have(run.Run(t.Context(), asked, seen))(t)
			must.Match(t, r.want, res.Tune, "what it said")
			check(t, p, asked.File.Path(), res, seen)
		})
	}
	must.True(t, ended, "the check that took longer was left behind")
}
