package pulsar

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/engine"
)

// throttles looks for limits of publishing, which brokers count once a second, and for those of dispatching, which they do not.
func (w *watcher) throttles(ctx context.Context, all []*partitionStats) {
	s, before, why := w.session, w.before, [2]string{}
	w.before = all
	for i, p := range all {
		if i >= len(before) || p == nil || before[i] == nil { // the topic may have got partitions
			continue
		}
		if n := p.PublishRateLimitedTimes; n > 0 && n != before[i].PublishRateLimitedTimes && why[0] == "" {
			why[0] = cmp.Or(s.policy(ctx, "/admin/v2/namespaces/"+s.namespace+"/publishRate"), "Pulsar limits the rate of publishing")
		}
		for _, name := range s.subscriptions {
			if why[1] == "" && p.waits(before[i], name) {
				why[1] = cmp.Or(s.policy(ctx, s.path()+"/dispatchRate?applied=true"), s.policy(ctx, s.path()+"/subscriptionDispatchRate?applied=true"))
			}
		}
	}
	for i, clients := range [][]*engine.Shard{s.writers, s.readers} {
		if now := time.Now(); why[i] != "" || now.After(w.until[i]) {
			w.why[i], w.until[i] = why[i], now.Add(2*time.Second)
		}
		for _, c := range clients {
			c.LookThrottled(0, w.why[i])
		}
	}
}

// waits reports whether a reader waits although a subscription has more than came since the last look, which may not be acknowledged.
func (p *partitionStats) waits(before *partitionStats, subscription string) (waits bool) {
	s := p.Subscriptions[subscription]
	for _, c := range s.Consumers {
		waits = waits || c.AvailablePermits > 0
	}
	return waits && p.backlog(subscription) > s.MsgOutCounter-before.Subscriptions[subscription].MsgOutCounter
}

// policy returns a clause on a policy that limits a rate; "": it limits none.
func (s *session) policy(ctx context.Context, path string) string {
	var p map[string]any
	_ = s.admin.get(ctx, path, &p) // else nothing is known of it
	for _, key := range slices.Sorted(maps.Keys(p)) {
		if n, _ := p[key].(float64); n > 0 && strings.Contains(key, "ThrottlingRate") {
			return fmt.Sprintf("Pulsar's policy %s=%g", key, n)
		}
	}
	return ""
}
