package security

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

// signed is a certificate with its key.
type signed struct {
	*x509.Certificate
	key *ecdsa.PrivateKey
}

// sign makes a certificate that parent signs; nil: itself, as an authority.
func sign(t *testing.T, parent *signed, change func(*x509.Certificate)) *signed {
	t.Helper()
	key := must.Have(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "kt test"}, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: parent == nil,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	if change != nil {
		change(template)
	}
	own := &signed{template, key}
	if parent == nil {
		parent = own
	}
	der := must.Have(x509.CreateCertificate(rand.Reader, template, parent.Certificate, key.Public(), parent.key))(t)
	own.Certificate = must.Have(x509.ParseCertificate(der))(t)
	return own
}

func (s *signed) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Raw}))
}

func (s *signed) keyPEM(t *testing.T) string {
	t.Helper()
	der := must.Have(x509.MarshalPKCS8PrivateKey(s.key))(t)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// serve answers TLS connections with a byte until the test ends, and returns the address.
func serve(t *testing.T, config *tls.Config) string {
	t.Helper()
	// The byte makes the handshake; the client's side is looked at.
	return must.Serve(t, must.Have(tls.Listen("tcp", "127.0.0.1:0", config))(t), func(conn net.Conn) { _, _ = conn.Write([]byte{1}) })
}

func (s *signed) config() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{s.Raw}, PrivateKey: s.key}}}
}

// dialed connects as kt does, and reads a byte, because TLS 1.3 refuses a client's certificate then.
func dialed(t *testing.T, s Settings, addr string) error {
	t.Helper()
	conn, err := s.Dial((&net.Dialer{}).DialContext)(t.Context(), "tcp", addr)
	if err != nil {
		return s.Explain(err)
	}
	defer func() { _ = conn.Close() }()
	if n, err := conn.Read(make([]byte, 1)); n == 0 {
		return s.Explain(err)
	}
	return nil
}

func onLoopback(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)} }

func TestAHandshakeThatFailsSaysWhyAndWhatToDo(t *testing.T) {
	authority, stranger := sign(t, nil, nil), sign(t, nil, func(c *x509.Certificate) { c.Subject.CommonName = "a stranger" })
	good := sign(t, authority, onLoopback)
	trusting := "ssl.truststore.certificates=" + authority.pem()
	clients := x509.NewCertPool()
	clients.AddCert(authority.Certificate)
	mutual, mutual12 := good.config(), good.config()
	mutual.ClientAuth, mutual.ClientCAs = tls.RequireAndVerifyClientCert, clients
	mutual12.ClientAuth, mutual12.ClientCAs, mutual12.MaxVersion = tls.RequireAndVerifyClientCert, clients, tls.VersionTLS12
	own := func(c *signed) []string {
		return []string{trusting, "ssl.keystore.key=" + c.keyPEM(t), "ssl.keystore.certificate.chain=" + c.pem()}
	}
	old := good.config()
	old.MaxVersion = tls.VersionTLS12
	for _, r := range []struct {
		name   string
		server *tls.Config
		pairs  []string
		want   string // "": it is made
	}{
		{"a certificate of a trusted authority", good.config(), []string{trusting}, ""},
		{"an unknown authority", sign(t, stranger, onLoopback).config(), []string{trusting}, "signed by an authority that kt does not trust (CN=a stranger): put that authority into ssl.truststore.location"},
		{"the system's authorities", good.config(), nil, "signed by an authority that kt does not trust"},
		{"expired", sign(t, authority, func(c *x509.Certificate) { onLoopback(c); c.NotAfter = time.Now().Add(-time.Minute) }).config(), []string{trusting}, "expired on "},
		{"not yet valid", sign(t, authority, func(c *x509.Certificate) { onLoopback(c); c.NotBefore = time.Now().Add(time.Minute) }).config(), []string{trusting}, "check the clock of this host"},
		{"another name", sign(t, authority, func(c *x509.Certificate) { c.DNSNames = []string{"b1.example.com"} }).config(), []string{trusting}, "is for b1.example.com, and not for 127.0.0.1"},
		{"another name that is not checked", sign(t, authority, func(c *x509.Certificate) { c.DNSNames = []string{"b1.example.com"} }).config(), []string{trusting, "ssl.endpoint.identification.algorithm="}, ""},
		{"the chain is checked all the same", sign(t, stranger, nil).config(), []string{trusting, "ssl.endpoint.identification.algorithm="}, "signed by an authority that kt does not trust"},
		{"and the date", sign(t, authority, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }).config(), []string{trusting, "ssl.endpoint.identification.algorithm="}, "expired on "},
		{"the certificate itself is trusted", sign(t, stranger, onLoopback).config(), nil, "does not trust"},
		{"no version in common", old, []string{trusting, "ssl.enabled.protocols=TLSv1.3"}, "ssl.enabled.protocols"},
		{"a certificate of the client", mutual, own(sign(t, authority, nil)), ""},
		{"the same with TLS 1.2", mutual12, own(sign(t, authority, nil)), ""},
		{"no certificate of the client", mutual, []string{trusting}, "refuses a client without a certificate (certificate required): give one in ssl.keystore.location"},
		{"none with TLS 1.2", mutual12, []string{trusting}, "refuses a client without a certificate"},
		{"one that is expired", mutual, own(sign(t, authority, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })), "which expired on "},
		{"one of a stranger", mutual, own(sign(t, stranger, nil)), "the broker refuses kt's certificate (unknown certificate authority)"},
	} {
		s := mustParse(t, append(r.pairs, "security.protocol=SSL")...)
		err := dialed(t, s, serve(t, r.server))
		switch {
		case r.want == "" && err != nil, r.want != "" && (err == nil || !strings.Contains(err.Error(), r.want) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%s: %v, want %q", r.name, err, r.want)
		}
		var failed *FailedError
		if r.want != "" && !errors.As(err, &failed) {
			t.Errorf("%s: %v is no FailedError", r.name, err)
		}
	}
}

// Java falls back to the common name of a certificate without names of hosts; Go does not.
func TestTheCommonNameCountsWhereThereIsNoOther(t *testing.T) {
	for _, r := range []struct {
		common, server string
		names          []string
		want           bool
	}{
		{"b1.example.com", "b1.example.com", nil, true},
		{"*.example.com", "b1.example.com", nil, true},
		{"b1.example.com", "b2.example.com", nil, false},
		{"b1.example.com", "b1.example.com", []string{"b2.example.com"}, false},
		{"127.0.0.1", "127.0.0.1", nil, false},
		{"", "b1.example.com", nil, false},
	} {
		c := &x509.Certificate{Subject: pkix.Name{CommonName: r.common}, DNSNames: r.names}
		must.Match(t, r.want, checkName(c, r.server) == nil, "CN %q, names %q, server %q: fits", r.common, r.names, r.server)
	}
}

// A store that changes on disk counts for the next connection, as soon as it can be read.
func TestStoresAreReadAgainWhenTheyChange(t *testing.T) {
	first, second := sign(t, nil, nil), sign(t, nil, nil)
	addr := serve(t, sign(t, second, onLoopback).config())
	file := filepath.Join(t.TempDir(), "ca.pem")
	write := func(text string) {
		t.Helper()
		must.Do(t, os.WriteFile(file+".new", []byte(text), 0o600))
		must.Do(t, os.Rename(file+".new", file)) // as those do it who renew certificates
	}
	write(first.pem())
	s, _ := must.Both(Parse(map[string]plan.Given{"security.protocol": {Value: "SSL"}, "ssl.truststore.location": {Value: file}}, named, nothing))(t)
	if err := dialed(t, s, addr); err == nil {
		t.Error("a stranger is trusted")
	}
	write(second.pem())
	if err := dialed(t, s, addr); err != nil {
		t.Error(err)
	}
	var told []string
	s.Notify(func(text string) {
		told = append(told, text)
		_, _ = s.TLS("localhost") // a log may ask again, and must not wait for itself
	})
	for _, r := range []struct {
		text string
		told int // by then
	}{
		{"nonsense", 1},
		{second.pem() + second.pem()[:100], 1},
		{second.pem(), 1},
		{"", 2},
		{second.pem() + "\n", 2},
	} {
		write(r.text)
		err := dialed(t, s, addr)
		must.True(t, err == nil && len(told) == r.told, "%q: %v, told %q", r.text, err, told)
	}
	must.Do(t, os.Remove(file))
	err := dialed(t, s, addr)
	must.True(t, err == nil && len(told) == 3 && strings.HasPrefix(told[2], "ssl.truststore.location="+file+": "), "%v, told %q", err, told)
}

// Pulsar's client connects to whatever broker a lookup names, with one configuration for all.
func TestOneConfigurationChecksEachHostByItsOwnName(t *testing.T) {
	authority := sign(t, nil, nil)
	trusting := "ssl.truststore.certificates=" + authority.pem()
	byName := serve(t, sign(t, authority, func(c *x509.Certificate) { c.DNSNames = []string{"localhost"} }).config())
	byAddress := serve(t, sign(t, authority, onLoopback).config())
	strange := serve(t, sign(t, sign(t, nil, nil), onLoopback).config())
	for _, r := range []struct {
		host, served, algorithm string
		want                    bool
	}{
		{"localhost", byName, "https", true},
		{"127.0.0.1", byName, "https", false},
		{"127.0.0.1", byAddress, "https", true},
		{"localhost", byAddress, "https", false},
		{"127.0.0.1", strange, "https", false},
		{"127.0.0.1", byName, "", true},
		{"127.0.0.1", strange, "", false},
	} {
		s := mustParse(t, trusting, "security.protocol=SSL", "ssl.endpoint.identification.algorithm="+r.algorithm)
		config := must.Have(s.TLS(""))(t)
		_, port, _ := net.SplitHostPort(r.served)
		conn, err := tls.Dial("tcp", net.JoinHostPort(r.host, port), config)
		must.True(t, (err == nil) == r.want, "%+v: %v", r, err)
		if err == nil {
			_ = conn.Close()
		}
	}
}
