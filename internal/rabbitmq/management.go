package rabbitmq

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/secret"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

type management struct {
	queue.API
	system *System
	urls   []string          // of the nodes
	own    map[string]string // the same, by node
	at     int               // the one that answered last
}

// managementTimeout is how long an answer may take, and allTimeout those of the nodes that are asked one after the other.
const (
	managementTimeout = 3 * time.Second
	allTimeout        = 3 * managementTimeout
)

func (s *System) newManagement() *management {
	logIn := func(r *http.Request) { r.SetBasicAuth(s.user, s.Password.Reveal()) }
	return &management{API: s.NewAPI("", managementTimeout, logIn, secret.Stay), system: s, urls: []string{s.admin}, own: make(map[string]string)}
}

// unanswered returns what an error of the API means, and what to do.
func (m *management) unanswered(err error) (text, do string) {
	if code := queue.Status(err); code == http.StatusUnauthorized || code == http.StatusForbidden { // the same of a wrong password and of missing rights
		return "the management API gives no answer", fmt.Sprintf("user %s needs the right password (url.password in the file of --command-config) and the tag monitoring (rabbitmqctl set_user_tags)", m.system.user)
	}
	return "the management API does not answer", "?admin=http://HOST:PORT behind --url says where it is"
}

// get asks for what is at a path, the node that answered last first.
func (m *management) get(ctx context.Context, path string, into any) (err error) {
	ctx, cancel := context.WithTimeout(ctx, allTimeout)
	defer cancel()
	for range m.urls {
		if err = m.Get(ctx, m.urls[m.at]+"/api/"+path, into); err == nil || ctx.Err() != nil {
			return err
		}
		m.at = (m.at + 1) % len(m.urls)
	}
	return err
}

// describe completes a cluster with its nodes, whose names are their racks. It notes where they and their APIs listen.
func (m *management) describe(ctx context.Context, c *result.Cluster) error {
	var overview struct {
		Listeners []struct {
			Node, Protocol string
			IP             string `json:"ip_address"`
			Port           int
		}
	}
	if err := m.get(ctx, "overview", &overview); err != nil {
		return err
	}
	running, err := m.nodes(ctx)
	if err != nil {
		return err
	}
	if err := result.CheckBrokers(len(running)); err != nil {
		return err
	}
	amqp, http := "amqp", "http"
	if m.system.tls {
		amqp, http = "amqp/ssl", "https"
	}
	at := make(map[string]string) // by node
	for _, l := range overview.Listeners {
		host := l.IP
		if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
			_, host, _ = strings.Cut(l.Node, "@")
		}
		host = net.JoinHostPort(theme.Name(host), strconv.Itoa(l.Port))
		switch url := http + "://" + host; l.Protocol {
		case amqp:
			at[l.Node] = host
		case http:
			if m.own[l.Node] = url; !slices.Contains(m.urls, url) {
				m.urls = append(m.urls, url)
			}
		default:
			continue
		}
		m.system.Bound.Learn(host) // one that has logged kt in says so
	}
	for _, name := range slices.Sorted(maps.Keys(running)) {
		if len(running) == 1 {
			m.own[name] = m.urls[0] // it may be known by another address here
		}
		c.Brokers = append(c.Brokers, result.Broker{ID: int32(len(c.Brokers) + 1), Rack: theme.Name(name), Addr: at[name]})
	}
	return nil
}

// nodes returns which nodes run.
func (m *management) nodes(ctx context.Context) (map[string]bool, error) {
	var all []struct {
		Name    string
		Running bool
	}
	err := m.get(ctx, "nodes?columns=name,running", &all)
	running := make(map[string]bool)
	for _, n := range all {
		running[n.Name] = n.Running
	}
	return running, err
}

// perPage is how many queues an answer has at most. Names of topics are looked for in the first one alone.
const perPage = 500

// page asks for queues whose names match, and returns how many pages there are.
func (m *management) page(ctx context.Context, number int, names, columns string, items any) (pages int, err error) {
	answer := struct {
		Pages int `json:"page_count"`
		Items any
	}{Items: items}
	err = m.get(ctx, fmt.Sprintf("queues/%s?page=%d&page_size=%d&use_regex=true&name=%s&columns=%s", url.PathEscape(m.system.vhost), number, perPage, url.QueryEscape(names), columns), &answer)
	return answer.Pages, err
}

// Topics returns the names of the topics that have a queue, as the management API lists them.
func (s *System) Topics(ctx context.Context) (topics []string) {
	var first []struct{ Name string }
	_, _ = s.newManagement().page(ctx, 1, ".-0$", "name", &first) // names for completion: without an answer there are none
	for _, q := range first {
		topics = append(topics, strings.TrimSuffix(q.Name, "-0"))
	}
	return topics
}

// found is what the management API says of all queues.
type found struct {
	leaders map[int32]int32   // the nodes, by queue
	configs map[string]string // arguments and policies, as those of topics
	more    int               // queues behind those of the topics
}

// describeQueues completes topics with the members, leaders and arguments of their queues. Queues that kt cannot use
// are a *result.MisfitError.
func (m *management) describeQueues(ctx context.Context, l *queue.Layout, nodes []result.Broker) (all found, err error) {
	all = found{leaders: make(map[int32]int32), configs: make(map[string]string)}
	prefix, rest := l.All[0].Name, map[bool]string{true: ".*"}[len(l.All) > 1]
	for i := range l.All {
		for !strings.HasPrefix(l.All[i].Name, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	for at, pages := 1, 1; at <= min(pages, plan.MaxPartitions/perPage); at++ {
		var queues []struct {
			Name, Type, Node, Leader string
			Members                  []string
			Arguments                map[string]any
			Policy                   any `json:"effective_policy_definition"`
		}
		pages, err = m.page(ctx, at, "^"+regexp.QuoteMeta(prefix)+rest+"-[0-9]+$", "name,type,node,leader,members,arguments,effective_policy_definition", &queues)
		if err != nil {
			return all, err
		}
		for _, q := range queues {
			at := strings.LastIndexByte(q.Name, '-')
			id, err := strconv.ParseUint(q.Name[at+1:], 10, 31)
			number := l.Number(q.Name[:max(0, at)], int(id))
			switch kind := strings.TrimSuffix(strings.TrimPrefix(q.Type, "rabbit_"), "_queue"); {
			case number < 0 || err != nil:
				continue // kt does not use it
			case int(number) >= l.Count():
				all.more++
				continue
			case kind != "" && !slices.Contains(queueTypes, kind):
				return all, result.Misfit("queue %s is of type %s: kt uses queues of the types %s; name another --topic", q.Name, kind, strings.Join(queueTypes, " and "))
			}
			i, _ := l.Place(number)
			t, leader := &l.All[i], cmp.Or(q.Leader, q.Node) // of a classic queue
			if n := slices.IndexFunc(nodes, func(b result.Broker) bool { return b.Rack == leader }); n >= 0 {
				t.Leaders[int32(id)], all.leaders[number] = nodes[n].ID, nodes[n].ID
			}
			t.ReplicationFactor = max(t.ReplicationFactor, len(q.Members), 1) // a classic queue names none
			policy, _ := q.Policy.(map[string]any)                            // without one, versions differ in what they say
			for _, settings := range []map[string]any{q.Arguments, policy} {
				for k, v := range settings {
					t.Configs[k], all.configs[k] = fmt.Sprint(v), fmt.Sprint(v)
				}
			}
		}
	}
	return all, nil
}

// checkExchange returns a *result.MisfitError of an exchange that is not a direct one for publishers, nil without an answer.
func (m *management) checkExchange(ctx context.Context, name string) error {
	var x struct {
		Type     string
		Internal bool
	}
	err := m.get(ctx, "exchanges/"+url.PathEscape(m.system.vhost)+"/"+url.PathEscape(name), &x)
	if err == nil && (x.Type != amqp.ExchangeDirect || x.Internal) {
		return result.Misfit("exchange %s is of type %s (internal: %t): kt publishes to direct ones that are not internal; name another --topic", name, x.Type, x.Internal)
	}
	return nil
}

// flowing returns the ports of clients whose connection, or a channel of it, credit flow holds back.
func (m *management) flowing(ctx context.Context) map[string]bool {
	ports := make(map[string]bool)
	for _, path := range []string{"connections?columns=state,peer_port", "channels?columns=state,connection_details.peer_port"} {
		var all []struct {
			State   string
			Port    int            `json:"peer_port"`
			Details map[string]int `json:"connection_details"`
		}
		_ = m.get(ctx, "vhosts/"+url.PathEscape(m.system.vhost)+"/"+path, &all) // else none is known
		for _, c := range all {
			if c.State == "flow" {
				ports[strconv.Itoa(cmp.Or(c.Port, c.Details["peer_port"]))] = true
			}
		}
	}
	return ports
}

const watchEvery = time.Second

// watcher asks the management API for nodes that are gone and for leaders of queues that moved.
type watcher struct {
	*session
	engine.Events
	down    map[int32]bool  // by node
	heard   map[int32]bool  // the same: its own API has answered
	leaders map[int32]int32 // by partition
	loses   string          // how queues lose messages that nothing reports; empty if they do not
}

var _ engine.Source = (*watcher)(nil)

// Start begins to look.
func (w *watcher) Start(ctx context.Context, now func() time.Duration) {
	w.down, w.heard, w.leaders = make(map[int32]bool), make(map[int32]bool), maps.Clone(w.found.leaders)
	w.Go(func() {
		engine.Every(ctx, watchEvery, func() {
			if w.plan.Writes() {
				w.flow.Store(w.management.flowing(ctx))
			}
			if !w.options.Watch { // another process does
				return
			}
			at := now() // a node that hangs is noticed only when its answer is overdue
			for _, e := range append(w.nodes(ctx), w.moves(ctx)...) {
				if e.Kind == stats.LeaderMoved {
					at = now()
				}
				e.At = at
				w.Add(e)
			}
		})
	})
}

// nodes returns events of nodes that are gone or back. It asks each node too, because others believe for a minute that a hung node runs.
func (w *watcher) nodes(ctx context.Context) (events []stats.Event) {
	answers := make([]bool, len(w.cluster.Brokers))
	var asking sync.WaitGroup
	for i, b := range w.cluster.Brokers {
		asking.Go(func() { answers[i] = w.management.Get(ctx, w.management.own[b.Rack]+"/api/whoami", nil) == nil })
	}
	running, _ := w.management.nodes(ctx) // without an answer, another one is asked next time
	asking.Wait()
	if ctx.Err() != nil {
		return nil
	}
	for i, b := range w.cluster.Brokers {
		up, known := running[b.Rack]
		text := "node %s does not run"
		if w.heard[b.ID] = w.heard[b.ID] || answers[i]; w.heard[b.ID] && (!known || up && !answers[i]) {
			text, up, known = "node %s does not answer", answers[i], true
		}
		if !known || up != w.down[b.ID] {
			continue
		}
		kind := stats.BrokerGone
		if up {
			kind, text = stats.BrokerBack, "node %s runs and answers again"
		}
		if w.down[b.ID] = !up; w.turn(cmp.Or(b.Addr, b.Rack), !up) {
			events = append(events, event(kind, b.ID, text, b.Rack))
		}
	}
	return events
}

// moves returns events of queues that were added, have other leaders, or lose messages.
func (w *watcher) moves(ctx context.Context) (events []stats.Event) {
	now, err := w.management.describeQueues(ctx, queue.NewLayout(w.topics.All...), w.cluster.Brokers)
	if err != nil {
		return nil
	}
	if n := now.more - w.found.more; n > 0 {
		e := event(stats.PartitionsAdded, -1, "%s added to %s, which this run does not use: the next one does", theme.Plural(n, "queue was", "queues were"), w.plan.Topic.Short())
		e.Count = n
		events = append(events, e)
	}
	w.found.more = max(w.found.more, now.more)
	refuses, loses := queueLimit(now.configs)
	w.limit.Store(refuses)
	if !w.Settings.confirms { // nothing says that a message was refused
		loses = cmp.Or(loses, refuses)
	}
	if loses != w.loses && loses != "" && w.plan.Writes() {
		events = append(events, event(stats.RecordsDeleted, -1, "%s: kt does not count those", loses))
	}
	w.loses = loses
	moved := make(map[[2]int32][]int32)
	for _, q := range slices.Sorted(maps.Keys(now.leaders)) {
		from, known := w.leaders[q]
		to := now.leaders[q]
		if known && to != from {
			moved[[2]int32{from, to}] = append(moved[[2]int32{from, to}], q)
		}
		w.leaders[q] = to
	}
	for way, queues := range moved {
		e := event(stats.LeaderMoved, way[0], "%s moved from node %d to node %d", theme.Plural(len(queues), "leader of a queue", "leaders of queues"), way[0], way[1])
		e.To, e.Count, e.Partitions = way[1], len(queues), queues[:min(len(queues), stats.MaxEventPartitions)]
		events = append(events, e)
	}
	return events
}

// queueLimit returns the limit at which queues refuse messages, or drop confirmed ones; empty if there is none.
func queueLimit(configs map[string]string) (refuses, drops string) {
	overflow := cmp.Or(configs["x-overflow"], configs["overflow"], "drop-head")
	limits := ""
	for _, name := range []string{"max-length", "max-length-bytes"} {
		if v := cmp.Or(configs["x-"+name], configs[name]); v != "" {
			limits += name + "=" + v + ", "
		}
	}
	at := fmt.Sprintf("at their limit (%soverflow=%s)", limits, overflow)
	switch ttl := cmp.Or(configs["x-message-ttl"], configs["message-ttl"]); {
	case limits == "" && ttl != "":
		return "", "queues drop messages that nobody has read after " + ttl + " ms (message-ttl)"
	case limits == "":
		return "", ""
	case strings.HasPrefix(overflow, "reject-publish"):
		return "queues refuse messages " + at, ""
	}
	return "", "queues drop their oldest messages " + at
}
