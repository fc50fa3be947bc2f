//go:build integration

package cmd

import (
	"crypto/tls"
	"encoding/json"
	"os"
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
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/study"
)

// isOffered reports whether a shell offers a topic of a system. A busy machine may need several tries.
func isOffered(t *testing.T, topic, url, clientConfig string) bool {
	t.Helper()
	for range 20 {
		out, err := ktIn(t, t.TempDir(), "__complete", "consume", "--url", url, "--command-config", clientConfig, "--topic", "").Output()
		if err == nil && slices.Contains(strings.Split(string(out), "\n"), topic) {
			return true
		}
	}
	return false
}

func TestLoadsOnThreeSystems(t *testing.T) {
	t.Parallel()
	r := startRabbit(t, "--tls")
	p := &pulsarServer{startQueues(t, "pulsar", "--token", "--tls", "--property", "backlogQuotaCheckIntervalInSeconds=1")}
	t.Run("they are compared", func(t *testing.T) { areCompared(t, r, p) })
	t.Run("on RabbitMQ", func(t *testing.T) {
		t.Parallel()
		r.carriesLoads(t)
	})
	t.Run("on Pulsar", func(t *testing.T) {
		t.Parallel()
		p.carriesLoads(t)
	})
}

// areCompared makes one load on Kafka, RabbitMQ and Pulsar, by the named study in its shortest form: the searches walk a
// ladder of one rate.
func areCompared(t *testing.T, r *rabbit, p *pulsarServer) {
	k := startCluster(t, 1)
	text := must.Have(studyText("three-systems"))(t)
	file := filepath.Join(t.TempDir(), "short.yaml")
	text = regexp.MustCompile(`find: \{.*\}`).ReplaceAll(text, []byte("find: {ladder: [300]}"))
	must.Do(t, os.WriteFile(file, text, 0o600))
	state := t.TempDir()
	out, stderr, code := ran(t, ktIn(t, state, "study", "run", file, "--quiet", "--output", "json",
		"--set", "kafka=kafka://"+k.brokers, "--set", "rabbitmq="+r.url, "--set", "pulsar="+p.url, "--set", "pulsar-unflushed="+p.url,
		"--set", "replicas=1", "--set", "stop=true", "--set", "start=true", "--set", "kafka-config=default", "--set", "rabbitmq-config="+r.config, "--set", "pulsar-config="+p.config, "--set", "partitions=4",
		"--set", "flush.rate=200", "--set", "peak=300", "--run-time", "1s", "--repeats", "1", "--discard", "0", "--rest", "0"))
	must.Hold(t, code == exitOK, "exit code %d\n%s%s", code, out, stderr)
	d := decoded[study.Document](t, out, stderr)
	must.True(t, len(d.NotEqual) == 3 && slices.Equal(d.Systems, []plan.System{plan.Kafka, plan.Pulsar, plan.RabbitMQ}),
		"systems %v, and what is not equal is %q", d.Systems, d.NotEqual)
	want := 3 + 3 + 1 + 1 + 1
	must.Hold(t, len(d.Parts) == want, "%d parts, want %d", len(d.Parts), want)
	for _, part := range d.Parts {
		if part.Find != nil {
			must.True(t, len(part.Find.Trials) != 0 && part.Find.Trials[0].Achieved >= 100, "%s: %+v", part.Name, part.Find.Trials) // a busy machine may keep no schedule
			continue
		}
		for _, c := range part.Study.Cells {
			must.True(t, c.Measures["rate"].N == 1 && c.Measures["rate"].Median >= 100 && c.Failed.Median <= 0 && c.Lost.Median <= 0,
				"%s: cell %v: %+v, left out %q", part.Name, c.At, c.CellFigures, c.LeftOut)
		}
	}
	must.Match(t, 5*3, len(d.SideBySide), "standings: %+v", d.SideBySide)
	page, err := ktIn(t, state, "study", "report", "--output", "html").Output()
	must.True(t, err == nil && strings.Contains(string(page), "605 MB/s") && strings.Contains(string(page), "Side by side"), "the page: %v", err)
	rows, err := ktIn(t, state, "study", "report", d.ID+"/flush", "--output", "csv").Output()
	must.True(t, err == nil && strings.Count(string(rows), "\n") == 1+11, "the runs of a part: %v\n%s", err, rows)
}

// queueServer is a real RabbitMQ or Pulsar.
type queueServer struct {
	server
	url, config string
}

func startQueues(t *testing.T, which string, args ...string) queueServer {
	t.Helper()
	s := queueServer{server: server{t: t, which: which}}
	s.url = s.up(nextPort(), args...)
	s.config = s.script("client-config")
	return s
}

// in is the server as a subtest uses it.
func (s *queueServer) in(t *testing.T) queueServer {
	return queueServer{server{t, s.which, s.name}, s.url, s.config}
}

// kt starts a command of kt.
func (s *queueServer) kt(t *testing.T, command string, args ...string) *ktRun {
	t.Helper()
	return startKt(t, command, append([]string{"--url", s.url, "--command-config", s.config}, args...)...)
}

// carriesManyTopics writes to several topics, some of which are there, reads and verifies them, and deletes those that were made.
// names is of the topics that the server has.
func (s *queueServer) carriesManyTopics(t *testing.T, names func() []string) {
	const expression = "many-{08..12},other"
	ledger := filepath.Join(t.TempDir(), "many.ledger")
	doc, code := s.kt(t, "produce", "--topic", "many-09", "--partitions", "3", "--num-records", "10").wait()
	must.Hold(t, ended(doc, code, exitOK), "exit code %d", code)
	_, _, code = ran(t, ktIn(t, t.TempDir(), "produce", "--url", s.url, "--command-config", s.config, "--topic", expression, "--partitions", "2", "--num-records", "10"))
	must.True(t, code == exitUsage && !slices.Contains(names(), "many-08"), "exit code %d, and there are %v; want none made beside one that does not fit", code, names())
	doc, code = s.kt(t, "produce", "--topic", expression, "--num-records", "600", "--rate", "2000", "--verify", "--ledger", ledger).wait()
	must.Hold(t, ended(doc, code, exitOK) && doc.Records.Acknowledged == 600 && len(doc.Environment.Topics) == 6 && len(doc.Partitions) == 8,
		"exit code %d, %+v, %v, %d topics with %d partitions", code, doc.Records, doc.Errors, len(doc.Environment.Topics), len(doc.Partitions))
	doc, code = s.kt(t, "consume", "--topic", expression, "--verify", ledger, "--consumers", "3").wait()
	must.True(t, ended(doc, code, exitOK) && doc.Verify != nil && doc.Verify.AcknowledgedRead == 600, "exit code %d, %+v", code, doc.Verify)
	doc, code = s.kt(t, "roundtrip", "--topic", "many-09,trip-{0..2}", "--num-records", "300", "--rate", "1000",
		"--consumers", "9", "--producers", "2", "--topic-distribution", "zipf:1", "--verify", "--delete-topic").wait()
	must.True(t, ended(doc, code, exitOK) && doc.Verify != nil && doc.Verify.AcknowledgedRead == 300, "exit code %d, %+v", code, doc.Verify)
	left := names()
	must.True(t, slices.Contains(left, "many-09") && !slices.ContainsFunc(left, func(name string) bool { return strings.HasPrefix(name, "trip-") }),
		"what is left: %v", left)
}

type pulsarServer struct{ queueServer }

const namespacePath = "/persistent/public/default/"

// counted returns how many messages came into a topic, and how many entries wait for a subscription, as Pulsar says.
func (p *pulsarServer) counted(topic, subscription string) (in, backlog int64) {
	p.t.Helper()
	var stats struct {
		MsgInCounter  int64
		Subscriptions map[string]struct{ MsgBacklog int64 }
	}
	text := p.script("admin", "GET", namespacePath+topic+"/partitioned-stats?perPartition=false&getPreciseBacklog=true")
	err := json.Unmarshal([]byte(text), &stats)
	must.Hold(p.t, err == nil, "%v: %s", err, text)
	return stats.MsgInCounter, stats.Subscriptions[subscription].MsgBacklog
}

// awaitLoad waits for messages of a topic. A busy machine takes long to open clients, which fails while a bundle is unloaded.
func (p *pulsarServer) awaitLoad(topic string) {
	p.t.Helper()
	p.await("the load", func() bool {
		if !strings.Contains(p.script("admin", "GET", strings.TrimSuffix(namespacePath, "/")+"/partitioned"), "/"+topic) {
			return false
		}
		in, _ := p.counted(topic, "")
		return in > 0
	})
}

// carriesLoads makes loads on a server with TLS and a token, whose backlogs are held to their quota each second.
func (p *pulsarServer) carriesLoads(t *testing.T) {
	p = &pulsarServer{p.in(t)}
	t.Run("Pulsar counts what kt counts, and what is taken from a subscription is missed", func(t *testing.T) {
		ledger := filepath.Join(t.TempDir(), "kept.ledger")
		doc, code := p.kt(t, "produce", "--topic", "kept", "--partitions", "3", "--num-records", "3000", "--rate", "3000", "--key-distribution", "random", "--record-key-range", "100", "--verify", "--ledger", ledger).wait()
		must.Hold(t, ended(doc, code, exitOK) && doc.Records.Acknowledged == 3000, "exit code %d, %+v, %v", code, doc.Records, doc.Errors)
		in, _ := p.counted("kept", "")
		must.True(t, in == 3000, "%d messages came in, want 3000", in)
		must.True(t, isOffered(t, "kept", p.url, p.config), "the topic is not offered to a shell")
		for _, kind := range []string{"failover", "shared"} {
			doc, code = p.kt(t, "consume", "--topic", "kept", "--group", kind, "--consumers", "2", "--command-property", "subscription.type="+kind).wait()
			if _, backlog := p.counted("kept", kind); !ended(doc, code, exitOK) || doc.Records.Consumed != 3000 || backlog != 0 {
				t.Errorf("%s: exit code %d, %d read, %d entries wait; want 3000 and none", kind, code, doc.Records.Consumed, backlog)
			}
		}
		p.script("admin", "PUT", namespacePath+"kept/subscription/robbed", `{"ledgerId":-1,"entryId":-1}`)
		p.script("admin", "POST", namespacePath+"kept-partition-1/subscription/robbed/skip_all")
		doc, code = p.kt(t, "consume", "--topic", "kept", "--group", "robbed", "--verify", ledger).wait()
		if v := doc.Verify; code != exitLost || v == nil || v.Lost == 0 || v.Lost+v.AcknowledgedRead != 3000 {
			t.Errorf("exit code %d, %+v, want all of partition 1 lost", code, v)
		}
	})

	t.Run("several topics", func(t *testing.T) {
		p.carriesManyTopics(t, func() (names []string) {
			for _, name := range decoded[[]string](t, []byte(p.script("admin", "GET", strings.TrimSuffix(namespacePath, "/")+"/partitioned")), "") {
				names = append(names, name[strings.LastIndexByte(name, '/')+1:])
			}
			return names
		})
	})

	t.Run("an unloaded bundle and a killed server lose nothing that was acknowledged", func(t *testing.T) {
		run := p.kt(t, "roundtrip", "--topic", "faults", "--partitions", "2", "--consumers", "2", "--rate", "100", "--duration", "5m", "--verify", "--timeout", "60s", "--delete-topic")
		p.awaitLoad("faults")
		for _, fault := range [][]string{{"admin", "PUT", "/namespaces/public/default/unload"}, {"kill"}, {"start"}} {
			time.Sleep(3 * time.Second) // of load
			p.script(fault[0], fault[1:]...)
		}
		time.Sleep(4 * time.Second) // it is connected again
		run.interrupt()
		doc, code := run.wait()
		for _, kind := range []stats.EventKind{stats.BundleUnloaded, stats.BrokerGone, stats.BrokerBack} {
			must.True(t, hasEvent(doc, kind), "no event %s in %+v", kind, doc.Events)
		}
		if v := doc.Verify; v == nil || v.Lost+v.Corrupted+v.Reordered != 0 || v.AcknowledgedRead != doc.Records.Acknowledged || v.Acknowledged == 0 {
			t.Errorf("exit code %d, %+v, %v, verdict %+v", code, doc.Records, doc.Errors, v)
		}
		topics := p.script("admin", "GET", namespacePath[:len(namespacePath)-1]+"/partitioned")
		must.True(t, !strings.Contains(topics, "faults"), "the topic is left: %s", topics)
	})

	t.Run("a topic that is deleted beside the load is an event", func(t *testing.T) {
		run := p.kt(t, "produce", "--topic", "gone", "--partitions", "2", "--rate", "50", "--duration", "1m")
		p.awaitLoad("gone")
		time.Sleep(2 * time.Second) // it has looked at the topic
		p.script("admin", "DELETE", "/persistent/public/default/gone/partitions?force=true")
		time.Sleep(3 * time.Second) // it has looked
		run.interrupt()
		doc, _ := run.wait()
		must.True(t, hasEvent(doc, stats.LeaderLost), "no event %s in %+v", stats.LeaderLost, doc.Events)
	})

	t.Run("messages fail by Pulsar's names", func(t *testing.T) {
		doc, code := p.kt(t, "produce", "--topic", "narrow", "--num-records", "2000", "--rate", "20000", "--command-property", "max.pending.messages=1").wait()
		if !ended(doc, code, exitFailed) || doc.Errors["ProducerQueueIsFull"] == 0 || doc.Errors["ProducerQueueIsFull"] != doc.Records.Failed {
			t.Errorf("exit code %d, %+v, %v, want ProducerQueueIsFull", code, doc.Records, doc.Errors)
		}
		p.kt(t, "produce", "--topic", "quota", "--num-records", "1").wait()
		p.script("admin", "PUT", namespacePath+"quota/subscription/waits", `{"ledgerId":-1,"entryId":-1}`)
		p.script("admin", "POST", namespacePath+"quota/backlogQuota", `{"limitSize":10000,"limitTime":-1,"policy":"producer_exception"}`)
		doc, code = p.kt(t, "produce", "--topic", "quota", "--rate", "200", "--duration", "6s").wait()
		must.True(t, ended(doc, code, exitFailed) && doc.Errors["ProducerBlockedQuotaExceededException"] != 0,
			"exit code %d, %+v, %v, want ProducerBlockedQuotaExceededException", code, doc.Records, doc.Errors)
	})
}

type rabbit struct{ queueServer }

func startRabbit(t *testing.T, args ...string) *rabbit {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("scripts/rabbitmq runs Debian's package")
	}
	return &rabbit{startQueues(t, "rabbitmq", args...)}
}

// ask opens a channel to the server for one question, which may end it. rabbitmqctl takes seconds of CPU for each.
func (r *rabbit) ask(question func(ch *amqp.Channel) error) error {
	r.t.Helper()
	text := must.Have(os.ReadFile(r.config))(r.t)
	password := regexp.MustCompile(`(?m)^url\.password=(.*)$`).FindSubmatch(text)
	address, _, _ := strings.Cut(strings.Replace(r.url, "@", ":"+string(password[1])+"@", 1), "?")
	conn, err := amqp.DialTLS(address, &tls.Config{InsecureSkipVerify: true}) // loopback, and a server of this test
	must.Hold(r.t, err == nil, "%v", err)
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
	r = &rabbit{r.in(t)}
	t.Run("what was acknowledged is in the queues, and what is taken from them is missed", func(t *testing.T) {
		ledger := filepath.Join(t.TempDir(), "kept.ledger")
		doc, code := r.kt(t, "produce", "--topic", "kept", "--partitions", "3", "--num-records", "3000", "--rate", "3000", "--verify", "--ledger", ledger).wait()
		must.Hold(t, ended(doc, code, exitOK) && doc.Records.Acknowledged == 3000, "exit code %d, %+v, %v", code, doc.Records, doc.Errors)
		queues, n := r.messages("kept")
		must.True(t, queues == 3 && n == 3000, "%d queues hold %d messages, want 3 and 3000", queues, n)
		must.True(t, isOffered(t, "kept", r.url, r.config), "the topic is not offered to a shell")
		r.remove("kept-1", false)
		doc, code = r.kt(t, "consume", "--topic", "kept", "--verify", ledger).wait()
		must.True(t, code == exitLost && doc.Verify != nil && doc.Verify.Lost == 1000 && doc.Verify.AcknowledgedRead == 2000,
			"exit code %d, %+v, want 1000 lost", code, doc.Verify)
		_, n = r.messages("kept")
		must.True(t, n == 0, "the queues hold %d messages, want none", n)
	})

	t.Run("several topics", func(t *testing.T) {
		r.carriesManyTopics(t, func() []string { return strings.Fields(r.script("ctl", "list_exchanges", "name")) })
	})

	t.Run("messages without a queue are returned", func(t *testing.T) {
		r.kt(t, "produce", "--topic", "unbound", "--partitions", "2", "--num-records", "2").wait()
		r.remove("unbound-1", true)
		run := r.kt(t, "produce", "--topic", "unbound", "--num-records", "100")
		if doc, _ := run.wait(); doc.Records.Acknowledged != 100 { // of the one queue that is left
			t.Errorf("%+v, %v", doc.Records, doc.Errors)
		}
		run = r.kt(t, "produce", "--topic", "returned", "--partitions", "2", "--rate", "100", "--duration", "6s")
		for queues := 0; queues < 2; time.Sleep(100 * time.Millisecond) {
			queues, _ = r.messages("returned")
		}
		r.remove("returned-1", true)
		doc, code := run.wait()
		must.True(t, ended(doc, code, exitFailed) && doc.Errors["NO_ROUTE"] != 0 && doc.Errors["NO_ROUTE"] == doc.Records.Failed,
			"exit code %d, %+v, %v, want NO_ROUTE", code, doc.Records, doc.Errors)
	})

	t.Run("without confirms every message that is written counts", func(t *testing.T) {
		doc, code := r.kt(t, "produce", "--topic", "unconfirmed", "--partitions", "2", "--num-records", "1000", "--acks", "0").wait()
		must.Hold(t, ended(doc, code, exitOK) && doc.Records.Acknowledged == 1000, "exit code %d, %+v, %v", code, doc.Records, doc.Errors)
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
		queues, _ := r.messages(topic)
		must.True(t, queues <= 0 && exchange != nil, "%d queues are left; the exchange: %v", queues, exchange)
	})

	t.Run("an agent makes the load with its own password", func(t *testing.T) {
		at := "127.0.0.1:" + strconv.Itoa(nextPort())
		startAgent(t, ktIn(t, t.TempDir(), "agent", "--name", "loads", "--bind", at, "--command-config", r.config, "--allow-broker", "127.0.0.1"))
		doc, code := r.kt(t, "produce", "--on", "loads", "--peers", at, "--topic", "remote", "--num-records", "500").wait()
		must.True(t, ended(doc, code, exitOK) && doc.Records.Acknowledged == 500, "exit code %d, %+v", code, doc.Records)
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
		must.True(t, code == exitInterrupted && blocked != 0 && records.Failed == blocked && records.Acknowledged+records.Failed == records.Offered,
			"exit code %d, %+v, %v, want messages that were blocked", code, records, doc.Errors)
		_, n := r.messages("full")
		must.True(t, n == records.Acknowledged, "the queue holds %d messages, and %d were acknowledged", n, records.Acknowledged)
		on := slices.ContainsFunc(doc.Events, func(e result.Event) bool { return e.Kind == stats.AlarmOn && strings.Contains(e.Text, "disk") })
		must.True(t, doc.BoundBy.Limit == verdict.Throttle || !doc.Valid, "the limit is %+v", doc.BoundBy)
		flow := slices.ContainsFunc(doc.Events, func(e result.Event) bool { return e.Kind == stats.AlarmOn && strings.Contains(e.Text, "credit flow") })
		must.True(t, on && (hasEvent(doc, stats.AlarmOff) || flow), "no alarm of the disk, or not its end, in %+v", doc.Events) // a node that catches up may throttle kt to the end
	})

	t.Run("a killed node loses none that it has confirmed", func(t *testing.T) {
		run := r.kt(t, "roundtrip", "--topic", "faults", "--partitions", "2", "--rate", "100", "--duration", "5m", "--verify", "--timeout", "30s", "--delete-topic")
		for _, fault := range []string{"kill", "start"} {
			time.Sleep(2 * time.Second) // of load
			r.script(fault, "1")
		}
		time.Sleep(5 * time.Second) // it is connected again after 2 s at most
		run.interrupt()
		doc, code := run.wait()
		for _, kind := range []stats.EventKind{stats.BrokerGone, stats.BrokerBack} {
			must.True(t, hasEvent(doc, kind), "no event %s in %+v", kind, doc.Events)
		}
		if v := doc.Verify; v == nil || v.Lost+v.Corrupted+v.Reordered+v.Duplicated != 0 || v.AcknowledgedRead != doc.Records.Acknowledged {
			t.Errorf("exit code %d, %+v, verdict %+v", code, doc.Records, v)
		}
		queues, _ := r.messages("faults")
		must.True(t, queues == 0, "%d queues are left", queues)
	})
}

func TestQuorumQueuesOfThreeNodes(t *testing.T) {
	t.Parallel()
	r := startRabbit(t, "--nodes", "3")
	run := r.kt(t, "roundtrip", "--topic", "quorum", "--partitions", "3", "--replication-factor", "3", "--rate", "100", "--duration", "5m", "--verify", "--timeout", "30s")
	for _, fault := range []string{"kill", "start"} {
		time.Sleep(4 * time.Second) // of load
		r.script(fault, "2")
	}
	time.Sleep(3 * time.Second)
	run.interrupt()
	doc, code := run.wait()
	for _, kind := range []stats.EventKind{stats.BrokerGone, stats.LeaderMoved} {
		must.True(t, hasEvent(doc, kind), "no event %s in %+v", kind, doc.Events)
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
