package config

import (
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

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
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v; want it to name %q", name, err, part)
			}
		}
	}
}
