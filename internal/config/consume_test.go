package config

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

// consume is given through kt consume, with what it cannot do without.
func consume(t *testing.T, args ...string) Run {
	t.Helper()
	return mustLoad(t, given{command: plan.Consume, args: append(needed(plan.Consume), args...)})
}

func TestCommandLinesOfKafkasConsumerTestWorkUnchanged(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "consumer.properties"), "fetch.min.bytes=7\nmax.poll.records=9\n")
	for _, tc := range []struct {
		name, args string
		properties map[string]plan.Given // beside those that kt sets without being asked
		warnings   []string
		check      func(r Run) bool
	}{
		{
			"the one of most examples",
			"--bootstrap-server b:9092 --topic test --messages 1000000",
			map[string]plan.Given{"bootstrap.servers": {Value: "b:9092", Source: "--bootstrap-server"}},
			[]string{"Warning: --messages is deprecated. Use --num-records instead."},
			func(r Run) bool {
				return r.Plan.Topic.Name == "test" && r.Plan.Load.Records == 1_000_000 && !r.Plan.Read.ToEnd && r.Plan.Load.Duration == 0 &&
					r.Plan.Read.Timeout == plan.Duration(10*time.Second) && r.Interval == 5*time.Second && r.Plan.Read.From == plan.From{}
			},
		},
		{
			"of Kafka 3, with all that it had",
			"--broker-list b:9092,c:9092 --topic test --messages 10 --threads 4 --num-fetch-threads 2 --group mine --from-latest --fetch-size 2097152 " +
				"--socket-buffer-size 65536 --timeout 60000 --reporting-interval 1000 --show-detailed-stats --hide-header --date-format HH:mm --print-metrics --consumer.config " + file,
			map[string]plan.Given{
				"bootstrap.servers": {Value: "b:9092,c:9092", Source: "--broker-list"}, "group.id": {Value: "mine", Source: "--group"}, "auto.offset.reset": {Value: "latest", Source: "--from-latest"},
				"max.partition.fetch.bytes": {Value: "2097152", Source: "--fetch-size"}, "receive.buffer.bytes": {Value: "65536", Source: "--socket-buffer-size"},
				"fetch.min.bytes": {Value: "7", Source: file + ":1"}, "max.poll.records": {Value: "9", Source: file + ":2"}, "enable.auto.commit": {Value: "true", Source: "default"},
			},
			[]string{
				"Warning: --consumer.config is deprecated. Use --command-config instead.",
				"Warning: --messages is deprecated. Use --num-records instead.",
				"Option --threads was removed in Kafka 4.0 and has no effect: kt reads with --consumers N.",
				"Option --num-fetch-threads was removed in Kafka 4.0 and has no effect: kt reads with --consumers N.",
				"Option --broker-list was removed in Kafka 4.0. Use --bootstrap-server instead.",
			},
			func(r Run) bool {
				return r.Plan.Read.Group == "mine" && r.Plan.Read.From.Latest && r.Plan.Read.Consumers == 1 && r.Plan.Read.Commit == plan.CommitAuto &&
					r.Plan.Read.Timeout == plan.Duration(time.Minute) && r.ShowDetailed && r.HideHeader && r.DateFormat == "HH:mm" && r.PrintMetrics &&
					cmp.Equal(r.Plan.Bootstrap, []string{"b:9092", "c:9092"})
			},
		},
		{
			"with the names of Kafka 4.2",
			"--bootstrap-server b:9092 --include kt-.* --num-records 10 --command-property fetch.min.bytes=8 --command-property client.id=me --command-config " + file,
			map[string]plan.Given{
				"bootstrap.servers": {Value: "b:9092", Source: "--bootstrap-server"}, "client.id": {Value: "me", Source: "--command-property"},
				"fetch.min.bytes": {Value: "8", Source: "--command-property"}, "max.poll.records": {Value: "9", Source: file + ":2"},
			},
			nil,
			func(r Run) bool {
				return r.Plan.Topic.Name == "" && r.Plan.Read.Include == "kt-.*" && r.Plan.Load.Records == 10 && r.DateFormat == "yyyy-MM-dd HH:mm:ss:SSS"
			},
		},
	} {
		r := mustLoad(t, given{command: plan.Consume, args: strings.Fields(tc.args)})
		if _, ok := tc.properties["group.id"]; !ok {
			tc.properties["group.id"] = plan.Given{Value: r.Plan.Read.Group, Source: "default"}
			tc.properties["enable.auto.commit"] = plan.Given{Value: "false", Source: "default"}
		}
		must.Match(t, tc.properties, r.ConsumerProperties, "%s: properties", tc.name)
		must.Match(t, tc.warnings, r.Warnings, "%s: warnings", tc.name)
		must.True(t, tc.check(r), "%s: the run is %+v", tc.name, r)
	}
}

func TestConsumeDefaults(t *testing.T) {
	r := consume(t)
	want := plan.Plan{
		Command: plan.Consume, Engine: plan.Client, Bootstrap: []string{"b:9092"}, Topic: plan.Topic{Name: "t"},
		Load: plan.Load{Arrivals: plan.Uniform},
		Read: plan.Read{Consumers: 1, Group: r.Plan.Read.Group, Commit: plan.CommitNone, ToEnd: true, Timeout: plan.Duration(10 * time.Second)},
	}
	if diff := cmp.Diff(want, r.Plan, sizesByText); diff != "" {
		t.Errorf("the plan (-want +got):\n%s", diff)
	}
	must.True(t, regexp.MustCompile(`^perf-consumer-[0-9]{1,5}$`).MatchString(r.Plan.Read.Group), "the group is %q", r.Plan.Read.Group)
	if other := consume(t).Plan.Read.Group; other == r.Plan.Read.Group && consume(t).Plan.Read.Group == other {
		t.Errorf("three runs have the group %s", other)
	}
}

func TestWhenReadingEnds(t *testing.T) {
	for args, want := range map[string]struct {
		records  int64
		duration time.Duration
		toEnd    bool
	}{
		"":                              {toEnd: true},
		"--from earliest":               {toEnd: true},
		"--from offset:5":               {toEnd: true},
		"--from latest":                 {duration: time.Minute},
		"--from-latest":                 {duration: time.Minute},
		"--from-latest=false":           {toEnd: true},
		"--from-latest --num-records 5": {records: 5},
		"--from-latest --duration 0":    {},
		"--num-records 5":               {records: 5},
		"--messages 5":                  {records: 5},
		"--duration 5s":                 {duration: 5 * time.Second},
		"--duration 0":                  {},
		"--duration 5s --num-records 5": {records: 5, duration: 5 * time.Second},
		"--verify l":                    {toEnd: true},
		"--command-property auto.offset.reset=latest":                 {duration: time.Minute},
		"--command-property auto.offset.reset=latest --from earliest": {toEnd: true},
	} {
		p := consume(t, strings.Fields(args)...).Plan
		if p.Load.Records != want.records || p.Load.Duration.Std() != want.duration || p.Read.ToEnd != want.toEnd {
			t.Errorf("%q: %d records, %s, to the end: %t; want %+v", args, p.Load.Records, p.Load.Duration, p.Read.ToEnd, want)
		}
	}
}

func TestTimesOfReading(t *testing.T) {
	for args, want := range map[string]plan.Read{
		"--timeout 500":                       {Timeout: plan.Duration(500 * time.Millisecond)},
		"--timeout 10s":                       {Timeout: plan.Duration(10 * time.Second)},
		"--timeout 0":                         {},
		"--timeout 0 --processing-time 2":     {Processing: plan.Duration(2 * time.Millisecond)},
		"--timeout 0 --processing-time 0.5":   {Processing: plan.Duration(500 * time.Microsecond)},
		"--timeout 0 --processing-time 250us": {Processing: plan.Duration(250 * time.Microsecond)},
	} {
		if got := consume(t, strings.Fields(args)...).Plan.Read; got.Timeout != want.Timeout || got.Processing != want.Processing {
			t.Errorf("%s: timeout %s, processing time %s", args, got.Timeout, got.Processing)
		}
	}
}

// What there is a flag of kt for may be given as a property, and means the same.
func TestPropertiesCountAsTheirFlags(t *testing.T) {
	const none = "(none)"
	for _, tc := range []struct {
		name, args, file string
		group            string // none, or as a regular expression
		commit           plan.Commit
		from             string
		properties       map[string]string // of those four; absent: not set
	}{
		{"nothing given", "", "", "perf-consumer-.*", plan.CommitNone, "earliest", map[string]string{"enable.auto.commit": "false"}},
		{"no group", "--no-group", "", none, plan.CommitNone, "earliest", nil},
		{"no group switched off", "--no-group=false", "", "perf-consumer-.*", plan.CommitNone, "earliest", map[string]string{"enable.auto.commit": "false"}},
		{"a group by flag", "--group g", "", "g", plan.CommitAuto, "earliest", map[string]string{"enable.auto.commit": "true"}},
		{"by property", "--command-property group.id=g", "", "g", plan.CommitAuto, "earliest", map[string]string{"enable.auto.commit": "true"}},
		{"the flag over the property", "--command-property group.id=p --group g", "", "g", plan.CommitAuto, "earliest", map[string]string{"enable.auto.commit": "true"}},
		{"the property of a higher layer", "--command-property group.id=p", "group: g", "p", plan.CommitAuto, "earliest", map[string]string{"enable.auto.commit": "true"}},
		{"no group over that of a property", "--no-group --command-property group.id=p enable.auto.commit=true", "", none, plan.CommitNone, "earliest", nil},
		{"no group over that of a file", "--no-group", "group: g", none, plan.CommitNone, "earliest", nil},
		{"a group over none in a file", "--group g", "no-group: true", "g", plan.CommitAuto, "earliest", map[string]string{"enable.auto.commit": "true"}},
		{"a property over none in a file", "--command-property group.id=p", "no-group: true", "p", plan.CommitAuto, "earliest", map[string]string{"enable.auto.commit": "true"}},
		{"none for a ledger", "--verify l", "", none, plan.CommitNone, "earliest", nil},
		{"one that is asked for", "--verify l --group g --commit none", "", "g", plan.CommitNone, "earliest", map[string]string{"enable.auto.commit": "false"}},
		{"several for a ledger", "--verify l --groups 3", "", "perf-consumer-.*", plan.CommitNone, "earliest", map[string]string{"enable.auto.commit": "false"}},
		{"a random name for several", "--groups 3", "", "perf-consumer-.*", plan.CommitNone, "earliest", map[string]string{"enable.auto.commit": "false"}},

		{"commits by flag", "--group g --commit sync", "", "g", plan.CommitSync, "earliest", map[string]string{"enable.auto.commit": "false"}},
		{"in a group of nobody's", "--commit auto", "", "perf-consumer-.*", plan.CommitAuto, "earliest", map[string]string{"enable.auto.commit": "true"}},
		{"switched off by property", "--group g --command-property enable.auto.commit=false", "", "g", plan.CommitNone, "earliest", map[string]string{"enable.auto.commit": "false"}},
		{"on by property", "--command-property enable.auto.commit=TRUE", "", "perf-consumer-.*", plan.CommitAuto, "earliest", map[string]string{"enable.auto.commit": "TRUE"}},
		{"the flag over the property", "--group g --commit async --command-property enable.auto.commit=true", "", "g", plan.CommitAsync, "earliest", map[string]string{"enable.auto.commit": "false"}},
		{"a higher property over the flag", "--group g --command-property enable.auto.commit=true", "commit: async", "g", plan.CommitAuto, "earliest", map[string]string{"enable.auto.commit": "true"}},
		{"which does not contradict it", "--group g --command-property enable.auto.commit=false", "commit: async", "g", plan.CommitAsync, "earliest", map[string]string{"enable.auto.commit": "false"}},
		{"and here does", "--group g --command-property enable.auto.commit=false", "commit: auto", "g", plan.CommitNone, "earliest", map[string]string{"enable.auto.commit": "false"}},
		{"nor without a group", "--no-group --commit none --command-property enable.auto.commit=true", "", none, plan.CommitNone, "earliest", nil},
		{"nor for a ledger", "--verify l --commit none --command-property enable.auto.commit=true", "", none, plan.CommitNone, "earliest", nil},
		{"a ledger without a group: the client will refuse", "--verify l --command-property enable.auto.commit=true", "", none, plan.CommitNone, "earliest", map[string]string{"enable.auto.commit": "true"}},
		{"no group over a file's commits", "--no-group", "command-property: enable.auto.commit=true", none, plan.CommitNone, "earliest", nil},

		{"from the earliest by flag", "--no-group --from earliest", "", none, plan.CommitNone, "earliest", map[string]string{"auto.offset.reset": "earliest"}},
		{"the latest by flag", "--no-group --from latest", "", none, plan.CommitNone, "latest", map[string]string{"auto.offset.reset": "latest"}},
		{"by Kafka's flag", "--no-group --from-latest", "", none, plan.CommitNone, "latest", map[string]string{"auto.offset.reset": "latest"}},
		{"by property", "--no-group --command-property auto.offset.reset=latest", "", none, plan.CommitNone, "latest", map[string]string{"auto.offset.reset": "latest"}},
		{"the flag over the property", "--no-group --from earliest --command-property auto.offset.reset=latest", "", none, plan.CommitNone, "earliest", map[string]string{"auto.offset.reset": "earliest"}},
		{"a higher property over the flag", "--no-group --command-property auto.offset.reset=latest", "from: offset:5", none, plan.CommitNone, "latest", map[string]string{"auto.offset.reset": "latest"}},
		{"an offset leaves the property", "--no-group --from offset:5 --command-property auto.offset.reset=latest", "", none, plan.CommitNone, "offset:5", map[string]string{"auto.offset.reset": "latest"}},
		{"one that the plan cannot say", "--no-group --command-property auto.offset.reset=none", "", none, plan.CommitNone, "earliest", map[string]string{"auto.offset.reset": "none"}},
		{"a time", "--no-group --from timestamp:2026-01-31T15:04:05Z", "", none, plan.CommitNone, "timestamp:2026-01-31T15:04:05Z", nil},
		{"where the ledger begins", "--verify l", "from: latest", none, plan.CommitNone, "earliest", nil},
	} {
		r := mustLoad(t, given{command: plan.Consume, args: append(needed(plan.Consume), strings.Fields(tc.args)...), file: tc.file})
		read := r.Plan.Read
		group := read.Group
		if group == "" {
			group = none
		}
		if !regexp.MustCompile("^" + strings.NewReplacer("(", `\(`, ")", `\)`).Replace(tc.group) + "$").MatchString(group) {
			t.Errorf("%s: the group is %s, want %s", tc.name, group, tc.group)
		}
		if read.Commit != tc.commit || read.From.String() != tc.from {
			t.Errorf("%s: commits %s from %s, want %s from %s", tc.name, read.Commit, read.From, tc.commit, tc.from)
		}
		must.Match(t, read.Group, r.ConsumerProperties["group.id"].Value, "%s: group.id", tc.name)
		got := valuesOf(r.ConsumerProperties)
		delete(got, "bootstrap.servers")
		delete(got, "group.id")
		if diff := cmp.Diff(len(tc.properties), len(got)); diff != "" || len(got) > 0 && !cmp.Equal(tc.properties, got) {
			t.Errorf("%s: properties are %v, want %v", tc.name, got, tc.properties)
		}
	}
}

func TestConsumersFlagsBecomeJavaProperties(t *testing.T) {
	for args, want := range map[string]map[string]string{
		"--isolation read_committed":                {"isolation.level": "read_committed"},
		"--fetch-size 2MiB":                         {"max.partition.fetch.bytes": "2097152"},
		"--socket-buffer-size 64KiB":                {"receive.buffer.bytes": "65536"},
		"--socket-buffer-size -1":                   {"receive.buffer.bytes": "-1"},
		"--command-property isolation.level=x":      {"isolation.level": "x"},
		"--command-property max.poll.records=5 a=b": {"max.poll.records": "5", "a": "b"},
	} {
		want["bootstrap.servers"] = "b:9092"
		must.Match(t, want, valuesOf(consume(t, append(strings.Fields(args), "--no-group")...).ConsumerProperties), "%s", args)
	}
	got := valuesOf(consume(t, strings.Fields("--group g --group-protocol consumer --group-instance-id i --commit none")...).ConsumerProperties)
	want := map[string]string{"bootstrap.servers": "b:9092", "group.id": "g", "group.protocol": "consumer", "group.instance.id": "i", "enable.auto.commit": "false"}
	must.Match(t, want, got, "in a group")
}

func TestLayersChooseWhatIsRead(t *testing.T) {
	for _, tc := range []struct {
		name, file, args string
		topic, include   string
	}{
		{"a topic of the file", "topic: f", "", "f", ""},
		{"a flag over it", "topic: f", "--topic t", "t", ""},
		{"a pattern over it", "topic: f", "--include a.*", "", "a.*"},
		{"a topic over a pattern", "include: a.*", "--topic t", "t", ""},
		{"the ledger's own", "", "--verify l", "", ""},
		{"the ledger's own, named", "", "--verify l --topic t", "t", ""},
	} {
		p := mustLoad(t, given{command: plan.Consume, file: "bootstrap-server: b:1\n" + tc.file, args: strings.Fields(tc.args)}).Plan
		must.Match(t, []string{tc.topic, tc.include}, []string{p.Topic.Name, p.Read.Include}, "%s: topic %q, pattern %q", tc.name, p.Topic.Name, p.Read.Include)
	}
	file := "bootstrap-server: f:1\nrate: 7"
	p := mustLoad(t, given{command: plan.Consume, file: file, args: []string{"--broker-list", "b:1", "--topic", "t"}}).Plan
	must.True(t, cmp.Equal(p.Bootstrap, []string{"b:1"}) && p.Load.Rate.PerSecond == 7, "brokers %q, rate %s", p.Bootstrap, p.Load.Rate)
	p = mustLoad(t, given{command: plan.Consume, args: []string{"--broker-list", "b:1", "--bootstrap-server", "c:1", "--topic", "t"}}).Plan
	must.True(t, cmp.Equal(p.Bootstrap, []string{"c:1"}), "of the old name and the new one in one layer the new one counts: %q", p.Bootstrap)
}

// refuses tests how the one problem begins that a command has with arguments; files that are not there are problems beside it.
func refuses(t *testing.T, command plan.Command, args, want string) {
	t.Helper()
	_, err := load(t, given{command: command, args: strings.Fields(args)})
	if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") && !strings.Contains(args, "--consumer.config b") {
		t.Errorf("%s gives %v\nwant one problem that begins with %q", args, err, want)
	}
}

func TestEveryProblemOfReadingIsReportedWithItsFlag(t *testing.T) {
	for args, want := range map[string]string{ // how the one problem begins
		"--topic t":                              "--bootstrap-server: ",
		"--bootstrap-server b:1":                 "--topic or --include: ",
		"--topic t --include x":                  "--topic and --include exclude",
		"--rate 0":                               "--rate: ",
		"--num-records 0":                        "--num-records 0: ",
		"--messages -1":                          "--messages -1: ",
		"--messages 1 --num-records 1":           "--num-records and --messages exclude",
		"--groups 0":                             "--groups 0: ",
		"--groups 2 --no-group":                  "--groups 2: ",
		"--group g --no-group":                   "--group and --no-group exclude",
		"--no-group --group-protocol consumer":   `--group-protocol "consumer": `,
		"--no-group --group-instance-id i":       `--group-instance-id "i": `,
		"--no-group --commit auto":               `--commit "auto": `,
		"--commit often":                         `--commit "often": `,
		"--from yesterday":                       `--from "yesterday": `,
		"--from latest --from-latest":            "--from and --from-latest exclude",
		"--from latest --verify l":               "--verify and --from exclude",
		"--include a --verify l":                 `--include "a": `,
		"--verify true":                          `--verify "true": `,
		"--timeout soon":                         `--timeout "soon": write milliseconds`,
		"--timeout -1":                           "--timeout -1: write milliseconds",
		"--processing-time -1ms":                 `--processing-time "-1ms": write milliseconds`,
		"--fetch-size big":                       "--fetch-size: ",
		"--socket-buffer-size big":               "--socket-buffer-size: ",
		"--command-config a --consumer.config b": "--command-config and --consumer.config exclude",
		"--command-property a":                   `--command-property: write key=value`,
		"--output xml":                           `--output "xml"`,
	} {
		all := args
		if !strings.Contains(args, "--bootstrap-server") && args != "--topic t" {
			all += " --bootstrap-server b:1"
		}
		if !strings.Contains(args, "--topic") && !strings.Contains(args, "--include") && args != "--bootstrap-server b:1" {
			all += " --topic t"
		}
		refuses(t, plan.Consume, all, want)
	}
	_, err := load(t, given{command: plan.Consume, file: "rate: 1MiB/s\ngroup-protocol: consumer", args: append(needed(plan.Consume), "--no-group")})
	if err == nil || !regexp.MustCompile(`config.yaml:1: rate 1MiB/s: reading is held`).MatchString(err.Error()) {
		t.Errorf("a rate of the file gives %v", err)
	}
}

func roundtrip(t *testing.T, args string) Run {
	t.Helper()
	return mustLoad(t, given{command: plan.Roundtrip, args: strings.Fields(args)})
}

func TestRoundtripDefaults(t *testing.T) {
	r := roundtrip(t, "")
	want := plan.Plan{
		Command: plan.Roundtrip, Engine: plan.Client, Topic: plan.Topic{Name: "kt-bench"}, Producers: 1, Seed: 1,
		Load:    plan.Load{Duration: plan.Duration(time.Minute), Arrivals: plan.Uniform},
		Payload: plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(512), Keys: plan.NoKeys, Stamp: true},
		Read:    plan.Read{Consumers: 1, Commit: plan.CommitNone, From: plan.From{Latest: true}, Timeout: plan.Duration(10 * time.Second)},
	}
	if diff := cmp.Diff(want, r.Plan, sizesByText); diff != "" {
		t.Errorf("the plan (-want +got):\n%s", diff)
	}
	must.Match(t, map[string]plan.Given{"auto.offset.reset": {Value: "latest", Source: "default"}}, r.ConsumerProperties, "properties of the consumer")
	must.Match(t, 0, len(r.Properties), "properties of the producer are %v", r.Properties)
}

func TestARoundtripTakesTheFlagsOfBoth(t *testing.T) {
	r := roundtrip(t, "--bootstrap-server b:1 --topic t --rate 1MiB/s --producers 3 --consumers 2 --group g --groups 4 --commit sync --from earliest --acks 1 --linger 7 "+
		"--fetch-size 5 --socket-buffer-size 6 --isolation read_committed --record-size 100 --warmup 5s --timeout 3s --processing-time 1ms --partitions 9 --transactional-id x")
	p := r.Plan
	if p.Producers != 3 || p.Read.Consumers != 2 || p.Read.Group != "g" || p.Read.Groups != 4 || p.Read.Commit != plan.CommitSync || p.Read.From.Latest ||
		!p.Load.Rate.Bytes || p.Topic.Partitions != 9 || p.Read.Timeout != plan.Duration(3*time.Second) || p.Load.Transaction != plan.Duration(3*time.Second) {
		t.Errorf("the plan is %+v", p)
	}
	must.Match(t, map[string]string{"bootstrap.servers": "b:1", "acks": "1", "linger.ms": "7", "transactional.id": "x"}, valuesOf(r.Properties), "properties of the producer")
	want := map[string]string{
		"bootstrap.servers": "b:1", "group.id": "g", "enable.auto.commit": "false", "auto.offset.reset": "earliest",
		"max.partition.fetch.bytes": "5", "receive.buffer.bytes": "6", "isolation.level": "read_committed",
	}
	must.Match(t, want, valuesOf(r.ConsumerProperties), "properties of the consumer")
	if group := roundtrip(t, "--groups 2").Plan.Read.Group; !regexp.MustCompile(`^perf-consumer-[0-9]+$`).MatchString(group) {
		t.Errorf("several groups without a name are called %q", group)
	}
	if r := roundtrip(t, "--command-property group.id=g"); r.Plan.Read.Group != "g" || r.Plan.Read.Commit != plan.CommitAuto {
		t.Errorf("a group by property is %+v", r.Plan.Read)
	}
}

func TestOneRecordAtATime(t *testing.T) {
	for _, tc := range []struct {
		name, args, file string
		records          int64
		duration         time.Duration
		linger           string
	}{
		{"as Kafka's tool", "--one-at-a-time", "", 5000, 0, "0"},
		{"a number of records", "--one-at-a-time --num-records 7", "", 7, 0, "0"},
		{"a time", "--one-at-a-time --duration 5s", "", 0, 5 * time.Second, "0"},
		{"another linger", "--one-at-a-time --linger 3", "", 5000, 0, "3"},
		{"another linger by property", "--one-at-a-time --command-property linger.ms=3", "", 5000, 0, "3"},
		{"as Kafka's tool, by its flags", "--topic t --num-records 9 --producer-acks all --record-size 100", "", 9, 0, "0"},
		{"the same, above others", "--num-records 9 --producer-acks 1", "rate: 1000\nproducers: 4\nengine: client", 9, 0, "0"},
		{"in a layer above others", "--one-at-a-time", "rate: 1000\nproducers: 4\nconsumers: 3", 5000, 0, "0"},
	} {
		r := mustLoad(t, given{command: plan.Roundtrip, args: strings.Fields(tc.args), file: tc.file})
		l := r.Plan.Load
		if !l.OneAtATime || !l.Rate.IsUnlimited() || l.Records != tc.records || l.Duration.Std() != tc.duration || r.Properties["linger.ms"].Value != tc.linger ||
			r.Plan.Producers != 1 || r.Plan.Read.Consumers != 1 {
			t.Errorf("%s: %+v with linger.ms=%s, %d producers, %d consumers", tc.name, l, r.Properties["linger.ms"].Value, r.Plan.Producers, r.Plan.Read.Consumers)
		}
	}
	r := mustLoad(t, given{command: plan.Roundtrip, args: []string{"--rate", "5"}, file: "one-at-a-time: true\nproducers: 4"})
	if r.Plan.Load.OneAtATime || r.Plan.Load.Rate.PerSecond != 5 || r.Plan.Producers != 4 || len(r.Properties) != 0 {
		t.Errorf("a rate over it: %+v, %v", r.Plan, r.Properties)
	}
	for _, args := range []string{
		"--rate -1", "--throughput 10", "--duration 5s", "--producers 2", "--consumers 2", "--one-at-a-time=false",
	} {
		if r := roundtrip(t, "--num-records 9 --producer-acks all "+args); r.Plan.Load.OneAtATime {
			t.Errorf("with %s, which Kafka's tool does not have, it is one at a time", args)
		}
	}
	if roundtrip(t, "--num-records 9 --acks all").Plan.Load.OneAtATime || roundtrip(t, "--producer-acks all --duration 1s").Plan.Load.OneAtATime {
		t.Error("the flags of kt alone are one at a time")
	}
	if got := roundtrip(t, "--one-at-a-time --producer-acks 1").Properties["acks"]; got != (plan.Given{Value: "1", Source: "--producer-acks"}) {
		t.Errorf("--producer-acks 1 is %v", got)
	}
}

func TestPropertiesGoToWhomTheyBelong(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "client.properties"), "acks=1\nmax.poll.records=5\nclient.id=me\nbootstrap.servers=b:1\n")
	producer := write(t, filepath.Join(t.TempDir(), "producer.properties"), "acks=0\nclient.id=writer\n")
	consumer := write(t, filepath.Join(t.TempDir(), "consumer.properties"), "max.poll.records=9\nclient.id=reader\n")
	type props = map[string]string
	for _, tc := range []struct {
		name, args         string
		producer, consumer props
	}{
		{
			"of a file", "--command-config " + file,
			props{"acks": "1", "client.id": "me", "bootstrap.servers": "b:1"},
			props{"max.poll.records": "5", "client.id": "me", "bootstrap.servers": "b:1"},
		},
		{
			"of the command line", "--command-property acks=1 max.poll.records=5 request.timeout.ms=7",
			props{"acks": "1", "request.timeout.ms": "7"},
			props{"max.poll.records": "5", "request.timeout.ms": "7"},
		},
		{
			"of a file for each", "--producer.config " + producer + " --consumer.config " + consumer,
			props{"acks": "0", "client.id": "writer"},
			props{"max.poll.records": "9", "client.id": "reader"},
		},
		{
			"of the producer, although it has none like it", "--producer-props max.poll.records=5",
			props{"max.poll.records": "5"},
			props{},
		},
		{
			"a flag of one client leaves the other's property", "--command-property receive.buffer.bytes=5 --socket-buffer-size 6",
			props{"receive.buffer.bytes": "5"},
			props{"receive.buffer.bytes": "6"},
		},
		{
			"what nobody knows goes to who has something like it", "--command-property max.pol.records=5 ackz=1 zzz=0",
			props{"ackz": "1", "zzz": "0"},
			props{"max.pol.records": "5"},
		},
	} {
		r := roundtrip(t, tc.args)
		tc.consumer["auto.offset.reset"] = "latest"
		must.Match(t, tc.producer, valuesOf(r.Properties), "%s: producer", tc.name)
		must.Match(t, tc.consumer, valuesOf(r.ConsumerProperties), "%s: consumer", tc.name)
	}
}

func TestEveryProblemOfARoundtripIsReportedOnce(t *testing.T) {
	a := write(t, filepath.Join(t.TempDir(), "a.properties"), "bootstrap.servers=a:1")
	b := write(t, filepath.Join(t.TempDir(), "b.properties"), "bootstrap.servers=b:1")
	for args, want := range map[string]string{
		"--one-at-a-time --rate 5":                           "--rate and --one-at-a-time exclude",
		"--one-at-a-time --throughput -1":                    "--throughput and --one-at-a-time exclude",
		"--one-at-a-time --producers 2":                      "--one-at-a-time: ",
		"--one-at-a-time --consumers 2":                      "--one-at-a-time: ",
		"--one-at-a-time --groups 2":                         "--one-at-a-time: ",
		"--one-at-a-time --arrivals poisson":                 `--arrivals "poisson": `,
		"--acks 1 --producer-acks 1":                         "--acks and --producer-acks exclude",
		"--record-size 39":                                   "--record-size 39: ",
		"--group-instance-id i":                              `--group-instance-id "i": `,
		"--commit sync":                                      `--commit "sync": `,
		"--record-size 10-2000":                              "--record-size 10-2000: ",
		"--command-property acks":                            `--command-property: write key=value`,
		"--command-config no/such":                           `--command-config "no/such": `,
		"--linger x":                                         `--linger "x"`,
		"--producer.config " + a + " --consumer.config " + b: "bootstrap.servers: the producer's are a:1 (from " + a + ":1), the consumer's b:1",
	} {
		refuses(t, plan.Roundtrip, args, want)
	}
}
