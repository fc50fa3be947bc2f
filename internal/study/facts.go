package study

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// notFacts are parts of a plan and of an environment that differ from run to run and explain nothing.
var notFacts = []string{
	"plan.bootstrap_server", "plan.topic.name", "plan.share", "plan.read.group", "host.boot_id", "host.unavailable", "clock.error_us", "cluster.cluster_id", "cluster.controller_id",
	"cluster.brokers", "topic.name", "topic.id", "topic.leaders", "topic.log_dirs", "topic.replicas", "topic.created",
}

// tuned is the name of what kt tune found of tunedIDs, which make a CPU faster or slower. A run that ended before has none.
const tuned = "CPU by kt tune"

var tunedIDs = []string{"cpu.governor", "cpu.epp", "cpu.energy_bias", "cpu.min_perf_pct", "cpu.boost", "cpu.platform_profile", "cpu.idle_states", "cpu.smt"}

// factsOf returns the settings and the environment of a run by their names: what may explain a difference between runs.
func factsOf(r *result.Result) map[string]string {
	facts := map[string]string{"kt": r.KTVersion, "cluster.brokers": fmt.Sprint(len(r.Environment.Cluster.Brokers))}
	e := &r.Environment
	for name, value := range map[string]any{"plan": r.Plan, "host": e.Host, "clock": e.Clock, "cluster": e.Cluster, "topic": e.Topic} {
		var fields any
		if text, err := json.Marshal(value); err == nil && json.Unmarshal(text, &fields) == nil { // a part of a result always has fields
			flatten(facts, name, fields)
		}
	}
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

// derivedOf returns the names of the facts of a run that follow from others.
func derivedOf(r *result.Result) (names []string) {
	for of, settings := range map[string][]result.Setting{"producer ": r.Config, "consumer ": r.ConsumerConfig} {
		for _, s := range settings {
			if s.Source == "derived" {
				names = append(names, of+s.Name)
			}
		}
	}
	return names
}

// flatten adds the leaves of a JSON value, under the names of its fields.
func flatten(facts map[string]string, name string, value any) {
	fields, ok := value.(map[string]any)
	if slices.Contains(notFacts, name) || value == nil {
		return
	}
	for key, v := range fields {
		flatten(facts, name+"."+key, v)
	}
	if !ok {
		facts[name] = strings.Trim(fmt.Sprint(value), "[]")
	}
}

// Differ returns the settings and the facts of the environment that differ between runs, by their names, each with at most one value in each run.
func Differ(runs []*result.Result) iter.Seq2[string, [][]string] {
	return differing(mapped(runs, func(r *result.Result) *Side { return &Side{loads: figures{{facts: factsOf(r)}}} })...)
}

// Difference is a setting, or a fact of the environment, that differs.
type Difference struct {
	What string   `json:"what"`
	A    []string `json:"a"` // its values there; empty: it has none
	B    []string `json:"b"`
}

// differing returns the facts that differ between sides, by their names, each with its values in each side, sorted.
func differing(sides ...*Side) iter.Seq2[string, [][]string] {
	names := make(map[string]string)
	for _, r := range slices.Concat(mapped(sides, func(s *Side) figures { return s.loads })...) {
		maps.Copy(names, r.facts)
	}
	return func(yield func(string, [][]string) bool) {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			values := mapped(sides, func(s *Side) []string { return s.all(name) })
			if slices.ContainsFunc(values, func(v []string) bool { return !slices.Equal(v, values[0]) }) && !yield(name, values) {
				return
			}
		}
	}
}

func (s *Side) all(name string) []string {
	values := []string{}
	for _, r := range s.loads {
		if v, ok := r.facts[name]; ok {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// sharesOf returns shares of what went on beside the load of a run, by what they are. One of nothing is not finite, and not known.
func sharesOf(r *result.Result) map[string]float64 {
	c, written := &r.Client, r.Records.Offered
	shares := map[string]float64{
		"CPUs of kt's host that others used":                         (c.HostCPUCores - c.CPUCores) / c.HostCores,
		"periods in which the CPU limit of its container stopped kt": c.CPUStoppedShare,
	}
	for i := range r.Hosts {
		if b := r.Hosts[i].Busy; b != nil {
			shares["CPUs of "+r.Hosts[i].Host+" that its hypervisor gave to others (steal)"] = b.StealShare
		}
	}
	if r.Warmup != nil {
		written += r.Warmup.Records.Offered
	}
	if r.LogEnds != nil && c.Transactions == 0 { // whose markers are in the log too
		shares["records that others wrote to the topic, for each of kt's"] = max(0, float64(r.LogEnds.After-r.LogEnds.Before)/float64(written)-1)
	}
	return shares
}

// othersAtWork returns a text for each share of what went on beside the loads that differs between two sides.
func othersAtWork(a, b *Side, shares map[string]float64) (all []string) {
	for _, what := range slices.Sorted(maps.Keys(shares)) {
		share := func(s *Side) Spread { // over the runs where it is known
			var values []float64
			for _, r := range s.loads {
				if v, ok := r.shares[what]; ok && Share(v).IsKnown() {
					values = append(values, v)
				}
			}
			return spread(values)
		}
		if x, y := share(a), share(b); x.N*y.N > 0 && math.Abs(x.Median-y.Median) >= 0.05 { // less is noise
			all = append(all, fmt.Sprintf("%s: %s in A, and %s in B", what, theme.Percent(x.Median), theme.Percent(y.Median)))
		}
	}
	return all
}

// confounders returns what differs between two sides beside the one setting that they are about, as doubts, and the doubts of their runs.
func confounders(a, b *Side, differ []Difference) (all []result.Doubt) {
	add := func(id string, values ...string) {
		d, err := result.NewDoubt(id, values...)
		if err != nil {
			panic(err) // the table is a part of kt
		}
		all = append(all, d)
	}
	began := func(s *Side) []string {
		times := mapped(s.loads, func(f *LoadFigures) string { return f.from.UTC().Format("2006-01-02 15:04:05.000") })
		return slices.Sorted(slices.Values(times))
	}
	x, y := began(a), began(b)
	if m, n := len(x)-1, len(y)-1; m > 0 && n > 0 && (x[m] < y[0] || y[n] < x[0]) {
		add("not-in-turns", x[0], x[m], y[0], y[n])
	}
	runs, pairs, last := slices.Concat(a.loads, b.loads), 0, ""
	shares := make(map[string]float64)
	for i, x := range runs {
		maps.Copy(shares, x.shares)
		for _, y := range runs[:i] {
			if x.facts["host.hostname"] == y.facts["host.hostname"] && x.from.Before(y.to) && y.from.Before(x.to) {
				pairs, last = pairs+1, y.File+" and "+x.File
			}
		}
	}
	if pairs > 0 {
		add("at-one-time", theme.Plural(int64(pairs), "pair", "pairs"), last)
	}
	texts := map[string][]string{"others-at-work": othersAtWork(a, b, shares)} // by ids
	for _, d := range differ {
		id, text := doubtOf(d.What), d.What
		follows := slices.ContainsFunc(runs, func(r *LoadFigures) bool { return slices.Contains(r.derived, d.What) }) ||
			slices.ContainsFunc(differ, func(o Difference) bool { return o.What == "plan."+d.What })
		if besideLoad(d.What) {
			text = fmt.Sprintf("%s: %s in A, and %s in B", d.What, cmp.Or(strings.Join(d.A, ", "), "none"), cmp.Or(strings.Join(d.B, ", "), "none"))
		}
		if !follows { // from another setting that differs
			texts[id] = append(texts[id], text)
		}
	}
	for _, id := range []string{"others-at-work", "different-versions", "different-hosts", differentPlans, "different-payloads"} {
		const most = 4
		list := texts[id]
		n := len(list)
		if n == 0 || n == 1 && id == differentPlans { // the one that is compared
			continue
		}
		if n > most {
			list = append(list[:most-1], fmt.Sprintf("and %d more", n-most+1))
		}
		add(id, theme.Plural(int64(n), "thing", "things"), strings.Join(list, "; "))
	}
	own := func(s *Side) [][]result.Doubt {
		return mapped(s.loads, func(f *LoadFigures) []result.Doubt { return f.doubts })
	}
	return append(all, doubts{own(a), own(b)}.count()...)
}

const differentPlans = "different-plans"

// doubtOf returns the id of the doubt that a fact which differs raises.
func doubtOf(fact string) string {
	if _, of, ofLoad := strings.Cut(fact, ": "); ofLoad {
		fact = of
	}
	switch {
	case fact == "kt" || fact == "cluster.broker_version":
		return "different-versions"
	case besideLoad(fact):
		return "different-hosts"
	case strings.HasPrefix(fact, "plan.payload."):
		return "different-payloads"
	}
	return differentPlans
}

// besideLoad reports whether a fact is of the environment of a load, and not of the load.
func besideLoad(fact string) bool {
	of, _, _ := strings.Cut(fact, ".")
	return slices.Contains([]string{"kt", "host", "clock", "cluster", tuned}, of)
}
