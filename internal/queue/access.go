package queue

import (
	"crypto/tls"

	"github.com/kt-bench/kt/internal/secret"
)

// Access is how a system is reached that a URL names: all that a plan must not hold.
type Access struct {
	Password secret.Text // or a token; empty: none was given

	// TLS returns the settings of connections to a host, nil for plain text.
	TLS func(host string) (*tls.Config, error)
}
