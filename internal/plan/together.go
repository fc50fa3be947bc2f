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
	plans = withTopic(plans)
	if tile(plans) {
		whole = plans[0].Whole()
		whole.Topic.Delete = slices.ContainsFunc(plans, func(p Plan) bool { return p.Topic.Delete })
		return whole, nil, true
	}
	var writers, readers []Plan
	for _, p := range plans {
		p = p.alone()
		if p.Writes() {
			writers = append(writers, p)
		}
		if p.Reads() {
			readers = append(readers, p)
		}
	}
	clients := Plan{Command: commandOf(plans), Engine: plans[0].Engine, Load: Load{Arrivals: plans[0].Load.Arrivals}, Read: readTogether(readers)}
	for _, p := range writers {
		clients.Producers += p.Producers
	}
	if !sameTopic(plans) {
		clients.Read = Read{Consumers: clients.Read.Consumers, Commit: clients.Read.Commit}
		if slices.ContainsFunc(plans, func(p Plan) bool { return p.Engine == Wire }) {
			clients.Engine = Wire
		}
		return clients, nil, false
	}
	paced := writers // whose rate and records count
	if len(writers) == 0 {
		paced = readers
	}
	if len(paced) == 0 {
		return plans[0], nil, true
	}
	whole = paced[0]
	whole.Command, whole.Producers, whole.Read = clients.Command, clients.Producers, clients.Read
	whole.Topic.Delete, whole.Verify = false, false
	for _, p := range plans {
		whole.Topic.Delete = whole.Topic.Delete || p.Topic.Delete
		whole.Verify = whole.Verify || p.Verify
	}
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

// sameTopic reports whether all plans that name a topic name the same one.
func sameTopic(plans []Plan) bool {
	name := ""
	for _, p := range plans {
		if name != "" && p.Topic.Name != "" && p.Topic.Name != name {
			return false
		}
		name = cmp.Or(name, p.Topic.Name)
	}
	return true
}

// withTopic gives the settings of the topic to the plans that have none: only the process
// that makes it gets them.
func withTopic(plans []Plan) []Plan {
	has := func(p Plan) bool { return len(p.Topic.Configs) > 0 }
	i := slices.IndexFunc(plans, has)
	if i < 0 {
		return plans
	}
	out := slices.Clone(plans)
	for k := range out {
		if !has(out[k]) {
			out[k].Topic.Configs = plans[i].Topic.Configs
		}
	}
	return out
}

// tile reports whether shares make up one load, each part of it once.
func tile(plans []Plan) bool {
	whole := plans[0].Whole()
	whole.Topic.Delete = false // only the process that makes the topic deletes it
	slots := make(map[int]bool)
	var producers, consumers [][2]int // first of each share, and how many
	for _, p := range plans {
		s, w := p.Share, p.Whole()
		w.Topic.Delete = false
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

// alone returns a load of the same size as this share, of nobody else's.
func (p Plan) alone() Plan {
	if p.Share.IsZero() {
		return p
	}
	first, own, all := p.shards()
	part := p.Part()
	sum := func(total int64) (n int64) {
		for i := 0; i < own && total > 0; i++ {
			n += shareOf(total, first+i, all)
		}
		return n
	}
	p.Load.Rate = p.Load.Rate.Times(part)
	p.Load.Records, p.Load.Warmup.Records = sum(p.Load.Records), sum(p.Load.Warmup.Records)
	p.Share = Share{}
	return p
}

func commandOf(plans []Plan) Command {
	for _, p := range plans {
		if p.Command != plans[0].Command {
			return MixedLoad
		}
	}
	return plans[0].Command
}

// readTogether reads as all of them. Groups of one name share the partitions out among
// all their consumers; other groups are counted as so many consumers.
func readTogether(plans []Plan) Read {
	if len(plans) == 0 {
		return Read{}
	}
	r := plans[0].Read
	same := !slices.ContainsFunc(plans, func(p Plan) bool { return p.Read.Group != r.Group || p.Read.Groups != r.Groups })
	if !same {
		r.Group, r.Groups = "", 0
	}
	r.Consumers = 0
	for _, p := range plans {
		if same {
			r.Consumers += p.Read.Consumers
		} else {
			r.Consumers += p.Read.Clients()
		}
	}
	return r
}

// addUp makes the load that of several plans: without a rate, or a number of records,
// that one of them lacks.
func (l *Load) addUp(plans []Plan) {
	bytes := !slices.ContainsFunc(plans, func(p Plan) bool { return !p.Load.Rate.Bytes })
	l.Records, l.Warmup.Records = 0, 0
	for i, p := range plans {
		rate := p.Load.Rate
		if !bytes && rate.Bytes {
			rate = rate.Times(rate.RecordsPerSecond(p.Payload.MeanBytes()) / rate.PerSecond)
		}
		if i == 0 {
			l.Rate = rate
		} else {
			l.Rate = l.Rate.plus(rate)
		}
		l.Rate.Bytes = bytes
		l.Records += p.Load.Records
		l.Warmup.Records += p.Load.Warmup.Records
	}
	for _, p := range plans {
		if p.Load.Rate.IsUnlimited() {
			l.Rate = Unlimited
		}
		if p.Load.Records == 0 {
			l.Records = 0
		}
	}
}

// differences adds the names of the fields in which plans are not all the same, but for
// those that add up and those that need not be. clear empties what says nothing of them.
func differences(fields map[string]bool, plans []Plan, clear func(*Plan)) {
	var first map[string]string
	for _, p := range plans {
		rate := p.Load.Rate
		clear(&p)
		p.Command, p.Producers, p.Read.Consumers, p.Seed, p.Topic.Delete = "", 0, 0, 0, false
		p.Load.Rate, p.Load.Warmup.Records = Unlimited, 0
		p.Load.Records = min(p.Load.Records, 1) // a number, or none
		flat := flatten(p)
		if !rate.IsUnlimited() {
			flat["load.rate"] = fmt.Sprint("a target, with stages: ", len(rate.Stages) > 0)
		}
		if first == nil {
			first = flat
			continue
		}
		for name := range flat {
			if first[name] != flat[name] {
				fields[name] = true
			}
		}
		for name := range first {
			if first[name] != flat[name] {
				fields[name] = true
			}
		}
	}
}

// flatten returns the plan's document as values by the names of their fields: "load.rate".
func flatten(p Plan) map[string]string {
	text, err := json.Marshal(p)
	if err != nil { // a number that JSON has not: no plan that was read or validated has one
		return map[string]string{"plan": err.Error()}
	}
	flat := make(map[string]string)
	var walk func(prefix string, text json.RawMessage)
	walk = func(prefix string, text json.RawMessage) {
		var object map[string]json.RawMessage
		if !bytes.HasPrefix(text, []byte("{")) || json.Unmarshal(text, &object) != nil {
			flat[strings.TrimPrefix(prefix, ".")] = string(text)
			return
		}
		for name, value := range object {
			walk(prefix+"."+name, value)
		}
	}
	walk("", text)
	return flat
}
