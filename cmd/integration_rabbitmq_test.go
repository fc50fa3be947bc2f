//go:build integration

package cmd

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/stats"
)

// rabbit is a real RabbitMQ that lives as long as its test.
type rabbit struct {
	t                 *testing.T
	name, url, config string
}

func startRabbit(t *testing.T, args ...string) *rabbit {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("scripts/rabbitmq runs Debian's package")
	}
	port := nextPort()
	r := &rabbit{t: t, name: "it-" + strconv.Itoa(port)}
	t.Cleanup(func() { r.script("down") })
	r.url = r.script("up", append([]string{"--port", strconv.Itoa(port)}, args...)...)
	r.config = r.script("client-config")
	return r
}

// script runs a command of scripts/rabbitmq on this cluster.
func (r *rabbit) script(command string, args ...string) string {
	r.t.Helper()
	c := exec.Command("../scripts/rabbitmq", append([]string{command, "--name", r.name}, args...)...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		r.t.Fatalf("scripts/rabbitmq %s %v: %v\n%s", command, args, err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// fault returns a command for --exec.
func (r *rabbit) fault(command ...string) string {
	script, err := filepath.Abs("../scripts/rabbitmq")
	if err != nil {
		r.t.Fatal(err)
	}
	return fmt.Sprintf("%s %s --name %s %s", script, command[0], r.name, strings.Join(command[1:], " "))
}

// kt starts a command of kt.
func (r *rabbit) kt(t *testing.T, command string, args ...string) *ktRun {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	run := &ktRun{t: t}
	args = append([]string{command, "--url", r.url, "--command-config", r.config, "--result", "none", "--output", "json"}, args...)
	run.cmd = exec.Command(path, args...)
	run.cmd.Stdout, run.cmd.Stderr = &run.stdout, &run.stderr
	if err := run.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return run
}

// messages returns how many messages the queues of a topic hold, as the server says.
func (r *rabbit) messages(topic string) (queues int, sum int64) {
	r.t.Helper()
	for line := range strings.Lines(r.script("ctl", "list_queues", "--no-table-headers", "name", "messages")) {
		name, count, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if n, err := strconv.ParseInt(count, 10, 64); err == nil && strings.HasPrefix(name, topic+"-") {
			queues, sum = queues+1, sum+n
		}
	}
	return queues, sum
}

func TestLoadsOnRabbitMQ(t *testing.T) {
	t.Parallel()
	r := startRabbit(t, "--tls")

	t.Run("what was acknowledged is in the queues, and what is taken from them is missed", func(t *testing.T) {
		ledger := filepath.Join(t.TempDir(), "kept.ledger")
		doc, code := r.kt(t, "produce", "--topic", "kept", "--partitions", "3", "--num-records", "3000", "--rate", "3000", "--verify", "--ledger", ledger).wait()
		if !ended(doc, code, exitOK) || doc.Records.Acknowledged != 3000 {
			t.Fatalf("exit code %d, %+v, %v", code, doc.Records, doc.Errors)
		}
		if queues, n := r.messages("kept"); queues != 3 || n != 3000 {
			t.Errorf("%d queues hold %d messages, want 3 and 3000", queues, n)
		}
		r.script("ctl", "purge_queue", "kept-1")
		doc, code = r.kt(t, "consume", "--topic", "kept", "--verify", ledger).wait()
		if code != exitLost || doc.Verify == nil || doc.Verify.Lost != 1000 || doc.Verify.AcknowledgedRead != 2000 {
			t.Errorf("exit code %d, %+v, want 1000 lost", code, doc.Verify)
		}
		if _, n := r.messages("kept"); n != 0 {
			t.Errorf("the queues hold %d messages, want none", n)
		}
	})

	t.Run("messages without a queue are returned", func(t *testing.T) {
		r.kt(t, "produce", "--topic", "unbound", "--partitions", "2", "--num-records", "2").wait()
		r.script("ctl", "delete_queue", "unbound-1")
		run := r.kt(t, "produce", "--topic", "unbound", "--num-records", "100")
		if doc, _ := run.wait(); doc.Records.Acknowledged != 100 { // of the one queue that is left
			t.Errorf("%+v, %v", doc.Records, doc.Errors)
		}
		run = r.kt(t, "produce", "--topic", "returned", "--partitions", "2", "--rate", "500", "--duration", "6s", "--at", "2s", "--exec", r.fault("ctl", "delete_queue", "returned-1"))
		doc, code := run.wait()
		if !ended(doc, code, exitFailed) || doc.Errors["NO_ROUTE"] == 0 || doc.Errors["NO_ROUTE"] != doc.Records.Failed {
			t.Errorf("exit code %d, %+v, %v, want NO_ROUTE", code, doc.Records, doc.Errors)
		}
	})

	t.Run("an alarm holds messages back, and a killed node loses none that it has confirmed", func(t *testing.T) {
		doc, code := r.kt(t, "roundtrip", "--topic", "faults", "--partitions", "2", "--rate", "500", "--duration", "18s", "--verify", "--timeout", "30s", "--delete-topic",
			"--at", "1s", "--exec", r.fault("ctl", "set_vm_memory_high_watermark", "0.00001"), "--at", "4s", "--exec", r.fault("ctl", "set_vm_memory_high_watermark", "0.4"),
			"--at", "8s", "--exec", r.fault("kill", "1")+" && "+r.fault("start", "1")).wait()
		for _, kind := range []stats.EventKind{stats.AlarmOn, stats.AlarmOff, stats.BrokerGone, stats.BrokerBack} {
			if !hasEvent(doc, kind) {
				t.Errorf("no event %s in %+v", kind, doc.Events)
			}
		}
		if v := doc.Verify; v == nil || v.Lost+v.Corrupted+v.Reordered+v.Duplicated != 0 || v.AcknowledgedRead != doc.Records.Acknowledged {
			t.Errorf("exit code %d, %+v, verdict %+v", code, doc.Records, v)
		}
		if queues, _ := r.messages("faults"); queues != 0 {
			t.Errorf("%d queues are left", queues)
		}
	})
}

func TestQuorumQueuesOfThreeNodes(t *testing.T) {
	t.Parallel()
	r := startRabbit(t, "--nodes", "3")
	doc, code := r.kt(t, "roundtrip", "--topic", "quorum", "--partitions", "3", "--replication-factor", "3", "--rate", "300", "--duration", "20s", "--verify", "--timeout", "30s",
		"--at", "3s", "--exec", r.fault("kill", "2"), "--at", "10s", "--exec", r.fault("start", "2")).wait()
	for _, kind := range []stats.EventKind{stats.BrokerGone, stats.LeaderMoved} {
		if !hasEvent(doc, kind) {
			t.Errorf("no event %s in %+v", kind, doc.Events)
		}
	}
	top := doc.Environment.Topic
	if v := doc.Verify; v == nil || v.Lost+v.Corrupted+v.Reordered+v.Duplicated != 0 || top.ReplicationFactor != 3 || len(doc.Environment.Cluster.Brokers) != 3 {
		t.Errorf("exit code %d, %+v, verdict %+v, topic %+v", code, doc.Records, v, top)
	}
}
