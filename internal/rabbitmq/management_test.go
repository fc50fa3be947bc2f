package rabbitmq

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/kt-bench/kt/internal/result"
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

func TestOnlyQueuesOfTheTopicDescribeIt(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"page_count": 1, "items": [
			{"name": "t-1", "node": "a"}, {"name": "t-2", "node": "a", "members": ["a", "b", "c"]}, {"name": "", "node": "a"}, {"name": "t", "node": "a"},
			{"name": "other-0", "node": "a"}, {"name": "t--1", "node": "a"}, {"name": "t-99999999999", "node": "a"}]}`)
	}))
	defer api.Close()
	topic := result.Topic{Name: "t", Partitions: 2, Leaders: map[int32]int32{}, Configs: map[string]string{}}
	err := (&System{admin: api.URL}).newManagement().describeQueues(t.Context(), &topic, []result.Broker{{ID: 7, Rack: "a"}})
	if want := map[int32]int32{1: 7}; err != nil || !maps.Equal(topic.Leaders, want) || topic.ReplicationFactor != 1 {
		t.Errorf("%v; leaders %v, want %v; %d members", err, topic.Leaders, want, topic.ReplicationFactor)
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
