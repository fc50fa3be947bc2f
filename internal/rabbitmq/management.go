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
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/secret"
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
	transport := &http.Transport{
		DialContext:    func(ctx context.Context, _, host string) (net.Conn, error) { return s.dial(ctx, host, false) },
		DialTLSContext: func(ctx context.Context, _, host string) (net.Conn, error) { return s.dial(ctx, host, true) },
	}
	m := &management{system: s, urls: []string{s.admin}, own: make(map[string]string)}
	m.HTTP = http.Client{Timeout: managementTimeout, Transport: transport, CheckRedirect: secret.Stay}
	m.LogIn = func(r *http.Request) { r.SetBasicAuth(s.user, s.access.Password.Reveal()) }
	return m
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
	if err := result.CheckBrokers(max(len(running), len(overview.Listeners)/maxListeners)); err != nil {
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
		m.system.access.Bound.Learn(host) // one that has logged kt in says so
	}
	for _, name := range slices.Sorted(maps.Keys(running)) {
		if len(running) == 1 {
			m.own[name] = m.urls[0] // it may be known by another address here
		}
		c.Brokers = append(c.Brokers, result.Broker{ID: int32(len(c.Brokers) + 1), Rack: theme.Name(name), Addr: at[name]})
	}
	return nil
}

const maxListeners = 10

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

// Topics returns the names of the topics that have a queue, as the management API lists them.
func (s *System) Topics(ctx context.Context) (topics []string) {
	var page struct{ Items []struct{ Name string } }
	path := fmt.Sprintf("queues/%s?page=1&page_size=%d&use_regex=true&name=%s&columns=name", url.PathEscape(s.vhost), perPage, url.QueryEscape(".-0$"))
	_ = s.newManagement().get(ctx, path, &page) // names for completion: without an answer there are none
	for _, q := range page.Items {
		topics = append(topics, strings.TrimSuffix(q.Name, "-0"))
	}
	return topics
}

// describeQueues completes a topic with the members, leaders and arguments of its queues. It returns how many more there are.
// Queues that kt cannot use are a *result.MisfitError.
func (m *management) describeQueues(ctx context.Context, t *result.Topic, nodes []result.Broker) (more int, err error) {
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	name := url.QueryEscape("^" + regexp.QuoteMeta(t.Name) + "-[0-9]+$")
	for at, pages := 1, 1; at <= min(pages, plan.MaxPartitions/perPage); at++ {
		var page struct {
			Pages int `json:"page_count"`
			Items []struct {
				Name, Type, Node, Leader string
				Members                  []string
				Arguments                map[string]any
				Policy                   any `json:"effective_policy_definition"`
			}
		}
		path := fmt.Sprintf("queues/%s?page=%d&page_size=%d&use_regex=true&name=%s&columns=name,type,node,leader,members,arguments,effective_policy_definition", url.PathEscape(m.system.vhost), at, perPage, name)
		if err := m.get(ctx, path, &page); err != nil {
			return 0, err
		}
		pages = page.Pages
		for _, q := range page.Items {
			digits, ours := strings.CutPrefix(q.Name, t.Name+"-")
			number, err := strconv.ParseInt(digits, 10, 32)
			switch kind := strings.TrimSuffix(strings.TrimPrefix(q.Type, "rabbit_"), "_queue"); {
			case !ours || err != nil || number < 0:
				continue // kt does not use it
			case number >= int64(t.Partitions):
				more++
				continue
			case kind != "" && !slices.Contains(queueTypes, kind):
				return 0, result.Misfit("queue %s is of type %s: kt uses queues of the types %s; name another --topic", q.Name, kind, strings.Join(queueTypes, " and "))
			}
			leader := cmp.Or(q.Leader, q.Node) // of a classic queue
			if n := slices.IndexFunc(nodes, func(b result.Broker) bool { return b.Rack == leader }); n >= 0 {
				t.Leaders[int32(number)] = nodes[n].ID
			}
			t.ReplicationFactor = max(t.ReplicationFactor, len(q.Members), 1) // a classic queue names none
			policy, _ := q.Policy.(map[string]any)                            // without one, versions differ in what they say
			for _, all := range []map[string]any{q.Arguments, policy} {
				for k, v := range all {
					t.Configs[k] = fmt.Sprint(v)
				}
			}
		}
	}
	return more, nil
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
