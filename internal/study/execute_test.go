package study

import (
	"context"
	"os"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

// scribe is a runner whose runs leave an empty file, as kt does: never in the place of another.
type scribe struct {
	Outside // nothing outside the loads is changed

	made, deletedAt []string
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

func (s *scribe) DeleteTopic(_ context.Context, l Load, _ string) error {
	s.deletedAt = append(s.deletedAt, l.value("url"))
	return nil
}
