//go:build !race

package study

import (
	"fmt"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

func TestWhatIsGivenFillsTheValues(t *testing.T) {
	s := parsed(t, "load: {command: produce, partitions: 7*$brokers}\nfactors: {replication-factor: [1, $replicas], linger: [0, 5ms]}")
	if !s.NeedsBrokers() {
		t.Error("a study with $replicas needs no brokers")
	}
	filled(t, s, 2)
	want := []string{"replication-factor=1 linger=0", "replication-factor=1 linger=5ms", "replication-factor=2 linger=0", "replication-factor=2 linger=5ms"}
	must.Match(t, want, names(s.Cells()), "two brokers")
	if got := s.Loads[0].Flags; got[0].Value != "14" {
		t.Errorf("7*$brokers of 2 is %v", got)
	}

	s = filled(t, parsed(t, "load: {command: produce}\npair: true\nfactors: {replication-factor: [1, $replicas, $replicas], acks: [1, 1, all]}"), 1)
	must.Match(t, []string{"replication-factor=1 acks=1", "replication-factor=1 acks=all"}, names(s.Cells()), "pairs that are alike on one broker")

	s.Set("acks", []string{"0", "1", "all"})
	if err := filled(t, s, 1).Check(); err == nil {
		t.Error("pairs of two values and three")
	}

	s = parsed(t, "given: {stop: the command}\nload: {command: produce, exec: $stop, topic-config: $none}")
	const missing = "this study needs stop: the command; add --set stop=…\n$none: the study gives no such name; write it below given:, with what it is"
	must.Match(t, missing, fmt.Sprint(s.Fill(3)), "nothing given")
	s = parsed(t, "given: {stop: the command}\nload: {command: produce, exec: $stop}")
	s.Set("stop", []string{"kill 1", "2"})
	if err := s.Fill(0); err != nil || s.Loads[0].Flags[0].Value != "kill 1,2" {
		t.Errorf("%v, %v", s.Loads[0].Flags, err)
	}
}

func TestALoadFitsItsBytesItsTimeAndItsHosts(t *testing.T) {
	for text, want := range map[string][]Flag{
		"bytes: 1MiB\nload: {command: produce, duration: 1m}\nfactors: {record-size: [1KiB]}":          {{"record-size", "1KiB"}, {"num-records", "1024"}},
		"bytes: 1MiB\nload: {command: produce, record-size: 512}":                                      {{"record-size", "512"}, {"num-records", "2048"}},
		"load: {command: produce, duration: 4m, at: [30s, 2m], exec: [\"true\", \"true\"]}\nabout: 8s": {{"at", "1s"}, {"at", "4s"}, {"exec", "true"}, {"exec", "true"}, {"duration", "8s"}},
		"load: {command: produce, on: \"a,b,c\"}\nfactors: {hosts: [2]}":                               {{"on", "a,b"}, {"hosts", "2"}},
	} {
		s := parsed(t, text)
		if s.About != "" {
			s.LimitTo(8e9)
		}
		must.Match(t, want, s.at(s.Cells()[0], s.Loads[0]).Flags, "%s", text)
	}
}
