//go:build integration

package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// Brokers fail while kt accounts for every record. The faults share one cluster, and
// each leaves it whole.
func TestEveryRecordIsAccountedForWhenBrokersFail(t *testing.T) {
	t.Parallel()
	k := startCluster(t, 3, 31292, "--property", "broker.session.timeout.ms=6000", "--property", "replica.lag.time.max.ms=5000")
	t.Run("nothing is lost", k.nothingIsLost)
	t.Run("an unclean election is found out", k.uncleanElectionIsFoundOut)
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
			name: "kill -9 of a leader", duration: "45s",
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

func nothingFailed(t *testing.T, r result.Result, code int) {
	t.Helper()
	if !ended(r, code, exitOK) || r.Records.Failed+r.Records.Unknown != 0 {
		t.Errorf("exit code %d, records %+v, errors %v", code, r.Records, r.Errors)
	}
}

// That nothing is lost means something only if kt finds what is: a follower that was
// away becomes the leader of what it never had.
func (k *kafkaCluster) uncleanElectionIsFoundOut(t *testing.T) {
	k = k.in(t)
	file := filepath.Join(t.TempDir(), "unclean.ledger")
	leader, follower := k.leaderAndFollower("unclean")
	scripts, err := filepath.Abs("../scripts/kafka")
	if err != nil {
		t.Fatal(err)
	}
	run := k.start("--topic", "unclean", "--acks", "1", "--rate", "1000", "--duration", "25s", "--verify", "--ledger", file,
		"--at", "3s", "--exec", fmt.Sprintf("%s pause %d --name %s", scripts, follower, k.name),
		"--at", "16s", "--exec", fmt.Sprintf("%s kill %d --name %s && %s resume %d --name %s", scripts, leader, k.name, scripts, follower, k.name))
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

// leaderAndFollower makes a topic with one partition on two brokers, of which any may
// lead, and returns who does and who does not.
func (k *kafkaCluster) leaderAndFollower(topic string) (leader, follower int32) {
	k.t.Helper()
	const partition = "1:2"
	k.script("tool", "TopicCommand", "--bootstrap-server", k.brokers, "--create", "--topic", topic,
		"--replica-assignment", partition, "--config", "unclean.leader.election.enable=true", "--config", "min.insync.replicas=1")
	return 1, 2
}
