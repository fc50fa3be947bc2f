package rabbitmq

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/secret"
	"github.com/kt-bench/kt/internal/stats"
)

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
	if access.Bound.Permit("n1:15672") == nil {
		t.Error("with ?admin= there is another API")
	}
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
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"page_count": 1, "items": [
			{"name": "t-1", "node": "a"}, {"name": "t-2", "node": "a", "members": ["a", "b", "c"]}, {"name": "", "node": "a"}, {"name": "t", "node": "a"},
			{"name": "other-0", "node": "a"}, {"name": "t--1", "node": "a"}, {"name": "t-99999999999", "node": "a"}]}`)
	}))
	defer api.Close()
	topic := result.Topic{Name: "t", Partitions: 2, Leaders: map[int32]int32{}, Configs: map[string]string{}}
	more, err := (&System{admin: api.URL}).newManagement().describeQueues(t.Context(), &topic, []result.Broker{{ID: 7, Rack: "a"}})
	if want := map[int32]int32{1: 7}; err != nil || !maps.Equal(topic.Leaders, want) || topic.ReplicationFactor != 1 || more != 1 {
		t.Errorf("%v; leaders %v, want %v; %d members, %d more queues", err, topic.Leaders, want, topic.ReplicationFactor, more)
	}
}

func TestAQueueOrAnExchangeThatKtCannotUseIsNoMatch(t *testing.T) {
	answer := ""
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }))
	defer api.Close()
	m := (&System{admin: api.URL}).newManagement()
	for kind, fits := range map[string]bool{"": true, "classic": true, "rabbit_classic_queue": true, "quorum": true, "stream": false, "rabbit_mqtt_qos0_queue": false} {
		answer = `{"page_count": 1, "items": [{"name": "t-0", "type": "` + kind + `"}]}`
		topic := result.Topic{Name: "t", Partitions: 1, Leaders: map[int32]int32{}, Configs: map[string]string{}}
		_, err := m.describeQueues(t.Context(), &topic, nil)
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
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }))
	defer api.Close()
	s := &System{admin: api.URL}
	w := watcher{session: &session{System: s, management: s.newManagement(), topic: result.Topic{Name: "t", Partitions: 1}, more: 1}}
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
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.EscapedPath()
		_, _ = io.WriteString(w, `{"page_count": 1, "items": [{"name": "a-0"}, {"name": "b-0-0"}]}`)
	}))
	defer api.Close()
	s := &System{admin: api.URL, vhost: "/"}
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
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }))
	defer api.Close()
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
		s := &System{admin: api.URL, settings: settings{confirms: tc.confirms}}
		w := watcher{session: &session{System: s, management: s.newManagement(), plan: testPlan(nil), topic: result.Topic{Name: "t", Partitions: 1}}}
		events := append(w.moves(t.Context()), w.moves(t.Context())...)
		if n := min(1, len(tc.want)); len(events) != n || n > 0 && (events[0].Kind != stats.RecordsDeleted || !strings.Contains(events[0].Text, tc.want)) {
			t.Errorf("%+v: %+v", tc, events)
		}
	}
}
