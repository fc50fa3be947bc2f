package plan

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/must"
)

// reading is a plan to consume with nothing wrong.
func reading() Plan {
	return Plan{
		Command: Consume, Engine: Client, Bootstrap: []string{"b:9092"}, Topic: Topic{Name: "bench"},
		Load: Load{Arrivals: Uniform},
		Read: Read{Consumers: 1, Commit: CommitNone, ToEnd: true},
	}
}

// both is a plan to write and read with nothing wrong.
func both() Plan {
	p := good()
	p.Command, p.Payload.Stamp = Roundtrip, true
	p.Read = Read{Consumers: 1, Commit: CommitNone, From: From{Latest: true}}
	return p
}

func TestValidateAcceptsWhatCanBeRead(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Plan)
		of     Plan
	}{
		{"the plainest plan, which has no payload", func(*Plan) {}, reading()},
		{"topics by a pattern", func(p *Plan) { p.Topic.Name, p.Read.Include = "", "kt-.*" }, reading()},
		{"the topic of a ledger", func(p *Plan) { p.Topic.Name, p.Verify = "", true }, reading()},
		{"a group that commits", func(p *Plan) { p.Read.Group, p.Read.Commit = "g", CommitSync }, reading()},
		{"several groups", func(p *Plan) { p.Read.Group, p.Read.Groups = "g", maxGroups }, reading()},
		{"several groups that look for losses", func(p *Plan) { p.Read.Group, p.Read.Groups, p.Verify = "g", 2, true }, reading()},
		{"the same both ways", func(p *Plan) { p.Read.Group, p.Read.Groups, p.Verify = "g", 2, true }, both()},
		{"sizes that all have room for a stamp", func(p *Plan) { p.Payload.Size = mustSize(t, "40-2000") }, both()},
		{"a normal distribution of sizes, of which some have not", func(p *Plan) { p.Payload.Size = mustSize(t, "normal:40,20") }, both()},
		{"the most consumers", func(p *Plan) { p.Read.Consumers = MaxClients }, reading()},
		{"a rate of records", func(p *Plan) { p.Load.Rate = Rate{PerSecond: 5} }, reading()},
		{"a warm-up within the records", func(p *Plan) { p.Load.Records, p.Load.Warmup.Records = 10, 9 }, reading()},
		{"a warm-up, and no end known before", func(p *Plan) { p.Load.Warmup.Duration = Duration(time.Hour) }, reading()},
		{"both ways", func(*Plan) {}, both()},
		{"a rate of bytes that are written", func(p *Plan) { p.Load.Rate = Rate{PerSecond: 1e6, Bytes: true} }, both()},
		{"one record at a time", func(p *Plan) { p.Load.OneAtATime, p.Load.Rate = true, Unlimited }, both()},
		{"many producers and consumers", func(p *Plan) { p.Producers, p.Read.Consumers = 4, 7 }, both()},
	} {
		tc.change(&tc.of)
		must.Err(t, "", tc.of.Validate(), "%s: Validate", tc.name)
	}
}

func TestValidateRefusesWhatCannotBeReadAndNamesTheFlag(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Plan)
		of     Plan
		flag   string
	}{
		{"nothing to read", func(p *Plan) { p.Topic.Name = "" }, reading(), "--topic"},
		{"a topic and a pattern", func(p *Plan) { p.Read.Include = "a" }, reading(), "--include"},
		{"a pattern that is none", func(p *Plan) { p.Topic.Name, p.Read.Include = "", "a(" }, reading(), "--include"},
		{"a pattern beside a ledger", func(p *Plan) { p.Topic.Name, p.Read.Include, p.Verify = "", "a", true }, reading(), "--include"},
		{"a pattern where it is written too", func(p *Plan) { p.Read.Include = "a" }, both(), "--include"},
		{"no topic where it is written too", func(p *Plan) { p.Topic.Name, p.Verify = "", true }, both(), "--topic"},
		{"no consumers", func(p *Plan) { p.Read.Consumers = 0 }, reading(), "--consumers"},
		{"too many consumers", func(p *Plan) { p.Read.Consumers = MaxClients + 1 }, reading(), "--consumers"},
		{"fewer than no groups", func(p *Plan) { p.Read.Groups = -1 }, reading(), "--groups"},
		{"too many groups", func(p *Plan) { p.Read.Group, p.Read.Groups = "g", maxGroups+1 }, reading(), "--groups"},
		{"several groups without a name", func(p *Plan) { p.Read.Groups = 2 }, reading(), "--groups"},
		{"several threads without work", func(p *Plan) { p.Read.Threads = 2 }, reading(), "--processing-threads"},
		{"too many threads in all", func(p *Plan) {
			p.Read.Threads, p.Read.Consumers, p.Read.Processing = MaxClients, MaxClients, FixedWork(time.Second)
		}, reading(), "--processing-threads"},
		{"a negative timeout", func(p *Plan) { p.Read.Timeout = -1 }, reading(), "--timeout"},
		{"a negative offset", func(p *Plan) { p.Read.From = From{HasOffset: true, Offset: -1} }, reading(), "--from"},
		{"commits of no kind", func(p *Plan) { p.Read.Commit = "" }, reading(), "--commit"},
		{"commits without a group", func(p *Plan) { p.Read.Commit = CommitAuto }, reading(), "--commit"},
		{"producers", func(p *Plan) { p.Producers = 1 }, reading(), "--producers"},
		{"no producers", func(p *Plan) { p.Producers = 0 }, both(), "--producers"},
		{"a rate of bytes", func(p *Plan) { p.Load.Rate = Rate{PerSecond: 1e6, Bytes: true} }, reading(), "--rate"},
		{"poisson arrivals", func(p *Plan) { p.Load.Rate, p.Load.Arrivals = Rate{PerSecond: 5}, Poisson }, reading(), "--arrivals"},
		{"transactions", func(p *Plan) { p.Load.Transaction = 1 }, reading(), "--transaction-duration-ms"},
		{"fewer than no records", func(p *Plan) { p.Load.Records = -1 }, reading(), "--num-records"},
		{"a warm-up of all records", func(p *Plan) { p.Load.Records, p.Load.Warmup.Records = 10, 10 }, reading(), "--warmup"},
		{"a stamp that does not fit", func(p *Plan) { p.Payload.Size = FixedSize(StampBytes - 1) }, both(), "--record-size"},
		{"a stamp that fits some sizes only", func(p *Plan) { p.Payload.Size = mustSize(t, "10-2000") }, both(), "--record-size"},
		{"a stamp that fits one of two sizes", func(p *Plan) { p.Payload.Size = mustSize(t, "100@80,39@20") }, both(), "--record-size"},
		{"a stamp that fits no normal size", func(p *Plan) { p.Payload.Size = mustSize(t, "normal:10,2") }, both(), "--record-size"},
		{"one at a time of two producers", func(p *Plan) { p.Load.OneAtATime, p.Load.Rate, p.Producers = true, Unlimited, 2 }, both(), "--one-at-a-time"},
		{"one at a time for two groups", func(p *Plan) {
			p.Load.OneAtATime, p.Load.Rate, p.Read.Group, p.Read.Groups = true, Unlimited, "g", 2
		}, both(), "--one-at-a-time"},
		{"one at a time at a rate", func(p *Plan) { p.Load.OneAtATime = true }, both(), "--one-at-a-time"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.change(&tc.of)
			err := tc.of.Validate()
			must.Hold(t, err != nil, "Validate accepts it")
			if lines := strings.Split(err.Error(), "\n"); len(lines) != 1 || !strings.HasPrefix(lines[0], tc.flag+" ") && !strings.HasPrefix(lines[0], tc.flag+":") {
				t.Errorf("Validate: %q; want one problem, with %s", err, tc.flag)
			}
		})
	}
}

func TestAPatternMatchesWholeNames(t *testing.T) {
	for pattern, names := range map[string]map[string]bool{
		"kt":               {"kt": true, "kt-1": false, "a-kt": false},
		"kt-.*":            {"kt-1": true, "akt-1": false},
		"a|b.*":            {"a": true, "ab": false, "bc": true, "xa": false},
		"(?i)KT":           {"kt": true},
		`a\.b[.]c`:         {"a.b.c": true, "axb.c": false},
		`\Qa.[b\E[c]`:      {"a.[bc": true},
		`[\[&]`:            {"[": true, "&": true},
		`(?<name>a)[^b-d]`: {"ae": true, "ab": false},
	} {
		r := Read{Include: pattern}
		re, err := r.Pattern()
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		for name, want := range names {
			must.Match(t, want, re.MatchString(name), "%s matches %s", pattern, name)
		}
	}
}

func TestPatternsThatOnlyJavaUnderstandsAreRefused(t *testing.T) {
	for pattern, want := range map[string]string{
		"(?!__).*":      "look-ahead",
		"(?<!a)b":       "look-behind",
		`(a)\1`:         "back-references",
		"a*+":           "possessive quantifiers",
		`\u0061`:        `\u`,
		"a(":            "missing closing ): `a(`",
		"a)(b":          "unexpected ): `a)(b`",
		"x[a-z&&[^b]]":  "[a-z&&[^b]]: ",
		"[a-d[m-p]]":    "[a-d[m-p]]: ",
		`[^&&a]`:        "intersections",
		`\Q[[\E[[a]`:    "[[a]: ",
		`\[[a-c]\[[b&&`: "[b&&: ",
	} {
		r := Read{Include: pattern}
		if re, err := r.Pattern(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is %v, %v; want an error with %q", pattern, re, err, want)
		}
	}
}

func TestATimeThatNoRecordCanHaveIsRefused(t *testing.T) {
	now := time.Date(2026, 11, 28, 8, 0, 0, 0, time.UTC)
	for text, want := range map[string]bool{
		"timestamp:1795852802":           false, // seconds
		"timestamp:1795852802000":        true,
		"timestamp:1795852802000000":     false, // microseconds
		"timestamp:1999-12-31T23:59:59Z": false,
		"timestamp:2000-01-01T00:00:00Z": true,
		"timestamp:2026-11-29T08:00:00Z": true, // a day ahead: clocks differ
		"timestamp:2026-11-29T08:00:01Z": false,
		"earliest":                       true,
		"latest":                         true,
		"offset:1795852802":              true,
	} {
		from := must.Have(ParseFrom(text))(t)
		if err := from.Check(now); (err == nil) != want || err != nil && !strings.Contains(err.Error(), from.String()) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestPlacesToReadFrom(t *testing.T) {
	for text, want := range map[string]From{
		"earliest":                            {},
		"latest":                              {Latest: true},
		"offset:0":                            {HasOffset: true},
		"offset:1500":                         {HasOffset: true, Offset: 1500},
		"timestamp:2026-01-31T15:04:05Z":      {Time: time.Date(2026, 1, 31, 15, 4, 5, 0, time.UTC)},
		"timestamp:2026-01-31T15:04:05.0005Z": {Time: time.Date(2026, 1, 31, 15, 4, 5, 500_000, time.UTC)},
	} {
		got, err := ParseFrom(text)
		if err != nil {
			t.Errorf("ParseFrom(%q): %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" || got.String() != text {
			t.Errorf("ParseFrom(%q) is written as %q (-want +got):\n%s", text, got, diff)
		}
	}
	for text, want := range map[string]string{"1500": "offset:1500", "timestamp:1500": "timestamp:1970-01-01T00:00:01.5Z"} {
		if got, err := ParseFrom(text); err != nil || got.String() != want {
			t.Errorf("ParseFrom(%q) = %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "newest", "-1", "offset:-1", "offset:", "offset:x", "earliest:5", "latest:", "timestamp:", "timestamp:yesterday", "timestamp:2026-01-31"} {
		if got, err := ParseFrom(text); err == nil || !strings.Contains(err.Error(), strconv.Quote(text)) {
			t.Errorf("ParseFrom(%q) = %s, %v", text, got, err)
		}
	}
}

func TestAURLNamesASystemAndHoldsNoPassword(t *testing.T) {
	for text, want := range map[string]string{
		"amqp://guest@localhost":              "amqp://guest@localhost:5672",
		"amqps://kt@rabbit:7000/orders":       "amqps://kt@rabbit:7000/orders",
		"pulsar://broker/public/default":      "pulsar://broker:6650/public/default",
		"pulsar+ssl://broker/a/b":             "pulsar+ssl://broker:6651/a/b",
		"amqp://[::1]/":                       "amqp://[::1]:5672/",
		"amqp://guest:s3cret@localhost":       "url.password",
		"kafka:9092":                          "--bootstrap-server",
		"http://localhost":                    "amqp://",
		"amqp:///vhost":                       "no host",
		"amqp://localhost/?heartbeat=1":       "--command-property",
		"amqps://h/?admin=http://h:15672":     "https://",
		"amqp://h/?admin=http://u:p@h:15672":  "http://HOST:PORT",
		"amqp://h/?admin=h:15672":             "http://HOST:PORT",
		"amqp://h/?admin=http://h:15672":      "amqp://h:5672/?admin=http://h:15672",
		"amqp://localhost:s3cret":             "invalid port",
		"pulsar://guest:s3cret@localhost:abc": "invalid port",
	} {
		u, err := ParseURL(text)
		switch {
		case err == nil && u.String() != want:
			t.Errorf("%s: %s, want %s", text, u, want)
		case err != nil && !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v", text, err)
		case err != nil && strings.Contains(err.Error(), "guest:s3cret"):
			t.Errorf("%s: the error has the password: %v", text, err)
		}
	}
}

func TestTheAdminAPIIsAtTheURLOrWhereItUsuallyIs(t *testing.T) {
	for text, want := range map[string]string{
		"amqp://h/":                          "http://h:15672",
		"amqps://h/":                         "https://h:15671",
		"amqp://h:1/?admin=https://other:2/": "https://other:2",
	} {
		u := must.Have(ParseURL(text))(t)
		must.Match(t, want, Admin(u, "15672", "15671"), "%s", text)
	}
}

func TestAPlanOfAnotherSystemHasNothingThatOnlyKafkaHas(t *testing.T) {
	p := Plan{
		Command: Produce, Engine: Wire, URL: "amqp://localhost:5672", Bootstrap: []string{"kafka:9092"}, Topic: Topic{Name: "t"}, Producers: 1,
		Load:    Load{Rate: Unlimited, Arrivals: Uniform, Records: 1, Transaction: 1},
		Read:    Read{Groups: 2},
		Payload: Payload{Kind: Letters, Size: FixedSize(100), Keys: NoKeys, Headers: []Header{{Key: "a", Value: "b"}}},
	}
	err := p.Validate()
	for _, flag := range []string{"--bootstrap-server", `--engine "wire"`, "--transaction-duration-ms", "--header", "--groups 2"} {
		must.True(t, err != nil && strings.Contains(err.Error(), flag), "%s is not refused: %v", flag, err)
	}
	must.True(t, p.System() == RabbitMQ && !p.Encrypts() && !p.Embedded(), "the system is %s", p.System())
	if p := (&Plan{URL: "pulsar+ssl://b:6651"}); p.System() != Pulsar || !p.Encrypts() {
		t.Errorf("the system is %s", p.System())
	}
	if p := (&Plan{}); p.System() != Kafka || !p.Embedded() {
		t.Errorf("the system is %s", p.System())
	}
}

func TestAPlanSaysWhereItsClientsConnect(t *testing.T) {
	for _, r := range []struct {
		p    Plan
		want []string
	}{
		{Plan{Bootstrap: []string{"a:1", "b:2"}}, []string{"a:1", "b:2"}},
		{Plan{URL: "amqp://kt@a/v"}, []string{"a:5672"}},
		{Plan{URL: "pulsar+ssl://a?admin=https://b"}, []string{"a:6651", "b:443"}},
		{Plan{URL: "pulsar://a:1?admin=http://[::1]:8080"}, []string{"a:1", "[::1]:8080"}},
		{Plan{URL: "kafka://a:1,b:2/"}, []string{"a:1", "b:2"}},
		{Plan{URL: "kafka://a:1", Bootstrap: []string{"b:2"}}, []string{"b:2", "a:1"}},
		{Plan{URL: "nonsense", Bootstrap: []string{"b:2"}}, []string{"b:2"}},
		{Plan{}, nil},
	} {
		must.Match(t, r.want, r.p.Addresses(), "%+v", r.p)
	}
}
