package config

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

// newFlags defines the flags of a command that makes a load.
func newFlags(set *pflag.FlagSet, name plan.Command) *Run {
	return commands[string(name)](set).(*Run)
}

// loaded loads the settings of a command that makes a load.
func loaded(t *testing.T, define func(*pflag.FlagSet) *Run, sys System, args ...string) (*Run, error) {
	t.Helper()
	r := begin(t, define, args...)
	return r, r.Load(sys)
}

// begin defines the flags of a command, and parses arguments.
func begin[S any](t *testing.T, define func(*pflag.FlagSet) S, args ...string) S {
	t.Helper()
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	s := define(set)
	must.Do(t, set.Parse(args))
	return s
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// kafka knows a few properties of each client.
var kafka = Kafka{
	Producer: having("acks", "linger.ms", "transactional.id", "bootstrap.servers", "client.id", "request.timeout.ms", "receive.buffer.bytes"),
	Consumer: having("group.id", "enable.auto.commit", "max.poll.records", "bootstrap.servers", "client.id", "request.timeout.ms", "receive.buffer.bytes"),
	Takes:    func(url, _ string) bool { return !strings.HasPrefix(url, "amqp://") },
}

func having(names ...string) Client {
	return Client{Has: func(name string) bool { return slices.Contains(names, name) }, Names: names}
}

func TestUnknownVariablesAreWarnedOf(t *testing.T) {
	var told []string
	p := mustLoad(t, given{
		Env:  map[string]string{"KT_GROUPZ": "x", "KT_KAFKA_HEAP": "-Xmx1g", "KT_CONSUMERS": "2", "KT_EMPTY": "", "KTX": "1"},
		warn: func(text string) { told = append(told, text) },
	})
	must.True(t, len(told) == 1 && strings.HasPrefix(told[0], "KT_GROUPZ is ignored: "), "warnings: %q", told)
	must.Match(t, plan.Produce, p.Plan.Command, "it does not load: %+v", p)
}

// needed is what a command cannot do without.
func needed(command plan.Command) []string {
	if command == plan.Consume {
		return []string{"--bootstrap-server", "b:9092", "--topic", "t"}
	}
	return nil
}

func TestWhatIsNotGivenHasItsDefault(t *testing.T) {
	letters := plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(512), Keys: plan.NoKeys}
	stamped := letters
	stamped.Stamp = true
	timeout := plan.Duration(10 * time.Second)
	minute := plan.Load{Duration: plan.Duration(time.Minute), Arrivals: plan.Uniform}
	for _, want := range []plan.Plan{
		{Command: plan.Produce, Topic: plan.Topic{Name: "kt-bench"}, Producers: 1, Seed: 1, Load: minute, Payload: letters},
		{
			Command: plan.Consume, Bootstrap: []string{"b:9092"}, Topic: plan.Topic{Name: "t"}, Load: plan.Load{Arrivals: plan.Uniform},
			Read: plan.Read{Consumers: 1, Commit: plan.CommitNone, ToEnd: true, Timeout: timeout},
		},
		{
			Command: plan.Roundtrip, Topic: plan.Topic{Name: "kt-bench"}, Producers: 1, Seed: 1, Load: minute, Payload: stamped,
			Read: plan.Read{Consumers: 1, Commit: plan.CommitNone, From: plan.From{Latest: true}, Timeout: timeout},
		},
	} {
		got := mustLoad(t, given{Command: want.Command})
		if want.Engine = plan.Client; want.Command == plan.Consume {
			want.Read.Group = got.Plan.Read.Group
			must.True(t, regexp.MustCompile(`^perf-consumer-[0-9]{1,5}$`).MatchString(want.Read.Group), "the group is %q", want.Read.Group)
		}
		if diff := cmp.Diff(want, got.Plan, cmp.Comparer(func(a, b plan.Size) bool { return a.String() == b.String() })); diff != "" {
			t.Errorf("the plan (-want +got):\n%s", diff)
		}
		must.True(t, got.Interval == 5*time.Second && got.FPS == 4 && len(got.Warnings) == 0 && len(got.Properties) == 0, "%+v", got)
	}
}

func TestNoTwoRunsShareANameThatKtMakesUp(t *testing.T) {
	names := func() (string, string) {
		p := mustLoad(t, given{Args: words{"--transaction-duration-ms", "1"}})
		return p.Properties["transactional.id"].Value, mustLoad(t, given{Command: plan.Consume}).Plan.Read.Group
	}
	firstID, firstGroup := names()
	secondID, secondGroup := names()
	_, thirdGroup := names()
	must.True(t, firstID != secondID, "two runs share the id %v: they would fence each other off", firstID)
	must.True(t, firstGroup != secondGroup || firstGroup != thirdGroup, "three runs have the group %s", firstGroup)
}
