package driver

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/reading"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/payload"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// sharesOf are the shares of a load, for as many processes as it is divided among.
func sharesOf(t *testing.T, p plan.Plan, processes int) []plan.Plan {
	t.Helper()
	return must.Have(p.Divide(processes))(t)
}

func TestTheSharesOfALoadWriteTheRecordsOfTheWholeLoad(t *testing.T) {
	for _, tc := range []struct {
		name string
		kind plan.PayloadKind
		keys plan.KeyDistribution
	}{
		{"numbers count up over all processes", plan.Monotonic, plan.NoKeys},
		{"keys of a range take turns over all processes", plan.Letters, plan.RangeKeys},
		{"keys and values that are drawn are those of each producer", plan.Mixed, plan.RandomKeys},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := plan.Plan{Command: plan.Produce, Producers: 5, Seed: 7}
			p.Payload = plan.Payload{Kind: tc.kind, Size: plan.FixedSize(20), Keys: tc.keys, KeyRange: 1000}
			values := must.Have(payload.MakeValues(&p))(t)
			written := func(plans ...plan.Plan) (records []string) {
				for _, p := range plans {
					for i := range p.Producers {
						s := (&Producer{Plan: p, Values: values}).generator(i)
						for index := range int64(20) {
							key, value := s.Fill(new(payload.Memory), index)
							records = append(records, fmt.Sprintf("%s=%x", key, value))
						}
					}
				}
				slices.Sort(records)
				return records
			}
			whole := written(p)
			must.Match(t, len(whole), len(slices.Compact(slices.Clone(whole))), "producers of one process write the same records")
			for processes := 2; processes <= p.Producers; processes++ {
				must.Match(t, whole, written(sharesOf(t, p, processes)...), "%d processes", processes)
			}
		})
	}
}

func TestNoTwoClientsOfALoadHaveTheSameName(t *testing.T) {
	c := newScene(t, 1).cluster
	for _, tc := range []struct {
		name              string
		producers, groups int
		want              []any
	}{
		{"one transactional producer has the name that was given", 1, 0, []any{"x"}},
		{"transactional producers are numbered", 4, 0, []any{"x-0", "x-1", "x-2", "x-3"}},
		{"so are the static members of a group", 0, 1, []any{"x-0", "x-1", "x-2", "x-3"}},
		{"and those of two groups", 0, 2, []any{"x-0", "x-1", "x-2", "x-3", "x-4", "x-5", "x-6", "x-7"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := plan.Plan{Command: plan.Produce, Producers: tc.producers}
			if tc.groups > 0 {
				p = plan.Plan{Command: plan.Consume, Read: plan.Read{Consumers: 4, Group: "g", Groups: tc.groups}}
			}
			for processes := 1; processes <= max(p.Producers, p.Read.Consumers); processes++ {
				var names []any
				for _, share := range sharesOf(t, p, processes) {
					for i := range share.Producers {
						names = append(names, transactionalID(t, c, share, i))
					}
					for i := range share.Read.Clients() {
						names = append(names, memberID(t, share, i))
					}
				}
				slices.SortFunc(names, func(a, b any) int { return slices.Compare([]byte(a.(string)), []byte(b.(string))) })
				must.Match(t, tc.want, names, "%d processes", processes)
			}
		})
	}
}

func transactionalID(t *testing.T, c *kafka.Cluster, p plan.Plan, index int) any {
	t.Helper()
	d := &Producer{Cluster: c, Plan: p, Values: &payload.Values{}, Settings: producing(t, 0, "transactional.id=x")}
	w := must.Have(d.Open(t.Context(), &engine.Shard{Index: index, Count: p.Producers}))(t)
	defer func() { _ = w.Close() }()
	return w.(*worker).client.OptValue(kgo.TransactionalID)
}

func memberID(t *testing.T, p plan.Plan, index int) any {
	t.Helper()
	settings := consuming(t, "group.id=g", "group.instance.id=x")
	d := NewConsumer(&reading.State{Options: reading.Options{Plan: p, Settings: settings}, Layout: kafka.NewLayout([]result.Topic{{Name: "t", Partitions: 1}})})
	r := &fetcher{driver: d, shard: &engine.Shard{Index: index}, hooks: &fetchHooks{}, group: index / p.Read.Consumers}
	client := must.Have(kgo.NewClient(r.groupOptions()...))(t)
	defer client.Close()
	return client.OptValue(kgo.InstanceID)
}

func TestWithoutAGroupEachPartitionIsOfOneConsumerOfTheLoad(t *testing.T) {
	const partitions = 13
	for processes := 1; processes <= 5; processes++ {
		readers := make([]int, partitions)
		for _, share := range sharesOf(t, plan.Plan{Command: plan.Consume, Read: plan.Read{Consumers: 5}}, processes) {
			d := NewConsumer(&reading.State{Options: reading.Options{Plan: share}})
			for number := range readers {
				if r := d.Plan.ReaderOf(int32(number)); r >= 0 && r < share.Read.Consumers {
					readers[number]++
				} else if !d.IsElsewhere(int32(number)) {
					t.Errorf("%d processes: one waits for partition %d, which it does not read", processes, number)
				}
			}
		}
		must.Match(t, slices.Repeat([]int{1}, partitions), readers, "%d processes: readers of each partition", processes)
	}
}

func TestTheProcessesOfALoadReadAGroupToItsEnd(t *testing.T) {
	for _, tc := range []struct {
		name       string
		partitions int32
		commit     plan.Commit
		work       time.Duration // of the second process, for each record
		timeout    time.Duration // 0: only the end ends it
		apart      bool          // two loads of one group
	}{
		{"they commit on their own", 3, plan.CommitAuto, 0, 0, false},
		{"they commit after each poll", 3, plan.CommitSync, 0, 0, false},
		{"one has nothing to read", 1, plan.CommitAuto, 0, 0, false},
		{"one is slower by more than the timeout of the other", 3, plan.CommitSync, 10 * time.Millisecond, 5 * time.Second, false},
		{"they are of two loads", 4, plan.CommitSync, 0, 10 * time.Second, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newScene(t, tc.partitions)
			records := 400 * int64(tc.partitions)
			if tc.work > 0 {
				records *= 3
			}
			stamped(t, s.cluster, int(tc.partitions), records)
			p := readPlan(func(p *plan.Plan) { inGroup(p); p.Read.Consumers, p.Read.Commit = 2, tc.commit })
			p.Load.Rate = plan.Rate{PerSecond: 400} // so slow that both join before all is read
			p.Read.Timeout = plan.Duration(tc.timeout)
			sums := make(chan stats.Window)
			shares := sharesOf(t, p, 2)
			if tc.apart { // each asks for its members of the group, and reads some records again
				shares = []plan.Plan{p, p}
			}
			for i, share := range shares {
				share.Read.Processing = plan.Duration(int64(i) * int64(tc.work))
				d := s.reader(share, nil, "auto.commit.interval.ms=600000", "heartbeat.interval.ms=50")
				go func() {
					var sum total
					end, err := engine.Run(s.Context(), share, engine.Drivers{Read: d}, engine.Options{Sources: []engine.Source{lagOf(d)}}, &sum)
					if err != nil || end.ReadEnd != engine.ReadAll {
						t.Errorf("end %q (%v, %v), want all", end.ReadEnd, end.ReadErr, err)
					}
					sums <- sum.w
				}()
			}
			first, second := <-sums, <-sums
			if tc.partitions > 1 && min(first.Consumed, second.Consumed) == 0 {
				t.Error("one process has read all")
			}
			if all := first.Consumed + second.Consumed; all < records || !tc.apart && (all != records || first.ConsumerLag+second.ConsumerLag != 0) {
				t.Errorf("%d and %d records, consumer lags of %d and %d; want %d, none left", first.Consumed, second.Consumed, first.ConsumerLag, second.ConsumerLag, records)
			}
		})
	}
}
