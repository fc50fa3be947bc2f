package run

import (
	"context"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

// How long the logs may stand still before what they lack counts as missing, and how often they are looked at: with acks=0
// records may still be on their way.
const logsPatience, logsEvery = 5 * time.Second, 250 * time.Millisecond

// written returns how many records were ever written to the target; -1: the system does not tell.
func (m *maker) written(ctx context.Context) int64 {
	s, ok := m.session.(interface {
		Written(ctx context.Context) (int64, error)
	})
	if !ok || !m.Plan.Writes() || ctx.Err() != nil {
		return -1
	}
	n, err := s.Written(ctx)
	if err != nil {
		return -1
	}
	return n
}

// logEnds returns how far the logs have grown once they hold what the run counts as acknowledged, or stand still. Of several
// processes none knows what others still have on its way: with acks=0 they wait for a second in which nothing comes.
func (m *maker) logEnds(ctx context.Context) *result.LogEnds {
	ends, last, claimed := m.before, m.before, m.sink.fold.Snapshot().All.Acknowledged
	for still := time.Duration(0); ends >= 0 && still < logsPatience; still += logsEvery {
		if ends = m.written(ctx); ends > last {
			last, still = ends, 0
		}
		if ends-m.before >= claimed && (still >= time.Second || !m.together() || m.header.Outcome() != result.Sent) {
			break
		}
		time.Sleep(logsEvery)
	}
	if ends < 0 {
		return nil
	}
	return &result.LogEnds{Before: m.before, After: ends}
}
