//go:build integration

package cmd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// TestManyLoadsOnOneBroker runs the tests that need one broker as it is, and leave it so, on the same: each
// start takes seconds of CPU.
func TestManyLoadsOnOneBroker(t *testing.T) {
	t.Parallel()
	k := startCluster(t, 1, "--property", "num.io.threads=5")
	for name, test := range map[string]func(*kafkaCluster, *testing.T){
		"compression is that of the Java client":             (*kafkaCluster).compressesLikeJava,
		"consume reads a real topic":                         (*kafkaCluster).isRead,
		"its loads are captured":                             (*kafkaCluster).isCaptured,
		"a rebalance is reported":                            (*kafkaCluster).tellsOfARebalance,
		"kt tune sees its settings":                          (*kafkaCluster).isSeenByTune,
		"the wire engine reads what the client engine reads": (*kafkaCluster).isReadByBothEngines,
		"Prometheus has the totals of the result":            (*kafkaCluster).isScraped,
		"what the wire engine wrote is read by others":       (*kafkaCluster).isReadByOthers,
		"a member of a share group is killed":                (*kafkaCluster).losesAMember,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(k.in(t), t)
		})
	}
}

func (k *kafkaCluster) isRead(t *testing.T) {
	const records = 7000
	if r, code := k.start("--topic", "read", "--partitions", "7", "--num-records", strconv.Itoa(records)).wait(); !ended(r, code, exitOK) {
		t.Fatalf("produce: exit code %d", code)
	}
	end := k.endOffsets("read")
	for _, tc := range []struct {
		name string
		args []string
		want int64
	}{
		{"one group", nil, end},
		{"three consumers", []string{"--consumers", "3"}, end},
		{"the newer protocol", []string{"--consumers", "3", "--group-protocol", "consumer"}, end},
		{"no group", []string{"--no-group", "--consumers", "3"}, end},
		{"three groups", []string{"--groups", "3"}, 3 * end},
		{"a share group of more consumers than partitions", []string{"--group-protocol", "share", "--consumers", "12"}, end},
		{"a share group that fetches few records", []string{"--group-protocol", "share", "--share-max-records", "10", "--share-acquire-mode", "record_limit"}, end},
		{"two share groups", []string{"--group-protocol", "share", "--groups", "2"}, 2 * end},
		{"a count", []string{"--num-records", "1234"}, 1234},
		{"a regular expression", []string{"--include", "re.d"}, end},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args := append([]string{"--topic", "read"}, tc.args...)
			if slices.Contains(tc.args, "--include") {
				args = tc.args
			}
			r, code := k.in(t).kt("consume", args...).wait()
			must.True(t, ended(r, code, exitOK) && r.Records.Consumed == tc.want,
				"exit code %d, %d records; want 0, %d", code, r.Records.Consumed, tc.want)
			var sum int64
			for _, p := range r.Partitions {
				sum += p.Consumed
			}
			must.Match(t, tc.want, sum, "partitions add up to")
		})
	}
}

// The broker gives the records that a killed process had to another one.
func (k *kafkaCluster) losesAMember(t *testing.T) {
	const records = 20_000
	ledger := filepath.Join(t.TempDir(), "ledger")
	if r, code := k.start("--topic", "queue", "--partitions", "3", "--num-records", strconv.Itoa(records), "--verify", "--ledger", ledger).wait(); !ended(r, code, exitOK) {
		t.Fatalf("produce: exit code %d", code)
	}
	share := []string{"--topic", "queue", "--group-protocol", "share", "--group", "q", "--consumers", "4", "--timeout", "1m"}
	gone := k.kt("consume", append(share, "--processing-time", "1m")...) // its records are locked
	admin := k.admin()
	k.await("members with partitions", func() bool {
		groups, err := admin.DescribeShareGroups(t.Context(), "q")
		q := groups["q"]
		return err == nil && len(q.Members) == 4 && len(q.AssignedPartitions()["queue"]) == 3
	})
	stay := k.kt("consume", append(share, "--share-ack", "release@10", "--verify", ledger)...)
	k.await("half of the records", func() bool { // later, on a slow machine, the locks may have run out
		left := int64(0)
		groups, err := admin.DescribeShareGroupOffsets(t.Context(), "q")
		groups["q"].Offsets.Each(func(o kadm.ShareOffset) { left += o.Lag })
		return err == nil && left < records/2
	})
	must.Do(t, gone.cmd.Process.Kill())
	_ = gone.cmd.Wait() // it was killed
	r, code := stay.wait()
	must.Hold(t, ended(r, code, exitOK) && r.Verify != nil && r.Fetch.Share != nil, "exit code %d: %+v", code, r.Verify)
	v, s := r.Verify, r.Fetch.Share
	must.Match(t, []int64{records, 0, 0, 0}, []int64{v.AcknowledgedRead, v.Lost, v.Unchecked, v.Duplicated}, "%+v", v)
	must.True(t, s.Deliveries["1"] < records && s.Accepted+s.Archived == records && s.Accepted+s.Released == s.Acquired, "%+v", s)
}

// A member that leaves a group costs the others a rebalance, and they say so.
func (k *kafkaCluster) tellsOfARebalance(t *testing.T) {
	load := k.start("--topic", "shared", "--partitions", "7", "--rate", "300", "--duration", "5m")
	k.await("the topic", func() bool {
		n, err := k.tryEndOffsets("shared")
		return err == nil && n > 0
	})
	stay := k.kt("consume", "--topic", "shared", "--group", "g", "--consumers", "2", "--duration", "11s")
	leave := k.kt("consume", "--topic", "shared", "--group", "g", "--duration", "6s")
	left, code := leave.wait()
	must.True(t, ended(left, code, exitOK) && left.Records.Consumed != 0,
		"the member that leaves: exit code %d, %d records", code, left.Records.Consumed)
	r, code := stay.wait()
	must.True(t, ended(r, code, exitOK), "exit code %d", code)
	must.True(t, r.Rebalances != nil && r.Rebalances.Count != 0 && r.Rebalances.TotalMS > 0,
		"rebalances %+v, want at least one and its cost", r.Rebalances)
	must.True(t, hasEvent(r, stats.Rebalance), "no event tells of it: %+v", r.Events)
	load.interrupt()
	load.wait()
}

func hasEvent(r result.Result, kind stats.EventKind) bool {
	return slices.ContainsFunc(r.Events, func(e result.Event) bool { return e.Kind == kind })
}

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
	must.True(k.t, ended(doc, code, exitOK) && doc.ReadEnd == result.ReadAll, "%s %v: exit code %d, end %q", engine, args, code, doc.ReadEnd)
	return doc
}

// bothRead wants the same of both engines.
func (k *kafkaCluster) bothRead(least int64, args ...string) {
	k.t.Helper()
	client, wire := k.consumed("client", args...), k.consumed("wire", args...)
	must.True(k.t, wire.Records.Consumed >= least && slices.Equal(wire.Partitions, client.Partitions),
		"%d records, at least %d wanted: %+v; the client engine read %+v", wire.Records.Consumed, least, wire.Partitions, client.Partitions)
}

// payloadDelimiter parts the payloads of a file. Random bytes do not hold it by chance.
const payloadDelimiter = "<|end of payload|>"

// writePayloads writes a file of so many payloads.
func writePayloads(t *testing.T, n int, payload func(*rand.Rand) []byte) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	var all []byte
	for range n {
		all = append(append(all, payload(rng)...), payloadDelimiter...)
	}
	path := filepath.Join(t.TempDir(), "payloads")
	must.Do(t, os.WriteFile(path, all, 0o600))
	return path
}

func uniform(rng *rand.Rand, first byte, span int) []byte {
	b := make([]byte, 1024)
	for i := range b {
		b[i] = first + byte(rng.IntN(span))
	}
	return b
}

func jsonOrder(rng *rand.Rand) []byte {
	b := fmt.Appendf(nil, `{"id":"%016x","at":"2026-11-%02dT%02d:%02d:%02dZ","status":%q,"lines":[`,
		rng.Uint64(), 1+rng.IntN(28), rng.IntN(24), rng.IntN(60), rng.IntN(60), []string{"new", "paid", "sent"}[rng.IntN(3)])
	for i := range 1 + rng.IntN(9) {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"sku":"SKU-%06d","quantity":%d,"price":%d.%02d,"warehouse":%q}`,
			rng.IntN(1_000_000), 1+rng.IntN(9), rng.IntN(500), rng.IntN(100), []string{"Berlin", "Paris", "Tokyo"}[rng.IntN(3)])
	}
	return append(b, `],"currency":"EUR"}`...)
}

// Both clients send the same payloads at full speed, with their defaults but for linger.ms: it
// fills the batches on a busy machine too, and a short batch compresses less.
func (k *kafkaCluster) compressesLikeJava(t *testing.T) {
	payloads := map[string]string{
		"letters": writePayloads(t, 2000, func(rng *rand.Rand) []byte { return uniform(rng, 'A', 26) }),
		"random":  writePayloads(t, 2000, func(rng *rand.Rand) []byte { return uniform(rng, 0, 256) }),
		"json":    writePayloads(t, 5000, jsonOrder),
	}
	records := map[string]string{"letters": "2000", "random": "2000", "json": "5000"}
	type load struct{ payload, method, level string }
	var loads []load
	for _, method := range []string{"gzip", "snappy", "lz4", "zstd"} {
		loads = append(loads, load{"letters", method, "default"}, load{"json", method, "default"})
	}
	// Letters and random bytes hardly depend on the level.
	loads = append(loads, load{"random", "zstd", "default"}, load{"json", "gzip", "9"}, load{"json", "lz4", "12"}, load{"json", "zstd", "7"})
	args := []string{k.brokers, payloadDelimiter}
	for _, l := range loads {
		args = append(args, "java-"+l.payload+"-"+l.method, payloads[l.payload], l.method, l.level, records[l.payload])
	}
	rates := strings.Fields(javaTool(t, "testdata/CompressionRate.java", args...))
	must.Hold(t, len(rates) == len(loads), "%d of %d rates", len(rates), len(loads))
	for i, l := range loads {
		want := must.Have(strconv.ParseFloat(rates[i], 64))(t)
		compression, tolerated := l.method, 6.0
		if l.level != "default" {
			compression, tolerated = compression+":"+l.level, 15
		}
		doc, _ := k.start("--topic", fmt.Sprint("kt-", i), "--num-records", records[l.payload], "--compression", compression,
			"--linger", "100ms", "--payload-file", payloads[l.payload], "--payload-delimiter", payloadDelimiter).wait()
		got := doc.Batches.CompressedShare
		off := 100 * (got/want - 1)
		t.Logf("%-8s %-8s Java %.3f, kt %.3f: %+.1f %%", l.payload, compression, want, got, off)
		must.True(t, strconv.FormatInt(doc.Records.Acknowledged, 10) == records[l.payload] && math.Abs(off) <= tolerated,
			"%s, %s: %d records, compressed to %.3f, Java to %.3f: %+.1f %%", l.payload, compression, doc.Records.Acknowledged, got, want, off)
	}
}
