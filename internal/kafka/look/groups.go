package look

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/capture"
	"github.com/kt-bench/kt/internal/kafka"
)

// leastWatch is how long kt looks at groups: consumers commit every 5 s unless they are told otherwise, and two commits tell a rate.
// oftenWatch is the time between two looks, which is longer where one takes long.
const leastWatch, oftenWatch = 11 * time.Second, 100 * time.Millisecond

type group struct {
	capture.Group
	of map[*partition]*commits
}

// commits are the changes of a group's offset in a partition.
type commits struct {
	begun, first, last mark // when kt began to look, and behind the first and the last change
	changes            int
	lag                int64 // as the brokers tell it; -1: they do not
}

type mark struct {
	offset int64
	at     time.Time
}

// findGroups finds the groups with their members, and what those read.
func (v *view) findGroups(ctx context.Context) {
	listed, err := kmsg.NewPtrListGroupsRequest().RequestWith(ctx, v.client)
	if err == nil {
		err = kerr.ErrorForCode(listed.ErrorCode)
	}
	if err != nil {
		v.notes = append(v.notes, "not all groups could be listed ("+inWords(err)+")")
		if listed == nil {
			return
		}
	}
	for _, g := range listed.Groups {
		if !strings.HasPrefix(g.Group, own) {
			kind := cmp.Or(strings.ToLower(g.GroupType), "classic")
			v.groups[g.Group] = &group{Group: capture.Group{Name: g.Group, Protocol: kind}, of: make(map[*partition]*commits)}
		}
	}
	if len(v.groups) == 0 && err == nil {
		v.notes = append(v.notes, "no group was seen: there is none, or this client may not see them")
		v.say(v.notes[len(v.notes)-1])
	}
	describe := func(kind, name string, members int, err error, topics []string) {
		g := v.groups[name]
		if g == nil || g.Protocol != kind { // without names all groups are asked for
			return
		}
		if g.Members, g.Topics = members, topics; err != nil {
			g.note("its members may not be seen (" + inWords(err) + ")")
		}
	}
	classic, _ := v.admin.DescribeGroups(ctx, v.named("classic")...) // a group has its own error
	for name, d := range classic {
		describe("classic", name, len(d.Members), d.Err, append(d.AssignedPartitions().Topics(), d.JoinTopics()...))
	}
	consumer, _ := v.admin.DescribeConsumerGroups(ctx, v.named("consumer")...)
	for name, d := range consumer {
		describe("consumer", name, len(d.Members), d.Err, append(d.AssignedPartitions().Topics(), d.SubscribedTopics()...))
	}
	share, _ := v.admin.DescribeShareGroups(ctx, v.named("share")...)
	for name, d := range share {
		describe("share", name, len(d.Members), d.Err, d.SubscribedTopics())
	}
}

func (g *group) note(text string) { g.Notes = append(g.Notes, text) }

// named returns the names of the groups with one of these protocols, sorted.
func (v *view) named(protocols ...string) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(v.groups)) {
		if slices.Contains(protocols, v.groups[name].Protocol) {
			names = append(names, name)
		}
	}
	return names
}

// watch looks at the offsets of groups until ctx ends.
func (v *view) watch(ctx context.Context) {
	committing, share := v.named("classic", "consumer", "streams"), v.named("share")
	for more := len(v.groups) > 0; more; {
		began := time.Now()
		for name, answer := range v.admin.FetchManyOffsets(ctx, committing...) {
			answer.Fetched.Each(func(o kadm.OffsetResponse) { v.see(name, o.Topic, o.Partition, o.At, -1, o.Err) })
		}
		if len(share) > 0 {
			described, _ := v.admin.DescribeShareGroupOffsets(ctx, share...)
			for name, answer := range described {
				for topic, of := range answer.Offsets {
					for id, o := range of {
						v.see(name, topic, id, o.StartOffset, o.Lag, o.Err)
					}
				}
			}
		}
		more = kafka.Pause(ctx, max(oftenWatch, min(time.Second, 3*time.Since(began))))
	}
}

func (v *view) see(name, topic string, id int32, offset, lag int64, err error) {
	g, p := v.groups[name], v.partition(topic, id)
	if p == nil || err != nil || offset < 0 {
		return
	}
	now := mark{offset, time.Now()}
	c := g.of[p]
	if c == nil {
		c = &commits{begun: now, last: now}
		g.of[p] = c
	}
	if c.lag = lag; offset != c.last.offset {
		if c.last = now; c.changes == 0 {
			c.first = now
		}
		c.changes++
	}
}

// settleGroups makes the figures of what was seen.
func (v *view) settleGroups() (all []capture.Group) {
	for _, name := range slices.Sorted(maps.Keys(v.groups)) {
		g := v.groups[name]
		var every []time.Duration
		for p, c := range g.of {
			g.Written += p.grown * p.topic.data()
			if g.Members == 0 {
				g.Topics = append(g.Topics, p.topic.Name)
			}
			if c.changes > 1 {
				every = append(every, c.last.at.Sub(c.first.at)/time.Duration(c.changes-1))
			}
			from, over, whole := c.first, c.last.at.Sub(c.first.at), max(leastWatch, v.Live)
			if c.changes < 2 || whole-over > 3*every[len(every)-1] { // it read others of its partitions before or since
				from, over = c.begun, whole
			}
			g.Rate += max(0, float64(c.last.offset-from.offset)/over.Seconds()*p.topic.data())
			if c.lag < 0 { // from the end of the log at its last commit: what was read since is no lag
				c.lag = p.end + int64(p.grown*c.last.at.Sub(p.at).Seconds()) - c.last.offset
			}
			g.Lag += max(0, c.lag)
		}
		if g.Rate > 0 && float64(g.Lag) < g.Written { // less than a second behind: it keeps up
			g.Rate = g.Written
		}
		slices.Sort(g.Topics)
		g.Topics = slices.DeleteFunc(slices.Compact(g.Topics), func(name string) bool { return v.byName[name] == nil })
		if slices.Sort(every); len(every) > 0 && g.Protocol != "share" {
			g.Commit = every[len(every)/2].Round(10 * time.Millisecond)
		}
		switch {
		case g.Members == 0 && g.Rate > 0:
			g.note("it has no members, but offsets are committed in its name: its consumers choose partitions by themselves")
		case g.Members == 0:
			g.note("it has no members")
		}
		all = append(all, g.Group)
	}
	return all
}
