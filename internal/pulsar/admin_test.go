package pulsar

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/secret"
)

func TestOnlyBrokersOfTheClusterGetTheToken(t *testing.T) {
	got := ""
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		_, _ = w.Write([]byte("[]"))
	})
	plain, encrypted := httptest.NewServer(echo), httptest.NewTLSServer(echo)
	defer plain.Close()
	defer encrypted.Close()
	for _, r := range []struct {
		name  string
		start func(http.Handler) *httptest.Server
		to    *httptest.Server
		known bool
		want  string
	}{
		{"a broker", httptest.NewServer, plain, true, "Bearer token"},
		{"another server", httptest.NewServer, plain, false, ""},
		{"a broker with TLS", httptest.NewTLSServer, encrypted, true, "Bearer token"},
		{"another server with TLS", httptest.NewTLSServer, encrypted, false, ""},
		{"a broker without TLS behind one with it", httptest.NewTLSServer, plain, true, ""},
	} {
		first := r.start(http.RedirectHandler(r.to.URL, http.StatusTemporaryRedirect))
		a := adminOf(first, encrypted.Certificate())
		got = ""
		if r.known {
			a.learn([]string{r.to.Listener.Addr().String()})
		}
		if err := a.get(t.Context(), "/", new([]string)); (err == nil) != r.known || got != r.want {
			t.Errorf("%s got %q, %v; want %q", r.name, got, err, r.want)
		}
		first.Close()
	}
}

// adminOf returns the way to a server's admin API with a token.
func adminOf(server *httptest.Server, authority *x509.Certificate) *admin {
	roots := x509.NewCertPool()
	roots.AddCert(authority)
	return newAdmin(server.URL, queue.Access{Password: secret.New("token"), Bound: secret.Bind([]string{server.URL})}, &tls.Config{RootCAs: roots})
}

func TestATokenGoesOnlyWhereItsOwnerSaid(t *testing.T) {
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer server.Close()
	access := queue.Access{Password: secret.New("token"), Bound: secret.Bind([]string{"b:6650"}), TLS: func(string) (*tls.Config, error) { return nil, nil }}
	at := server.Listener.Addr().String()
	for _, url := range []string{"pulsar://" + at, "pulsar://b?admin=http://" + at} {
		p := &plan.Plan{URL: url, Topic: plan.Topic{Name: "t"}}
		s, _ := must.Both(New(p, nil, nil, access))(t)
		var foreign *secret.BindingError
		if url == "pulsar://"+at {
			if _, err := s.Connect(t.Context(), p, run.Options{}); !errors.As(err, &foreign) {
				t.Errorf("%s: %v", url, err)
			}
		}
		if s.Topics(t.Context()); s.DeleteTopic(t.Context(), "t") == nil || asked {
			t.Errorf("%s: the server was asked: %v", url, asked)
		}
	}
}

// The list has one port of each broker, which is that without TLS if there are both.
func TestABrokerIsKnownByThePortsThatItMayHave(t *testing.T) {
	for to, want := range map[string]bool{
		"http://b:8080": true, "http://c:18080": true, "http://c:8080": false, "http://d:8080": false, "http://b:9443": false, "http://b:8443": false,
		"https://b:8443": true, "https://c:9443": true, "https://c:10443": false, "https://d:8443": false,
	} {
		u := must.Have(url.Parse(to))(t)
		a := newAdmin(u.Scheme+"://first:9443", queue.Access{Password: secret.New("token"), Bound: secret.Bind([]string{"first"})}, nil)
		a.learn([]string{"b:8080", "c:18080"})
		next := &http.Request{URL: u, Header: make(http.Header)}
		_ = a.follow(next, []*http.Request{{URL: &url.URL{Scheme: u.Scheme, Host: "first:9443"}}}) // of many redirects alone
		must.Match(t, want, next.Header.Get("Authorization") != "", "from port 9443 to %s: logs in", to)
	}
}

// A redirect leads from one host to another, whose certificate is for itself.
func TestTheAdminAPIOfEachBrokerIsCheckedByItsOwnName(t *testing.T) {
	other := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("[]")) }))
	other.Config.ErrorLog = log.New(io.Discard, "", 0) // of clients that refuse its certificate
	other.StartTLS()
	defer other.Close()
	_, port, _ := strings.Cut(other.Listener.Addr().String(), ":")
	for host, fits := range map[string]bool{"127.0.0.1": true, "localhost": false} { // it is for 127.0.0.1 and example.com
		first := httptest.NewTLSServer(http.RedirectHandler("https://"+host+":"+port, http.StatusTemporaryRedirect))
		a := adminOf(first, other.Certificate())
		a.learn([]string{host + ":" + port})
		err := a.get(t.Context(), "/", new([]string))
		if (err == nil) != fits {
			t.Errorf("%s: %v", host, err)
		}
		first.Close()
	}
}

func TestATopicIsListedOnceWhateverItsPartitions(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/admin/v2/persistent/public/default" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, `["persistent://public/default/b-partition-1", "persistent://public/default/b-partition-0", "persistent://public/default/a"]`)
	}))
	defer api.Close()
	s, _ := must.Both(New(&plan.Plan{URL: "pulsar://localhost?admin=" + api.URL}, nil, nil, queue.Access{TLS: func(string) (*tls.Config, error) { return nil, nil }}))(t)
	must.Match(t, []string{"a", "b"}, s.Topics(t.Context()), "topics")
	api.Close()
	if got := s.Topics(t.Context()); len(got) > 0 {
		t.Errorf("without an answer: %q", got)
	}
}
