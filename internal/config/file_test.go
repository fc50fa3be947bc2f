package config

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/profiles"
)

// nothing is a System without an environment and files.
var nothing = System{Kafka: kafka, Getenv: func(string) string { return "" }}

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
		_, err := nothing.parseFile("f.yaml", []byte(text), ofUser)
		must.Err(t, want, err, "%q gives …", text)
	}
	r := mustLoad(t, given{file: "consume: &p {from: latest, isolation: read_committed}\nproduce: {<<: {acks: 1, linger: 3}, linger: 4}"})
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
		parsed, err := nothing.parseFile("f.yaml", data, ofUser)
		for _, one := range flat(err) {
			m := at.FindStringSubmatch(one.Error())
			if m == nil {
				t.Fatalf("%q: %v", data, one)
			}
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
		again, err := nothing.parseFile("f.yaml", after, ofUser)
		if err != nil || again.of("produce", fromUser).text("cluster") != name || len(again.clusters) != len(parsed.clusters) {
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
		if changed > 1 || len(was) > 1 {
			t.Fatalf("%q with %q is %q", data, name, after)
		}
	})
}

func TestEveryEffectiveValueHasItsSource(t *testing.T) {
	dir := t.TempDir()
	sys := System{
		ConfigDir:   dir,
		ProjectFile: write(t, filepath.Join(dir, "kt.yaml"), "acks: 1\nprofile: latency\nconsume: {profile: tail}\nheader: [a=b, authorization=Bearer x]\n"),
		Getenv: func(name string) string {
			return map[string]string{"KT_RATE": "5k", "KT_COMMAND_PROPERTY": "sasl.jaas.config=abc client.id=x"}[name]
		},
	}
	write(t, filepath.Join(dir, "kt", "config.yaml"), "cluster: s\nclusters: {s: {bootstrap-server: b:1}}\noutput: json\n")
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	c := NewConfigure(set)
	must.Do(t, c.Load(sys))
	values := must.Have(c.Effective([]string{"produce", "consume", "report"}, sys, profiles.Of))(t)
	got := make(map[string]string)
	for _, v := range values {
		if !v.Default {
			got[v.Name+" of "+strings.Join(v.Commands, "+")] = v.Value + " from " + strings.TrimPrefix(v.Source, dir)
		}
		if v.Default != (v.Source == "default") || v.Name == "yes" {
			t.Errorf("%+v", v)
		}
	}
	want := map[string]string{
		"acks of ": "1 from /kt.yaml:1", "bootstrap-server of ": "b:1 from cluster s", "cluster of ": "s from /kt/config.yaml:1",
		"command-property of ": "sasl.jaas.config=[hidden],client.id=x from KT_COMMAND_PROPERTY", "rate of ": "5k from KT_RATE",
		"header of ": "a=b,authorization=[hidden] from /kt.yaml:4", "linger of ": "0 from profile latency", "output of ": "json from /kt/config.yaml:3",
		"profile of produce": "latency from /kt.yaml:2", "profile of consume": "tail from /kt.yaml:3", "warmup of produce": "10s from profile latency",
		"no-group of ": "true from profile tail", "from of ": "latest from profile tail", "duration of consume": "0 from profile tail", "timeout of ": "0 from profile tail",
	}
	must.Match(t, want, got, "")
	if values[0].Default || !values[len(values)-1].Default {
		t.Errorf("those that are set are not first: %+v", values)
	}
	set = pflag.NewFlagSet("", pflag.ContinueOnError)
	c = NewConfigure(set)
	must.Do(t, set.Parse([]string{"--cluster", "t"}))
	if _, err := c.Effective([]string{"produce", "consume"}, sys, profiles.Of); err == nil || err.Error() != `--cluster "t": there is no such cluster; did you mean s?` {
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
		c := NewConfigFile(pflag.NewFlagSet("", pflag.ContinueOnError))
		names, err := c.Check(path, nothing, Checks{Profiles: profiles.Of, Clients: func(*Run) error { return nil }})
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
