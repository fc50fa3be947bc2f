// Package queue is what the drivers of systems without offsets have in common. Consumers of such a system take
// messages from queues, as with RabbitMQ and Pulsar.
//
// A queue stands for a partition. [Lanes] gives each message its queue and its stamp, and notes its outcome.
// [Arrivals] counts what was read: a message's number in the order of arrival stands for its offset.
// [Events] is what both watch beside the load, and [Property] a setting of their clients.
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
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/payload"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/secret"
)

// Property is a setting of a system's clients, which are set to an S.
type Property[S any] struct {
	Name, Default string // Default "": it is not set
	Client        string // the client's own name of it
	Set           func(s *S, value string) error
}

// Names returns the names of properties.
func Names[S any](all []Property[S]) (names []string) {
	for _, p := range all {
		names = append(names, p.Name)
	}
	return names
}

// Properties are the settings of the clients of a system.
type Properties[S any] struct {
	System             string
	Producer, Consumer []Property[S]
	Nearest            map[string]string // what comes nearest to properties that it does not have
}

// System is a system that a plan names, with the settings of its clients.
type System[S any] struct {
	Access
	URL      *url.URL
	Settings S
	Values   *payload.Values // nil: the plan writes nothing

	of                 *Properties[S]
	producer, consumer []result.Setting // nil: nobody writes, or reads
}

// New checks the properties of the clients of a plan, and makes what its messages hold. It completes the plan with what a payload
// file says. It makes nothing for a URL that it does not understand.
func (of *Properties[S]) New(p *plan.Plan, producer, consumer map[string]plan.Given, a Access) (*System[S], error) {
	u, err := plan.ParseURL(p.URL)
	if err != nil {
		return nil, fmt.Errorf("--url: %w", err)
	}
	s := &System[S]{Access: a, URL: u, of: of}
	var errs [3]error
	if p.Writes() {
		s.Values, errs[0] = payload.MakeValues(p)
		s.producer, errs[1] = s.set(of.Producer, producer)
	}
	if p.Reads() {
		s.consumer, errs[2] = s.set(of.Consumer, consumer)
	}
	return s, errors.Join(errs[:]...)
}

// Acks returns the acknowledgements that the producers wait for.
func (s *System[S]) Acks() string {
	if i := slices.IndexFunc(s.producer, func(p result.Setting) bool { return p.Name == "acks" }); i >= 0 {
		return s.producer[i].Value
	}
	return ""
}

// Describe completes a header with the settings of the clients.
func (s *System[S]) Describe(h *result.Header) { h.Config, h.ConsumerConfig = s.producer, s.consumer }

// set sets the properties that clients have: to what was given, and to the defaults of others. It returns all of them.
func (s *System[S]) set(has []Property[S], given map[string]plan.Given) ([]result.Setting, error) {
	var errs []error
	names := Names(has)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(names, name) {
			advice := cmp.Or(s.of.Nearest[name], "leave it out; there is "+strings.Join(names, ", "))
			errs = append(errs, plan.At(given[name].Source, name, "%s does not have it: %s", s.of.System, advice))
		}
	}
	var all []result.Setting
	for _, p := range has {
		at := result.Setting{Name: p.Name, Value: p.Default, Default: p.Default, Source: "default", Client: p.Client}
		if g, ok := given[p.Name]; ok {
			at.Value, at.Source = strings.TrimSpace(g.Value), g.Source
		}
		all = append(all, at)
		if at == (result.Setting{Name: p.Name, Source: "default", Client: p.Client}) {
			continue // it has no default
		}
		if err := p.Set(&s.Settings, at.Value); err != nil {
			errs = append(errs, plan.At(at.Source, p.Name+"="+at.Value, "%w", err))
		}
	}
	return all, errors.Join(errs...)
}

// Derive sets a property, if the clients have it and nobody gave it.
func (s *System[S]) Derive(name, value, note string) {
	has := append(slices.Clone(s.of.Producer), s.of.Consumer...)
	for _, all := range [][]result.Setting{s.producer, s.consumer} {
		for i := range all {
			if p := &all[i]; p.Name == name && p.Source == "default" {
				at := slices.IndexFunc(has, func(p Property[S]) bool { return p.Name == name })
				_ = has[at].Set(&s.Settings, value) // kt's own values are right
				p.Value, p.Source, p.Note = value, "derived", note
			}
		}
	}
}

// Number reads a whole number.
func Number[N ~int | ~uint | ~int64](value string, least, most int64, into *N) error {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < least || n > most {
		return fmt.Errorf("write a whole number from %d to %d", least, most)
	}
	*into = N(n)
	return nil
}

// YesNo are the words of a setting that is on or off.
var YesNo = map[string]bool{"true": true, "false": false}

// Millis reads a time in milliseconds, which may be as long as one of Kafka's clients.
func Millis(value string, least time.Duration, into *time.Duration) error {
	var n int64
	err := Number(value, least.Milliseconds(), math.MaxInt32, &n)
	*into = time.Duration(n) * time.Millisecond
	return err
}

// Choice reads one of some words.
func Choice[V any](value string, words map[string]V, into *V) error {
	v, ok := words[value]
	if !ok {
		return fmt.Errorf("write %s", strings.Join(slices.Sorted(maps.Keys(words)), " or "))
	}
	*into = v
	return nil
}

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

// Get reads what is at an address into a value; nil: only whether it is there. Its numbers stay as they are written, and a string takes a plain line too.
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
	if line, ok := into.(*string); ok { // Pulsar tells its version as a plain line
		const most = 100
		whole, err := io.ReadAll(received)
		*line = strings.Trim(strings.TrimSpace(string(whole[:min(len(whole), most)])), `"`)
		return err
	}
	text.UseNumber()
	if err := text.Decode(into); err != nil {
		return fmt.Errorf("%s: %w", a.Base+at, err)
	}
	return nil
}
