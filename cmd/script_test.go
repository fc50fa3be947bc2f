package cmd

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/result"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"kt": func() {
			for _, pair := range os.Environ() {
				if name, isUnset := strings.CutSuffix(pair, "="+unsetValue); isUnset {
					_ = os.Unsetenv(name) // it is a name
				}
			}
			os.Exit(Main(System()))
		},
	})
}

// unsetValue is the value of a variable that kt is not to have. Scripts can set variables and not unset them.
const unsetValue = "(unset)"

// unpack writes the lines of a run file in its place: unpack FILE.
func unpack(ts *testscript.TestScript, args []string) {
	path := ts.MkAbs(args[0])
	packed, err := os.ReadFile(path)
	ts.Check(err)
	ts.Check(os.WriteFile(path, canned.Text(packed), 0o600))
}

// pack makes a run file of the lines in a file: pack FROM TO.
func pack(ts *testscript.TestScript, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), canned.Packed(ts.ReadFile(args[0])), 0o600))
}

// unset removes variables: unset NAME….
func unset(ts *testscript.TestScript, args []string) {
	for _, name := range args {
		ts.Setenv(name, unsetValue)
	}
}

// TestScripts runs every script of testdata/script. A script finds a broker at
// $BROKERS, which forgets records but keeps topics; one at $KEEPING, which keeps
// both; a web server, which is no broker, at $HTTP; someone who hangs up at $CLOSER;
// and nobody at $NOBODY. Its commands that go to a broker go to $BROKERS.
func TestScripts(t *testing.T) { runScripts(t, "testdata/script") }

func runScripts(t *testing.T, dir string) {
	if signal.Ignored(syscall.SIGHUP) { // by nohup: what a script starts would ignore it too
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE") != "",
		Setup:               setUpScript,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"agent":   used("NAME [FLAG…]", agent),
			"busy":    used("COMMAND [ARG…]", busy),
			"code":    used("N COMMAND [ARG…]", code),
			"cut":     used("TOPIC", cut),
			"drop":    used("TOPIC", drop),
			"expect":  used("FILE a.b.c ==|>=|<= VALUE", expect),
			"fits":    fits,
			"forge":   used("TOPIC FILE [KEY=VALUE…]", forge),
			"dynamic": used("[NAME=VALUE…]", dynamic),
			"killed":  used("TIMES COMMAND ARG…", killed),
			"named":   used("NAME [FLAG…]", named),
			"mirror":  used("FROM TO [KEY=VALUE…]", mirror),
			"offers":  offers,
			"search":  used("COMMAND [ARG…]", search),
			"topics":  used("[NAME…]", topics),
			"unpack":  used("FILE", unpack),
			"pack":    used("FROM TO", pack),
			"unset":   used("NAME…", unset),
			"write":   used("TOPIC VALUE…", write),
		},
	})
}

// used is a command of scripts that says how it is used where it is not used so, or with "!".
func used(usage string, run func(ts *testscript.TestScript, args []string)) func(*testscript.TestScript, bool, []string) {
	least, most := len(strings.Fields(usage)), len(strings.Fields(usage))
	if least -= strings.Count(usage, "["); strings.Contains(usage, "…") {
		most = math.MaxInt
	}
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) < least || len(args) > most {
			ts.Fatalf("usage: %s", usage)
		}
		run(ts, args)
	}
}

func setUpScript(env *testscript.Env) error {
	for name, keeps := range map[string]bool{"BROKERS": false, "KEEPING": true} {
		broker, err := kafka.StartEmbedded(keeps)
		if err != nil {
			return err
		}
		env.Defer(broker.Close)
		env.Setenv(name, strings.Join(broker.Addrs(), ","))
	}
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.NotFoundHandler()}
	go func() { _ = server.Serve(web) }() // until it is closed
	env.Defer(func() { _ = server.Close() })
	closer, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go closeAll(closer)
	env.Defer(func() { _ = closer.Close() })
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	env.Setenv("DOUBTS", strings.Join(result.DoubtIDs(), ","))
	env.Setenv("HTTP", web.Addr().String())
	env.Setenv("CLOSER", closer.Addr().String())
	env.Setenv("NOBODY", gone.Addr().String())
	env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
	env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
	return gone.Close()
}

// stoodStill is what kt says of itself on a machine that gave it no CPU for a second.
const stoodStill = "kt itself stood still"

// busy runs a load. On a machine with other things to do kt may find that it did not keep
// its schedule or stood still, and say so by its exit code; what the script checks holds all the same.
func busy(ts *testscript.TestScript, args []string) {
	if got := exitOf(ts, args); got != 0 && !ofBusyMachine(ts, got, args) {
		ts.Fatalf("exit code %d", got)
	}
}

// ofBusyMachine says whether an exit code means no more than that others used the CPUs. kt limits
// the rate of an embedded broker; without a rate there is no schedule that could be missed.
func ofBusyMachine(ts *testscript.TestScript, exit int, args []string) bool {
	said := ts.ReadFile("stderr")
	scheduled := slices.Contains(args, "--rate") || slices.Contains(args, "--throughput") || ts.Getenv("KT_RATE") != ""
	return exit == exitNotValid && (scheduled || strings.Contains(said, stoodStill) || strings.Contains(said, "kt limits the rate"))
}

// exitOf runs a command and returns its exit code.
func exitOf(ts *testscript.TestScript, args []string) int {
	err := ts.Exec(args[0], args[1:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	ts.Check(err)
	return 0
}

// search runs a search. On a busy machine no rate may hold, or kt may be the limit.
func search(ts *testscript.TestScript, args []string) {
	if got := exitOf(ts, args); got != 0 && got != exitFailed && got != exitNotValid {
		ts.Fatalf("exit code %d", got)
	}
}

// fits holds a file to a schema of docs: fits FILE study.
func fits(ts *testscript.TestScript, neg bool, args []string) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	schema, err := c.Compile("../docs/" + args[1] + ".schema.json")
	ts.Check(err)
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(ts.ReadFile(args[0])))
	ts.Check(err)
	if err := schema.Validate(doc); (err != nil) != neg {
		ts.Fatalf("%s: %v", args[0], err)
	}
}

// killed runs a study, and kills it at a moment by chance; then it goes on and is killed again: killed TIMES kt study run ….
// When it ends before a kill, nothing is left to kill.
func killed(ts *testscript.TestScript, args []string) {
	times, err := strconv.Atoi(args[0])
	ts.Check(err)
	chance := rand.New(rand.NewPCG(9, 9))
	logs := func() int {
		all, _ := filepath.Glob(filepath.Join(ts.Getenv("XDG_STATE_HOME"), "kt/studies/*/log.jsonl"))
		return len(all)
	}
	before := logs() // of other studies of the script
	for i := range times {
		command := args[1:]
		if i > 0 {
			command = []string{"kt", "study", "resume", "--quiet"}
		}
		c := exec.Command("sh", "-c", "exec \"$0\" \"$@\"")
		c.Args = append(c.Args, command...)
		c.Dir = ts.Getenv("WORK")
		for _, name := range []string{"PATH", "HOME", "XDG_STATE_HOME"} {
			c.Env = append(c.Env, name+"="+ts.Getenv(name))
		}
		ts.Check(c.Start())
		ended := make(chan struct{})
		go func() {
			_ = c.Wait() // killed, or done
			close(ended)
		}()
		for running := true; running && logs() == before; { // the moment is one of the study, and not before it
			select {
			case <-ended:
				running = false
			case <-time.After(5 * time.Millisecond):
			}
		}
		time.Sleep(time.Duration(chance.IntN(900)) * time.Millisecond)
		_ = c.Process.Kill() // it may have ended
		<-ended
	}
}

// offers runs a command until it writes a line: offers LINE command args…
func offers(ts *testscript.TestScript, neg bool, args []string) {
	var tries []string
	for range 100 {
		if ts.Exec(args[1], args[2:]...) == nil && slices.Contains(strings.Split(ts.ReadFile("stdout"), "\n"), args[0]) != neg {
			return
		}
		tries = append(tries[max(0, len(tries)-1):], ts.ReadFile("stdout")+ts.ReadFile("stderr"))
	}
	ts.Fatalf("no line %q in %q", args[0], tries)
}

// closeAll closes every connection that a listener gets, until it is closed itself.
func closeAll(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_ = conn.Close() // that is what it is for
	}
}

// code runs a command and checks its exit code: code 2 kt produce … A load that ended with 0, 1 or 3
// may also have stood still, or been late, which counts for more.
func code(ts *testscript.TestScript, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := exitOf(ts, args[1:])
	if judged := want != exitUsage && want < exitNotValid; got != want && (!judged || !ofBusyMachine(ts, got, args)) {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// expect compares a value in a JSON file: expect stdout records.acknowledged == 100.
// The name * stands for the sum over a list, of those elements that have what is named.
func expect(ts *testscript.TestScript, args []string) {
	var doc any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &doc))
	got := valueAt(ts, doc, strings.Split(args[1], "."))
	if !holds(ts, got, args[2], args[3]) {
		ts.Fatalf("%s is %v, want %s %s", args[1], got, args[2], args[3])
	}
}

// valueAt returns the value at a path of names in a JSON document.
func valueAt(ts *testscript.TestScript, doc any, path []string) any {
	if len(path) == 0 {
		return doc
	}
	key, rest := path[0], path[1:]
	switch v := doc.(type) {
	case map[string]any:
		next, ok := v[key]
		if !ok {
			ts.Fatalf("no %s in %v", key, slices.Sorted(maps.Keys(v)))
		}
		return valueAt(ts, next, rest)
	case []any:
		if key == "*" {
			sum := 0.0
			for _, e := range v {
				if row, ok := e.(map[string]any); !ok || row[rest[0]] != nil {
					sum += valueAt(ts, e, rest).(float64)
				}
			}
			return sum
		}
		i, err := strconv.Atoi(key)
		ts.Check(err)
		if i >= len(v) {
			ts.Fatalf("no %s: there are %d", strings.Join(path, "."), len(v))
		}
		return valueAt(ts, v[i], rest)
	}
	ts.Fatalf("no %s in %v", key, doc)
	return nil
}

func holds(ts *testscript.TestScript, got any, op, want string) bool {
	if op == "==" {
		if n, ok := got.(float64); ok {
			return strconv.FormatFloat(n, 'f', -1, 64) == want
		}
		return fmt.Sprint(got) == want
	}
	n, ok := got.(float64)
	if !ok {
		ts.Fatalf("%v is no number", got)
	}
	limit, err := strconv.ParseFloat(want, 64)
	ts.Check(err)
	return op == ">=" && n >= limit || op == "<=" && n <= limit
}

// topics checks which topics there are: topics a b; topics with no name: none.
func topics(ts *testscript.TestScript, args []string) {
	found, err := kadm.NewClient(broker(ts)).ListTopics(context.Background())
	ts.Check(err)
	if !slices.Equal(found.Names(), args) {
		ts.Fatalf("topics are %q, want %q", found.Names(), args)
	}
}

// dynamic checks which dynamic settings the brokers have: dynamic NAME=VALUE; without one: none.
func dynamic(ts *testscript.TestScript, args []string) {
	admin, got := kadm.NewClient(broker(ts)), []string{}
	metadata, err := admin.BrokerMetadata(context.Background())
	ts.Check(err)
	all, err := admin.DescribeBrokerConfigs(context.Background(), metadata.Brokers.NodeIDs()...)
	ts.Check(err)
	for _, r := range all {
		ts.Check(r.Err)
		for _, c := range r.Configs {
			if c.Source == kmsg.ConfigSourceDynamicBrokerConfig {
				got = append(got, c.Key+"="+c.MaybeValue())
			}
		}
	}
	if slices.Sort(got); !slices.Equal(slices.Compact(got), args) {
		ts.Fatalf("dynamic settings are %q, want %q", slices.Compact(got), args)
	}
}

// drop deletes a topic: drop TOPIC
func drop(ts *testscript.TestScript, args []string) {
	_, err := kadm.NewClient(broker(ts)).DeleteTopic(context.Background(), args[0])
	ts.Check(err)
}

// cut deletes the records of a topic, as its retention would: cut TOPIC
func cut(ts *testscript.TestScript, args []string) {
	admin := kadm.NewClient(broker(ts))
	ends, err := admin.ListEndOffsets(context.Background(), args[0])
	ts.Check(err)
	_, err = admin.DeleteRecords(context.Background(), ends.Offsets())
	ts.Check(err)
}

// write writes records that kt did not make: write TOPIC VALUE…
func write(ts *testscript.TestScript, args []string) {
	client := broker(ts)
	for _, v := range args[1:] {
		ts.Check(client.ProduceSync(context.Background(), &kgo.Record{Topic: args[0], Value: []byte(v)}).FirstErr())
	}
}

// forge makes a topic of one partition with records of a run, and the ledger of a run
// of which four were acknowledged: forge TOPIC FILE [KEY=VALUE…]
//
//	seqs=0,1,3       the records that are there, by their numbers; !3 is damaged
//	run=2            they are of that run, and the ledger is of run 1
//	id=known         the ledger has the topic's id
//	topic=NAME       the ledger is of another topic
//	idempotent=false the producer may have sent a record twice
func forge(ts *testscript.TestScript, args []string) {
	client, given := broker(ts), make(map[string]string)
	for _, arg := range args[2:] {
		key, value, _ := strings.Cut(arg, "=")
		given[key] = value
	}
	made, err := kadm.NewClient(client).CreateTopic(context.Background(), 1, 1, nil, args[0])
	ts.Check(err)
	run := uint64(1)
	if given["run"] != "" {
		run, err = strconv.ParseUint(given["run"], 10, 64)
		ts.Check(err)
	}
	for text := range strings.SplitSeq(given["seqs"], ",") {
		number, damaged := strings.CutPrefix(text, "!")
		seq, err := strconv.ParseInt(number, 10, 64)
		ts.Check(err)
		value := make([]byte, 100)
		stamp := ledger.Stamp{Run: run, Seq: seq, Due: time.Now().UnixNano()}
		stamp.Put(value, ledger.Around{})
		if damaged {
			value[99]++
		}
		ts.Check(client.ProduceSync(context.Background(), &kgo.Record{Topic: args[0], Value: value, Timestamp: stamp.Time()}).FirstErr())
	}
	book := &ledger.Book{
		Run: 1, Topics: []ledger.BookTopic{{Name: cmp.Or(given["topic"], args[0]), Partitions: 1}}, Idempotent: given["idempotent"] != "false", Acks: "all", Retries: true,
		Lanes: []ledger.Lane{{Issued: 4, Acknowledged: ledger.Ranges{{From: 0, To: 4}}, LastOffset: 2}},
	}
	if given["id"] != "" {
		book.Topics[0].ID = made.ID.String()
	}
	file, err := ledger.Create(ts.MkAbs(args[1]), false)
	ts.Check(err)
	ts.Check(file.End(book))
}

// broker is a client of the broker at $BROKERS.
func broker(ts *testscript.TestScript) *kgo.Client {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(ts.Getenv("BROKERS"), ",")...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	ts.Check(err)
	ts.Defer(client.Close)
	return client
}

// agent starts a kt agent on a port of its own, which is in $NAME afterwards, and ends it
// with the script: agent NAME [FLAG…]. Its name is NAME in lower case, and its results
// are in a folder of that name.
func agent(ts *testscript.TestScript, args []string) {
	name := strings.ToLower(args[0])
	path, err := exec.LookPath("kt")
	ts.Check(err)
	c := exec.Command(path, append([]string{"agent", "--bind", "127.0.0.1:0", "--name", name, "--role", "client", "--results", ts.MkAbs(name)}, args[1:]...)...)
	c.Dir = ts.MkAbs(".")
	for _, name := range []string{"XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME", "PATH", "TMPDIR"} {
		c.Env = append(c.Env, name+"="+ts.Getenv(name))
	}
	said, err := c.StderrPipe()
	ts.Check(err)
	ts.Check(c.Start())
	lines := bufio.NewScanner(said)
	open := false
	for lines.Scan() {
		open = open || strings.Contains(lines.Text(), "there is no key: every user of this host may use this agent")
		if _, rest, ok := strings.Cut(lines.Text(), " listens on "); ok {
			addr, _, _ := strings.Cut(rest, ";")
			ts.Setenv(args[0], addr)
			break
		}
	}
	if keyed := slices.Contains(args, "--key-file"); open == keyed {
		ts.Fatalf("agent %s has a key: %v, and says that it serves every user: %v", name, keyed, open)
	}
	var told []string
	drained := make(chan struct{})
	go func() { // until the agent has ended
		defer close(drained)
		for lines.Scan() {
			told = append(told, name+": "+lines.Text())
		}
	}()
	ts.Defer(func() {
		_ = c.Process.Signal(syscall.SIGTERM) // it may have gone already
		<-drained
		_ = c.Wait()
		ts.Logf("%s", strings.Join(told, "\n"))
	})
	if ts.Getenv(args[0]) == "" {
		ts.Fatalf("agent %s did not say where it listens", name)
	}
}
