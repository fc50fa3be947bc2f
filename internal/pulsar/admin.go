package pulsar

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
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// admin asks the admin API of a cluster.
type admin struct {
	base   string // such as http://host:8080
	http   *http.Client
	access queue.Access
}

// Limits of an answer.
const (
	adminTimeout = 20 * time.Second
	adminBytes   = 16 << 20
	maxRedirects = 5
)

// newAdmin returns the API that the URL names.
func (s *System) newAdmin(config *tls.Config) *admin {
	return newAdmin(s.access.Admin(s.url, "8080", defaultTLSPort), s.access, config)
}

func newAdmin(base string, access queue.Access, config *tls.Config) *admin {
	dialer := &net.Dialer{Timeout: adminTimeout / 4}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if err := access.Bound.Permit(addr); err != nil {
			return nil, err
		}
		return dialer.DialContext(ctx, network, addr)
	}
	transport := &http.Transport{Proxy: nil, MaxIdleConnsPerHost: 4, DialContext: dial, TLSClientConfig: config}
	a := &admin{base: base, access: access}
	a.http = &http.Client{Transport: transport, Timeout: adminTimeout, CheckRedirect: a.follow}
	return a
}

// defaultTLSPort is Pulsar's own for the admin API with TLS.
const defaultTLSPort = "8443"

// follow follows the way to the broker that owns a partition. Only addresses that the token is bound to get it, which the brokers
// of the cluster are: Go's client would give it to other ports of the same host too, and over plain HTTP.
func (a *admin) follow(next *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return errors.New("too many redirects")
	}
	next.Header.Del("Authorization")
	first := via[0].URL
	if next.URL.Scheme == first.Scheme && (next.URL.Host == first.Host || a.access.Bound.Permit(next.URL.Host) == nil) {
		a.logIn(next)
	}
	return nil
}

// learn notes the brokers of the cluster. The list has one port of each: that without TLS, if there is one. A redirect over TLS
// leads to the other, which is taken to be the port of the API, or Pulsar's default.
func (a *admin) learn(brokers []string) {
	for _, addr := range brokers {
		a.access.Bound.Learn(addr)
		if at, _ := url.Parse(a.base); at != nil && at.Scheme == "https" {
			a.access.Bound.Learn(net.JoinHostPort(hostOf(addr), at.Port()), net.JoinHostPort(hostOf(addr), defaultTLSPort))
		}
	}
}

func (a *admin) logIn(r *http.Request) {
	if token := a.access.Password.Reveal(); token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
}

// statusError is an answer that is not what was wanted.
type statusError struct {
	code   int
	reason string
}

func (e *statusError) Error() string { return cmp.Or(e.reason, http.StatusText(e.code)) }

// status returns the code of an answer that is an error, 0 of other errors.
func status(err error) int {
	var s *statusError
	if errors.As(err, &s) {
		return s.code
	}
	return 0
}

// do asks for a path, with a body in JSON, and reads the answer into a value. Both may be nil.
func (a *admin) do(ctx context.Context, method, path string, body, into any) error {
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, &content)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	a.logIn(req)
	answer, err := a.http.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", a.base, cause(err))
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	text, err := io.ReadAll(io.LimitReader(answer.Body, adminBytes))
	if answer.StatusCode >= http.StatusBadRequest {
		var e struct{ Reason string }
		_ = json.Unmarshal(text, &e) // a proxy may answer something else
		reason, _, _ := strings.Cut(e.Reason, "\n")
		return &statusError{code: answer.StatusCode, reason: strings.TrimSpace(reason)}
	}
	if err == nil && into != nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("%s%s: %w", a.base, path, err)
	}
	return nil
}

// host returns the host that is asked.
func (a *admin) host() string {
	_, addr, _ := strings.Cut(a.base, "://")
	return hostOf(addr)
}

func (a *admin) get(ctx context.Context, path string, into any) error {
	return a.do(ctx, http.MethodGet, path, nil, into)
}

// brokers returns the web addresses of the brokers that are active, sorted.
func (a *admin) brokers(ctx context.Context) (list []string, err error) {
	err = a.get(ctx, "/admin/v2/brokers", &list)
	slices.Sort(list)
	for i := range list {
		list[i] = theme.Name(list[i])
	}
	return list, cmp.Or(err, result.CheckBrokers(len(list)))
}

// Topics returns the names of the topics of the namespace.
func (s *System) Topics(ctx context.Context) (topics []string) {
	config, err := s.access.TLS("")
	if err != nil {
		return nil
	}
	var all []string                                                           // with the partitions of each
	_ = s.newAdmin(config).get(ctx, "/admin/v2/persistent/"+s.namespace, &all) // names for completion: without an answer there are none
	for _, name := range all {
		name = name[strings.LastIndexByte(name, '/')+1:]
		if at := strings.LastIndex(name, partitionOf); at > 0 {
			name = name[:at]
		}
		topics = append(topics, name)
	}
	slices.Sort(topics)
	return slices.Compact(topics)
}

// partitionStats are what the brokers count of a partition.
type partitionStats struct {
	MsgInCounter, BytesInCounter, PublishRateLimitedTimes int64 // since its broker has loaded it
	Subscriptions                                         map[string]struct {
		MsgBacklog                 int64 // in entries
		BacklogSize, MsgOutCounter int64
		Consumers                  []struct{ AvgMessagesPerEntry, AvailablePermits int64 }
	}
}

// backlog returns how many messages of a subscription wait, -1 if p is nil. Entries are batches: where there are some,
// it is a guess by their bytes and those of a message, else by the mean of an entry, which follows what was sent slowly.
func (p *partitionStats) backlog(subscription string) int64 {
	if p == nil {
		return -1
	}
	s, perEntry := p.Subscriptions[subscription], int64(1)
	if s.MsgBacklog > 0 && s.BacklogSize > 0 && p.MsgInCounter > 0 {
		return max(s.MsgBacklog, int64(float64(s.BacklogSize)*float64(p.MsgInCounter)/float64(p.BytesInCounter)))
	}
	for _, c := range s.Consumers {
		perEntry = max(perEntry, c.AvgMessagesPerEntry)
	}
	return s.MsgBacklog * perEntry
}
