package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/plan"
)

func TestProcessesOfAGroupCommitHowFarTheyAre(t *testing.T) {
	for _, tc := range []struct {
		name, args string
		want       plan.Commit
		property   string // enable.auto.commit; "": not set
	}{
		{"kt's own group", "--on all", plan.CommitAuto, "true"},
		{"kt's own group in one process", "", plan.CommitNone, "false"},
		{"a group that was named", "--on all --group g", plan.CommitAuto, "true"},
		{"another way was given", "--on all --commit sync", plan.CommitSync, "false"},
		{"none, in a load with another end", "--on all --commit none --duration 5s", plan.CommitNone, "false"},
		{"without a group there is nothing to commit", "--on all --no-group", plan.CommitNone, ""},
	} {
		r := mustLoad(t, given{command: plan.Consume, args: append(needed(plan.Consume), strings.Fields(tc.args)...)})
		if r.Plan.Read.Commit != tc.want || r.ConsumerProperties["enable.auto.commit"].Value != tc.property {
			t.Errorf("%s: commit %q, enable.auto.commit=%q; want %q and %q", tc.name, r.Plan.Read.Commit, r.ConsumerProperties["enable.auto.commit"].Value, tc.want, tc.property)
		}
	}
}

func TestWhatOtherHostsCannotDoIsRefused(t *testing.T) {
	produce, consume := append(needed(plan.Produce), "--bootstrap-server", "b:1"), needed(plan.Consume)
	for _, tc := range []struct {
		name    string
		command plan.Command
		args    []string
		want    string // how one of the problems begins; "": there is none
	}{
		{"a group has to count together", plan.Consume, append(consume, "--on", "all", "--num-records", "5"), "--num-records: it does not go with --on: "},
		{"and so have readers without one", plan.Consume, append(consume, "--on", "all", "--no-group", "--messages", "5"), "--num-records: it does not go with --on: "},
		{"readers without a group read to the end", plan.Consume, append(consume, "--on", "all", "--no-group"), ""},
		{"producers share out a number", plan.Produce, append(produce, "--on", "all", "--num-records", "5"), ""},
		{"nobody knows where a group ends that commits nothing", plan.Consume, append(consume, "--on", "all", "--commit", "none"), "--commit: it does not go with --on: "},
		{"nor where the client is told not to", plan.Consume, append(consume, "--on", "all", "--command-property", "enable.auto.commit=false"), "--commit: it does not go with --on: "},
		{"a load without an end", plan.Produce, append(produce, "--on", "all", "--duration", "0"), "--duration 0: it does not go with --on: 0 is no end"},
		{"a variable that is not set", plan.Produce, append(produce, "--on", ""), "--on: name a host, a tag or all"},
		{"two that are not set", plan.Produce, append(produce, "--on", " , "), "--on: name a host, a tag or all"},
		{"one that is not set, with a key", plan.Produce, append(produce, "--on", "", "--key-file", "k"), "--on: name a host, a tag or all"},
		{"agents of a load of one process", plan.Produce, append(produce, "--join", "vm1"), "--join: it needs --on"},
		{"exactly these agents", plan.Produce, append(produce, "--peers", "vm1"), "--peers: it needs --on"},
		{"their key", plan.Produce, append(produce, "--key-file", "k"), "--key-file: it needs --on"},
		{"a number of hosts", plan.Produce, append(produce, "--hosts", "2"), "--hosts: it needs --on"},
		{"a number of processes", plan.Produce, append(produce, "--processes", "2"), "--processes: it needs --on"},
	} {
		_, err := load(t, given{command: tc.command, args: tc.args})
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%s: %v", tc.name, err)
		case tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.want) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%s: %v\nwant one problem that begins with %q", tc.name, err, tc.want)
		}
	}
	for name, in := range map[string]given{
		"the environment": {env: map[string]string{"KT_JOIN": "vm1", "KT_KEY_FILE": "k"}},
		"the file":        {file: "join: [vm1]\nkey-file: k"},
	} {
		in.args = produce
		if _, err := load(t, in); err != nil {
			t.Errorf("%s speaks to every command: %v", name, err)
		}
	}
}

func TestAnAgentOfACompletionHasItsPort(t *testing.T) {
	set := flagSet("produce")
	_ = set.Set("peers", "vm1,vm2:99")
	if got := AgentsOf(set).Peers; !slices.Equal(got, []string{"vm1:7946", "vm2:99"}) {
		t.Error(got)
	}
}
