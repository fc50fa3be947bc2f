package pulsar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	client "github.com/apache/pulsar-client-go/pulsar"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/stats"
)

func given(pairs ...string) map[string]plan.Given {
	all := make(map[string]plan.Given)
	for _, p := range pairs {
		name, value, _ := strings.Cut(p, "=")
		all[name] = plan.Given{Value: value, Source: "--command-property"}
	}
	return all
}

func writing() *plan.Plan {
	return &plan.Plan{Command: plan.Produce, URL: "pulsar://h", Producers: 1, Payload: plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(1)}}
}

// parse returns the settings of a producer.
func parse(pairs ...string) (settings, error) {
	s, _, err := New(writing(), given(pairs...), nil, queue.Access{})
	return s.Settings, err
}

func TestSettingsAreTheClientsOptions(t *testing.T) {
	s := must.Have(parse())(t)
	if s.linger != time.Millisecond || s.batchBytes != 131072 || s.batchMessages != 1000 || !s.batches() || s.timeout != 30*time.Second {
		t.Errorf("the defaults are %+v", s)
	}
	s = must.Have(parse("batch.size=1000000", "compression.type=zstd", "linger.ms=50", "acks=-1"))(t)
	if s.batchBytes != 1e6 || s.batchMessages < 1e9 || s.compression != client.ZSTD || s.linger != 50*time.Millisecond {
		t.Errorf("the settings are %+v", s)
	}
	if s, _ = parse("linger.ms=0"); s.batches() {
		t.Error("without a delay there are batches")
	}
	if s, _ = parse("batch.size=1000", "batching.max.messages=7"); s.batchMessages != 7 {
		t.Errorf("a batch has %d messages, want 7", s.batchMessages)
	}
}

func TestDefaultsFitTheSizeOfALoad(t *testing.T) {
	for _, tc := range []struct {
		given                         string
		producers, partitions, millis int
		pending                       int
	}{
		{"acks=all", 1, 4, 1, 50_000},
		{"acks=all", 4, 100, 10, 2000},
		{"linger.ms=2", 4, 100, 2, 2000},
		{"max.pending.messages=5", 1, 1, 1, 5},
		{"acks=all", 1, 1000, 10, 1000},
	} {
		sys, _ := must.Both(New(writing(), given(tc.given), nil, queue.Access{}))(t)
		sys.fit(tc.producers, tc.partitions)
		s := sys.Settings
		must.Match(t, []int{tc.millis, tc.pending}, []int{int(s.linger.Milliseconds()), s.pending}, "%+v: linger %s, %d pending", tc, s.linger, s.pending)
	}
}

func TestWhatPulsarDoesNotHaveIsRefusedByName(t *testing.T) {
	for property, want := range map[string]string{
		"acks=1": "ack.quorum", "acks=0": "ack.quorum", "compression.type=gzip": "zlib", "enable.idempotence=true": "deduplicationEnabled",
		"max.request.size=1": "batch.size", "nonsense=1": "there is acks, ack.quorum", "batch.size=x": "whole number", "linger.ms=-1": "whole number",
		"delivery.timeout.ms=0": "from 1 to",
	} {
		name, _, _ := strings.Cut(property, "=")
		_, err := parse(property)
		must.True(t, err != nil && strings.Contains(err.Error(), want) && strings.Contains(err.Error(), name), "%s: %v, want %s", property, err, want)
	}
}

func TestALoadThatPulsarCannotMakeIsRefused(t *testing.T) {
	reads := plan.Read{Consumers: 1}
	for want, p := range map[string]plan.Plan{
		"TENANT/NAMESPACE":     {URL: "pulsar://h/only"},
		"no users":             {URL: "pulsar://me@h"},
		"give the name alone":  {URL: "pulsar://h", Topic: plan.Topic{Name: "persistent://a/b/c"}},
		"earliest or latest":   {URL: "pulsar://h", Read: plan.Read{Consumers: 1, From: plan.From{HasOffset: true}}},
		"async comes nearest":  {URL: "pulsar://h", Read: plan.Read{Consumers: 1, Commit: plan.CommitSync}},
		"it holds a password,": {URL: "pulsar://me:secret@h", Read: reads},
	} {
		_, _, err := New(&p, nil, nil, queue.Access{})
		must.True(t, err != nil && strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "secret@"), "%+v: %v, want %q", p, err, want)
	}
	open := plan.Plan{URL: "pulsar+ssl://h/?admin=http://h:8080", Read: reads}
	if _, _, err := New(&open, nil, nil, queue.Access{}); err == nil || !strings.Contains(err.Error(), "https://") {
		t.Errorf("an admin API without TLS beside a broker with TLS: %v", err)
	}
	p := plan.Plan{URL: "pulsar://h/a/b", Topic: plan.Topic{Name: "t"}, Read: reads}
	s, _, err := New(&p, nil, nil, queue.Access{})
	must.True(t, err == nil && s.namespace == "a/b" && s.URL.Host == "h:6650", "%+v, %v", s, err)
}

func TestErrorsHaveTheClientsNames(t *testing.T) {
	for want, err := range map[string]error{
		"TimeoutError":                          client.ErrSendTimeout,
		"ProducerQueueIsFull":                   client.ErrSendQueueIsFull,
		"ProducerFenced":                        errors.Join(client.ErrProducerFenced, errors.New("a: b")),
		"ProducerBlockedQuotaExceededException": errors.Join(client.ErrProducerBlockedQuotaExceeded, errors.New("why")),
		"MessageTooBig":                         fmt.Errorf("wrapped: %w", client.ErrMessageTooLarge),
		"client:context canceled":               context.Canceled,
		"client:connection closed":              errors.New("connection closed\nand more"),
	} {
		must.Match(t, want, code(err), "%v", err)
	}
}

func TestReadingEndsWithTheLastMessageOfTheLastBatch(t *testing.T) {
	for _, tc := range []struct {
		ledger, entry int64
		index, size   int32
		reached       bool
	}{
		{5, 9, 0, 0, false}, {5, 10, 0, 3, false}, {5, 10, 1, 3, false}, {5, 10, 2, 3, true}, {5, 10, -1, 0, true}, {6, 0, 0, 2, true}, {4, 99, -1, 0, false},
	} {
		e := end{position: position{5, 10}}
		e.take(fakeID{client.NewMessageID(tc.ledger, tc.entry, tc.index, 0), tc.size})
		must.Match(t, tc.reached, e.reached.Load(), "%+v: reached", tc)
	}
}

// fakeID is an id of a batch of some size.
type fakeID struct {
	client.MessageID
	size int32
}

func (f fakeID) BatchSize() int32 { return f.size }

func TestEventsTellOfBrokersAndBundles(t *testing.T) {
	s := &session{System: &System{}, options: run.Options{Watch: true}, admin: &admin{API: queue.API{Base: "http://a:8080"}}, watched: []string{"a:8080", "b:8080"}}
	s.topics = queue.NewLayout(result.Topic{Name: "t", Partitions: 2})
	w := newWatcher(s)
	w.hear([]string{"a:8080"}, nil, 1)                                      // b is gone
	w.hear(nil, errors.New("connection refused"), 2)                        // a is gone, of b nothing is known
	w.hear([]string{"a:8080", "b:8080"}, nil, 3)                            // both are back
	w.hear(nil, &queue.StatusError{Code: 500}, 4)                           // it answers
	w.compare([]*partitionStats{{MsgInCounter: 10}, {MsgInCounter: 10}}, 5) // as at the start
	w.compare([]*partitionStats{{MsgInCounter: 12}, nil}, 6)                // partition 1 is nobody's
	w.compare([]*partitionStats{{MsgInCounter: 14}, {MsgInCounter: 3}}, 7)  // partition 1 began anew
	var kinds []string
	for _, e := range w.Take().Events {
		kinds = append(kinds, fmt.Sprintf("%d %s %d", e.At, e.Kind, e.Broker))
	}
	want := "1 broker_gone 1, 2 broker_gone 0, 3 broker_back 0, 3 broker_back 1, 7 bundle_unloaded -1"
	must.Match(t, want, strings.Join(kinds, ", "), "events")
	if more := w.Take(); !isEmpty(more) {
		t.Errorf("taken twice: %+v", more)
	}
}

func TestPartitionsThatAreAddedHaveNumbersOfTheirOwn(t *testing.T) {
	for _, tc := range []struct {
		name  string
		plan  plan.Plan
		kind  client.SubscriptionType
		own   bool
		reads bool // it gets what is added
	}{
		{"one consumer", plan.Plan{Command: plan.Consume, Read: plan.Read{Consumers: 1}}, client.Exclusive, true, true},
		{"several with partitions of their own", plan.Plan{Command: plan.Consume, Read: plan.Read{Consumers: 2}}, client.Exclusive, true, false},
		{"a group", plan.Plan{Command: plan.Consume, Read: plan.Read{Consumers: 2}}, client.Failover, false, true},
		{"an exclusive group", plan.Plan{Command: plan.Consume, Read: plan.Read{Consumers: 2}}, client.Exclusive, false, false},
		{"one of several processes", plan.Plan{Command: plan.Consume, Read: plan.Read{Consumers: 1}, Share: plan.Share{Consumers: 2}}, client.Exclusive, true, false},
		{"no reader", plan.Plan{Command: plan.Produce}, client.Failover, false, false},
	} {
		tc.plan.Topic.Name = "t"
		s := &session{System: &System{namespace: "public/default", System: queue.System[settings]{Settings: settings{subscription: tc.kind}}}, plan: &tc.plan, own: tc.own, topics: queue.NewLayout(result.Topic{Name: "t", Partitions: 2})}
		s.options.Watch = true
		if n := s.number("persistent://public/default/t-partition-2"); n != 2 || s.number("persistent://public/default/t") != 0 {
			t.Errorf("%s: the third partition has number %d", tc.name, n)
		}
		w := newWatcher(s)
		for at := range time.Duration(3) {
			w.compare(make([]*partitionStats, min(3, 2+at)), at)
		}
		events := w.Take().Events
		if len(events) != 1 || events[0].At != 1 || events[0].Count != 1 || strings.HasSuffix(events[0].Text, "which kt reads from the start") != tc.reads {
			t.Errorf("%s: %+v", tc.name, events)
		}
	}
}

func isEmpty(w stats.Window) bool { return len(w.Events) == 0 }

func TestABacklogCountsTheMessagesOfItsEntries(t *testing.T) {
	var p partitionStats
	must.Do(t, json.Unmarshal([]byte(`{"msgInCounter": 1000, "bytesInCounter": 52200, "subscriptions": {
		"s": {"msgBacklog": 3, "consumers": [{"avgMessagesPerEntry": 20}, {}]}, "idle": {"msgBacklog": 3},
		"bytes": {"msgBacklog": 3, "backlogSize": 5220, "consumers": [{"avgMessagesPerEntry": 2}]}, "small": {"msgBacklog": 3, "backlogSize": 60}, "read": {"backlogSize": 522}}}`), &p))
	for name, want := range map[string]int64{"s": 60, "idle": 3, "none": 0, "bytes": 100, "small": 3, "read": 0} {
		must.Match(t, want, p.backlog(name), "the backlog of %s", name)
	}
}

func TestPoliciesOfATopicAreChecked(t *testing.T) {
	s := &session{System: &System{System: queue.System[settings]{Settings: settings{ackQuorum: 2}}}, plan: &plan.Plan{Topic: plan.Topic{Configs: map[string]string{"retention": "{"}}}}
	_, err := s.policies()
	var misfit *result.MisfitError
	if !errors.As(err, &misfit) || !strings.Contains(err.Error(), "--topic-config retention={") || !strings.Contains(err.Error(), "--replication-factor") {
		t.Errorf("%v", err)
	}
	s.plan.Topic = plan.Topic{ReplicationFactor: 3, Configs: map[string]string{"deduplicationEnabled": "true"}}
	all, err := s.policies()
	if err != nil || all["deduplicationEnabled"] != true || all["persistence"] != (persistence{Ensemble: 3, WriteQuorum: 3, AckQuorum: 2}) {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestATopicThatWasThereAndIsNotFoundIsGone(t *testing.T) {
	w := newWatcher(&session{options: run.Options{Watch: true}, topics: queue.NewLayout(result.Topic{Name: "t", Partitions: 3})})
	missing, hidden := &queue.StatusError{Code: http.StatusNotFound}, &queue.StatusError{Code: http.StatusInternalServerError}
	w.seek([]error{missing}, 1) // its partitions are not made yet
	w.seek([]error{nil}, 2)
	w.seek([]error{hidden}, 3)
	w.seek([]error{missing}, 4)
	w.seek([]error{missing}, 5)
	events := w.Take().Events
	if len(events) != 1 || events[0].At != 4 || events[0].Kind != stats.LeaderLost || events[0].Count != 3 || !strings.Contains(events[0].Text, "topic t is gone") {
		t.Errorf("%+v", events)
	}
}
