package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/profiles"
)

// nothing is a System without an environment and files.
var nothing = System{Kafka: kafka, Getenv: func(string) string { return "" }, Profiles: profiles.Of}

func TestWholeFilesAreHeldToWhatEveryCommandHas(t *testing.T) {
	for text, want := range map[string]string{
		"consume: {lingre: 3}":                 `f.yaml:1: unknown key "consume.lingre"`,
		"find:\n  slo: p99<50ms\n  ladd: 1":    `f.yaml:3: unknown key "find.ladd"; did you mean ladder?`,
		"rate: 1\nRATE: 2":                     "f.yaml:2: rate is given twice",
		"rate: 1\nrate: 2":                     "f.yaml:2: the key \"rate\" already defined at line 1",
		"rate: 1\n---\nrate: 2":                "f.yaml:2: only the part above the first --- would count",
		"a: &a [*a]":                           "f.yaml:1: anchor 'a' value contains itself",
		"produce: &p {acks: 1}\nroundtrip: *p": "",
		"produce: &p {acks: 1}\nroundtrip:\n  <<: *p\n  linger: 3": "",
		"produce: &p {acsk: 1}\nroundtrip:\n  <<: *p":              `f.yaml:1: unknown key "roundtrip.acsk"`,
		"clusters:": "",
		"produce:":  "",
		"~":         "",
		"produce: {acks: 1}\nProduce: {acks: all}": "f.yaml:2: produce is given twice",
		"topic: null":                                              "f.yaml:1: topic: null is no value: write it in quotes",
		"acks: 1\nheader:\n  - a=b\n  - ~":                         "f.yaml:2: header: ~ is no value: write it in quotes",
		"topic: !!binary aGVsbG8=":                                 "f.yaml:1: topic: !!binary aGVsbG8=: leave the tag out",
		"produce:\n  rate: !!float 1":                              "f.yaml:2: produce.rate: !!float 1: leave the tag out",
		"topic: {a: b}":                                            "f.yaml:1: topic: write one value, or a list",
		"clusters: {a: {bootstrap-server: }}":                      "f.yaml:1: cluster a: it has no brokers",
		"clusters: {a: {bootstrap-server: b:1, protected: }}":      `f.yaml:1: protected "": it must be true or false`,
		"clusters: {a: {bootstrap-server: , command-config: x.p}}": "f.yaml:1: cluster a: it has no brokers",
		"? [a]\n: 1":                                               "f.yaml:1: ",
	} {
		_, err := nothing.parseFile("f.yaml", []byte(text), fromUser)
		must.Err(t, want, err, "%q gives …", text)
	}
	r := mustLoad(t, given{User: "consume: &p {from: latest, isolation: read_committed}\nproduce: {<<: {acks: 1, linger: 3}, linger: 4}"})
	must.Match(t, []string{"1", "4"}, []string{r.Properties["acks"].Value, r.Properties["linger.ms"].Value}, "what << takes over counts less: %v", r.Properties)
}

// FuzzFile reads a configuration file.
//   - It never panics, and what it finds has a line of the file.
//   - Choosing a cluster in it fails, or changes nothing else: the file says the same
//     otherwise, and every line but one is there as before.
func FuzzFile(f *testing.F) {
	for _, s := range []string{
		"", twoClusters, "topci: x\nproduce: {acks: all, topic-config: [a=1, b=2]}\n", "cluster: a # now\nclusters: {a: {bootstrap-server: b:1, protected: true}}",
		"x: &x [*x]", "produce: &p {<<: *p}", "a: 1\n---\nb: 2", "? {a: b}\n: c", "clusters: {a: , b: [], c: {bootstrap-server: [[1]], protected: 3}}", "\ufeffrate: 1e6\r\nacks: 'x'\r\n", "cluster:\n  a\nclusters: {a: {bootstrap-server: x}}",
	} {
		f.Add([]byte(s), "a")
	}
	at := regexp.MustCompile(`^f\.yaml:([0-9]+): `)
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		parsed, err := nothing.parseFile("f.yaml", data, fromUser)
		for _, one := range Flat(err) {
			m := at.FindStringSubmatch(one.Error())
			must.Hold(t, m != nil, "%q: %v", data, one)
			if line, err := strconv.Atoi(m[1]); err != nil || line < 1 || line > 2+bytes.Count(data, []byte("\n"))+bytes.Count(data, []byte("\r"))+strings.Count(string(data), "\u0085")+strings.Count(string(data), "\u2028")+strings.Count(string(data), "\u2029") {
				t.Fatalf("%q: %v", data, one)
			}
		}
		if err != nil || len(parsed.clusters) == 0 {
			return
		}
		after, err := useCluster(data, name)
		if err != nil {
			return
		}
		again, err := nothing.parseFile("f.yaml", after, fromUser)
		if err != nil || again.of("produce").text("cluster") != name || len(again.clusters) != len(parsed.clusters) {
			t.Fatalf("%q with %q is %q: %v", data, name, after, err)
		}
		was, is := strings.Split(string(data), "\n"), strings.Split(string(after), "\n")
		changed := 0
		for _, line := range is {
			if i := slices.Index(was, line); i >= 0 {
				was = slices.Delete(was, i, i+1)
			} else {
				changed++
			}
		}
		must.Hold(t, changed <= 1 && len(was) <= 1, "%q with %q is %q", data, name, after)
	})
}

func TestEveryEffectiveValueHasItsSource(t *testing.T) {
	dir := t.TempDir()
	sys := System{
		Profiles:    profiles.Of,
		ConfigDir:   dir,
		ProjectFile: write(t, filepath.Join(dir, "kt.yaml"), "acks: 1\nprofile: latency\nconsume: {profile: tail}\nheader: [a=b, authorization=Bearer x]\n"),
		Getenv: func(name string) string {
			return map[string]string{"KT_RATE": "5k", "KT_COMMAND_PROPERTY": "sasl.jaas.config=abc client.id=x"}[name]
		},
	}
	write(t, filepath.Join(dir, "kt", "config.yaml"), "cluster: s\nclusters: {s: {bootstrap-server: b:1}}\noutput: json\n")
	c := begin(t, NewConfigure)
	must.Do(t, c.Load(sys))
	values := must.Have(c.Effective([]string{"produce", "consume", "report"}, sys))(t)
	got := make(map[string]string)
	for _, v := range values {
		if !v.Default {
			got[v.Name+" of "+strings.Join(v.Commands, "+")] = v.Value + " from " + strings.TrimPrefix(v.Source, dir)
		}
		must.True(t, v.Default == (v.Source == "default") && v.Name != "yes", "%+v", v)
	}
	want := map[string]string{
		"acks of ": "1 from /kt.yaml:1", "bootstrap-server of ": "b:1 from cluster s", "cluster of ": "s from /kt/config.yaml:1",
		"command-property of ": "sasl.jaas.config=[hidden],client.id=x from KT_COMMAND_PROPERTY", "rate of ": "5k from KT_RATE",
		"header of ": "a=b,authorization=[hidden] from /kt.yaml:4", "linger of ": "0 from profile latency", "output of ": "json from /kt/config.yaml:3",
		"profile of produce": "latency from /kt.yaml:2", "profile of consume": "tail from /kt.yaml:3", "warmup of produce": "10s from profile latency",
		"no-group of ": "true from profile tail", "from of ": "latest from profile tail", "duration of consume": "0 from profile tail", "timeout of ": "0 from profile tail",
	}
	must.Match(t, want, got, "")
	must.True(t, !values[0].Default && values[len(values)-1].Default, "those that are set are not first: %+v", values)
	c = begin(t, NewConfigure, "--cluster", "t")
	if _, err := c.Effective([]string{"produce", "consume"}, sys); err == nil || err.Error() != `--cluster "t": there is no such cluster; did you mean s?` {
		t.Errorf("a cluster that is not there: %v", err)
	}
}

func TestACheckFindsWhatARunWouldTrip(t *testing.T) {
	for text, want := range map[string][]string{
		"acks: all\n":                                     nil,
		"partitions: many\nproduce: {fps: x}":             {`f.yaml:1: partitions "many": it must be a whole number`, `f.yaml:2: fps "x"`},
		"profile: nowhere":                                {`f.yaml:1: kt consume: profile "nowhere": `, `f.yaml:1: kt produce: profile "nowhere": `, `f.yaml:1: kt roundtrip: profile "nowhere": `},
		"clusters: {a: {command-config: no.properties}}":  {"f.yaml:1: cluster a: command-config ", "no.properties: no such file"},
		"clusters: {a: {command-config: bad.properties}}": {"f.yaml:1: cluster a: command-config ", `line 2: \u12 is no character`},
		"cluster: a":                                      {`:1: cluster "a": there is no such cluster`},
		"rate: 100MiB/s":                                  {"f.yaml:1: kt consume: rate 100MiB/s: reading is held to"},
		"on: clients\ncollect: {join: a}":                 nil, // the rest is typed
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "bad.properties"), "a=1\nb=\\u12")
		path := write(t, filepath.Join(dir, "f.yaml"), text)
		names, err := begin(t, NewConfigFile).Check(path, nothing, func(*Run) error { return nil })
		switch {
		case want == nil && (err != nil || !slices.Equal(names, []string{path})):
			t.Errorf("%q gives %q, %v", text, names, err)
		case want != nil && err == nil:
			t.Errorf("%q is accepted", text)
		}
		for _, part := range want {
			if err != nil && !strings.Contains(err.Error(), part) {
				t.Errorf("%q gives %v\nwant %q", text, err, part)
			}
		}
	}
}

// yamlQuoted writes any text for YAML.
func yamlQuoted(s string) string {
	var b strings.Builder
	for _, r := range s {
		fmt.Fprintf(&b, `\U%08x`, r)
	}
	return `"` + b.String() + `"`
}

// standsAlone reports whether a text stands for itself in YAML without quotes.
func standsAlone(s string) bool {
	root, err := input.YAML([]byte("k: "+s), func(int) string { return "" })
	if err != nil || root == nil || len(root.Content) != 2 {
		return false
	}
	text, err := input.Text(root.Content[1])
	return err == nil && text == s
}

// ways are the ways to give a flag a value.
func ways(value string) []string {
	all := []string{"flag", "variable", "quoted"}
	if standsAlone(value) {
		all = append(all, "plain")
	}
	return all
}

var ofChance = regexp.MustCompile(`perf-consumer-[0-9]+|performance-producer-[A-Z0-9]+`)

// outcome returns the run that a value of one flag makes, or what is wrong, without the source of the value.
func outcome(t *testing.T, dir string, command plan.Command, flag, value, way string) string {
	t.Helper()
	set := pflag.NewFlagSet(string(command), pflag.ContinueOnError)
	flags := newFlags(set, command)
	_ = set.Set("profile", "base")
	// What a load needs is in the lowest layer, so that it is below the value in each way.
	base := "topic: t\nbootstrap-server: b:1\n"
	sys := System{Kafka: kafka, Profiles: func(string) fs.FS { return fstest.MapFS{"base.yaml": {Data: []byte(base)}} }}
	source := "--" + flag
	env := make(map[string]string)
	switch way {
	case "flag":
		must.Do(t, set.Parse([]string{"--" + flag + "=" + value}))
	case "variable":
		source = envName(flag)
		env[source] = value
		sys.Environ = []string{source + "=" + value}
	case "quoted":
		value = yamlQuoted(value)
		fallthrough
	default:
		sys.ConfigDir = dir
		source = write(t, filepath.Join(dir, "kt", "config.yaml"), flag+": "+value+"\n") + ":1"
	}
	sys.Getenv = func(name string) string { return env[name] }
	r := flags
	if err := flags.Load(sys); err != nil {
		text := ""
		for _, one := range Flat(err) {
			if p := (*plan.Problem)(nil); errors.As(one, &p) {
				one = errors.New(strings.TrimPrefix(p.Text(), "--")) // which only the command line has
			}
			text += strings.ReplaceAll(one.Error(), "(from "+source+")", "(from --"+flag+")") + "\n"
		}
		return text
	}
	r.Sources, r.Warnings = nil, nil
	for _, properties := range []map[string]plan.Given{r.Properties, r.ConsumerProperties} {
		for name, g := range properties {
			properties[name] = plan.Given{Value: g.Value}
		}
	}
	text := must.Have(json.Marshal(r))(t)
	return ofChance.ReplaceAllString(string(text), "")
}

// firstDifference returns what two texts hold where they begin to differ.
func firstDifference(a, b string) string {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	from := max(0, at-40)
	return fmt.Sprintf("  %q\n  %q", a[from:min(len(a), at+80)], b[from:min(len(b), at+80)])
}

// flagsAlike are the flags of a load that say the same wherever they stand. Others name files, or speak to every command from a file
// and a variable: there they are no mistake where a load has no use for them.
func flagsAlike(command plan.Command) (names []string) {
	for _, name := range flagNames(string(command)) {
		if !slices.Contains([]string{"config", "profile", "cluster", "hosts", "processes", "watch", "join", "peers", "key-file", "output", "group-protocol", "group-instance-id"}, name) {
			names = append(names, name)
		}
	}
	return names
}

var loadCommands = []plan.Command{plan.Produce, plan.Consume, plan.Roundtrip}

func commandAt[N int | uint8](i N) plan.Command { return loadCommands[int(i)%len(loadCommands)] }

// FuzzAFileAVariableAndAFlagSayTheSame gives a text to a flag in every way that there is. All make the same run, or are refused for the
// same reason, whatever YAML makes of the text. Only a variable that is a list of K=V has spaces between its items.
func FuzzAFileAVariableAndAFlagSayTheSame(f *testing.F) {
	texts := strings.Fields("1.10 0123 1e3 007 010 0x10 0b1 0o7 1_000 +5 -1 yes no on off True TRUE null ~ NaN .nan .inf -.Inf 2026-01-01 12:30:45 " +
		"2026-01-01T00:00:00Z 0.5 1. << = ! *a &a 1,000 1k 10Mb/s 10MB/s 100MiB/s 8KiB a:1,b:2 all none 5s 5 zstd:03 a=1 a=007 {} [] earliest 100@080,200@20")
	texts = append(texts, "", " ", " 8 ", "a b", "a\nb", "a: b", "a #b", "'", `"`, "\\", "\x00", "\u0085", "\u2028", "\ufeff", "é", "- a", "|", "%", "@")
	add := func(command int, name, text string) {
		if i := slices.Index(flagsAlike(commandAt(command)), name); i >= 0 {
			f.Add(uint8(command), uint8(i), text)
		}
	}
	for command := range loadCommands {
		for _, name := range flagsAlike(commandAt(command)) {
			add(command, name, "") // a file and a variable say nothing too
		}
	}
	for i, text := range texts {
		add(0, "topic", text)
		add(i%3, "partitions", text)
		add(i%3, []string{"rate", "group", "num-records", "record-size", "seed", "acks", "bootstrap-server", "header", "compressibility"}[i%9], text)
	}
	f.Fuzz(func(t *testing.T, command, flag uint8, text string) {
		names := flagsAlike(commandAt(command))
		name := names[int(flag)%len(names)]
		if !utf8.ValidString(text) || listFlags["--"+name] && strings.ContainsFunc(text, unicode.IsSpace) {
			return
		}
		dir := t.TempDir()
		want := outcome(t, dir, commandAt(command), name, text, "flag")
		for _, way := range ways(text) {
			if got := outcome(t, dir, commandAt(command), name, text, way); got != want {
				t.Errorf("kt %s, %s %q as %s differs from the flag:\n%s", commandAt(command), name, text, way, firstDifference(got, want))
			}
		}
	})
}

// A scalar is the text that stands in the file, also where YAML takes it for something else.
func TestAScalarIsTheTextThatStandsInTheFile(t *testing.T) {
	for _, text := range strings.Fields("1.10 0123 1e3 007 0x1F 1_000 yes on True off 2026-01-01 1.0 0.50 +1 0o17 =") {
		r, err := load(t, given{User: "topic: " + text})
		if text == "+1" || text == "=" {
			if err == nil || !strings.Contains(err.Error(), "config.yaml:1: topic ") {
				t.Errorf("topic: %s: %v, want it refused with its line", text, err)
			}
		} else if err != nil || r.Plan.Topic.Name != text {
			t.Errorf("topic: %s: %v, %v", text, r.Plan.Topic.Name, err)
		}
	}
	file := "produce: &p\n  topic: &t 1.10\n  transactional-id: 007\n  tag: [1.10, *t]\nroundtrip:\n  <<: *p\n  transactional-id: 0x1\n" +
		"clusters:\n  1.10: {bootstrap-server: [1.10, 010:9092]}\ncluster: 1.10"
	r := mustLoad(t, given{User: file})
	both := mustLoad(t, given{User: file, Command: plan.Roundtrip})
	got := []string{r.Plan.Topic.Name, r.Flags["transactional-id"], both.Plan.Topic.Name, both.Flags["transactional-id"], r.Cluster}
	if want := []string{"1.10", "007", "1.10", "0x1", "1.10"}; !slices.Equal(slices.Concat(got, r.Tags, r.Plan.Bootstrap), slices.Concat(want, []string{"1.10", "1.10", "010:9092"})) {
		t.Errorf("%q %q %q", got, r.Tags, r.Plan.Bootstrap)
	}
}

// Each number is decimal, of each command.
func TestNumbersOfAllFlagsAreDecimal(t *testing.T) {
	found := 0
	for _, command := range Commands() {
		flagSet(command).VisitAll(func(f *pflag.Flag) {
			kind := f.Value.Type()
			whole := strings.HasPrefix(kind, "int")
			if !whole && !strings.HasPrefix(kind, "float") {
				return
			}
			found++
			for _, text := range []string{"0x10", "0x10p0", "0b1", "0o7", "inf", "NaN", ""} {
				if err := valueOf(f).take(text); err == nil || err.Error() == "" {
					t.Errorf("kt %s --%s %s is %s", command, f.Name, text, f.Value)
				}
			}
			for text, want := range map[string]string{"010": "10", "0017": "17", "08": "8"} {
				if err := valueOf(f).take(text); err != nil || f.Value.String() != want {
					t.Errorf("kt %s --%s %s is %s, %v", command, f.Name, text, f.Value, err)
				}
			}
			if err := valueOf(f).take("1_000"); whole && f.Value.String() != "1000" && !strings.Contains(err.Error(), "it must be from ") {
				t.Errorf("kt %s --%s 1_000 is %s, %v", command, f.Name, f.Value, err)
			}
		})
	}
	must.True(t, found >= 40, "only %d numbers were found", found)
	for args, want := range map[string]string{
		"--partitions 70000000000": "it must be from 1 to 100000", "--transaction-duration-ms 70000000000": "it is too large", "--replication-factor 40000": "it must be from 1 to 32767", "--partitions many": "it must be a whole number",
		"--partitions 1.5": "it must be a whole number", "--compressibility half": "it must be a number",
	} {
		_, err := load(t, given{Args: strings.Fields(args)})
		must.Err(t, want, err, "%s", args)
	}
	r, err := load(t, given{Args: strings.Fields("--num-records 010 --partitions 010 --rate 010 --record-size 0100 --duration 010")})
	if p := r.Plan; err != nil || p.Load.Records != 10 || p.Topic.Partitions != 10 || p.Load.Rate.PerSecond != 10 || p.Payload.Size.Max() != 100 || p.Load.Duration.Std().Seconds() != 10 {
		t.Errorf("%+v, %v", p, err)
	}
}
