package kafka

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/plan"
)

// Reading is over while a commit is on its way.
func TestACommitOutlivesReading(t *testing.T) {
	for _, tc := range []struct {
		how      plan.Commit
		answered bool
	}{
		{plan.CommitSync, true},
		{plan.CommitAsync, true},
		{plan.CommitSync, false},
		{plan.CommitAsync, false},
	} {
		name := string(tc.how)
		if !tc.answered {
			name += ", and is not answered"
		}
		t.Run(name, func(t *testing.T) {
			s := newScene(t, 1)
			stamped(t, s.addrs, 1, 1000)
			d := &between{Consumer: s.reader(reading(func(p *plan.Plan) { inGroup(p); p.Read.Commit, p.Read.ToEnd = tc.how, false }), nil)}
			over, stop := make(chan struct{}), make(chan struct{})
			stopReading := sync.OnceFunc(func() { close(stop) })
			d.read = func(ctx context.Context, limit int, patience time.Duration) (int, error) {
				context.AfterFunc(ctx, func() {
					if !tc.answered {
						d.reader.end() // as when closeTimeout has passed
					}
					close(over)
				})
				d.read = nil // the next time it is not needed
				return d.reader.Read(ctx, limit, patience)
			}
			s.fake.ControlKey(int16(kmsg.OffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
				stopReading()
				s.fake.SleepControl(func() { <-over })
				return nil, errors.New("hang up"), !tc.answered
			})
			w, end, _ := s.readWith(d, d.Consumer, nil, engine.Options{Stop: stop})
			if end.Reading != engine.ReadStopped || w.Consumed == 0 {
				t.Errorf("%d records, end %q, want some, and stopped", w.Consumed, end.Reading)
			}
			if tc.answered && (w.Commits == 0 || len(w.FetchErrors) > 0) || !tc.answered && (w.Commits > 0 || len(w.FetchErrors) == 0) {
				t.Errorf("%d commits, errors %v", w.Commits, w.FetchErrors)
			}
		})
	}
}

func TestACommitOutlivesReadingByNoMoreThanTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &fetcher{living: t.Context()}
		reading, over := context.WithCancel(t.Context())
		commit, forget := r.outlive(reading)
		defer forget()
		over()
		time.Sleep(closeTimeout - time.Nanosecond)
		if err := commit.Err(); err != nil {
			t.Errorf("%v before the time was over", err)
		}
		time.Sleep(2 * time.Nanosecond)
		if commit.Err() == nil {
			t.Error("it goes on for ever")
		}
	})
}
