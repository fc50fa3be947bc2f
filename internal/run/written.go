package run

import (
	"context"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

// logsPatience is how long the logs may stand still before records count as missing: with acks=0 some may be on their way.
// logsEvery is the time between two looks.
const logsPatience, logsEvery = 5 * time.Second, 250 * time.Millisecond

// written returns how many records were ever written to the target; -1: that is not known.
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

// logEnds returns the log ends before the load, and those after it: once the logs hold what the run counts as acknowledged, or stand
// still. With acks=0, other processes of the load may still have records on their way. So each waits for a second without growth.
func (m *maker) logEnds(ctx context.Context) *result.LogEnds {
	ends, last, claimed := m.before, m.before, m.sink.fold.Snapshot().All.Acknowledged
	for still := time.Duration(0); ends >= 0 && still < logsPatience; still += logsEvery {
		if ends = m.written(ctx); ends > last {
			last, still = ends, 0
		}
		if ends-m.before >= claimed && (still >= time.Second || !m.together() || m.header.Outcome() != result.Sent) {
			break
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(logsEvery):
		}
	}
	if ends < 0 {
		return nil
	}
	return &result.LogEnds{Before: m.before, After: ends}
}
