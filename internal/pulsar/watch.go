package pulsar

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

type watcher struct {
	engine.Events
	session *session

	// Of the loop alone.
	gone    []bool            // by broker
	there   []bool            // by topic, at the last answer about it
	counted []int64           // messages that came in, by partition
	before  []*partitionStats // at the last answer
	why     [2]string         // why publishing and dispatching are throttled; "": they are not
	until   [2]time.Time      // why holds that long, because Pulsar counts less often than kt looks
}

var _ engine.Source = (*watcher)(nil)

const (
	watchInterval = 500 * time.Millisecond
	watchTimeout  = 4 * time.Second // a busy broker may be late
)

func newWatcher(s *session) *watcher {
	return &watcher{Events: engine.Events{Off: !s.options.Watch}, session: s, gone: make([]bool, len(s.watched)), there: make([]bool, len(s.topics.All)), counted: make([]int64, s.topics.Count())}
}

// Start begins to ask, until ctx ends.
func (w *watcher) Start(ctx context.Context, now func() time.Duration) {
	w.Go(func() { engine.Every(ctx, watchInterval, func() { w.look(ctx, now) }) })
}

func (w *watcher) look(ctx context.Context, now func() time.Duration) {
	asking, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	active, err := w.session.admin.brokers(asking)
	if ctx.Err() != nil {
		return
	}
	w.hear(active, err, now())
	all, errs := w.session.stats(asking)
	w.seek(errs, now())
	if cmp.Or(errs...) == nil {
		w.compare(all, now())
		w.throttles(asking, all)
	}
}

// seek notes by the answers about the topics whether they are there. One that was never seen is not gone.
func (w *watcher) seek(errs []error, at time.Duration) {
	for i, err := range errs {
		t := &w.session.topics.All[i]
		if err == nil {
			w.there[i] = true
		}
		if !w.there[i] || queue.Status(err) != http.StatusNotFound {
			continue
		}
		w.there[i] = false
		w.Add(stats.Event{At: at, Kind: stats.LeaderLost, Broker: -1, To: -1, Count: t.Partitions, Text: fmt.Sprintf("topic %s is gone: the admin API does not find it", t.Name)})
	}
}

// hear notes which brokers are there. One that does not answer is gone, and says nothing of the others.
func (w *watcher) hear(active []string, err error, at time.Duration) {
	_, api, _ := strings.Cut(w.session.admin.Base, "://")
	for i, addr := range w.session.watched {
		gone := !slices.Contains(active, addr)
		if err != nil {
			gone = w.gone[i] || queue.Status(err) == 0 && (len(w.session.watched) == 1 || hostOf(addr) == hostOf(api))
		}
		if gone == w.gone[i] {
			continue
		}
		w.gone[i] = gone
		kind, text := stats.BrokerBack, "is back"
		if gone {
			clear(w.counted) // what it had loaded is loaded again, which needs no event of its own
			kind, text = stats.BrokerGone, "is not among the active ones"
		}
		if gone && err != nil {
			text = "does not answer: " + queue.Cause(err).Error()
		}
		w.Add(stats.Event{At: at, Kind: kind, Broker: int32(i), To: -1, Text: fmt.Sprintf("broker %s %s", addr, text)})
	}
}

// compare finds partitions that were unloaded: their counters began anew.
func (w *watcher) compare(all []*partitionStats, at time.Duration) {
	if n := len(all) - len(w.counted); n > 0 {
		w.counted = append(w.counted, make([]int64, n)...)
		does := map[bool]string{true: "kt reads from the start", false: "this run does not use: the next one does"}[w.session.plan.Reads() && w.session.isWhole()]
		text := theme.Plural(n, "partition was", "partitions were") + " added, which " + does
		w.Add(stats.Event{At: at, Kind: stats.PartitionsAdded, Broker: -1, To: -1, Count: n, Text: text})
	}
	var anew []int32
	for i, p := range all {
		if p == nil {
			continue // nobody has loaded it yet
		}
		if p.MsgInCounter < w.counted[i] {
			anew = append(anew, int32(i))
		}
		w.counted[i] = p.MsgInCounter
	}
	if len(anew) > 0 {
		w.Add(stats.Event{
			At: at, Kind: stats.BundleUnloaded, Broker: -1, To: -1, Count: len(anew), Partitions: anew[:min(len(anew), stats.MaxEventPartitions)],
			Text: fmt.Sprintf("%d of %d partitions were unloaded and loaded again", len(anew), len(all)),
		})
	}
}

// throttles looks for limits of publishing, which brokers count once a second, and for those of dispatching, which they do not.
func (w *watcher) throttles(ctx context.Context, all []*partitionStats) {
	s, why := w.session, [2]string{}
	var waits *result.Topic                       // one of whose readers waits
	for i := range min(len(w.before), len(all)) { // of partitions that were added there is no look before
		p, before := all[i], w.before[i]
		if p == nil || before == nil {
			continue
		}
		if n := p.PublishRateLimitedTimes; n > 0 && n != before.PublishRateLimitedTimes && why[0] == "" {
			why[0] = cmp.Or(s.policy(ctx, "/admin/v2/namespaces/"+s.namespace+"/publishRate"), "Pulsar limits the rate of publishing")
		}
		for _, name := range s.subscriptions {
			if topic, _ := s.topics.Place(int32(i)); waits == nil && p.waits(before, name) {
				waits = &s.topics.All[topic]
			}
		}
	}
	if w.before = all; waits != nil {
		why[1] = cmp.Or(s.policy(ctx, s.path(waits)+"/dispatchRate?applied=true"), s.policy(ctx, s.path(waits)+"/subscriptionDispatchRate?applied=true"))
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

// waits reports whether a reader waits although a subscription has more than was sent to it since the last look.
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
	_ = s.admin.Get(ctx, path, &p) // else nothing is known of it
	for _, key := range slices.Sorted(maps.Keys(p)) {
		rate, _ := p[key].(json.Number)
		if n, _ := rate.Float64(); n > 0 && strings.Contains(key, "ThrottlingRate") {
			return fmt.Sprintf("Pulsar's policy %s=%s", key, rate)
		}
	}
	return ""
}
