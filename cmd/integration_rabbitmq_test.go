//go:build integration

package cmd

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

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

// ask opens a channel to the server for one question, which may end it. rabbitmqctl takes seconds of CPU for each.
func (r *rabbit) ask(question func(ch *amqp.Channel) error) error {
	r.t.Helper()
	text, err := os.ReadFile(r.config)
	if err != nil {
		r.t.Fatal(err)
	}
	password := regexp.MustCompile(`(?m)^url\.password=(.*)$`).FindSubmatch(text)
	address, _, _ := strings.Cut(strings.Replace(r.url, "@", ":"+string(password[1])+"@", 1), "?")
	conn, err := amqp.DialTLS(address, &tls.Config{InsecureSkipVerify: true}) // loopback, and a server of this test
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // all was answered
	ch, err := conn.Channel()
	if err != nil {
		r.t.Fatal(err)
	}
	return question(ch)
}

// messages returns how many messages the queues of a topic hold, as the server says.
func (r *rabbit) messages(topic string) (queues int, sum int64) {
	r.t.Helper()
	for {
		err := r.ask(func(ch *amqp.Channel) error {
			q, err := ch.QueueDeclarePassive(topic+"-"+strconv.Itoa(queues), true, false, false, false, nil)
			sum += int64(q.Messages)
			return err
		})
		if err != nil {
			return queues, sum // there is no other
		}
		queues++
	}
}

// remove removes a queue, or only its messages.
func (r *rabbit) remove(queue string, whole bool) {
	r.t.Helper()
	err := r.ask(func(ch *amqp.Channel) (err error) {
		if whole {
			_, err = ch.QueueDelete(queue, false, false, false)
		} else {
			_, err = ch.QueuePurge(queue, false)
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func TestLoadsOnRabbitMQ(t *testing.T) {
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
		r.remove("kept-1", false)
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
		r.remove("unbound-1", true)
		run := r.kt(t, "produce", "--topic", "unbound", "--num-records", "100")
		if doc, _ := run.wait(); doc.Records.Acknowledged != 100 { // of the one queue that is left
			t.Errorf("%+v, %v", doc.Records, doc.Errors)
		}
		run = r.kt(t, "produce", "--topic", "returned", "--partitions", "2", "--rate", "500", "--duration", "6s")
		for queues := 0; queues < 2; time.Sleep(100 * time.Millisecond) {
			queues, _ = r.messages("returned")
		}
		r.remove("returned-1", true)
		doc, code := run.wait()
		if !ended(doc, code, exitFailed) || doc.Errors["NO_ROUTE"] == 0 || doc.Errors["NO_ROUTE"] != doc.Records.Failed {
			t.Errorf("exit code %d, %+v, %v, want NO_ROUTE", code, doc.Records, doc.Errors)
		}
	})

	t.Run("an alarm holds messages back, and a killed node loses none that it has confirmed", func(t *testing.T) {
		run := r.kt(t, "roundtrip", "--topic", "faults", "--partitions", "2", "--rate", "500", "--duration", "5m", "--verify", "--timeout", "30s", "--delete-topic")
		for _, fault := range [][]string{
			{"ctl", "set_vm_memory_high_watermark", "0.00001"}, {"ctl", "set_vm_memory_high_watermark", "0.4"}, {"kill", "1"}, {"start", "1"},
		} {
			time.Sleep(2 * time.Second) // of load
			r.script(fault[0], fault[1:]...)
		}
		time.Sleep(5 * time.Second) // it is connected again after 2 s at most
		if err := run.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		doc, code := run.wait()
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
