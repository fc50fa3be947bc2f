//go:build !race

package study

import (
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
)

func TestMoreThanTheOneSettingThatIsComparedIsADoubt(t *testing.T) {
	for _, tc := range []struct {
		facts   string // that only B has
		derived string
		want    string // ids
	}{
		{"producer acks", "", ""},
		{"producer acks, producer enable.idempotence", "producer enable.idempotence", ""},
		{"producer acks, producer linger.ms", "", "different-plans"},
		{"plan.topic.partitions, topic.partitions", "", ""},
		{"topic.replication_factor, producer acks", "", "different-plans"},
		{"plan.payload.record_size", "", "different-payloads"},
		{"kt, producer acks", "", "different-versions"},
		{"cluster.broker_version, host.kernel_version, producer acks, producer linger.ms", "", "different-versions different-hosts different-plans"},
	} {
		a, b := ranAll("ABABAB")
		each(b, func(r *LoadFigures) {
			r.derived = []string{tc.derived}
			for fact := range strings.SplitSeq(tc.facts, ", ") {
				r.facts[fact] = "1"
			}
		})
		var ids []string
		for _, d := range compare(t, a, b).Doubts {
			ids = append(ids, d.ID)
		}
		must.Match(t, tc.want, strings.Join(ids, " "), "doubts of %s", tc.facts)
	}
}

func TestADoubtOfRunsSaysHowManyHaveIt(t *testing.T) {
	one, replica := result.Doubt{ID: result.OneRun}, result.Doubt{ID: "one-replica", Text: "first"}
	again := result.Doubt{ID: "one-replica", Text: "second"}
	got := doubts{{{one, replica, again}, {one, again}}, {{one}}, {{}, {one}}}.count()
	replica.Runs, replica.Of, one.Runs, one.Of = 2, 5, 1, 5 // one run: that of the cell without repeats
	must.Match(t, []result.Doubt{replica, one}, got, "doubts")
	c := &CompareDocument{Doubted: Doubted{Doubts: got}}
	c.Accept([]string{"one-replica"})
	must.Match(t, []result.Doubt{one}, c.Doubts, "doubts that are left")
}
