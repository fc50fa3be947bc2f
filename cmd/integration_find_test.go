//go:build integration

package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/tune"
)

// A proxy holds the connections to a broker to a byte rate, so the highest rate that holds is known. Where others take the
// CPU from kt, it may be the limit itself, and says so of the lowest rate that was not kept.
func narrowConnectionIsFound(t *testing.T) {
	const (
		rate   = 2 << 20 // bytes a second
		record = 1024
		frame  = 16 // bytes beside each value: of its own and its part of those of batch and request
		truth  = rate / (record + frame)
	)
	port := nextPort()
	p := startProxy(t, "127.0.0.1:"+strconv.Itoa(port), rate)
	k := startClusterAt(t, 1, port, "--property", "advertised.listeners=CLIENT://"+p.addr)
	for try := range 3 {
		found := k.find(t, "--trial-time", "1s", "--precision", "10%", "--rest", "0", "--",
			"produce", "--bootstrap-server", p.addr, "--record-size", strconv.Itoa(record), "--command-property", "buffer.memory=1048576")
		t.Logf("%s; the truth is %d", found.Sentence, truth)
		for _, one := range found.Trials {
			t.Logf("%-7s %6.0f %6.0f %s %q", one.Kind, one.Rate, one.Achieved, one.Outcome, one.Reasons)
		}
		peak := found.Peak
		must.Hold(t, peak.Low <= 1.1*truth, "try %d: %.0f records/s hold, and the connection carries %d", try, peak.Low, truth)
		if peak.High > 0.9*truth && peak.Low > 0.8*truth {
			return
		}
		ofKt := func(one study.Trial) bool {
			return one.Rate == peak.High && one.Outcome == study.Invalid && len(one.Reasons) > 0
		}
		must.True(t, try != 2 || peak.ClientBound && slices.ContainsFunc(found.Trials, ofKt), "never near the truth: %+v", peak) // a busy machine may end one search too early
	}
}

// find makes a search on a cluster.
func (k *kafkaCluster) find(t *testing.T, args ...string) study.Document {
	t.Helper()
	out, stderr, _ := ran(t, ktIn(t, t.TempDir(), append([]string{"find", "--output", "json"}, args...)...))
	return decoded[study.Document](t, out, stderr)
}

// studied makes a named study in a short form and returns what it says.
func (k *kafkaCluster) studied(t *testing.T, name string, args ...string) study.Document {
	t.Helper()
	args = append([]string{"study", "run", name, "--quiet", "--output", "json", "--bootstrap-server", k.brokers}, args...)
	out, stderr, code := ran(t, ktIn(t, t.TempDir(), args...))
	must.Hold(t, code == exitOK, "kt %q: exit code %d\n%s%s", args, code, out, stderr)
	d := decoded[study.Document](t, out, stderr)
	must.True(t, d.Runs == d.Wanted && d.Runs != 0, "kt %q: %d of %d runs were made", args, d.Runs, d.Wanted)
	return d
}

// The study of a broker that goes down and comes back.
func (k *kafkaCluster) brokerDownIsStudied(t *testing.T) {
	scripts := must.Have(filepath.Abs("../scripts/kafka"))(t)
	command := func(what string) string { return fmt.Sprintf("%s %s 3 --name %s", scripts, what, k.name) }
	d := k.in(t).studied(t, "broker-down", "--set", "stop="+command("kill"), "--set", "start="+command("start"), "--set", "rate=500",
		"--run-time", "24s", "--repeats", "1", "--discard", "0", "--rest", "0")
	for _, c := range d.Cells {
		for _, r := range c.Runs {
			l := r.Loads[0]
			must.True(t, l.Lost != nil && *l.Lost == 0 && l.Outage != nil && l.Outage.BeganWith != "",
				"lost %v, outage %+v; want none lost, and a fault", l.Lost, l.Outage)
			t.Logf("%+v", c.Faults)
		}
	}
}

const (
	triedSysctl = "vm.dirty_background_ratio"
	triedBroker = "num.io.threads"
)

// What a trial changes on brokers and on this host is put back when it ends, and by kt study restore after a kill -9.
func (k *kafkaCluster) changesArePutBack(t *testing.T) {
	if !host.SystemCalls("/").Root() {
		t.Skip("only root can change sysctls")
	}
	before, state := sysctlNow(t), t.TempDir()
	t.Cleanup(func() { tuneRun(t, exec.Command, "--rollback", "--force") })
	trial := []string{"trial", "sysctl." + triedSysctl + "=7", "broker." + triedBroker + "=5", "--repeats", "5"}
	search := []string{"optimize", "--for", "p99", "--over", "tune", "--over", "broker." + triedBroker + "=5"}
	isSeven := func() bool { return sysctlNow(t) == "7" }
	isTuned := func() bool { return len(must.Have(tune.NewTree("/", "").Status())(t)) > 0 }
	k.killedAmid(t, state, before, isSeven, trial)
	k.killedAmid(t, state, before, isTuned, search)
	key := filepath.Join(t.TempDir(), "key")
	on := []string{"--on", "loads", "--key-file", key, "--peers", k.tuningAgents(t, key)}
	k.killedAmid(t, state, before, isSeven, trial, on...)
	k.killedAmid(t, state, before, isTuned, search, on...)
	must.True(t, !isTuned(), "something is in the journal of kt tune")
	out, err := ktIn(t, state, "study", "run", "sysctl-trial", "--bootstrap-server", k.brokers, "--set", "rate=200", "--run-time", "1s", "--repeats", "1",
		"--discard", "0", "--rest", "0", "--quiet", "--output", "json").Output()
	var s study.Document
	if err != nil || json.Unmarshal(out, &s) != nil || s.Runs != 5 || len(s.Cells) != 5 {
		t.Errorf("kt study run sysctl-trial: %v, %d runs of %d cells, want 5 of 5", err, s.Runs, len(s.Cells))
	}
	must.Match(t, before, sysctlNow(t), "after the study: %s", triedSysctl)
	for _, bad := range []string{"broker.num.io.threads=many", "broker.log.dirs=/tmp", "topic.foo=1", "sysctl.vm.swappiness=1000"} {
		c := ktIn(t, state, "trial", bad, "--", "produce", "--bootstrap-server", k.brokers)
		out, _ := c.CombinedOutput()
		must.True(t, c.ProcessState.ExitCode() == exitUsage, "%s: exit code %d, want %d\n%s", bad, c.ProcessState.ExitCode(), exitUsage, out)
	}
}

// killedAmid kills a trial or a search while it has changed the broker and its host, and puts both back.
func (k *kafkaCluster) killedAmid(t *testing.T, state, before string, changed func() bool, command []string, args ...string) {
	t.Helper()
	args = slices.Concat(command, []string{
		"--run-time", "1s", "--rest", "0", "--discard", "0", "--quiet", "--output", "json", "--", "produce", "--bootstrap-server", k.brokers, "--rate", "200",
	}, args)
	c := ktIn(t, state, args...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	must.Do(t, c.Start())
	ended := make(chan struct{})
	go func() {
		_ = c.Wait() // killed, or done
		close(ended)
	}()
	for k.dynamic(t) != "5" || !changed() { // in every second pair of runs, or a quarter of a screening
		select {
		case <-ended:
			t.Fatalf("kt %q ended, and never changed anything: %s", args, stderr.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
	must.Do(t, c.Process.Kill())
	<-ended
	out, err := ktIn(t, state, "study", "restore").CombinedOutput()
	must.Hold(t, err == nil && strings.Contains(string(out), "as before"), "kt study restore: %v\n%s", err, out)
	if now := sysctlNow(t); now != before || k.dynamic(t) != "" {
		t.Fatalf("after a restore: %s = %s, want %s; %s = %q, want none", triedSysctl, now, before, triedBroker, k.dynamic(t))
	}
}

// tuningAgents starts an agent that makes loads, and one that may change this host; it returns where they are.
func (k *kafkaCluster) tuningAgents(t *testing.T, key string) string {
	t.Helper()
	out, err := ktIn(t, t.TempDir(), "keygen", key).CombinedOutput()
	must.Hold(t, err == nil, "kt keygen: %v\n%s", err, out)
	port := nextPort()
	addrs := []string{"127.0.0.1:" + strconv.Itoa(port), "127.0.0.1:" + strconv.Itoa(port+1)}
	for i, args := range [][]string{{"--name", "loads", "--role", "client"}, {"--name", "broker-1", "--role", "broker", "--allow-tune"}} {
		startAgent(t, ktIn(t, t.TempDir(), append([]string{"agent", "--key-file", key, "--bind", addrs[i]}, args...)...))
	}
	return strings.Join(addrs, ",")
}

// ktIn is a command of kt that keeps its studies in a folder.
func ktIn(t *testing.T, state string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(must.Have(binary())(t), args...)
	c.Env = append(os.Environ(), "XDG_STATE_HOME="+state)
	return c
}

func sysctlNow(t *testing.T) string {
	t.Helper()
	text := must.Have(os.ReadFile(filepath.Join("/", host.SysctlFile(triedSysctl))))(t)
	return strings.TrimSpace(string(text))
}

// dynamic returns what the broker was given of a setting; "": nothing.
func (k *kafkaCluster) dynamic(t *testing.T) string {
	t.Helper()
	c := must.Have(kafka.Connect(context.Background(), kafka.Access{Bootstrap: strings.Split(k.brokers, ","), Timeout: kafka.AdminTimeout}))(t)
	defer c.Close()
	settings := must.Have(c.BrokerSettings(context.Background(), []string{triedBroker}))(t)
	if settings[0].Value == nil {
		return ""
	}
	return *settings[0].Value
}

// proxy passes connections on to a broker, and holds all together to a rate towards it. Its token bucket
// holds a fiftieth of a second, so the rate is known at any scale above that.
type proxy struct {
	addr   string
	broker string
	rate   float64 // bytes a second

	mu   sync.Mutex
	free time.Time // guarded by mu; until then the rate is taken
}

const bucket = time.Second / 50

// startProxy starts a proxy to a broker that may not be there yet.
func startProxy(t *testing.T, broker string, rate float64) *proxy {
	p := &proxy{broker: broker, rate: rate}
	p.addr = must.Listen(t, p.pass)
	return p
}

func (p *proxy) pass(client net.Conn) {
	broker, err := net.Dial("tcp", p.broker)
	if err != nil {
		return // the client tries again
	}
	defer func() { _ = broker.Close() }()
	go func() {
		_, _ = io.Copy(client, broker) // until either hangs up
		_ = client.Close()
	}()
	_ = client.(*net.TCPConn).SetReadBuffer(64 << 10) // what waits there is taken, but not passed on
	_, _ = io.Copy(broker, io.TeeReader(client, p))
}

// Write takes bytes from the bucket, and waits for them.
func (p *proxy) Write(b []byte) (int, error) {
	p.mu.Lock()
	if now := time.Now(); p.free.Before(now.Add(-bucket)) {
		p.free = now.Add(-bucket)
	}
	p.free = p.free.Add(time.Duration(float64(len(b)) / p.rate * float64(time.Second)))
	until := p.free
	p.mu.Unlock()
	time.Sleep(time.Until(until))
	return len(b), nil
}
