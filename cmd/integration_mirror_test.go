//go:build integration

package cmd

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
)

// TestAMirrorIsVerified lets a MirrorMaker 2 copy a load from one cluster to another. It is killed amid the load, and goes on when
// some records that it had not copied are deleted. What kt says is compared with the values on both sides.
func TestAMirrorIsVerified(t *testing.T) {
	t.Parallel()
	a := startCluster(t, 1)
	b := startCluster(t, 1, "--property", "log.message.timestamp.type=LogAppendTime") // so that it is known how late each record is
	mirrorMaker := func(command string) {
		t.Helper()
		_, said, code := ran(t, exec.Command("../scripts/kafka", "mirror", command, "--name", a.name, "--to", b.name))
		must.Hold(t, code == 0, "mirror %s: %s", command, said)
	}
	mirrorMaker("start")
	ledgers := t.TempDir()
	orders, many := filepath.Join(ledgers, "orders"), filepath.Join(ledgers, "many")
	load := a.start("--topic", "orders", "--partitions", "3", "--rate", "500", "--duration", "25s", "--record-size", "100", "--header", "a=1",
		"--key-distribution", "random", "--record-key-range", "100", "--verify", "--ledger", orders)
	copied := func(records int64) func() bool {
		return func() bool { n, err := b.tryEndOffsets(a.name + ".orders"); return err == nil && n >= records }
	}
	b.await("copies", copied(1500))
	mirrorMaker("kill")
	was, source := b.values(a.name+".orders"), a.values("orders")
	a.await("records that are not copied", func() bool { source = a.values("orders"); return len(source[0]) > len(was[0])+300 })
	verify := func(ledger string, args ...string) (result.Result, int) {
		t.Helper()
		return b.kt("consume", append([]string{"--verify", ledger, "--mirror"}, args...)...).wait()
	}
	if r, code := verify(orders, "--topic", a.name+".orders"); code != exitFailed || r.Verify.NotCopied == 0 || r.Verify.Lost+r.Verify.Corrupted+r.Verify.Duplicated > 0 {
		t.Errorf("while nothing is copied: exit code %d, %+v", code, r.Verify)
	}
	gone := source[0][len(was[0])+200].Offset // records before it are deleted
	admin := a.admin()
	must.Have(admin.DeleteRecords(t.Context(), kadm.Offsets{"orders": {0: {Topic: "orders", Partition: 0, At: gone}}}))(t)
	mirrorMaker("start")
	if r, code := a.start("--engine", "wire", "--stamp", "--topic", "many-{0..1}", "--partitions", "2", "--num-records", "20000", "--record-size", "100", "--verify", "--ledger", many).wait(); !ended(r, code, exitOK) {
		t.Fatalf("produce: exit code %d", code)
	}
	sent, code := load.wait()
	must.Hold(t, ended(sent, code, exitOK), "produce: exit code %d", code)

	// What came before the deletion was read above.
	last := a.values("orders")
	last[0] = append(source[0][:len(was[0])+200], last[0]...)
	var got result.Result
	b.await("all copies", func() bool {
		got, code = verify(orders, "--topic", a.name+".orders")
		return got.Verify != nil && got.Verify.NotCopied == 0
	})
	want := compareValues(last, b.values(a.name+".orders"))
	v := got.Verify
	must.Match(t, want, copies{v.AcknowledgedRead, v.Lost, v.Duplicated, v.Reordered}, "read, lost, duplicated and reordered")
	must.True(t, code == exitLost && v.Lost == 200 && v.Duplicated > 0 && v.Reordered == 0 && v.Unchecked+v.Corrupted == 0 && v.AcknowledgedRead+v.Lost == sent.Records.Acknowledged, "exit code %d, %+v", code, v)
	must.True(t, v.Mirror.Partitions[0].Lost == 200 && v.Mirror.Measured == v.AcknowledgedRead && v.Mirror.Partitions[1].Lag.Seconds > 3, "%+v", v.Mirror)
	t.Logf("MirrorMaker 2 was killed: %+v; %+v", want, v.Mirror.Partitions)

	for _, engine := range []string{"client", "wire"} {
		b.await("copies of several topics", func() bool {
			got, code = verify(many, "--topic", a.name+".many-0,"+a.name+".many-1", "--engine", engine)
			return got.Verify != nil && got.Verify.NotCopied == 0
		})
		v = got.Verify
		must.True(t, code == exitOK && v.AcknowledgedRead == 20000 && v.Duplicated+v.Reordered+v.Lost == 0 && v.Mirror.Measured == 20000, "%s: exit code %d, %+v", engine, code, v)
	}
}

// values returns the records of a topic, by partition.
func (k *kafkaCluster) values(topic string) map[int32][]*kgo.Record {
	k.t.Helper()
	left := k.endOffsets(topic)
	client := must.Have(kgo.NewClient(kgo.SeedBrokers(strings.Split(k.brokers, ",")...), kgo.ConsumeTopics(topic)))(k.t)
	defer client.Close()
	starts := must.Have(kadm.NewClient(client).ListStartOffsets(k.t.Context(), topic))(k.t)
	starts.Each(func(o kadm.ListedOffset) { left -= o.Offset })
	all := make(map[int32][]*kgo.Record)
	for left > 0 {
		fetches := client.PollFetches(context.Background())
		must.Do(k.t, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) { all[r.Partition], left = append(all[r.Partition], r), left-1 })
	}
	return all
}

type copies struct{ There, Lost, Twice, Late int64 }

// compareValues compares a topic with its copy by the values, each of which is there once in the source.
func compareValues(source, mirror map[int32][]*kgo.Record) (c copies) {
	for p, records := range source {
		offsets, seen, newest := make(map[string]int64), make(map[string]bool), int64(-1)
		for _, r := range records {
			offsets[string(r.Value)] = r.Offset
		}
		for _, r := range mirror[p] {
			switch value := string(r.Value); {
			case seen[value]:
				c.Twice++
			case offsets[value] < newest:
				c.Late++
				fallthrough
			default:
				seen[value], newest = true, max(newest, offsets[value])
			}
		}
		c.There += int64(len(seen))
		c.Lost += int64(len(records) - len(seen))
	}
	return c
}
