package driver

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// shareNews are what share groups were like when they were looked at last, and the events of it.
type shareNews struct {
	events engine.Events
	now    func() time.Duration // nil before the load
	over   atomic.Bool          // the load is over: its members leave
	ended  func() bool          // the same, from its end on
	again  atomic.Int64         // deliveries that were not the first, without those that a release explains

	mu       sync.Mutex // guards the rest
	looks    int
	told     int64
	members  map[int]map[string]string // by group, as kafka.Cluster.ShareMembers has them
	settings map[int]map[string]string // the same, as kafka.Cluster.GroupSettings has them
}

const (
	rarely    = 5 // looks, of a second each, between those at settings and at records that came again
	ofBrokers = "that of the brokers"
)

// Start begins to look at the groups.
func (d *Share) Start(ctx context.Context, now func() time.Duration) {
	d.news.now, d.news.ended = now, func() bool { return ctx.Err() != nil }
	context.AfterFunc(ctx, func() { d.news.over.Store(true) })
	d.Arrivals.Start(ctx, now)
}

func (d *Share) tell(kind stats.EventKind, format string, args ...any) {
	if d.news.now != nil && !d.news.over.Load() {
		d.news.events.Add(stats.Event{At: d.news.now(), Kind: kind, Broker: -1, To: -1, Text: fmt.Sprintf(format, args...)})
	}
}

// look finds out what has changed in a group since the last look, and whether it has members of others.
func (d *Share) look(ctx context.Context, group int) {
	d.news.mu.Lock()
	defer d.news.mu.Unlock()
	n, name, own := &d.news, d.Groups[group].Name, max(d.Plan.Read.Consumers, d.Plan.Share.Consumers)
	if n.members == nil {
		n.members, n.settings = make(map[int]map[string]string), make(map[int]map[string]string)
	}
	before, found := n.members[group], d.Cluster.ShareMembers(ctx, name)
	without := func(a, b map[string]string) string {
		a = maps.Clone(a)
		maps.DeleteFunc(a, func(id, _ string) bool { return b[id] != "" })
		return kafka.Some(slices.Sorted(maps.Values(a)))
	}
	if d.others.Store(d.others.Load() || len(found) > own); len(found) > 0 {
		if gone := without(before, found); gone != "" {
			d.tell(stats.MemberGone, "share group %s has lost members: %s", name, gone)
		}
		if fresh := without(found, before); fresh != "" && len(found) > max(own, len(before)) {
			d.tell(stats.OtherMembers, "share group %s has %s more than this load makes: of %s, or they were killed less than %d s ago (the session timeout)", name,
				theme.Plural(len(found)-own, "member", "members"), fresh, d.Groups[group].Session/1000)
		}
		n.members[group] = found
	}
	if group > 0 {
		return
	}
	if n.looks++; n.looks%rarely != 1 {
		return
	}
	if again := n.again.Load(); again > n.told && own == d.Plan.Read.Consumers { // of a load of several, another one may have released them
		before := map[bool]string{false: ", or they are from before this run"}[d.Groups[0].Made]
		d.tell(stats.LocksExpired, "%s again that kt had not released: their locks ran out, or other members had them%s", theme.Plural(again-n.told, "record came", "records came"), before)
		n.told = again
	}
	for i := range d.Groups {
		settings, err := d.Cluster.GroupSettings(ctx, d.Groups[i].Name)
		if err != nil {
			continue
		}
		all := maps.Clone(settings)
		if maps.Copy(all, n.settings[i]); n.settings[i] == nil {
			clear(all)
		}
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if was, is := cmp.Or(n.settings[i][key], ofBrokers), cmp.Or(settings[key], ofBrokers); was != is {
				d.tell(stats.GroupChanged, "%s of share group %s was %s, and is %s now", key, d.Groups[i].Name, was, is)
				d.forgotten.Store(d.forgotten.Load() || key == kafka.StartSetting && d.Groups[i].Made && is == ofBrokers) // kt has set it
			}
		}
		n.settings[i] = settings
	}
}
