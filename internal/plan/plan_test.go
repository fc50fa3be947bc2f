package plan

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/must"
)

// good is a plan with nothing wrong.
func good() Plan {
	return Plan{
		Command:   Produce,
		Engine:    Client,
		Topic:     Topic{Name: "bench"},
		Producers: 1,
		Load:      Load{Rate: Rate{PerSecond: 1000}, Duration: Duration(time.Minute), Arrivals: Uniform},
		Payload:   Payload{Kind: Letters, Size: FixedSize(100), Keys: NoKeys},
	}
}

func TestValidateAcceptsWhatCanRun(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Plan)
	}{
		{"the plainest plan", func(*Plan) {}},
		{"the longest topic name", func(p *Plan) { p.Topic.Name = strings.Repeat("a", 249) }},
		{"a topic name of every kind of letter", func(p *Plan) { p.Topic.Name = "A.b_c-9" }},
		{"partitions left to the broker", func(p *Plan) { p.Topic.Partitions = 0 }},
		{"the most partitions", func(p *Plan) { p.Topic.Partitions = MaxPartitions }},
		{"the most producers", func(p *Plan) { p.Producers = MaxClients }},
		{"no target and no end", func(p *Plan) { p.Load = Load{Arrivals: Uniform} }},
		{"a warm-up within the records", func(p *Plan) { p.Load.Records, p.Load.Warmup.Records = 10, 9 }},
		{"a warm-up within the duration", func(p *Plan) { p.Load.Warmup.Duration = Duration(time.Second) }},
		{"poisson arrivals at a rate", func(p *Plan) { p.Load.Arrivals = Poisson }},
		{"transactions", func(p *Plan) { p.Load.Transaction = Duration(time.Second) }},
		{"keys in a range", func(p *Plan) { p.Payload.Keys, p.Payload.KeyRange = RangeKeys, 1 }},
		{"random keys", func(p *Plan) { p.Payload.Keys, p.Payload.KeyRange = RandomKeys, 1000 }},
		{"payloads of a file, which has its own sizes", func(p *Plan) { p.Payload = Payload{Kind: File, File: "f", Keys: NoKeys} }},
		{"monotonic payloads", func(p *Plan) { p.Payload = Payload{Kind: Monotonic, Keys: NoKeys} }},
		{"topics of their own", func(p *Plan) { p.Topic.Name, p.Topic.Distribution = "a,b", OwnTopics }},
		{"a backlog", func(p *Plan) { p.Command, p.Read = Roundtrip, Read{Consumers: 1, Commit: CommitNone, Backlog: 1} }},
		{"a mixed payload that compresses to nothing", func(p *Plan) { p.Payload.Kind, p.Payload.Compressibility = Mixed, 1 }},
	} {
		p := good()
		tc.change(&p)
		must.Err(t, "", p.Validate(), "%s: Validate", tc.name)
	}
}

func TestValidateRefusesWhatCannotRunAndNamesTheFlag(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Plan)
		flag   string
	}{
		{"no topic name", func(p *Plan) { p.Topic.Name = "" }, "--topic"},
		{"a topic name too long", func(p *Plan) { p.Topic.Name = strings.Repeat("a", 250) }, "--topic"},
		{"a topic name with a blank", func(p *Plan) { p.Topic.Name = "a b" }, "--topic"},
		{"a topic name with a line break at its end", func(p *Plan) { p.Topic.Name = "a\n" }, "--topic"},
		{"the topic .", func(p *Plan) { p.Topic.Name = "." }, "--topic"},
		{"the topic ..", func(p *Plan) { p.Topic.Name = ".." }, "--topic"},
		{"fewer than no partitions", func(p *Plan) { p.Topic.Partitions = -1 }, "--partitions"},
		{"too many partitions", func(p *Plan) { p.Topic.Partitions = MaxPartitions + 1 }, "--partitions"},
		{"a negative replication factor", func(p *Plan) { p.Topic.ReplicationFactor = -1 }, "--replication-factor"},
		{"no producers", func(p *Plan) { p.Producers = 0 }, "--producers"},
		{"too many producers", func(p *Plan) { p.Producers = MaxClients + 1 }, "--producers"},
		{"fewer than no records", func(p *Plan) { p.Load.Records = -1 }, "--num-records"},
		{"a negative duration", func(p *Plan) { p.Load.Duration = -1 }, "--duration"},
		{"a negative warm-up by records", func(p *Plan) { p.Load.Warmup.Records = -1 }, "--warmup"},
		{"a negative warm-up by time", func(p *Plan) { p.Load.Warmup.Duration = -1 }, "--warmup"},
		{"a warm-up of all records", func(p *Plan) { p.Load.Records, p.Load.Warmup.Records = 10, 10 }, "--warmup"},
		{"a warm-up of the whole duration", func(p *Plan) { p.Load.Warmup.Duration = p.Load.Duration }, "--warmup"},
		{"arrivals of no kind", func(p *Plan) { p.Load.Arrivals = "" }, "--arrivals"},
		{"arrivals of an unknown kind", func(p *Plan) { p.Load.Arrivals = "bursts" }, "--arrivals"},
		{"poisson arrivals without a target", func(p *Plan) { p.Load.Rate, p.Load.Arrivals = Unlimited, Poisson }, "--arrivals"},
		{"a negative transaction", func(p *Plan) { p.Load.Transaction = Duration(-time.Second) }, "--transaction-duration-ms"},
		{"letters without a size", func(p *Plan) { p.Payload.Size = Size{} }, "--record-size"},
		{"a mixed payload without a size", func(p *Plan) { p.Payload.Kind, p.Payload.Size = Mixed, Size{} }, "--record-size"},
		{"a payload of no kind", func(p *Plan) { p.Payload.Kind = "" }, "payload kind"},
		{"compressibility below 0", func(p *Plan) { p.Payload.Compressibility = -0.1 }, "--compressibility"},
		{"compressibility above 1", func(p *Plan) { p.Payload.Compressibility = 1.1 }, "--compressibility"},
		{"a key range without keys", func(p *Plan) { p.Payload.KeyRange = 5 }, "--record-key-range"},
		{"range keys without a range", func(p *Plan) { p.Payload.Keys = RangeKeys }, "--key-distribution"},
		{"random keys without a range", func(p *Plan) { p.Payload.Keys = RandomKeys }, "--key-distribution"},
		{"a whole payload of no file", func(p *Plan) { p.Payload.Whole = true }, "--payload-whole"},
		{"a backlog beside a number of records", func(p *Plan) {
			p.Command, p.Load.Records, p.Load.Duration, p.Read = Roundtrip, 1, 0, Read{Consumers: 1, Commit: CommitNone, Backlog: 1}
		}, "--backlog"},
		{"more of a backlog than there is", func(p *Plan) { p.Read.BacklogLeft = 1.5 }, "--backlog-left"},
		{"keys of a law without a range", func(p *Plan) { p.Payload.Keys = "zipf:1" }, "--key-distribution"},
		{"more keys than a law has", func(p *Plan) { p.Payload.Keys, p.Payload.KeyRange = "zipf:1", MaxZipfKeys+1 }, "--key-distribution"},
		{"a law that is too flat", func(p *Plan) { p.Payload.Keys, p.Payload.KeyRange = "zipf:0.4", 5 }, "--key-distribution"},
		{"keys of no kind", func(p *Plan) { p.Payload.Keys = "" }, "--key-distribution"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := good()
			tc.change(&p)
			err := p.Validate()
			must.Hold(t, err != nil, "Validate accepts it")
			if lines := strings.Split(err.Error(), "\n"); len(lines) != 1 || !strings.HasPrefix(lines[0], tc.flag+" ") && !strings.HasPrefix(lines[0], tc.flag+":") {
				t.Errorf("Validate: %q; want one problem, with %s", err, tc.flag)
			}
		})
	}
}

func TestValidateNamesTheEnginesThereAre(t *testing.T) {
	p := good()
	p.Engine = "jet"
	if err := p.Validate(); err == nil || !strings.Contains(err.Error(), `"jet"`) || !strings.Contains(err.Error(), string(Client)) {
		t.Errorf("Validate: %v; want the engine that is not there, and those that are", err)
	}
}

func TestValidateReportsEveryProblemAtOnce(t *testing.T) {
	p := Plan{Topic: Topic{Name: "?"}, Load: Load{Records: -1}, Payload: Payload{Compressibility: 2}}
	err := p.Validate()
	must.Hold(t, err != nil, "Validate accepts it")
	for _, flag := range []string{"engine", "--topic", "--producers", "--num-records", "--arrivals", "payload kind", "--compressibility", "--key-distribution"} {
		must.True(t, strings.Contains(err.Error(), flag), "Validate: %q does not name %s", err, flag)
	}
}

func TestAPlanIsReadBackFromJSONAsItWas(t *testing.T) {
	full := Plan{
		Command:   "produce",
		Bootstrap: []string{"a:9092", "b:9092"},
		Topic: Topic{
			Name: "bench", Partitions: 12, ReplicationFactor: 3, Delete: true,
			Configs: map[string]string{"min.insync.replicas": "2"},
		},
		Producers: 4,
		Load: Load{
			Rate: Rate{PerSecond: 100 << 20, Bytes: true}, Records: 1e6, Duration: Duration(90 * time.Second),
			Warmup:   Warmup{Duration: Duration(1500 * time.Millisecond), Records: 7},
			Arrivals: Poisson, Transaction: Duration(time.Second),
		},
		Payload: Payload{
			Kind: File, Size: mustSize(t, "100@80,1KiB-2KiB@20"), Compressibility: 0.3,
			File: "lines.txt", Delimiter: "\n", FileMean: 12.5, FileMax: 99,
			Keys: RandomKeys, KeyRange: 1000, Headers: []Header{{"k", "v"}, {"k", ""}},
		},
		Seed: -5,
	}
	normal, unlimited := good(), good()
	normal.Payload.Size = mustSize(t, "normal:1024,200")
	unlimited.Load.Rate = Unlimited
	for _, tc := range []struct {
		name string
		plan Plan
	}{
		{"every field set", full},
		{"nothing set", Plan{}},
		{"a plain plan", good()},
		{"a normal distribution", normal},
		{"no target", unlimited},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := must.Have(json.Marshal(tc.plan))(t)
			var got Plan
			if err := json.Unmarshal(b, &got); err != nil {
				t.Fatalf("%v in %s", err, b)
			}
			if diff := cmp.Diff(tc.plan, got, cmp.AllowUnexported(Size{}, sizeBucket{})); diff != "" {
				t.Errorf("written as %s; read back (-was +is):\n%s", b, diff)
			}
		})
	}
}

func TestAPlanIsPrintedInOneLine(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Plan)
		want   string
	}{
		{"a plain plan", func(*Plan) {}, "bench · 100 B · 1000, 1m0s"},
		{"many of everything", func(p *Plan) {
			p.Topic.Partitions, p.Producers, p.Load.Records = 12, 4, 500
			p.Load.Rate = Rate{PerSecond: 1 << 20, Bytes: true}
		}, "bench · 12 partitions · 100 B · 4 producers · 1MiB/s, 500 records, 1m0s"},
		{"payloads of a file", func(p *Plan) { p.Payload = Payload{Kind: File, File: "lines.txt"} }, "bench · payloads of lines.txt · 1000, 1m0s"},
		{"monotonic payloads without a target", func(p *Plan) {
			p.Payload, p.Load.Rate = Payload{Kind: Monotonic}, Unlimited
		}, "bench · monotonic payloads · unlimited, 1m0s"},
		{"a distribution of sizes", func(p *Plan) { p.Payload.Size = mustSize(t, "10-20") }, "bench · 10-20 B · 1000, 1m0s"},
	} {
		p := good()
		tc.change(&p)
		must.Match(t, tc.want, p.String(), "%s: got …", tc.name)
	}
}

func TestMaxBytesBoundsKeyValueAndHeaders(t *testing.T) {
	for _, tc := range []struct {
		name string
		p    Payload
		want int
	}{
		{"the largest size", Payload{Kind: Letters, Size: mustSize(t, "100-2000"), Keys: NoKeys}, 2000},
		{"the largest line of the file", Payload{Kind: File, FileMax: 77, Keys: NoKeys}, 77},
		{"a number of nineteen digits", Payload{Kind: Monotonic, Keys: NoKeys}, 19},
		{"a key beside the value", Payload{Kind: Monotonic, Keys: RandomKeys}, 38},
		{"headers beside the value", Payload{Kind: Monotonic, Keys: NoKeys, Headers: []Header{{"abc", "de"}}}, 34},
	} {
		must.Match(t, tc.want, tc.p.MaxBytes(), "%s: MaxBytes()", tc.name)
	}
}

func TestTopicNamesAreCheckedAsKafkaDoes(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "A.b_c-9": true, "...": true, strings.Repeat("x", 249): true,
		"": false, ".": false, "..": false, "a/b": false, "../a": false, "a b": false, "a\n": false, "\x1b[2J": false, "ä": false,
		strings.Repeat("x", 250): false,
	} {
		if err := CheckTopic(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestATimeMayBeginWithDays(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "1d": 24 * time.Hour, " 7d ": 7 * 24 * time.Hour, "1d12h": 36 * time.Hour, "0.7d": 1008 * time.Minute,
		".5d30m": 750 * time.Minute, "-1d": -24 * time.Hour, "0d": 0, "0": 0,
	} {
		must.Match(t, want, must.Have(ParseDuration(in))(t), "%q", in)
		if got, err := ParseDuration(want.String()); err != nil || got != want {
			t.Errorf("%v is written as %q, which is %v, error %v", want, want.String(), got, err)
		}
	}
	for _, in := range []string{"", "d", "1", "1day", "1d2", "1d-2h", "1h1d", "1D", "200000d", "NaNd", "Infd", "1e9d"} {
		if got, err := ParseDuration(in); err == nil {
			t.Errorf("%q is %v, want an error", in, got)
		}
	}
}
