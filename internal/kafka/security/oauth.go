package security

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"

	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/secret"
)

// TokenError is a token, or another credential, that could not be had or was refused, in one line.
type TokenError struct{ Text string }

func (e *TokenError) Error() string { return e.Text }

func tokenError(format string, args ...any) error {
	return &TokenError{fmt.Sprintf("OAUTHBEARER: "+format, args...)}
}

// oauth finds out where tokens come from: an endpoint, a file, an option of the login module, or Kafka's own unsecured tokens.
func (v *values) oauth(m module) sasl.Mechanism {
	const endpoint = "sasl.oauthbearer.token.endpoint.url"
	t := &tokens{window: v.number("sasl.login.refresh.window.factor"), first: loginTime}
	if v.has("sasl.login.connect.timeout.ms") || v.has("sasl.login.read.timeout.ms") || v.has("sasl.login.retry.backoff.max.ms") {
		t.first = 0 // the user has limits
	}
	at, err := url.Parse(v.text(endpoint))
	fixed := m.options["oauth.access.token"]
	switch {
	case err != nil:
		v.bad(endpoint, "it is no URL")
	case at.Scheme == "file":
		v.files = append(v.files, at.Path)
		t.ask = func(context.Context) (secret.Text, error) { // each time, because whoever renews the token writes it again
			data, err := input.Read(at.Path, input.Settings)
			if err != nil {
				return secret.Text{}, tokenError("read the token in %s: %v", at.Path, err)
			}
			return secret.New(strings.TrimSpace(string(data))), nil
		}
	case at.Scheme == "https" || at.Scheme == "http":
		t.ask = v.endpoint(endpoint, at, m)
	case v.text(endpoint) != "":
		v.bad(endpoint, "it must begin with https:// or file://")
	case fixed.Reveal() != "":
		t.ask = func(context.Context) (secret.Text, error) { return fixed, nil }
	case m.option("unsecuredLoginStringClaim_sub") != "":
		t.ask = func(context.Context) (secret.Text, error) { return unsecured(m, time.Now()), nil }
	default:
		v.bad(endpoint, "sasl.mechanism is OAUTHBEARER, which needs the URL of a token endpoint, or of a file (file:///…)")
	}
	extensions := make(map[string]string)
	for name, value := range m.options {
		if extension, ok := strings.CutPrefix(name, "extension_"); ok {
			extensions[extension] = value.Reveal()
		}
	}
	return bearer{oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
		token, err := t.current(ctx, time.Now())
		return oauth.Auth{Token: token.Reveal(), Extensions: extensions}, err
	})}
}

func (v *values) number(name string) float64 {
	n, err := strconv.ParseFloat(v.text(name), 64)
	if err != nil || n < 0 {
		v.bad(name, "it must be a number of 0 or more")
	}
	return n
}

type tokens struct {
	ask    func(context.Context) (secret.Text, error)
	window float64 // share of its life for which a token is used again

	// first bounds the wait for the first token with all tries, so that a wrong URL is named soon. 0: no bound.
	first time.Duration

	mu    sync.Mutex // guards the rest; one asks, and others wait
	token secret.Text
	until time.Time // zero: not to be used again
	end   time.Time // of the token's life
}

func (t *tokens) current(ctx context.Context, now time.Time) (secret.Text, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Before(t.until) {
		return t.token, nil
	}
	if t.token.Reveal() == "" && t.first > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t.first)
		defer cancel()
	}
	token, err := t.ask(ctx)
	switch {
	case err != nil && now.Before(t.end):
		return t.token, nil // it is good for some time yet
	case err != nil:
		return secret.Text{}, err
	}
	t.token, t.until, t.end = token, time.Time{}, time.Time{}
	if end := expiry(token); !end.IsZero() {
		if end.Before(now) {
			return token, tokenError("the token expired at %s: renew it, or check the clock of this host", end.UTC().Format(time.RFC3339))
		}
		t.end = end
		t.until = now.Add(time.Duration(t.window * float64(end.Sub(now))))
	}
	return token, nil
}

func expiry(token secret.Text) time.Time {
	parts := strings.Split(token.Reveal(), ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	data, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	var claims struct {
		Exp float64 `json:"exp"`
	}
	if err != nil || json.Unmarshal(data, &claims) != nil || claims.Exp <= 0 || claims.Exp > 1e11 {
		return time.Time{}
	}
	return time.Unix(int64(claims.Exp), 0)
}

// unsecured makes a token without a signature, as Kafka's clients do for tests.
func unsecured(m module, now time.Time) secret.Text {
	life := time.Hour
	if n, err := strconv.ParseFloat(m.option("unsecuredLoginLifetimeSeconds"), 64); err == nil {
		life = time.Duration(n * float64(time.Second))
	}
	claims := map[string]any{"iat": float64(now.UnixMilli()) / 1000, "exp": float64(now.Add(life).UnixMilli()) / 1000}
	for name, value := range m.options {
		if claim, ok := strings.CutPrefix(name, "unsecuredLoginStringClaim_"); ok {
			claims[claim] = value.Reveal()
		}
		if claim, ok := strings.CutPrefix(name, "unsecuredLoginNumberClaim_"); ok {
			if n, err := strconv.ParseFloat(value.Reveal(), 64); err == nil {
				claims[claim] = n
			}
		}
	}
	payload, err := json.Marshal(claims)
	if err != nil { // of an infinite number
		payload = []byte("{}")
	}
	encode := base64.RawURLEncoding.EncodeToString
	return secret.New(encode([]byte(`{"alg":"none"}`)) + "." + encode(payload) + ".")
}

// bearer says why a broker refuses a token, which franz-go leaves out.
type bearer struct{ sasl.Mechanism }

func (b bearer) Authenticate(ctx context.Context, host string) (sasl.Session, []byte, error) {
	_, first, err := b.Mechanism.Authenticate(ctx, host)
	return bearerSession{}, first, err
}

// bearerSession follows RFC 7628: an answer is the reason for a refusal.
type bearerSession struct{}

func (bearerSession) Challenge(answer []byte) (bool, []byte, error) {
	if len(answer) == 0 {
		return true, nil, nil
	}
	var reason struct{ Status, Scope string }
	_ = json.Unmarshal(answer, &reason) // without a reason it is a refusal too
	return false, nil, tokenError("the broker refuses the token (%.40q): check its audience, issuer and scope, and what the broker expects", reason.Status)
}

// authorities returns those of the login module's own options, else of the system and of ssl.truststore.
func (v *values) authorities(m module) func() (*x509.CertPool, error) {
	own := v.trust("ssl.", m.options["ssl.truststore.certificates"], m.option("ssl.truststore.location"), m.options["ssl.truststore.password"])
	if own != nil {
		return func() (*x509.CertPool, error) {
			found, err := own.load()
			return found.pool, err
		}
	}
	store := v.truststore()
	return func() (*x509.CertPool, error) {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool() // a host without authorities
		}
		if store != nil {
			found, err := store.load()
			if err != nil {
				return nil, err
			}
			for _, c := range found.authorities {
				pool.AddCert(c)
			}
		}
		return pool, nil
	}
}

func (v *values) environment(name string) string {
	if v.getenv == nil {
		return ""
	}
	return v.getenv(name)
}
