package security

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"

	"github.com/kt-bench/kt/internal/secret"
)

// Settings are how to connect to the brokers of one cluster. Parse makes them; the zero value
// connects in plain text. They print no secret.
type Settings struct {
	tls   *transport // nil: plain text
	login *login     // nil: no SASL

	// Password is the value of url.password, for a system that a URL names: a password, or a token.
	Password secret.Text

	// Bound are the addresses at which the credentials may be used; nil: there are none.
	Bound *secret.Binding

	stores []*stored // all of them
}

// Notify sets the function that is called when the file of a store has changed and cannot be read: once, until the file can be
// read again. Connections go on with what was read before. tell is called from several goroutines.
func (s Settings) Notify(tell func(text string)) {
	for _, store := range s.stores {
		store.notify(tell)
	}
}

// login is how to authenticate.
type login struct {
	name      string
	mechanism sasl.Mechanism
}

// Protocol returns the value of security.protocol.
func (s Settings) Protocol() string {
	switch {
	case s.tls != nil && s.login != nil:
		return saslSSL
	case s.login != nil:
		return saslPlain
	case s.tls != nil:
		return onlySSL
	}
	return Plaintext
}

// Mechanism returns the value of sasl.mechanism; "": there is no SASL.
func (s Settings) Mechanism() string {
	if s.login == nil {
		return ""
	}
	return s.login.name
}

// Encrypts reports whether connections are made with TLS.
func (s Settings) Encrypts() bool { return s.tls != nil }

// String returns the protocol and the mechanism, which are no secret.
func (s Settings) String() string { return strings.TrimSpace(s.Protocol() + " " + s.Mechanism()) }

// GoString hides what Settings hold.
func (s Settings) GoString() string { return s.String() }

// Options returns franz-go's options for SASL. TLS is the matter of Dial.
func (s Settings) Options() []kgo.Opt {
	if s.login == nil {
		return nil
	}
	return []kgo.Opt{kgo.SASL(s.login.mechanism)}
}

// Dialer connects to an address, HOST:PORT.
type Dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// handshakeTimeout bounds a handshake by itself, because a dialer's time limit ends with the
// connection. It is Kafka's socket.connection.setup.timeout.ms.
const handshakeTimeout = 10 * time.Second

// Dial returns a dialer that makes a TLS connection of what dial connects to, if there is TLS. It refuses addresses that the
// credentials are not bound to.
func (s Settings) Dial(dial Dialer) Dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if err := s.Bound.Permit(address); err != nil {
			return nil, err
		}
		if s.tls == nil {
			return dial(ctx, network, address)
		}
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		config, err := s.TLS(host)
		if err != nil {
			return nil, err
		}
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
		defer cancel()
		over := tls.Client(conn, config)
		if err := over.HandshakeContext(ctx); err != nil {
			_ = conn.Close() // the handshake's error is the one to report
			return nil, &HandshakeError{Err: err}
		}
		return over, nil
	}
}

// TLS returns the configuration for a server of that name or IP address; nil: plain text. With no name it is for a
// client that connects to several hosts, and sets the name of each as crypto/tls does. The
// files of the stores are read again if they have changed.
func (s Settings) TLS(server string) (*tls.Config, error) {
	if s.tls == nil {
		return nil, nil
	}
	return s.tls.config(server)
}

// HandshakeError is the error of a TLS handshake. The connection was made before.
type HandshakeError struct{ Err error }

func (e *HandshakeError) Error() string { return "TLS handshake: " + e.Err.Error() }

// Unwrap returns the error of the TLS library.
func (e *HandshakeError) Unwrap() error { return e.Err }
