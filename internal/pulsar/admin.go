package pulsar

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
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

type admin struct {
	queue.API
	base   string // such as http://host:8080
	access queue.Access
}

const (
	adminTimeout = 20 * time.Second
	maxRedirects = 5
)

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
	a.HTTP, a.LogIn = http.Client{Transport: transport, Timeout: adminTimeout, CheckRedirect: a.follow}, a.logIn
	return a
}

// defaultTLSPort is Pulsar's own for the admin API with TLS.
const defaultTLSPort = "8443"

// follow follows the way to the broker that owns a partition. Only addresses that the token is bound to get it: Go's client
// would give it to other ports of the same host too, and over plain HTTP.
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

// learn notes the brokers of the cluster, with one port of each. A redirect over TLS leads to another: that of the API, or
// Pulsar's default.
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

// do asks for a path, as API.Do does. An error of the connection names the address alone.
func (a *admin) do(ctx context.Context, method, path string, body, into any) error {
	err := a.Do(ctx, method, a.base+path, body, into)
	if failed := new(url.Error); errors.As(err, &failed) {
		return fmt.Errorf("%s: %w", a.base, cause(err))
	}
	return err
}

// remove deletes what is at a path, if there is something.
func (a *admin) remove(ctx context.Context, path string) error {
	err := a.do(ctx, http.MethodDelete, path+"?force=true", nil, nil)
	if queue.Status(err) == http.StatusNotFound {
		return nil
	}
	return err
}

func (a *admin) get(ctx context.Context, path string, into any) error {
	return a.do(ctx, http.MethodGet, path, nil, into)
}

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

type partitionStats struct {
	MsgInCounter, BytesInCounter, PublishRateLimitedTimes int64 // since its broker has loaded it
	Subscriptions                                         map[string]struct {
		MsgBacklog                 int64 // in entries
		BacklogSize, MsgOutCounter int64
		Consumers                  []struct{ AvgMessagesPerEntry, AvailablePermits int64 }
	}
}

// backlog returns how many messages of a subscription wait, -1 if p is nil. Entries are batches, so it is a guess.
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
