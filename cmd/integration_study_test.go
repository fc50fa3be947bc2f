//go:build integration

package cmd

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/study"
)

// studied makes a named study in a short form and returns what it says.
func (k *kafkaCluster) studied(t *testing.T, name string, args ...string) (d study.Document) {
	t.Helper()
	args = append([]string{"study", "run", name, "--quiet", "--output", "json", "--bootstrap-server", k.brokers}, args...)
	out, err := k.ktIn(t, t.TempDir(), args...).Output()
	if err != nil || json.Unmarshal(out, &d) != nil {
		t.Fatalf("kt %q: %v\n%s", args, err, out)
	}
	if d.Runs != d.Wanted || d.Runs == 0 {
		t.Errorf("kt %q: %d of %d runs were made", args, d.Runs, d.Wanted)
	}
	return d
}

// The study of a broker that goes down and comes back.
func (k *kafkaCluster) brokerDownIsStudied(t *testing.T) {
	scripts := must.Have(filepath.Abs("../scripts/kafka"))(t)
	command := func(what string) string { return fmt.Sprintf("%s %s 3 --name %s", scripts, what, k.name) }
	d := k.in(t).studied(t, "broker-down", "--set", "stop="+command("kill"), "--set", "start="+command("start"), "--set", "rate=500",
		"--run-time", "24s", "--repeats", "1", "--discard", "0", "--rest", "0")
	for _, c := range d.Cells {
		for _, r := range c.Runs {
			l := r.Loads[0]
			if l.Lost == nil || *l.Lost != 0 || l.Outage == nil || l.Outage.BeganWith == "" {
				t.Errorf("lost %v, outage %+v; want none lost, and a fault", l.Lost, l.Outage)
			}
			t.Logf("%+v", c.Faults)
		}
	}
}
