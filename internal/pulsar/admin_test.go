package pulsar

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/queue"
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
		a := adminOf(t, first, encrypted.Certificate())
		if r.known {
			a.know([]string{r.to.Listener.Addr().String()})
		}
		if err := a.get(t.Context(), "/", new([]string)); err != nil || got != r.want {
			t.Errorf("%s got %q, %v; want %q", r.name, got, err, r.want)
		}
		first.Close()
	}
}

// adminOf returns the way to a server's admin API with a token.
func adminOf(t *testing.T, server *httptest.Server, authority *x509.Certificate) *admin {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(authority)
	access := queue.Access{Password: secret.New("token"), TLS: func(name string) (*tls.Config, error) { return &tls.Config{ServerName: name, RootCAs: roots}, nil }}
	a, err := newAdmin(&System{url: &url.URL{Scheme: "pulsar", Host: "h", RawQuery: "admin=" + server.URL}, access: access})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The list has one port of each broker, which is that without TLS if there are both.
func TestABrokerIsKnownByThePortsThatItMayHave(t *testing.T) {
	for base, want := range map[string]string{
		"http://a:8080":  "b:8080 c:18080",
		"https://a:8443": "b:8080 c:18080 b:8443 b:8443 c:8443 c:8443",
		"https://a:443":  "b:8080 c:18080 b:443 b:8443 c:443 c:8443",
		"https://a":      "b:8080 c:18080 b:443 b:8443 c:443 c:8443",
	} {
		a := &admin{base: base}
		a.know([]string{"b:8080", "c:18080"})
		if got := strings.Join(a.known, " "); got != want {
			t.Errorf("%s: %q, want %q", base, got, want)
		}
	}
}

// A redirect leads from one host to another, whose certificate is for itself.
func TestTheAdminAPIOfEachBrokerIsCheckedByItsOwnName(t *testing.T) {
	other := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("[]")) }))
	defer other.Close()
	_, port, _ := strings.Cut(other.Listener.Addr().String(), ":")
	for host, fits := range map[string]bool{"127.0.0.1": true, "localhost": false} { // it is for 127.0.0.1 and example.com
		first := httptest.NewTLSServer(http.RedirectHandler("https://"+host+":"+port, http.StatusTemporaryRedirect))
		err := adminOf(t, first, other.Certificate()).get(t.Context(), "/", new([]string))
		if (err == nil) != fits {
			t.Errorf("%s: %v", host, err)
		}
		first.Close()
	}
}
