package pulsar

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	client "github.com/apache/pulsar-client-go/pulsar"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/secret"
)

func TestOnlyBrokersOfTheClusterGetTheToken(t *testing.T) {
	got := ""
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		_, _ = w.Write([]byte("[]"))
	})
	plain, encrypted := httptest.NewServer(echo), httptest.NewTLSServer(echo)
	defer plain.Close()
	defer encrypted.Close()
	for _, r := range []struct {
		name  string
		start func(http.Handler) *httptest.Server
		to    *httptest.Server
		known bool
		want  string
	}{
		{"a broker", httptest.NewServer, plain, true, "Bearer token"},
		{"another server", httptest.NewServer, plain, false, ""},
		{"a broker with TLS", httptest.NewTLSServer, encrypted, true, "Bearer token"},
		{"another server with TLS", httptest.NewTLSServer, encrypted, false, ""},
		{"a broker without TLS behind one with it", httptest.NewTLSServer, plain, true, ""},
	} {
		first := r.start(http.RedirectHandler(r.to.URL, http.StatusTemporaryRedirect))
		a := adminOf(first, encrypted.Certificate())
		got = ""
		if r.known {
			a.learn([]string{r.to.Listener.Addr().String()})
		}
		if err := a.Get(t.Context(), "/", new([]string)); (err == nil) != r.known || got != r.want {
			t.Errorf("%s got %q, %v; want %q", r.name, got, err, r.want)
		}
		first.Close()
	}
}

// adminOf returns the way to a server's admin API with a token.
func adminOf(server *httptest.Server, authority *x509.Certificate) *admin {
	roots := x509.NewCertPool()
	roots.AddCert(authority)
	return newAdmin(server.URL, queue.Access{
		Password: secret.New("token"), Bound: secret.Bind([]string{server.URL}), TLS: func(string) (*tls.Config, error) { return &tls.Config{RootCAs: roots}, nil },
	})
}

func TestATokenGoesOnlyWhereItsOwnerSaid(t *testing.T) {
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer server.Close()
	access := queue.Access{Password: secret.New("token"), Bound: secret.Bind([]string{"b:6650"}), TLS: func(string) (*tls.Config, error) { return nil, nil }}
	at := server.Listener.Addr().String()
	for _, url := range []string{"pulsar://" + at, "pulsar://b?admin=http://" + at} {
		p := &plan.Plan{URL: url, Topic: plan.Topic{Name: "t"}}
		s, _ := must.Both(New(p, nil, nil, access))(t)
		var foreign *secret.BindingError
		if url == "pulsar://"+at {
			if _, err := s.Connect(t.Context(), p, run.Options{}); !errors.As(err, &foreign) {
				t.Errorf("%s: %v", url, err)
			}
		}
		if s.Topics(t.Context()); s.DeleteTopic(t.Context(), "t") == nil || asked {
			t.Errorf("%s: the server was asked: %v", url, asked)
		}
	}
}

// The list has one port of each broker, which is that without TLS if there are both.
func TestABrokerIsKnownByThePortsThatItMayHave(t *testing.T) {
	for to, want := range map[string]bool{
		"http://b:8080": true, "http://c:18080": true, "http://c:8080": false, "http://d:8080": false, "http://b:9443": false, "http://b:8443": false,
		"https://b:8443": true, "https://c:9443": true, "https://c:10443": false, "https://d:8443": false,
	} {
		u := must.Have(url.Parse(to))(t)
		a := newAdmin(u.Scheme+"://first:9443", queue.Access{Password: secret.New("token"), Bound: secret.Bind([]string{"first"})})
		a.learn([]string{"b:8080", "c:18080"})
		next := &http.Request{URL: u, Header: make(http.Header)}
		_ = a.follow(next, []*http.Request{{URL: &url.URL{Scheme: u.Scheme, Host: "first:9443"}}}) // of many redirects alone
		must.Match(t, want, next.Header.Get("Authorization") != "", "from port 9443 to %s: logs in", to)
	}
}

// A redirect leads from one host to another, whose certificate is for itself.
func TestTheAdminAPIOfEachBrokerIsCheckedByItsOwnName(t *testing.T) {
	other := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("[]")) }))
	other.Config.ErrorLog = log.New(io.Discard, "", 0) // of clients that refuse its certificate
	other.StartTLS()
	defer other.Close()
	_, port, _ := strings.Cut(other.Listener.Addr().String(), ":")
	for host, fits := range map[string]bool{"127.0.0.1": true, "localhost": false} { // it is for 127.0.0.1 and example.com
		first := httptest.NewTLSServer(http.RedirectHandler("https://"+host+":"+port, http.StatusTemporaryRedirect))
		a := adminOf(first, other.Certificate())
		a.learn([]string{host + ":" + port})
		err := a.Get(t.Context(), "/", new([]string))
		must.True(t, (err == nil) == fits, "%s: %v", host, err)
		first.Close()
	}
}

func TestATopicIsListedOnceWhateverItsPartitions(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/admin/v2/persistent/public/default" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, `["persistent://public/default/b-partition-1", "persistent://public/default/b-partition-0", "persistent://public/default/a"]`)
	}))
	defer api.Close()
	s, _ := must.Both(New(&plan.Plan{URL: "pulsar://localhost?admin=" + api.URL}, nil, nil, queue.Access{TLS: func(string) (*tls.Config, error) { return nil, nil }}))(t)
	must.Match(t, []string{"a", "b"}, s.Topics(t.Context()), "topics")
	api.Close()
	if got := s.Topics(t.Context()); len(got) > 0 {
		t.Errorf("without an answer: %q", got)
	}
}

// A lookup names a broker that has another host, and another certificate, than the URL.
func TestABrokerThatALookupNamesIsCheckedByItsOwnHost(t *testing.T) {
	byName := &x509.Certificate{DNSNames: []string{"localhost"}}
	byAddress := &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	for _, r := range []struct {
		name     string
		template *x509.Certificate
		fits     bool
	}{{"its own", byAddress, true}, {"that of the URL's host", byName, false}} {
		roots := x509.NewCertPool()
		first, second := listen(t, byName, roots), listen(t, r.template, roots)
		handshake := make(chan error, 1)
		go answerLookups(first, "pulsar+ssl://"+second.Addr().String())
		go func() {
			conn, err := second.Accept()
			if err == nil {
				err = conn.(*tls.Conn).HandshakeContext(t.Context())
				_ = conn.Close() // the handshake is what is looked at
			}
			handshake <- err
		}()
		_, port, _ := net.SplitHostPort(first.Addr().String())
		s := &session{System: &System{System: queue.System[settings]{URL: &url.URL{Scheme: "pulsar+ssl", Host: "localhost:" + port}}}, tls: &tls.Config{RootCAs: roots}}
		c := must.Have(s.client())(t)
		go func() { _, _ = c.CreateProducer(client.ProducerOptions{Topic: "t"}) }() // it fails when the client is closed
		select {
		case err := <-handshake:
			must.True(t, (err == nil) == r.fits, "a broker with a certificate, %s: %v", r.name, err)
		case <-time.After(20 * time.Second):
			t.Errorf("a broker with a certificate, %s: the client did not connect to it", r.name)
		}
		c.Close()
	}
}

// listen listens on loopback with a certificate that is added to roots, until the test ends.
func listen(t *testing.T, template *x509.Certificate, roots *x509.CertPool) net.Listener {
	t.Helper()
	key := must.Have(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template.SerialNumber, template.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(time.Hour)
	der := must.Have(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	own := must.Have(x509.ParseCertificate(der))(t)
	roots.AddCert(own)
	l := must.Have(tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}))(t)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// Numbers of commands in Pulsar's protocol, with an answer at the next number each. A command has its number as field 1,
// and its content as the field of that number.
const (
	commandConnect    = 2
	commandPartitions = 21
	commandLookup     = 23
)

// answerLookups is a broker of one topic without partitions, which is at another broker.
func answerLookups(l net.Listener, broker string) {
	answerCommands(l, func(command, request uint64) []byte {
		switch command {
		case commandConnect:
			return text(nil, 1, "test")
		case commandPartitions: // partitions, request, success
			return number64(number64(number64(nil, 1, 0), 2, request), 3, 0)
		case commandLookup: // URL with TLS, connect, request
			return number64(number64(text(text(nil, 1, broker), 2, broker), 3, 1), 4, request)
		}
		return nil
	})
}

// answerCommands is a broker whose answers have that content; nil: it does not answer.
func answerCommands(l net.Listener, content func(command, request uint64) []byte) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return // the test is over
		}
		go func() {
			defer func() { _ = conn.Close() }()
			in := bufio.NewReader(conn)
			for {
				command, request, err := readCommand(in)
				if err != nil {
					return
				}
				content := content(command, request)
				if content == nil {
					continue
				}
				answer := text(number64(nil, 1, command+1), command+1, string(content))
				frame := binary.BigEndian.AppendUint32(nil, uint32(len(answer)+4))
				frame = append(binary.BigEndian.AppendUint32(frame, uint32(len(answer))), answer...)
				if _, err := conn.Write(frame); err != nil {
					return
				}
			}
		}()
	}
}

// readCommand returns the number of a command, and its field 2, which is the request in those that are answered.
func readCommand(in *bufio.Reader) (command, request uint64, err error) {
	var sizes [8]byte
	if _, err = io.ReadFull(in, sizes[:]); err != nil {
		return 0, 0, err
	}
	text := make([]byte, binary.BigEndian.Uint32(sizes[4:]))
	if _, err = io.ReadFull(in, text); err != nil {
		return 0, 0, err
	}
	fields := protobuf(text)
	command, _ = binary.Uvarint(fields[1])
	request, _ = binary.Uvarint(protobuf(fields[command])[2])
	return command, request, nil
}

// protobuf returns the fields of a message that has numbers and texts alone.
func protobuf(text []byte) map[uint64][]byte {
	fields := make(map[uint64][]byte)
	for len(text) > 0 {
		tag, n := binary.Uvarint(text)
		value, size := binary.Uvarint(text[n:])
		if tag&7 == 2 { // a text of that length
			from := n + size
			fields[tag>>3], text = text[from:from+int(value)], text[from+int(value):]
			continue
		}
		fields[tag>>3], text = text[n:n+size], text[n+size:]
	}
	return fields
}

// number64 and text add a field to a message of protobuf.
func number64(to []byte, field, value uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(to, field<<3), value)
}

func text(to []byte, field uint64, value string) []byte {
	return append(binary.AppendUvarint(binary.AppendUvarint(to, field<<3|2), uint64(len(value))), value...)
}
