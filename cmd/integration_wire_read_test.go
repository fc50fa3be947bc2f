//go:build integration

package cmd

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
)

// isReadByBothEngines has both engines read the same of a log, whatever has become of it.
func (k *kafkaCluster) isReadByBothEngines(t *testing.T) {
	must.Have(k.admin().CreateTopics(t.Context(), 3, 1, nil, "tx", "deleted"))(t)
	k.writeTransactions()
	deleted := k.writeToBeDeleted()
	for _, tc := range []struct {
		name  string
		least int64
		args  []string
	}{
		{"committed transactions", 3 * 4 * 500, []string{"--topic", "tx", "--isolation", "read_committed"}},
		{"all transactions", 3 * 6 * 500, []string{"--topic", "tx"}},
		{"from within a batch", 3 * (6*500 - 77), []string{"--topic", "tx", "--from", "offset:77", "--consumers", "2"}},
		{"a log without its first records", deleted, []string{"--topic", "deleted"}},
	} {
		t.Run(tc.name, func(t *testing.T) { k.in(t).bothRead(tc.least, tc.args...) })
	}
}

func (k *kafkaCluster) admin() *kadm.Client {
	return kadm.NewClient(k.client())
}

func (k *kafkaCluster) client(opts ...kgo.Opt) *kgo.Client {
	k.t.Helper()
	c := must.Have(kgo.NewClient(append(opts, kgo.SeedBrokers(strings.Split(k.brokers, ",")...), kgo.RecordPartitioner(kgo.ManualPartitioner()))...))(k.t)
	k.t.Cleanup(c.Close)
	return c
}

// write writes n records to each of three partitions, with few keys and values of many sizes.
func (k *kafkaCluster) write(c *kgo.Client, topic string, n int) {
	k.t.Helper()
	var records []*kgo.Record
	for i := range 3 * n {
		records = append(records, &kgo.Record{
			Topic: topic, Partition: int32(i % 3), Key: fmt.Append(nil, "key ", i/3%50), Value: []byte(strings.Repeat("v", i*7%900)),
			Headers: []kgo.RecordHeader{{Key: "n", Value: fmt.Append(nil, i)}},
		})
	}
	must.Do(k.t, c.ProduceSync(k.t.Context(), records...).FirstErr())
}

// writeTransactions commits two of three.
func (k *kafkaCluster) writeTransactions() {
	k.t.Helper()
	c := k.client(kgo.TransactionalID("tx"), kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.ProducerBatchMaxBytes(20_000))
	for i := range 6 {
		must.Do(k.t, c.BeginTransaction())
		k.write(c, "tx", 500)
		must.Do(k.t, c.EndTransaction(k.t.Context(), kgo.TransactionEndTry(i%3 > 0)))
	}
}

// writeToBeDeleted deletes up to offsets within batches, and returns the number of records that are left.
func (k *kafkaCluster) writeToBeDeleted() int64 {
	k.t.Helper()
	const n, first = 1500, 777
	k.write(k.client(kgo.ProducerBatchCompression(kgo.GzipCompression())), "deleted", n)
	var to kadm.Offsets
	for p := range int32(3) {
		to.AddOffset("deleted", p, first, -1)
	}
	must.Have(k.admin().DeleteRecords(k.t.Context(), to))(k.t)
	return 3 * (n - first)
}

// consumed reads a topic with an engine.
func (k *kafkaCluster) consumed(engine string, args ...string) result.Result {
	k.t.Helper()
	doc, code := k.kt("consume", append([]string{"--engine", engine, "--no-group"}, args...)...).wait()
	if !ended(doc, code, exitOK) || doc.ReadEnd != result.ReadAll {
		k.t.Errorf("%s %v: exit code %d, end %q", engine, args, code, doc.ReadEnd)
	}
	return doc
}

// bothRead wants the same of both engines.
func (k *kafkaCluster) bothRead(least int64, args ...string) {
	k.t.Helper()
	client, wire := k.consumed("client", args...), k.consumed("wire", args...)
	if wire.Records.Consumed < least || !slices.Equal(wire.Partitions, client.Partitions) {
		k.t.Errorf("%d records, at least %d wanted: %+v; the client engine read %+v", wire.Records.Consumed, least, wire.Partitions, client.Partitions)
	}
}
