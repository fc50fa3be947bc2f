package security

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// FailedError is a failure of TLS or SASL in one line: the cause and what to do.
type FailedError struct {
	Text string
	Err  error
}

func (e *FailedError) Error() string { return e.Text }

// Unwrap returns the error of the library.
func (e *FailedError) Unwrap() error { return e.Err }

// Explain returns a FailedError for a failure of TLS or SASL, and any other error as it is.
func (s Settings) Explain(err error) error {
	if err == nil {
		return nil
	}
	text := s.explainSASL(err)
	if text == "" {
		text = s.explainTLS(err)
	}
	if text == "" {
		return err
	}
	return &FailedError{Text: text, Err: err}
}

func (s Settings) explainSASL(err error) string {
	var token *TokenError
	switch {
	case errors.As(err, &token):
		return token.Error()
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		return s.refusal()
	case errors.Is(err, kerr.UnsupportedSaslMechanism):
		return fmt.Sprintf("the broker does not have the mechanism %s: set sasl.mechanism to one that its listener has (sasl.enabled.mechanisms)", s.Mechanism())
	case errors.Is(err, kerr.IllegalSaslState):
		return fmt.Sprintf("the listener wants no SASL, but security.protocol is %s: set it to %s, or name another port", s.Protocol(), strings.TrimPrefix(s.Protocol(), "SASL_"))
	case s.login != nil && strings.Contains(err.Error(), "scram"):
		return fmt.Sprintf("%s failed (%s): check user name and password in sasl.jaas.config, and that the broker has them for this mechanism", s.Mechanism(), last(err))
	case s.Mechanism() == "GSSAPI" && strings.Contains(err.Error(), "KDC_ERR_S_PRINCIPAL_UNKNOWN"):
		return fmt.Sprintf("GSSAPI: the KDC does not know this broker's service (%s): check sasl.kerberos.service.name, and connect by the host name that the broker's principal has", brief(err))
	case s.Mechanism() == "GSSAPI" && strings.Contains(err.Error(), "KRB"):
		return fmt.Sprintf("GSSAPI: Kerberos refused (%s): check principal, keytab and krb5.conf", brief(err))
	}
	return ""
}

func (s Settings) refusal() string {
	next := "check user name and password in sasl.jaas.config, and that the broker has them for this mechanism"
	switch s.Mechanism() {
	case "OAUTHBEARER":
		next = "check the scope and the audience of the token, and what the broker expects (sasl.oauthbearer.expected.audience, …issuer)"
	case "AWS_MSK_IAM":
		next = "check the AWS credentials, their policy (kafka-cluster:Connect) and the clock of this host"
	case "GSSAPI":
		next = "check that the broker has a keytab for sasl.kerberos.service.name and its host name"
	}
	return fmt.Sprintf("the broker refuses these credentials of %s: %s", s.Mechanism(), next)
}

func (s Settings) explainTLS(err error) string {
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var record tls.RecordHeaderError
	var remote *net.OpError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return expired(invalid.Cert)
	case errors.As(err, &invalid):
		return fmt.Sprintf("the broker's certificate cannot be used (%v): give the broker another one", invalid)
	case errors.As(err, &unknown):
		return fmt.Sprintf("the broker's certificate is signed by an authority that kt does not trust (%s): put that authority into ssl.truststore.location", issuer(err))
	case errors.As(err, &name):
		return fmt.Sprintf("the broker's certificate is for %s, and not for %s: connect by such a name, or let the broker advertise it; an empty ssl.endpoint.identification.algorithm turns this check off", names(name.Certificate), name.Host)
	case errors.As(err, &record):
		return fmt.Sprintf("no TLS is spoken there, but security.protocol is %s: name a port with TLS, or set it to %s", s.Protocol(), map[bool]string{true: saslPlain, false: Plaintext}[s.login != nil])
	case errors.As(err, &remote) && remote.Op == "remote error":
		return s.alert(strings.TrimPrefix(remote.Err.Error(), "tls: "))
	}
	var handshake *HandshakeError
	if !errors.As(err, &handshake) {
		return ""
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return fmt.Sprintf("it ends the connection in the TLS handshake: check that security.protocol %s is right for this port, and the broker's log", s.Protocol())
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "it accepts connections but does not answer in the TLS handshake: check that a Kafka broker listens there, and its log"
	case strings.Contains(err.Error(), "protocol version"):
		return "the broker has no version of TLS that ssl.enabled.protocols allows: add one"
	}
	return "TLS failed: " + last(err)
}

func expired(c *x509.Certificate) string {
	const day = "2006-01-02"
	if time.Now().Before(c.NotBefore) {
		return fmt.Sprintf("the broker's certificate (%s) is valid from %s only: check the clock of this host", c.Subject, c.NotBefore.Format(day))
	}
	return fmt.Sprintf("the broker's certificate (%s) expired on %s: renew it at the broker", c.Subject, c.NotAfter.Format(day))
}

func issuer(err error) string {
	var verification *tls.CertificateVerificationError
	if errors.As(err, &verification) && len(verification.UnverifiedCertificates) > 0 {
		chain := verification.UnverifiedCertificates
		return chain[len(chain)-1].Issuer.String()
	}
	return "unknown"
}

func names(c *x509.Certificate) string {
	all := c.DNSNames
	for _, ip := range c.IPAddresses {
		all = append(all, ip.String())
	}
	if len(all) == 0 {
		return "CN=" + c.Subject.CommonName
	}
	return strings.Join(all, ", ")
}

func (s Settings) alert(text string) string {
	own := s.tls != nil && s.tls.identity != nil
	if own {
		if c, err := s.tls.identity.load(); err == nil && time.Now().After(c.identity.Leaf.NotAfter) {
			return fmt.Sprintf("the broker refuses kt's certificate (%s), which expired on %s: renew it in ssl.keystore.location", c.identity.Leaf.Subject, c.identity.Leaf.NotAfter.Format("2006-01-02"))
		}
	}
	switch {
	case !own && (text == "bad certificate" || text == "certificate required" || text == "handshake failure"):
		return fmt.Sprintf("the broker refuses a client without a certificate (%s): give one in ssl.keystore.location", text)
	case strings.Contains(text, "certificate"):
		return fmt.Sprintf("the broker refuses kt's certificate (%s): check that the certificate in ssl.keystore.location has not expired, and that the broker trusts its authority", text)
	case text == "protocol version not supported", text == "handshake failure":
		return fmt.Sprintf("broker and client have no version of TLS or cipher suite in common (%s): check ssl.enabled.protocols and ssl.cipher.suites", text)
	}
	return fmt.Sprintf("the broker ends the TLS handshake (%s): its log says why", text)
}

func last(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}
