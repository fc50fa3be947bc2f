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
		if !tc.check(r) {
			t.Errorf("%s: the run is %+v", tc.name, r)
		}
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
	if !regexp.MustCompile(`^perf-consumer-[0-9]{1,5}$`).MatchString(r.Plan.Read.Group) {
		t.Errorf("the group is %q", r.Plan.Read.Group)
	}
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
	if !cmp.Equal(p.Bootstrap, []string{"b:1"}) || p.Load.Rate.PerSecond != 7 {
		t.Errorf("brokers %q, rate %s", p.Bootstrap, p.Load.Rate)
	}
	p = mustLoad(t, given{command: plan.Consume, args: []string{"--broker-list", "b:1", "--bootstrap-server", "c:1", "--topic", "t"}}).Plan
	if !cmp.Equal(p.Bootstrap, []string{"c:1"}) {
		t.Errorf("of the old name and the new one in one layer the new one counts: %q", p.Bootstrap)
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
		t.Run(args, func(t *testing.T) {
			all := strings.Fields(args)
			if !strings.HasPrefix(args, "--topic") && !strings.HasPrefix(args, "--bootstrap-server") {
				all = append(all, "--bootstrap-server", "b:1")
				if !strings.Contains(args, "--include") {
					all = append(all, "--topic", "t")
				}
			} else if strings.Contains(args, "--include") {
				all = append(all, "--bootstrap-server", "b:1")
			}
			_, err := load(t, given{command: plan.Consume, args: all})
			if err == nil {
				t.Fatal("it was accepted")
			}
			if got := strings.Split(err.Error(), "\n"); !strings.HasPrefix(got[0], want) || len(got) > 1 && !strings.Contains(args, ".config") {
				t.Errorf("%v\nwant one problem that begins with %q", err, want)
			}
		})
	}
	_, err := load(t, given{command: plan.Consume, file: "rate: 1MiB/s\ngroup-protocol: consumer", args: append(needed(plan.Consume), "--no-group")})
	if err == nil || !regexp.MustCompile(`config.yaml:1: rate 1MiB/s: reading is held`).MatchString(err.Error()) {
		t.Errorf("a rate of the file gives %v", err)
	}
}
