package kafka

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Listener is the address that a broker advertises, as this host finds it. One with a cause is the error of a broker that does not
// answer there: a client gets no further with it, even if a bootstrap server answers.
type Listener struct {
	Broker int32
	Addr   string   // HOST:PORT
	IPs    []string // that the host's name stands for
	Cause  error    // nil: a broker answers
	Advice string
}

func (l *Listener) Error() string {
	return fmt.Sprintf("broker %d advertises %s: %v: %s", l.Broker, l.Addr, l.Cause, l.Advice)
}

// Unwrap returns the cause.
func (l *Listener) Unwrap() error { return l.Cause }

const maxAsked = 100

// Listeners asks each broker at the address that it advertises, and reports whether it answers this host. It asks maxAsked
// brokers at once, each within the time of the Access.
func (c *Cluster) Listeners(ctx context.Context) []Listener {
	all := make([]Listener, len(c.Info.Brokers))
	var wg sync.WaitGroup
	turns := make(chan struct{}, maxAsked)
	for i, b := range c.Info.Brokers {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			all[i] = Listener{Broker: b.ID, Addr: b.Addr}
			c.ask(ctx, &all[i])
		})
	}
	wg.Wait()
	return all
}

func (c *Cluster) ask(ctx context.Context, l *Listener) {
	host, _, _ := net.SplitHostPort(l.Addr) // kt joined it
	lookUp, cancel := context.WithTimeout(ctx, cmp.Or(c.access.Timeout, defaultTimeout))
	defer cancel()
	var err error
	if l.IPs, err = net.DefaultResolver.LookupHost(lookUp, host); err != nil {
		l.Cause = fmt.Errorf("the name does not resolve from here (%w)", errorCause(err))
		l.Advice = fmt.Sprintf("set advertised.listeners of broker %d to a name that clients resolve, or add the name to DNS or /etc/hosts", l.Broker)
		return
	}
	said := slices.IndexFunc(c.Unreached, func(err error) bool { return strings.HasPrefix(err.Error(), l.Addr+": ") })
	if said >= 0 { // as a bootstrap server, so that it is not waited for twice
		l.Cause = errors.Unwrap(c.Unreached[said])
	} else {
		l.Cause = c.access.reach(ctx, l.Addr)
	}
	if l.Cause != nil {
		l.Advice = c.mend(l.Broker, l.IPs[0], l.Cause)
	}
}

func (c *Cluster) mend(broker int32, ip string, err error) string {
	setting := fmt.Sprintf("advertised.listeners of broker %d", broker)
	var number syscall.Errno // of a connection that was refused, or has no way
	switch {
	case isLoopback(ip) && !slices.ContainsFunc(c.access.Bootstrap, isLoopback): // no bootstrap server is this host
		return fmt.Sprintf("that address is this host itself: set %s to one that clients reach", setting)
	case errors.As(err, &number), errors.Is(err, errNoConnection):
		return fmt.Sprintf("start the broker, open the way there (firewall, port mapping), or set %s to an address that clients reach", setting)
	}
	return fmt.Sprintf("or correct %s", setting) // the cause says what else
}

// Handshake makes a TLS connection to a broker and returns what was agreed on; nil: the Access has no TLS.
func (c *Cluster) Handshake(ctx context.Context, addr string) (*tls.ConnectionState, error) {
	if !c.access.Security.Encrypts() {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.access.Timeout, defaultTimeout))
	defer cancel()
	conn, err := c.access.Security.Dial((&net.Dialer{}).DialContext)(ctx, "tcp", addr)
	if err != nil {
		return nil, c.access.cause(err)
	}
	defer func() { _ = conn.Close() }()         // it was only a question
	state := conn.(*tls.Conn).ConnectionState() // as Dial makes it
	return &state, nil
}

// Reach asks each broker at the address that it advertises. Its error is that of names that do not resolve from here, and of
// all brokers if none answers: a client that goes there would only time out. A broker that is down is no error while others
// answer, because another one may lead its partitions: it is among unreached.
func (c *Cluster) Reach(ctx context.Context) (unreached []error, err error) {
	var unnamed []error
	all := c.Listeners(ctx)
	for i := range all {
		switch l := &all[i]; {
		case l.Cause == nil:
		case len(l.IPs) == 0:
			unnamed = append(unnamed, l)
		default:
			unreached = append(unreached, l)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(unnamed) > 0 || len(unreached) == len(all) {
		return nil, errors.Join(few(append(unnamed, unreached...))...)
	}
	return few(unreached), nil
}

const maxNamed = 10

func few(errs []error) []error {
	if len(errs) <= maxNamed {
		return errs
	}
	others := errors.Join(errs[maxNamed:]...) // found by their types, and not shown
	return append(errs[:maxNamed:maxNamed], fmt.Errorf("and %d more brokers do not answer%.0w", len(errs)-maxNamed, others))
}

func isLoopback(addr string) bool {
	if host, _, err := net.SplitHostPort(addr); err == nil {
		addr = host
	}
	parsed := net.ParseIP(strings.Trim(addr, "[]"))
	return addr == "localhost" || parsed != nil && parsed.IsLoopback()
}
