package load

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/pulsar"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/study"
)

func TestAgentsTakeWhatKTKnowsButWhereValuesAreLookedUp(t *testing.T) {
	known := Clients()
	for _, name := range slices.Concat(known.Producer.Names, known.Consumer.Names) {
		// Whoever adds a property decides here whether other hosts may set it.
		local := name == "bootstrap.servers" || name == "config.providers"
		must.True(t, cluster.AllowsProperty(name) != local, "%s: agents take it: %v", name, !local)
	}
}

func TestWhatKTDoesNotKnowStaysAtHome(t *testing.T) {
	given := map[string]plan.Given{"acks": {Value: "1"}, "spring.kafka": {Value: "x"}, "bootstrap.servers": {Value: "b:9092"}, "group.id": {Value: "g"}}
	got := slices.Collect(maps.Keys(travelling(given, javaconf.IsProducerProperty)))
	must.True(t, slices.Equal(got, []string{"acks"}), "%q travel, want acks alone", got)
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
		must.Do(t, errors.Join(os.MkdirAll(dir+"/kt", 0o700), os.WriteFile(dir+"/"+name, []byte(text), 0o600)))
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
		must.Hold(t, err == nil, "%v", err)
		f, err := study.Open(dir, made.ID)
		must.Hold(t, err == nil, "%v", err)
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

func TestTheFirstDifferenceOfAWorkloadIsNamedWithoutItsValues(t *testing.T) {
	workload := func(flags ...study.Flag) study.Load {
		return study.Load{Command: "run", File: "shop.yaml", Loads: []study.Load{{Name: "orders", Command: "produce", Flags: append([]study.Flag{{Name: "rate", Value: "5"}}, flags...)}}}
	}
	one, two := study.Flag{Name: "replication-factor", Value: "1"}, study.Flag{Name: "replication-factor", Value: "2"}
	for _, tc := range []struct {
		file, made study.Load
		without    *study.Without
		want       string // "": they are alike
	}{
		{workload(one), workload(one), nil, ""},
		{workload(one), workload(one), new(study.Without), ""},
		{workload(two), workload(one), nil, "the find is of another workload: orders.replication-factor differs"},
		{workload(two), workload(one), new(study.Without), "the search lowered orders.replication-factor while a broker was stopped: name the whole search, and not that part of it"},
		{workload(study.Flag{Name: "header", Value: "token=hunter2"}), workload(one), nil, "the find is of another workload: orders.header differs"},
		{workload(), workload(study.Flag{Name: "transactional-id", Value: "hunter2"}), nil, "the find is of another workload: orders.transactional-id differs"},
	} {
		err := NewRunner(quietMaker()).SameWorkload(tc.file, &study.Study{Loads: []study.Load{tc.made}, Repeats: 1, Without: tc.without})
		if got := fmt.Sprint(err); err != nil && got != tc.want || err == nil && tc.want != "" {
			t.Errorf("%v, want %q", err, tc.want)
		}
	}
}

func TestTheCommandLineOfAResultHoldsNoSecret(t *testing.T) {
	l := Load{Run: new(config.Run), maker: &Maker{Args: []string{
		"produce", "--topic", "orders", "--command-property", "ssl.key.password=a b", "--producer-props=sasl.jaas.config=x username=\"a=b\";",
		"--header", "trace=1", "--command-property", "acks=1,ssl.truststore.password=c",
	}}}
	want := []string{
		"kt", "produce", "--topic", "orders", "--command-property", "ssl.key.password=[hidden]", "--producer-props=sasl.jaas.config=[hidden]",
		"--header", "trace=1", "--command-property", "acks=1,ssl.truststore.password=[hidden]",
	}
	must.Match(t, want, l.Request(nil).Args, "the command line")
}

func TestATopicThatCannotBeDeletedIsNotSaidToBe(t *testing.T) {
	nobody := must.Nobody(t)
	for _, url := range []string{"amqp://" + nobody, "pulsar://" + nobody + "?admin=http://" + nobody} {
		at := study.Load{Command: "produce", Flags: []study.Flag{{Name: "url", Value: url}}}
		for topic, want := range map[string]string{"kt-study-a1-1": "refused", "orders": "only topics of studies"} {
			must.Err(t, want, NewRunner(quietMaker()).DeleteTopic(t.Context(), at, topic), "%s at %s", topic, url)
		}
	}
}

func TestTLSIsWhatTheURLSays(t *testing.T) {
	for _, tc := range []struct{ url, property, warning, err string }{
		{"amqp://h", "security.protocol=SSL", "", "security.protocol=SSL (from f): amqp:// in --url connects without TLS: write amqps://"},
		{"pulsar://h", "security.protocol=sasl_ssl", "", "write pulsar+ssl://"},
		{"amqp://h", "security.protocol=PLAINTEXT", "", ""},
		{"amqp://h", "ssl.truststore.location=ca.pem", "have no effect with amqp://", ""},
		{"amqps://h", "ssl.truststore.location=ca.pem", "", ""},
		{"amqps://h", "security.protocol=SSL", "", ""},
		{"", "security.protocol=SSL", "", ""},
	} {
		name, value, _ := strings.Cut(tc.property, "=")
		warnings, err := checkTLS(&plan.Plan{URL: tc.url}, map[string]plan.Given{name: {Value: value, Source: "f"}})
		if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) || !strings.Contains(strings.Join(warnings, ""), tc.warning) || (tc.warning == "") != (len(warnings) == 0) {
			t.Errorf("%+v: warnings %q, error %v", tc, warnings, err)
		}
	}
}

// Pulsar's client may find a late message only when its next look is due.
func TestAMessageOfPulsarMayWaitForTwiceTheTimeout(t *testing.T) {
	for given, want := range map[string]time.Duration{"": time.Minute, "5000": 10 * time.Second} {
		l := &Load{Run: &config.Run{}}
		if given != "" {
			l.Properties = map[string]plan.Given{"delivery.timeout.ms": {Value: given}}
		}
		p := plan.Plan{URL: "pulsar://h", Topic: plan.Topic{Name: "t"}, Producers: 1, Payload: plan.Payload{Kind: plan.Monotonic}}
		l.System, _ = must.Both(pulsar.New(&p, l.Properties, nil, queue.Access{}))(t)
		must.Match(t, want, l.DeliveryTimeout(), "delivery.timeout.ms=%s", given)
	}
}
