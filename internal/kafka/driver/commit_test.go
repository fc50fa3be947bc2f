package driver

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka/reading"
	"github.com/kt-bench/kt/internal/must"
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
			stamped(t, s.cluster, 1, 1000)
			d := &between{Consumer: s.reader(readPlan(func(p *plan.Plan) { inGroup(p); p.Read.Commit, p.Read.ToEnd = tc.how, false }), nil)}
			over, stop := make(chan struct{}), make(chan struct{})
			stopReading := sync.OnceFunc(func() { close(stop) })
			d.read = func(ctx context.Context, limit int, patience time.Duration) (int, error) {
				context.AfterFunc(ctx, func() {
					if !tc.answered {
						d.reader.end() // as when commitTimeout has passed
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
			if end.ReadEnd != engine.ReadStopped || w.Consumed == 0 {
				t.Errorf("%d records, end %q, want some, and stopped", w.Consumed, end.ReadEnd)
			}
			if tc.answered && (w.Commits == 0 || len(w.FetchErrors) > 0) || !tc.answered && (w.Commits > 0 || len(w.FetchErrors) == 0) {
				t.Errorf("%d commits, errors %v", w.Commits, w.FetchErrors)
			}
		})
	}
}

func TestACommitOutlivesReadingByNoMoreThanTheTimeout(t *testing.T) {
	const over = 5 * time.Second // reading
	for _, tc := range []struct {
		name        string
		abort, want time.Duration // from the start; abort 0: never
	}{
		{"nobody minds", 0, over + commitTimeout},
		{"the run ends at once while it reads", over - time.Second, over - time.Second},
		{"the run ends at once after that", over + commitTimeout/2, over + commitTimeout/2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				running, abort := context.WithCancel(t.Context())
				defer abort()
				d := NewConsumer(&reading.State{Options: reading.Options{Plan: plan.Plan{Read: plan.Read{Consumers: 1}}}})
				r := must.Have(d.OpenReader(running, &engine.Shard{Count: 1}))(t)
				whileReading, stop := context.WithTimeout(running, over)
				defer stop()
				if tc.abort > 0 {
					time.AfterFunc(tc.abort, abort)
				}
				<-r.(*fetcher).outlive(whileReading).Done()
				must.Match(t, tc.want, time.Since(began), "a commit was given up after")
			})
		})
	}
}

// The run ends at once while a commit hangs: what it has to say comes, and soon.
func TestACommitThatHangsDoesNotHoldUpWhoLeavesAtOnce(t *testing.T) {
	for _, how := range []plan.Commit{plan.CommitSync, plan.CommitAsync} {
		t.Run(string(how), func(t *testing.T) {
			s := newScene(t, 1)
			stamped(t, s.cluster, 1, 1000)
			d := &between{Consumer: s.reader(readPlan(func(p *plan.Plan) { inGroup(p); p.Read.Commit, p.Read.ToEnd = how, false }), nil)}
			d.read = func(ctx context.Context, limit int, patience time.Duration) (int, error) {
				d.read = nil // the next time it is not needed
				// Reading does not end for the commit: its timeout would, and hide that nothing else does.
				return d.reader.Read(context.WithoutCancel(ctx), limit, patience)
			}
			ctx, abort := context.WithCancel(s.Context())
			ended := make(chan struct{})
			s.fake.ControlKey(int16(kmsg.OffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
				abort()
				s.fake.SleepControl(func() {
					select {
					case <-ended:
					case <-time.After(10 * time.Second): // a run that waits for it is to fail and not to hang
					}
				})
				return nil, nil, false
			})
			var sum total
			end, err := engine.Run(ctx, d.Plan, engine.Drivers{Read: d}, engine.Options{}, &sum)
			close(ended)
			if err != nil {
				t.Fatal(err)
			}
			if w := sum.w; end.ReadEnd != engine.ReadStopped || w.Consumed == 0 || w.Commits > 0 || len(w.FetchErrors) == 0 {
				t.Errorf("%d records, end %q, %d commits, errors %v; want some, stopped, and the commit given up", w.Consumed, end.ReadEnd, w.Commits, w.FetchErrors)
			}
		})
	}
}

func TestAPollThatCommitsNothingCostsNothing(t *testing.T) {
	for _, how := range []plan.Commit{plan.CommitNone, plan.CommitAuto} {
		r := &fetcher{driver: NewConsumer(&reading.State{Options: reading.Options{Plan: plan.Plan{Read: plan.Read{Commit: how}}}})}
		must.Match(t, 0, testing.AllocsPerRun(1000, func() { r.commit(t.Context()) }), "%s: allocations a poll", how)
	}
}
