package config

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

func TestCommandLinesOfKafkasToolWorkUnchanged(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "producer.properties"), "linger.ms=7\n")
	for _, tc := range []struct {
		name, args string
		properties map[string]plan.Given
		bootstrap  []string
		warnings   []string
		check      func(p plan.Plan) bool
	}{
		{
			"the one of most examples",
			"--topic test --num-records 1000000 --record-size 512 --throughput -1 --producer-props acks=1 bootstrap.servers=b:9092 linger.ms=5",
			map[string]plan.Given{"acks": {Value: "1", Source: "--producer-props"}, "bootstrap.servers": {Value: "b:9092", Source: "--producer-props"}, "linger.ms": {Value: "5", Source: "--producer-props"}},
			[]string{"b:9092"},
			[]string{"Option --producer-props has been deprecated and will be removed in a future version. Use --command-property instead."},
			func(p plan.Plan) bool {
				return p.Topic.Name == "test" && p.Load.Records == 1_000_000 && p.Load.Duration == 0 &&
					p.Load.Rate.IsUnlimited() && p.Payload.Size.Max() == 512 && p.Payload.Kind == plan.Letters
			},
		},
		{
			"with the names of Kafka 4.2",
			"--bootstrap-server b:1,c:2 --topic t --num-records 10 --record-size 1 --throughput 500.5 --command-property acks=0 --command-config " + file +
				" --warmup-records 5 --reporting-interval 1000 --print-metrics",
			map[string]plan.Given{"acks": {Value: "0", Source: "--command-property"}, "linger.ms": {Value: "7", Source: file + ":1"}, "bootstrap.servers": {Value: "b:1,c:2", Source: "--bootstrap-server"}},
			[]string{"b:1", "c:2"},
			nil,
			func(p plan.Plan) bool {
				return p.Load.Rate.String() == "500.5" && p.Load.Warmup == plan.Warmup{Records: 5}
			},
		},
		{
			"with the old name of the file",
			"--topic t --num-records 10 --payload-monotonic --throughput 1 --producer.config " + file,
			map[string]plan.Given{"linger.ms": {Value: "7", Source: file + ":1"}},
			nil,
			[]string{"Option --producer.config has been deprecated and will be removed in a future version. Use --command-config instead."},
			func(p plan.Plan) bool { return p.Payload.Kind == plan.Monotonic && p.Payload.Size.IsZero() },
		},
		{
			"with payloads of a file",
			`--topic t --num-records 10 --payload-file f.txt --payload-delimiter \t --throughput 1 --command-property acks=1`,
			map[string]plan.Given{"acks": {Value: "1", Source: "--command-property"}},
			nil, nil,
			func(p plan.Plan) bool {
				return p.Payload.Kind == plan.File && p.Payload.File == "f.txt" && p.Payload.Delimiter == "\t"
			},
		},
		{
			"with transactions",
			"--topic t --num-records 10 --record-size 1 --throughput 1 --transactional-id id --transaction-duration-ms 100 --bootstrap-server b:1",
			map[string]plan.Given{"transactional.id": {Value: "id", Source: "--transactional-id"}, "bootstrap.servers": {Value: "b:1", Source: "--bootstrap-server"}},
			[]string{"b:1"},
			nil,
			func(p plan.Plan) bool { return p.Load.Transaction == plan.Duration(100*time.Millisecond) },
		},
	} {
		p := mustLoad(t, given{args: strings.Fields(tc.args)})
		must.Match(t, tc.properties, p.Properties, "%s: properties", tc.name)
		must.Match(t, tc.bootstrap, p.Plan.Bootstrap, "%s: bootstrap", tc.name)
		must.Match(t, tc.warnings, p.Warnings, "%s: warnings", tc.name)
		must.True(t, tc.check(p.Plan), "%s: the plan is %+v", tc.name, p.Plan)
	}
}

func TestHowLongALoadLasts(t *testing.T) {
	for args, want := range map[string]plan.Load{
		"":                                 {Duration: plan.Duration(time.Minute)},
		"--num-records 5":                  {Records: 5},
		"--duration 1d":                    {Duration: plan.Duration(24 * time.Hour)},
		"--duration 1d12h --warmup 1d":     {Duration: plan.Duration(36 * time.Hour), Warmup: plan.Warmup{Duration: plan.Duration(24 * time.Hour)}},
		"--duration 90":                    {Duration: plan.Duration(90 * time.Second)},
		"--duration 1.5":                   {Duration: plan.Duration(1500 * time.Millisecond)},
		"--duration 5m":                    {Duration: plan.Duration(5 * time.Minute)},
		"--duration 0":                     {},
		"--num-records 5 --duration 2s":    {Records: 5, Duration: plan.Duration(2 * time.Second)},
		"--warmup 10s":                     {Duration: plan.Duration(time.Minute), Warmup: plan.Warmup{Duration: plan.Duration(10 * time.Second)}},
		"--warmup 1000":                    {Duration: plan.Duration(time.Minute), Warmup: plan.Warmup{Records: 1000}},
		"--warmup 0":                       {Duration: plan.Duration(time.Minute)},
		"--warmup-records 20":              {Duration: plan.Duration(time.Minute), Warmup: plan.Warmup{Records: 20}},
		"--rate 500":                       {Duration: plan.Duration(time.Minute), Rate: plan.Rate{PerSecond: 500}},
		"--rate 100MiB/s":                  {Duration: plan.Duration(time.Minute), Rate: plan.Rate{PerSecond: 100 << 20, Bytes: true}},
		"--rate -1":                        {Duration: plan.Duration(time.Minute)},
		"--throughput 0.5":                 {Duration: plan.Duration(time.Minute), Rate: plan.Rate{PerSecond: 0.5}},
		"--throughput 500 --duration 100s": {Duration: plan.Duration(100 * time.Second), Rate: plan.Rate{PerSecond: 500}},
	} {
		want.Arrivals = plan.Uniform
		must.Match(t, want, mustLoad(t, given{args: strings.Fields(args)}).Plan.Load, "%q", args)
	}
}

func TestHowFullALoadMayMakeADisk(t *testing.T) {
	for args, want := range map[string]plan.Load{
		"":                                   {StopAtDisk: 0.9, Duration: plan.Duration(time.Minute)},
		"--stop-at-disk 75%":                 {StopAtDisk: 0.75, Duration: plan.Duration(time.Minute)},
		"--stop-at-disk 100%":                {Duration: plan.Duration(time.Minute)},
		"--stop-at-disk never":               {Duration: plan.Duration(time.Minute)},
		"--until-full":                       {UntilFull: true},
		"--until-full --duration 1h":         {UntilFull: true, Duration: plan.Duration(time.Hour)},
		"--until-full=false --num-records 5": {StopAtDisk: 0.9, Records: 5},
	} {
		want.Arrivals = plan.Uniform
		must.Match(t, want, mustLoad(t, given{args: append(strings.Fields(args), "--bootstrap-server", "b:1")}).Plan.Load, "%q", args)
	}
}

func TestTransactionsDefaultAsInKafkasTool(t *testing.T) {
	madeUp := regexp.MustCompile(`^performance-producer-[A-Z2-7]{26}$`)
	for _, tc := range []struct {
		name, args string
		id         *regexp.Regexp // nil: no transactions
		duration   time.Duration
	}{
		{"none, where none is asked for", "", nil, 0},
		{"an id alone lasts three seconds", "--transactional-id mine", regexp.MustCompile("^mine$"), 3 * time.Second},
		{"so does the property alone", "--command-property transactional.id=mine", regexp.MustCompile("^mine$"), 3 * time.Second},
		{"the flag wins over the property", "--transactional-id flag --command-property transactional.id=property", regexp.MustCompile("^flag$"), 3 * time.Second},
		{"a duration alone gets an id", "--transaction-duration-ms 50", madeUp, 50 * time.Millisecond},
		{"both", "--transaction-duration-ms 50 --transactional-id mine", regexp.MustCompile("^mine$"), 50 * time.Millisecond},
	} {
		p := mustLoad(t, given{args: strings.Fields(tc.args)})
		must.Match(t, tc.duration, p.Plan.Load.Transaction.Std(), "%s: a transaction lasts", tc.name)
		id, ok := p.Properties["transactional.id"]
		if ok != (tc.id != nil) || ok && !tc.id.MatchString(id.Value) {
			t.Errorf("%s: the id is %q, want %v", tc.name, id.Value, tc.id)
		}
	}
	args := given{args: []string{"--transaction-duration-ms", "1"}}
	if a, b := mustLoad(t, args).Properties["transactional.id"], mustLoad(t, args).Properties["transactional.id"]; a == b {
		t.Errorf("two runs share the id %v: they would fence each other off", a)
	}
}

func TestDelimitersAreUnescaped(t *testing.T) {
	for text, want := range map[string]string{
		`\n`: "\n", `\t`: "\t", `\x00`: "\x00", `\x1e`: "\x1e", `\r\n`: "\r\n", `\\`: `\`, ",": ",", `"`: `"`, "||": "||", `\u2028`: "\u2028", "é": "é",
	} {
		p, err := load(t, given{args: []string{"--payload-file", "f", "--payload-delimiter", text}})
		if err != nil || p.Plan.Payload.Delimiter != want {
			t.Errorf("--payload-delimiter %s is %q, %v; want %q", text, p.Plan.Payload.Delimiter, err, want)
		}
	}
	if p, err := load(t, given{args: []string{"--payload-file", "f"}}); err != nil || p.Plan.Payload.Delimiter != "" {
		t.Errorf("without a delimiter it is %q, %v; want line ends", p.Plan.Payload.Delimiter, err)
	}
	for _, text := range []string{"", `\`, `\q`, `\x1`} {
		if p, err := load(t, given{args: []string{"--payload-file", "f", "--payload-delimiter", text}}); err == nil || !strings.Contains(err.Error(), "--payload-delimiter") {
			t.Errorf("--payload-delimiter %q is %q, %v", text, p.Plan.Payload.Delimiter, err)
		}
	}
}

func TestOwnFlagsBecomeJavaProperties(t *testing.T) {
	for args, want := range map[string]map[string]string{
		"--acks all":                       {"acks": "all"},
		"--batch-size 256KiB":              {"batch.size": "262144"},
		"--linger 5":                       {"linger.ms": "5"},
		"--linger 20ms":                    {"linger.ms": "20"},
		"--linger 1s":                      {"linger.ms": "1000"},
		"--compression zstd":               {"compression.type": "zstd"},
		"--compression gzip:9":             {"compression.type": "gzip", "compression.gzip.level": "9"},
		"--max-in-flight 1":                {"max.in.flight.requests.per.connection": "1"},
		"--idempotence false":              {"enable.idempotence": "false"},
		"--command-property a=b=c":         {"a": "b=c"},
		"--command-property a=1 a=2":       {"a": "2"},
		"--command-property a.B=Mixed":     {"a.B": "Mixed"},
		"--command-property empty=":        {"empty": ""},
		"--acks 1 --producer-props acks=0": {"acks": "1"},
	} {
		p := mustLoad(t, given{args: strings.Fields(args)})
		must.Match(t, want, valuesOf(p.Properties), "%s", args)
	}
}

func TestHeadersKeepTheirOrder(t *testing.T) {
	p := mustLoad(t, given{args: []string{"--header", "b=1", "a=2=3", "b=", "--header", "c=x"}})
	want := []plan.Header{{Key: "b", Value: "1"}, {Key: "a", Value: "2=3"}, {Key: "b"}, {Key: "c", Value: "x"}}
	must.Match(t, want, p.Plan.Payload.Headers, "headers")
}

func TestPayloadKinds(t *testing.T) {
	for args, want := range map[string]plan.PayloadKind{
		"":                      plan.Letters,
		"--record-size 100-200": plan.Letters,
		"--compressibility 0.5": plan.Mixed,
		"--compressibility 0":   plan.Mixed,
		"--payload-file f":      plan.File,
		"--payload-monotonic":   plan.Monotonic,
		"--payload-monotonic=false --record-size 9": plan.Letters,
	} {
		must.Match(t, want, mustLoad(t, given{args: strings.Fields(args)}).Plan.Payload.Kind, "%q", args)
	}
}

// What java.util.Properties.load makes of each of these.
func TestPropertiesFilesAreReadAsJavaReadsThem(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       map[string]string
	}{
		{"the three separators", "a=1\nb:2\nc 3\n", map[string]string{"a": "1", "b": "2", "c": "3"}},
		{"spaces around the separator", "a = 1\nb\t:\t2\n   c=3", map[string]string{"a": "1", "b": "2", "c": "3"}},
		{"separators in the value", "a=b=c:d", map[string]string{"a": "b=c:d"}},
		{"comments, also those that are indented", "# a=1\n  ! b=2\nc=3 # not one", map[string]string{"c": "3 # not one"}},
		{"a dollar sign means itself", "sasl.password=pa${ss}w$rd${", map[string]string{"sasl.password": "pa${ss}w$rd${"}},
		{"a line goes on behind a backslash", "a=one,\\\n    two,\\\n\tthree\nb=2", map[string]string{"a": "one,two,three", "b": "2"}},
		{"also with the ends of line of Windows", "a=one,\\\r\n    two\r\nb=2\r\n", map[string]string{"a": "one,two", "b": "2"}},
		{"two backslashes are one, and end the line", "a=C:\\\\\nb=2", map[string]string{"a": `C:\`, "b": "2"}},
		{"other characters lose theirs", `a=\q\"\:`, map[string]string{"a": `q":`}},
		{"bytes are Latin-1", "a=caf\xe9", map[string]string{"a": "café"}},
		{"so UTF-8 is not understood", "a=café", map[string]string{"a": "cafÃ©"}},
		{"escapes of Unicode", `a=caf\u00e9\t.`, map[string]string{"a": "café\t."}},
		{"spaces at the end belong to the value", "a=1  \nb=2", map[string]string{"a": "1  ", "b": "2"}},
		{"a key alone is empty", "a.b\nb.c=\n", map[string]string{"a.b": "", "b.c": ""}},
		{"the last of two wins", "a=1\na=2", map[string]string{"a": "2"}},
		{"nothing", "", map[string]string{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := write(t, filepath.Join(t.TempDir(), "client.properties"), tc.text)
			p := mustLoad(t, given{args: []string{"--command-config", file}})
			must.Match(t, tc.want, valuesOf(p.Properties), "%q", tc.text)
		})
	}
	file := write(t, filepath.Join(t.TempDir(), "bad.properties"), `a=\u12`)
	must.Err(t, "command-config \""+file, must.Fail(load(t, given{args: []string{"--command-config", file}})), "a broken escape")
}

// valuesOf leaves out where properties came from.
func valuesOf(props map[string]plan.Given) map[string]string {
	values := make(map[string]string, len(props))
	for name, g := range props {
		values[name] = g.Value
	}
	return values
}

func TestStagesOfARateEndTheLoadUnlessADurationDoes(t *testing.T) {
	const stages = "10@1m,10..50@2m"
	for name, tc := range map[string]struct {
		given
		want time.Duration
	}{
		"by themselves":                           {given{args: []string{"--rate", stages}}, 3 * time.Minute},
		"by Kafka's name":                         {given{args: []string{"--throughput", stages}}, 3 * time.Minute},
		"with a number of records":                {given{args: []string{"--rate", stages, "--num-records", "5"}}, 3 * time.Minute},
		"in a file":                               {given{file: "rate: " + stages}, 3 * time.Minute},
		"before a duration of a lower layer":      {given{args: []string{"--rate", stages}, file: "duration: 10m"}, 3 * time.Minute},
		"a duration of a higher layer ends them":  {given{args: []string{"--duration", "90s"}, file: "rate: " + stages}, 90 * time.Second},
		"a duration of the same layer ends them":  {given{args: []string{"--rate", stages, "--duration", "3m"}}, 3 * time.Minute},
		"a rate of a higher layer has no stages":  {given{args: []string{"--rate", "5"}, file: "rate: " + stages}, defaultDuration},
		"one rate of a file keeps its duration":   {given{file: "rate: 5\nduration: 10m"}, 10 * time.Minute},
		"stages of the environment, over a file":  {given{env: map[string]string{"KT_RATE": stages}, file: "duration: 10s"}, 3 * time.Minute},
		"with a warm-up, which is a part of them": {given{args: []string{"--rate", stages, "--warmup", "1m"}}, 3 * time.Minute},
	} {
		must.Match(t, tc.want, mustLoad(t, tc.given).Plan.Load.Duration.Std(), "%s: the load lasts", name)
	}
	for name, tc := range map[string]struct {
		args  string
		names []string
	}{
		"a duration that is longer": {"--rate 10@1m,50@2m --duration 10m", []string{"--duration 10m", "--rate", "3m"}},
		"a load without end":        {"--rate 10@1m --duration 0", []string{"--duration 0", "--rate", "1m"}},
		"only a warm-up":            {"--rate 10@1m --warmup 1m", []string{"--warmup 1m", "1m"}},
		"an unknown unit":           {"--rate 10@1x", []string{"--rate", `"1x"`}},
	} {
		_, err := load(t, given{args: strings.Fields(tc.args)})
		if err == nil {
			t.Errorf("%s is no error", name)
			continue
		}
		for _, part := range tc.names {
			must.True(t, strings.Contains(err.Error(), part), "%s: %v; want it to name %q", name, err, part)
		}
	}
}

func TestExpandListsRepeatsTheFlagForEachValue(t *testing.T) {
	for _, tc := range []struct {
		name     string
		in, want []string
	}{
		{"nothing", nil, nil},
		{"flags that are no lists stay", []string{"produce", "--topic", "x", "-q"}, []string{"produce", "--topic", "x", "-q"}},
		{
			"a list in the middle",
			[]string{"--producer-props", "a=1", "b=2", "--topic", "x"},
			[]string{"--producer-props=a=1", "--producer-props=b=2", "--topic", "x"},
		},
		{"a list at the end", []string{"--command-property", "a=1", "b=2"}, []string{"--command-property=a=1", "--command-property=b=2"}},
		{
			"the flag again",
			[]string{"--command-property", "a=1", "--command-property", "b=2", "c=3"},
			[]string{"--command-property=a=1", "--command-property=b=2", "--command-property=c=3"},
		},
		{
			"values with = and spaces",
			[]string{"--command-property", "sasl.jaas.config=x username=\"a=b\";", "c=d=e"},
			[]string{"--command-property=sasl.jaas.config=x username=\"a=b\";", "--command-property=c=d=e"},
		},
		{"an empty value", []string{"--topic-config", "a="}, []string{"--topic-config=a="}},
		{"what is no key=value ends the list", []string{"--header", "a=1", "stray"}, []string{"--header=a=1", "stray"}},
		{"a first one without = is told so later", []string{"--header", "a"}, []string{"--header=a"}},
		{"one that is written with = is complete", []string{"--header=a=1", "b=2"}, []string{"--header=a=1", "b=2"}},
		{"nothing is a list behind --", []string{"--header", "a=1", "--", "--header", "b=1", "c=2"}, []string{"--header=a=1", "--", "--header", "b=1", "c=2"}},
	} {
		got := must.Have(ExpandLists(tc.in))(t)
		must.Match(t, tc.want, got, "%s: ExpandLists(%q)", tc.name, tc.in)
	}
}

func TestExpandListsRefusesAListWithNothingInIt(t *testing.T) {
	for _, in := range [][]string{
		{"--producer-props"}, {"--producer-props", "--topic", "x"}, {"--producer-props", "-q"}, {"--producer-props", "--", "a=1"},
	} {
		got, err := ExpandLists(in)
		must.Err(t, "--producer-props needs at least one key=value", err, "ExpandLists(%q) = %q,", in, got)
	}
}

// FuzzExpandLists reads arguments, one a line.
//   - It never panics.
//   - No argument is lost, and none is made up: what the flags were repeated for
//     gives the arguments again.
//   - What is expanded is not expanded further.
func FuzzExpandLists(f *testing.F) {
	for _, s := range []string{
		"", "--producer-props\na=1\nb=2\n--topic\nx", "--header\na=b=c\n--header\nd=\n--\n--header", "--topic-config", "a=1\n--command-property\n=\n\n-q",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		args := strings.Split(s, "\n")
		out, err := ExpandLists(args)
		if err != nil {
			return
		}
		if back := collapse(out, args); !slices.Equal(back, args) {
			t.Fatalf("ExpandLists(%q) = %q, which stands for %q", args, out, back)
		}
		again, err := ExpandLists(out)
		must.Hold(t, err == nil && slices.Equal(again, out), "ExpandLists(%q) = %q, %v", out, again, err)
	})
}

// collapse undoes ExpandLists: a value belongs to the flag before it. in tells
// where the flag itself stood.
func collapse(out, in []string) []string {
	var back []string
	for _, a := range out {
		at := len(back)
		name, value, ok := strings.Cut(a, "=")
		switch {
		case !ok || !listFlags[name] || at < len(in) && in[at] == a:
			back = append(back, a)
		case at < len(in) && in[at] == name:
			back = append(back, name, value)
		default:
			back = append(back, value)
		}
	}
	return back
}
