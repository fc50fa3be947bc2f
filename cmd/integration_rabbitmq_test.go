//go:build integration

package cmd

import (
	"bufio"
	"crypto/tls"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/study"
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
	return script(r.t, "rabbitmq", command, r.name, args...)
}

// kt starts a command of kt.
func (r *rabbit) kt(t *testing.T, command string, args ...string) *ktRun {
	t.Helper()
	return startKt(t, command, append([]string{"--url", r.url, "--command-config", r.config}, args...)...)
}

// ask opens a channel to the server for one question, which may end it. rabbitmqctl takes seconds of CPU for each.
func (r *rabbit) ask(question func(ch *amqp.Channel) error) error {
	r.t.Helper()
	text := must.Have(os.ReadFile(r.config))(r.t)
	password := regexp.MustCompile(`(?m)^url\.password=(.*)$`).FindSubmatch(text)
	address, _, _ := strings.Cut(strings.Replace(r.url, "@", ":"+string(password[1])+"@", 1), "?")
	conn, err := amqp.DialTLS(address, &tls.Config{InsecureSkipVerify: true}) // loopback, and a server of this test
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // all was answered
	ch := must.Have(conn.Channel())(r.t)
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
	must.Do(r.t, r.ask(func(ch *amqp.Channel) (err error) {
		if whole {
			_, err = ch.QueueDelete(queue, false, false, false)
		} else {
			_, err = ch.QueuePurge(queue, false)
		}
		return err
	}))
}

// carriesLoads makes loads on a node with TLS, which is killed at the end.
func (r *rabbit) carriesLoads(t *testing.T) {
	r = &rabbit{t: t, name: r.name, url: r.url, config: r.config}
	t.Run("what was acknowledged is in the queues, and what is taken from them is missed", func(t *testing.T) {
		ledger := filepath.Join(t.TempDir(), "kept.ledger")
		doc, code := r.kt(t, "produce", "--topic", "kept", "--partitions", "3", "--num-records", "3000", "--rate", "3000", "--verify", "--ledger", ledger).wait()
		if !ended(doc, code, exitOK) || doc.Records.Acknowledged != 3000 {
			t.Fatalf("exit code %d, %+v, %v", code, doc.Records, doc.Errors)
		}
		if queues, n := r.messages("kept"); queues != 3 || n != 3000 {
			t.Errorf("%d queues hold %d messages, want 3 and 3000", queues, n)
		}
		if !isOffered(t, "kept", r.url, r.config) {
			t.Error("the topic is not offered to a shell")
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

	t.Run("without confirms every message that is written counts", func(t *testing.T) {
		doc, code := r.kt(t, "produce", "--topic", "unconfirmed", "--partitions", "2", "--num-records", "1000", "--acks", "0").wait()
		if !ended(doc, code, exitOK) || doc.Records.Acknowledged != 1000 {
			t.Fatalf("exit code %d, %+v, %v", code, doc.Records, doc.Errors)
		}
		doc, code = r.kt(t, "consume", "--topic", "unconfirmed", "--command-property", "auto.ack=true").wait()
		if _, left := r.messages("unconfirmed"); !ended(doc, code, exitOK) || doc.Records.Consumed != 1000 || left != 0 {
			t.Errorf("exit code %d, %+v, and %d messages are left", code, doc.Records, left)
		}
	})

	t.Run("the topic of a study is deleted, whole or in part", func(t *testing.T) {
		const topic = "kt-study-it-1"
		r.kt(t, "produce", "--topic", topic, "--partitions", "3", "--num-records", "10").wait()
		r.remove(topic+"-2", true) // as by a deletion that was cut off
		at := study.Load{Command: "produce", Flags: []study.Flag{{Name: "url", Value: r.url}, {Name: "command-config", Value: r.config}}, Typed: []study.Flag{{Name: "url", Value: r.url}, {Name: "command-config", Value: r.config}}}
		for range 2 {
			must.Do(t, load.NewRunner(quietEnv().maker()).DeleteTopic(t.Context(), at, topic))
		}
		exchange := r.ask(func(ch *amqp.Channel) error {
			return ch.ExchangeDeclarePassive(topic, amqp.ExchangeDirect, true, false, false, false, nil)
		})
		if queues, _ := r.messages(topic); queues > 0 || exchange == nil {
			t.Errorf("%d queues are left; the exchange: %v", queues, exchange)
		}
	})

	t.Run("an agent makes the load with its own password", func(t *testing.T) {
		path := must.Have(binary())(t)
		at := "127.0.0.1:" + strconv.Itoa(nextPort())
		agent := exec.Command(path, "agent", "--name", "loads", "--bind", at, "--command-config", r.config, "--allow-broker", "127.0.0.1")
		agent.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir())
		stderr, err := agent.StderrPipe()
		if err == nil {
			err = agent.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(stderr); lines.Scan() && !strings.Contains(lines.Text(), "listens on"); {
		}
		doc, code := r.kt(t, "produce", "--on", "loads", "--peers", at, "--topic", "remote", "--num-records", "500").wait()
		if !ended(doc, code, exitOK) || doc.Records.Acknowledged != 500 {
			t.Errorf("exit code %d, %+v", code, doc.Records)
		}
		_ = agent.Process.Signal(os.Interrupt) // it may have ended
		_ = agent.Wait()                       // as it ends is not the point
	})

	t.Run("a full disk holds messages back, and each that waits too long fails", func(t *testing.T) {
		run := r.kt(t, "produce", "--topic", "full", "--rate", "200", "--duration", "5m", "--command-property", "delivery.timeout.ms=500")
		for _, limit := range []string{"999999GB", "50MB"} {
			time.Sleep(3 * time.Second) // of load
			r.script("ctl", "set_disk_free_limit", limit)
		}
		time.Sleep(7 * time.Second) // an alarm is over when nothing was blocked for seconds
		run.interrupt()
		doc, code := run.wait()
		records, blocked := doc.Records, doc.Errors["client:connection blocked"]
		if code != exitInterrupted || blocked == 0 || records.Failed != blocked || records.Acknowledged+records.Failed != records.Offered {
			t.Errorf("exit code %d, %+v, %v, want messages that were blocked", code, records, doc.Errors)
		}
		if _, n := r.messages("full"); n != records.Acknowledged {
			t.Errorf("the queue holds %d messages, and %d were acknowledged", n, records.Acknowledged)
		}
		on := slices.ContainsFunc(doc.Events, func(e result.Event) bool { return e.Kind == stats.AlarmOn && strings.Contains(e.Text, "disk") })
		if doc.BoundBy.Limit != verdict.Throttle && doc.Valid {
			t.Errorf("the limit is %+v", doc.BoundBy)
		}
		flow := slices.ContainsFunc(doc.Events, func(e result.Event) bool { return e.Kind == stats.AlarmOn && strings.Contains(e.Text, "credit flow") })
		if !on || !hasEvent(doc, stats.AlarmOff) && !flow { // a node that catches up may throttle kt to the end
			t.Errorf("no alarm of the disk, or not its end, in %+v", doc.Events)
		}
	})

	t.Run("a killed node loses none that it has confirmed", func(t *testing.T) {
		run := r.kt(t, "roundtrip", "--topic", "faults", "--partitions", "2", "--rate", "500", "--duration", "5m", "--verify", "--timeout", "30s", "--delete-topic")
		for _, fault := range []string{"kill", "start"} {
			time.Sleep(2 * time.Second) // of load
			r.script(fault, "1")
		}
		time.Sleep(5 * time.Second) // it is connected again after 2 s at most
		run.interrupt()
		doc, code := run.wait()
		for _, kind := range []stats.EventKind{stats.BrokerGone, stats.BrokerBack} {
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
	run := r.kt(t, "roundtrip", "--topic", "quorum", "--partitions", "3", "--replication-factor", "3", "--rate", "300", "--duration", "5m", "--verify", "--timeout", "30s")
	for _, fault := range []string{"kill", "start"} {
		time.Sleep(4 * time.Second) // of load
		r.script(fault, "2")
	}
	time.Sleep(3 * time.Second)
	run.interrupt()
	doc, code := run.wait()
	for _, kind := range []stats.EventKind{stats.BrokerGone, stats.LeaderMoved} {
		if !hasEvent(doc, kind) {
			t.Errorf("no event %s in %+v", kind, doc.Events)
		}
	}
	top := doc.Environment.Topic
	if v := doc.Verify; v == nil || v.Lost+v.Corrupted+v.Reordered+v.Duplicated != 0 || top.ReplicationFactor != 3 || len(doc.Environment.Cluster.Brokers) != 3 {
		t.Errorf("exit code %d, %+v, verdict %+v, topic %+v", code, doc.Records, v, top)
	}
	silent := *r
	address, _, _ := strings.Cut(r.url, "?")
	silent.url = address + "?admin=http://127.0.0.1:9" // where nobody listens
	doc, code = silent.kt(t, "produce", "--topic", "quorum", "--num-records", "10").wait()
	if n := doc.Environment.Topic.ReplicationFactor; !ended(doc, code, exitOK) || doc.Records.Acknowledged != 10 || n != 0 {
		t.Errorf("exit code %d, %+v; without the management API the queues have %d members, want 0: not known", code, doc.Records, n)
	}
}
