package port

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/must"
)

func TestKeyIsNotShownByAnyVerb(t *testing.T) {
	k := Key{secret: [32]byte{0xAB, 0xAB, 0xAB, 0xAB}}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%b"} {
		must.Match(t, "key (hidden)", fmt.Sprintf(format, k), "Sprintf(%q) of a key", format)
		must.Match(t, "key (hidden)", fmt.Sprintf(format, &k), "Sprintf(%q) of a pointer to a key", format)
	}
}

func TestKeysDerivedForPurposesDiffer(t *testing.T) {
	k := NewKey()
	must.True(t, k.Derive("a") != k.Derive("b"), "two purposes got one key")
	must.True(t, k.Derive("a") != k.secret, "a derived key is the key itself")
	again, err := ParseKey(k.Text())
	must.True(t, err == nil && again.Derive("a") == k.Derive("a"), "one purpose got two keys")
	other := NewKey()
	must.True(t, other.Derive("a") != k.Derive("a"), "two keys derive one")
}

func TestParseKeyRefusesWhatKeygenDidNotWrite(t *testing.T) {
	good := NewKey().Text()
	for name, text := range map[string]string{
		"nothing at all":                 "",
		"one character too few":          good[1:],
		"one character too many":         "A" + good,
		"a character that is not base64": "*" + good[1:],
		"a line break within":            good[:20] + "\n" + good[21:],
		"a shorter key, padded":          "QUJD" + strings.Repeat("=", 40),
		"bits that encode nothing":       strings.Repeat("A", 42) + "B=",
		"two keys":                       good + "\n" + good,
	} {
		if _, err := ParseKey(text); err == nil {
			t.Errorf("%s: accepted", name)
		} else if len(text) > 20 && strings.Contains(err.Error(), text[21:40]) {
			t.Errorf("%s: the error shows the key: %v", name, err)
		}
	}
}

func TestTheGroupOfAFileOfRootMayReadItsKey(t *testing.T) {
	for _, row := range []struct {
		mode   os.FileMode
		ofRoot bool
		want   bool
	}{
		{0o440, true, true}, // a Secret of Kubernetes with fsGroup
		{0o640, true, true},
		{0o660, true, false},
		{0o444, true, false},
		{0o440, false, false},
		{0o600, false, true},
	} {
		must.Match(t, row.want, isPrivate(row.mode, row.ofRoot), "mode %04o of root (%v) is private", row.mode, row.ofRoot)
	}
}

// readKeyFile reads a key as --key-file does.
func readKeyFile(path string) (Key, error) {
	f, err := input.Open(path)
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w", path, err)
	}
	defer func() { _ = f.Close() }()
	k, err := ReadKey(f)
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

func TestKeyFileIsReadOnlyWhenItIsSafe(t *testing.T) {
	k := NewKey()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string, mode os.FileMode) string {
		must.Do(t, os.WriteFile(path(name), []byte(text), 0o600))
		must.Do(t, os.Chmod(path(name), mode))
		return path(name)
	}
	link := path("link")
	must.Do(t, os.Symlink(write("linked", k.Text(), 0o600), link))
	group := write("group", k.Text(), 0o640)
	if os.Getuid() == 0 { // a file of root is another case
		must.Do(t, os.Chown(group, 1, 1))
	}
	for _, row := range []struct{ name, path, want string }{
		{"as kt keygen writes it", write("good", k.Text()+"\n", 0o600), ""},
		{"with space around it, for its owner to read only", write("space", "\r\n  "+k.Text()+" \r\n", 0o400), ""},
		{"through a link, as a secret of a container is mounted", link, ""},
		{"its group may read it", group, "chmod 600 " + group},
		{"its group may write to it", write("shared", k.Text(), 0o620), "chmod 600 " + path("shared")},
		{"all may read it", write("all", k.Text(), 0o604), "chmod 600 " + path("all")},
		{"others may write to it", write("writable", k.Text(), 0o602), "chmod 600 " + path("writable")},
		{"not there", path("none"), "no such file"},
		{"a directory", dir, "it is a directory"},
		{"too long", write("long", k.Text()+strings.Repeat(" ", maxKeyFile), 0o600), "over 4096 bytes"},
		{"as long as it may be", write("longest", k.Text()+strings.Repeat(" ", maxKeyFile-44), 0o600), ""},
		{"empty", write("empty", "", 0o600), "one line of 44 characters"},
	} {
		got, err := readKeyFile(row.path)
		switch {
		case row.want == "" && (err != nil || got != k):
			t.Errorf("%s: %v, the same key: %v", row.name, err, got == k)
		case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), row.path)):
			t.Errorf("%s: error %v, want one that names %s and says %q", row.name, err, row.path, row.want)
		}
	}
}

// A secret store writes the key into a pipe, as in --key-file <(pass kt), after kt has opened it.
func TestAKeyMayComeThroughAPipe(t *testing.T) {
	k := NewKey()
	pipe := filepath.Join(t.TempDir(), "pipe")
	must.Do(t, syscall.Mkfifo(pipe, 0o600))
	wrote := make(chan error, 1)
	go func() { wrote <- os.WriteFile(pipe, []byte(k.Text()+"\n"), 0o600) }() // waits for a reader
	got, err := readKeyFile(pipe)
	must.True(t, err == nil && got == k, "%v, the same key: %v", err, got == k)
	must.Do(t, <-wrote)
}

// FuzzParseKey checks that ParseKey never panics, and accepts only the text of a key with space
// around it.
func FuzzParseKey(f *testing.F) {
	f.Add("")
	f.Add(NewKey().Text())
	f.Add(" " + NewKey().Text() + "\r\n")
	f.Add(strings.Repeat("A", 42) + "B=")
	f.Add(strings.Repeat("=", 44))
	f.Fuzz(func(t *testing.T, text string) {
		k, err := ParseKey(text)
		if err != nil {
			must.True(t, k == (Key{}), "an error comes with a key")
			return
		}
		must.Match(t, strings.TrimSpace(text), k.Text(), "ParseKey(%q) writes as", text)
	})
}

func TestAllOwnersOfAKeyHaveOneIdentity(t *testing.T) {
	key := newKey()
	a, b := newIdentity(key), newIdentity(key)
	must.True(t, bytes.Equal(a.der, b.der) && a.private.Equal(b.private), "two owners of a key differ")
	other := newIdentity(newKey())
	must.True(t, !other.private.Equal(a.private), "two keys have one identity")
	must.True(t, !bytes.Contains(a.der, key.secret[:]) && !bytes.Contains(a.private, key.secret[:]), "the identity shows the key")
}

func TestPEMIsACertificateThatGenericClientsTake(t *testing.T) {
	key := newKey()
	text := key.PEM()
	pair := must.Have(tls.X509KeyPair(text, text))(t)
	roots := x509.NewCertPool()
	must.Hold(t, roots.AppendCertsFromPEM(text), "there is no certificate in it")
	a := serve(t, Options{Key: key}, nil)
	for name, protocols := range map[string][]string{"ALPN of HTTP/2": {"h2"}, "no ALPN": nil} {
		c, err := tls.Dial("tcp", a.addr, &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, ServerName: "kt", NextProtos: protocols})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_, _ = c.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + emptySettings))
		got, err := io.ReadAll(io.LimitReader(c, 9))
		must.True(t, err == nil && len(got) == 9 && got[3] == 4, "%s: the first frame is %x, %v, want settings", name, got, err)
		_ = c.Close()
	}
	standard := &http.Client{Transport: &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, ServerName: "kt"},
	}}
	defer standard.CloseIdleConnections()
	r := must.Have(standard.Get("https://" + a.addr + "/v1/"))(t)
	_ = r.Body.Close()
	must.True(t, r.Proto == "HTTP/2.0", "a generic client speaks %s", r.Proto)
}

const emptySettings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// preface begins each connection of HTTP/2, and a request that asks for headers.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + emptySettings

func TestAStrangerGetsNoByteBeyondTheHandshake(t *testing.T) {
	a := serve(t, Options{Key: newKey()}, nil)
	other := newIdentity(newKey())
	for name, certificates := range map[string][]tls.Certificate{
		"no certificate":               nil,
		"a certificate of another key": other.config(nil).Certificates,
		"that of kts without a key":    newIdentity(nil).config(nil).Certificates,
	} {
		for _, proto := range []string{HTTP, Gossip, generic, versions, ""} {
			raw := must.Have(net.Dial("tcp", a.addr))(t)
			config := &tls.Config{InsecureSkipVerify: true, Certificates: certificates}
			if proto != "" {
				config.NextProtos = []string{proto}
			}
			c := tls.Client(raw, config)
			_ = c.SetDeadline(time.Now().Add(soon))
			// Its own side of the handshake is complete before the agent knows the certificate.
			must.Err(t, "", c.Handshake(), "%s, %q", name, proto)
			_, _ = c.Write([]byte(preface))
			got, err := io.ReadAll(c)
			var alert *net.OpError
			must.True(t, len(got) == 0 && errors.As(err, &alert), "%s, %q: %d bytes and %v, want none and an alert", name, proto, len(got), err)
			_ = c.Close()
		}
	}
	must.True(t, len(a.gossip.conns) == 0 && a.requests.Load() <= 0, "a stranger was let in")
}

func TestHandshakesAreTLS13WithEphemeralKeysAndNoSessions(t *testing.T) {
	key := newKey()
	var mu sync.Mutex
	var extensions []uint16
	seen := newIdentity(key).config(nil)
	seen.NextProtos = []string{Gossip}
	seen.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		mu.Lock()
		defer mu.Unlock()
		extensions = append(extensions, h.Extensions...)
		return nil, nil
	}
	states := make(chan tls.ConnectionState, 2)
	addr := must.Listen(t, func(raw net.Conn) {
		c := tls.Server(raw, seen)
		if err := c.Handshake(); err == nil {
			states <- c.ConnectionState()
		}
		_ = c.Close()
	})
	for range 2 { // the second one could resume the first
		c := must.Have(Dial(t.Context(), addr, key, Gossip))(t)
		_, _ = io.ReadAll(c)
		_ = c.Close()
		s := <-states
		must.True(t, s.Version == tls.VersionTLS13 && !s.DidResume && s.CurveID != 0,
			"version %x, resumed %v, curve %v", s.Version, s.DidResume, s.CurveID)
	}
	const preSharedKey = 41
	must.True(t, !slices.Contains(extensions, preSharedKey), "the dialling side offers a session")
	// An agent refuses what is older.
	a := serve(t, Options{Key: key}, nil)
	old := newIdentity(key).config(nil)
	old.MinVersion, old.MaxVersion, old.NextProtos = tls.VersionTLS12, tls.VersionTLS12, []string{HTTP}
	if c, err := tls.Dial("tcp", a.addr, old); err == nil {
		_ = c.Close()
		t.Error("an agent takes TLS 1.2")
	}
}

// tape passes a connection on and keeps what each side sends.
type tape struct {
	mu          sync.Mutex
	there, back bytes.Buffer
}

// record returns the address of a proxy to addr.
func (p *tape) record(t *testing.T, addr string) string {
	return must.Listen(t, func(near net.Conn) {
		far, err := net.Dial("tcp", addr)
		if err != nil {
			t.Error(err)
			return
		}
		var both sync.WaitGroup
		both.Go(func() { p.copy(far, near, &p.there) })
		both.Go(func() { p.copy(near, far, &p.back) })
		both.Wait()
	})
}

func (p *tape) copy(to, from net.Conn, keep *bytes.Buffer) {
	defer func() { _ = to.Close() }()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		keep.Write(buf[:n])
		p.mu.Unlock()
		if n > 0 {
			_, _ = to.Write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

func (p *tape) said() (there, back []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bytes.Clone(p.there.Bytes()), bytes.Clone(p.back.Bytes())
}

func TestARecordedSessionPlayedBackIsRefused(t *testing.T) {
	key := newKey()
	a := serve(t, Options{Key: key}, nil)
	var p tape
	proxied := p.record(t, a.addr)
	c := Client(key)
	answers(t, c, proxied)
	c.CloseIdleConnections()
	there, back := p.said()
	must.Hold(t, a.requests.Load() == 1 && len(there) != 0, "%d requests, %d bytes", a.requests.Load(), len(there))
	for name, said := range map[string][]byte{"the dialling side": there, "the agent itself": back} {
		conn, err := net.Dial("tcp", a.addr)
		must.Hold(t, err == nil, "%v", err)
		_ = conn.SetDeadline(time.Now().Add(soon))
		_, _ = conn.Write(said)
		_, err = io.ReadAll(conn) // the agent's side of a handshake, and the end
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			t.Errorf("what %s said: the connection is still open", name)
		}
		_ = conn.Close()
	}
	must.True(t, a.requests.Load() == 1, "%d requests, want the first one only", a.requests.Load())
}

func TestHandshakesThatAreReflectedFail(t *testing.T) {
	key := newKey()
	echo := must.Listen(t, func(c net.Conn) {
		_, _ = io.Copy(c, c)
		_ = c.Close()
	})
	_, err := Dial(t.Context(), echo, key, HTTP)
	must.True(t, err != nil, "a handshake with its own echo succeeded")
	// The bytes that an agent sends on one connection come back to it on another, and the other
	// way round. The first hello is a good one.
	a := serve(t, Options{Key: key}, nil)
	one := must.Have(net.Dial("tcp", a.addr))(t)
	other := must.Have(net.Dial("tcp", a.addr))(t)
	var p tape
	var both sync.WaitGroup
	hello := helloOf(t, key)
	must.Have(one.Write(hello))(t)
	both.Go(func() { p.copy(other, one, &p.there) })
	both.Go(func() { p.copy(one, other, &p.back) })
	both.Wait()
	must.Eventually(t, "the log tells", func() bool { return strings.Contains(a.log.String(), "connection from") })
	must.Match(t, 0, a.requests.Load(), "requests were served")
}

// helloOf returns the first message of a side that dials.
func helloOf(t *testing.T, key *Key) []byte {
	t.Helper()
	near, far := net.Pipe()
	go func() { _, _ = shake(t.Context(), near, key, HTTP) }()
	buf := make([]byte, 16<<10)
	n := must.Have(far.Read(buf))(t)
	_ = far.Close()
	return buf[:n]
}

func TestPeersOfDifferentVersionsTellEachOther(t *testing.T) {
	key := newKey()
	a := serve(t, Options{Key: key}, nil)
	_, err := Dial(t.Context(), a.addr, key, "kt-http/3")
	want := "it speaks version 2 of kt's protocol, this kt version 2: use the same kt on all hosts"
	must.True(t, errors.Is(err, ErrVersion) && err.Error() == want, "Dial: %v, want %s", err, want)
	must.Eventually(t, "the agent tells", func() bool {
		return strings.Contains(a.log.String(), "it speaks another version of kt's protocol: use the same kt on all hosts")
	})
	// A peer without the key does not learn of versions.
	_, err = Dial(t.Context(), a.addr, newKey(), "kt-http/3")
	must.True(t, errors.Is(err, ErrAuth), "Dial with another key: %v, want ErrAuth", err)
	must.Match(t, 0, a.requests.Load(), "a request was handled")
}
