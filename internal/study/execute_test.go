package study

import (
	"context"
	"os"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

// scribe is a runner whose runs leave an empty file, as kt does: never in the place of another.
type scribe struct {
	Outside // nothing outside the loads is changed

	made []string
}

func (*scribe) Plan(Load) (plan.Plan, error) { return plan.Plan{}, nil }

func (s *scribe) Run(_ context.Context, _ Load, path string, opened func()) (result.Result, error) {
	opened()
	s.made = append(s.made, path)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return result.Result{}, err
	}
	return result.Result{}, file.Close()
}

func (*scribe) DeleteTopic(context.Context, Load, string) error { return nil }

// A kt that was killed leaves a part of a run file behind.
func TestAStudyThatWasKilledInARunGoesOn(t *testing.T) {
	s := &Study{Loads: []Load{{Command: "produce"}}, Repeats: 2, Order: Listed}
	f := must.Have(Create(t.TempDir(), s, "killed"))(t)
	second := f.path(s.Turns()[1], s.Loads[0])
	must.Do(t, os.WriteFile(second, []byte("cut o"), 0o600))
	runner := new(scribe)
	if err := Execute(t.Context(), f, runner, func(Progress) {}); err != nil || len(runner.made) != 2 {
		t.Errorf("%v after the runs %v", err, runner.made)
	}
	if text, err := os.ReadFile(second); err != nil || len(text) > 0 {
		t.Errorf("%s has %q, %v", second, text, err)
	}
}
