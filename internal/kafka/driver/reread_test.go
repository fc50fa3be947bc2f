package driver

import (
	"context"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

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

// election is a broker that is replaced by another one, which has less in its log: what
// an unclean election does. Both have one address.
type election struct {
	*scene
	addr   string
	leader string // folder of the log of the first
	behind string // of the second
	seq    int64
}

// newElection starts the first broker, with a topic t of one partition.
func newElection(t *testing.T) *election {
	t.Helper()
	t.Parallel()
	e := &election{scene: &scene{T: t, partitions: 1}, addr: must.Nobody(t), leader: t.TempDir(), behind: t.TempDir()}
	e.start(e.leader, kfake.SeedTopics(1, "t"))
	e.cluster = connect(t, []string{e.addr})
	t.Cleanup(func() { e.fake.Close() })
	return e
}

func (e *election) start(dir string, opts ...kfake.Opt) {
	e.Helper()
	_, port, _ := net.SplitHostPort(e.addr)
	n := must.Have(strconv.Atoi(port))(e)
	e.fake = must.Have(kfake.NewCluster(append(opts, kfake.NumBrokers(1), kfake.Ports(n), kfake.DataDir(dir))...))(e)
}

// fallBehind leaves the second broker with what is in the log now.
func (e *election) fallBehind() {
	e.Helper()
	e.fake.Close()
	must.Do(e, os.CopyFS(e.behind, os.DirFS(e.leader)))
	e.start(e.leader)
}

// elect makes the second broker the leader.
func (e *election) elect() {
	e.Helper()
	e.fake.Close()
	e.start(e.behind)
	if err := e.fake.MoveTopicPartition("t", 0, 0); err != nil { // to itself: that makes a new epoch
		e.Fatal(err)
	}
}

// write writes the next records of the run.
func (e *election) write(records int) {
	e.Helper()
	client := must.Have(e.cluster.Client(kgo.DefaultProduceTopic("t")))(e)
	defer client.Close()
	for range records {
		r := &kgo.Record{Value: make([]byte, 100), Key: []byte("key"), Headers: []kgo.RecordHeader{{Key: "a", Value: []byte("b")}}}
		stamp := ledger.Stamp{Run: testRun, Seq: e.seq, Due: time.Now().UnixNano()}
		stamp.Put(r.Value, ledger.Around{Key: r.Key, Headers: reading.HeaderSum(r.Headers)})
		r.Timestamp = stamp.Time()
		must.Do(e, client.ProduceSync(e.Context(), r).FirstErr())
		e.seq++
	}
}

// book is that of what was written, all of it acknowledged.
func (e *election) book() *ledger.Book {
	return &ledger.Book{
		Run: testRun, SameTopic: true, Acks: "1", StartEpochs: []int32{0},
		Lanes: []ledger.Lane{{Issued: e.seq, Acknowledged: ledger.Ranges{{From: 0, To: e.seq}}, LastOffset: -1}},
	}
}

// What was read, acknowledged, and is gone when the run is over, is lost: whatever was
// written at its offsets since.
func TestWhatWasReadAndThenCutOffIsLost(t *testing.T) {
	for name, tc := range map[string]struct{ later, groups int }{
		"the log is shorter":          {0, 0}, // here the broker knows nothing of the old epoch: what was read again from one leader is there
		"it was written on a little":  {10, 0},
		"it was written on and on":    {90, 0},
		"it is exactly as long again": {40, 0},
		"two groups have read it":     {10, 2},
	} {
		t.Run(name, func(t *testing.T) {
			e := newElection(t)
			e.write(60)
			e.fallBehind()
			e.write(40)
			e.cluster = connect(t, []string{e.addr}) // the connections of before are closed
			d := e.reader(readPlan(func(p *plan.Plan) {
				if p.Read.Groups = tc.groups; tc.groups > 0 {
					p.Read.Group = "g"
				}
			}), e.book())
			told := 0
			d.Again = func(partitions int) { told += partitions }
			d.Book.SameTopic = true
			groups := int64(max(1, tc.groups))
			var sum total
			_, err := engine.Run(t.Context(), d.Plan, engine.Drivers{Read: d}, engine.Options{}, &sum)
			must.Hold(t, err == nil && sum.w.Consumed == 100*groups, "%d records were read, want 100 a group: %v", sum.w.Consumed, err)
			e.elect()
			e.write(tc.later)
			v := e.verdict(d, e.book())
			if v.Lost != 40*groups || v.AcknowledgedRead != int64(60+tc.later)*groups || v.Unchecked+v.Corrupted != 0 || v.ReadAgain != groups || int64(told) != groups {
				t.Errorf("%d told, verdict %+v, want 40 lost and %d read by each group", told, v, 60+tc.later)
			}
		})
	}
}

// A reading that lives through the cut goes on where its client likes to.
func TestALogThatIsCutOffWhileItIsReadIsReadAgain(t *testing.T) {
	e := newElection(t)
	e.write(60)
	e.fallBehind()
	e.write(40)
	d := e.reader(readPlan(func(p *plan.Plan) { p.Read.ToEnd, p.Read.Timeout = false, plan.Duration(2*time.Second) }), e.book())
	read, elected := 0, false
	b := &between{Consumer: d}
	b.read = func(ctx context.Context, limit int, patience time.Duration) (int, error) {
		if read >= 100 && !elected {
			elected = true
			e.elect()
			e.write(90)
		}
		n, err := b.reader.Read(ctx, limit, patience)
		read += n
		return n, err
	}
	_, err := engine.Run(t.Context(), d.Plan, engine.Drivers{Read: b}, engine.Options{}, &total{})
	must.Hold(t, err == nil && elected, "%d records were read: %v", read, err)
	d.Plan.Read.Timeout = plan.Duration(time.Minute) // of what is read again, on a busy machine
	v := e.verdict(d, e.book())
	must.True(t, v.Lost == 40 && v.AcknowledgedRead == 150 && v.Unchecked == 0 && v.ReadAgain != 0, "verdict %+v, want 40 lost and 150 read", v)
}

// The replica had been away since before the run began: what the run writes to it lies
// below the run's start.
func TestALogThatWasCutOffBelowTheStartIsReadFromThere(t *testing.T) {
	for name, before := range map[string]bool{"before the reading": true, "after it": false} {
		t.Run(name, func(t *testing.T) {
			e := newElection(t)
			raw := e.client(kgo.DefaultProduceTopic("t"))
			old := func(n int) {
				for range n {
					must.Do(t, raw.ProduceSync(t.Context(), kgo.StringRecord("of another run")).FirstErr())
				}
			}
			old(40)
			e.fallBehind()
			old(20)
			e.write(50) // from 60 on
			cut := func() {
				e.elect()
				e.write(30) // from 40 on
			}
			if before {
				cut()
			}
			b := e.book()
			b.Start = []int64{60}
			d := e.reader(readPlan(nil), b)
			must.Have(engine.Run(t.Context(), d.Plan, engine.Drivers{Read: d}, engine.Options{}, &total{}))(t)
			if !before {
				cut()
			}
			b = e.book()
			b.Start = []int64{60}
			v := e.verdict(d, b)
			must.True(t, v.Lost == 50 && v.AcknowledgedRead == 30 && v.Unchecked == 0, "verdict %+v, want 50 lost and 30 read", v)
		})
	}
}

// No verdict is better than the answers that it rests on.
func TestWhatCannotBeReadAgainIsNotCalledRead(t *testing.T) {
	e := newElection(t)
	e.write(60)
	e.fallBehind()
	e.write(40)
	d := e.reader(readPlan(nil), e.book())
	must.Have(engine.Run(t.Context(), d.Plan, engine.Drivers{Read: d}, engine.Options{}, &total{}))(t)
	d.Plan.Read.Timeout = plan.Duration(time.Second) // of what is read again, in vain
	e.elect()
	e.write(10)
	e.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.NotLeaderForPartition, Count: -1})
	readings, err := d.Readers(t.Context())
	v := e.book().Verify(readings...)
	must.True(t, err != nil && v.AcknowledgedRead == 0 && v.Unchecked == 110, "error %v, verdict %+v, want all 110 unchecked", err, v)
}

func TestWhatNoBrokerConfirmsIsNotCalledRead(t *testing.T) {
	s := newScene(t, 1)
	b := stamped(t, s.cluster, 1, 100)
	d := s.reader(readPlan(nil), b)
	must.Have(engine.Run(t.Context(), d.Plan, engine.Drivers{Read: d}, engine.Options{}, &total{}))(t)
	s.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetForLeaderEpoch}, Err: kerr.TopicAuthorizationFailed, Count: -1})
	readings, err := d.Readers(t.Context())
	if v := b.Verify(readings...); err == nil || v.AcknowledgedRead != 0 || v.Unchecked != 100 || v.Unconfirmed != 100 {
		t.Errorf("error %v, verdict %+v, want 100 unconfirmed", err, v)
	}
}

// A partition that has no leader in the end keeps no other from being confirmed.
func TestAPartitionWithoutLeaderIsUncheckedAndTheOthersAreNot(t *testing.T) {
	s := newScene(t, 3)
	b := stamped(t, s.cluster, 3, 3000)
	d := s.reader(readPlan(nil), b)
	must.Have(engine.Run(t.Context(), d.Plan, engine.Drivers{Read: d}, engine.Options{}, &total{}))(t)
	s.fake.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.ListOffsets, kmsg.OffsetForLeaderEpoch}, Partitions: []int32{1}, Err: kerr.NotLeaderForPartition, Count: -1,
	})
	readings, err := d.Readers(t.Context())
	v := b.Verify(readings...)
	if err == nil || v.Unconfirmed == 0 || v.Unchecked != v.Unconfirmed || v.AcknowledgedRead != 3000-v.Unchecked || v.AcknowledgedRead == 0 {
		t.Errorf("error %v, verdict %+v, want what is in partition 1 unconfirmed, and the rest read", err, v)
	}
}

func TestATimestampOfTheBrokerIsNotCompared(t *testing.T) {
	value := make([]byte, 100)
	stamp := ledger.Stamp{Run: testRun, Due: time.Now().UnixNano()}
	stamp.Put(value, ledger.Around{})
	for _, tc := range []struct {
		by   int8
		late time.Duration
		want ledger.StampStatus
	}{
		{0, 0, ledger.Stamped},
		{0, time.Second, ledger.Corrupted},
		{1, time.Second, ledger.Stamped}, // LogAppendTime
	} {
		r := &kgo.Record{
			Value: value, Timestamp: stamp.Time().Add(tc.late),
			Attrs: kgo.NewRecordAttrs(kgo.RecordAttrsOpts{TimestampType: tc.by}),
		}
		must.Match(t, tc.want, reading.Account(ledger.NewReader(&ledger.Book{Run: testRun}).Log(0), r, new(ledger.Stamp), 0, 0), "timestamp type %d, %s late", tc.by, tc.late)
	}
}
