//go:build integration

package cmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// Brokers fail while kt accounts for every record. The faults of a cluster come one after the other, and
// each leaves it whole. No other test runs meanwhile: brokers have to come back before a load ends.
func TestEveryRecordIsAccountedForWhenBrokersFail(t *testing.T) {
	t.Run("nothing is lost", func(t *testing.T) {
		t.Parallel()
		k := startFailing(t)
		t.Run("with the client engine", k.nothingIsLost)
		t.Run("with the wire engine", k.wireLosesNothing)
	})
	t.Run("what is lost is found", func(t *testing.T) {
		t.Parallel()
		k := startFailing(t)
		t.Run("a study of a broker that goes down", k.brokerDownIsStudied)
		t.Run("an unclean election", k.uncleanElectionIsFoundOut)
		t.Run("what was read and cut off", k.whatWasCutOffIsLost)
	})
}

// startFailing starts three brokers that soon miss one of them.
func startFailing(t *testing.T) *kafkaCluster {
	t.Helper()
	return startCluster(t, 3, "--property", "broker.session.timeout.ms=6000", "--property", "replica.lag.time.max.ms=5000")
}

func (k *kafkaCluster) nothingIsLost(t *testing.T) {
	scripts, err := filepath.Abs("../scripts/kafka")
	if err != nil {
		t.Fatal(err)
	}
	fault := func(command string) string { return fmt.Sprintf("%s %s --name %s", scripts, command, k.name) }
	for _, tc := range []struct {
		name     string
		duration string
		moments  []string // at, exec, and so on
		args     []string
		events   []stats.EventKind
		check    func(t *testing.T, r result.Result, code int)
	}{
		{
			name: "kill -9 of a leader", duration: "55s",
			moments: []string{"3s", fault("kill 1"), "10s", fault("start 1")},
			events:  []stats.EventKind{stats.Exec, stats.BrokerGone, stats.LeaderMoved, stats.ISRShrank, stats.BrokerBack, stats.ISRGrew},
			check:   nothingFailed,
		},
		{
			name: "a broker that hangs", duration: "35s",
			moments: []string{"3s", fault("pause 2"), "14s", fault("resume 2")},
			events:  []stats.EventKind{stats.BrokerGone, stats.LeaderMoved, stats.BrokerBack},
			check:   nothingFailed,
		},
		{
			name: "a rolling restart", duration: "60s",
			moments: []string{"2s", strings.Join([]string{
				fault("stop 1"), fault("start 1"), fault("stop 2"), fault("start 2"), fault("stop 3"), fault("start 3"),
			}, " && ")},
			events: []stats.EventKind{stats.BrokerGone, stats.BrokerBack, stats.LeaderMoved},
			check:  nothingFailed,
		},
		{
			name: "all brokers down for longer than the delivery timeout", duration: "60s",
			moments: []string{"3s", fault("kill all"), "13s", fault("start all")},
			args:    []string{"--command-property", "delivery.timeout.ms=5000", "--command-property", "request.timeout.ms=3000", "--command-property", "max.block.ms=5000"},
			events:  []stats.EventKind{stats.BrokerGone, stats.FirstError, stats.FirstSuccess},
			check: func(t *testing.T, r result.Result, code int) {
				if r.Records.Failed == 0 || !ended(r, code, exitFailed) {
					t.Errorf("%d records failed, exit code %d: kt must count what the producer gave up", r.Records.Failed, code)
				}
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			topic := strings.ReplaceAll(tc.name, " ", "-")
			args := append([]string{
				"--topic", topic, "--partitions", "6", "--replication-factor", "3",
				"--topic-config", "min.insync.replicas=2", "--acks", "all", "--rate", "1000", "--duration", tc.duration,
				"--verify", "--timeout", "30s",
			}, tc.args...)
			for i := 0; i < len(tc.moments); i += 2 {
				args = append(args, "--at", tc.moments[i], "--exec", tc.moments[i+1])
			}
			run := k.in(t).kt("roundtrip", args...)
			r, code := run.wait()
			t.Logf("%s", run.stderr.String())
			v := r.Verify
			if v == nil {
				t.Fatal("no verdict")
			}
			t.Logf("records %+v, verdict %+v, outage %+v", r.Records, *v, r.Outage)
			if v.Lost != 0 || v.Corrupted != 0 || v.Reordered != 0 || v.Duplicated != 0 {
				t.Errorf("verdict %+v, want nothing wrong", *v)
			}
			if v.AcknowledgedRead != r.Records.Acknowledged {
				t.Errorf("%d of %d acknowledged records were read", v.AcknowledgedRead, r.Records.Acknowledged)
			}
			for _, kind := range tc.events {
				if !hasEvent(r, kind) {
					t.Errorf("no event %s in %+v", kind, r.Events)
				}
			}
			if r.Outage == nil {
				t.Error("no outage was seen")
			}
			least, most := r.Records.Acknowledged, r.Records.Offered
			if got := k.in(t).endOffsets(topic); got < least || got > most {
				t.Errorf("end offsets add up to %d, want from %d acknowledged to %d offered", got, least, most)
			}
			tc.check(t, r, code)
			k.in(t).script("start", "all")
		})
	}
}

func (k *kafkaCluster) wireLosesNothing(t *testing.T) {
	scripts, err := filepath.Abs("../scripts/kafka")
	if err != nil {
		t.Fatal(err)
	}
	fault := func(command string) string { return fmt.Sprintf("%s %s --name %s", scripts, command, k.name) }
	ledger := filepath.Join(t.TempDir(), "ledger")
	r, code := k.in(t).start("--engine", "wire", "--topic", "wire", "--partitions", "6", "--replication-factor", "3",
		"--topic-config", "min.insync.replicas=2", "--rate", "2000", "--duration", "60s", "--verify", "--ledger", ledger,
		"--at", "3s", "--exec", fault("kill 1"), "--at", "10s", "--exec", fault("start 1")).wait()
	nothingFailed(t, r, code)
	for _, kind := range []stats.EventKind{stats.BrokerGone, stats.LeaderMoved, stats.BrokerBack} {
		if !hasEvent(r, kind) {
			t.Errorf("no event %s in %+v", kind, r.Events)
		}
	}
	if r.Outage == nil {
		t.Error("no outage was seen")
	}
	k.in(t).script("start", "all")
	read, code := k.in(t).kt("consume", "--verify", ledger).wait()
	if v := read.Verify; v == nil || !v.Headers || !ended(read, code, exitOK) || v.AcknowledgedRead != r.Records.Acknowledged || v.Lost+v.Corrupted+v.Duplicated+v.Reordered != 0 {
		t.Errorf("exit code %d, verdict %+v", code, v)
	}
}

func nothingFailed(t *testing.T, r result.Result, code int) {
	t.Helper()
	if !ended(r, code, exitOK) || r.Records.Failed+r.Records.Unknown != 0 {
		t.Errorf("exit code %d, records %+v, errors %v", code, r.Records, r.Errors)
	}
}

// That nothing is lost means something only if kt finds what is: a follower that was
// away becomes the leader of what it never had.
func (k *kafkaCluster) uncleanElectionIsFoundOut(t *testing.T) {
	t.Run("by stamps", func(t *testing.T) { k.in(t).uncleanElection("unclean", "--acks", "1") })
	t.Run("by headers", func(t *testing.T) {
		k.in(t).uncleanElection("unclean-wire", "--acks", "all", "--engine", "wire", "--compression", "zstd")
	})
}

func (k *kafkaCluster) uncleanElection(topic string, args ...string) {
	t := k.t
	file := filepath.Join(t.TempDir(), "unclean.ledger")
	leader, follower := k.leaderAndFollower(topic)
	scripts, err := filepath.Abs("../scripts/kafka")
	if err != nil {
		t.Fatal(err)
	}
	run := k.start(append(args, "--topic", topic, "--rate", "1000", "--duration", "25s", "--verify", "--ledger", file,
		"--at", "3s", "--exec", fmt.Sprintf("%s pause %d --name %s", scripts, follower, k.name),
		"--at", "16s", "--exec", fmt.Sprintf("%s kill %d --name %s && %s resume %d --name %s", scripts, leader, k.name, scripts, follower, k.name))...)
	written, _ := run.wait()
	t.Logf("%s", run.stderr.String())
	if written.Records.Acknowledged == 0 {
		t.Fatal("nothing was acknowledged")
	}
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	k.script("start", fmt.Sprint(leader))
	check := k.kt("consume", "--verify", file)
	r, code := check.wait()
	t.Logf("%s", check.stderr.String())
	if r.Verify == nil || r.Verify.Lost == 0 || code != exitLost || len(r.Verify.Gaps) == 0 {
		t.Errorf("exit code %d, verdict %+v; want lost records, where they are, and exit code %d", code, r.Verify, exitLost)
	}
}

// A record that was acknowledged and read may be gone all the same. Two round trips and
// a consumer live through an unclean election; each must find what the log holds in the
// end, whatever it had read.
func (k *kafkaCluster) whatWasCutOffIsLost(t *testing.T) {
	k = k.in(t)
	dir := t.TempDir()
	topics := []string{"cut-acks-1", "cut-acks-all", "cut-replayed"}
	for _, topic := range topics {
		k.leaderAndFollower(topic)
	}
	ledgerOf := func(topic string) string { return filepath.Join(dir, topic+".ledger") }
	load := func(command, topic, acks string) *ktRun {
		return k.kt(command, "--topic", topic, "--acks", acks, "--rate", "1000", "--record-size", "100", "--duration", "3m",
			"--verify", "--ledger", ledgerOf(topic))
	}
	roundtrips := map[string]*ktRun{topics[0]: load("roundtrip", topics[0], "1"), topics[1]: load("roundtrip", topics[1], "all")}
	producer := load("produce", topics[2], "1")
	for _, topic := range topics {
		k.awaitEnd(topic, 1000)
	}
	k.script("kill", "2")
	ends := make(map[string]int64) // behind which only the leader has records
	for _, topic := range topics {
		k.await("one replica in sync in "+topic, func() bool { _, isr := k.leaderOf(topic); return len(isr) == 1 })
		ends[topic] = k.awaitEnd(topic, 0)
	}
	for _, topic := range topics {
		k.awaitEnd(topic, ends[topic]+2000)
	}
	producer.interrupt()
	producer.wait()
	all := k.awaitEnd(topics[2], 0)
	replay := k.kt("consume", "--verify", ledgerOf(topics[2]), "--timeout", "30s", "--rate", fmt.Sprint(all/20)) // it takes 20 s
	time.Sleep(6 * time.Second)                                                                                  // it has read what was in sync
	k.script("kill", "1")
	k.script("start", "2")
	for _, topic := range topics {
		k.await("another leader of "+topic, func() bool { leader, _ := k.leaderOf(topic); return leader == 2 })
		ends[topic] = k.awaitEnd(topic, 0)
	}
	for topic, run := range roundtrips {
		k.awaitEnd(topic, ends[topic])
		run.interrupt()
	}
	for topic, run := range roundtrips {
		lost := k.isLost(t, topic, run)
		again := k.isLost(t, topic+" read once more", k.kt("consume", "--verify", ledgerOf(topic)))
		if lost != again {
			t.Errorf("%s: %d records are lost, and a second reading finds %d", topic, lost, again)
		}
	}
	k.isLost(t, topics[2], replay)
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
	if v == nil {
		t.Fatalf("%s: no verdict, exit code %d\n%s", name, code, run.stderr.String())
	}
	t.Logf("%s: exit code %d, verdict %+v\n%s", name, code, *v, run.stderr.String())
	if code != exitLost || v.Lost == 0 || v.AcknowledgedRead == 0 || v.AcknowledgedRead+v.Lost != v.Acknowledged {
		t.Errorf("%s: exit code %d, %d acknowledged, %d of them read, %d lost and %d unchecked; want some lost, the rest read, and exit code %d",
			name, code, v.Acknowledged, v.AcknowledgedRead, v.Lost, v.Unchecked, exitLost)
	}
	return v.Lost
}

// leaderAndFollower makes a topic with one partition on two brokers, of which any may
// lead, and returns who does and who does not.
func (k *kafkaCluster) leaderAndFollower(topic string) (leader, follower int32) {
	k.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(k.brokers, ",")...))
	if err != nil {
		k.t.Fatal(err)
	}
	defer client.Close()
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
	answer, err := request.RequestWith(context.Background(), client)
	if err == nil {
		err = kerr.ErrorForCode(answer.Topics[0].ErrorCode)
	}
	if err != nil {
		k.t.Fatalf("create topic %s: %v", topic, err)
	}
	return 1, 2
}
