package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"time"
)

// security says how this client connects, and checks the certificate of each broker. One that is not accepted is a
// listener that does not answer.
func (e *examination) security(ctx context.Context) {
	s := e.Access.Security
	switch {
	case s.Encrypts() && s.Mechanism() == "":
		e.pass("security", "", "%s: TLS, and no SASL", s.Protocol())
	case s.Mechanism() == "":
		e.pass("security", "", "%s: no TLS and no SASL", s.Protocol())
	case !s.Encrypts():
		e.warn("security", "", "set security.protocol=SASL_SSL if others may be on the way to the brokers", "%s: authenticated by %s without TLS, "+
			"so whoever answers at these addresses is taken for a broker, can name others, and sees what is sent", s.Protocol(), s.Mechanism())
	default:
		e.pass("security", "", "%s: authenticated by %s", s.Protocol(), s.Mechanism())
	}
	for _, b := range e.answering {
		about := aboutBroker(b.ID)
		state, err := e.cluster.Handshake(ctx, b.Addr)
		switch {
		case err != nil:
			e.fail("tls", about, "", "%v", err) // which says what to do
		case state != nil:
			host, _, _ := net.SplitHostPort(b.Addr) // kt joined it
			c := e.certificate(state, host)
			c.Name, c.About = "tls", about
			e.add(c)
		}
	}
}

// soon is the time before the end of a certificate in which somebody should renew it.
const soon = 30 * 24 * time.Hour

// certificate checks the certificate of a broker that was accepted.
func (e *examination) certificate(state *tls.ConnectionState, host string) Check {
	leaf := state.PeerCertificates[0]
	left := leaf.NotAfter.Sub(e.Now)
	c := Check{
		State: Pass, Figures: map[string]int64{"certificate_days": int64(left.Hours() / 24)},
		Text: fmt.Sprintf("%s, certificate of %s by %s until %s", tls.VersionName(state.Version), subject(leaf), leaf.Issuer, leaf.NotAfter.UTC().Format(time.DateOnly)),
	}
	switch err := leaf.VerifyHostname(host); {
	case err != nil: // ssl.endpoint.identification.algorithm is empty, or its common name counts
		c.State, c.Advice = Warn, "anybody with a certificate of this authority can pose as the broker: give it one for the name that it advertises"
		c.Text += fmt.Sprintf(", which does not fit %s", host)
	case left < e.Duration:
		c.State, c.Advice = Warn, "renew it at the broker: it ends before the load does"
	case left < soon:
		c.State, c.Advice = Warn, "renew it at the broker soon"
	default:
		c.Text += fmt.Sprintf(", which fits %s", host)
	}
	return c
}

func subject(c *x509.Certificate) string {
	if name := c.Subject.String(); name != "" {
		return name
	}
	return "no subject"
}
