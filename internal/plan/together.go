package plan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// MixedLoad is the command of a load in which some processes write and others read. No
// process runs it; merged results do.
const MixedLoad Command = "mixed"

// Workload is the command of several unlike loads at once. No process runs it; the results of workloads have it.
const Workload Command = "run"

// Together returns the load that several plans make at the same time. Shares that make up a
// whole load are that load again. Of other plans the clients, rates and records add up,
// and the rest is that of the first one that writes, or reads; differ names the fields
// of the document in which others are not as that one. There is no rate when one of
// them has none. No plans are no load.
//
// ok is false for plans of several topics that are not shares of one load: nothing adds up then, and
// whole has only the command, the engine and the numbers of clients.
func Together(plans []Plan) (whole Plan, differ []string, ok bool) {
	if len(plans) == 0 {
		return Plan{}, nil, true
	}
	plans = withConfigs(plans)
	first := plans[0]
	deletes := slices.ContainsFunc(plans, func(p Plan) bool { return p.Topic.Delete })
	if tile(plans) {
		whole = first.Whole()
		whole.Topic.Delete = deletes
		return whole, nil, true
	}
	all := Plan{Command: first.Command, Engine: first.Engine, Load: Load{Arrivals: first.Load.Arrivals}}
	several, topic := false, ""
	var writers, readers []Plan
	for _, p := range plans {
		if p.Command != first.Command {
			all.Command = MixedLoad
		}
		several = several || topic != "" && p.Topic.Name != "" && p.Topic.Name != topic
		topic = cmp.Or(topic, p.Topic.Name)
		if !p.Share.IsZero() { // a load of the same size as this share, of nobody else's
			p.Load.Rate, p.Load.Records, p.Load.Warmup.Records = p.Load.Rate.Times(p.Part()), p.part(p.Load.Records), p.part(p.Load.Warmup.Records)
			p.Share = Share{}
		}
		if p.Writes() {
			writers = append(writers, p)
			all.Producers += p.Producers
		}
		if p.Reads() {
			readers = append(readers, p)
		}
	}
	all.Read = readTogether(readers)
	paced := writers // whose rate and records count
	if len(writers) == 0 {
		paced = readers
	}
	switch {
	case several:
		all.Read = Read{Consumers: all.Read.Consumers, Commit: all.Read.Commit}
		if slices.ContainsFunc(plans, func(p Plan) bool { return p.Engine == Wire }) {
			all.Engine = Wire
		}
		return all, nil, false
	case len(paced) == 0:
		return first, nil, true
	}
	whole = paced[0]
	whole.Command, whole.Producers, whole.Read, whole.Topic.Delete = all.Command, all.Producers, all.Read, deletes
	whole.Verify = slices.ContainsFunc(plans, func(p Plan) bool { return p.Verify })
	whole.Load.addUp(paced)
	fields := make(map[string]bool)
	differences(fields, writers, func(p *Plan) { p.Read = Read{} })
	differences(fields, readers, func(p *Plan) {
		p.Payload = Payload{}
		if len(writers) > 0 { // the writers hold the load of the readers too
			p.Load = Load{}
		}
	})
	return whole, slices.Sorted(maps.Keys(fields)), true
}

// withConfigs gives the settings of the topic to the plans that have none: only the process that makes it gets them.
func withConfigs(plans []Plan) []Plan {
	plans = slices.Clone(plans)
	if i := slices.IndexFunc(plans, func(p Plan) bool { return len(p.Topic.Configs) > 0 }); i >= 0 {
		for k := range plans {
			if len(plans[k].Topic.Configs) == 0 {
				plans[k].Topic.Configs = plans[i].Topic.Configs
			}
		}
	}
	return plans
}

// tile reports whether shares make up one load, each part of it once.
func tile(plans []Plan) bool {
	slots := make(map[int]bool)
	var whole Plan
	var producers, consumers [][2]int // first of each share, and how many
	for i, p := range plans {
		s, w := p.Share, p.Whole()
		w.Topic.Delete = false // only the process that makes the topic deletes it
		if i == 0 {
			whole = w
		}
		if s.IsZero() || s.Slots != plans[0].Share.Slots || !reflect.DeepEqual(w, whole) {
			return false
		}
		slots[s.Slot] = true
		producers = append(producers, [2]int{s.Producer, p.Producers})
		consumers = append(consumers, [2]int{s.Consumer, p.Read.Consumers})
	}
	if n := plans[0].Share.Slots; n > 0 && (n != len(plans) || n != len(slots)) {
		return false
	}
	return covers(producers, whole.Producers) && covers(consumers, whole.Read.Consumers)
}

// covers reports whether ranges make up the numbers from 0 to n, each of them once.
func covers(ranges [][2]int, n int) bool {
	slices.SortFunc(ranges, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	next := 0
	for _, r := range ranges {
		if r[1] > 0 && r[0] != next {
			return false
		}
		next += r[1]
	}
	return next == n
}

// readTogether reads as all of them. Of groups of several names it counts the consumers alone.
func readTogether(plans []Plan) (r Read) {
	if len(plans) == 0 {
		return r
	}
	r = plans[0].Read
	same := !slices.ContainsFunc(plans, func(p Plan) bool { return p.Read.Group != r.Group || p.Read.Groups != r.Groups })
	if !same {
		r.Group, r.Groups = "", 0
	}
	r.Consumers = 0
	for _, p := range plans {
		r.Consumers += map[bool]int{true: p.Read.Consumers, false: p.Read.Clients()}[same]
	}
	return r
}

// addUp makes the load that of several plans: without a rate, or a number of records, that one of them lacks.
func (l *Load) addUp(plans []Plan) {
	bytes := !slices.ContainsFunc(plans, func(p Plan) bool { return !p.Load.Rate.Bytes })
	l.Records, l.Warmup.Records = 0, 0
	for i, p := range plans {
		rate := p.Load.Rate
		if !bytes && rate.Bytes {
			rate = rate.Times(rate.RecordsPerSecond(p.Payload.MeanBytes()) / rate.PerSecond)
		}
		if i > 0 {
			rate = l.Rate.plus(rate)
		}
		l.Rate, l.Rate.Bytes = rate, bytes
		l.Records, l.Warmup.Records = l.Records+p.Load.Records, l.Warmup.Records+p.Load.Warmup.Records
	}
	if slices.ContainsFunc(plans, func(p Plan) bool { return p.Load.Rate.IsUnlimited() }) {
		l.Rate = Unlimited
	}
	if slices.ContainsFunc(plans, func(p Plan) bool { return p.Load.Records == 0 }) {
		l.Records = 0
	}
}

// differences adds the names of the fields in which plans differ, but for those that clear empties.
func differences(fields map[string]bool, plans []Plan, clear func(*Plan)) {
	var first map[string]string
	for _, p := range plans {
		rate := p.Load.Rate
		clear(&p)
		p.Command, p.Producers, p.Read.Consumers, p.Seed, p.Topic.Delete = "", 0, 0, 0, false
		p.Load.Rate, p.Load.Warmup.Records = Unlimited, 0
		p.Load.Records = min(p.Load.Records, 1) // a number, or none
		text, _ := json.Marshal(p)              // a plan that was read or validated has no number that JSON has not
		var document any
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		_ = d.Decode(&document)
		flat := make(map[string]string)
		flatten("", document, flat)
		if !rate.IsUnlimited() {
			flat["load.rate"] = fmt.Sprint("a target, with stages: ", len(rate.Stages) > 0)
		}
		if first == nil {
			first = flat
		}
		for _, one := range []map[string]string{first, flat} {
			for name := range one {
				if first[name] != flat[name] {
					fields[name] = true
				}
			}
		}
	}
}

// flatten adds the values of a document by the names of their fields: "load.rate".
func flatten(name string, v any, flat map[string]string) {
	object, ok := v.(map[string]any)
	for field, value := range object {
		flatten(strings.TrimPrefix(name+"."+field, "."), value, flat)
	}
	if !ok {
		flat[name] = fmt.Sprintf("%q", v)
	}
}
