package kafka

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/kafka/security"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/secret"
)

// certified returns TLS for a server on loopback, and its certificate.
func certified(t *testing.T) (*tls.Config, string) {
	t.Helper()
	key := must.Have(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der := must.Have(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func secured(t *testing.T, pairs ...string) security.Settings {
	t.Helper()
	s, _ := must.Both(security.Parse(canned.Given("", pairs...), []string{"127.0.0.1"}, func(string) string { return "" }))(t)
	return s
}

func login(password string) string {
	return `sasl.jaas.config=x.ScramLoginModule required username="alice" password="` + password + `";`
}

func TestAClusterIsReachedWithItsSecurityAndAWrongOneIsNamed(t *testing.T) {
	config, certificate := certified(t)
	fake := func(opts ...kfake.Opt) []string { return startFake(t, opts...).ListenAddrs() }
	user := []kfake.Opt{kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", "alice", "hunter2")}
	plain, encrypted, both, loginOnly := fake(), fake(kfake.TLS(config)), fake(append(user, kfake.TLS(config))...), fake(user...)
	trust := "ssl.truststore.certificates=" + certificate
	sasl := func(protocol, password string) security.Settings {
		return secured(t, "security.protocol="+protocol, trust, "sasl.mechanism=SCRAM-SHA-256", login(password))
	}
	tlsOnly := secured(t, "security.protocol=SSL", trust)
	for _, r := range []struct {
		name     string
		addrs    []string
		security security.Settings
		want     string
	}{
		{"plain text", plain, security.Settings{}, ""},
		{"TLS", encrypted, tlsOnly, ""},
		{"TLS and SASL", both, sasl("SASL_SSL", "hunter2"), ""},
		{"SASL", loginOnly, sasl("SASL_PLAINTEXT", "hunter2"), ""},
		{"plain text on a TLS port", encrypted, security.Settings{}, "a TLS port answers, but security.protocol is PLAINTEXT: set it to SSL or SASL_SSL"},
		{"TLS on a port of plain text", plain, tlsOnly, "the broker speaks plain text there, but security.protocol is SSL"},
		{"an authority that is not trusted", encrypted, secured(t, "security.protocol=SSL"), "that kt does not trust"},
		{"a wrong password", both, sasl("SASL_SSL", "hunter3"), "check user name and password in sasl.jaas.config"},
		{"no SASL", loginOnly, security.Settings{}, "the broker wants SASL: set security.protocol=SASL_PLAINTEXT, sasl.mechanism to "},
		{"no SASL over TLS", both, tlsOnly, "the broker wants SASL: set security.protocol=SASL_SSL, sasl.mechanism to "},
	} {
		cluster, err := Connect(t.Context(), Access{Bootstrap: r.addrs, Security: r.security, Timeout: 10 * time.Second})
		switch {
		case err == nil:
			cluster.Close()
			must.Match(t, r.want, "", "%s: it connects", r.name)
		case r.want == "" || !strings.Contains(err.Error(), r.want) || strings.Contains(err.Error(), "hunter"):
			t.Errorf("%s: %v, want %q", r.name, err, r.want)
		}
	}
}

// A server that only counts takes the place of somebody else's broker.
func TestCredentialsGoOnlyWhereTheirOwnerSaidAndWhereBrokersLead(t *testing.T) {
	fake := startFake(t, kfake.NumBrokers(3), kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", "alice", "hunter2"))
	foreign := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	var connected atomic.Int32
	go func() {
		for {
			c, err := foreign.Accept()
			if err != nil {
				return
			}
			connected.Add(1)
			_ = c.Close()
		}
	}()
	addrs := fake.ListenAddrs()
	logIn := func(given ...string) security.Settings {
		s := secured(t, append(given, "sasl.mechanism=SCRAM-SHA-256", login("hunter2"))...)
		s.Bound = secret.Bind(addrs[:1])
		return s
	}
	other := foreign.Addr().String()
	var unbound *secret.BindingError
	for _, s := range []security.Settings{logIn("security.protocol=SASL_PLAINTEXT"), logIn("security.protocol=SASL_SSL")} {
		if _, err := Connect(t.Context(), Access{Bootstrap: []string{other}, Security: s}); !errors.As(err, &unbound) {
			t.Errorf("%s: %v", s, err)
		}
	}
	a := Access{Bootstrap: addrs[:1], Security: logIn("security.protocol=SASL_PLAINTEXT")}
	cluster := must.Have(Connect(t.Context(), a))(t)
	defer cluster.Close()
	unreached, err := cluster.Reach(t.Context())
	must.True(t, err == nil && len(unreached) == 0, "brokers that one of them advertises: %v, %v", unreached, err)
	if _, err := cluster.Client(kgo.SeedBrokers(addrs[0], other)); !errors.As(err, &unbound) || unbound.Address != other {
		t.Errorf("a client of another cluster: %v", err)
	}
	a.Bootstrap = []string{addrs[0], other}
	if _, err := Connect(t.Context(), a); !errors.As(err, &unbound) || unbound.Address != other {
		t.Errorf("one of two is named: %v", err)
	}
	_ = foreign.Close() // so that no connection waits
	n := connected.Load()
	must.True(t, n <= 0, "%d connections were made", n)
}

// A token endpoint sends a byte now and then.
func TestConnectingEndsWithItsContextWhileATokenIsWaitedFor(t *testing.T) {
	asked := make(chan struct{})
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, " ")
			_ = http.NewResponseController(w).Flush()
			<-time.After(10 * time.Millisecond)
		}
	}))
	defer endpoint.Close()
	fake := startFake(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "alice", "hunter2"))
	fake.ControlKey(int16(kmsg.SASLHandshake), func(r kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		response := r.ResponseKind().(*kmsg.SASLHandshakeResponse)
		response.SupportedMechanisms = []string{"OAUTHBEARER"}
		return response, nil, true
	})
	settings := secured(t, "security.protocol=SASL_PLAINTEXT", "sasl.mechanism=OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url="+endpoint.URL,
		`sasl.jaas.config=x.OAuthBearerLoginModule required clientId="a" clientSecret="b";`, "sasl.login.read.timeout.ms=60000")
	settings.Bound = secret.Bind(fake.ListenAddrs())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := Connect(ctx, Access{Bootstrap: fake.ListenAddrs(), Security: settings})
		ended <- err
	}()
	<-asked
	cancel()
	select {
	case err := <-ended:
		must.True(t, errors.Is(err, context.Canceled), "gives %v", err)
	case <-time.After(30 * time.Second):
		t.Error("it waits for the token")
	}
}

// Connections that a driver wraps are wrapped inside TLS, and the dialer of the options is under it.
func TestAWrappedConnectionIsInsideTLS(t *testing.T) {
	config, certificate := certified(t)
	fake := startFake(t, kfake.TLS(config))
	cluster := must.Have(Connect(t.Context(), Access{Bootstrap: fake.ListenAddrs(), Security: secured(t, "security.protocol=SSL", "ssl.truststore.certificates="+certificate)}))(t)
	t.Cleanup(cluster.Close)
	var dialled, wrapped atomic.Int32
	client := must.Have(cluster.ClientOver(func(c net.Conn) net.Conn {
		if _, ok := c.(*tls.Conn); ok {
			wrapped.Add(1)
		}
		return c
	}, kgo.Dialer(func(ctx context.Context, network, address string) (net.Conn, error) {
		dialled.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, address)
	})))(t)
	t.Cleanup(client.Close)
	if err := client.Ping(t.Context()); err != nil || dialled.Load() == 0 || dialled.Load() != wrapped.Load() {
		t.Errorf("%d dialled, %d wrapped inside TLS, %v", dialled.Load(), wrapped.Load(), err)
	}
}

func TestClientsHaveTheAddressesAndTheNameOfTheAccessUnlessTheirOptionsDiffer(t *testing.T) {
	fake := startFake(t, kfake.NumBrokers(2))
	addrs := fake.ListenAddrs()
	for _, tc := range []struct {
		name    string
		access  Access
		options []kgo.Opt
		id      string
		seeds   []string
	}{
		{"without a name", Access{Bootstrap: addrs}, nil, "kt", addrs},
		{"with spaces in the addresses", Access{Bootstrap: []string{" " + addrs[0], addrs[1] + " "}, ClientID: "admin"}, nil, "admin", addrs},
		{"with options", Access{Bootstrap: addrs, ClientID: "admin"}, []kgo.Opt{kgo.ClientID("watch"), kgo.SeedBrokers(addrs[1])}, "watch", addrs[1:]},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cluster := must.Have(Connect(t.Context(), tc.access))(t)
			defer cluster.Close()
			client := must.Have(cluster.Client(tc.options...))(t)
			defer client.Close()
			if id := client.OptValue(kgo.ClientID); id != tc.id {
				t.Errorf("client id %q, want %q", id, tc.id)
			}
			seeds := client.OptValue(kgo.SeedBrokers).([]string)
			must.True(t, slices.Equal(seeds, tc.seeds), "starts from %q, want %q", seeds, tc.seeds)
		})
	}
}
