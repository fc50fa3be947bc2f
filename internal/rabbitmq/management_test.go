package rabbitmq

import (
	"net/http"
	"net/http/httptest"
	"testing"
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
