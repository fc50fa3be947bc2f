//go:build integration

package cmd

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// pulsarServer is a real Pulsar that lives as long as its test.
type pulsarServer struct {
	t                 *testing.T
	name, url, config string
}

func startPulsar(t *testing.T, args ...string) *pulsarServer {
	t.Helper()
	port := nextPort()
	p := &pulsarServer{t: t, name: "it-" + strconv.Itoa(port)}
	t.Cleanup(func() { p.script("down") })
	p.url = p.script("up", append([]string{"--port", strconv.Itoa(port)}, args...)...)
	p.config = p.script("client-config")
	return p
}

// script runs a command of scripts/pulsar on this server.
func (p *pulsarServer) script(command string, args ...string) string {
	p.t.Helper()
	return script(p.t, "pulsar", command, p.name, args...)
}

// kt runs a command of kt.
func (p *pulsarServer) kt(t *testing.T, command string, args ...string) (result.Result, int) {
	t.Helper()
	return p.start(t, command, args...).wait()
}

func (p *pulsarServer) start(t *testing.T, command string, args ...string) *ktRun {
	t.Helper()
	return startKt(t, command, append([]string{"--url", p.url, "--command-config", p.config}, args...)...)
}

const namespacePath = "/persistent/public/default/"

// counted returns how many messages came into a topic, and how many entries wait for a subscription, as Pulsar says.
func (p *pulsarServer) counted(topic, subscription string) (in, backlog int64) {
	p.t.Helper()
	var stats struct {
		MsgInCounter  int64
		Subscriptions map[string]struct{ MsgBacklog int64 }
	}
	text := p.script("admin", "GET", namespacePath+topic+"/partitioned-stats?perPartition=false&getPreciseBacklog=true")
	if err := json.Unmarshal([]byte(text), &stats); err != nil {
		p.t.Fatalf("%v: %s", err, text)
	}
	return stats.MsgInCounter, stats.Subscriptions[subscription].MsgBacklog
}

// carriesLoads makes loads on a server with TLS and a token, whose backlogs are held to their quota each second.
func (p *pulsarServer) carriesLoads(t *testing.T) {
	p = &pulsarServer{t: t, name: p.name, url: p.url, config: p.config}
	t.Run("Pulsar counts what kt counts, and what is taken from a subscription is missed", func(t *testing.T) {
		ledger := filepath.Join(t.TempDir(), "kept.ledger")
		doc, code := p.kt(t, "produce", "--topic", "kept", "--partitions", "3", "--num-records", "3000", "--rate", "3000", "--key-distribution", "random", "--record-key-range", "100", "--verify", "--ledger", ledger)
		if !ended(doc, code, exitOK) || doc.Records.Acknowledged != 3000 {
			t.Fatalf("exit code %d, %+v, %v", code, doc.Records, doc.Errors)
		}
		if in, _ := p.counted("kept", ""); in != 3000 {
			t.Errorf("%d messages came in, want 3000", in)
		}
		if !isOffered(t, "kept", p.url, p.config) {
			t.Error("the topic is not offered to a shell")
		}
		for _, kind := range []string{"failover", "shared"} {
			doc, code = p.kt(t, "consume", "--topic", "kept", "--group", kind, "--consumers", "2", "--command-property", "subscription.type="+kind)
			if _, backlog := p.counted("kept", kind); !ended(doc, code, exitOK) || doc.Records.Consumed != 3000 || backlog != 0 {
				t.Errorf("%s: exit code %d, %d read, %d entries wait; want 3000 and none", kind, code, doc.Records.Consumed, backlog)
			}
		}
		p.script("admin", "PUT", namespacePath+"kept/subscription/robbed", `{"ledgerId":-1,"entryId":-1}`)
		p.script("admin", "POST", namespacePath+"kept-partition-1/subscription/robbed/skip_all")
		doc, code = p.kt(t, "consume", "--topic", "kept", "--group", "robbed", "--verify", ledger)
		if v := doc.Verify; code != exitLost || v == nil || v.Lost == 0 || v.Lost+v.AcknowledgedRead != 3000 {
			t.Errorf("exit code %d, %+v, want all of partition 1 lost", code, v)
		}
	})

	t.Run("an unloaded bundle and a killed server lose nothing that was acknowledged", func(t *testing.T) {
		run := p.start(t, "roundtrip", "--topic", "faults", "--partitions", "2", "--consumers", "2", "--rate", "500", "--duration", "5m", "--verify", "--timeout", "60s", "--delete-topic")
		for _, fault := range [][]string{{"admin", "PUT", "/namespaces/public/default/unload"}, {"kill"}, {"start"}} {
			time.Sleep(3 * time.Second) // of load
			p.script(fault[0], fault[1:]...)
		}
		time.Sleep(4 * time.Second) // it is connected again
		run.interrupt()
		doc, code := run.wait()
		for _, kind := range []stats.EventKind{stats.BundleUnloaded, stats.BrokerGone, stats.BrokerBack} {
			if !hasEvent(doc, kind) {
				t.Errorf("no event %s in %+v", kind, doc.Events)
			}
		}
		if v := doc.Verify; v == nil || v.Lost+v.Corrupted+v.Reordered != 0 || v.AcknowledgedRead != doc.Records.Acknowledged || v.Acknowledged == 0 {
			t.Errorf("exit code %d, %+v, %v, verdict %+v", code, doc.Records, doc.Errors, v)
		}
		if topics := p.script("admin", "GET", namespacePath[:len(namespacePath)-1]+"/partitioned"); strings.Contains(topics, "faults") {
			t.Errorf("the topic is left: %s", topics)
		}
	})

	t.Run("a topic that is deleted beside the load is an event", func(t *testing.T) {
		run := p.start(t, "produce", "--topic", "gone", "--partitions", "2", "--rate", "200", "--duration", "1m")
		time.Sleep(2 * time.Second) // of load
		p.script("admin", "DELETE", "/persistent/public/default/gone/partitions?force=true")
		time.Sleep(3 * time.Second) // it has looked
		run.interrupt()
		doc, _ := run.wait()
		if !hasEvent(doc, stats.LeaderLost) {
			t.Errorf("no event %s in %+v", stats.LeaderLost, doc.Events)
		}
	})

	t.Run("messages fail by Pulsar's names", func(t *testing.T) {
		doc, code := p.kt(t, "produce", "--topic", "narrow", "--num-records", "2000", "--rate", "20000", "--command-property", "max.pending.messages=1")
		if !ended(doc, code, exitFailed) || doc.Errors["ProducerQueueIsFull"] == 0 || doc.Errors["ProducerQueueIsFull"] != doc.Records.Failed {
			t.Errorf("exit code %d, %+v, %v, want ProducerQueueIsFull", code, doc.Records, doc.Errors)
		}
		p.kt(t, "produce", "--topic", "quota", "--num-records", "1")
		p.script("admin", "PUT", namespacePath+"quota/subscription/waits", `{"ledgerId":-1,"entryId":-1}`)
		p.script("admin", "POST", namespacePath+"quota/backlogQuota", `{"limitSize":10000,"limitTime":-1,"policy":"producer_exception"}`)
		doc, code = p.kt(t, "produce", "--topic", "quota", "--rate", "200", "--duration", "6s")
		if !ended(doc, code, exitFailed) || doc.Errors["ProducerBlockedQuotaExceededException"] == 0 {
			t.Errorf("exit code %d, %+v, %v, want ProducerBlockedQuotaExceededException", code, doc.Records, doc.Errors)
		}
	})
}
