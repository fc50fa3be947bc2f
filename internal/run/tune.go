package run

import (
	"context"

	"github.com/kt-bench/kt/internal/result"
)

// checkTune begins the check of this host by kt tune, beside the load. The function that it returns ends the check, and
// returns what was found; nil if the check was not over by then, for no run waits for it.
func (m *maker) checkTune(ctx context.Context) func() []result.TuneCheck {
	if m.Tune == nil || m.header.Embedded {
		return func() []result.TuneCheck { return nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	found := make(chan *result.TuneCheck, 1)
	go func() { found <- m.Tune(ctx) }() // the returned function waits for it
	return func() []result.TuneCheck {
		cancel()
		if check := <-found; check != nil {
			return []result.TuneCheck{*check}
		}
		return nil
	}
}
