package load

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/study"
)

func TestAgentsTakeWhatKTKnowsButWhereValuesAreLookedUp(t *testing.T) {
	producer, _ := must.Both(javaconf.ParseProducer(nil, 0, false))(t)
	consumer, _ := must.Both(javaconf.ParseConsumer(nil, false))(t)
	for _, name := range append(propertyNames(producer.All()), propertyNames(consumer.All())...) {
		// Whoever adds a property decides here whether other hosts may set it.
		local := name == "bootstrap.servers" || name == "config.providers"
		if cluster.AllowsProperty(name) == local {
			t.Errorf("%s: agents take it: %v", name, !local)
		}
	}
}

func TestWhatKTDoesNotKnowStaysAtHome(t *testing.T) {
	given := map[string]plan.Given{"acks": {Value: "1"}, "spring.kafka": {Value: "x"}, "bootstrap.servers": {Value: "b:9092"}, "group.id": {Value: "g"}}
	if got := slices.Collect(maps.Keys(travelling(given, javaconf.IsProducerProperty))); !slices.Equal(got, []string{"acks"}) {
		t.Errorf("%q travel, want acks alone", got)
	}
	must.Match(t, 4, len(given), "what was given has changed")
}

func TestALoadWithTLSHasNoCeiling(t *testing.T) {
	for protocol, want := range map[string]bool{"PLAINTEXT": true, "SSL": false} {
		asked := must.Have(NewRunner(quietMaker()).Load(study.Load{Command: "produce", Flags: []study.Flag{{Name: bootstrapServer, Value: "localhost:9092"}, {Name: "command-property", Value: "security.protocol=" + protocol}}, Typed: []study.Flag{{Name: "command-property", Value: "security.protocol=" + protocol}}}))(t)
		must.Match(t, want, asked.CanCalibrate(), "%s: a ceiling is looked for", protocol)
	}
}

// A study keeps its brokers as if they were typed. It also keeps whether the person named them who started it.
func TestAStudyThatGoesOnSendsNoPasswordToTheBrokersOfAProject(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	m := quietMaker()
	m.Config.ConfigDir, m.Config.ProjectFile = dir, "kt.yaml"
	write := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(dir+"/kt", 0o700), os.WriteFile(dir+"/"+name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("kt.yaml", "bootstrap-server: b:1\n")
	write("typed.properties", "security.protocol=SSL\n")
	for name, typed := range map[string][]study.Flag{"nothing typed": nil, "a properties file": {{Name: "command-config", Value: dir + "/typed.properties"}}, "brokers of its file": {{Name: bootstrapServer, Value: "c:1"}}, "brokers": {{Name: bootstrapServer, Value: "c:1"}}} {
		write("kt/config.yaml", "")
		l := study.Load{Command: "produce", Flags: typed}
		if name == "brokers" || name == "a properties file" {
			l.Typed = typed
		}
		made, err := NewRunner(m).NewStudy(dir, "one"+strings.ReplaceAll(name, " ", ""), &study.Study{Loads: []study.Load{l}, Repeats: 1, Order: study.Listed})
		if err != nil {
			t.Fatal(err)
		}
		f, err := study.Open(dir, made.ID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := NewRunner(m).Load(f.Study.Loads[0]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		write("kt/config.yaml", "command-property: [url.password=hunter2]\n")
		for _, load := range []func(study.Load) (*Load, error){NewRunner(m).Load, NewRunner(m).place} {
			if _, err := load(f.Study.Loads[0]); (err == nil) != (name == "brokers") || err != nil && !strings.Contains(err.Error(), "no log-in at ") {
				t.Errorf("%s, and a password in the user's file: %v", name, err)
			}
		}
	}
}
