package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/profiles"
)

// given is what one call of kt is given.
type given struct {
	command  plan.Command // "": produce
	args     []string
	env      map[string]string
	file     string            // the user's configuration file; "": there is none
	profiles map[string]string // name → YAML; nil: those that kt ships
	warn     func(string)
}

// newFlags defines the flags of a command that makes a load.
func newFlags(set *pflag.FlagSet, name plan.Command) *Run {
	return commands[string(name)](set).(*Run)
}

// loaded loads the settings of a command that makes a load.
func loaded(t *testing.T, define func(*pflag.FlagSet) *Run, sys System, args ...string) (*Run, error) {
	t.Helper()
	r := begin(t, define, args...)
	return r, r.Load(sys)
}

// begin defines the flags of a command, and parses arguments.
func begin[S any](t *testing.T, define func(*pflag.FlagSet) S, args ...string) S {
	t.Helper()
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	s := define(set)
	must.Do(t, set.Parse(args))
	return s
}

// load is given through the parser and Load.
func load(t *testing.T, in given) (Run, error) {
	t.Helper()
	command := in.command
	if command == "" {
		command = plan.Produce
	}
	set := pflag.NewFlagSet(string(command), pflag.ContinueOnError)
	flags := newFlags(set, command)
	args, err := ExpandLists(in.args)
	must.Hold(t, err == nil, "ExpandLists(%q): %v", in.args, err)
	must.Do(t, set.Parse(args))
	must.Hold(t, set.NArg() <= 0, "parse %q: %q are no flags", args, set.Args())
	sys := System{Kafka: kafka, Warn: in.warn, Getenv: func(name string) string { return in.env[name] }, Profiles: profiles.Of}
	for name, value := range in.env {
		sys.Environ = append(sys.Environ, name+"="+value)
	}
	if in.profiles != nil {
		tree := fstest.MapFS{}
		for name, text := range in.profiles {
			tree[name+".yaml"] = &fstest.MapFile{Data: []byte(text)}
		}
		sys.Profiles = func(string) fs.FS { return tree }
	}
	if in.file != "" {
		sys.ConfigDir = t.TempDir()
		write(t, filepath.Join(sys.ConfigDir, "kt", "config.yaml"), in.file)
	}
	err = flags.Load(sys)
	return *flags, err
}

func mustLoad(t *testing.T, in given) Run {
	t.Helper()
	p, err := load(t, in)
	must.Hold(t, err == nil, "load %+v: %v", in, err)
	return p
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// kafka knows a few properties of each client.
var kafka = Kafka{
	Producer: having("acks", "linger.ms", "transactional.id", "bootstrap.servers", "client.id", "request.timeout.ms", "receive.buffer.bytes"),
	Consumer: having("group.id", "enable.auto.commit", "max.poll.records", "bootstrap.servers", "client.id", "request.timeout.ms", "receive.buffer.bytes"),
	Takes:    func(url, _ string) bool { return !strings.HasPrefix(url, "amqp://") },
}

func having(names ...string) Client {
	return Client{Has: func(name string) bool { return slices.Contains(names, name) }, Names: names}
}

func TestHigherLayersWin(t *testing.T) {
	profile := map[string]string{"p": "topic: of-profile\npartitions: 1\nquiet: true\ntopic-config: [a=profile]\nrate: 1"}
	const (
		onTop   = "topic: of-top\npartitions: 2\nquiet: false\ntopic-config: [a=top]\nrate: 2\n"
		section = "produce:\n  topic: of-section\n  partitions: 3\n  quiet: true\n  topic-config: [a=section]\n  rate: 3\n"
	)
	env := map[string]string{"KT_TOPIC": "of-env", "KT_PARTITIONS": "4", "KT_QUIET": "false", "KT_TOPIC_CONFIG": "a=env", "KT_RATE": "4"}
	args := []string{"--topic", "of-flag", "--partitions", "5", "--quiet", "--topic-config", "a=flag", "b=flag", "--rate", "5"}
	use := []string{"--profile", "p"}
	type values struct {
		Topic      string
		Partitions int32
		Quiet      bool
		Configs    map[string]string
		Rate       plan.Rate
	}
	for _, tc := range []struct {
		name   string
		in     given
		want   values
		source string // of the topic
	}{
		{
			"the default, where nothing is given",
			given{},
			values{"kt-bench", 0, false, nil, plan.Unlimited},
			"default",
		},
		{
			"a profile over the default",
			given{args: use, profiles: profile},
			values{"of-profile", 1, true, map[string]string{"a": "profile"}, plan.Rate{PerSecond: 1}},
			"profile p",
		},
		{
			"the top of the file over a profile",
			given{args: use, profiles: profile, file: onTop},
			values{"of-top", 2, false, map[string]string{"a": "top"}, plan.Rate{PerSecond: 2}},
			"config.yaml:1",
		},
		{
			"the section of the file over its top",
			given{args: use, profiles: profile, file: onTop + section},
			values{"of-section", 3, true, map[string]string{"a": "section"}, plan.Rate{PerSecond: 3}},
			"config.yaml:7",
		},
		{
			"the environment over the file",
			given{args: use, profiles: profile, file: onTop + section, env: env},
			values{"of-env", 4, false, map[string]string{"a": "env"}, plan.Rate{PerSecond: 4}},
			"KT_TOPIC",
		},
		{
			"a flag over all, and a list as a whole",
			given{args: append(args, use...), profiles: profile, file: onTop + section, env: env},
			values{"of-flag", 5, true, map[string]string{"a": "flag", "b": "flag"}, plan.Rate{PerSecond: 5}},
			"--topic",
		},
	} {
		p := mustLoad(t, tc.in)
		got := values{p.Plan.Topic.Name, p.Plan.Topic.Partitions, p.Quiet, p.Plan.Topic.Configs, p.Plan.Load.Rate}
		must.Match(t, tc.want, got, "%s: load differs", tc.name)
		if got := p.Sources["topic"]; !strings.HasSuffix(got, tc.source) {
			t.Errorf("%s: the source of --topic is %q, want %q", tc.name, got, tc.source)
		}
	}
}

func TestTheProfileMayBeNamedInAnyLayerAboveIt(t *testing.T) {
	two := map[string]string{"one": "topic: one", "two": "topic: two"}
	for name, tc := range map[string]struct {
		in   given
		want string
	}{
		"in the file":                  {given{file: "profile: one"}, "one"},
		"in its section":               {given{file: "profile: two\nproduce: {profile: one}"}, "one"},
		"in the environment":           {given{file: "profile: two", env: map[string]string{"KT_PROFILE": "one"}}, "one"},
		"on the command line":          {given{args: []string{"--profile", "one"}, env: map[string]string{"KT_PROFILE": "two"}}, "one"},
		"nowhere: then there is none":  {given{}, "kt-bench"},
		"as an empty variable: likely": {given{env: map[string]string{"KT_PROFILE": ""}}, "kt-bench"},
	} {
		tc.in.profiles = two
		must.Match(t, tc.want, mustLoad(t, tc.in).Plan.Topic.Name, "%s: the topic", name)
	}
}

func TestTheConfigurationFileMayBeNamed(t *testing.T) {
	named := write(t, filepath.Join(t.TempDir(), "mine.yaml"), "topic: mine")
	for name, in := range map[string]given{
		"by a flag":                   {args: []string{"--config", named}, file: "topic: other"},
		"by an environment variable":  {env: map[string]string{"KT_CONFIG": named}, file: "topic: other"},
		"by a flag over the variable": {args: []string{"--config", named}, env: map[string]string{"KT_CONFIG": "nowhere"}},
	} {
		if p := mustLoad(t, in); p.Plan.Topic.Name != "mine" || p.Sources["topic"] != named+":1" {
			t.Errorf("%s: the topic is %q from %q, want mine from %q", name, p.Plan.Topic.Name, p.Sources["topic"], named)
		}
	}
	must.Err(t, "--config no/such.yaml: no such file", must.Fail(load(t, given{args: []string{"--config", "no/such.yaml"}})), "a file that is named and missing")
}

// An alias, and a Java property beside kt's own flag for it, count in the layer in
// which they stand: else a broker in the user's file would win over the one on
// the command line.
func TestLayersHoldBetweenFlagsThatMeanTheSame(t *testing.T) {
	const file = `
bootstrap-server: file:9092
acks: all
rate: 1000
warmup: 10s
record-size: 100
`
	p := mustLoad(t, given{file: file, args: strings.Fields(
		"--producer-props bootstrap.servers=flag:9092 acks=1 --throughput 50 --warmup-records 7 --payload-monotonic")})
	must.Match(t, []string{"flag:9092"}, p.Plan.Bootstrap, "bootstrap")
	must.Match(t, plan.Given{Value: "1", Source: "--producer-props"}, p.Properties["acks"], "acks")
	if got := p.Plan.Load.Rate.PerSecond; got != 50 {
		t.Errorf("the rate is %v, want that of --throughput", got)
	}
	must.Match(t, plan.Warmup{Records: 7}, p.Plan.Load.Warmup, "warm-up")
	must.True(t, p.Plan.Payload.Kind == plan.Monotonic, "payloads are %s, want monotonic", p.Plan.Payload.Kind)

	p = mustLoad(t, given{file: "producer-props: [acks=0, linger.ms=9]", env: map[string]string{"KT_COMMAND_PROPERTY": "acks=1"}, args: []string{"--acks", "all"}})
	must.Match(t, map[string]plan.Given{"acks": {Value: "all", Source: "--acks"}}, p.Properties, "of two names of a list the higher counts, and below --acks")
}

func TestWithinALayerKafkasPrecedenceHolds(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "client.properties"), "acks=0\nlinger.ms=1\nbatch.size=1\nbootstrap.servers=file:1\n")
	p := mustLoad(t, given{args: []string{
		"--command-config", file, "--command-property", "linger.ms=2", "batch.size=2", "--batch-size", "3", "--bootstrap-server", "flag:1",
	}})
	want := map[string]plan.Given{
		"acks": {Value: "0", Source: file + ":1"}, "linger.ms": {Value: "2", Source: "--command-property"}, "batch.size": {Value: "3", Source: "--batch-size"},
		"bootstrap.servers": {Value: "flag:1", Source: "--bootstrap-server"},
	}
	must.Match(t, want, p.Properties, "properties")
	must.Match(t, []string{"flag:1"}, p.Plan.Bootstrap, "bootstrap")
}

func TestFilesAreReadAsTheyAreWritten(t *testing.T) {
	for _, tc := range []struct {
		name, file string
		got        func(Run) any
		want       any
	}{
		{"keys of any case", "Topic: a\nBOOTSTRAP-SERVER: b:1", func(p Run) any { return p.Plan.Topic.Name + p.Plan.Bootstrap[0] }, "ab:1"},
		{"values keep their case", "topic: MixedCase", func(p Run) any { return p.Plan.Topic.Name }, "MixedCase"},
		{
			"dots in the keys of a list", "topic-config: [min.insync.replicas=2, Retention.MS=5]",
			func(p Run) any { return p.Plan.Topic.Configs },
			map[string]string{"min.insync.replicas": "2", "Retention.MS": "5"},
		},
		{"a list with one item, not written as one", "topic-config: a=b", func(p Run) any { return p.Plan.Topic.Configs }, map[string]string{"a": "b"}},
		{"a flag whose name has a dot", "producer.config: ''", func(p Run) any { return p.Flags["producer.config"] }, ""},
		{"brokers as a list", "bootstrap-server: [a:1, b:2]", func(p Run) any { return p.Plan.Bootstrap }, []string{"a:1", "b:2"}},
		{"brokers in one string", "bootstrap-server: a:1,b:2", func(p Run) any { return p.Plan.Bootstrap }, []string{"a:1", "b:2"}},
		{"a large number", "num-records: 100000000", func(p Run) any { return p.Plan.Load.Records }, int64(100_000_000)},
		{"a number in scientific notation", "rate: 1e6", func(p Run) any { return p.Plan.Load.Rate.PerSecond }, 1e6},
		{"a description is for people", "description: mine\ntopic: a", func(p Run) any { return p.Plan.Topic.Name }, "a"},
		{"an empty file", "# nothing\n", func(p Run) any { return p.Plan.Topic.Name }, "kt-bench"},
	} {
		must.Match(t, tc.want, tc.got(mustLoad(t, given{file: tc.file})), "%s: load %q", tc.name, tc.file)
	}
}

func TestEnvironmentVariables(t *testing.T) {
	for flag, want := range map[string]string{"bootstrap-server": "KT_BOOTSTRAP_SERVER", "producer.config": "KT_PRODUCER_CONFIG"} {
		must.Match(t, want, envName(flag), "envName(%q)", flag)
	}
	p := mustLoad(t, given{
		env: map[string]string{"KT_BOOTSTRAP_SERVER": "a:1,b:2", "KT_TOPIC_CONFIG": "min.insync.replicas=2", "NO_COLOR": "1"},
	})
	must.Match(t, []string{"a:1", "b:2"}, p.Plan.Bootstrap, "bootstrap")
	must.Match(t, map[string]string{"min.insync.replicas": "2"}, p.Plan.Topic.Configs, "topic configs")
	if !p.NoColor || p.Sources["no-color"] != "NO_COLOR" || mustLoad(t, given{}).NoColor {
		t.Errorf("NO_COLOR switches colours off, and nothing else does: %q", p.Sources["no-color"])
	}
}

func TestUnknownVariablesAreWarnedOf(t *testing.T) {
	var told []string
	p := mustLoad(t, given{
		env:  map[string]string{"KT_GROUPZ": "x", "KT_KAFKA_HEAP": "-Xmx1g", "KT_CONSUMERS": "2", "KT_EMPTY": "", "KTX": "1"},
		warn: func(text string) { told = append(told, text) },
	})
	must.True(t, len(told) == 1 && strings.HasPrefix(told[0], "KT_GROUPZ is ignored: "), "warnings: %q", told)
	must.Match(t, plan.Produce, p.Plan.Command, "it does not load: %+v", p)
}

func TestNumbersMayHaveAPrefix(t *testing.T) {
	p := mustLoad(t, given{
		args: []string{"--num-records", "1.5M", "--rate=20.0k", "--record-key-range", "1,000", "--key-distribution", "range"},
		file: "warmup: 100k",
	})
	if l := p.Plan.Load; l.Records != 1_500_000 || l.Rate.PerSecond != 20_000 || l.Warmup.Records != 100_000 || p.Plan.Payload.KeyRange != 1000 {
		t.Errorf("%+v %+v", l, p.Plan.Payload)
	}
	must.Match(t, "1500000", p.Flags["num-records"], "--print-config says")
	p = mustLoad(t, given{args: []string{"--warmup", "1m", "--duration", "2m"}, env: map[string]string{"KT_WARMUP_RECORDS": "2k"}})
	if w := p.Plan.Load.Warmup; w.Duration.Std() != time.Minute || w.Records != 0 {
		t.Errorf("1m of warm-up is a minute: %+v", w)
	}
	p = mustLoad(t, given{file: "num-records: 1e6\nwarmup-records: 2k"})
	must.Match(t, []int64{1_000_000, 2000}, []int64{p.Plan.Load.Records, p.Plan.Load.Warmup.Records}, "of a file: %+v", p.Plan.Load)
}

func TestFilesWithMistakesAreRefused(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   given
		want []string // each in the error
	}{
		{"a key that is no flag", given{file: "topci: x"}, []string{"config.yaml", `unknown key "topci"`}},
		{"with the name that is near", given{file: "partition: 3"}, []string{`"partition"`, "did you mean partitions?"}},
		{"one in a section", given{file: "produce: {lingers: 3}"}, []string{`"produce.lingers"`, "did you mean linger?"}},
		{"a section of no command", given{file: "produse: {linger: 3}"}, []string{`unknown key "produse"`}},
		{"no YAML", given{file: "rate: [1, 2\ntopic: x"}, []string{"config.yaml:1: ", "rate: 50k"}},
		{"a list of flags", given{file: "- rate"}, []string{"config.yaml:1: it has no flag: write a flag and its value"}},
		{"a section that is none", given{file: "produce: fast"}, []string{"config.yaml:1: produce: it is a section"}},
		{"all of several", given{file: "bb: 1\naa: 2"}, []string{"config.yaml:1: unknown key \"bb\"\n", `config.yaml:2: unknown key "aa"`}},
		{
			"a key of a profile",
			given{args: []string{"--profile", "p"}, profiles: map[string]string{"p": "topics: x"}},
			[]string{"profile p", `unknown key "topics"`, "did you mean topic?"},
		},
		{"a profile that is not there", given{args: []string{"--profile", "fast"}}, []string{`--profile "fast": `, "there are acks-0, ", "durable, history, in-flight, latency, "}},
		{"a profile out of reach", given{args: []string{"--profile", "../produce/latency"}}, []string{"there is no such profile"}},
		{"no YAML", given{file: "topic: [a"}, []string{"config.yaml:1: did not find"}},
		{"a map for a list", given{file: "topic-config: {min.insync.replicas: 2}"}, []string{"config.yaml:1: topic-config: ", "write one value"}},
		{"a hole in a list", given{file: "topic-config: [a=1, ~]"}, []string{"config.yaml:1: topic-config: "}},
		{"a value of another kind", given{file: "partitions: many"}, []string{"config.yaml", "partitions", "many"}},
		{"one in a variable", given{env: map[string]string{"KT_PARTITIONS": "many"}}, []string{"KT_PARTITIONS: ", "many"}},
		{"one in a profile", given{args: []string{"--profile", "p"}, profiles: map[string]string{"p": "quiet: perhaps"}}, []string{"profile p: ", "quiet", "perhaps"}},
		{
			"all of several layers",
			given{env: map[string]string{"KT_FPS": "x"}, file: "partitions: y\nquiet: z"},
			[]string{"KT_FPS: ", `partitions "y"`, `quiet "z"`},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := load(t, tc.in)
			must.Hold(t, err != nil, "it was accepted")
			for _, want := range tc.want {
				must.True(t, strings.Contains(err.Error(), want), "the error is %q, want %q in it", err, want)
			}
		})
	}
}

func TestEveryProblemIsReportedWithItsFlag(t *testing.T) {
	for _, tc := range []struct {
		args string
		want []string // what each problem begins with
	}{
		{"--rate fast", []string{"--rate: "}},
		{"--throughput 0", []string{"--throughput: "}},
		{"--rate 1 --throughput 1", []string{"--rate and --throughput exclude"}},
		{"--stop-at-disk 0.9", []string{"--stop-at-disk 0.9"}},
		{"--stop-at-disk 0%", []string{`--stop-at-disk "0%"`}},
		{"--stop-at-disk 50% --until-full", []string{"--stop-at-disk and --until-full exclude"}},
		{"--until-full", []string{"--until-full: "}},
		{"--duration -1s", []string{`--duration "-1s"`}},
		{"--duration soon", []string{`--duration "soon"`}},
		{"--num-records 0", []string{"--num-records 0"}},
		{"--partitions 0", []string{"--partitions 0"}},
		{"--replication-factor 0", []string{"--replication-factor 0"}},
		{"--warmup 10x", []string{`--warmup "10x"`}},
		{"--warmup -5s", []string{"--warmup -5s"}},
		{"--warmup 2m --duration 1m", []string{"--warmup 2m: "}},
		{"--warmup 1k --num-records 1k", []string{"--warmup 1k: "}},
		{"--warmup 1 --warmup-records 1", []string{"--warmup and --warmup-records exclude"}},
		{"--transaction-duration-ms 0", []string{"--transaction-duration-ms 0"}},
		{"--arrivals sometimes", []string{`--arrivals "sometimes"`}},
		{"--record-size 0", []string{"--record-size: "}},
		{"--record-size 1 --payload-file f", []string{"--record-size and --payload-file exclude"}},
		{"--record-size 1 --payload-file f --payload-monotonic", []string{"--record-size and --payload-file and --payload-monotonic exclude"}},
		{"--payload-monotonic --compressibility 0.5", []string{"--compressibility goes with generated payloads"}},
		{`--payload-file f --payload-delimiter \q`, []string{"--payload-delimiter "}},
		{"--header =x", []string{`--header "=x"`}},
		{"--topic-config retention", []string{`--topic-config "retention"`}},
		{"--command-property acks", []string{"--command-property: write key=value"}},
		{"--producer-props acks=1 --command-property acks=1", []string{"--command-property and --producer-props exclude"}},
		{"--producer.config a --command-config b", []string{"--command-config and --producer.config exclude", `--command-config "b": `}},
		{"--command-config no/such", []string{`--command-config "no/such": `}},
		{"--batch-size big", []string{"--batch-size: "}},
		{"--linger 0.5", []string{"--linger 0.5"}},
		{"--linger -1", []string{"--linger -1"}},
		{"--reporting-interval 0", []string{"--reporting-interval 0"}},
		{"--fps 0", []string{"--fps 0"}},
		{"--output xml", []string{`--output "xml": `}},
		{
			"--rate fast --duration soon --fps 0 --topic a/b --producers 0 --linger x",
			[]string{`--duration "soon"`, "--fps 0", "--linger ", "--producers 0", "--rate: ", `--topic "a/b"`},
		},
	} {
		t.Run(tc.args, func(t *testing.T) {
			_, err := loaded(t, NewProduce, nothing, strings.Fields(tc.args)...)
			must.Hold(t, err != nil, "it was accepted")
			lines := strings.Split(err.Error(), "\n")
			must.Hold(t, len(lines) == len(tc.want), "%d problems, want %d:\n%v", len(lines), len(tc.want), err)
			for _, want := range tc.want {
				must.True(t, strings.Contains("\n"+err.Error(), "\n"+want), "no problem begins with %q:\n%v", want, err)
			}
		})
	}
}

// needed is what a command cannot do without.
func needed(command plan.Command) []string {
	if command == plan.Consume {
		return []string{"--bootstrap-server", "b:9092", "--topic", "t"}
	}
	return nil
}

// What is set for all commands may have a meaning in some of them only.
func TestSettingsOfOtherCommandsAreNoMistakes(t *testing.T) {
	env := map[string]string{"KT_PRODUCERS": "3", "KT_CONSUMERS": "2"}
	const file = "record-size: 100\nisolation: read_committed\nproduce: {acks: 1}\nconsume: {group: g}\nroundtrip: {one-at-a-time: false}"
	p := mustLoad(t, given{env: env, file: file})
	c := mustLoad(t, given{command: plan.Consume, env: env, file: file, args: needed(plan.Consume)})
	r := mustLoad(t, given{command: plan.Roundtrip, env: env, file: file})
	if p.Plan.Producers != 3 || p.Properties["acks"].Value != "1" || p.Plan.Read.Consumers != 0 || len(p.ConsumerProperties) != 0 {
		t.Errorf("kt produce: %+v", p)
	}
	must.True(t, c.Plan.Producers == 0 && c.Plan.Read.Consumers == 2 && c.Plan.Read.Group == "g" && len(c.Properties) == 0, "kt consume: %+v", c)
	if r.Plan.Producers != 3 || r.Plan.Read.Consumers != 2 || r.Plan.Read.Group != "" || r.Plan.Payload.Size.Max() != 100 {
		t.Errorf("kt roundtrip: %+v", r)
	}
	for name, tc := range map[string]struct {
		in   given
		want string
	}{
		"a key of no command":                {given{command: plan.Roundtrip, file: "producerz: 1"}, `unknown key "producerz"; did you mean producers?`},
		"another command's key in a section": {given{file: "produce: {consumers: 1}"}, `unknown key "produce.consumers"`},
		"another command's key in a profile": {given{args: []string{"--profile", "p"}, profiles: map[string]string{"p": "consumers: 1"}}, `profile p: unknown key "consumers"`},
	} {
		if _, err := load(t, tc.in); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s gives %v, want %q", name, err, tc.want)
		}
	}
}

func TestCommandsBesideALoadComeInPairs(t *testing.T) {
	got := mustLoad(t, given{args: []string{"--at", "10s", "--exec", "kill 1", "--exec", "echo a=b, c", "--at", "1.5", "--at", "0", "--exec", "true"}})
	want := []plan.Exec{{After: 10 * time.Second, Command: "kill 1"}, {After: 1500 * time.Millisecond, Command: "echo a=b, c"}, {After: 0, Command: "true"}}
	must.Match(t, want, got.Execs, "commands")
	got = mustLoad(t, given{command: plan.Roundtrip, file: "at: [1s, 2s]\nexec: [a, b]"})
	must.Match(t, []plan.Exec{{After: time.Second, Command: "a"}, {After: 2 * time.Second, Command: "b"}}, got.Execs, "commands of a file")
	for args, want := range map[string]string{
		"--at 1s":                           `--at "1s": `,
		"--exec a --exec b --at 1":          `--exec "b": `,
		"--at soon --exec a":                `--at "soon": `,
		"--at -1s --exec a":                 `--at "-1s": `,
		"--at 1m --exec a":                  `--at "1m": `,
		"--at 20 --exec a --duration 20s":   "--at 20: ",
		"--at 20 --exec= --num-records 100": `--exec "": `,
	} {
		refuses(t, plan.Produce, args, want)
	}
}

func TestWhatIsVerifiedIsStamped(t *testing.T) {
	for _, tc := range []struct {
		command      plan.Command
		args         string
		verify       bool
		stamp        bool
		ledger, file string
	}{
		{plan.Produce, "", false, false, "", ""},
		{plan.Produce, "--verify", true, true, "", ""},
		{plan.Produce, "--verify --ledger l", true, true, "l", ""},
		{plan.Roundtrip, "", false, true, "", ""},
		{plan.Roundtrip, "--verify --ledger l", true, true, "l", ""},
		{plan.Consume, "--verify l", true, false, "", "l"},
	} {
		args := strings.Fields(tc.args)
		if tc.command == plan.Consume {
			args = append(args, "--bootstrap-server", "b:1") // the ledger names the topic
		}
		r := mustLoad(t, given{command: tc.command, args: args})
		if r.Plan.Verify != tc.verify || r.Plan.Payload.Stamp != tc.stamp || r.Ledger != tc.ledger || r.LedgerFile != tc.file {
			t.Errorf("kt %s %s: verify %t, stamp %t, ledger %q, ledger to look for %q", tc.command, tc.args, r.Plan.Verify, r.Plan.Payload.Stamp, r.Ledger, r.LedgerFile)
		}
	}
	for args, want := range map[string]string{
		"--ledger l":                `--ledger "l": `,
		"--verify --record-size 39": "--record-size 39: ",
	} {
		refuses(t, plan.Produce, args, want)
	}
}

func TestWhatIsNotGivenHasItsDefault(t *testing.T) {
	got := mustLoad(t, given{})
	want := plan.Plan{
		Command: "produce", Engine: plan.Client, Topic: plan.Topic{Name: "kt-bench"}, Producers: 1, Seed: 1,
		Load:    plan.Load{Duration: plan.Duration(time.Minute), Arrivals: plan.Uniform},
		Payload: plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(512), Keys: plan.NoKeys},
	}
	if diff := cmp.Diff(want, got.Plan, sizesByText); diff != "" {
		t.Errorf("the plan (-want +got):\n%s", diff)
	}
	if got.Interval != 5*time.Second || got.FPS != 4 || len(got.Warnings) != 0 || len(got.Properties) != 0 {
		t.Errorf("interval %v, fps %d, warnings %v, properties %v", got.Interval, got.FPS, got.Warnings, got.Properties)
	}
}

// sizesByText compares sizes by what they print.
var sizesByText = cmp.Comparer(func(a, b plan.Size) bool { return a.String() == b.String() })
