package look

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/capture"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/must"
)

// scene is a fake cluster with a client of the test's own.
type scene struct {
	*kfake.Cluster
	t      *testing.T
	client *kgo.Client
	admin  *kadm.Client
}

func open(t *testing.T) *scene {
	fake := must.Have(kfake.NewCluster(kfake.NumBrokers(3)))(t)
	t.Cleanup(fake.Close)
	client := must.Have(kgo.NewClient(kgo.SeedBrokers(fake.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.GzipCompression())))(t)
	t.Cleanup(client.Close)
	return &scene{Cluster: fake, t: t, client: client, admin: kadm.NewClient(client)}
}

func (s *scene) topic(name string, partitions int32) {
	must.Do(s.t, must.Have(s.admin.CreateTopic(context.Background(), partitions, 1, nil, name))(s.t).Err)
}

// write writes n records of 100 bytes to each partition, the last one at a time, and the others each a second before the next.
func (s *scene) write(topic string, partitions int32, n int, last time.Time) {
	var all []*kgo.Record
	for id := range partitions {
		for i := range n {
			all = append(all, &kgo.Record{
				Topic: topic, Partition: id, Timestamp: last.Add(-time.Duration(n-1-i) * time.Second), Value: make([]byte, 100),
				Key: fmt.Appendf(nil, "%d", i%7), Headers: []kgo.RecordHeader{{Key: "trace", Value: []byte("12345")}},
			})
		}
	}
	must.Do(s.t, s.client.ProduceSync(context.Background(), all...).FirstErr())
}

func (s *scene) look(l capture.Look) *capture.Cluster {
	s.t.Helper()
	c := must.Have(kafka.Connect(context.Background(), kafka.Access{Bootstrap: s.ListenAddrs()}))(s.t)
	defer c.Close()
	return must.Have(At(context.Background(), c, l, func(string) {}))(s.t)
}

func (s *scene) find(c *capture.Cluster, name string) *capture.Topic {
	s.t.Helper()
	i := slices.IndexFunc(c.Topics, func(t capture.Topic) bool { return t.Name == name })
	must.True(s.t, i >= 0, "topic %s is not there", name)
	return &c.Topics[i]
}

const mib = 1 << 20

func TestWhatAClusterCarriesIsSeen(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.topic("orders", 3)
	s.topic("empty", 2)
	s.topic("__hidden", 1)
	s.write("orders", 3, 1200, time.Now())
	seen := s.look(capture.Look{Last: 1000 * time.Second, Stage: 500 * time.Second, Sample: mib})
	must.Match(t, 2, len(seen.Topics), "topics")
	must.Match(t, 3, seen.Brokers, "brokers")
	orders := s.find(seen, "orders")
	for _, rate := range orders.Rates {
		must.True(t, rate > 2.95 && rate < 3.05, "rates %v, want 3 records/s", orders.Rates)
	}
	must.Match(t, 3, orders.Partitions, "partitions")
	must.Match(t, 1, orders.Producers, "producers")
	must.Match(t, "gzip", orders.Records.Codec(), "codec")
	must.Match(t, 3600, int(orders.Records.Count), "records")
	must.Match(t, 3600*5, int(orders.Records.HeaderKey), "bytes of the keys of headers")
	must.Match(t, 0, len(orders.Notes), "notes of %v", orders.Notes)
	must.Match(t, 0.0, s.find(seen, "empty").Mean(), "rate of an empty topic")
	must.True(t, s.find(seen, "empty").Records == nil, "records of an empty topic")
}

// The sample and the lookups stay within what they may cost.
func TestALookCostsNoMoreThanItMay(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.topic("many", 40)
	s.write("many", 40, 100, time.Now())
	var fetched, asked atomic.Int64
	s.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		s.KeepControl()
		fetched.Add(int64(r.(*kmsg.FetchRequest).MaxBytes))
		return nil, nil, false
	})
	s.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
		s.KeepControl()
		for _, t := range r.(*kmsg.ListOffsetsRequest).Topics {
			for _, p := range t.Partitions {
				if p.Timestamp >= 0 {
					asked.Add(1)
				}
			}
		}
		return nil, nil, false
	})
	began := time.Now()
	seen := s.look(capture.Look{Last: time.Hour, Sample: 30 << 10, SampleRate: 10 << 10, Lookups: 2})
	took := time.Since(began)
	must.Match(t, 30, int(asked.Load()), "lookups: 15 s with 2 in a second")
	must.True(t, took >= 14*time.Second, "%d lookups in %s, which is faster than 2 in a second", asked.Load(), took)
	must.True(t, fetched.Load() > 0 && fetched.Load() <= 40<<10, "fetches of %d bytes, where 30 KiB were allowed", fetched.Load())
	many := s.find(seen, "many")
	must.True(t, many.Sure == capture.Estimated && many.Mean() > 39 && many.Mean() < 41.5, "rate %v of 40 partitions, each of 1 record/s", many.Rates)
	must.Has(t, "notes", strings.Join(many.Notes, "; "), "30 of 40 partitions")
}

func TestWhatCannotBeSeenIsTold(t *testing.T) {
	rows := []struct {
		name   string
		spoil  func(s *scene)
		notes  []string // of the topic
		ofAll  string
		gone   bool
		unread bool
	}{
		{"no right to read", func(s *scene) {
			s.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.TopicAuthorizationFailed, Count: -1})
		}, []string{"may not be read (TOPIC_AUTHORIZATION_FAILED)"}, "", false, true},
		{"no right to see settings", func(s *scene) {
			s.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeConfigs}, Err: kerr.TopicAuthorizationFailed, Count: -1})
		}, []string{"its settings may not be read"}, "", false, false},
		{"no right to list groups", func(s *scene) {
			s.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListGroups}, Err: kerr.ClusterAuthorizationFailed, Count: -1})
		}, nil, "not all groups could be listed (CLUSTER_AUTHORIZATION_FAILED)", false, false},
		{"deleted", func(s *scene) {
			s.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Err: kerr.UnknownTopicOrPartition, Count: -1})
		}, nil, "a topic was deleted while kt looked", true, false},
		{"a broker that dies", func(s *scene) {
			for id := range int32(3) {
				must.Do(s.t, s.MoveTopicPartition("orders", id, id))
			}
			dead := false
			s.Control(func(r kmsg.Request) (kmsg.Response, error, bool) {
				s.KeepControl()
				if list, ok := r.(*kmsg.ListOffsetsRequest); ok && list.Topics[0].Partitions[0].Timestamp >= 0 {
					dead = true
				}
				if dead && s.CurrentNode() == 1 {
					return nil, errors.New("dead"), true
				}
				return nil, nil, false
			})
		}, []string{"1 of 3 partitions did not answer (no broker answered)", "its rate is of 2 of 3 partitions"}, "", false, false},
		{"a broker that dies, and others lead", func(s *scene) {
			for id := range int32(3) {
				must.Do(s.t, s.MoveTopicPartition("orders", id, id))
			}
			var asked atomic.Int32
			s.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
				s.KeepControl()
				if s.CurrentNode() != 1 || r.(*kmsg.ListOffsetsRequest).Topics[0].Partitions[0].Timestamp < 0 {
					return nil, nil, false
				}
				if asked.Add(1) == 2 {
					go func() { _ = s.MoveTopicPartition("orders", 1, 2) }()
				}
				return nil, errors.New("dead"), true
			})
		}, nil, "", false, false},
		{"a partition that fails", func(s *scene) {
			for id := range int32(3) {
				must.Do(s.t, s.MoveTopicPartition("orders", id, id%2))
			}
			s.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
				s.KeepControl()
				req := r.(*kmsg.ListOffsetsRequest)
				if of := req.Topics[0].Partitions; len(of) != 1 || of[0].Partition != 1 || of[0].Timestamp < 0 {
					return nil, nil, false
				}
				res := req.ResponseKind().(*kmsg.ListOffsetsResponse)
				res.Topics = []kmsg.ListOffsetsResponseTopic{{Topic: "orders", Partitions: []kmsg.ListOffsetsResponseTopicPartition{{Partition: 1, ErrorCode: kerr.KafkaStorageError.Code}}}}
				return res, nil, true
			})
		}, []string{"1 of 3 partitions did not answer (KAFKA_STORAGE_ERROR)", "its rate is of 2 of 3 partitions"}, "", false, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			s.topic("orders", 3)
			s.write("orders", 3, 600, time.Now())
			row.spoil(s)
			seen := s.look(capture.Look{Last: 500 * time.Second, Sample: mib})
			must.Has(t, "notes of all", strings.Join(seen.Notes, "; "), row.ofAll)
			if row.gone {
				must.Match(t, 0, len(seen.Topics), "topics")
				return
			}
			orders := s.find(seen, "orders")
			must.Has(t, "notes", strings.Join(orders.Notes, "; "), row.notes...)
			must.True(t, row.notes != nil || orders.Notes == nil && orders.Sure == capture.Measured, "notes %v, %s", orders.Notes, orders.Sure)
			must.True(t, orders.Mean() > 2.9 && orders.Mean() < 3.1, "rates %v, want 3 records/s whatever cannot be seen", orders.Rates)
			must.Match(t, row.unread, orders.Records == nil, "there is no sample")
		})
	}
}

// Records whose times are not of now tell no rate: the growth of the log does.
func TestOddTimesAreToldAndTheGrowthCounts(t *testing.T) {
	for _, row := range []struct {
		name, note string
		shift      time.Duration
	}{{"old", "old times", -2 * time.Hour}, {"future", "in the future", 2 * time.Hour}} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			s.topic("orders", 1)
			s.write("orders", 1, 100, time.Now().Add(row.shift))
			ctx, stop := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() {
				defer close(done)
				for kafka.Pause(ctx, 100*time.Millisecond) {
					s.write("orders", 1, 10, time.Now().Add(row.shift))
				}
			}()
			seen := s.look(capture.Look{Last: 24 * time.Hour, Sample: mib})
			stop()
			<-done
			orders := s.find(seen, "orders")
			must.True(t, orders.Live > 0 && orders.Mean() > 20 && orders.Mean() < 110, "rates %v, want almost 100 records/s, as far as this host writes them", orders.Rates)
			must.Has(t, "notes", strings.Join(orders.Notes, "; "), row.note)
		})
	}
}

// Ends of transactions take offsets, and are no records.
func TestTransactionsAreSeen(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.topic("orders", 1)
	s.write("orders", 1, 1, time.Now().Add(-2000*time.Second))
	ctx := context.Background()
	client := must.Have(kgo.NewClient(kgo.SeedBrokers(s.ListenAddrs()...), kgo.TransactionalID("tx"), kgo.DefaultProduceTopic("orders")))(t)
	defer client.Close()
	at := time.Now().Add(-10 * time.Second)
	for range 5 {
		must.Do(t, client.BeginTransaction())
		for range 10 {
			must.Do(t, client.ProduceSync(ctx, &kgo.Record{Value: []byte("value"), Timestamp: at}).FirstErr())
			at = at.Add(20 * time.Millisecond)
		}
		must.Do(t, client.EndTransaction(ctx, kgo.TryCommit))
	}
	orders := s.find(s.look(capture.Look{Last: 1000 * time.Second, Sample: mib}), "orders")
	must.Match(t, int64(50), orders.Records.Transactions, "batches of transactions")
	must.Match(t, 200*time.Millisecond, orders.Transaction, "time of a transaction")
	must.True(t, math.Abs(orders.Mean()*1000-50) < 1, "%.1f records, want 50 and no ends of transactions", orders.Mean()*1000)
}
