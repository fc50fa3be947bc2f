package security

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/secret"
	"github.com/kt-bench/kt/internal/suggest"
)

// Settings are how to connect to the brokers of one cluster. Parse makes them; the zero value connects in plain text. They
// print no secret.
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
		store.mu.Lock()
		store.tell = tell
		store.mu.Unlock()
	}
}

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

// handshakeTimeout is Kafka's socket.connection.setup.timeout.ms: a dialer's time limit ends with the connection.
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

// TLS returns the configuration for a server of that name or IP address; nil: plain text. With no name it is for a client that
// connects to several hosts, and sets the name of each as crypto/tls does. The files of the stores are read again if they have
// changed.
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

// Values of security.protocol.
const (
	Plaintext = "PLAINTEXT" // neither TLS nor SASL
	onlySSL   = "SSL"
	saslPlain = "SASL_PLAINTEXT"
	saslSSL   = "SASL_SSL"
)

// Parse turns security properties into settings. It reports every problem, each with the source of the property, and opens the
// stores once to find out that they can be used. Warnings are of properties without effect, and of files with secrets that
// others can read. getenv is for mechanisms whose credentials are in the environment. named are the addresses that the owner of
// the properties named: those that hold credentials are bound to them.
func Parse(given map[string]plan.Given, named []string, getenv func(string) string) (Settings, []string, error) {
	v := &values{given: given, getenv: getenv}
	v.check()
	protocol := strings.ToUpper(v.text("security.protocol"))
	if !slices.Contains([]string{Plaintext, onlySSL, saslPlain, saslSSL}, protocol) {
		v.bad("security.protocol", "must be PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL")
	}
	var s Settings
	if protocol == onlySSL || protocol == saslSSL {
		s.tls = v.transport()
	}
	switch withSASL := protocol == saslPlain || protocol == saslSSL; {
	case withSASL:
		s.login = v.login()
	case v.has("sasl.jaas.config") || v.has("sasl.mechanism"):
		v.warn("the sasl. properties have no effect with security.protocol=%s: set it to SASL_SSL or SASL_PLAINTEXT", protocol)
	}
	if s.tls == nil && protocol == Plaintext && (v.has("ssl.truststore.location") || v.has("ssl.keystore.location")) {
		v.warn("the ssl. properties have no effect with security.protocol=%s: set it to SSL or SASL_SSL", protocol)
	}
	v.warnings = append(v.warnings, v.exposed()...)
	if err := errors.Join(v.problems...); err != nil {
		return Settings{}, v.warnings, err
	}
	s.stores, s.Password = v.stores, v.secret(urlPassword)
	if s.login != nil || slices.ContainsFunc(holders, v.has) {
		s.Bound = secret.Bind(named)
	}
	return s, v.warnings, nil
}

// holders are the properties that hold credentials, or lead to some. Trust stores and their passwords are none.
var holders = []string{"sasl.jaas.config", "ssl.keystore.location", "ssl.keystore.key", urlPassword}

type values struct {
	given    map[string]plan.Given
	getenv   func(string) string
	files    []string // with secrets
	stores   []*stored
	warnings []string
	problems []error
}

func (v *values) check() {
	for _, name := range slices.Sorted(maps.Keys(v.given)) {
		p := find(name)
		value := strings.TrimSpace(v.given[name].Value)
		if p.Secret && name != "sasl.jaas.config" { // parseJAAS learns its options one by one
			secret.Learn(value)
		}
		switch {
		case p.Name == "":
			var names []string
			for _, p := range Properties() {
				names = append(names, p.Name)
			}
			v.problems = append(v.problems, fmt.Errorf("unknown property %q%s%s", name, v.from(name), suggest.Hint(name, names, "")))
		case value == p.Default || value == "":
		case p.Use == "ignored":
			v.warn("%s%s has no effect: %s", name, v.from(name), p.Kt)
		case p.Use == "refused":
			v.bad(name, "%s: leave it out", p.Kt)
		}
	}
}

func (v *values) bad(name, format string, args ...any) {
	v.problems = append(v.problems, plan.At(v.given[name].Source, name, format, args...))
}

func (v *values) warn(format string, args ...any) {
	v.warnings = append(v.warnings, fmt.Sprintf(format, args...))
}

func (v *values) from(name string) string {
	if source := v.given[name].Source; source != "" {
		return " (from " + source + ")"
	}
	return ""
}

func (v *values) has(name string) bool { return v.given[name].Value != "" }

func (v *values) text(name string) string {
	if g, ok := v.given[name]; ok {
		return strings.TrimSpace(g.Value)
	}
	return find(name).Default
}

// secret returns a value as it was given, with the space around it.
func (v *values) secret(name string) secret.Text { return secret.Cover(v.given[name].Value) }

func (v *values) list(name string) []string {
	var items []string
	for item := range strings.SplitSeq(v.text(name), ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

var line = regexp.MustCompile(`:\d+$`)

// exposed warns of secrets that other users of this host can read: on the command line, and in files.
func (v *values) exposed() (warnings []string) {
	files := slices.Clone(v.files)
	for _, p := range Properties() {
		if !p.Secret || !v.has(p.Name) {
			continue
		}
		source := v.given[p.Name].Source
		if strings.HasPrefix(source, "--") {
			warnings = append(warnings, fmt.Sprintf("other users of this host can read %s in the list of processes: give it in a file, with --command-config", p.Name))
		}
		files = append(files, line.ReplaceAllString(source, ""))
	}
	slices.Sort(files)
	for _, file := range slices.Compact(files) {
		const others = 0o044 // may read, of the group and of everybody
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&others != 0 {
			warnings = append(warnings, fmt.Sprintf("%s holds a secret, and other users of this host can read it: chmod 600 %s", file, file))
		}
	}
	return warnings
}
