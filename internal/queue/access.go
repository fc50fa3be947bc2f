package queue

import (
	"crypto/tls"
	"net/url"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/secret"
)

// Access is how a system is reached that a URL names: all that a plan must not hold.
type Access struct {
	Password secret.Text // or a token; empty: none was given

	Bound *secret.Binding // the addresses at which the credentials may be used; nil: there are none

	// TLS returns the settings of connections to a host, nil for plain text.
	TLS func(host string) (*tls.Config, error)
}

// Admin returns the address of the HTTP API of the system at a URL. Without ?admin= the API is at a port of the same host, and so
// it is named as the host is.
func (a Access) Admin(u *url.URL, plain, encrypted string) string {
	at := plan.Admin(u, plain, encrypted)
	if u.Query().Get("admin") == "" && a.Bound.Permit(u.Host) == nil {
		a.Bound.Learn(at)
	}
	return at
}
