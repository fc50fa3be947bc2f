package look

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/capture"
	"github.com/kt-bench/kt/internal/kafka"
)

// leastWatch is how long groups are watched at least: consumers commit every 5 s unless they are told otherwise, and two commits
// tell the rate. oftenWatch is the time between two looks, and longer where one takes long.
const leastWatch, oftenWatch = 11 * time.Second, 100 * time.Millisecond

// groups are those of the cluster, by name.
type groups map[string]*group

type group struct {
	capture.Group
	of   map[*partition]*commits
	last time.Time // of the last look
}

// commits are the changes of a group's offset in a partition.
type commits struct {
	begun, first, last mark // when kt began to look, and at the first and the last change
	changes            int
	lag                int64 // behind the last change, or behind the last look if there was none
	ends               [2]mark
}

// mark is an offset at a moment.
type mark struct {
	offset int64
	at     time.Time
}

func (m mark) to(later mark) (records, seconds float64) {
	return float64(later.offset - m.offset), later.at.Sub(m.at).Seconds()
}

// findGroups finds the groups with their members, and what they read.
func (v *view) findGroups(ctx context.Context) groups {
	all := make(groups)
	listed, err := kmsg.NewPtrListGroupsRequest().RequestWith(ctx, v.client)
	if err != nil {
		v.notes = append(v.notes, fmt.Sprintf("not all groups could be listed (%s)", cause(err)))
	}
	if listed == nil {
		return all
	}
	for _, g := range listed.Groups {
		if !strings.HasPrefix(g.Group, own) {
			kind := cmp.Or(strings.ToLower(g.GroupType), "classic")
			all[g.Group] = &group{Group: capture.Group{Name: g.Group, Protocol: kind}, of: make(map[*partition]*commits)}
			if g.ProtocolType != "" && g.ProtocolType != "consumer" && kind == "classic" {
				all[g.Group].note("it is no group of consumers, but of the protocol " + g.ProtocolType)
			}
		}
	}
	if names := all.named("classic"); len(names) > 0 {
		described, _ := v.admin.DescribeGroups(ctx, names...)
		for name, d := range described {
			all[name].describe(len(d.Members), d.Err, append(d.AssignedPartitions().Topics(), d.JoinTopics()...))
		}
	}
	if names := all.named("consumer"); len(names) > 0 {
		described, _ := v.admin.DescribeConsumerGroups(ctx, names...)
		for name, d := range described {
			var topics []string
			for _, m := range d.Members {
				topics = slices.Concat(topics, m.SubscribedTopics, m.Assignment.Topics())
			}
			all[name].describe(len(d.Members), d.Err, topics)
		}
	}
	if names := all.named("share"); len(names) > 0 {
		described, _ := v.admin.DescribeShareGroups(ctx, names...)
		for name, d := range described {
			var topics []string
			for _, m := range d.Members {
				topics = append(topics, m.SubscribedTopicNames...)
			}
			all[name].describe(len(d.Members), d.Err, topics)
		}
	}
	return all
}

func (g *group) note(text string) { g.Notes = append(g.Notes, text) }

func (g *group) describe(members int, err error, topics []string) {
	slices.Sort(topics)
	if g.Members, g.Topics = members, slices.Compact(topics); err != nil {
		g.note(fmt.Sprintf("its members may not be seen (%s)", cause(err)))
	}
}

func (gs groups) named(kind string) (names []string) {
	for name, g := range gs {
		if g.Protocol == kind || kind == "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// watch looks at the commits of groups, and at the ends of what they read, until ctx ends.
func (v *view) watch(ctx context.Context, all groups) {
	share := all.named("share")
	others := slices.DeleteFunc(all.named(""), func(name string) bool { return all[name].Protocol == "share" })
	for ctx.Err() == nil && len(all) > 0 {
		began := time.Now()
		offsets := make(map[*partition][]seen)
		if len(others) > 0 {
			for name, answer := range v.admin.FetchManyOffsets(ctx, others...) {
				answer.Fetched.Each(func(o kadm.OffsetResponse) {
					if p := v.partition(o.Topic, o.Partition); p != nil && o.Err == nil && o.At >= 0 {
						offsets[p] = append(offsets[p], seen{all[name], o.At, -1, time.Now()})
					}
				})
			}
		}
		if len(share) > 0 {
			described, _ := v.admin.DescribeShareGroupOffsets(ctx, share...)
			for name, answer := range described {
				for topic, of := range answer.Offsets {
					for id, o := range of {
						if p := v.partition(topic, id); p != nil && o.Err == nil && o.StartOffset >= 0 {
							offsets[p] = append(offsets[p], seen{all[name], o.StartOffset, o.Lag, time.Now()})
						}
					}
				}
			}
		}
		inParts(slices.SortedFunc(maps.Keys(offsets), func(a, b *partition) int {
			return cmp.Or(strings.Compare(a.topic.Name, b.topic.Name), cmp.Compare(a.id, b.id))
		}), func(some []*partition) {
			v.list(ctx, some, latest, func(p *partition, o point) {
				for _, s := range offsets[p] {
					s.group.see(p, s, mark{o.offset, time.Now()})
				}
			})
		})
		if !kafka.Pause(ctx, max(oftenWatch, 3*time.Since(began))) {
			return
		}
	}
}

// seen is the offset of a group in a partition.
type seen struct {
	group       *group
	offset, lag int64 // lag: -1: from the end of the log
	at          time.Time
}

func (g *group) see(p *partition, s seen, end mark) {
	c, now := g.of[p], mark{s.offset, s.at}
	if c == nil {
		c = &commits{begun: now, first: now, last: now, ends: [2]mark{end, end}}
		g.of[p] = c
	}
	changed := s.offset != c.last.offset
	if c.ends[1] = end; changed {
		if c.last = now; c.changes == 0 {
			c.first = now
		}
		c.changes++
	}
	if changed || c.changes == 0 {
		if c.lag = s.lag; c.lag < 0 {
			c.lag = max(0, end.offset-s.offset)
		}
	}
	g.last = now.at
}

// settle makes the figures of what was seen.
func (gs groups) settle(v *view) (all []capture.Group) {
	for _, name := range gs.named("") {
		g := gs[name]
		var every []time.Duration
		committed := make(map[string]bool)
		for p, c := range g.of {
			committed[p.topic.Name] = true
			g.Lag += c.lag
			switch records, over := c.first.to(c.last); {
			case c.changes > 1:
				g.Rate += max(0, records/over)
				every = append(every, time.Duration(over*float64(time.Second))/time.Duration(c.changes-1))
			case c.changes == 1:
				records, _ = c.begun.to(c.last)
				g.Rate += max(0, records/max(1, g.last.Sub(c.begun.at).Seconds()))
			}
			if records, over := c.ends[0].to(c.ends[1]); over > 0 {
				g.Written += max(0, records/over)
			}
		}
		if len(g.Topics) == 0 {
			g.Topics = slices.Sorted(maps.Keys(committed))
		}
		g.Topics = slices.DeleteFunc(g.Topics, func(name string) bool { return v.byName[name] == nil })
		if slices.Sort(every); len(every) > 0 && g.Protocol != "share" {
			g.Commit = every[len(every)/2].Round(10 * time.Millisecond)
		}
		switch {
		case g.Members == 0 && g.Rate > 0:
			g.note("offsets are committed in its name, though it has no members: its consumers choose partitions by themselves")
		case g.Members == 0:
			g.note("it has no members")
		}
		all = append(all, g.Group)
	}
	return all
}
