//go:build integration

package cmd

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// What is measured by the clock: no other test of cmd runs meanwhile.
func TestWhatIsMeasuredByTheClock(t *testing.T) {
	t.Run("the highest rate through a narrow connection is found", narrowConnectionIsFound)
	t.Run("the embedded broker stays below 512 MiB", embeddedBrokerStaysSmall)
}

// Brokers fail while kt accounts for every record. The faults come one after the other, and each leaves the cluster whole. A
// load goes on until its brokers are back. Its rate is low: brokers take CPU for each request, and the proof is as good.
func TestEveryRecordIsAccountedForWhenBrokersFail(t *testing.T) {
	t.Parallel()
	k := startCluster(t, 3, "--property", "broker.session.timeout.ms=6000", "--property", "replica.lag.time.max.ms=5000") // it soon misses one
	t.Run("nothing is lost", k.nothingIsLost)
	t.Run("a study of a broker that goes down", k.brokerDownIsStudied)
	t.Run("what was read and cut off is lost", k.whatWasCutOffIsLost)
}

func (k *kafkaCluster) nothingIsLost(t *testing.T) {
	scripts := must.Have(filepath.Abs("../scripts/kafka"))(t)
	fault := func(command string) string { return fmt.Sprintf("%s %s --name %s", scripts, command, k.name) }
	ledger := filepath.Join(t.TempDir(), "ledger")
	wire := k.kt("produce", "--engine", "wire", "--topic", "wire", "--partitions", "6", "--replication-factor", "3", "--topic-config", "min.insync.replicas=2",
		"--rate", "100", "--duration", "20m", "--verify", "--ledger", ledger)
	for _, tc := range []struct {
		name    string
		moments []string // at, exec, and so on
		args    []string
		events  []stats.EventKind
		fails   bool
	}{
		{
			name: "kill -9 of a leader, and a restart of each of the others",
			moments: []string{"3s", fault("kill 1"), "10s", strings.Join([]string{
				fault("start 1"), fault("stop 2"), fault("start 2"), fault("stop 3"), fault("start 3"),
			}, " && ")},
			events: []stats.EventKind{stats.Exec, stats.BrokerGone, stats.LeaderMoved, stats.ISRShrank, stats.BrokerBack, stats.ISRGrew},
		},
		{
			name:    "a broker that hangs",
			moments: []string{"2s", fault("pause 2"), "11s", fault("resume 2")},
			events:  []stats.EventKind{stats.BrokerGone, stats.LeaderMoved, stats.BrokerBack},
		},
		{
			name: "all brokers down for longer than the delivery timeout", fails: true,
			moments: []string{"2s", fault("kill all"), "10s", fault("start all")},
			args:    []string{"--command-property", "delivery.timeout.ms=5000", "--command-property", "request.timeout.ms=3000", "--command-property", "max.block.ms=5000"},
			events:  []stats.EventKind{stats.BrokerGone, stats.FirstError, stats.FirstSuccess},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.fails {
				k.in(t).wireLostNothing(wire, ledger)
			}
			topic, _, _ := strings.Cut(strings.ReplaceAll(tc.name, " ", "-"), ",")
			r := k.in(t).outlives(topic, tc.events, tc.moments, append(tc.args, "--acks", "all", "--rate", "100", "--timeout", "30s")...)
			v := r.Verify
			must.True(t, v != nil && v.Lost+v.Corrupted+v.Reordered+v.Duplicated == 0 && v.AcknowledgedRead == r.Records.Acknowledged,
				"records %+v, verdict %+v, want nothing wrong and all that was acknowledged read", r.Records, v)
			least, most := r.Records.Acknowledged, r.Records.Offered
			got := k.in(t).endOffsets(topic)
			must.True(t, got >= least && got <= most, "end offsets add up to %d, want from %d acknowledged to %d offered", got, least, most)
			if failed := r.Records.Failed > 0; failed != tc.fails || !tc.fails && r.Records.Unknown > 0 {
				t.Errorf("records %+v, errors %v: want some that failed: %t", r.Records, r.Errors, tc.fails)
			}
			k.in(t).script("start", "all")
		})
	}
}

// outlives makes a load on a topic of three replicas, during which brokers fail. It ends when all of them are back and kt
// has seen it.
func (k *kafkaCluster) outlives(topic string, events []stats.EventKind, moments []string, args ...string) result.Result {
	k.t.Helper()
	over := filepath.Join(k.t.TempDir(), "over")
	args = append(args, "--topic", topic, "--partitions", "6", "--replication-factor", "3", "--topic-config", "min.insync.replicas=2",
		"--duration", "20m", "--verify")
	moments[len(moments)-1] += " && touch " + over
	for i := 0; i < len(moments); i += 2 {
		args = append(args, "--at", moments[i], "--exec", moments[i+1])
	}
	run := k.kt("roundtrip", args...)
	k.await("the end of the faults", func() bool { _, err := os.Stat(over); return err == nil })
	k.await("all replicas in sync in "+topic, func() bool { _, isr := k.leaderOf(topic); return len(isr) == 3 })
	time.Sleep(4 * time.Second) // kt looks each second, and sends what waited
	run.interrupt()
	r, code := run.wait()
	must.True(k.t, code == exitInterrupted && r.Outage != nil,
		"exit code %d, outage %+v, records %+v, verdict %+v\n%s", code, r.Outage, r.Records, r.Verify, run.stderr.String())
	for _, kind := range events {
		must.True(k.t, hasEvent(r, kind), "no event %s in %+v", kind, r.Events)
	}
	return r
}

// wireLostNothing ends a load of the wire engine that has lived through the faults of others.
func (k *kafkaCluster) wireLostNothing(wire *ktRun, ledger string) {
	k.t.Helper()
	wire.interrupt()
	r, code := wire.wait()
	if code != exitInterrupted || r.Records.Failed+r.Records.Unknown != 0 || !hasEvent(r, stats.BrokerGone) || !hasEvent(r, stats.LeaderMoved) || !hasEvent(r, stats.BrokerBack) {
		k.t.Errorf("exit code %d, records %+v, errors %v, events %+v", code, r.Records, r.Errors, r.Events)
	}
	read, code := k.kt("consume", "--verify", ledger).wait()
	if v := read.Verify; v == nil || !v.Headers || !ended(read, code, exitOK) || v.AcknowledgedRead != r.Records.Acknowledged || v.Lost+v.Corrupted+v.Duplicated+v.Reordered != 0 {
		k.t.Errorf("exit code %d, verdict %+v", code, v)
	}
}

// That nothing is lost means something only if kt finds what is: a follower that was away becomes the leader of what it
// never had. A record that was acknowledged and read may be gone all the same. Four round trips, two producers and a
// consumer live through an unclean election; each must find what the log holds in the end, whatever it had read.
func (k *kafkaCluster) whatWasCutOffIsLost(t *testing.T) {
	k = k.in(t)
	dir := t.TempDir()
	topics := []string{"cut-acks-1", "cut-acks-all", "cut-wire", "cut-replayed", "cut-group", "cut-share"}
	share := []string{"--group-protocol", "share", "--timeout", "30s"}
	for _, topic := range topics {
		k.leaderAndFollower(topic)
	}
	ledgerOf := func(topic string) string { return filepath.Join(dir, topic+".ledger") }
	load := func(command, topic, acks string, args ...string) *ktRun {
		return k.kt(command, append(args, "--topic", topic, "--acks", acks, "--rate", "100", "--record-size", "100", "--duration", "20m",
			"--verify", "--ledger", ledgerOf(topic))...)
	}
	loads := map[string]*ktRun{
		topics[0]: load("roundtrip", topics[0], "1"), topics[1]: load("roundtrip", topics[1], "all"),
		topics[2]: load("produce", topics[2], "all", "--engine", "wire", "--compression", "zstd"),
		topics[4]: load("roundtrip", topics[4], "1", "--group", "cut"), topics[5]: load("roundtrip", topics[5], "1", share...),
	}
	producer := load("produce", topics[3], "1")
	for _, topic := range topics {
		k.awaitEnd(topic, 100)
	}
	k.script("kill", "2")
	ends := make(map[string]int64) // behind which only the leader has records
	for _, topic := range topics {
		k.await("one replica in sync in "+topic, func() bool { _, isr := k.leaderOf(topic); return len(isr) == 1 })
		ends[topic] = k.awaitEnd(topic, 0)
	}
	for _, topic := range topics {
		k.awaitEnd(topic, ends[topic]+200)
	}
	producer.interrupt()
	producer.wait()
	all := k.awaitEnd(topics[3], 0)
	// It has fetched all at once, but takes 40 s: another leads when it comes to the end.
	replay := k.kt("consume", "--verify", ledgerOf(topics[3]), "--timeout", "1m", "--rate", fmt.Sprint(all/40))
	time.Sleep(12 * time.Second) // it has read what was in sync
	k.script("kill", "1")
	k.script("start", "2")
	for _, topic := range topics {
		k.await("another leader of "+topic, func() bool { leader, _ := k.leaderOf(topic); return leader == 2 })
		ends[topic] = k.awaitEnd(topic, 0)
	}
	for topic, run := range loads {
		k.awaitEnd(topic, ends[topic])
		run.interrupt()
	}
	for topic, run := range loads {
		again := func() int64 {
			return k.isLost(t, topic+" read once more", k.kt("consume", "--verify", ledgerOf(topic)))
		}
		switch topic {
		case topics[2]: // which only its ledger tells of
			run.wait()
			again()
			continue
		case topics[5]: // its group would not get the rest again
			r, code := run.wait()
			must.True(t, code != exitOK && r.Verify != nil && r.Verify.AcknowledgedRead == 0 && r.Verify.Unchecked == r.Verify.Acknowledged,
				"%s: exit code %d, verdict %+v\n%s", topic, code, r.Verify, run.stderr.String())
			k.isLost(t, topic+" read by another group", k.kt("consume", append(share, "--group", "another", "--verify", ledgerOf(topic))...))
			continue
		}
		if lost, again := k.isLost(t, topic, run), again(); lost != again {
			t.Errorf("%s: %d records are lost, and a second reading finds %d", topic, lost, again)
		}
	}
	k.isLost(t, topics[3], replay)
	k.script("start", "1")
}

// awaitEnd waits until a topic goes on behind an offset, and returns its end.
func (k *kafkaCluster) awaitEnd(topic string, offset int64) (end int64) {
	k.t.Helper()
	k.await(fmt.Sprintf("records behind offset %d of %s", offset, topic), func() bool {
		n, err := k.tryEndOffsets(topic)
		end = n
		return err == nil && end > offset
	})
	return end
}

// isLost checks that a run found lost records, and accounts for all, and returns how many.
func (k *kafkaCluster) isLost(t *testing.T, name string, run *ktRun) int64 {
	t.Helper()
	r, code := run.wait()
	v := r.Verify
	must.Hold(t, v != nil, "%s: no verdict, exit code %d\n%s", name, code, run.stderr.String())
	t.Logf("%s: exit code %d, verdict %+v\n%s", name, code, *v, run.stderr.String())
	if code != exitLost || v.Lost == 0 || len(v.Gaps) == 0 || v.AcknowledgedRead == 0 || v.AcknowledgedRead+v.Lost != v.Acknowledged {
		t.Errorf("%s: exit code %d, %d acknowledged, %d of them read, %d lost and %d unchecked; want some lost, the rest read, and exit code %d",
			name, code, v.Acknowledged, v.AcknowledgedRead, v.Lost, v.Unchecked, exitLost)
	}
	return v.Lost
}

// leaderAndFollower makes a topic with one partition that broker 1 leads, 2 follows, and any of both may lead.
func (k *kafkaCluster) leaderAndFollower(topic string) {
	k.t.Helper()
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, -1, -1 // the assignment says both
	assignment := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
	assignment.Replicas = []int32{1, 2}
	t.ReplicaAssignment = append(t.ReplicaAssignment, assignment)
	for name, value := range map[string]string{"unclean.leader.election.enable": "true", "min.insync.replicas": "1"} {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = name, &value
		t.Configs = append(t.Configs, c)
	}
	request := kmsg.NewPtrCreateTopicsRequest()
	request.Topics = append(request.Topics, t)
	answer, err := request.RequestWith(k.t.Context(), k.client())
	if err == nil {
		err = kerr.ErrorForCode(answer.Topics[0].ErrorCode)
	}
	must.Hold(k.t, err == nil, "create topic %s: %v", topic, err)
}

// The log directory of a broker is a disk of 200 MiB, which a load fills in seconds.
func TestALoadOnASmallDisk(t *testing.T) {
	t.Parallel()
	k := startCluster(t, 1, "--log-dirs", loopFolder(t, 200<<20))
	fill := []string{"--record-size", "10000", "--rate", "20MiB/s", "--acks", "1"}
	t.Run("it ends in good order", func(t *testing.T) {
		r, code := k.in(t).kt("produce", append(fill, "--topic", "small", "--stop-at-disk", "60%", "--duration", "5m")...).wait()
		must.True(t, ended(r, code, exitOK) && r.Ended == result.DiskFull && r.Records.Failed+r.Records.Unknown == 0 && hasEvent(r, stats.LogDirFull),
			"exit code %d, ended %q, records %+v, events %+v", code, r.Ended, r.Records, r.Events)
	})
	// The topic of the first load stays, so that a slow machine fills the rest in time.
	t.Run("it goes on until the disk is full", func(t *testing.T) {
		r, code := k.in(t).kt("produce", append(fill, "--topic", "full", "--until-full", "--duration", "14s",
			"--command-property", "delivery.timeout.ms=5000", "--command-property", "request.timeout.ms=3000")...).wait()
		full := hasEvent(r, stats.LogDirFull) || hasEvent(r, stats.LogDirFailed)
		must.True(t, ended(r, code, exitFailed) && r.Ended == result.Completed && full && r.Records.Failed != 0 && r.Records.Acknowledged != 0,
			"exit code %d, ended %q, records %+v, errors %v, events %+v", code, r.Ended, r.Records, r.Errors, r.Events)
		t.Logf("errors %v, brokers %+v, events %+v", r.Errors, r.Brokers, r.Events)
	})
}

// loopFolder returns a folder on an ext4 file system of that many bytes.
func loopFolder(t *testing.T, size int64) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root: mounts a loop device")
	}
	image, err := os.Create(filepath.Join(t.TempDir(), "image"))
	if err == nil {
		err = image.Truncate(size)
	}
	must.Hold(t, err == nil, "%v", err)
	_ = image.Close() // nothing was written
	dir := t.TempDir()
	for _, command := range []string{"mkfs.ext4 -q -m 0 " + image.Name(), "mount -o loop " + image.Name() + " " + dir} {
		words := strings.Fields(command)
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Skipf("%s: %v: %s", command, err, out)
		}
	}
	t.Cleanup(func() {
		out, err := exec.Command("umount", dir).CombinedOutput()
		must.True(t, err == nil, "umount %s: %v: %s", dir, err, out)
	})
	return dir
}

// isExamined checks what kt doctor finds on a real broker, and that it leaves nothing.
func (k *kafkaCluster) isExamined(t *testing.T) {
	doc, code := k.doctor(t)
	for _, c := range doc.Checks {
		must.True(t, c.State == "pass" || c.Name == "round trip", "%+v", c) // this machine may be busy
	}
	must.True(t, doc.Healthy && code == exitOK && len(doc.Checks) >= 17, "exit code %d: %+v", code, doc)

	admin := k.admin()
	never, name := "2", "kt-producer"
	must.Have(admin.CreateTopic(t.Context(), 1, 1, map[string]*string{"min.insync.replicas": &never}, "unfit"))(t)
	quota := func(op kadm.AlterClientQuotaOp) {
		entity := kadm.ClientQuotaEntity{{Type: "client-id", Name: &name}}
		must.Have(admin.AlterClientQuotas(context.Background(), []kadm.AlterClientQuotaEntry{{Entity: entity, Ops: []kadm.AlterClientQuotaOp{op}}}))(t)
	}
	quota(kadm.AlterClientQuotaOp{Key: "producer_byte_rate", Value: 1 << 30})
	defer quota(kadm.AlterClientQuotaOp{Key: "producer_byte_rate", Remove: true})
	doc, code = k.doctor(t, "--topic", "unfit", "--read-only")
	found := make(map[string]string)
	for _, c := range doc.Checks {
		found[c.Name] = c.State + ": " + c.Text
	}
	if code != exitOK || !strings.HasPrefix(found["settings"], "pass: min.insync.replicas 2 with 1 replica") || !strings.HasPrefix(found["quotas"], "warning: producer_byte_rate") {
		t.Errorf("exit code %d: %v", code, found)
	}

	topics := must.Have(admin.ListTopics(t.Context()))(t)
	groups := must.Have(admin.ListGroups(t.Context()))(t)
	for _, name := range append(topics.Names(), groups.Groups()...) {
		must.True(t, !strings.HasPrefix(name, "kt-doctor-"), "%s is left", name)
	}
}

// doctor runs kt doctor on the cluster.
func (k *kafkaCluster) doctor(t *testing.T, args ...string) (report.DoctorDocument, int) {
	t.Helper()
	out, stderr, code := ran(t, ktIn(t, t.TempDir(), append([]string{"doctor", "--bootstrap-server", k.brokers, "--output", "json"}, args...)...))
	return decoded[report.DoctorDocument](t, out, stderr), code
}
