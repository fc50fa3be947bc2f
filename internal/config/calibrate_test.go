package config

import (
	"testing"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/suggest"
)

func TestACalibrationTakesWhatARecordCostsAndNoMore(t *testing.T) {
	for flag, set := range map[string]bool{
		"record-size": false, "acks": false, "command-property": false, "fetch-size": false, "engine": false, "profile": false, "transactional-id": false,
		"rate": true, "throughput": true, "duration": true, "num-records": true, "messages": true, "warmup": true, "topic": true, "delete-topic": true,
		"verify": true, "output": true, "result": true, "cluster": true, "at": true, "exec": true, "on": true, "one-at-a-time": true, "timeout": true, "group-protocol": true,
	} {
		if IsSetByCalibrate(flag) != set {
			t.Errorf("--%s is set by kt calibrate: %t, want %t", flag, !set, set)
		}
	}
}

func TestAFlagThatIsLeftOutCountsOnTheCommandLineAlone(t *testing.T) {
	variables := map[string]string{"KT_RATE": "100", "KT_DURATION": "1h", "KT_ACKS": "1"}
	sys := System{Getenv: func(name string) string { return variables[name] }, LeftOut: IsSetByCalibrate}
	flags := []Assignment{{"bootstrap-server", []string{"localhost:9092"}}, {"duration", []string{"5s"}}}
	r, err := LoadOf(plan.Produce, flags, sys, Kafka{Nearest: suggest.Nearest})
	if err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string]string{"rate": "", "duration": "5s", "acks": "1"} {
		if r.Flags[flag] != want {
			t.Errorf("--%s is %q (from %s), want %q", flag, r.Flags[flag], r.Sources[flag], want)
		}
	}
}
