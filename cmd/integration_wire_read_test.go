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
	k.createWireTopics()
	k.writeTransactions()
	k.writeToBeCompacted()
	deleted := k.writeToBeDeleted()
	for _, tc := range []struct {
		name  string
		least int64
		args  []string
	}{
		{"committed transactions", 3 * 4 * 500, []string{"--topic", "tx", "--isolation", "read_committed"}},
		{"all transactions", 3 * 6 * 500, []string{"--topic", "tx"}},
		{"from within a batch", 3 * (6*500 - 77), []string{"--topic", "tx", "--from", "offset:77", "--consumers", "2"}},
		{"a compacted log", 50, []string{"--topic", "compacted"}},
		{"a log without its first records", deleted, []string{"--topic", "deleted"}},
	} {
		t.Run(tc.name, func(t *testing.T) { k.in(t).bothRead(tc.least, tc.args...) })
	}
	t.Run("a log that is being deleted from", func(t *testing.T) { k.in(t).readWhileDeleting() })
}

func (k *kafkaCluster) createWireTopics() {
	k.t.Helper()
	quick := map[string]*string{
		"cleanup.policy": kadm.StringPtr("compact"), "segment.ms": kadm.StringPtr("500"),
		"min.cleanable.dirty.ratio": kadm.StringPtr("0.01"), "max.compaction.lag.ms": kadm.StringPtr("500"),
	}
	for topic, configs := range map[string]map[string]*string{"tx": nil, "compacted": quick, "deleted": nil} {
		must.Have(k.admin().CreateTopic(k.t.Context(), 3, 1, configs, topic))(k.t)
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

// writeToBeCompacted waits until the cleaner has removed most records.
func (k *kafkaCluster) writeToBeCompacted() {
	k.t.Helper()
	const n = 2000
	c := k.client(kgo.ProducerBatchCompression(kgo.Lz4Compression()), kgo.ProducerBatchMaxBytes(5000))
	k.write(c, "compacted", n)
	k.await("compaction", func() bool {
		k.write(c, "compacted", 1) // so that segments are closed
		return k.consumed("client", "--topic", "compacted").Records.Consumed < 3*n
	})
}

// writeToBeDeleted deletes up to offsets within batches, and returns the number of records that are left.
func (k *kafkaCluster) writeToBeDeleted() int64 {
	k.t.Helper()
	const n, first = 1500, 777
	k.write(k.client(kgo.ProducerBatchCompression(kgo.GzipCompression())), "deleted", n)
	k.deleteRecords("deleted", first)
	return 3 * (n - first)
}

func (k *kafkaCluster) deleteRecords(topic string, before int64) {
	k.t.Helper()
	var to kadm.Offsets
	for p := range int32(3) {
		to.AddOffset(topic, p, before, -1)
	}
	must.Have(k.admin().DeleteRecords(k.t.Context(), to))(k.t)
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

// bothRead wants the same of both engines, of a log that does not change between two readings.
func (k *kafkaCluster) bothRead(least int64, args ...string) {
	k.t.Helper()
	for range 10 {
		before, wire, after := k.consumed("client", args...), k.consumed("wire", args...), k.consumed("client", args...)
		if !slices.Equal(before.Partitions, after.Partitions) {
			continue // the log was compacted meanwhile
		}
		if wire.Records.Consumed < least || !slices.Equal(wire.Partitions, before.Partitions) {
			k.t.Errorf("%d records, at least %d wanted: %+v; the client engine read %+v", wire.Records.Consumed, least, wire.Partitions, before.Partitions)
		}
		return
	}
	k.t.Error("the log never stood still")
}

// readWhileDeleting deletes records that a slow reader has not come to.
func (k *kafkaCluster) readWhileDeleting() {
	k.t.Helper()
	const topic, before, n, first = "deleted", 1500, 12_000, 9000
	k.write(k.client(), topic, n)
	run := k.kt("consume", "--engine", "wire", "--topic", topic, "--allow-gaps", "--rate", "5000", "--command-property", "max.partition.fetch.bytes=10000")
	looks := 0
	k.await("the reader to be on its way", func() bool { looks++; return looks > 10 })
	k.deleteRecords(topic, first)
	doc, code := run.wait()
	const left = 3 * (before + n - first)
	if !ended(doc, code, exitOK) || doc.ReadEnd != result.ReadAll || doc.Records.Consumed < left || doc.Records.Consumed > left+3*first {
		k.t.Errorf("exit code %d, end %q, %d records, at least %d wanted", code, doc.ReadEnd, doc.Records.Consumed, left)
	}
}
