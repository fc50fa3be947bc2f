package doctor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/kafka/security"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
)

// certificate returns a certificate that signs itself, and its text.
func certificate(t *testing.T, ends time.Time, ips ...net.IP) (tls.Certificate, string) {
	t.Helper()
	key := must.Have(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kafka"}, NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: ends,
		IPAddresses: ips, DNSNames: []string{"kafka-1"}, IsCA: true, BasicConstraintsValid: true,
	}
	der := must.Have(x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key))(t)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// secured makes examinations connect with these properties.
func secured(t *testing.T, properties ...string) func(*Options) {
	t.Helper()
	s, _ := must.Both(security.Parse(canned.Given("test", properties...), []string{"127.0.0.1"}, func(string) string { return "" }))(t)
	return func(o *Options) { o.Access.Security, o.ReadOnly = s, true }
}

func TestCertificatesAndPasswordsAreChecked(t *testing.T) {
	here := net.IPv4(127, 0, 0, 1)
	good, trust := certificate(t, time.Now().Add(100*24*time.Hour), here)
	ending, trustEnding := certificate(t, time.Now().Add(10*24*time.Hour+time.Hour), here)
	expired, trustExpired := certificate(t, time.Now().Add(-24*time.Hour), here)
	foreign, trustForeign := certificate(t, time.Now().Add(100*24*time.Hour), net.IPv4(10, 9, 9, 9))
	with := func(c tls.Certificate) kfake.Opt { return kfake.TLS(&tls.Config{Certificates: []tls.Certificate{c}}) }
	ssl := func(trusted string) []string {
		return []string{"security.protocol=SSL", "ssl.truststore.type=PEM", "ssl.truststore.certificates=" + trusted}
	}
	password := func(p string) []string {
		return []string{
			"security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN",
			`sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="kt" password="` + p + `";`,
		}
	}
	for _, tc := range []struct {
		name       string
		opts       []kfake.Opt
		properties []string
		check      string
		state      State
		text       string
	}{
		{"a good certificate", []kfake.Opt{with(good)}, ssl(trust), "tls", Pass, "TLS 1.3, certificate of CN=kafka by CN=kafka until "},
		{"its name", []kfake.Opt{with(good)}, ssl(trust), "tls", Pass, ", which fits 127.0.0.1"},
		{"its protocol", []kfake.Opt{with(good)}, ssl(trust), "security", Pass, "SSL: TLS, and no SASL"},
		{"one that ends soon", []kfake.Opt{with(ending)}, ssl(trustEnding), "tls", Warn, "TLS 1.3"},
		{"one that has expired", []kfake.Opt{with(expired)}, ssl(trustExpired), "bootstrap", Fail, "expired on "},
		{"one that nobody trusts", []kfake.Opt{with(good)}, ssl(trustForeign), "bootstrap", Fail, "does not trust"},
		{"one of another host", []kfake.Opt{with(foreign)}, ssl(trustForeign), "bootstrap", Fail, "and not for 127.0.0.1"},
		{"one of another host, unchecked", []kfake.Opt{with(foreign)}, append(ssl(trustForeign), "ssl.endpoint.identification.algorithm="), "tls", Warn, ", which does not fit 127.0.0.1"},
		{"no TLS, but a port with it", []kfake.Opt{with(good)}, nil, "bootstrap", Fail, "a TLS port answers"},
		{"a password", []kfake.Opt{kfake.EnableSASL(), kfake.Superuser("PLAIN", "kt", "right")}, password("right"), "security", Warn, "SASL_PLAINTEXT: authenticated by PLAIN without TLS"},
		{"a wrong password", []kfake.Opt{kfake.EnableSASL(), kfake.Superuser("PLAIN", "kt", "right")}, password("wrong"), "bootstrap", Fail, "refuses these credentials of PLAIN"},
		{"no password", []kfake.Opt{kfake.EnableSASL(), kfake.Superuser("PLAIN", "kt", "right")}, nil, "bootstrap", Fail, "the broker wants SASL"},
		{"plain text", nil, nil, "security", Pass, "PLAINTEXT: no TLS and no SASL"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := start(t, tc.opts...)
			if tc.name == "a wrong password" { // the fake broker hangs up, and Kafka says so
				c.answer(&kmsg.SASLAuthenticateRequest{}, func(r kmsg.Request) kmsg.Response {
					answer := r.ResponseKind().(*kmsg.SASLAuthenticateResponse)
					answer.ErrorCode = kerr.SaslAuthenticationFailed.Code
					return answer
				})
			}
			r := c.examine(secured(t, tc.properties...))
			for _, found := range find(r, tc.check) {
				if found.State == tc.state && strings.Contains(found.Text, tc.text) && (tc.state == Pass || found.Advice != "" || strings.Contains(found.Text, ": ")) {
					must.Match(t, tc.state == Fail, r.Failed(), "failed: %+v", r.Checks)
					return
				}
			}
			t.Errorf("no such check in %+v", r.Checks)
		})
	}
}

// The brokers know the user of a client that authenticates, and the client does not.
func TestAQuotaOfANamedUserIsUnknownToAClientThatAuthenticates(t *testing.T) {
	user := "somebody"
	named := kadm.ClientQuotaEntity{{Type: "user", Name: &user}}
	plain, secure := examination{}, examination{}
	secured(t, "security.protocol=SSL")(&secure.Options)
	must.True(t, !plain.bound(named) && secure.bound(named) && secure.authenticates(),
		"it may apply in plain text: %v, with security: %v", plain.bound(named), secure.bound(named))
}
