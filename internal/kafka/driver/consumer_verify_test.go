package driver

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka/reading"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

// What is there and cannot be read yet is not lost.
func TestWhatWaitsBehindAnOpenTransactionIsNotLost(t *testing.T) {
	s := newScene(t, 1)
	other := must.Have(s.cluster.Client(kgo.DefaultProduceTopic("t"), kgo.TransactionalID("open")))(t)
	defer other.Close()
	must.Do(t, other.BeginTransaction())
	must.Do(t, other.ProduceSync(t.Context(), kgo.StringRecord("of somebody else")).FirstErr())
	b := stamped(t, s.cluster, 1, 100)
	_, _, v := s.read(readPlan(func(p *plan.Plan) { p.Read.Timeout = plan.Duration(time.Second) }), b, "isolation.level=read_committed")
	must.Match(t, []int64{0, 100}, []int64{v.Lost, v.Unchecked}, "verdict %+v", v)
}

// With acks=0 nobody says where a record is, so a reading that stops early proves
// nothing.
func TestWithoutAcknowledgementsAnEarlyEndIsNoLoss(t *testing.T) {
	s := newScene(t, 2)
	d := s.sender(5000, "acks=0")
	s.send(d, engine.Options{})
	b := bookOf(d)
	_, end, v := s.read(readPlan(func(p *plan.Plan) { p.Load.Records, p.Read.ToEnd = 500, false }), b)
	must.True(t, end.ReadEnd == engine.ReadCount && v.Lost == 0, "end %q, verdict %+v, want none lost", end.ReadEnd, v)
	for _, lane := range b.Lanes {
		must.Match(t, -1, lane.LastOffset, "partition %d: last offset", lane.Partition)
	}
}

// What is given up is unknown, in the counts and in the ledger alike, also when the
// client fails it while it closes.
func TestWhatIsGivenUpIsUnknownInTheLedgerToo(t *testing.T) {
	s := newScene(t, 1)
	s.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotLeaderForPartition, Count: -1})
	d := s.sender(500)
	w := s.send(d, engine.Options{DrainTimeout: 300 * time.Millisecond})
	b := bookOf(d)
	time.Sleep(100 * time.Millisecond) // outcomes that come late are to change nothing
	var unknown, failed int64
	for _, lane := range b.Lanes {
		unknown += lane.Unknown()
		failed += lane.Failed.Count()
	}
	must.True(t, w.Unknown == 500 && unknown == w.Unknown && failed == w.Failed,
		"counted %d unknown and %d failed, the ledger %d and %d; want 500 and 0", w.Unknown, w.Failed, unknown, failed)
}

// A commit outlives the poll that it belongs to.
func TestConsumersThatShareACountCommitWhatTheyRead(t *testing.T) {
	for _, how := range []plan.Commit{plan.CommitSync, plan.CommitAsync} {
		t.Run(string(how), func(t *testing.T) {
			s := newScene(t, 4)
			stamped(t, s.cluster, 4, 4000)
			w, _, _ := s.read(readPlan(func(p *plan.Plan) {
				inGroup(p)
				p.Read.Commit, p.Read.Consumers, p.Load.Records, p.Read.ToEnd = how, 2, 4000, false
				p.Load.Rate = inPolls
			}), nil)
			must.True(t, w.Consumed == 4000 && w.Commits >= w.Fetches/2 && len(w.FetchErrors) == 0,
				"%d records in %d polls, %d commits, errors %v; want a commit for each poll", w.Consumed, w.Fetches, w.Commits, w.FetchErrors)
		})
	}
}

// A rate is that of all consumers together, whatever each of them has.
func TestARateIsKeptByThoseWhoHaveSomethingToRead(t *testing.T) {
	s := newScene(t, 1)
	stamped(t, s.cluster, 1, 2000)
	w, end, _ := s.read(readPlan(func(p *plan.Plan) {
		p.Read.Consumers, p.Load.Rate = 4, plan.Rate{PerSecond: 2000}
	}), nil)
	// A quarter of the rate would take 4 s.
	took := end.Elapsed.Seconds()
	must.True(t, w.Consumed == 2000 && took >= 0.9 && took <= 3.5, "%d records in %.1f s, want 2000 in 1 s at 2000 a second", w.Consumed, took)
}

// Somebody compacts the topic while it is read. What is not there was replaced, perhaps.
func TestWhatCompactionMayHaveTakenIsNotLost(t *testing.T) {
	for policy, lost := range map[string]int64{"delete": 50, "compact": 0} {
		t.Run(policy, func(t *testing.T) {
			s := newScene(t, 1)
			b := stamped(t, s.cluster, 1, 100)
			lane := &b.Lanes[0]
			lane.Issued += 50
			lane.Acknowledged[0].To += 50
			client := must.Have(s.cluster.Client())(t)
			defer client.Close()
			must.Have(kadm.NewClient(client).AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Name: "cleanup.policy", Value: &policy}}, "t"))(t)
			_, inShare, why := s.share(inShareGroup(t, "accept@100", nil), b)
			d := s.reader(readPlan(nil), b)
			must.Have(engine.Run(t.Context(), d.Plan, engine.Drivers{Read: d}, engine.Options{}, new(total)))(t)
			readers, err := d.Readers(t.Context())
			for name, v := range map[string]ledger.Verdict{"no group": b.Verify(readers...), "share group": inShare} {
				must.Match(t, []int64{lost, 50 - lost, 100}, []int64{v.Lost, v.Unchecked, v.AcknowledgedRead}, "%s: %v, %v", name, err, why)
			}
			must.True(t, (err == nil) == (lost > 0) && (why == nil) == (lost > 0), "%v, %v", err, why)
		})
	}
}

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
			must.True(t, end.ReadEnd == engine.ReadStopped && w.Consumed != 0, "%d records, end %q, want some, and stopped", w.Consumed, end.ReadEnd)
			must.True(t, (!tc.answered || w.Commits != 0 && len(w.FetchErrors) == 0) && (tc.answered || w.Commits <= 0 && len(w.FetchErrors) != 0),
				"%d commits, errors %v", w.Commits, w.FetchErrors)
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
			must.Hold(t, err == nil, "%v", err)
			if w := sum.w; end.ReadEnd != engine.ReadStopped || w.Consumed == 0 || w.Commits > 0 || len(w.FetchErrors) == 0 {
				t.Errorf("%d records, end %q, %d commits, errors %v; want some, stopped, and the commit given up", w.Consumed, end.ReadEnd, w.Commits, w.FetchErrors)
			}
		})
	}
}

func TestAPollThatCommitsNothingCostsNothing(t *testing.T) {
	for _, how := range []plan.Commit{plan.CommitNone, plan.CommitAuto} {
		r := &fetcher{driver: NewConsumer(&reading.State{Options: reading.Options{Plan: plan.Plan{Read: plan.Read{Commit: how}}}})}
		allocs := func() float64 { return testing.AllocsPerRun(1000, func() { r.commit(t.Context()) }) }
		must.Match(t, 0, min(allocs(), allocs(), allocs()), "%s: allocations a poll", how) // some of an earlier test may fall into one
	}
}
