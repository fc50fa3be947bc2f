package pulsar

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/secret"
)

func TestOnlyBrokersOfTheClusterGetTheToken(t *testing.T) {
	got := ""
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		_, _ = w.Write([]byte("[]"))
	}))
	defer other.Close()
	first := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer first.Close()
	a, err := newAdmin(&System{url: &url.URL{Scheme: "pulsar", Host: "h", RawQuery: "admin=" + first.URL}, access: queue.Access{Password: secret.New("token")}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"", "Bearer token"} {
		if err := a.get(t.Context(), "/", new([]string)); err != nil || got != want {
			t.Errorf("with the brokers %q it got %q, %v; want %q", a.known, got, err, want)
		}
		a.known = []string{other.Listener.Addr().String()}
	}
}
