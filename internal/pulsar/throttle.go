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
	s, why, waits := w.session, [2]string{}, false
	for i := range min(len(w.before), len(all)) { // of partitions that were added there is no look before
		p, before := all[i], w.before[i]
		if p == nil || before == nil {
			continue
		}
		if n := p.PublishRateLimitedTimes; n > 0 && n != before.PublishRateLimitedTimes && why[0] == "" {
			why[0] = cmp.Or(s.policy(ctx, "/admin/v2/namespaces/"+s.namespace+"/publishRate"), "Pulsar limits the rate of publishing")
		}
		for _, name := range s.subscriptions {
			waits = waits || p.waits(before, name)
		}
	}
	if w.before = all; waits {
		why[1] = cmp.Or(s.policy(ctx, s.path()+"/dispatchRate?applied=true"), s.policy(ctx, s.path()+"/subscriptionDispatchRate?applied=true"))
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

// waits reports whether a reader waits although a subscription has more than was sent to it since the last look. What was sent may not
// be acknowledged yet.
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
