package driver

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/reading"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/stats"
)

// inShareGroup is a reading by three members that acknowledge as acks says.
func inShareGroup(t *testing.T, acks string, change func(*plan.Plan)) plan.Plan {
	share := must.Have(plan.ParseAcks(acks))(t)
	return readPlan(func(p *plan.Plan) {
		p.Read.Group, p.Read.Share, p.Read.Consumers, p.Verify = "share", &share, 3, true
		if change != nil {
			change(p)
		}
	})
}

// member returns the driver of a plan's share group, which is made if it is not there.
func (s *scene) member(p plan.Plan, b *ledger.Book, written func() []int64) *Share {
	s.Helper()
	g := must.Have(s.cluster.FindShare(s.Context(), p.Read.Group))(s.T)
	must.Do(s.T, s.cluster.StartShare(s.Context(), g, p.Read.From.String()))
	d := &Share{
		Cluster: s.cluster, Settings: consuming(s.T, "group.id="+p.Read.Group, "group.protocol=share", "fetch.max.wait.ms=50"),
		Layout: layout(s.partitions), Memory: reading.NewMemory(0), Groups: []kafka.ShareGroup{g}, Written: written,
	}
	must.Do(s.T, d.Begin(s.Context(), queue.Options{Plan: p, Run: b.Run, Book: b}))
	return d
}

// share reads in a share group. It returns why what is missing is not known to be lost.
func (s *scene) share(p plan.Plan, b *ledger.Book) (w stats.Window, v ledger.Verdict, why error) {
	s.Helper()
	d := s.member(p, b, nil)
	var sum total
	end := must.Have(engine.Run(s.Context(), p, engine.Drivers{Read: d}, engine.Options{}, &sum))(s.T)
	must.Do(s.T, end.ReadErr)
	readers, why := d.Readers(s.Context())
	d.Wait()
	return sum.w, b.Verify(readers...), why
}

func TestAShareGroupSettlesEachRecordOnce(t *testing.T) {
	const n = 5000
	for _, tc := range []struct {
		name, acks string
		check      func(w *stats.Window) bool
	}{
		{"all accepted", "accept@100", func(w *stats.Window) bool {
			return w.Accepted == n && w.Deliveries["1"] == n && w.Released+w.Rejected == 0
		}},
		{"some released", "release@20", func(w *stats.Window) bool {
			again := w.Deliveries["2"] + w.Deliveries["3"] + w.Deliveries["4"] + w.Deliveries["5"]
			return w.Released > n/8 && w.Released < n/3 && w.Rejected == 0 && w.Released == again+w.Archived
		}},
		{"some rejected", "accept@90,reject@10", func(w *stats.Window) bool {
			return w.Rejected > n/20 && w.Rejected < n/5 && w.Archived == w.Rejected && w.Released == 0
		}},
		{"all released until the last delivery", "release@100", func(w *stats.Window) bool {
			return w.Accepted == 0 && w.Archived == n && w.Deliveries["1"] == n && w.Deliveries["5"] == n
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newScene(t, 3)
			b := stamped(t, s.cluster, 3, n)
			w, v, why := s.share(inShareGroup(t, tc.acks, nil), b)
			must.True(t, tc.check(&w), "%+v, deliveries %v", w.Share, w.Deliveries)
			must.True(t, w.Held > 0 && w.Held <= n, "a member held %d records", w.Held)
			must.Match(t, []int64{n, w.Consumed, w.Consumed}, []int64{w.Accepted + w.Archived, w.Accepted + w.Released + w.Rejected, w.AckTime.Count()}, "settled, and acknowledged twice")
			must.Match(t, []int64{n, w.Archived, 0, 0, 0, 0}, []int64{v.AcknowledgedRead, v.Archived, v.Lost, v.Unchecked, v.Duplicated, w.ConsumerLag}, "%+v, %v", v, why)
			must.True(t, why == nil && len(w.FetchErrors) == 0, "errors %v, %v", why, w.FetchErrors)
		})
	}
}

func TestWhatAShareGroupDoesNotSettleHereIsUnchecked(t *testing.T) {
	const n = 2000
	for _, tc := range []struct {
		name   string
		acks   string
		before func(t *testing.T, s *scene, b *ledger.Book)
		change func(*plan.Plan)
		want   string
	}{
		{"all are given back, and the reading ends before the last delivery", "release@100", nil, func(p *plan.Plan) { p.Load.Records, p.Read.ToEnd = n+n/2, false }, "before share group share had read all"},
		{"it is still available", "accept@100", nil, func(p *plan.Plan) { p.Load.Records, p.Read.ToEnd = 700, false }, "before share group share had read all"},
		{"the group had it before", "accept@100", func(t *testing.T, s *scene, b *ledger.Book) { // it says why it did not check all
			_, _, _ = s.share(inShareGroup(t, "accept@100", func(p *plan.Plan) { p.Load.Records, p.Read.ToEnd = 700, false }), b)
		}, nil, "was there before"},
		{"the broker refuses acknowledgements", "accept@100", func(_ *testing.T, s *scene, _ *ledger.Book) {
			s.fake.ControlKey(int16(kmsg.ShareAcknowledge), func(r kmsg.Request) (kmsg.Response, error, bool) {
				resp := r.ResponseKind().(*kmsg.ShareAcknowledgeResponse)
				resp.ErrorCode = kerr.InvalidRecordState.Code
				return resp, nil, true
			})
			s.fake.ControlKey(int16(kmsg.ShareFetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
				resp := r.ResponseKind().(*kmsg.ShareFetchResponse)
				for _, topic := range r.(*kmsg.ShareFetchRequest).Topics {
					for i := range topic.Partitions {
						if len(topic.Partitions[i].AcknowledgementBatches) > 0 {
							resp.ErrorCode = kerr.InvalidRecordState.Code
							return resp, nil, true
						}
					}
				}
				s.fake.KeepControl()
				return nil, nil, false
			})
		}, func(p *plan.Plan) { p.Load.Records, p.Read.ToEnd, p.Read.Consumers = n, false, 1 }, "did not confirm all"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newScene(t, 3)
			b := stamped(t, s.cluster, 3, n)
			if tc.before != nil {
				tc.before(t, s, b)
			}
			w, v, why := s.share(inShareGroup(t, tc.acks, tc.change), b)
			must.True(t, v.Lost == 0 && v.Unchecked > 0 && v.AcknowledgedRead == w.Accepted+w.Archived && v.Archived == w.Archived && v.AcknowledgedRead+v.Unchecked == n, "%+v, %+v", v, w.Share)
			must.Has(t, "the reason", why.Error(), tc.want)
			must.True(t, (w.AckFailed > 0) == (tc.want == "did not confirm all") && w.AckFailed == w.Consumed-w.Accepted-w.Released, "%+v, %v", w.Share, w.FetchErrors)
		})
	}
}

// Records that were deleted count as unchecked, and one that was acknowledged and is in no log as lost.
func TestARecordThatIsGoneIsLostInAShareGroup(t *testing.T) {
	const n, gone = 2000, 10
	for _, acks := range []string{"accept@100", "accept@90,release@10", "release@100"} {
		for deleted, want := range map[int64][]int64{0: {n, 1, 0}, gone: {n - gone, 1, gone}} {
			t.Run(fmt.Sprintf("%s, %d deleted", acks, deleted), func(t *testing.T) {
				s := newScene(t, 3)
				b := stamped(t, s.cluster, 3, n)
				never := b.Lanes[0]
				never.Partition = 1
				never.Producer, never.Issued, never.Acknowledged = 60_000, 1, ledger.Ranges{{From: 0, To: 1}}
				b.Lanes = append(b.Lanes, never)
				must.Do(t, s.fake.DeleteRecords("t", 1, deleted))
				w, v, why := s.share(inShareGroup(t, acks, nil), b)
				must.Match(t, append(want, want[0]), []int64{v.AcknowledgedRead, v.Lost, v.Unchecked, w.Accepted + w.Archived}, "%+v, %v", v, why)
			})
		}
	}
}

// What a share group accepted, and an election cut off since, does not count as read. The group would not get the rest again.
func TestWhatAShareGroupAcceptedAndWasThenCutOffIsUnchecked(t *testing.T) {
	for name, tc := range map[string]struct {
		elects bool
		later  int
		want   []int64
	}{
		"the log is kept":                {want: []int64{100, 0, 0}},
		"the log is shorter":             {elects: true, want: []int64{0, 0, 100}},
		"it was written on past the end": {elects: true, later: 90, want: []int64{0, 0, 100}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newElection(t)
			e.write(60)
			e.fallBehind()
			e.write(40)
			e.cluster = connect(t, []string{e.addr}) // the connections of before are closed
			b := e.book()
			d := e.member(inShareGroup(t, "accept@100", nil), b, nil)
			var sum total
			end := must.Have(engine.Run(t.Context(), d.Plan, engine.Drivers{Read: d}, engine.Options{}, &sum))(t)
			must.Hold(t, end.ReadErr == nil && sum.w.Accepted == 100, "%d records were accepted, want 100: %v", sum.w.Accepted, end.ReadErr)
			if tc.elects {
				e.elect()
				e.write(tc.later)
			}
			readers, why := d.Readers(t.Context())
			d.Wait()
			v := b.Verify(readers...)
			must.Match(t, tc.want, []int64{v.AcknowledgedRead, v.Lost, v.Unchecked}, "%+v, %v", v, why)
			must.True(t, !tc.elects || why != nil && strings.Contains(why.Error(), "cut off below records that share group share got"), "why: %v", why)
		})
	}
}

func TestRecordsThatAreDeletedBeforeAShareGroupHasThemAreCounted(t *testing.T) {
	const n, gone = 2000, 300
	s := newScene(t, 3)
	b := stamped(t, s.cluster, 3, n)
	p := inShareGroup(t, "accept@100", nil)
	d := s.member(p, b, nil)
	must.Do(t, s.fake.DeleteRecords("t", 1, gone))
	var sum total
	end := must.Have(engine.Run(t.Context(), p, engine.Drivers{Read: d}, engine.Options{Sources: []engine.Source{d}}, &sum))(t)
	must.Do(t, end.ReadErr)
	v := b.Verify(must.Have(d.Readers(t.Context()))(t)...)
	d.Wait()
	must.Match(t, []int64{gone, gone, n - gone, gone, 0}, []int64{sum.w.Deleted, sum.w.Partitions[1].Deleted, v.AcknowledgedRead, v.Unchecked, v.Lost}, "%+v", v)
}

// Members work on records when the time is over, and clients hold more.
func TestAShareGroupGivesBackWhatItHasNotDone(t *testing.T) {
	const n = 600
	s := newScene(t, 3)
	b := stamped(t, s.cluster, 3, n)
	w, v, _ := s.share(inShareGroup(t, "accept@100", func(p *plan.Plan) {
		p.Read.Processing, p.Read.ToEnd, p.Load.Duration = plan.FixedWork(time.Minute), false, plan.Duration(3*time.Second)
	}), b)
	must.True(t, w.Consumed > 0 && w.Released == w.Consumed && w.Unfinished == w.Released && w.Untouched > 0 && w.Untouched <= n-w.Consumed && w.Accepted == 0, "%d read, %+v", w.Consumed, w.Share)
	must.Match(t, []int64{0, n, 0}, []int64{v.AcknowledgedRead, v.Unchecked, v.Lost}, "%+v", v)
}

// A broker that is gone before it answers has taken the acknowledgements nevertheless: their records come never again.
func TestAcknowledgementsWithoutAnAnswerAreNoLoss(t *testing.T) {
	const n = 5000
	s := newScene(t, 3)
	b := stamped(t, s.cluster, 3, n)
	var answers atomic.Int64
	cut := onAnswer(func([]byte) bool { at := answers.Add(1); return at > 6 && at < 10 })
	s.wire.shared.Store(&cut)
	w, v, why := s.share(inShareGroup(t, "accept@100", func(p *plan.Plan) { p.Load.Rate = plan.Rate{PerSecond: 5000} }), b)
	must.True(t, w.AckFailed > 0 && w.Accepted < n, "%+v, %v", w.Share, w.FetchErrors)
	must.Match(t, []int64{n, 0, 0, 0}, []int64{v.AcknowledgedRead, v.Lost, v.Unchecked, v.Duplicated}, "%+v, %v", v, why)
	must.Do(t, why)
}

func TestARoundTripInAShareGroupReadsWhatItWrites(t *testing.T) {
	s := newScene(t, 3)
	stamped(t, s.cluster, 3, 500) // the group begins behind them
	const n = 2000
	d := s.sender(n)
	p := inShareGroup(t, "release@10", nil)
	p.Command, p.Producers, p.Payload, p.Load, p.Read.ToEnd, p.Read.From.Latest = plan.Roundtrip, 2, d.Plan.Payload, plan.Load{Records: n, Rate: plan.Rate{PerSecond: 4000}}, false, true
	d.Plan = p
	b := book(d)
	m := s.member(p, b, d.Acked)
	var sum total
	end := must.Have(engine.Run(t.Context(), p, engine.Drivers{Send: d, Read: m}, engine.Options{}, &sum))(t)
	*b = *book(d)
	v := b.Verify(must.Have(m.Readers(t.Context()))(t)...)
	must.True(t, end.ReadEnd == engine.ReadAll && sum.w.Acknowledged == n && sum.w.Accepted+sum.w.Archived == n && sum.w.EndToEnd.Count() == n,
		"end %q, %d written, %+v, %d timed", end.ReadEnd, sum.w.Acknowledged, sum.w.Share, sum.w.EndToEnd.Count())
	must.Match(t, []int64{n, 0, 0, 0}, []int64{v.AcknowledgedRead, v.Lost, v.Unchecked, v.Duplicated}, "%+v", v)
}

func TestAShareGroupIsThereUntilItIsDeleted(t *testing.T) {
	s := newScene(t, 1)
	b := stamped(t, s.cluster, 1, 100)
	made := func() bool { return must.Have(s.cluster.FindShare(t.Context(), "share"))(t).Made }
	_, _, why := s.share(inShareGroup(t, "accept@100", nil), b)
	must.Do(t, why)
	must.True(t, !made(), "the group is gone")
	must.Do(t, s.cluster.DeleteShareGroup(t.Context(), kafka.ShareGroup{Name: "share", Made: true}))
	must.True(t, made(), "the group is still there")
	s.read(readPlan(inGroup), b)
	_, err := s.cluster.FindShare(t.Context(), "g")
	must.Has(t, "a consumer group", err.Error(), "--group g: it is there, and no share group")
}

func TestAClusterThatCannotHaveAShareGroupIsRefused(t *testing.T) {
	s := newScene(t, 1)
	must.Do(t, s.cluster.CheckShare(t.Context(), 200))
	must.Has(t, "too many members", s.cluster.CheckShare(t.Context(), 201).Error(), "--consumers 201", "at most 200 members (group.share.max.size)")
	old := must.Have(kfake.NewCluster(kfake.MaxVersions(kversion.V3_9_0())))(t)
	t.Cleanup(old.Close)
	must.Has(t, "no share groups", connect(t, old.ListenAddrs()).CheckShare(t.Context(), 1).Error(), "share.version is 0")
}

func TestNewsOfAShareGroupAreTold(t *testing.T) {
	s := newScene(t, 3)
	d := s.member(inShareGroup(t, "accept@100", func(p *plan.Plan) { p.Read.Consumers = 1 }), stamped(t, s.cluster, 3, 10), nil)
	look := func(want string) {
		t.Helper()
		for range rarely {
			d.look(t.Context(), 0)
		}
		var got []string
		found := d.news.events.Take()
		for _, e := range found.Events {
			got = append(got, string(e.Kind)+": "+e.Text)
		}
		must.Match(t, want, regexp.MustCompile(`(0\.1):\d+`).ReplaceAllString(strings.Join(got, "\n"), "$1"), "events") // Kafka names no port
	}
	join := func(id string) (leave func()) {
		before := len(d.Cluster.ShareMembers(t.Context(), "share"))
		client := must.Have(kgo.NewClient(kgo.SeedBrokers(s.fake.ListenAddrs()...), kgo.ClientID(id), kgo.ShareGroup("share"), kgo.ConsumeTopics(d.Layout.Names()...)))(t)
		members := func(n int) func() bool {
			return func() bool { return len(d.Cluster.ShareMembers(t.Context(), "share")) == n }
		}
		must.Eventually(t, id+" joins", members(before+1))
		return func() {
			client.Close()
			must.Eventually(t, id+" leaves", members(before))
		}
	}
	defer join("mine")()
	look("") // the load has not begun
	d.news.now = func() time.Duration { return time.Second }
	look("")
	leave := join("another")
	look("other_members: share group share has 1 member more than this load makes: of client id another at 127.0.0.1, or they were killed less than 45 s ago (the session timeout)")
	leave()
	d.news.again.Add(3)
	must.Do(t, d.Cluster.StartShare(t.Context(), d.Groups[0], "latest"))
	look("group_changed: share.auto.offset.reset of share group share was earliest, and is latest now\n" +
		"locks_expired: 3 records came again that kt had not released: their locks ran out, or other members had them\n" +
		"member_gone: share group share has lost members: client id another at 127.0.0.1")
	must.True(t, !d.forgotten.Load(), "a setting that somebody changed is none that brokers forgot")
	must.Do(t, d.Cluster.StartShare(t.Context(), d.Groups[0], ""))
	look("group_changed: share.auto.offset.reset of share group share was latest, and is that of the brokers now")
	must.True(t, d.forgotten.Load(), "the brokers forgot the group")
	d.news.over.Store(true)
	defer join("late")()
	look("")
}

func TestAShareGroupWhoseTopicIsDeletedEndsReadingAndNamesIt(t *testing.T) {
	s := newScene(t, 1)
	b := stamped(t, s.cluster, 1, 100)
	p := inShareGroup(t, "accept@100", func(p *plan.Plan) { p.Read.ToEnd, p.Load.Duration = false, plan.Duration(time.Minute) })
	d := s.member(p, b, nil)
	gone := time.AfterFunc(time.Second, func() { must.Do(t, s.cluster.DeleteTopics(context.Background(), "t")) })
	defer gone.Stop()
	end := must.Have(engine.Run(t.Context(), p, engine.Drivers{Read: d}, engine.Options{Sources: []engine.Source{d}}, new(total)))(t)
	d.Wait()
	must.True(t, end.ReadErr != nil && end.Elapsed < 30*time.Second, "it ended after %s: %v", end.Elapsed, end.ReadErr)
	must.Has(t, "the reason", end.ReadErr.Error(), "topic t", "UNKNOWN_TOPIC") // as the client or the look at the log ends finds out first
}
