package study

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/result"
)

// notFacts are parts of a plan and of an environment that differ from run to run and explain nothing.
var notFacts = []string{
	"plan.bootstrap_server", "plan.topic.name", "plan.share", "host.boot_id", "host.unavailable", "clock.error_us", "cluster.cluster_id", "cluster.controller_id",
	"cluster.brokers", "topic.name", "topic.id", "topic.leaders", "topic.replicas", "topic.created",
}

// tuned is the name of what kt tune found of tunedIDs, which make a CPU faster or slower. A run that ended before has none.
const tuned = "CPU by kt tune"

var tunedIDs = []string{"cpu.governor", "cpu.epp", "cpu.energy_bias", "cpu.min_perf_pct", "cpu.boost", "cpu.platform_profile", "cpu.idle_states", "cpu.smt"}

// factsOf returns the settings and the environment of a run by their names. They may explain a difference between
// two runs.
func factsOf(r *result.Result) map[string]string {
	facts := map[string]string{"kt": r.KTVersion, "cluster.brokers": fmt.Sprint(len(r.Environment.Cluster.Brokers))}
	flatten(facts, "plan", r.Plan)
	flatten(facts, "host", r.Environment.Host)
	flatten(facts, "clock", r.Environment.Clock)
	flatten(facts, "cluster", r.Environment.Cluster)
	flatten(facts, "topic", r.Environment.Topic)
	for of, settings := range map[string][]result.Setting{"producer ": r.Config, "consumer ": r.ConsumerConfig} {
		for _, s := range settings {
			if s.Name != "transactional.id" && s.Name != "group.id" && s.Name != "client.id" {
				facts[of+s.Name] = s.Value
			}
		}
	}
	for i := range r.Tune {
		var found []string
		for _, f := range r.Tune[i].Findings {
			if slices.Contains(tunedIDs, f.ID) {
				found = append(found, f.ID+" "+f.Current)
			}
		}
		facts[tuned] = cmp.Or(strings.Join(found, ", "), "as wanted")
	}
	return facts
}

// flatten adds the leaves of a value's JSON, under the names of its fields.
func flatten(facts map[string]string, name string, value any) {
	text, err := json.Marshal(value)
	var fields map[string]any
	if err != nil || json.Unmarshal(text, &fields) != nil {
		return // a part of a result always has fields
	}
	flattenFields(facts, name, fields)
}

func flattenFields(facts map[string]string, name string, value any) {
	for _, not := range notFacts {
		if name == not {
			return
		}
	}
	if fields, ok := value.(map[string]any); ok {
		for key, v := range fields {
			flattenFields(facts, name+"."+key, v)
		}
		return
	}
	if value != nil {
		facts[name] = strings.Trim(fmt.Sprint(value), "[]")
	}
}
