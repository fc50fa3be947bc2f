//go:build integration

package cmd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
)

// The tests of this file run the kt binary against a real Kafka, which they start
// and stop through scripts/kafka.

// binary is a kt built for these tests.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "kt-integration-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "kt")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, "..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build kt: %w\n%s", err, out)
	}
	return path, nil
})

// server is a real server, or some that work together. scripts/WHICH starts and stops them.
type server struct {
	t           *testing.T
	which, name string
}

// script runs a command of its script.
func (s *server) script(command string, args ...string) string {
	s.t.Helper()
	out, stderr, code := ran(s.t, exec.Command("../scripts/"+s.which, append([]string{command, "--name", s.name}, args...)...))
	must.Hold(s.t, code == 0, "scripts/%s %s %v: exit code %d\n%s", s.which, command, args, code, stderr)
	return strings.TrimSpace(string(out))
}

// up starts it at a port, for as long as its test lasts, and returns what its script prints.
func (s *server) up(port int, args ...string) string {
	s.t.Helper()
	s.name = "it-" + strconv.Itoa(port)
	s.t.Cleanup(func() { s.script("down") })
	return s.script("up", append([]string{"--port", strconv.Itoa(port)}, args...)...)
}

// ran runs a command to its end.
func ran(t *testing.T, c *exec.Cmd) (stdout []byte, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	must.Hold(t, c.ProcessState != nil, "%v", err)
	return out.Bytes(), errs.String(), c.ProcessState.ExitCode()
}

// decoded reads the JSON that a command printed.
func decoded[V any](t *testing.T, stdout []byte, stderr string) (v V) {
	t.Helper()
	err := json.Unmarshal(stdout, &v)
	must.Hold(t, err == nil, "%v\n%s%s", err, stdout, stderr)
	return v
}

// startAgent starts an agent, which ends with the test, and returns once it listens.
func startAgent(t *testing.T, c *exec.Cmd) {
	t.Helper()
	said := must.Have(c.StderrPipe())(t)
	must.Do(t, c.Start())
	lines, listens := bufio.NewScanner(said), false
	for !listens && lines.Scan() {
		listens = strings.Contains(lines.Text(), "listens on")
	}
	must.Hold(t, listens, "%q does not listen", c.Args)
	drained := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, said) // until it ends
		close(drained)
	}()
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM) // it may have gone already
		<-drained
		_ = c.Wait() // as it ends is not the point
	})
}

// kafkaCluster is a real Kafka.
type kafkaCluster struct {
	server
	brokers string
}

// nextPort is the first of 100 ports that no other test of this process has, and at whose first 30 nobody listens. They lie
// below those that the kernel gives to connections, from 32768 on.
func nextPort() int {
	for {
		port, free := 20_992+100*int(clusters.Add(1)), true
		for i := range 30 {
			l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port+i))
			if free = free && err == nil; err == nil {
				_ = l.Close()
			}
		}
		if free {
			return port
		}
	}
}

var clusters atomic.Int64

// startCluster starts a Kafka on ports of its own.
func startCluster(t *testing.T, brokers int, args ...string) *kafkaCluster {
	t.Helper()
	return startClusterAt(t, brokers, nextPort(), args...)
}

func startClusterAt(t *testing.T, brokers, port int, args ...string) *kafkaCluster {
	t.Helper()
	k := &kafkaCluster{server: server{t: t, which: "kafka"}}
	lines := strings.Fields(k.up(port, append([]string{"--brokers", strconv.Itoa(brokers)}, args...)...))
	k.brokers = lines[len(lines)-1]
	return k
}

// in is the cluster as a subtest uses it.
func (k *kafkaCluster) in(t *testing.T) *kafkaCluster {
	return &kafkaCluster{server{t, k.which, k.name}, k.brokers}
}

// endOffsets is the sum of the end offsets of a topic's partitions.
func (k *kafkaCluster) endOffsets(topic string) int64 {
	k.t.Helper()
	return must.Have(k.tryEndOffsets(topic))(k.t)
}

// tryEndOffsets is endOffsets while brokers come and go.
func (k *kafkaCluster) tryEndOffsets(topic string) (sum int64, err error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(k.brokers, ",")...))
	if err != nil {
		return 0, err
	}
	defer client.Close()
	offsets, err := kadm.NewClient(client).ListEndOffsets(context.Background(), topic)
	if err != nil {
		return 0, err
	}
	offsets.Each(func(o kadm.ListedOffset) {
		if o.Err != nil {
			err = fmt.Errorf("end offset of %s-%d: %w", o.Topic, o.Partition, o.Err)
		}
		sum += o.Offset
	})
	return sum, err
}

// leaderOf is the leader of the first partition of a topic, -1 if it has none, and its
// replicas in sync.
func (k *kafkaCluster) leaderOf(topic string) (leader int32, isr []int32) {
	k.t.Helper()
	client := must.Have(kgo.NewClient(kgo.SeedBrokers(strings.Split(k.brokers, ",")...)))(k.t)
	defer client.Close()
	m, err := kadm.NewClient(client).Metadata(context.Background(), topic)
	if err != nil {
		return -1, nil // the brokers may be about to start
	}
	p := m.Topics[topic].Partitions[0]
	return p.Leader, p.ISR
}

// await waits five minutes at most until something is so.
func (s *server) await(what string, is func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !is(); time.Sleep(200 * time.Millisecond) {
		must.Hold(s.t, !time.Now().After(deadline), "waited five minutes for %s", what)
	}
}

// ktRun is a kt that was started.
type ktRun struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout bytes.Buffer
	stderr bytes.Buffer
}

// start starts kt produce.
func (k *kafkaCluster) start(args ...string) *ktRun {
	k.t.Helper()
	return k.kt("produce", args...)
}

// kt starts a command of kt.
func (k *kafkaCluster) kt(command string, args ...string) *ktRun {
	k.t.Helper()
	return startKt(k.t, command, append([]string{"--bootstrap-server", k.brokers}, args...)...)
}

func startKt(t *testing.T, command string, args ...string) *ktRun {
	t.Helper()
	r := &ktRun{t: t}
	r.cmd = exec.Command(must.Have(binary())(t), append([]string{command, "--result", "none", "--output", "json"}, args...)...)
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	must.Do(t, r.cmd.Start())
	return r
}

// interrupt is Ctrl-C.
func (r *ktRun) interrupt() {
	r.t.Helper()
	must.Do(r.t, r.cmd.Process.Signal(os.Interrupt))
}

// wait returns the result and the exit code.
func (r *ktRun) wait() (result.Result, int) {
	r.t.Helper()
	err := r.cmd.Wait()
	must.Hold(r.t, r.cmd.ProcessState != nil, "%v", err)
	doc, code := decoded[result.Result](r.t, r.stdout.Bytes(), r.stderr.String()), r.cmd.ProcessState.ExitCode()
	if rec := doc.Records; rec.Offered != rec.Acknowledged+rec.Failed+rec.Unknown {
		r.t.Errorf("offered %d is not acknowledged %d + failed %d + unknown %d", rec.Offered, rec.Acknowledged, rec.Failed, rec.Unknown)
	}
	return doc, code
}

// ended reports whether a load ended with that exit code. On a machine with other things to
// do kt may find that it stood still, or did not keep its schedule, which comes before a
// success or a failure; what a test checks of the counts holds all the same.
func ended(doc result.Result, code, want int) bool {
	late := doc.Throughput.TargetRecordsPerSecond > 0 || strings.Contains(strings.Join(doc.Invalid, ""), stoodStill)
	return code == want || code == exitNotValid && !doc.Valid && late
}

func TestCountsAgreeWithTheBrokers(t *testing.T) {
	t.Parallel()
	k := startCluster(t, 1)
	const records = 10_000
	for name, args := range map[string][]string{
		"acks-1":      {"--acks", "1"},
		"acks-0":      {"--acks", "0"},
		"producers":   {"--producers", "3", "--acks", "all"},
		"rate":        {"--rate", "10000"},
		"sizes":       {"--compression", "lz4", "--compressibility", "0.6", "--record-size", "10-4000", "--key-distribution", "random", "--record-key-range", "1000"},
		"poisson":     {"--rate", "10000", "--arrivals", "poisson"},
		"not-idempot": {"--idempotence", "false", "--max-in-flight", "5"},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"--topic", name, "--partitions", "7", "--num-records", strconv.Itoa(records)}, args...)
			doc, _ := k.start(args...).wait()
			must.True(t, doc.Records.Acknowledged == records, "%d of %d records acknowledged: %v", doc.Records.Acknowledged, records, doc.Errors)
			got := k.endOffsets(name)
			// With acks=0 a record counts once it is written to the connection; the
			// broker may still be reading.
			for deadline := time.Now().Add(10 * time.Second); name == "acks-0" && got < records && time.Now().Before(deadline); {
				time.Sleep(100 * time.Millisecond)
				got = k.endOffsets(name)
			}
			must.Match(t, records, got, "the topic's end offsets add up to")
			var perPartition int64
			for _, p := range doc.Partitions {
				perPartition += p.Records
			}
			must.Match(t, records, perPartition, "the partitions' records add up to")
		})
	}
	t.Run("doctor", func(t *testing.T) { k.in(t).isExamined(t) })
	t.Run("properties", func(t *testing.T) { k.in(t).propertiesHaveTheEffectOfKafkas(t) })
	t.Run("pages", func(t *testing.T) { k.in(t).pagesAreShown(t) })
	t.Run("changes of a trial", func(t *testing.T) { k.in(t).changesArePutBack(t) })
	t.Run("a condition", func(t *testing.T) {
		doc, code := k.start("--topic", "aborted", "--rate", "1000", "--duration", "1m", "--abort-on", "rate>1 over 2s").wait()
		if !ended(doc, code, exitNotMet) || doc.Ended != result.Aborted || doc.AbortedBy == "" || doc.ElapsedSeconds > 30 || k.endOffsets("aborted") != doc.Records.Acknowledged {
			t.Errorf("exit code %d, %s after %.1f s: %q", code, doc.Ended, doc.ElapsedSeconds, doc.AbortedBy)
		}
	})
	t.Run("transactions", func(t *testing.T) {
		doc, code := k.start("--topic", "txn", "--num-records", "4000", "--rate", "2000",
			"--transactional-id", "it", "--transaction-duration-ms", "200").wait()
		must.True(t, doc.Records.Acknowledged == 4000 && doc.Client.Transactions >= 2,
			"exit code %d, %d records acknowledged in %d transactions", code, doc.Records.Acknowledged, doc.Client.Transactions)
		// Each transaction ends with a marker in each partition it wrote to.
		got := k.endOffsets("txn")
		must.True(t, got >= 4000+doc.Client.Transactions, "end offset %d leaves no room for %d markers", got, doc.Client.Transactions)
	})
}

// freezes pauses the broker under a load, which shows it for every record that was due.
func (k *kafkaCluster) freezes(t *testing.T) {
	const (
		rate    = 10_000
		seconds = 9
		frozen  = 2 * time.Second
	)
	run := k.start("--topic", "frozen", "--partitions", "7", "--acks", "1", "--rate", strconv.Itoa(rate), "--duration", fmt.Sprint(seconds, "s"),
		"--limit", "outage<1s", "--limit", "max<1s over 1s for 20%")
	time.Sleep(3 * time.Second)
	k.script("pause", "1")
	time.Sleep(frozen)
	k.script("resume", "1")
	doc, code := run.wait()
	if l := doc.Limits; !ended(doc, code, exitNotMet) || len(l) != 2 || l[0].Held || *l[0].Value < float64(frozen.Microseconds())*9/10 || !l[1].Held || l[1].StretchesHeld == l[1].Stretches {
		t.Errorf("exit code %d, limits %+v: the outage is none", code, l)
	}
	if r := doc.Records; r.Acknowledged != r.Offered || r.Offered+r.Unsent != rate*seconds { // a busy machine sends fewer
		t.Errorf("%+v, want %d records acknowledged or never sent: %v", r, rate*seconds, doc.Errors)
	}
	resp := doc.Latency.Response
	must.True(t, int64(resp.Max) >= frozen.Microseconds(), "response max %d µs is below the %s that the broker was frozen", resp.Max, frozen)
	must.True(t, int64(resp.P999) >= frozen.Microseconds()*9/10, "response p99.9 %d µs does not show a stall of %s", resp.P999, frozen)
	// Of the records due in the frozen time, half waited for half of it or longer.
	var slow int64
	doc.Histograms.Response.Each(func(upTo time.Duration, n int64) {
		if upTo >= frozen/2 {
			slow += n
		}
	})
	want := int64(rate * frozen.Seconds() / 2)
	must.True(t, slow >= want*9/10, "%d records took %s or longer, want %d at least: the stall is underweighted", slow, frozen/2, want)
	// What the full buffer held up was due long before it was sent.
	must.True(t, doc.Latency.SendDelay.Max != 0 && doc.Latency.Service.Max <= resp.Max,
		"send delay max %d µs, service max %d µs, response max %d µs", doc.Latency.SendDelay.Max, doc.Latency.Service.Max, resp.Max)
}

// It is given 1 GiB of records, which it must forget.
func embeddedBrokerStaysSmall(t *testing.T) {
	const records, size = 1 << 18, 4096
	doc, _ := startKt(t, "produce", "--acks", "all", "--partitions", "21", "--num-records", strconv.Itoa(records), "--record-size", strconv.Itoa(size)).wait()
	got := doc.Records.Acknowledged
	must.True(t, got == records, "%d of %d records acknowledged", got, records)
	if got := doc.Client.PeakResidentBytes; got == 0 || got > 512<<20 {
		t.Errorf("peak resident memory %d bytes, want at most 512 MiB", got)
	}
}

// shellBlock is a block of commands in a page.
var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// beforePage makes a page end with its first command that fails. A machine that is busy keeps no
// schedule (4) and need not be fit for Kafka (3), and head leaves before its input ends (141).
const beforePage = `set -uxE -o pipefail
trap 'code=$?; case "$code $BASH_COMMAND" in 4\ * | 141\ * | 3\ kt\ tune*) ;; *) exit $code ;; esac' ERR
`

// shown is how long a load of a page lasts for a reader who looks at it, and thousands how much it makes of it.
var (
	shown     = regexp.MustCompile(`--duration [0-9]+s`)
	thousands = regexp.MustCompile(`(--(?:rate|num-records|messages) [0-9]+|offset:[0-9]+)(?:000|k)\b`)
)

// hurried is a page whose loads last a second, three if that leaves nothing to measure, and make a tenth of the records, and
// whose calibration is made of runs of two seconds. They do in it all that they do in ten. Loads in the background, and those
// in which something happens, keep their time. Loads at full speed, which would take all of the CPU, have a rate. A broker whose disk
// others use too cannot promise half a second: the first workload of a reader promises more.
func hurried(script string) string {
	var out strings.Builder
	for line := range strings.Lines(strings.ReplaceAll(script, "\\\n", " ")) {
		line = thousands.ReplaceAllString(line, "${1}00")
		if strings.HasPrefix(strings.TrimSpace(line), "kt produce") && !strings.Contains(line, "--rate") {
			line = shown.ReplaceAllString(line, "$0 --rate 500")
		}
		switch {
		case strings.Contains(line, "&") || strings.Contains(line, "--at "):
		case strings.Contains(line, "--warmup") || strings.Contains(line, " over ") || strings.Contains(line, "'rate"):
			line = shown.ReplaceAllString(line, "--duration 3s")
		default:
			line = shown.ReplaceAllString(line, "--duration 1s")
		}
		if line == "kt calibrate\n" {
			line = "kt calibrate --run-time 2s\n"
		}
		if name, ok := strings.CutPrefix(line, "kt run --init "); ok {
			line += "sed -i 's/p99<500ms/p99<20s/' " + name
		}
		out.WriteString(line)
	}
	return out.String()
}

// TestTheCommandsOfTheDocuments runs all commands of a page, in order, as a reader does who pastes
// them in a fresh clone. Pages that start nothing but a Kafka of one broker share it, one after the other.
func TestTheCommandsOfTheDocuments(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("each page gets a network of its own, for its ports and hosts, and that needs root")
	}
	// A page has no network to fetch Kafka from.
	if text, err := exec.CommandContext(t.Context(), "../scripts/kafka", "fetch").CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	scripts, sharing := map[string]string{}, []string{}
	for _, page := range append(must.Have(filepath.Glob("../docs/*.md"))(t), "../README.md") {
		name, script := filepath.Base(page), ""
		for _, b := range shellBlock.FindAllSubmatch(must.Have(os.ReadFile(page))(t), -1) {
			script += string(b[1])
		}
		switch {
		case script == "":
			must.True(t, name == "checks.md" || name == "security-model.md", "%s has no command", page) // a list that is generated, and rules
		case strings.Count(script, "scripts/") == 2 && strings.Contains(script, "$(scripts/kafka up)\n"): // and down
			sharing = append(sharing, name)
			scripts["one broker"] += inTurn(name, script)
		default:
			scripts[name] = script
		}
	}
	must.True(t, len(sharing) >= 3, "pages that share a Kafka: %q", sharing)
	scripts["one broker"] += "scripts/kafka down\n"
	// The longest page begins first, so that none is left to run alone.
	for _, name := range slices.SortedFunc(maps.Keys(scripts), func(a, b string) int { return len(scripts[b]) - len(scripts[a]) }) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runInClone(t, beforePage+hurried(scripts[name])+"exit 0\n")
		})
	}
}

// inTurn is a page that leaves its Kafka to the next one, and finds no topic and no run of the one before.
func inTurn(name, script string) string {
	name = strings.TrimSuffix(name, ".md")
	script = strings.ReplaceAll(script, "--topic orders", "--topic orders-"+name)
	return "unset KT_BOOTSTRAP_SERVER; export XDG_STATE_HOME=$PWD/" + name + "\n" + strings.Replace(script, "scripts/kafka down\n", "", 1)
}

// runInClone runs a script in a copy of the sources. It has loopback and hosts of its own, and sees no process but its own:
// kt tune and kt probe look for brokers. All its processes end with it.
func runInClone(t *testing.T, script string) {
	clone := filepath.Join(t.TempDir(), "kt")
	folders := []string{"scripts", "docs"}
	if strings.Contains(script, "go build") {
		folders = append(folders, "cmd", "internal", "profiles")
	}
	for _, name := range folders {
		must.Do(t, os.CopyFS(filepath.Join(clone, name), os.DirFS(filepath.Join("..", name))))
	}
	for _, name := range []string{"go.mod", "go.sum", "main.go"} {
		text := must.Have(os.ReadFile(filepath.Join("..", name)))(t)
		writeScript(t, filepath.Join(clone, name), string(text))
	}
	kt := must.Have(binary())(t)
	tools := t.TempDir() // kt where a page does not build it, and sudo, which root may not have
	writeScript(t, filepath.Join(tools, "sudo"), "#!/bin/sh\nexec \"$@\"\n")
	must.Do(t, os.Symlink(kt, filepath.Join(tools, "kt")))
	writeScript(t, filepath.Join(tools, "page"), script)

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "unshare", "--net", "--pid", "--fork", "--mount-proc", "--kill-child",
		"bash", "-c", `ip link set lo up && mkdir -p /run/netns && mount -t tmpfs hosts /run/netns && bash "$0"`, filepath.Join(tools, "page"))
	c.Dir = clone
	c.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -ldflags=-s", "PATH="+tools+":"+os.Getenv("PATH"), "XDG_STATE_HOME="+filepath.Join(tools, "state"),
		"XDG_CONFIG_HOME="+filepath.Join(tools, "config"), "TERM=dumb")
	c.WaitDelay = time.Second
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil {
		lines := strings.SplitAfter(out.String(), "\n")
		t.Errorf("%v:\n%s", err, strings.Join(lines[max(0, len(lines)-40):], ""))
	}
}

func writeScript(t *testing.T, path, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(path, []byte(text), 0o755))
}
