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
		_, err := load(t, given{command: plan.Roundtrip, args: strings.Fields(args)})
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s gives %v\nwant one problem that begins with %q", args, err, want)
		}
	}
}
