//go:build integration && linux

package cmd

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
)

// The tests of this file run agents on hosts of their own: network namespaces that
// scripts/hosts makes. A real Kafka runs on one of them.

// hosts are some hosts, which live as long as their test.
type hosts struct {
	*kafkaCluster
	set, net string
	dir      string // of each host's results, and of the key
	key      string
	addr     map[string]string
}

// newHosts makes hosts, one of them with a Kafka and called b1.
func newHosts(t *testing.T, net int, names ...string) *hosts {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("hosts are network namespaces, and making those needs root")
	}
	h := &hosts{kafkaCluster: &kafkaCluster{server: server{t, "kafka", "it-hosts"}}, set: "it", net: strconv.Itoa(net), dir: t.TempDir(), addr: make(map[string]string)}
	t.Cleanup(func() { h.hosts("down") })
	for line := range strings.Lines(h.hosts("up", append([]string{"b1"}, names...)...)) {
		name, addr, _ := strings.Cut(strings.TrimSpace(line), " ")
		h.addr[name] = addr
	}
	h.brokers = h.addr["b1"] + ":9092"
	t.Cleanup(func() { h.script("down") })
	h.hosts("exec", "b1", "../scripts/kafka", "up", "--name", h.name, "--listen", h.addr["b1"])
	h.key = filepath.Join(h.dir, "key")
	h.run("b1", "keygen", h.key)
	return h
}

func TestWhatKafkaNeedsIsFetchedBeforeTheHostIsEntered(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("hosts are network namespaces, and making those needs root")
	}
	h := &hosts{kafkaCluster: &kafkaCluster{server: server{t: t}}, set: "fetch", net: "79"}
	t.Cleanup(func() { h.hosts("down") })
	h.hosts("up", "b1")
	// In place of scripts/kafka: a script that notes in which network it was called.
	kafka, calls := filepath.Join(t.TempDir(), "kafka"), filepath.Join(t.TempDir(), "calls")
	note := fmt.Sprintf("#!/bin/sh\necho \"$(readlink /proc/self/ns/net) $*\" >>%s\n", calls)
	must.Do(t, os.WriteFile(kafka, []byte(note), 0o755))
	h.hosts("exec", "b1", kafka, "up", "--port", "9192", "--version", "4.2.0", "--name", "x")
	h.hosts("exec", "b1", kafka, "up")
	h.hosts("exec", "b1", kafka, "down")
	outside := must.Have(os.Readlink("/proc/self/ns/net"))(t)
	text := must.Have(os.ReadFile(calls))(t)
	var got []string
	for line := range strings.Lines(string(text)) {
		where, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		if where == outside {
			what = "outside: " + what
		}
		got = append(got, what)
	}
	want := []string{"outside: fetch --version 4.2.0", "up --port 9192 --version 4.2.0 --name x", "outside: fetch", "up", "down"}
	must.Match(t, want, got, "called as")
}

func TestManyHostsKnowEachOtherWithoutTheSharedTableOfNeighbours(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("hosts are network namespaces, and making those needs root")
	}
	h := &hosts{kafkaCluster: &kafkaCluster{server: server{t: t}}, set: "many", net: "80"}
	t.Cleanup(func() { h.hosts("down") })
	var names []string
	for i := range 21 {
		names = append(names, fmt.Sprint("h", i))
	}
	h.hosts("up", names...)
	for _, name := range []string{"h0", "h20"} {
		known := h.hosts("exec", name, "ip", "neigh", "show", "nud", "permanent")
		must.Match(t, len(names), strings.Count(known, "lladdr"), "%s knows link addresses:\n%s", name, known)
	}
}

// hosts runs a command of scripts/hosts.
func (h *hosts) hosts(command string, args ...string) string {
	h.t.Helper()
	out, stderr, code := ran(h.t, exec.Command("../scripts/hosts", append([]string{command, "--set", h.set, "--net", h.net}, args...)...))
	must.Hold(h.t, code == 0, "scripts/hosts %s %v: exit code %d\n%s", command, args, code, stderr)
	return string(out)
}

// command is a kt on a host.
func (h *hosts) command(host string, args ...string) *exec.Cmd {
	h.t.Helper()
	path := must.Have(binary())(h.t)
	c := exec.Command("ip", append([]string{"netns", "exec", "kth-" + h.set + "." + host, path}, args...)...)
	c.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(h.dir, host))
	return c
}

// run runs kt on a host, and returns what it prints.
func (h *hosts) run(host string, args ...string) []byte {
	h.t.Helper()
	out, stderr, code := ran(h.t, h.command(host, args...))
	must.Hold(h.t, code == exitOK || code == exitNotValid, "kt %v on %s: exit code %d\n%s", args, host, code, stderr) // a busy machine
	return out
}

// collect merges a run that may still be going on, once it is over.
func (h *hosts) collect(host, run string) []byte {
	h.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Second) {
		out, stderr, code := ran(h.t, h.command(host, "collect", "--join", h.addr["b1"], "--key-file", h.key, "--run", run, "--output", "json", "--result", "none"))
		if code == exitOK {
			return out
		}
		must.Hold(h.t, strings.Contains(stderr, "still going on") && time.Now().Before(deadline), "kt collect --run %s on %s: exit code %d\n%s", run, host, code, stderr)
	}
}

// load starts a load on all clients from a host, and remembers its collection.
func (h *hosts) load(from, command, file string, args ...string) *ktRun {
	h.t.Helper()
	r := &ktRun{t: h.t}
	r.cmd = h.command(from, append([]string{
		command, "--bootstrap-server", h.brokers, "--on", "clients", "--key-file", h.key, "--join", h.addr["b1"],
		"--output", "json", "--result", file,
	}, args...)...)
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	must.Do(h.t, r.cmd.Start())
	return r
}

func TestALoadOnManyHosts(t *testing.T) {
	t.Parallel()
	h := newHosts(t, 78, "h1", "h2", "h3")
	for _, host := range []string{"b1", "h1", "h2", "h3"} {
		role := cluster.RoleClient
		if host == "b1" {
			role = cluster.RoleBroker
		}
		startAgent(t, h.command(host, "agent", "--name", host, "--role", role, "--key-file", h.key, "--join", h.addr["b1"]))
	}
	for name, test := range map[string]func(*testing.T, *hosts){
		"three hosts of five processes are one result":  fifteenProcesses,
		"a round trip is read where it was written":     roundTripOnHosts,
		"a consumer group spans the hosts":              groupOnHosts,
		"the coordinator dies, and the files are there": deadCoordinator,
	} {
		t.Run(name, func(t *testing.T) { test(t, h.in(t)) })
	}
	// Last, for the host stays dead.
	t.Run("a cable that was pulled costs nothing, and a host that dies is shown apart", func(t *testing.T) { cutAndDead(t, h.in(t)) })
}

// in is the hosts as a subtest uses them.
func (h *hosts) in(t *testing.T) *hosts {
	c := *h
	c.kafkaCluster = h.kafkaCluster.in(t)
	return &c
}

// fifteenProcesses is the layout of published tests: three hosts with five producers.
func fifteenProcesses(t *testing.T, h *hosts) {
	const rate, seconds = 1500, 5
	file := filepath.Join(h.dir, "fifteen.ktr")
	r := h.load("h1", "produce", file, "--topic", "fifteen", "--partitions", "21", "--processes", "5", "--run", "nightly",
		"--rate", strconv.Itoa(rate), "--num-records", strconv.Itoa(rate*seconds))
	doc, _ := r.wait()
	must.Match(t, rate*seconds, doc.Records.Acknowledged, "records acknowledged")
	must.Hold(t, len(doc.Processes) == 15 && len(doc.Hosts) == 4,
		"%d processes on %d hosts, want 15 on 3 and a broker's", len(doc.Processes), len(doc.Hosts))
	var sum result.Records
	for _, p := range doc.Processes {
		sum.Acknowledged += p.Records.Acknowledged
		must.True(t, p.StartLateUS != nil && p.Records.Offered == rate*seconds/15,
			"%s/%d: %d records offered, late by %v µs", p.Host, p.Process, p.Records.Offered, p.StartLateUS)
	}
	if sum.Acknowledged != doc.Records.Acknowledged || doc.Latency.Response.Count != sum.Acknowledged {
		t.Errorf("the processes acknowledged %d records, the whole %d, with %d latencies", sum.Acknowledged, doc.Records.Acknowledged, doc.Latency.Response.Count)
	}
	for _, row := range doc.Hosts {
		must.True(t, row.Busy != nil && row.Busy.CPUShare > 0 && row.ClockBoundUS != nil, "%s was not watched: %+v", row.Host, row)
		must.True(t, row.Host != "b1" || row.Busy == nil || len(row.Busy.Brokers) != 0 && row.Busy.Networks[0].ReceivedMiB > 0,
			"the broker's host was watched as %+v", row.Busy)
	}
	must.True(t, doc.Overlap.Agreed && doc.Overlap.Seconds > 0, "the overlap is %+v", doc.Overlap)
	h.sameOffline(t, file, "nightly", r.stdout.Bytes())
}

// sameOffline checks that the collection, and the files on the hosts, give the document
// that the coordinator gave.
func (h *hosts) sameOffline(t *testing.T, file, run string, online []byte) {
	t.Helper()
	again := h.run("h2", "report", file, "--output", "json")
	must.True(t, bytes.Equal(again, online), "the collection gives another document")
	fetched := h.run("h2", "collect", "--join", h.addr["b1"], "--key-file", h.key, "--run", run, "--output", "json", "--result", "none")
	must.True(t, bytes.Equal(fetched, online), "the files that the agents have give another document")
}

func roundTripOnHosts(t *testing.T, h *hosts) {
	r := h.load("h1", "roundtrip", filepath.Join(h.dir, "rt.ktr"), "--topic", "rt", "--partitions", "6", "--processes", "2",
		"--rate", "600", "--num-records", "3000", "--verify")
	doc, _ := r.wait()
	if doc.Records.Consumed != 3000 || doc.Verify == nil || doc.Verify.Lost != 0 || doc.Latency.EndToEnd == nil || doc.Latency.EndToEnd.Count != 3000 {
		t.Errorf("%d records read, verified as %+v, %+v", doc.Records.Consumed, doc.Verify, doc.Latency.EndToEnd)
	}
}

func groupOnHosts(t *testing.T, h *hosts) {
	h.run("h2", "produce", "--bootstrap-server", h.brokers, "--topic", "group", "--partitions", "12", "--num-records", "20000", "--quiet", "--result", "none")
	r := h.load("h1", "consume", filepath.Join(h.dir, "group.ktr"), "--topic", "group", "--group", "g", "--processes", "2", "--duration", "6s")
	doc, code := r.wait()
	must.True(t, doc.Records.Consumed == 20_000,
		"exit code %d: %d records read, want 20000 by all together\n%s", code, doc.Records.Consumed, r.stderr.String())
}

func deadCoordinator(t *testing.T, h *hosts) {
	r := h.load("h2", "produce", filepath.Join(h.dir, "dead.ktr"), "--topic", "dead", "--partitions", "6", "--run", "dead",
		"--rate", "300", "--num-records", "2100")
	h.begins("h3")
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
	out := h.collect("h1", "dead")
	doc := decoded[result.Result](t, out, "")
	must.True(t, doc.Records.Acknowledged == 2100 && doc.Ended == result.Completed && len(doc.Processes) == 3,
		"ended %s: %d records acknowledged by %d processes, want 2100 by 3", doc.Ended, doc.Records.Acknowledged, len(doc.Processes))
}

// begins waits until a new process on a host has a run file, and its load has gone on for two seconds.
func (h *hosts) begins(host string) {
	h.t.Helper()
	files := func() int {
		found, _ := filepath.Glob(filepath.Join(h.dir, host, "kt", "agent", "*", "*-p1.ktr"))
		return len(found)
	}
	before := files()
	h.await("a process on "+host, func() bool { return files() > before })
	time.Sleep(4 * time.Second) // all begin two seconds after the last is ready
}

// cutAndDead cuts one host off for eight seconds, and kills another.
func cutAndDead(t *testing.T, h *hosts) {
	const rate, seconds = 300, 16 // of all three hosts
	r := h.load("h1", "produce", filepath.Join(h.dir, "lost.ktr"), "--topic", "lost", "--partitions", "6", "--run", "lost",
		"--rate", strconv.Itoa(rate), "--num-records", strconv.Itoa(rate*seconds))
	h.begins("h3")
	h.hosts("cut", "h2")
	time.Sleep(2 * time.Second)
	h.hosts("kill", "h3")
	time.Sleep(6 * time.Second)
	h.hosts("mend", "h2")
	doc, code := r.wait()
	const whole = 2 * rate / 3 * seconds
	if !ended(doc, code, exitFailed) || doc.Apart == nil || doc.Records.Acknowledged != whole {
		t.Errorf("exit code %d, %d records in the figures, want 1 and those of two hosts, %d; left out: %+v\n%s", code, doc.Records.Acknowledged, whole, doc.Apart, r.stderr.String())
	}
	for _, p := range doc.Processes {
		lost := p.Host == "h3"
		must.True(t, lost == (p.State == result.PartLost) && lost != p.Counted, "%s is %s, counted %v", p.Host, p.State, p.Counted)
		switch p.Host {
		case "h2":
			must.True(t, p.Records.Acknowledged == whole/2 && p.Response.Max >= 5_000_000,
				"h2 was cut off: %d records acknowledged, response max %d µs", p.Records.Acknowledged, p.Response.Max)
		case "h3":
			must.True(t, p.Records.Acknowledged != 0 && p.Records.Acknowledged < rate/3*seconds,
				"of the lost host %d records are known", p.Records.Acknowledged)
		}
	}
	must.True(t, strings.Contains(r.stderr.String(), "h3"), "the text says nothing of h3:\n%s", r.stderr.String())
}
