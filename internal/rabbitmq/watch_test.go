package rabbitmq

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
)

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
	s := &session{System: &System{admin: first.URL, user: "kt"}, gone: make(map[string]bool)}
	s.management = s.newManagement()
	s.management.urls = []string{first.URL, second.URL}
	s.management.own = map[string]string{"one": first.URL, "two": second.URL, "elsewhere": "http://127.0.0.1:1"}
	s.cluster.Brokers = []result.Broker{{ID: 1, Rack: "one", Addr: "a:5672"}, {ID: 2, Rack: "two", Addr: "b:5672"}, {ID: 3, Rack: "elsewhere", Addr: "c:5672"}}
	w := &watcher{session: s, running: make(map[int32]bool), heard: make(map[int32]bool)}
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
