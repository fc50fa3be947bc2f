package rabbitmq

import (
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/secret"
	"github.com/kt-bench/kt/internal/stats"
)

// answering returns a system whose management API gives these answers, by path or all the same, until it is closed.
func answering(t *testing.T, answer func(r *http.Request) string) (s *System, api *httptest.Server) {
	t.Helper()
	api = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, answer(r)) }))
	t.Cleanup(api.Close)
	return &System{admin: api.URL, user: "kt", vhost: "v"}, api
}

// described returns a topic of some partitions as the API describes its queues.
func described(t *testing.T, s *System, partitions int) (topic result.Topic, more int, err error) {
	t.Helper()
	l := queue.NewLayout(result.Topic{Name: "t", Partitions: partitions})
	all, err := s.newManagement().describeQueues(t.Context(), l, []result.Broker{{ID: 7, Rack: "a"}})
	return l.All[0], all.more, err
}

func TestThePasswordFollowsNoRedirect(t *testing.T) {
	asked := false
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { asked = true; _, _ = w.Write([]byte("[]")) }))
	defer other.Close()
	api := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer api.Close()
	m := (&System{admin: api.URL, user: "kt"}).newManagement()
	if _, err := m.nodes(t.Context()); err == nil || asked {
		t.Errorf("%v; the other server was asked: %v", err, asked)
	}
}

// A node that kt has logged in to says where the others listen. Nobody else can.
func TestThePasswordGoesOnlyWhereItsOwnerSaidAndWhereANodeLeads(t *testing.T) {
	asked := 0
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; r.URL.Path == "/api/nodes" {
			_, _ = io.WriteString(w, "[]")
			return
		}
		_, _ = io.WriteString(w, `{"listeners": [{"node": "rabbit@n2", "protocol": "amqp", "ip_address": "::", "port": 5672}, {"node": "rabbit@n2", "protocol": "http", "port": 15672}]}`)
	}))
	defer api.Close()
	access := queue.Access{Password: secret.New("hunter2"), Bound: secret.Bind([]string{"n1:5672"})}
	at := func(query string) *System {
		s, _ := must.Both(New(testPlan(func(p *plan.Plan) { p.URL = "amqp://kt@n1:5672/" + query }), nil, nil, access))(t)
		return s
	}
	var foreign *secret.BindingError
	if _, err := at("?admin=" + api.URL).newManagement().nodes(t.Context()); !errors.As(err, &foreign) || asked > 0 {
		t.Errorf("an API that the owner did not name was asked %d times: %v", asked, err)
	}
	must.True(t, access.Bound.Permit("n1:15672") != nil, "with ?admin= there is another API")
	if at(""); access.Bound.Permit("n1:15672") != nil {
		t.Error("the API of the host that was named is not")
	}
	if _, err := at("").connect(t.Context(), "n2:5672", "kt"); !errors.As(err, &foreign) {
		t.Errorf("a node that nobody named: %v", err)
	}
	access.Bound.Learn(api.URL)
	if err := at("?admin="+api.URL).newManagement().describe(t.Context(), new(result.Cluster)); err != nil {
		t.Error(err)
	}
	for addr, want := range map[string]bool{"n2:5672": true, "n2:15672": true, "n2:22": false} {
		must.Match(t, want, access.Bound.Permit(addr) == nil, "%s: permitted is %v", addr, !want)
	}
}

func TestOnlyQueuesOfTheTopicDescribeIt(t *testing.T) {
	s, _ := answering(t, func(*http.Request) string {
		return `{"page_count": 1, "items": [
			{"name": "t-1", "node": "a"}, {"name": "t-2", "node": "a", "members": ["a", "b", "c"]}, {"name": "", "node": "a"}, {"name": "t", "node": "a"},
			{"name": "other-0", "node": "a"}, {"name": "t--1", "node": "a"}, {"name": "t-99999999999", "node": "a"}]}`
	})
	topic, more, err := described(t, s, 2)
	if want := map[int32]int32{1: 7}; err != nil || !maps.Equal(topic.Leaders, want) || topic.ReplicationFactor != 1 || more != 1 {
		t.Errorf("%v; leaders %v, want %v; %d members, %d more queues", err, topic.Leaders, want, topic.ReplicationFactor, more)
	}
}

func TestQueuesOfSeveralTopicsAreDescribedByOneQuestion(t *testing.T) {
	var asked []string
	s, _ := answering(t, func(r *http.Request) string {
		asked = append(asked, r.URL.Query().Get("name"))
		return `{"page_count": 1, "items": [
			{"name": "or.a-0", "node": "a", "arguments": {"x-max-length": 5}}, {"name": "or.a-1", "node": "b"}, {"name": "or.a-b-0", "node": "a"}, {"name": "or.b-0", "node": "a", "members": ["a", "b"]},
			{"name": "or.b-1", "node": "a"}, {"name": "or.c-0", "node": "a"}]}`
	})
	l := queue.NewLayout(result.Topic{Name: "or.a", Partitions: 2}, result.Topic{Name: "or.b", Partitions: 1}, result.Topic{Name: "or.a-b", Partitions: 1})
	all, err := s.newManagement().describeQueues(t.Context(), l, []result.Broker{{ID: 7, Rack: "a"}, {ID: 8, Rack: "b"}})
	must.Hold(t, err == nil, "%v", err)
	must.Match(t, []string{`^or\..*-[0-9]+$`}, asked, "the names that were asked for")
	must.Match(t, map[int32]int32{0: 7, 1: 8, 2: 7, 3: 7}, all.leaders, "leaders of all")
	must.Match(t, map[int32]int32{0: 7, 1: 8}, l.All[0].Leaders, "leaders of the first topic")
	must.Match(t, []int{1, 2, 1}, []int{l.All[0].ReplicationFactor, l.All[1].ReplicationFactor, l.All[2].ReplicationFactor}, "members")
	must.True(t, all.more == 1 && all.configs["x-max-length"] == "5" && l.All[1].Configs["x-max-length"] == "", "%d more queues; settings %v, and of the second topic %v", all.more, all.configs, l.All[1].Configs)
}

func TestAQueueOrAnExchangeThatKtCannotUseIsNoMatch(t *testing.T) {
	answer := ""
	s, api := answering(t, func(*http.Request) string { return answer })
	m := s.newManagement()
	for kind, fits := range map[string]bool{"": true, "classic": true, "rabbit_classic_queue": true, "quorum": true, "stream": false, "rabbit_mqtt_qos0_queue": false} {
		answer = `{"page_count": 1, "items": [{"name": "t-0", "type": "` + kind + `"}]}`
		_, _, err := described(t, s, 1)
		if misfit := new(result.MisfitError); errors.As(err, &misfit) == fits || (err == nil) != fits {
			t.Errorf("type %q: %v", kind, err)
		}
	}
	for kind, fits := range map[string]bool{`"direct"`: true, `"direct", "internal": true`: false, `"fanout"`: false, `"topic"`: false, `"x-consistent-hash"`: false} {
		answer = `{"type": ` + kind + `}`
		err := m.checkExchange(t.Context(), "t")
		if misfit := new(result.MisfitError); errors.As(err, &misfit) == fits || (err == nil) != fits {
			t.Errorf("type %s: %v", kind, err)
		}
	}
	if api.Close(); m.checkExchange(t.Context(), "t") != nil {
		t.Error("an exchange that nobody can describe does not fit")
	}
}

func TestQueuesThatAreAddedAreToldOnce(t *testing.T) {
	answer := `{"page_count": 1, "items": [{"name": "t-0"}, {"name": "t-7"}]}`
	s, _ := answering(t, func(*http.Request) string { return answer })
	w := watcher{session: &session{System: s, management: s.newManagement(), topics: queue.NewLayout(result.Topic{Name: "t", Partitions: 1}), found: found{more: 1}, plan: testPlan(nil)}}
	for _, tc := range []struct {
		added string
		want  int
	}{{"", 0}, {`, {"name": "t-1"}, {"name": "t-2"}`, 2}, {`, {"name": "t-1"}`, 0}, {`, {"name": "t-1"}, {"name": "t-2"}`, 0}} {
		answer = `{"page_count": 1, "items": [{"name": "t-0"}, {"name": "t-7"}` + tc.added + `]}`
		n := 0
		for _, e := range w.moves(t.Context()) {
			if e.Kind == stats.PartitionsAdded {
				n += e.Count
			}
		}
		must.Match(t, tc.want, n, "%s: queues are told", answer)
	}
}

func TestTopicsAreThoseWithAFirstQueue(t *testing.T) {
	asked := ""
	s, api := answering(t, func(r *http.Request) string {
		asked = r.URL.EscapedPath()
		return `{"page_count": 1, "items": [{"name": "a-0"}, {"name": "b-0-0"}]}`
	})
	s.vhost = "/"
	if got, want := s.Topics(t.Context()), []string{"a", "b-0"}; !slices.Equal(got, want) || asked != "/api/queues/%2F" {
		t.Errorf("asked at %s: %q, want %q", asked, got, want)
	}
	api.Close()
	if got := s.Topics(t.Context()); len(got) > 0 {
		t.Errorf("without an answer: %q", got)
	}
}

// Confirms say that messages were taken, not that they stay.
func TestALimitAtWhichMessagesAreLostUnseenIsToldOnce(t *testing.T) {
	answer := ""
	s, _ := answering(t, func(*http.Request) string { return answer })
	for _, tc := range []struct {
		arguments string
		confirms  bool
		want      string
	}{
		{`{}`, true, ""},
		{`{"x-max-length": 10}`, true, "drop their oldest messages at their limit (max-length=10"},
		{`{"x-max-length": 10, "x-overflow": "reject-publish"}`, true, ""}, // the confirms say it
		{`{"x-max-length": 10, "x-overflow": "reject-publish"}`, false, "refuse messages at their limit (max-length=10"},
	} {
		answer = `{"page_count": 1, "items": [{"name": "t-0", "arguments": ` + tc.arguments + `}]}`
		s.Settings.confirms = tc.confirms
		w := watcher{session: &session{System: s, management: s.newManagement(), plan: testPlan(nil), topics: queue.NewLayout(result.Topic{Name: "t", Partitions: 1})}}
		events := append(w.moves(t.Context()), w.moves(t.Context())...)
		if n := min(1, len(tc.want)); len(events) != n || n > 0 && (events[0].Kind != stats.RecordsDeleted || !strings.Contains(events[0].Text, tc.want)) {
			t.Errorf("%+v: %+v", tc, events)
		}
	}
}

// api is the management API of a node of a cluster of two. It takes a node that hangs for one that runs.
type api struct{ hangs atomic.Bool }

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case a.hangs.Load():
		w.WriteHeader(http.StatusServiceUnavailable) // as good as no answer, and sooner
	case r.URL.Path == "/api/whoami":
		_, _ = io.WriteString(w, `{"name": "kt"}`)
	default:
		_, _ = io.WriteString(w, `[{"name": "one", "running": true}, {"name": "two", "running": true}, {"name": "elsewhere", "running": true}]`)
	}
}

func TestANodeThatHangsIsGoneUntilItAnswers(t *testing.T) {
	var one, two api
	first, second := httptest.NewServer(&one), httptest.NewServer(&two)
	defer first.Close()
	defer second.Close()
	s := &session{System: &System{admin: first.URL}, gone: make(map[string]bool)}
	s.management = s.newManagement()
	s.management.urls = []string{first.URL, second.URL}
	s.management.own = map[string]string{"one": first.URL, "two": second.URL, "elsewhere": "http://127.0.0.1:1"}
	s.cluster.Brokers = []result.Broker{{ID: 1, Rack: "one", Addr: "a:5672"}, {ID: 2, Rack: "two", Addr: "b:5672"}, {ID: 3, Rack: "elsewhere", Addr: "c:5672"}}
	w := &watcher{session: s, down: make(map[int32]bool), heard: make(map[int32]bool)}
	for i, step := range []struct {
		one, two bool // hang
		want     []string
	}{
		{false, false, nil}, // one that is not reached from here may answer others
		{false, true, []string{"node two does not answer"}},
		{false, true, nil},
		{true, false, []string{"node one does not answer", "node two runs and answers again"}},
		{true, true, []string{"node two does not answer"}},
		{false, false, []string{"node one runs and answers again", "node two runs and answers again"}},
	} {
		one.hangs.Store(step.one)
		two.hangs.Store(step.two)
		var got []string
		for _, e := range w.nodes(t.Context()) {
			got = append(got, e.Text)
		}
		must.Match(t, step.want, got, "step %d", i)
	}
}

func TestAnAPIThatRefusesTheUserIsNoWrongAddress(t *testing.T) {
	for status, want := range map[int]string{
		http.StatusUnauthorized: "user kt needs the right password (url.password in the file of --command-config) and the tag monitoring",
		http.StatusForbidden:    "and the tag monitoring",
		http.StatusNotFound:     "?admin=http://HOST:PORT behind --url says where it is",
	} {
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		defer api.Close()
		address := (&server{}).listen(t)
		sys, _ := must.Both(New(testPlan(func(p *plan.Plan) { p.URL = "amqp://kt@" + address + "/?admin=" + api.URL }), nil, nil, queue.Access{}))(t)
		said := ""
		c := &session{System: sys, options: run.Options{Notify: func(n run.Notice) { said = n.Text }}, management: sys.newManagement(), asker: dialer{name: "kt"}, gone: make(map[string]bool)}
		must.Do(t, c.look(t.Context()))
		if !strings.Contains(said, want) || strings.Contains(said, "?admin=") != (status == http.StatusNotFound) {
			t.Errorf("%d: %q, want %q", status, said, want)
		}
		c.Close()
	}
}

func (discard) LocalAddr() net.Addr { return &net.TCPAddr{Port: 4711} }

func TestAServerThatThrottlesAPublisherIsTold(t *testing.T) {
	alarm := "low on disk"
	for _, tc := range []struct {
		name string
		does func(o *publisher)
		want string // "": nothing throttles it
	}{
		{"nothing", func(o *publisher) { o.worker.flow.Store(map[string]bool{"4712": true}) }, ""},
		{"an alarm", func(o *publisher) { o.blocked.Store(&alarm) }, "RabbitMQ blocks publishers: low on disk"},
		{"credit flow", func(o *publisher) { o.worker.flow.Store(map[string]bool{"4711": true}) }, "credit flow"},
		{"full queues", func(o *publisher) { o.worker.limit.Store("x-max-length=5"); o.confirm(2, false, false) }, "x-max-length=5"},
		{"a message that was refused for another reason", func(o *publisher) { o.confirm(2, false, false) }, ""},
		{"full queues that refuse nothing", func(o *publisher) { o.worker.limit.Store("x-max-length=5") }, ""},
	} {
		d := &settling{producer: producerOf(t, 5, 10, settings{confirms: true}, "h"), confirms: func(o *publisher) {
			o.worker.at.Store(o)
			tc.does(o)
			o.worker.Settings.deliveryTimeout = time.Hour
			o.worker.lookAround()
		}}
		var total adding
		must.Have(engine.Run(t.Context(), *d.plan, engine.Drivers{Send: d}, engine.Options{}, &total))(t)
		text := ""
		for _, e := range total.Events {
			if e.Kind == stats.AlarmOn {
				text = e.Text
			}
		}
		if throttled := total.Brokers[0].Throttle > 0; throttled != (tc.want != "") || throttled && !strings.Contains(text, stats.KtIsThrottled+tc.want) && !strings.Contains(text, tc.want) {
			t.Errorf("%s: throttled for %v, %q; want %q", tc.name, total.Brokers[0].Throttle, text, tc.want)
		}
	}
}

func TestCreditFlowIsOfAConnectionOrOfItsChannels(t *testing.T) {
	s, api := answering(t, func(r *http.Request) string {
		return map[string]string{
			"/api/vhosts/v/connections": `[{"state": "flow", "peer_port": 1}, {"state": "running", "peer_port": 2}, {"state": "blocked", "peer_port": 3}]`,
			"/api/vhosts/v/channels":    `[{"state": "running", "connection_details": {"peer_port": 1}}, {"state": "flow", "connection_details": {"peer_port": 2}}, {"connection_details": {}}]`,
		}[r.URL.Path]
	})
	got := s.newManagement().flowing(t.Context())
	must.Match(t, map[string]bool{"1": true, "2": true}, got, "the value")
	api.Close()
	if got := s.newManagement().flowing(t.Context()); len(got) > 0 {
		t.Errorf("without an answer: %v", got)
	}
}

func TestALimitOfQueuesIsOfTheirArgumentsOrAPolicy(t *testing.T) {
	for about, want := range map[string]string{
		`"arguments": {"x-max-length": 1000000, "x-overflow": "reject-publish"}`:                                                      "(max-length=1000000, overflow=reject-publish)",
		`"arguments": {}, "effective_policy_definition": {"max-length-bytes": 5000, "overflow": "reject-publish-dlx"}`:                "(max-length-bytes=5000, overflow=reject-publish-dlx)",
		`"arguments": {"x-max-length": 10}, "effective_policy_definition": []`:                                                        "",
		`"arguments": {"x-max-length": 10, "x-overflow": "drop-head"}, "effective_policy_definition": {"overflow": "reject-publish"}`: "",
	} {
		s, _ := answering(t, func(*http.Request) string { return `{"page_count": 1, "items": [{"name": "t-0", ` + about + `}]}` })
		topic, _, err := described(t, s, 1)
		if _, drops := queueLimit(map[string]string{"x-message-ttl": "500"}); !strings.Contains(drops, "after 500 ms") {
			t.Errorf("a time to live: %q", drops)
		}
		if got, _ := queueLimit(topic.Configs); err != nil || !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %v, %q, want %q", about, err, got, want)
		}
	}
}
