package queue

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

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

// Dial connects to a host at which the credentials may be used.
func (a Access) Dial(ctx context.Context, host string, encrypted bool, most time.Duration) (net.Conn, error) {
	if err := a.Bound.Permit(host); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	if !encrypted {
		return new(net.Dialer).DialContext(ctx, "tcp", host)
	}
	name, _, _ := net.SplitHostPort(host) // it was checked
	config, err := a.TLS(name)
	if err != nil {
		return nil, err
	}
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", host) // nil: only the admin API asks for TLS
	if err != nil {
		return nil, fmt.Errorf("connect to %s by TLS: %w", host, err)
	}
	return conn, nil
}

// API is the HTTP API of a system, in JSON.
type API struct {
	Base  string // such as http://host:8080, before each address
	HTTP  http.Client
	LogIn func(*http.Request)
}

// NewAPI returns an API whose answers may take that long.
func (a Access) NewAPI(base string, most time.Duration, logIn func(*http.Request), follow func(next *http.Request, via []*http.Request) error) API {
	dial := func(encrypted bool) func(ctx context.Context, _, host string) (net.Conn, error) {
		return func(ctx context.Context, _, host string) (net.Conn, error) {
			return a.Dial(ctx, host, encrypted, dialTimeout)
		}
	}
	transport := &http.Transport{DialContext: dial(false), DialTLSContext: dial(true), MaxIdleConnsPerHost: 4}
	return API{base, http.Client{Timeout: most, Transport: transport, CheckRedirect: follow}, logIn}
}

const dialTimeout = 5 * time.Second

const (
	maxAnswer = 16 << 20 // bytes
	maxReason = 300      // bytes of what a server says about an error
)

// StatusError is an answer that is not what was wanted.
type StatusError struct {
	Code   int
	Reason string
}

func (e *StatusError) Error() string { return cmp.Or(e.Reason, http.StatusText(e.Code)) }

// Status returns the code of an answer that is an error, 0 of other errors.
func Status(err error) int {
	if s := new(StatusError); errors.As(err, &s) {
		return s.Code
	}
	return 0
}

// Cause returns the innermost error.
func Cause(err error) error {
	for errors.Unwrap(err) != nil {
		err = errors.Unwrap(err)
	}
	return err
}

// Get reads what is at an address into a value; nil: only whether it is there. Its numbers stay as they are written.
func (a *API) Get(ctx context.Context, at string, into any) error {
	return a.Do(ctx, http.MethodGet, at, nil, into)
}

// Do sends a body in JSON to an address, nil for none, and reads the answer as Get does.
func (a *API) Do(ctx context.Context, method, at string, body, into any) error {
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, a.Base+at, &content)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	a.LogIn(request)
	answer, err := a.HTTP.Do(request)
	if err != nil { // it has the whole address
		return fmt.Errorf("%s://%s: %w", request.URL.Scheme, request.URL.Host, Cause(err))
	}
	received := io.LimitReader(answer.Body, maxAnswer)
	defer func() {
		_, _ = io.Copy(io.Discard, received) // only the connection of an answer that was read to its end is kept
		_ = answer.Body.Close()
	}()
	text := json.NewDecoder(received)
	if answer.StatusCode/100 != 2 { // a redirect is not followed, and is none
		var e struct{ Reason string }
		_ = text.Decode(&e) // a proxy may answer something else
		reason, _, _ := strings.Cut(e.Reason, "\n")
		return fmt.Errorf("%s: %w", a.Base+at, &StatusError{Code: answer.StatusCode, Reason: strings.TrimSpace(reason[:min(len(reason), maxReason)])})
	}
	if into == nil {
		return nil
	}
	text.UseNumber()
	if err := text.Decode(into); err != nil {
		return fmt.Errorf("%s: %w", a.Base+at, err)
	}
	return nil
}
