package config

import (
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

func TestACalibrationTakesWhatARecordCostsAndNoMore(t *testing.T) {
	for flag, counts := range map[string]bool{
		"record-size": true, "acks": true, "command-property": true, "fetch-size": true, "engine": true, "profile": true, "transactional-id": true,
		"rate": false, "throughput": false, "duration": false, "num-records": false, "messages": false, "warmup": false, "topic": false, "delete-topic": false,
		"verify": false, "output": false, "result": false, "cluster": false, "at": false, "exec": false, "on": false, "one-at-a-time": false, "timeout": false,
		"group-protocol": false,
	} {
		must.Match(t, counts, CountsInCalibration(flag), "--%s counts: %t", flag, !counts)
	}
}

func TestAFlagThatIsLeftOutCountsOnTheCommandLineAlone(t *testing.T) {
	variables := map[string]string{"KT_RATE": "100", "KT_DURATION": "1h", "KT_ACKS": "1"}
	sys := System{Getenv: func(name string) string { return variables[name] }, LeftOut: func(flag string) bool { return !CountsInCalibration(flag) }}
	flags := []Assignment{{Name: "bootstrap-server", Values: []string{"localhost:9092"}}, {Name: "duration", Values: []string{"5s"}}}
	r := must.Have(LoadOf(plan.Produce, flags, sys))(t)
	for flag, want := range map[string]string{"rate": "", "duration": "5s", "acks": "1"} {
		must.Match(t, want, r.Flags[flag], "--%s is … (from %s)", flag, r.Sources[flag])
	}
}
